/**
 * Receiving wallets of TON: one address that many invoices share by their memos, a list of addresses, or the
 * subwallets of one public key. Only public parts are ever taken.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import type { IndexedWallet, SharedWallet, WalletRef } from "../../../runtime/Chains.ts"
import { repeatedEntry } from "../../../schemas/AddressList.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { readTonAddress, type TonAccount } from "../../../schemas/TonAddress.ts"
import { noForwarders, type WalletKind } from "../../../schemas/Wallet.ts"
import { accountKeyOf, walletAddressOf } from "./Account.ts"
import { memoCodeOf } from "./MemoCode.ts"
import { subwalletAccount, type WalletVersion, walletVersions } from "./Subwallets.ts"
import { memoKeyOf } from "./Transactions.ts"

/** Addresses of a list, at most: as many as fit into a request. */
export const maximumPoolSize = 4_600

/** Addresses read in one turn of the event loop: one takes about 10 microseconds. */
const addressesPerTurn = 256

const isSecretKey = (text: string): boolean => /^(0x)?([0-9a-f]{64}|[0-9a-f]{128})$/i.test(text)

/** 12 to 24 words without digits: nothing that has an address or a key in it. */
const isRecoveryPhrase = (text: string): boolean => /^[a-z]+(\s+[a-z]+){11,23}$/i.test(text)

const secretSentence = "this looks like a PRIVATE key or a seed: if it is one, move the funds it holds. "

const addressSentence =
  "expected an address of TON as your wallet shows it (48 characters, UQ… or EQ…), with a right checksum"

const fingerprintOf = (kind: string, text: string): string => bytesToHex(sha256(utf8ToBytes(`ton ${kind}\n${text}`)))

/** An account that an owner wrote, or a sentence for people. */
const readOwnAccount = (text: string, environment: Environment): TonAccount | string => {
  const account = readTonAddress(text)
  if (account === null || account.hash.every((byte) => byte === 0)) return addressSentence
  if (environment === "mainnet" && account.flags?.testOnly === true) {
    return "this is an address of the test network: give the one that your wallet shows on mainnet"
  }
  return account
}

/** One address for all invoices, told apart by memos. */
const sharedWallet = (account: TonAccount, environment: Environment): SharedWallet => {
  const accountKey = accountKeyOf(account)
  const address = walletAddressOf(account, environment)
  return {
    _tag: "SharedWallet",
    fingerprint: fingerprintOf("address", `${environment}\n${accountKey}`),
    address,
    accountKey,
    targetOf: (invoiceId) => {
      const memo = memoCodeOf(invoiceId)
      return { address, matchKey: memoKeyOf(accountKey, memo), memo }
    }
  }
}

const indexedWallet = (
  fingerprint: string,
  size: number | null,
  environment: Environment,
  accountAt: (index: number) => TonAccount
): IndexedWallet => ({
  _tag: "IndexedWallet",
  fingerprint,
  startIndex: 0,
  size,
  // A wallet is asked for by its number, and none looks for more of them.
  gapLimit: null,
  derive: (index) => {
    const account = accountAt(index)
    return { address: walletAddressOf(account, environment), matchKey: accountKeyOf(account), memo: null }
  }
})

const readAddress = (text: string, environment: Environment): WalletRef | string => {
  if (isSecretKey(text)) return `${secretSentence}Give the wallet's address instead`
  const account = readOwnAccount(text, environment)
  return typeof account === "string" ? account : sharedWallet(account, environment)
}

const readPool = Effect.fnUntraced(
  function*(text: string, environment: Environment): Effect.fn.Return<WalletRef | string> {
    const entries = text.split(/[\s,;]+/)
    if (entries.length > maximumPoolSize) return `expected at most ${maximumPoolSize} addresses`
    const accounts: Array<TonAccount> = []
    for (const [place, entry] of entries.entries()) {
      if (place > 0 && place % addressesPerTurn === 0) yield* Effect.yieldNow
      if (isSecretKey(entry)) return `entry ${place + 1}: ${secretSentence}List addresses instead`
      const account = readOwnAccount(entry, environment)
      if (typeof account === "string") return `entry ${place + 1}: ${account}`
      accounts.push(account)
    }
    const keys = accounts.map(accountKeyOf)
    const repeated = repeatedEntry(entries, keys)
    if (repeated !== null) return repeated
    return indexedWallet(
      fingerprintOf("pool", `${environment}\n${keys.join("\n")}`),
      keys.length,
      environment,
      (index) => accounts[index]!
    )
  }
)

const xpubSentence =
  "expected the wallet's public key (64 hex digits), a space, and the address that your wallet shows for it: a public " +
  "key alone cannot be told from a secret seed"

/** The version whose first wallet of a key is an account. */
const versionOf = (publicKey: Uint8Array, account: TonAccount, environment: Environment): WalletVersion | undefined => {
  const key = accountKeyOf(account)
  return walletVersions.find((version) => accountKeyOf(subwalletAccount(version, publicKey, 0, environment)) === key)
}

const readPublicKey = (text: string, environment: Environment): WalletRef | string => {
  const [keyText = "", addressText, ...rest] = text.split(/[\s,;]+/)
  if (addressText === undefined || rest.length > 0 || !/^(0x)?[0-9a-f]{64}$/i.test(keyText)) {
    return isSecretKey(text) ? `${secretSentence}Else ${xpubSentence}` : xpubSentence
  }
  const account = readOwnAccount(addressText, environment)
  if (typeof account === "string") return account
  const publicKey = hexToBytes(keyText.replace(/^0x/i, "").toLowerCase())
  const version = versionOf(publicKey, account, environment)
  if (version === undefined) {
    return "the address is not the first wallet (v4R2 or v5R1) of this public key on this network. If what you gave is a " +
      "seed, move the funds it holds; else compare both with your wallet, or give the address alone as kind `address`"
  }
  return indexedWallet(
    fingerprintOf("key", `${environment}\n${version.name}\n${bytesToHex(publicKey)}`),
    version.size,
    environment,
    (index) => subwalletAccount(version, publicKey, index, environment)
  )
}

/**
 * Reads a wallet of TON as its owner gave it; see `ChainDriver.readWallet`. A sentence never repeats what was given:
 * that may be a secret.
 */
export const readWallet = (environment: Environment) =>
  Effect.fnUntraced(function*(kind: WalletKind, value: string): Effect.fn.Return<WalletRef | string> {
    const text = value.trim()
    if (isRecoveryPhrase(text)) {
      return "this looks like a recovery phrase: move the funds it holds, and give the wallet's address instead"
    }
    switch (kind) {
      case "forwarder":
        return noForwarders
      case "address":
        return readAddress(text, environment)
      case "pool":
        return yield* readPool(text, environment)
      case "xpub":
        return readPublicKey(text, environment)
    }
  })
