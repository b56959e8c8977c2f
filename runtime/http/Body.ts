/** Request bodies before any schema sees them: size, encoding, depth, and strings that PostgreSQL cannot hold. */
import { ByteSize, Effect, Result, type Schema } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { isUtf8 } from "node:buffer"
import { IncomingMessage } from "node:http"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { isAwaitingContinue } from "./NodeRequest.ts"

/** Bytes of a body, at most: 256 KiB (modules/docs/reference/conventions.md#bodies). */
export const maximumBodyBytes = 262_144

/** Nested arrays and objects in a body, at most; JSON.parse of 200,000 takes 221 ms, JSON.stringify of 5,000 throws. */
export const maximumBodyDepth = 32

const bodyLimit = ByteSize.bytes(maximumBodyBytes)

const quote = 0x22
const backslash = 0x5c
const isOpening = (code: number): boolean => code === 0x5b || code === 0x7b
const isClosing = (code: number): boolean => code === 0x5d || code === 0x7d

/** The code unit that `\uXXXX` at `index` spells, or NaN. */
const escapedUnit = (text: string, index: number): number =>
  text.charCodeAt(index + 1) === 0x75 ? Number.parseInt(text.slice(index + 2, index + 6), 16) : Number.NaN

/**
 * What is wrong with a JSON text, judged before it is parsed; null if nothing here is. Malformed JSON is left to the
 * parser, and a raw NUL too, which `JSON.parse` refuses. A text without `\u` escapes holds no lone surrogate, because
 * it was checked to be UTF-8, which cannot encode one.
 */
export const bodyFault = (text: string): "depth" | "text" | null =>
  !text.includes("\\u") && hasFewOpenings(text) ? null : scanForFault(text)

/** Whether a text cannot nest too deep, because it opens too little. Most bodies are done with this look. */
const hasFewOpenings = (text: string): boolean => {
  let openings = 0
  for (const bracket of ["{", "["]) {
    for (let index = text.indexOf(bracket); index !== -1; index = text.indexOf(bracket, index + 1)) {
      if (++openings > maximumBodyDepth) return false
    }
  }
  return true
}

const scanForFault = (text: string): "depth" | "text" | null => {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) {
      inString = !inString
    } else if (inString) {
      if (code !== backslash) continue
      const unit = escapedUnit(text, index)
      if (unit === 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return "text"
      if (unit >= 0xd800 && unit <= 0xdbff) {
        const low = text.charCodeAt(index + 6) === backslash ? escapedUnit(text, index + 6) : Number.NaN
        if (!(low >= 0xdc00 && low <= 0xdfff)) return "text"
        index += 6
      }
      index++
    } else if (isOpening(code)) {
      depth += 1
      if (depth > maximumBodyDepth) return "depth"
    } else if (isClosing(code)) {
      depth -= 1
    }
  }
  return null
}

const tooDeep = publicError("VALIDATION_ERROR", {
  message: `The body may nest arrays and objects ${maximumBodyDepth} deep at most`
})

const unstorableText = publicError("VALIDATION_ERROR", {
  message: "Text must not contain the NUL character or half of a surrogate pair"
})

const notUtf8 = publicError("INVALID_JSON", { message: "The body is not valid UTF-8" })

/** A byte order mark stays in the text, so that the JSON parser refuses it. */
const decode = (bytes: Buffer): Effect.Effect<string, PublicError> => {
  if (!isUtf8(bytes)) return Effect.fail(notUtf8)
  const text = bytes.toString("utf8")
  const fault = bodyFault(text)
  return fault === null ? Effect.succeed(text) : Effect.fail(fault === "depth" ? tooDeep : unstorableText)
}

const endedEarly = publicError("INVALID_JSON", { message: "The body ended early" })

const readFault = (error: HttpServerError.HttpServerError): PublicError =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
    ? publicError("PAYLOAD_TOO_LARGE")
    : endedEarly

/** A body that takes longer to come than this is a slow sender's. */
const slowBodyMillis = 1_000

