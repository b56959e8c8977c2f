/**
 * Receiving wallets of Cardano: base addresses from an account's public key alone (CIP-1852, CIP-11, CIP-19), or a list
 * of addresses. The keys below an account are derived as BIP32-Ed25519 (Khovratovich and Law, V2) derives them.
 */
import { ed25519 } from "@noble/curves/ed25519.js"
import { blake2b } from "@noble/hashes/blake2.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha512 } from "@noble/hashes/sha2.js"
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import { bech32 } from "@scure/base"
import { Effect, Result } from "effect"
import { createHash } from "node:crypto"
import { maximumAddressLength, readAddress } from "../../../schemas/Address.ts"
import { repeatedEntry } from "../../../schemas/AddressList.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { noForwarders, type WalletKind } from "../../../schemas/Wallet.ts"
import type { IndexedWallet, WalletRef } from "../../../runtime/Chains.ts"

/** Addresses of a listed wallet, at most: more do not fit into a request. */
export const maximumPoolSize = 2_200

/** Addresses below an account: payment keys (role 0), and the stake key (role 2) with the index 0 (CIP-1852, CIP-11). */
const role = { payment: 0, stake: 2 } as const

/** Bytes of a public key, of a chain code, and of a key's hash in an address. */
const keyBytes = 32
const accountBytes = 64
const credentialBytes = 28

/** What an account's public key is called in Bech32: by CIP-5, and by wallets that name it after Bitcoin's. */
const accountPrefixes = new Set(["acct_xvk", "xpub"])

/** Header of a base address of two keys (CIP-19, type 0), and what its text begins with (CIP-5). */
const networkOf: Readonly<Record<Environment, { readonly header: number; readonly prefix: string }>> = {
  mainnet: { header: 0x01, prefix: "addr" },
  devnet: { header: 0x00, prefix: "addr_test" }
}

interface ExtendedKey {
  readonly point: InstanceType<typeof ed25519.Point>
  readonly chainCode: Uint8Array
}

const littleEndian = (bytes: Uint8Array): bigint => bytes.reduceRight((value, byte) => value << 8n | BigInt(byte), 0n)

const indexBytes = (index: number): Uint8Array =>
  Uint8Array.of(index & 0xff, index >>> 8 & 0xff, index >>> 16 & 0xff, index >>> 24)

/** A child that no private key is needed for. `index`: below 2^31. */
const deriveChild = ({ chainCode, point }: ExtendedKey, index: number): ExtendedKey => {
  const data = concatBytes(point.toBytes(), indexBytes(index))
  const step = hmac(sha512, chainCode, concatBytes(Uint8Array.of(2), data))
  const scalar = 8n * littleEndian(step.subarray(0, 28))
  return {
    // A factor of 0 has no product here, and adds nothing.
    point: scalar === 0n ? point : point.add(ed25519.Point.BASE.multiply(scalar % ed25519.Point.Fn.ORDER)),
    chainCode: hmac(sha512, chainCode, concatBytes(Uint8Array.of(3), data)).subarray(32)
  }
}

const keyHash = ({ point }: ExtendedKey): Uint8Array => blake2b(point.toBytes(), { dkLen: credentialBytes })

/** A wallet as its owner wrote it: its fingerprint, and the address of each index. */
export interface AddressSource {
  /** Of environment, chain code and public key, or of the listed addresses: the same wallet however it is written. */
  readonly fingerprint: string
  readonly address: (index: number) => string
  /** Addresses there are; null: 2^31. */
  readonly size: number | null
  /** See `IndexedWallet.gapLimit`. */
  readonly gapLimit: number | null
}

/** Unused addresses in a row after which an account's wallets look no further (CIP-1852, as BIP-44 says). */
const accountGapLimit = 20

/** The point of a public key; null where it is none that a wallet makes. */
const publicPoint = (bytes: Uint8Array): ExtendedKey["point"] | null =>
  Result.getOrNull(Result.filterOrFail(
    Result.try(() => ed25519.Point.fromBytes(bytes)),
    (point) => !point.is0() && point.isTorsionFree(),
    () => null
  ))

/**
 * Whether 32 bytes have the form of an extended private key (BIP32-Ed25519: three bits cleared below, two of the three
 * highest cleared). One public key in 64 has it too: written as Bech32, that one can be told from a private key.
 */
const looksPrivate = (bytes: Uint8Array): boolean => (bytes[0]! & 0b111) === 0 && bytes[31]! >> 5 === 0b010

const privateKey =
  "this is a PRIVATE key: move the funds it holds, and give the account's public key (acct_xvk…) instead"
const recoveryPhrase =
  "this looks like a recovery phrase: move the funds it holds, and give the account's public key (acct_xvk…) instead"
const noAccount = "expected the account's extended public key: acct_xvk1… with a valid checksum, or its 128 hex digits"

/** Bech32 names of keys that sign (CIP-5), and wallets' own. */
const isPrivatePrefix = (prefix: string): boolean => /_x?sk$|_sk_|^xprv$/.test(prefix)

