/** Receiving wallets of the EVM family: addresses from an account's public key alone (BIP-32, BIP-44, EIP-55). */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, concatBytes } from "@noble/hashes/utils.js"
import { HDKey } from "@scure/bip32"
import { Effect, Result } from "effect"
import { createHash } from "node:crypto"
import { forwarderOf } from "./ForwarderWallet.ts"
import { repeatedEntry } from "../../../schemas/AddressList.ts"
import { evmAddressOf, readEvmAddress } from "../../../schemas/EvmAddress.ts"
import { childPointsOf } from "../../../runtime/chains/ChildKeys.ts"
import type { IndexedWallet, ReceiveTarget, WalletRef } from "../../../runtime/Chains.ts"
import type { WalletKind } from "../../../schemas/Wallet.ts"

/** m / 44' / 60' / account': three levels down, the last one hardened. */
const accountDepth = 3
const hardenedOffset = 0x8000_0000

export interface Account {
  /** SHA-256 of chain code and public key, or of the listed addresses: the same wallet however it is written. */
  readonly fingerprint: string
  /** Address `0/index` or the listed one, EIP-55. `index`: 0 to 2^31 - 1, or to `size`. */
  readonly address: (index: number) => string
  /** Addresses there are; null: 2^31. */
  readonly size: number | null
}

/** Addresses of a listed wallet, at most: more do not fit into a request. */
export const maximumPoolSize = 5_000

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
  if (key.depth !== accountDepth || key.index < hardenedOffset) {
    return `expected the account key m/44'/60'/0' (depth 3), this key has depth ${key.depth}: ` +
      "addresses below it would not be the ones its wallet shows"
  }
  const pointAt = childPointsOf(key.deriveChild(0))
  return {
    fingerprint: bytesToHex(sha256(concatBytes(key.chainCode, key.publicKey))),
    address: (index) => evmAddressOf(pointAt(index).toBytes(false)),
    size: null
  }
}

/** What parts the addresses of a list. */
const separator = /[\s,;]+/

/** Addresses that are checked in one turn of the event loop: the checksum of one takes 15 to 40 microseconds. */
const addressesPerTurn = 64

/**
 * Reads a list of addresses, parted by white space or commas, and gives way to others between parts of it. Returns a
 * sentence for people when one of them is not an address, or carries a wrong EIP-55 checksum, or stands twice. The
 * order counts: it is the order of use.
 */
export const readPool = Effect.fnUntraced(function*(text: string): Effect.fn.Return<Account | string> {
  const entries = text.trim().split(separator)
  if (entries.length > maximumPoolSize) return `expected at most ${maximumPoolSize} addresses`
  const addresses: Array<string | null> = []
  for (let start = 0; start < entries.length; start += addressesPerTurn) {
    if (start > 0) yield* Effect.yieldNow
    addresses.push(...entries.slice(start, start + addressesPerTurn).map(readEvmAddress))
  }
  const wrong = addresses.indexOf(null)
  if (wrong !== -1) {
    return /^(0x)?[0-9a-f]{64}$/i.test(entries[wrong]!)
      ? `entry ${wrong + 1} looks like a PRIVATE key: move the funds it holds, and list addresses instead`
      : `entry ${wrong + 1} is not an address with a right checksum (EIP-55)`
  }
  const repeated = repeatedEntry(entries, addresses)
  if (repeated !== null) return repeated
  return {
    fingerprint: createHash("sha256").update(`pool\n${addresses.join("\n")}`).digest("hex"),
    address: (index) => addresses[index]!,
    size: addresses.length
  }
})

/**
 * Reads a wallet of the EVM family. One address for all invoices is refused: nothing in a transfer would tell them
 * apart.
 */
export const readWallet = Effect.fnUntraced(function*(
  kind: WalletKind,
  value: string,
  seed?: string
): Effect.fn.Return<WalletRef | string> {
  if (kind === "forwarder") return forwarderOf(value, seed!)
  if (kind === "address") {
    return "one address cannot tell invoices apart on this family: give it as a forwarder, or send an account's xpub, or a pool of addresses"
  }
  const account = kind === "xpub" ? readAccount(value) : yield* readPool(value)
  return typeof account === "string" ? account : walletOf(account, 0)
})

/** The wallet of an account whose counter starts at `startIndex`. */
export const walletOf = (account: Account, startIndex: number): IndexedWallet => ({
  _tag: "IndexedWallet",
  fingerprint: account.fingerprint,
  derive: (index) => targetOf(account, index),
  startIndex,
  size: account.size,
  gapLimit: null
})

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
