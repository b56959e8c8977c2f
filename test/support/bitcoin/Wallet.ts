/** Receiving wallets of Bitcoin: addresses from an account's public key alone (BIP-32, BIP-84, BIP-173). */
import { ripemd160 } from "@noble/hashes/legacy.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, concatBytes } from "@noble/hashes/utils.js"
import { bech32 } from "@scure/base"
import { HDKey } from "@scure/bip32"
import { Effect, Result } from "effect"
import type { Environment } from "../../../schemas/Network.ts"
import type { WalletKind } from "../../../schemas/Wallet.ts"
import type { IndexedWallet, WalletRef } from "../../../runtime/Chains.ts"

/** m / 84' / 0' / account': three levels down, the last one hardened. */
const accountDepth = 3
const hardenedOffset = 0x8000_0000

/** Unused addresses in a row after which wallets look no further (BIP-44, "Address gap limit"). */
const gapLimit = 20

/** What an address begins with, and first bytes of extended keys: `zpub` and `xpub`, `vpub` and `tpub` (SLIP-132). */
const formats: Readonly<Record<Environment, { readonly prefix: string; readonly versions: ReadonlyArray<number> }>> = {
  mainnet: { prefix: "bc", versions: [0x04b2_4746, 0x0488_b21e] },
  devnet: { prefix: "tb", versions: [0x045f_1cf6, 0x0435_87cf] }
}

export interface Account {
  /** SHA-256 of chain code and public key: the same wallet however it is written. */
  readonly fingerprint: string
  /** Address `0/index`. `index`: 0 to 2^31 - 1. */
  readonly address: (index: number) => string
}

/** The extended public key in one of the versions; undefined: it is none of them. No private key is ever parsed. */
const parse = (text: string, versions: ReadonlyArray<number>): HDKey | undefined =>
  versions.flatMap((version) =>
    Result.match(Result.try(() => HDKey.fromExtendedKey(text, { public: version, private: 0 })), {
      onSuccess: (key) => key.privateKey === null ? [key] : [],
      onFailure: () => []
    })
  )[0]

const addressOf = (publicKey: Uint8Array, prefix: string): string =>
  bech32.encode(prefix, [0, ...bech32.toWords(ripemd160(sha256(publicKey)))])

/** Reads an account's extended public key; a sentence for people, which never repeats the text, where it is none. */
export const readAccount = (text: string, environment: Environment): Account | string => {
  const trimmed = text.trim()
  if (/^[tuvxyz]prv/i.test(trimmed)) {
    return "this is a PRIVATE key: move the funds it holds, and configure the account's zpub instead"
  }
  const { prefix, versions } = formats[environment]
  const key = parse(trimmed, versions)
  if (key === undefined || key.publicKey === null || key.chainCode === null) {
    return `expected the account's extended public key of ${environment} with a valid checksum: ` +
      "zpub or xpub on mainnet, vpub or tpub on devnet"
  }
  if (key.depth !== accountDepth || key.index < hardenedOffset) {
    return `expected the account key m/84'/0'/0' (depth 3), this key has depth ${key.depth}`
  }
  const receiveBranch = key.deriveChild(0)
  return {
    fingerprint: bytesToHex(sha256(concatBytes(key.chainCode, key.publicKey))),
    address: (index) => addressOf(receiveBranch.deriveChild(index).publicKey!, prefix)
  }
}

export const readWallet = (
  kind: WalletKind,
  value: string,
  environment: Environment
): Effect.Effect<WalletRef | string> =>
  Effect.sync(() => {
    if (kind !== "xpub") return "send the account's extended public key (zpub): no other kind of wallet is taken here"
    const account = readAccount(value, environment)
    return typeof account === "string" ? account : walletOf(account, 0)
  })

/** The wallet of an account whose counter starts at `startIndex`. Matched by the address, which has one spelling. */
export const walletOf = (account: Account, startIndex: number): IndexedWallet => ({
  _tag: "IndexedWallet",
  fingerprint: account.fingerprint,
  derive: (index) => {
    const address = account.address(index)
    return { address, matchKey: address, memo: null }
  },
  startIndex,
  size: null,
  gapLimit
})
