/**
 * Payment links: what a wallet opens, and a QR code holds. One function for each family of networks, all pure; amounts
 * are exact, and what people wrote is percent-encoded (modules/docs/reference/payor-sessions.md#payment-links).
 */
import { type BaseUnits, formatUnits, withoutTrailingZeros } from "./Money.ts"
import type { Environment } from "./Network.ts"
import { readTonAddress, tonAddressText } from "./TonAddress.ts"

/** Where to pay. */
export interface PaymentTarget {
  /** As the network's wallets show it. */
  readonly address: string
  /** What must stand in the transfer; null: nothing. */
  readonly memo: string | null
}

/** What to pay in: of a token as the service knows it. */
export interface PaymentToken {
  /** Contract, mint or jetton master; null: the network's own coin. */
  readonly address: string | null
  readonly decimals: number
  readonly environment: Environment
}

/** Half a surrogate pair has no UTF-8, and would be refused. */
const percentEncode = (text: string): string => encodeURIComponent(text.toWellFormed())

const withQuery = (base: string, entries: ReadonlyArray<readonly [name: string, value: string | null]>): string => {
  const query = entries.flatMap(([name, value]) => value === null ? [] : [`${name}=${percentEncode(value)}`]).join("&")
  return query === "" ? base : `${base}?${query}`
}

/** Whole tokens: a plain decimal without zeros at its end, which would only make the QR code larger. */
const decimalOf = (amount: BaseUnits, decimals: number): string => withoutTrailingZeros(formatUnits(amount, decimals))

/**
 * EIP-681. Integer base units, no exponent.
 *
 * @example
 * evmPaymentUri(8453, { address: "0xabc", memo: null }, usdc, 49990000n)
 * // => "ethereum:0x8335...@8453/transfer?address=0xabc&uint256=49990000"
 */
export const evmPaymentUri = (
  chainId: number,
  target: Pick<PaymentTarget, "address">,
  token: Pick<PaymentToken, "address">,
  amount: BaseUnits
): string =>
  token.address === null
    ? withQuery(`ethereum:${target.address}@${chainId}`, [["value", `${amount}`]])
    : withQuery(`ethereum:${token.address}@${chainId}/transfer`, [["address", target.address], [
      "uint256",
      `${amount}`
    ]])

/** What Solana Pay can say beside the transfer; null: not said. */
export interface SolanaPayFields {
  /** A key that the transaction names, by which it is found: 32 bytes in base58. */
  readonly reference: string | null
  /** Who is paid. */
  readonly label: string | null
  /** What for. */
  readonly message: string | null
}

/**
 * Solana Pay 1.1, transfer request. The address is the owner's, never that of a token account; the amount is in whole
 * tokens.
 *
 * @example
 * solanaPaymentUri({ address: "mvin...", memo: null }, usdc, 10000n, { reference: null, label: null, message: null })
 * // => "solana:mvin...?amount=0.01&spl-token=EPjF..."
 */
export const solanaPaymentUri = (
  target: PaymentTarget,
  token: Pick<PaymentToken, "address" | "decimals">,
  amount: BaseUnits,
  { label, message, reference }: SolanaPayFields
): string =>
  withQuery(`solana:${target.address}`, [
    ["amount", decimalOf(amount, token.decimals)],
    ["spl-token", token.address],
    ["reference", reference],
    ["label", label],
    ["message", message],
    ["memo", target.memo]
  ])

/** A jetton master as links name it: a contract, which can bounce. */
const jettonOf = (address: string, environment: Environment): string => {
  const account = readTonAddress(address)
  if (account === null) return address
  return tonAddressText(account, account.flags ?? { bounceable: true, testOnly: environment === "devnet" })
}

/**
 * `ton://transfer` (TON documentation, "Deep links"). Integer base units; the memo is the text of the transfer.
 *
 * @example
 * tonPaymentUri({ address: "UQab...", memo: "7F3K" }, usdt, 1000000n)
 * // => "ton://transfer/UQab...?jetton=EQCx...&amount=1000000&text=7F3K"
 */
export const tonPaymentUri = (
  target: PaymentTarget,
  token: Pick<PaymentToken, "address" | "environment">,
  amount: BaseUnits
): string =>
  withQuery(`ton://transfer/${target.address}`, [
    ["jetton", token.address === null ? null : jettonOf(token.address, token.environment)],
    ["amount", `${amount}`],
    ["text", target.memo]
  ])

/**
 * CIP-13. The amount is in ADA; the standard has no way to ask for another asset or for a memo, so these have no link:
 * null.
 *
 * @example
 * cardanoPaymentUri({ address: "addr1...", memo: null }, ada, 1500000n) // => "web+cardano:addr1...?amount=1.5"
 */
export const cardanoPaymentUri = (
  target: PaymentTarget,
  token: Pick<PaymentToken, "address" | "decimals">,
  amount: BaseUnits
): string | null =>
  token.address !== null || target.memo !== null
    ? null
    : withQuery(`web+cardano:${target.address}`, [["amount", decimalOf(amount, token.decimals)]])

/**
 * The address alone: Sui has no settled way to ask for an amount
 * (modules/docs/reference/payor-sessions.md#payment-links).
 */
export const suiPaymentUri = (target: Pick<PaymentTarget, "address">): string => `sui:${target.address}`