/** The 64 bytes of a public account key; a sentence for people when the text is something else. */
const readAccountBytes = (text: string): Uint8Array | string => {
  if (/^\S+(\s+\S+){11,26}$/.test(text)) return recoveryPhrase
  if (/^(0x)?(?:[0-9a-f]{2})+$/i.test(text)) {
    const digits = text.replace(/^0x/i, "")
    if (digits.length !== 2 * accountBytes) {
      return digits.length === 2 * keyBytes || digits.length >= 2 * 96 ? privateKey : noAccount
    }
    const bytes = hexToBytes(digits)
    return looksPrivate(bytes)
      ? "these hex digits cannot be told from a PRIVATE key: if they are one, move the funds it holds. " +
        "Give the account's public key in its other form, acct_xvk1…"
      : bytes
  }
  const decoded = bech32.decodeUnsafe(text, 1_000)
  if (decoded === undefined) {
    return /^\w*x?(sk|prv)\w*1/i.test(text) ? privateKey : noAccount
  }
  if (isPrivatePrefix(decoded.prefix)) return privateKey
  const bytes = bech32.fromWordsUnsafe(decoded.words)
  if (!accountPrefixes.has(decoded.prefix) || !bytes || bytes.length !== accountBytes) {
    return /_x?vk$/.test(decoded.prefix)
      ? `expected the account's extended public key (acct_xvk1…), this is another key (${decoded.prefix}): addresses ` +
        "below it would not be the ones its wallet shows"
      : noAccount
  }
  return bytes
}

/**
 * Reads an account's extended public key. A sentence for people when it is none; the text itself is never repeated, for
 * it may be a secret pasted by mistake.
 */
export const readAccount = (text: string, environment: Environment): AddressSource | string => {
  const bytes = readAccountBytes(text.trim())
  if (typeof bytes === "string") return bytes
  const point = publicPoint(bytes.subarray(0, keyBytes))
  if (point === null) return noAccount
  const account: ExtendedKey = { point, chainCode: bytes.subarray(keyBytes) }
  const paymentBranch = deriveChild(account, role.payment)
  const stakeHash = keyHash(deriveChild(deriveChild(account, role.stake), 0))
  const { header, prefix } = networkOf[environment]
  return {
    fingerprint: createHash("sha256").update(`cardano\n${environment}\n`).update(bytes).digest("hex"),
    address: (index) => {
      const payload = concatBytes(Uint8Array.of(header), keyHash(deriveChild(paymentBranch, index)), stakeHash)
      return bech32.encode(prefix, bech32.toWords(payload), maximumAddressLength)
    },
    size: null,
    gapLimit: accountGapLimit
  }
}

/** What parts the addresses of a list. */
const separator = /[\s,;]+/

/** Addresses that are checked in one turn of the event loop: the checksum of one takes about 20 microseconds. */
const addressesPerTurn = 64

/**
 * Reads a list of addresses, parted by white space or commas, and gives way to others between parts of it. A sentence
 * for people when one of them cannot be paid in the environment, or stands twice. The order is the order of use.
 */
export const readPool = Effect.fnUntraced(function*(
  text: string,
  environment: Environment
): Effect.fn.Return<AddressSource | string> {
  const entries = text.trim().split(separator)
  if (entries.length > maximumPoolSize) return `expected at most ${maximumPoolSize} addresses`
  const addresses: Array<string | null> = []
  for (let start = 0; start < entries.length; start += addressesPerTurn) {
    if (start > 0) yield* Effect.yieldNow
    addresses.push(
      ...entries.slice(start, start + addressesPerTurn).map((entry) => readAddress("cardano", environment, entry))
    )
  }
  const wrong = addresses.indexOf(null)
  if (wrong !== -1) {
    const entry = entries[wrong]!
    const isPrivate = /^(0x)?[0-9a-f]{64,}$/i.test(entry) || /^\w*x?(sk|prv)\w*1/i.test(entry)
    return isPrivate
      ? `entry ${wrong + 1} looks like a PRIVATE key: move the funds it holds, and list addresses instead`
      : `entry ${wrong + 1} is no Shelley payment address of ${environment} with a right checksum ` +
        `(${networkOf[environment].prefix}1…)`
  }
  const repeated = repeatedEntry(entries, addresses)
  if (repeated !== null) return repeated
  return {
    fingerprint: createHash("sha256").update(`cardano pool\n${addresses.join("\n")}`).digest("hex"),
    address: (index) => addresses[index]!,
    size: addresses.length,
    gapLimit: null
  }
})

/** The wallet whose counter starts at `startIndex`. Matched by the address in Bech32, lower case. */
export const walletOf = (
  { address, fingerprint, gapLimit, size }: AddressSource,
  startIndex: number
): IndexedWallet => ({
  _tag: "IndexedWallet",
  fingerprint,
  derive: (index) => {
    const text = address(index)
    return { address: text, matchKey: text, memo: null }
  },
  startIndex,
  size,
  gapLimit
})

/**
 * Reads a wallet of the family. One address for all invoices is refused: nothing in a transfer would tell them apart.
 */
export const readWallet = Effect.fnUntraced(function*(
  kind: WalletKind,
  value: string,
  environment: Environment
): Effect.fn.Return<WalletRef | string> {
  if (kind === "address") {
    return "one address cannot tell invoices apart on this family: send an account's public key (acct_xvk…), or a pool " +
      "of addresses"
  }
  if (kind === "forwarder") return noForwarders
  const source = kind === "xpub" ? readAccount(value, environment) : yield* readPool(value, environment)
  return typeof source === "string" ? source : walletOf(source, 0)
})
