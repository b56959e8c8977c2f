/** What the bytes of a Solana address say of it: whether a key can sign for it, and the code a reference holds. Pure. */

/** The field of Curve25519, and the constant of its twisted Edwards form (RFC 8032, 5.1). */
const prime = 2n ** 255n - 19n
const d = 37_095_705_934_669_439_343_138_083_508_754_565_189_542_113_879_843_219_016_388_785_533_085_940_283_555n

const power = (base: bigint, exponent: bigint): bigint => {
  let result = 1n
  let factor = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = result * factor % prime
    factor = factor * factor % prime
  }
  return result
}

/**
 * Whether 32 bytes are a point of the curve, by the rule of `curve25519-dalek`, with which the chain tells a key from
 * an address that a program derived: such an address is never one. Takes about 0.3 ms.
 */
export const isOnCurve = (bytes: Uint8Array): boolean => {
  const y = bytes.reduceRight((value, byte, place) => value << 8n | BigInt(place === 31 ? byte & 0x7f : byte), 0n)
  const square = y * y % prime
  const numerator = (square - 1n + prime) % prime
  const denominator = (d * square + 1n) % prime
  // x^2 = numerator / denominator has a solution where their product is zero or a square (Euler's criterion).
  return numerator === 0n || power(numerator * denominator % prime, (prime - 1n) / 2n) === 1n
}

/** Bytes of the code that a reference begins with (modules/chains/solana/PaymentCode.ts). */
export const referenceCodeBytes = 10
