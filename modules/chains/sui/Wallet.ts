/**
 * Receiving wallets of Sui: a list of addresses, or an account's public key of the scheme secp256k1, whose addresses
 * are derived without any private key (docs.sui.io, "Keys and addresses": m/54'/784'/account'/0/index).
 */
import { blake2b } from "@noble/hashes/blake2.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { HDKey } from "@scure/bip32"
import { Effect, Result } from "effect"
import { childPointsOf } from "../../../runtime/chains/ChildKeys.ts"
import type { IndexedWallet, WalletRef } from "../../../runtime/Chains.ts"
import { repeatedEntry } from "../../../schemas/AddressList.ts"
import { noForwarders, type WalletKind } from "../../../schemas/Wallet.ts"

/** m / 54' / 784' / account': three levels down, the last one hardened. */
const accountDepth = 3
const hardenedOffset = 0x8000_0000

/** What an address's hash begins with for a key of secp256k1 (docs.sui.io, "Keys and addresses"). */
const secp256k1Flag = 0x01

/** Addresses of a listed wallet, at most: 67 characters each, and the value of a request has at most 230,000. */
export const maximumPoolSize = 3_400

/** What parts the entries of a value. */
const separator = /[\s,;]+/

/** Addresses that are checked in one turn of the event loop. */
const addressesPerTurn = 512

const howToGive = "send the key, a space, and the first address that your own wallet shows for it (0x and 64 digits)"

/** The address of a compressed public key of secp256k1. */
export const addressOf = (publicKey: Uint8Array): string =>
  `0x${bytesToHex(blake2b(concatBytes(Uint8Array.of(secp256k1Flag), publicKey), { dkLen: 32 }))}`

const isAddress = (text: string): boolean => /^0x[0-9a-f]{64}$/i.test(text) && !/^0x0+$/.test(text)

/** A sentence where a value looks like a secret; it never repeats the value. */
const secretRefusal = (value: string): string | null => {
  if (/(?:^|[\s,;])(?:[xyz]prv|suiprivkey)/i.test(value)) {
    return "this is a PRIVATE key: move the funds it holds, and give addresses or the account's xpub instead"
  }
  return /^[a-z]+(?:\s+[a-z]+){11,23}$/i.test(value)
    ? "this looks like a recovery phrase: move the funds it holds, and give addresses or the account's xpub instead"
    : null
}

const walletOf = (
  fingerprint: string,
  address: (index: number) => string,
  size: number | null,
  startIndex: number
): IndexedWallet => ({
  _tag: "IndexedWallet",
  fingerprint,
  derive: (index) => {
    const receiver = address(index)
    return { address: receiver, matchKey: receiver, memo: null }
  },
  startIndex,
  size,
  gapLimit: null
})

const parseKey = (text: string): HDKey | undefined =>
  Result.getOrUndefined(Result.filterOrFail(
    Result.try(() => HDKey.fromExtendedKey(text)),
    (key) => key.privateKey === null && key.publicKey !== null && key.chainCode !== null,
    () => undefined
  ))

/**
 * Reads `<xpub> <first address>`. Nothing in an extended key says which network it is of: the address proves that the
 * owner's own wallet shows what is derived here, and not an account of an EVM network.
 */
export const readAccount = (value: string, startIndex = 0): IndexedWallet | string => {
  const [text, first, ...rest] = value.trim().split(separator)
  const key = parseKey(text!)
  if (key === undefined) return "expected the account's extended public key (xpub...) with a valid checksum"
  if (key.depth !== accountDepth || key.index < hardenedOffset) {
    return `expected the account key m/54'/784'/0' (depth 3), this key has depth ${key.depth}: ` +
      "addresses below it would not be the ones its wallet shows"
  }
  if (first === undefined) {
    return `an xpub of Sui looks like one of an EVM network, so its first address must come with it: ${howToGive}`
  }
  if (rest.length > 0) return `expected an xpub and one address: ${howToGive}`
  if (!isAddress(first)) return `what follows the xpub is no address of Sui: ${howToGive}`
  const pointAt = childPointsOf(key.deriveChild(0))
  const address = (index: number) => addressOf(pointAt(index).toBytes(true))
  if (first.toLowerCase() !== address(0)) {
    return "the address is not the first one of this xpub (m/54'/784'/0'/0/0, scheme secp256k1), so funds could " +
      `arrive where your wallet does not look: ${howToGive}. A wallet whose keys are Ed25519 has no xpub: give a ` +
      "pool of its addresses"
  }
  const fingerprint = bytesToHex(sha256(concatBytes(utf8ToBytes("sui xpub\n"), key.chainCode!, key.publicKey!)))
  return walletOf(fingerprint, address, null, startIndex)
}

/**
 * Reads a list of addresses, parted by white space or commas, and gives way to others between parts of it. Addresses of
 * Sui have no checksum: only their form can be checked. The order counts: it is the order of use.
 */
export const readPool = Effect.fnUntraced(function*(value: string): Effect.fn.Return<IndexedWallet | string> {
  const entries = value.trim().split(separator)
  if (entries.length > maximumPoolSize) return `expected at most ${maximumPoolSize} addresses`
  const addresses: Array<string> = []
  for (const [place, entry] of entries.entries()) {
    if (place > 0 && place % addressesPerTurn === 0) yield* Effect.yieldNow
    if (!isAddress(entry)) {
      return `entry ${place + 1} is not an address of Sui: 0x and all 64 digits, as your wallet copies it`
    }
    addresses.push(entry.toLowerCase())
  }
  const repeated = repeatedEntry(entries, addresses)
  if (repeated !== null) return repeated
  const fingerprint = bytesToHex(sha256(utf8ToBytes(`sui pool\n${addresses.join("\n")}`)))
  return walletOf(fingerprint, (index) => addresses[index]!, addresses.length, 0)
})

/** Reads a wallet. One address for all invoices is refused: nothing in a transfer would tell them apart. */
export const readWallet = Effect.fnUntraced(function*(
  kind: WalletKind,
  value: string
): Effect.fn.Return<WalletRef | string> {
  if (kind === "address") {
    return "one address cannot tell invoices apart on Sui, where transfers carry no memo: send a pool of addresses"
  }
  if (kind === "forwarder") return noForwarders
  const refusal = secretRefusal(value.trim())
  if (refusal !== null) return refusal
  return kind === "xpub" ? readAccount(value) : yield* readPool(value)
})
