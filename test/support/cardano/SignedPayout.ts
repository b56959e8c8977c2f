/** A Cardano wallet as far as payouts go: reads a payload by a library that the service does not use, and signs it. */
import { blake2b } from "@noble/hashes/blake2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { bech32 } from "@scure/base"
import { createRequire } from "node:module"
import type { RigOutput, RigTransaction, Signer } from "./Ledger.ts"

/** Strica's codec of CBOR; the package is CommonJS. */
const require = createRequire(
  createRequire(import.meta.url).resolve("@cardano-foundation/cardano-verify-datasignature")
)
const { Decoder, Encoder, getCborBytes } = require("@stricahq/cbors")

export interface ReadPayout {
  /** As the driver names it. */
  readonly id: string
  /** Blake2b-256 of the body's own bytes. */
  readonly bodyHash: string
  readonly bytes: number
  readonly inputs: ReadonlyArray<{ readonly txHash: string; readonly index: number }>
  readonly outputs: ReadonlyArray<RigOutput>
  readonly fee: bigint
  readonly ttl: bigint
  /** Lines of the message with the label 674; the body names the hash of all metadata. */
  readonly message: ReadonlyArray<string>
  readonly hasRightMetadataHash: boolean
  readonly bodyKeys: ReadonlyArray<number>
  /** The library writes the same bytes, with the shortest of all forms. */
  readonly isShortest: boolean
}

const hash = (bytes: Uint8Array): string => bytesToHex(blake2b(bytes, { dkLen: 32 }))

const addressOf = (bytes: Uint8Array): string =>
  bech32.encode((bytes[0]! & 0xf) === 1 ? "addr" : "addr_test", bech32.toWords(Uint8Array.from(bytes)), 1_000)

const outputOf = ([address, value]: readonly [Uint8Array, any]): RigOutput => {
  if (!Array.isArray(value)) return { address: addressOf(address), lovelace: BigInt(value) }
  const assets = new Map<string, Map<string, bigint>>()
  for (const [policy, names] of value[1]) {
    assets.set(
      bytesToHex(policy),
      new Map([...names].map(([name, quantity]: [Uint8Array, unknown]) => [
        Buffer.from(name).toString("utf8"),
        BigInt(quantity as number)
      ]))
    )
  }
  return { address: addressOf(address), lovelace: BigInt(value[0]), assets }
}

const decodePayload = (payload: string) => {
  const { id, transaction } = JSON.parse(payload) as { readonly id: string; readonly transaction: string }
  const bytes = Buffer.from(transaction, "hex")
  return { id, bytes, items: Decoder.decode(bytes).value as [Map<number, any>, Map<number, any>, boolean, any] }
}

/** What a wallet shows of a payload before it signs. */
export const readPayout = (payload: string): ReadPayout => {
  const { bytes, id, items: [body, , , metadata] } = decodePayload(payload)
  return {
    id,
    bodyHash: hash(getCborBytes(bytes, body)),
    bytes: bytes.length,
    inputs: body.get(0).map(([txHash, index]: [Uint8Array, number]) => ({ txHash: bytesToHex(txHash), index })),
    outputs: body.get(1).map(outputOf),
    fee: BigInt(body.get(2)),
    ttl: BigInt(body.get(3)),
    message: metadata.get(674).get("msg"),
    hasRightMetadataHash: bytesToHex(body.get(7)) === hash(getCborBytes(bytes, metadata)),
    bodyKeys: [...body.keys()],
    isShortest: Buffer.compare(Encoder.encode(Decoder.decode(bytes).value), bytes) === 0
  }
}

/**
 * A payload as a wallet may write it anew: the change pays a higher fee, and with `destination` the last line goes
 * there.
 */
export const rewritePayout = (payload: string, destination?: string): string => {
  const { items } = decodePayload(payload)
  const [body] = items
  const outputs = body.get(1)
  const change = outputs.at(-1)
  change[1] = Number(change[1]) - 5_000
  body.set(2, Number(body.get(2)) + 5_000)
  if (destination !== undefined) {
    outputs.at(-2)[0] = Buffer.from(bech32.fromWords(bech32.decode(destination as `${string}1${string}`, 1_000).words))
  }
  return JSON.stringify({ id: hash(Encoder.encode(body)), transaction: Encoder.encode(items).toString("hex") })
}

/** The transaction that a wallet submits: the body and the metadata as they were, and witnesses of its keys. */
export const signPayout = (payload: string, ...signers: ReadonlyArray<Signer>): Uint8Array => {
  const { bytes, items: [body, , , metadata] } = decodePayload(payload)
  const raw: Uint8Array = getCborBytes(bytes, body)
  const hashed = blake2b(raw, { dkLen: 32 })
  const witness: Uint8Array = Encoder.encode(
    new Map([[0, signers.map(({ publicKey, sign }) => [Buffer.from(publicKey), Buffer.from(sign(hashed))])]])
  )
  return Buffer.concat([Uint8Array.of(0x84), raw, witness, Uint8Array.of(0xf5), getCborBytes(bytes, metadata)])
}

/** A signed transaction as the rig's ledger keeps it, read from its bytes. `addressOf`: what each input is of. */
export const readSigned = (
  cbor: Uint8Array,
  addressOf: string | ((input: { readonly txHash: string; readonly index: number }) => string)
): RigTransaction => {
  const bytes = Buffer.from(cbor)
  const [body, , , metadata] = Decoder.decode(bytes).value as [Map<number, any>, unknown, boolean, any]
  const inputs: ReadonlyArray<[Uint8Array, number]> = body.get(0)
  return {
    txHash: hash(getCborBytes(bytes, body)),
    cbor: bytesToHex(cbor),
    fee: BigInt(body.get(2)),
    inputs: inputs.map(([hashBytes, index]) => {
      const input = { txHash: bytesToHex(hashBytes), index }
      return { ...input, address: typeof addressOf === "string" ? addressOf : addressOf(input) }
    }),
    outputs: (body.get(1) as ReadonlyArray<readonly [Uint8Array, any]>).map(outputOf),
    message: metadata?.get(674)?.get("msg") ?? []
  }
}
