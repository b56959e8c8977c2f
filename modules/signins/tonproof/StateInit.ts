/** The first state of a TON account: its hash is the address, and a wallet's holds the key that signs for it. */
import { bytesToHex } from "@noble/hashes/utils.js"
import type { Slice } from "@ton/core"
import { Effect, Result } from "effect"

/** A wallet's state is 700 bytes; nothing larger is parsed. */
const maximumBase64 = 8_192

interface WalletCode {
  /** Where the public key stands in the data, in bits. */
  readonly keyAt: number
  /** The data begins with a bit that says whether the key may sign at all. */
  readonly hasPermission: boolean
}

/** Sequence number 32 bits, subwallet 32 bits. */
const v3: WalletCode = { keyAt: 64, hasPermission: false }
const v4 = v3
/** Permission 1 bit, sequence number 32 bits, wallet id 32 bits. */
const v5: WalletCode = { keyAt: 65, hasPermission: true }

/**
 * Wallets by the hash of their code. A code not listed could keep anything where these keep their key. Source: the
 * codes in `@ton/ton` 16.3.0; v4r1, which that no longer has, is in `pytoniq`.
 */
const wallets: ReadonlyMap<string, WalletCode> = new Map([
  ["b61041a58a7980b946e8fb9e198e3c904d24799ffa36574ea4251c41a566f581", v3], // v3r1
  ["84dafa449f98a6987789ba232358072bc0f76dc4524002a5d0918b9a75d2d599", v3], // v3r2
  ["64dd54805522c5be8a9db59cea0105ccf0d08786ca79beb8cb79e880a8d7322d", v4], // v4r1
  ["feb5ff6820e2ff0d9483e7e0d62c817d846789fb4ae580c878866d959dabd5c0", v4], // v4r2
  ["20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f", v5] // v5r1
])

export interface WalletState {
  /** 32 bytes: the account's address within its workchain. */
  readonly hash: Uint8Array
  /** Null where the code is no known wallet's, or the wallet does not let its key sign. */
  readonly publicKey: Uint8Array | null
}

const keyIn = (data: Slice, { hasPermission, keyAt }: WalletCode): Uint8Array | null =>
  hasPermission && !data.preloadBit() ? null : data.skip(keyAt).loadBuffer(32)

/** Reads a state (a bag of cells in base64); null when it is none. The parser is loaded at the first call. */
export const readStateInit = (text: string): Effect.Effect<WalletState | null> =>
  text.length > maximumBase64 ? Effect.succeed(null) : Effect.map(
    Effect.promise(() => import("@ton/core")),
    ({ Cell, loadStateInit }) =>
      Result.getOrNull(Result.try((): WalletState => {
        const cell = Cell.fromBase64(text)
        const { code, data } = loadStateInit(cell.beginParse())
        const wallet = code instanceof Cell ? wallets.get(bytesToHex(code.hash())) : undefined
        const publicKey = wallet === undefined || !data ? null : keyIn(data.beginParse(), wallet)
        return { hash: cell.hash(), publicKey }
      }))
  )
