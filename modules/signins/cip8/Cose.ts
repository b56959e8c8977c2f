/** The two CBOR values a CIP-30 wallet answers `signData` with: COSE_Sign1 and COSE_Key (RFC 9052, CIP-8). */
import { Effect, Result } from "effect"
import { publicKeyBytes } from "../siws/Ed25519.ts"

/** A signature over our message is under 1 KiB, a key under 100 bytes: nothing larger is parsed. In hex digits. */
const maximumHex = 8_192

/** Labels and values of RFC 9052 and RFC 9053. */
const label = { algorithm: 1, keyType: 1, keyAlgorithm: 3, curve: -1, x: -2 } as const
const edDsa = -8
const octetKeyPair = 1
const ed25519Curve = 6

export interface CoseSign1 {
  /** Bytes of the address the wallet says it signed for: part of what is signed. */
  readonly address: Uint8Array
  /** What is signed, by the wallet's word. Null: detached. */
  readonly payload: Uint8Array | null
  /** The unsigned flag that `payload` is a hash of the message. */
  readonly isHashed: boolean
  /** The bytes the signature is over. */
  readonly signedBytes: Uint8Array
  readonly signature: Uint8Array
}

/** One spelling a value: no indefinite lengths, no long forms of short numbers, no key twice, nothing behind it. */
const decodeOptions = {
  strict: true,
  useMaps: true,
  rejectDuplicateMapKeys: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false
} as const

const library = Effect.promise(() => import("cborg"))

const fromHex = (text: string): Uint8Array | null =>
  text.length <= maximumHex && /^(?:[0-9a-f]{2})+$/i.test(text) ? Uint8Array.from(Buffer.from(text, "hex")) : null

const decodeCbor = (text: string) =>
  Effect.map(library, ({ decode }): unknown => {
    const bytes = fromHex(text)
    return bytes === null ? null : Result.getOrNull(Result.try(() => decode(bytes, decodeOptions)))
  })

/** Reads a COSE_Sign1 in hex; null when it is none by EdDSA with an address. The parser is loaded at the first call. */
export const readCoseSign1 = Effect.fnUntraced(function*(text: string): Effect.fn.Return<CoseSign1 | null> {
  const value = yield* decodeCbor(text)
  if (!Array.isArray(value) || value.length !== 4) return null
  const [header, open, payload, signature]: ReadonlyArray<unknown> = value
  if (!(header instanceof Uint8Array && open instanceof Map && signature instanceof Uint8Array)) return null
  if (payload !== null && !(payload instanceof Uint8Array)) return null
  const { decode, encode } = yield* library
  const map: unknown = Result.getOrNull(Result.try((): unknown => decode(header, decodeOptions)))
  const address: unknown = map instanceof Map ? map.get("address") : null
  if (!(map instanceof Map && map.get(label.algorithm) === edDsa && address instanceof Uint8Array)) return null
  const signedBytes = encode(["Signature1", header, new Uint8Array(), payload ?? new Uint8Array()])
  return { address, payload, isHashed: open.get("hashed") === true, signedBytes, signature }
})

/** Reads the Ed25519 public key of a COSE_Key in hex; null when it is none. */
export const readPublicKey = (text: string): Effect.Effect<Uint8Array | null> =>
  Effect.map(decodeCbor(text), (key) => {
    if (!(key instanceof Map)) return null
    const x: unknown = key.get(label.x)
    const isEd25519 = key.get(label.keyType) === octetKeyPair && key.get(label.keyAlgorithm) === edDsa &&
      key.get(label.curve) === ed25519Curve
    return isEd25519 && x instanceof Uint8Array && x.length === publicKeyBytes ? x : null
  })
