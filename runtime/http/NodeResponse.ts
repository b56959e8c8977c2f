/** Writes what a route answered to node:http's own answer, and decides what becomes of a body that nobody read. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Latch, Stream } from "effect"
import { Cookies, HttpServerResponse } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { isAwaitingContinue } from "./NodeRequest.ts"
import { trailersOf } from "./Trailers.ts"

type Response = HttpServerResponse.HttpServerResponse
type NodeHeaders = Record<string, string | Array<string>>

/** Bytes of a body that are read and dropped after the answer to keep the connection; it is closed beyond them. */
const maximumDiscardedBytes = 262_144

/**
 * What is still read and dropped on a connection that closes. A client or proxy that sends its whole body before it
 * looks for an answer would be stopped by a full buffer, and a connection that is cut with bytes unread loses the
 * answer on its way: a proxy then says 502. It ends when nothing came for {@link closeGraceMillis}, or at the first of
 * the two bounds.
 */
const closeGraceMillis = 2_000
const maximumCloseMillis = 5_000
const maximumCloseBytes = 16_777_216

/** Bytes of an answer from which on its fiber waits until they are handed over. */
const largeAnswerBytes = 1_048_576

/** Whether a status stands in the answer itself: 1xx would leave the client waiting for another. */
const isFinal = (status: number): boolean => status >= 200 && status <= 599

const hasNoBody = (status: number): boolean => status === 204 || status === 205 || status === 304

/** The head's headers: those of the response and its cookies. */
const headersOf = ({ cookies, headers, status }: Response): NodeHeaders => {
  const isWithoutLength = (status === 204 || status === 205) && headers["content-length"] !== undefined
  if (!isWithoutLength && Cookies.isEmpty(cookies)) return headers
  const all: NodeHeaders = { ...headers }
  if (isWithoutLength) delete all["content-length"]
  if (!Cookies.isEmpty(cookies)) {
    const own = headers["set-cookie"]
    all["set-cookie"] = [...Cookies.toSetCookieHeaders(cookies), ...own === undefined ? [] : [own]]
  }
  return all
}

/**
 * Whether the head must say that the connection closes. It does where more of the body is announced than is read after
 * the answer; but not for a stream, because what writes it may still be reading that body. And it does where the sender
 * still waits to be told that it may send: clients differ in whether they then send the body, so the next bytes could
 * be that body or another request.
 */
const isToClose = (request: IncomingMessage, isStream: boolean): boolean =>
  !request.complete &&
  (isAwaitingContinue(request) || (!isStream && Number(request.headers["content-length"]) > maximumDiscardedBytes))

const closeGently = (request: IncomingMessage): void => {
  const { socket } = request
  if (socket.destroyed) return
  const cut = () => void socket.destroy()
  socket.end()
  const silence = setTimeout(cut, closeGraceMillis)
  const end = setTimeout(cut, maximumCloseMillis)
  let bytes = 0
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maximumCloseBytes) return cut()
    silence.refresh()
  })
  request.resume()
  socket.once("close", () => {
    clearTimeout(silence)
    clearTimeout(end)
  })
}

/** Fields of Node's own that its `finish` listener looks at, which runs right after {@link disposeOfBody}. */
interface NodeInternals {
  readonly request: { _consuming: boolean }
  readonly answer: { _last: boolean }
}

/**
 * After the answer: reads what little is left of the request's body, so that the connection is kept, or closes it. Node
 * itself would read an untouched body to its end, however long, and cut a closing connection at once, which can lose
 * the answer.
 */
const disposeOfBody = (request: IncomingMessage, answer: ServerResponse): void => {
  if (request.complete || request.destroyed) return
  const internal = answer as unknown as NodeInternals["answer"]
  if (internal._last) {
    const consumed = request as unknown as NodeInternals["request"]
    consumed._consuming = true
    internal._last = false
    return closeGently(request)
  }
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= maximumDiscardedBytes) return
    request.off("data", count)
    closeGently(request)
  }
  request.on("data", count)
  request.resume()
}

/** Writes the head of `response`. Throws for a status or a header that HTTP does not have. */
const writeHead = (answer: ServerResponse, response: Response, isStream: boolean): void => {
  const request = answer.req
  if (!isFinal(response.status)) throw new RangeError(`${response.status} is no status of a final answer`)
  const own = headersOf(response)
  // Node refuses the name of a trailer where no chunks are sent: to HEAD, and to HTTP/1.0.
  const hasNoTrailer = own["trailer"] !== undefined && (!isStream || request.httpVersion === "1.0")
  const headers = hasNoTrailer ? Object.fromEntries(Object.entries(own).filter(([name]) => name !== "trailer")) : own
  answer.writeHead(
    response.status,
    response.statusText,
    isToClose(request, isStream) ? { ...headers, connection: "close" } : headers
  )
  if (!request.complete) answer.prependListener("finish", () => disposeOfBody(request, answer))
}

/** Done when the answer has ended, or its client is gone. */
const awaitClose = (answer: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (answer.destroyed || answer.closed) return resume(Effect.void)
    answer.once("close", () => resume(Effect.void))
  })

const writeStream = (answer: ServerResponse, stream: Stream.Stream<Uint8Array, unknown>): Effect.Effect<void> => {
  const drained = Latch.makeUnsafe()
  answer.on("drain", () => drained.openUnsafe())
  const written = Stream.runForEachArray(Stream.orDie(stream), (chunks) => {
    if (answer.write(chunks.length > 1 ? Buffer.concat(chunks) : chunks[0])) return Effect.void
    drained.closeUnsafe()
    return drained.await
  })
  const end = Effect.sync(() => {
    const trailers = trailersOf(stream)
    if (trailers !== undefined) answer.addTrailers(trailers)
    answer.end()
  })
  return Effect.andThen(Effect.interruptible(written), end)
}

/** Node streams, such as files, and forms: they are rare, and Effect's own server has all it takes to write them. */
const writeByEffect = (answer: ServerResponse, response: Response): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.scope,
    (scope) =>
      Effect.flatMap(NodeHttpServer.makeHandler(Effect.succeed(response), { scope }), (handle) => {
        handle(answer.req, answer)
        return awaitClose(answer)
      })
  ) as Effect.Effect<void>

/**
 * Writes a response. What is text or bytes of usual length is written at once, and the effect has nothing left to do.
 * Throws for a response that HTTP cannot carry.
 */
export const write = (answer: ServerResponse, response: Response): Effect.Effect<void> => {
  const { body, status } = response
  if (body._tag === "Raw" || body._tag === "FormData") return writeByEffect(answer, response)
  // Somebody answered already, or nobody is there any more.
  if (answer.writableEnded || answer.destroyed) return Effect.void
  const isBare = answer.req.method === "HEAD" || body._tag === "Empty" || hasNoBody(status)
  writeHead(answer, response, body._tag === "Stream" && !isBare)
  if (isBare) {
    answer.end()
    return Effect.void
  }
  // Node checks the length of what is written, but then writes text in two parts by one more costly call
  // (`npm run bench -- http`): it is asked to only where the head may say another length than the body has.
  answer.strictContentLength = body._tag === "Stream" ||
    Number(response.headers["content-length"]) !== body.contentLength
  if (body._tag === "Stream") return writeStream(answer, body.stream)
  answer.end(body.text ?? body.body)
  return body.contentLength < largeAnswerBytes ? Effect.void : awaitClose(answer)
}
