/**
 * Requests that Node's parser refuses before there is anything to route: too long a URL, too many headers, no HTTP.
 * They get the answers Node gives, which have no body; where refusals are rendered for the address, as far as it came,
 * the page.
 */
import { Cookies } from "effect/http"
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { publicError } from "../../schemas/Errors.ts"
import type { ErrorPages, RefusedRequest } from "../Http.ts"

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
  request: RefusedRequest | undefined,
  errorPages: typeof ErrorPages.Service
): string => {
  const page = request === undefined
    ? undefined
    : errorPages.choose(request).render?.(publicError("VALIDATION_ERROR"), request)
  const html = page?.html ?? ""
  const headers = {
    connection: "close",
    ...(page === undefined ? {} : { ...page.headers, "content-type": "text/html; charset=utf-8" }),
    "content-length": String(Buffer.byteLength(html))
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${request?.method === "HEAD" ? "" : html}`
}

/** Answers on `server` what its parser refuses. */
export const answerParseErrors = (server: Server, errorPages: typeof ErrorPages.Service): void => {
  const underWay = new WeakMap<Socket, ServerResponse>()
  server.on("request", (request: IncomingMessage, response: ServerResponse) => underWay.set(request.socket, response))
  server.on("clientError", (error: Error & { readonly code?: string; readonly rawPacket?: Buffer }, socket: Socket) => {
    if (socket.writableEnded) return
    const last = underWay.get(socket)
    // In the middle of another answer, anything written would be taken for a part of it.
    if (!socket.writable || (last?.headersSent === true && !last.writableEnded)) return void socket.destroy()
    const refusedRequest = readRequest(error.rawPacket?.toString("latin1") ?? "")
    socket.setTimeout(lingerMillis, () => socket.destroy())
    socket.end(answerOf(statuses[error.code ?? ""] ?? 400, refusedRequest, errorPages))
  })
}