/** Requests whose body was slow, and has come whole. */
const slowBodies = new WeakSet<IncomingMessage>()

/**
 * Whether a route that took long had to wait for its request: it has not come whole yet, or its body was slow. A slow
 * body counts once, so this forgets it: the route has its whole time from then on.
 */
export const takeSenderDelay = ({ source }: HttpServerRequest.HttpServerRequest): boolean =>
  source instanceof IncomingMessage && (!source.complete || slowBodies.delete(source))

/**
 * The bytes of a body, read from Node's stream itself: every write has one, and `request.arrayBuffer` watches the
 * stream by many more listeners and copies what it read. The listeners stay when the body is no longer wanted: then
 * what is still on its way is read and dropped, so that the sender comes to read the answer.
 */
const bytesFrom = (source: IncomingMessage): Effect.Effect<Buffer, PublicError> =>
  Effect.callback((resume) => {
    const startMillis = performance.now()
    let chunks: Array<Buffer> = []
    let size = 0
    let isDone = false
    const finish = (result: Effect.Effect<Buffer, PublicError>) => {
      if (isDone) return
      isDone = true
      chunks = []
      resume(result)
    }
    if (source.readableEnded || source.destroyed) return finish(Effect.fail(endedEarly))
    source.on("data", (chunk: Buffer) => {
      if (isDone) return
      size += chunk.length
      chunks.push(chunk)
      if (size > maximumBodyBytes) finish(Effect.fail(publicError("PAYLOAD_TOO_LARGE")))
    })
    source.on("end", () => {
      if (performance.now() - startMillis > slowBodyMillis) slowBodies.add(source)
      finish(Effect.succeed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    })
    // A stream that breaks closes without an end; without a listener for it, Node drops its error.
    source.on("close", () => finish(Effect.fail(endedEarly)))
    return Effect.sync(() => {
      isDone = true
      chunks = []
    })
  })

/** Node's own request, unless its sender waits to be told that it may send the body. */
const isPlainMessage = (source: object): source is IncomingMessage =>
  source instanceof IncomingMessage && !isAwaitingContinue(source)

const bytesOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Buffer, PublicError> =>
  isPlainMessage(request.source)
    ? bytesFrom(request.source)
    : request.arrayBuffer.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, bodyLimit),
      Effect.mapBoth({ onFailure: readFault, onSuccess: (bytes) => Buffer.from(bytes) })
    )

/** What was read of a request's body, kept with the request: a field costs less than a place in a WeakMap. */
const bodyRead = Symbol("tillwire/runtime/http/Body/bodyRead")

interface BodyRead {
  readonly text: Effect.Effect<string, PublicError>
  json: Effect.Effect<Schema.Json | undefined, PublicError> | undefined
}

type RequestRead = HttpServerRequest.HttpServerRequest & { [bodyRead]?: BodyRead }

/** The body as text, checked, and read once however often it is asked for. Fails as a refusal of the body. */
export const bodyText = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<string, PublicError> =>
  (request as RequestRead)[bodyRead]?.text ??
    Effect.matchEffect(bytesOf(request), {
      onFailure: (error) => keepText(request, Effect.fail(error)),
      onSuccess: (bytes) => keepText(request, decode(bytes))
    })

const keepText = (request: RequestRead, text: BodyRead["text"]): BodyRead["text"] => {
  request[bodyRead] = { text, json: undefined }
  return text
}

/**
 * Makes `request.text` the checked one, for what reads a body by itself: after credentials were checked, so an unknown
 * caller's is never read. Its {@link PublicError} arrives as a defect there, and the family renders it.
 */
export const guardBody = (request: HttpServerRequest.HttpServerRequest): void => {
  Object.defineProperty(request, "text", { value: Effect.suspend(() => bodyText(request)) })
}

const malformed = publicError("INVALID_JSON")

const parse = (text: string): Effect.Effect<Schema.Json | undefined, PublicError> =>
  text === ""
    ? Effect.undefined
    : Effect.fromResult(Result.try({ try: () => JSON.parse(text) as Schema.Json, catch: () => malformed }))

