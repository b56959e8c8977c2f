/**
 * Receiving wallets of the simulated networks that are not of the EVM family. Those of the deployment have addresses
 * that are right in their form, and nobody holds a key to them; merchants may give addresses of their own.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { base58 } from "@scure/base"
import { Effect } from "effect"
import type { IndexedWallet, ReceiveTarget, SharedWallet, WalletRef } from "../../../runtime/Chains.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { repeatedEntry } from "../../../schemas/AddressList.ts"
import { cardanoHashLength, cardanoTestAddress } from "../../../schemas/PlayMoney.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { readTonAddress, tonAddressText, tonRawAddressText } from "../../../schemas/TonAddress.ts"
import { noForwarders, type WalletKind } from "../../../schemas/Wallet.ts"

/** Families whose networks can be simulated. */
export type SimulatedFamily = "evm" | OtherFamily
export type OtherFamily = "solana" | "ton" | "sui" | "cardano"

const environment: Environment = "devnet"

export const digestOf = (text: string): Uint8Array => sha256(utf8ToBytes(text))

const hexDigest = (text: string): string => bytesToHex(digestOf(text))

/** An address as it is shown, and the one spelling that it is matched by. */
interface Account {
  readonly address: string
  readonly key: string
}

/** Wallets are paid at an address that does not bounce; a raw one tells the same account from every spelling. */
const readTonAccount = (text: string): Account | null => {
  const address = readAddress("ton", environment, text) === null ? null : readTonAddress(text)
  if (address === null) return null
  const { flags } = address
  return {
    address: tonAddressText(address, { bounceable: false, testOnly: flags?.testOnly ?? true }),
    key: tonRawAddressText(address)
  }
}

const readAccount = (family: OtherFamily, text: string): Account | null => {
  if (family === "ton") return readTonAccount(text)
  const address = readAddress(family, environment, text)
  return address === null ? null : { address, key: address }
}

/** Digits of a memo: Crockford's base 32, whose letters and digits are not mistaken for each other. */
const memoDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

/** Of 5 bits each: among a million memos of one wallet, two are the same with a chance of 1 in two million. */
const memoLength = 12

/**
 * What a payor types for an invoice.
 *
 * @example
 * memoOf("0198c0de-0000-7000-8000-000000000001") // => 12 of the digits
 */
export const memoOf = (invoiceId: string): string =>
  [...digestOf(`memo ${invoiceId}`).subarray(0, memoLength)].map((byte) => memoDigits[byte % 32]).join("")

/** Where money comes to that was sent to a match key with a memo that no invoice has; the key where it has no memo. */
export const accountKeyOf = (matchKey: string): string => matchKey.replace(/:[0-9A-Z]{12}$/, "")

const sharedWallet = (family: OtherFamily, { address, key }: Account): SharedWallet => ({
  _tag: "SharedWallet",
  fingerprint: hexDigest(`simulated ${family} account ${key}`),
  address,
  accountKey: key,
  targetOf: (invoiceId) => {
    const memo = memoOf(invoiceId)
    return { address, matchKey: `${key}:${memo}`, memo }
  }
})

const targetAt = ({ address, key }: Account): ReceiveTarget => ({ address, matchKey: key, memo: null })

/** Addresses of a list that are read in one turn of the event loop. */
const addressesPerTurn = 64

/** Addresses of a list, at most: more do not fit into a request. */
const maximumPoolSize = 5_000

const readPool = Effect.fnUntraced(function*(family: OtherFamily, text: string): Effect.fn.Return<WalletRef | string> {
  const entries = text.trim().split(/[\s,;]+/)
  if (entries.length > maximumPoolSize) return `expected at most ${maximumPoolSize} addresses`
  const accounts: Array<Account> = []
  for (const [place, entry] of entries.entries()) {
    if (place % addressesPerTurn === addressesPerTurn - 1) yield* Effect.yieldNow
    const account = readAccount(family, entry)
    if (account === null) return `entry ${place + 1} is not an address of this family with a right checksum`
    accounts.push(account)
  }
  const keys = accounts.map(({ key }) => key)
  const repeated = repeatedEntry(entries, keys)
  if (repeated !== null) return repeated
  const pool: IndexedWallet = {
    _tag: "IndexedWallet",
    fingerprint: hexDigest(`simulated ${family} pool ${keys.join("\n")}`),
    derive: (index) => targetAt(accounts[index]!),
    startIndex: 0,
    size: accounts.length,
    gapLimit: null
  }
  return pool
})

/** How the wallets of a family tell invoices apart. */
const walletKinds: Readonly<Record<OtherFamily, ReadonlyArray<WalletKind>>> = {
  solana: ["address", "pool"],
  ton: ["address"],
  sui: ["pool"],
  cardano: ["pool"]
}

const refusals: Readonly<Record<WalletKind, string>> = {
  xpub: "a simulated network of this family derives no addresses from a key: send addresses instead",
  address: "a simulated network of this family takes a pool of addresses only",
  pool: "a simulated network of this family takes one address only",
  forwarder: noForwarders
}

/** `ChainDriver.readWallet` of a family. */
export const readWalletOf = (family: OtherFamily) =>
  Effect.fnUntraced(function*(kind: WalletKind, value: string): Effect.fn.Return<WalletRef | string> {
    if (!walletKinds[family].includes(kind)) return refusals[kind]
    if (kind === "pool") return yield* readPool(family, value)
    const account = readAccount(family, value.trim())
    return account === null
      ? "this is not an address of this family with a right checksum"
      : sharedWallet(family, account)
  })

/** A wallet with an address for each invoice: `addressOf` makes one of 32 bytes that only this index has. */
const derivedWallet = (
  family: OtherFamily,
  addressOf: (digest: Uint8Array, fingerprint: string) => string
): IndexedWallet => {
  const fingerprint = hexDigest(`simulated ${family} wallet`)
  return {
    _tag: "IndexedWallet",
    fingerprint,
    derive: (index) => {
      const address = addressOf(digestOf(`${fingerprint} ${index}`), fingerprint)
      return targetAt({ address, key: address })
    },
    startIndex: 0,
    size: null,
    // No wallet looks for these addresses.
    gapLimit: null
  }
}

/** All addresses of an account share the part that names its stake key. */
const cardanoAddress = (digest: Uint8Array, fingerprint: string): string =>
  cardanoTestAddress(digest.subarray(0, cardanoHashLength), digestOf(fingerprint).subarray(0, cardanoHashLength))

const tonWalletAddress = tonAddressText(
  { workchain: 0, hash: digestOf("simulated ton wallet") },
  { bounceable: false, testOnly: true }
)

/** The deployment's own wallets. */
export const deploymentWallets: Readonly<Record<OtherFamily, WalletRef>> = {
  solana: sharedWallet("solana", readAccount("solana", base58.encode(digestOf("simulated solana wallet")))!),
  ton: sharedWallet("ton", readTonAccount(tonWalletAddress)!),
  sui: derivedWallet("sui", (digest) => `0x${bytesToHex(digest)}`),
  cardano: derivedWallet("cardano", cardanoAddress)
}

/** The key that a Solana Pay transaction names for a target with a memo; null: the target is an address of its own. */
export const solanaReference = ({ matchKey, memo }: ReceiveTarget): string | null =>
  memo === null ? null : base58.encode(digestOf(`reference ${matchKey}`))
