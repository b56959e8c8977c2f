/**
 * Requests that Node's parser refuses before there is anything to route: too long a URL, too many headers, no HTTP.
 * They get the answers Node gives, which have no body, with an id; where refusals are rendered for the address, as far
 * as it came, the page.
 */
import { Cookies } from "effect/http"
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import { randomUUID } from "node:crypto"
import type { Socket } from "node:net"
import { publicError } from "../../schemas/Errors.ts"
import type { ErrorPages, RefusedRequest } from "../Http.ts"
import { errorPageBody } from "./ErrorPages.ts"
import type { RequestLog } from "../telemetry/RequestLog.ts"

/** Statuses of what Node names by other codes than "not HTTP". */
const statuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408
}

/** Milliseconds in which what the client still sends is thrown away: a connection cut at once would lose the answer. */
const lingerMillis = 1_000

/** What can be made out of the bytes at which the parser gave up. Undefined where they do not begin with a request. */
const readRequest = (bytes: string): RefusedRequest | undefined => {
  const [line = "", ...lines] = bytes.split("\r\n\r\n", 1)[0]!.split("\r\n")
  const [, method, url] = /^([A-Z]+) (\/\S*)/.exec(line) ?? []
  if (method === undefined || url === undefined) return undefined
  const headers = Object.fromEntries(lines.flatMap((each) => {
    const [, name, value] = /^([\w-]+):[ \t]*(.*)$/.exec(each) ?? []
    return name === undefined || value === undefined ? [] : [[name.toLowerCase(), value]]
  }))
  return { method, url, headers, cookies: Cookies.parseHeader(headers["cookie"] ?? "") }
}

/** The bytes of an answer after which the connection closes. */
const answerOf = (
  status: number,
  requestId: string,
  request: RefusedRequest | undefined,
  errorPages: typeof ErrorPages.Service
): string => {
  const page = request === undefined
    ? undefined
    : errorPages.choose(request).render?.(publicError("VALIDATION_ERROR"), request)
  const { contentType, text } = page === undefined ? { contentType: "", text: "" } : errorPageBody(page)
  const headers = {
    connection: "close",
    ...(page === undefined ? {} : { ...page.headers, "content-type": contentType }),
    "x-request-id": requestId,
    "content-length": String(Buffer.byteLength(text))
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${request?.method === "HEAD" ? "" : text}`
}

/** What answers to parse errors need. */
export interface ParseErrorOptions {
  readonly errorPages: typeof ErrorPages.Service
  readonly logRequest: RequestLog
  /** Counts an answer of this status. */
  readonly count: (status: number) => void
}

/** Answers on `server` what its parser refuses; counts and logs the answer where nobody else does. */
export const answerParseErrors = (server: Server, { count, errorPages, logRequest }: ParseErrorOptions): void => {
  const underWay = new WeakMap<Socket, ServerResponse>()
  server.on("request", (request: IncomingMessage, response: ServerResponse) => underWay.set(request.socket, response))
  server.on("clientError", (error: Error & { readonly code?: string; readonly rawPacket?: Buffer }, socket: Socket) => {
    if (socket.writableEnded) return
    const last = underWay.get(socket)
    // In the middle of another answer, anything written would be taken for a part of it.
    if (!socket.writable || (last?.headersSent === true && !last.writableEnded)) return void socket.destroy()
    const refusedRequest = readRequest(error.rawPacket?.toString("latin1") ?? "")
    socket.setTimeout(lingerMillis, () => socket.destroy())
    const status = statuses[error.code ?? ""] ?? 400
    const requestId = `req_${randomUUID()}`
    const method = refusedRequest?.method ?? null
    // A request that is under way, and did not come whole, has an entry of its own when it is broken off.
    if (last === undefined || last.writableEnded) {
      count(status)
      logRequest({ method, route: null, status, seconds: null, requestId, merchantId: null })
    }
    socket.end(answerOf(status, requestId, refusedRequest, errorPages))
  })
}
