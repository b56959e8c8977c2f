/** Bodies that are the same for everyone: kept compressed, told apart by an ETag, never sent twice to who has them. */
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { brotliCompress, constants, gunzip, gzip } from "node:zlib"
import { matchesEtag } from "./Etags.ts"

/** Brotli's effort, 0 to 11: from here on each step costs twice the time for a percent of size. */
const brotliQuality = 6

/** Bytes up to which the most effort is made, once at the start: such a body is part of a page's first view. */
const smallBodyBytes = 16_384

/**
 * A body in the two encodings that clients accept, one buffer each, shared by all answers so that a slow reader holds
 * no copy of its own. A client that accepts neither gets the unpacked body, whose buffer is shared in the same way.
 */
export interface Asset {
  /** Twelve hexadecimal digits of the body's SHA-256: part of a name that may be kept for ever. */
  readonly hash: string
  readonly contentType: string
  readonly brotli: Uint8Array
  readonly gzip: Uint8Array
  readonly unpack: Effect.Effect<Uint8Array>
}

/** Kept for a year and never asked for again: only for addresses that name the content's hash. */
export const immutable = "public, max-age=31536000, immutable"

/** May be kept, and is asked about before each use. */
export const revalidate = "public, no-cache"

type Packed = (error: Error | null, packed: Uint8Array) => void

/** A failure of zlib on bytes in memory is a defect: there is nothing a caller could do. */
const packed = (run: (done: Packed) => void): Effect.Effect<Uint8Array> =>
  Effect.callback((resume) => run((error, bytes) => resume(error === null ? Effect.succeed(bytes) : Effect.die(error))))

/**
 * Unpacks the body once for all answers that need it at the same time. It is held weakly, because most clients accept
 * an encoding: the memory is free again when the last such answer has been sent.
 */
const makeUnpack = (gzipped: Uint8Array): Effect.Effect<Uint8Array> => {
  let cached: WeakRef<Uint8Array> | undefined
  let pending: Promise<Uint8Array> | undefined
  const run = () =>
    new Promise<Uint8Array>((resolve, reject) =>
      gunzip(gzipped, (error, bytes) => error === null ? resolve(bytes) : reject(error))
    ).then((bytes) => {
      cached = new WeakRef(bytes)
      return bytes
    }).finally(() => pending = undefined)
  return Effect.suspend(() => {
    const bytes = cached?.deref()
    return bytes === undefined ? Effect.promise(() => pending ??= run()) : Effect.succeed(bytes)
  })
}

/** Compresses a body on zlib's own threads. */
export const makeAsset = (body: string | Uint8Array, contentType: string): Effect.Effect<Asset> => {
  const bytes = typeof body === "string" ? Buffer.from(body) : body
  const quality = bytes.length <= smallBodyBytes ? constants.BROTLI_MAX_QUALITY : brotliQuality
  const brotli = packed((done) =>
    brotliCompress(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    }, done)
  )
  const gzipped = packed((done) => gzip(bytes, done))
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 12)
  return Effect.map(
    Effect.all([brotli, gzipped], { concurrency: 2 }),
    ([brotli, gzip]) => ({ hash, contentType, brotli, gzip, unpack: makeUnpack(gzip) })
  )
}

const refused = /^\s*q=0(?:\.0*)?\s*$/

/** Whether an `Accept-Encoding` takes a coding. */
export const acceptsEncoding = (accepted: string, coding: string): boolean =>
  accepted.split(",").some((entry) => {
    const [name = "", ...parameters] = entry.split(";")
    return name.trim().toLowerCase() === coding && !parameters.some((parameter) => refused.test(parameter))
  })

/** The answer to a GET of `asset`: 304 to who has it, else its body in the best encoding the caller takes. */
export const serve = (
  { brotli, contentType, gzip, hash, unpack }: Asset,
  { headers: asked }: HttpServerRequest.HttpServerRequest,
  cacheControl: string,
  more: Readonly<Record<string, string>> = {}
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  // Weak, because the bytes differ by encoding.
  const etag = `W/"${hash}"`
  const headers = { ...more, etag, "cache-control": cacheControl, vary: "accept-encoding" }
  if (matchesEtag(asked["if-none-match"], etag)) {
    return Effect.succeed(HttpServerResponse.empty({ status: 304, headers }))
  }
  const accepted = asked["accept-encoding"] ?? ""
  const answer = (body: Uint8Array, encoding: Readonly<Record<string, string>> = {}) =>
    HttpServerResponse.uint8Array(body, { contentType, headers: { ...headers, ...encoding } })
  if (acceptsEncoding(accepted, "br")) return Effect.succeed(answer(brotli, { "content-encoding": "br" }))
  if (acceptsEncoding(accepted, "gzip")) return Effect.succeed(answer(gzip, { "content-encoding": "gzip" }))
  return Effect.map(unpack, (body) => answer(body))
}
