/**
 * Wallets of the five families that sign in as real ones do, by implementations that are not ours. Each is a function
 * from a number, from 1, to an account.
 */
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519"
import { Secp256k1Keypair } from "@mysten/sui/keypairs/secp256k1"
import { Secp256r1Keypair } from "@mysten/sui/keypairs/secp256r1"
import { blake2b } from "@noble/hashes/blake2.js"
import { base58, bech32 } from "@scure/base"
import { Address, beginCell, Cell, contractAddress, storeStateInit } from "@ton/core"
import { sha256_sync } from "@ton/crypto"
import { encode } from "cborg"
import nacl from "tweetnacl"
import type { Hex } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import type { Challenge, SignInProof } from "../../runtime/SignIns.ts"
import codes from "../fixtures/tonWallets.json" with { type: "json" }

export type SignedProof = Omit<SignInProof, "message">

/** What a TON wallet needs to know of a challenge, and when it signs, in epoch seconds; the others sign the text. */
export type ChallengeFields = Pick<Challenge, "domain" | "nonce" | "issuedAt">

/** An account as a wallet holds it. */
export interface SignInAccount {
  /** As its wallet shows it. */
  readonly address: string
  /** Other spellings of the same account. */
  readonly spellings: ReadonlyArray<string>
  readonly sign: (asked: ChallengeFields, message: string) => Promise<SignedProof>
}

export type SignInWallet = (seed: number) => SignInAccount

const secret = (seed: number): Uint8Array => new Uint8Array(32).fill(seed)

/** An Ed25519 key. */
export const keysOf = (seed: number): nacl.SignKeyPair => nacl.sign.keyPair.fromSeed(secret(seed))

const only = (signature: string): SignedProof => ({ signature, publicKey: null, proof: null })

/** A secp256k1 key. */
export const evmKeyOf = (seed: number): Hex => `0x${seed.toString(16).padStart(64, "0")}`

export const evmWallet: SignInWallet = (seed) => {
  const wallet = privateKeyToAccount(evmKeyOf(seed))
  const digits = wallet.address.slice(2)
  return {
    address: wallet.address,
    spellings: [`0x${digits.toLowerCase()}`, `0x${digits.toUpperCase()}`],
    sign: async (_asked, message) => only(await wallet.signMessage({ message }))
  }
}

/**
 * A contract wallet as EIP-1271 wants it, for `owner`'s key; by hand, since nothing here compiles Solidity:
 *
 *     function isValidSignature(bytes32 hash, bytes sig) returns (bytes4) {
 *       return ecrecover(hash, uint8(sig[64]), sig[0:32], sig[32:64]) == owner ? 0x1626ba7e : 0xffffffff;
 *     } // any other function reverts
 */
export const contractWalletCode = (owner: string): string =>
  [
    "0x",
    "5f3560e01c631626ba7e14601157", // selector 1626ba7e: on at 0x11
    "5f5ffd5b", // else revert
    "6004355f52", // memory 0x00: hash
    "60a4355f1a602052", // 0x20: v, the last byte of the signature
    "606435604052", // 0x40: r
    "608435606052", // 0x60: s
    "60205f60805f60015afa50", // precompile 1 (ecrecover) over them, its answer at 0x00
    `5f5173${owner.slice(2).toLowerCase()}14605f57`, // the owner: on at 0x5f
    "63ffffffff60e01b5f5260205ff3",
    "5b631626ba7e60e01b5f5260205ff3"
  ].join("")

export const solanaWallet: SignInWallet = (seed) => {
  const { publicKey, secretKey } = keysOf(seed)
  return {
    address: base58.encode(publicKey),
    spellings: [],
    sign: (_asked, message) => Promise.resolve(only(base58.encode(nacl.sign.detached(Buffer.from(message), secretKey))))
  }
}

type SuiKeys = Ed25519Keypair | Secp256k1Keypair | Secp256r1Keypair

export const suiKeys = {
  Ed25519: (seed: number) => Ed25519Keypair.fromSecretKey(secret(seed)),
  secp256k1: (seed: number) => Secp256k1Keypair.fromSecretKey(secret(seed)),
  secp256r1: (seed: number) => Secp256r1Keypair.fromSecretKey(secret(seed))
} as const satisfies Record<string, (seed: number) => SuiKeys>

export const suiWallet = (kind: keyof typeof suiKeys): SignInWallet => (seed) => {
  const keys = suiKeys[kind](seed)
  const address = keys.toSuiAddress()
  return {
    address,
    spellings: [`0x${address.slice(2).toUpperCase()}`],
    sign: async (_asked, message) => only((await keys.signPersonalMessage(Buffer.from(message))).signature)
  }
}

export type TonVersion = keyof typeof codes

/** The first state of a wallet (`@ton/ton`): what stands before the key and behind it differs by version. */
export const tonState = (version: TonVersion, key: Uint8Array, more: {
  readonly mayKeySign?: boolean
  readonly walletId?: number
} = {}) => {
  const { mayKeySign = true, walletId = 698_983_191 } = more
  const data = beginCell()
  if (version === "v5r1") data.storeBit(mayKeySign)
  data.storeUint(0, 32)
  if (version !== "v2r2") data.storeUint(walletId, 32)
  data.storeBuffer(Buffer.from(key))
  if (version === "v4r2" || version === "v5r1") data.storeBit(false)
  return { code: Cell.fromBase64(codes[version]), data: data.endCell() }
}

/** A state as TON Connect tells it. */
export const tonStateText = (state: ReturnType<typeof tonState>): string =>
  beginCell().store(storeStateInit(state)).endCell().toBoc().toString("base64")

