/**
 * Addresses of the wallets that one public key has: the standard wallets keep a number beside the key, and each number
 * gives another address. An address is the hash of code and data, so of a wallet's code its own hash is enough.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import { beginCell, type Cell } from "@ton/core"
import type { Environment } from "../../../schemas/Network.ts"
import type { TonAccount } from "../../../schemas/TonAddress.ts"

/** A kind of wallet whose subwallets are derived. */
export interface WalletVersion {
  readonly name: "v4R2" | "v5R1"
  /** Hash and depth of the code's cell. Source: the codes in `@ton/ton` 16.3.0, of which each was hashed. */
  readonly codeHash: string
  readonly codeDepth: number
  /** Subwallets it has. */
  readonly size: number
  readonly dataOf: (publicKey: Uint8Array, subwallet: number, environment: Environment) => Cell
}

/** Wallet id of the first v4 wallet in workchain 0. Source: `@ton/ton` 16.3.0. */
const firstWalletId = 698_983_191

/** The number a network signs its blocks with (`global_id`). Source: docs.ton.org, "Networks". */
export const globalIds: Readonly<Record<Environment, number>> = { mainnet: -239, devnet: -3 }

/** Sequence number 0, wallet id, key, no plugins. */
const v4R2: WalletVersion = {
  name: "v4R2",
  codeHash: "feb5ff6820e2ff0d9483e7e0d62c817d846789fb4ae580c878866d959dabd5c0",
  codeDepth: 7,
  size: 2 ** 31,
  dataOf: (publicKey, subwallet) =>
    beginCell().storeUint(0, 32).storeUint(firstWalletId + subwallet, 32).storeBuffer(Buffer.from(publicKey))
      .storeBit(0).endCell()
}

/** A client's context: 1 bit, workchain 8 bits, version 8 bits, subwallet 15 bits; and the network mixed into it. */
const v5WalletId = (subwallet: number, environment: Environment): number =>
  (0x8000_0000 | subwallet) ^ globalIds[environment]

/** The key may sign, sequence number 0, wallet id, key, no extensions. */
const v5R1: WalletVersion = {
  name: "v5R1",
  codeHash: "20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f",
  codeDepth: 6,
  size: 2 ** 15,
  dataOf: (publicKey, subwallet, environment) =>
    beginCell().storeBit(1).storeUint(0, 32).storeInt(v5WalletId(subwallet, environment), 32)
      .storeBuffer(Buffer.from(publicKey)).storeBit(0).endCell()
}

export const walletVersions: ReadonlyArray<WalletVersion> = [v5R1, v4R2]

/** Two references, 5 bits: code and data are there, and nothing else (block.tlb, `StateInit`). */
const stateInitHead = Uint8Array.of(2, 1, 0b0011_0100)

/** The account of a subwallet in workchain 0. `subwallet`: 0 to the version's `size`. */
export const subwalletAccount = (
  { codeDepth, codeHash, dataOf }: WalletVersion,
  publicKey: Uint8Array,
  subwallet: number,
  environment: Environment
): TonAccount => {
  const data = dataOf(publicKey, subwallet, environment)
  const depths = Uint8Array.of(0, codeDepth, 0, data.depth())
  return { workchain: 0, hash: sha256(concatBytes(stateInitHead, depths, hexToBytes(codeHash), data.hash())) }
}
