/** Receiving wallets of Solana: one wallet for all invoices, or a list of wallets that are given out one by one. */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { base58 } from "@scure/base"
import { Effect, Result } from "effect"
import type { IndexedWallet, SharedWallet, WalletRef } from "../../../runtime/Chains.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { repeatedEntry } from "../../../schemas/AddressList.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { noForwarders, type WalletKind } from "../../../schemas/Wallet.ts"
import { sharedTargetOf } from "./PaymentCode.ts"

/** Addresses of a listed wallet, at most: more do not fit into a request. */
export const maximumPoolSize = 5_000

/** Addresses that are read in one turn of the event loop: one takes some 10 microseconds. */
const addressesPerTurn = 256

/** What parts the addresses of a list. */
const separator = /[\s,;]+/

/** Bytes of a key pair: what wallets export as the private key. */
const keyPairLength = 64

const fingerprintOf = (text: string): string => bytesToHex(sha256(utf8ToBytes(text)))

/** Whether a text is a secret: an exported key pair, the file of `solana-keygen`, or a recovery phrase. */
const secretIn = (text: string): string | null => {
  if (/^\[\s*\d{1,3}(\s*,\s*\d{1,3}){31,}\s*\]$/.test(text)) return "a PRIVATE key"
  if (Result.getOrUndefined(Result.try(() => base58.decode(text)))?.length === keyPairLength) return "a PRIVATE key"
  return /^[a-z]+(\s+[a-z]+){11,23}$/i.test(text) ? "a recovery phrase" : null
}

const notAnAddress = "expected the address of a Solana wallet: 32 to 44 characters, as your wallet shows it"

/** The wallet of a merchant with one address, or a sentence for people. */
const readShared = (environment: Environment, text: string): SharedWallet | string => {
  const address = readAddress("solana", environment, text)
  if (address === null) return notAnAddress
  return {
    _tag: "SharedWallet",
    fingerprint: fingerprintOf(`solana address\n${address}`),
    address,
    accountKey: address,
    targetOf: (invoiceId) => sharedTargetOf(address, invoiceId)
  }
}

const readPool = Effect.fnUntraced(function*(
  environment: Environment,
  text: string
): Effect.fn.Return<IndexedWallet | string> {
  const entries = text.split(separator)
  if (entries.length > maximumPoolSize) return `expected at most ${maximumPoolSize} addresses`
  const addresses: Array<string> = []
  for (const [place, entry] of entries.entries()) {
    if (place > 0 && place % addressesPerTurn === 0) yield* Effect.yieldNow
    const secret = secretIn(entry)
    if (secret !== null) {
      return `entry ${place + 1} looks like ${secret}: move the funds it holds, and list addresses instead`
    }
    const address = readAddress("solana", environment, entry)
    if (address === null) return `entry ${place + 1} is not the address of a Solana wallet`
    addresses.push(address)
  }
  const repeated = repeatedEntry(entries, addresses)
  if (repeated !== null) return repeated
  return {
    _tag: "IndexedWallet",
    fingerprint: fingerprintOf(`solana pool\n${addresses.join("\n")}`),
    derive: (index) => ({ address: addresses[index]!, matchKey: addresses[index]!, memo: null }),
    startIndex: 0,
    size: addresses.length,
    gapLimit: null
  }
})

/** See `ChainDriver.readWallet`. */
export const readWallet = Effect.fnUntraced(function*(
  environment: Environment,
  kind: WalletKind,
  value: string
): Effect.fn.Return<WalletRef | string> {
  const text = value.trim()
  const secret = secretIn(text)
  if (secret !== null) {
    return `this looks like ${secret}: move the funds it holds, and give the wallet's address instead`
  }
  switch (kind) {
    case "xpub":
      return "Solana has no extended public keys: no address can be derived from a public key of ed25519. " +
        "Give your wallet's address (kind `address`), or a list of addresses (kind `pool`)"
    case "forwarder":
      return noForwarders
    case "address":
      return readShared(environment, text)
    case "pool":
      return yield* readPool(environment, text)
  }
})
