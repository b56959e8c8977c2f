/** Receiving wallets of the EVM family: addresses from an account's public key alone (BIP-32, BIP-44, EIP-55). */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { HDKey } from "@scure/bip32"
import { Result } from "effect"
import { evmChainIds } from "../../../schemas/Network.ts"
import type { BaseUnits } from "../../../schemas/Money.ts"
import type { Token } from "../../../schemas/Token.ts"
import type { ReceiveTarget } from "../../../runtime/Chains.ts"

/** m / 44' / 60' / account': three levels down, the last one hardened. */
const accountDepth = 3
const hardened = 0x8000_0000

export interface Account {
  /** SHA-256 of chain code and public key: the same wallet however it is written. */
  readonly fingerprint: string
  /** Address `0/index`, EIP-55. `index`: 0 to 2^31 - 1. */
  readonly address: (index: number) => string
}

/**
 * The checksummed form of a 20-byte address in any case (EIP-55).
 *
 * @example
 * checksummed("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266") // => "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
 */
export const checksummed = (address: string): string => {
  const digits = address.slice(2).toLowerCase()
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)))
  return `0x${[...digits].map((digit, place) => hash[place]! >= "8" ? digit.toUpperCase() : digit).join("")}`
}

const addressOf = (publicKey: Uint8Array): string => {
  const point = secp256k1.Point.fromBytes(publicKey).toBytes(false)
  return checksummed(`0x${bytesToHex(keccak_256(point.slice(1)).slice(12))}`)
}

/**
 * Reads an account's extended public key. Returns a sentence for people when it is not one; the text itself is never
 * repeated, for it may be a secret pasted by mistake.
 */
export const readAccount = (text: string): Account | string => {
  const trimmed = text.trim()
  if (/^[xyz]prv/i.test(trimmed) || /^(0x)?[0-9a-f]{64}$/i.test(trimmed)) {
    return "this is a PRIVATE key: move the funds it holds, and configure the account's xpub instead"
  }
  if (/^\S+(\s+\S+){11,23}$/.test(trimmed)) {
    return "this looks like a recovery phrase: move the funds it holds, and configure the account's xpub instead"
  }
  const key = parse(trimmed)
  if (key === undefined || key.publicKey === null || key.chainCode === null) {
    return "expected the account's extended public key (xpub...) with a valid checksum"
  }
  if (key.depth !== accountDepth || key.index < hardened) {
    return `expected the account key m/44'/60'/0' (depth 3), this key has depth ${key.depth}: ` +
      "addresses below it would not be the ones its wallet shows"
  }
  const receiving = key.deriveChild(0)
  return {
    fingerprint: bytesToHex(sha256(concatBytes(key.chainCode, key.publicKey))),
    address: (index) => addressOf(receiving.deriveChild(index).publicKey!)
  }
}

const parse = (text: string): HDKey | undefined =>
  Result.getOrUndefined(Result.filterOrFail(
    Result.try(() => HDKey.fromExtendedKey(text)),
    (key) => key.privateKey === null,
    () => undefined
  ))

/** The target at an index: matched by the address in lower case. */
export const targetOf = (account: Account, index: number): ReceiveTarget => {
  const address = account.address(index)
  return { address, matchKey: address.toLowerCase(), memo: null }
}

/**
 * EIP-681. Integer base units, no exponent.
 *
 * @example
 * paymentUri(8453, { address: "0xabc", ... }, usdc, 49990000n) // => "ethereum:0x8335...@8453/transfer?address=0xabc&uint256=49990000"
 */
export const paymentUri = (chainId: number, target: ReceiveTarget, token: Token, amount: BaseUnits): string =>
  token.address === null
    ? `ethereum:${target.address}@${chainId}?value=${amount}`
    : `ethereum:${token.address}@${chainId}/transfer?address=${target.address}&uint256=${amount}`

/** The public chain id of a network; `undefined` when it is not of this family. */
export const publicChainId = (network: Token["network"], environment: Token["environment"]): number | undefined =>
  evmChainIds[environment][network]