/**
 * The body as JSON, parsed once for all that ask; undefined where it is empty. Fails with `INVALID_JSON`, and as the
 * checked text does.
 */
export const jsonBody = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Schema.Json | undefined, PublicError> => {
  if (!hasBody(request)) return Effect.undefined
  return (request as RequestRead)[bodyRead]?.json ??
    Effect.flatMapEager(bodyText(request), (text) => {
      const json = parse(text)
      const read = (request as RequestRead)[bodyRead]
      if (read !== undefined) read.json = json
      return json
    })
}

/** Whether the request announces a body. */
export const hasBody = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] !== undefined && headers["content-length"] !== "0")

/** `application/json`, with no parameter but `charset=utf-8`. */
const jsonType = /^application\/json\s*(;\s*charset\s*=\s*("utf-8"|utf-8)\s*)?$/i

/** Whether the announced body is larger than any may be. */
export const isOversized = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  Number(headers["content-length"]) > maximumBodyBytes

/** Why the announced body is no JSON that can be read, if so: `UNSUPPORTED_MEDIA_TYPE`. */
export const mediaTypeFault = ({ headers }: HttpServerRequest.HttpServerRequest): PublicError | undefined => {
  const type = headers["content-type"]
  if (type !== "application/json" && (type === undefined || type.length > 64 || !jsonType.test(type))) {
    return publicError("UNSUPPORTED_MEDIA_TYPE")
  }
  const encoding = headers["content-encoding"]
  return encoding === undefined || encoding === "identity"
    ? undefined
    : publicError("UNSUPPORTED_MEDIA_TYPE", { message: "Send the body without Content-Encoding" })
}

/** Bytes of a form, at most: 16 KiB. Those of the pages have some hundred. */
export const maximumFormBytes = 16_384

const formLimit = ByteSize.bytes(maximumFormBytes)

const formType = /^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*("utf-8"|utf-8)\s*)?$/i

/** What browsers make of a form: everything else is escaped. */
const formText = /^[\x21-\x7e]*$/

const malformedForm = publicError("VALIDATION_ERROR", {
  message: "The form is not well formed UTF-8, or holds the NUL character"
})

/**
 * The fields of a form (`application/x-www-form-urlencoded`), for a group that `TakesForms` of `Http.ts` marks. Errors:
 * `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE` over 16 KiB, `INVALID_JSON` where the body ended early,
 * `VALIDATION_ERROR` for text that is no UTF-8 or holds NUL.
 */
export const readForm = Effect.fnUntraced(function*(
  request: HttpServerRequest.HttpServerRequest
): Effect.fn.Return<URLSearchParams, PublicError> {
  const { "content-encoding": encoding, "content-length": length, "content-type": type = "" } = request.headers
  if (Number(length) > maximumFormBytes) return yield* publicError("PAYLOAD_TOO_LARGE")
  if (type.length > 64 || !formType.test(type) || (encoding !== undefined && encoding !== "identity")) {
    return yield* publicError("UNSUPPORTED_MEDIA_TYPE", { message: "Send a form: application/x-www-form-urlencoded" })
  }
  const bytes = yield* request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, formLimit),
    Effect.mapError(readFault)
  )
  const text = Buffer.from(bytes).toString("latin1")
  const form = new URLSearchParams(text)
  // Escapes that spell no UTF-8 are decoded to the replacement character, which nobody types.
  const isMalformed = !formText.test(text) || [...form].flat().some((part) => /[\0\ufffd]/.test(part))
  return isMalformed ? yield* malformedForm : form
})

/** The body of a response that was built from text; undefined for a stream. */
export const responseText = ({ body }: HttpServerResponse.HttpServerResponse): string | undefined => {
  if (body._tag === "Empty") return ""
  return body._tag === "Uint8Array" ? body.text ?? new TextDecoder().decode(body.body) : undefined
}