/** What a wallet says in its proof, where it is not what it was asked for. */
export interface TonProofOverrides {
  readonly timestamp?: number
  readonly domain?: string
  readonly payload?: string
  readonly lengthBytes?: number
  readonly address?: Address
}

/** What a wallet answers to a proof request (TON Connect 2, "Address proof signature"). */
export const tonProof = (
  version: TonVersion,
  seed: number,
  asked: ChallengeFields,
  said: TonProofOverrides = {},
  workchain = 0,
  state = tonState(version, keysOf(seed).publicKey)
): SignedProof => {
  const { secretKey } = keysOf(seed)
  const { domain = asked.domain, payload = asked.nonce, timestamp = asked.issuedAt } = said
  const address = said.address ?? contractAddress(workchain, state)
  const header = Buffer.alloc(4)
  header.writeInt32BE(address.workChain)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(Buffer.byteLength(domain))
  const time = Buffer.alloc(8)
  time.writeBigUInt64LE(BigInt(timestamp))
  const bytes = (...parts: ReadonlyArray<Buffer | string>) =>
    Buffer.concat(parts.map((part) => typeof part === "string" ? Buffer.from(part) : part))
  const message = bytes("ton-proof-item-v2/", header, address.hash, length, domain, time, payload)
  const digest = sha256_sync(bytes(Buffer.from([255, 255]), "ton-connect", sha256_sync(message)))
  const signature = Buffer.from(nacl.sign.detached(digest, secretKey)).toString("base64")
  const named = { lengthBytes: said.lengthBytes ?? Buffer.byteLength(domain), value: domain }
  return {
    signature,
    publicKey: null,
    proof: { timestamp, domain: named, payload, signature, state_init: tonStateText(state) }
  }
}

export const tonWallet = (version: TonVersion, workchain = 0): SignInWallet => (seed) => {
  const address = contractAddress(workchain, tonState(version, keysOf(seed).publicKey))
  const flags = [true, false].flatMap((bounceable) => [true, false].map((testOnly) => ({ bounceable, testOnly })))
  const spellings = [true, false].flatMap((urlSafe) => flags.map((flag) => address.toString({ ...flag, urlSafe })))
  return {
    address: address.toRawString(),
    spellings: [...spellings, address.toRawString().toUpperCase()],
    sign: (asked) => Promise.resolve(tonProof(version, seed, asked, {}, workchain))
  }
}

/** Blake2b-224, as Cardano's addresses name keys. */
export const keyHashOf = (key: Uint8Array): Uint8Array => blake2b(key, { dkLen: 28 })

/** Somebody's stake key, or script. */
export const stakeHash: Uint8Array = new Uint8Array(28).fill(0x5e)

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** Bech32 of any bytes. */
export const bech32Text = (prefix: string, bytes: Uint8Array): string =>
  bech32.encode(prefix, bech32.toWords(bytes), false)

/** The addresses a key answers for (CIP-19): their prefix and bytes. */
export const cardanoKinds = {
  base: (hash: Uint8Array) => ["addr", Uint8Array.of(0x01, ...hash, ...stakeHash)],
  "base with a stake script": (hash: Uint8Array) => ["addr", Uint8Array.of(0x21, ...hash, ...stakeHash)],
  enterprise: (hash: Uint8Array) => ["addr", Uint8Array.of(0x61, ...hash)],
  reward: (hash: Uint8Array) => ["stake", Uint8Array.of(0xe1, ...hash)],
  "test base": (hash: Uint8Array) => ["addr_test", Uint8Array.of(0x00, ...hash, ...stakeHash)]
} as const satisfies Record<string, (hash: Uint8Array) => readonly [string, Uint8Array]>

type Entries = ReadonlyArray<readonly [unknown, unknown]>

/** What differs from a good COSE_Sign1 and COSE_Key. */
export interface Cose {
  readonly header?: Entries
  readonly open?: Entries
  readonly payload?: Uint8Array | null
  readonly key?: Entries
}

export const coseKey = (publicKey: Uint8Array): Entries => [[1, 1], [3, -8], [-1, 6], [-2, publicKey]]

/** What `signData` of CIP-30 answers for `address`. */
export const signData = (seed: number, address: Uint8Array, message: string, cose: Cose = {}): SignedProof => {
  const { publicKey, secretKey } = keysOf(seed)
  const payload = cose.payload === undefined ? Buffer.from(message) : cose.payload
  const header = encode(new Map(cose.header ?? [[1, -8], ["address", address]]))
  const signedBytes = encode(["Signature1", header, new Uint8Array(), payload ?? new Uint8Array()])
  const signature = nacl.sign.detached(signedBytes, secretKey)
  const open = new Map(cose.open ?? [["hashed", false]])
  return {
    signature: hex(encode([header, open, payload, signature])),
    publicKey: hex(encode(new Map(cose.key ?? coseKey(publicKey)))),
    proof: null
  }
}

/** Its signatures hold nothing that is not signed, so that any change of them breaks them. */
export const cardanoWallet = (kind: keyof typeof cardanoKinds): SignInWallet => (seed) => {
  const [prefix, bytes] = cardanoKinds[kind](keyHashOf(keysOf(seed).publicKey))
  const address = bech32Text(prefix, bytes)
  return {
    address,
    spellings: [address.toUpperCase(), hex(bytes), hex(bytes).toUpperCase()],
    sign: (_asked, message) => Promise.resolve(signData(seed, bytes, message, { open: [] }))
  }
}
