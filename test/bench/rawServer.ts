/**
 * What a careful engineer writes by hand on node:http for a call of the API: the same checks, the same headers and as
 * long an answer as the service, without its promises to be changed easily. Judged by the bench `http`, which compares
 * both servers' answers first.
 */
import { isUtf8 } from "node:buffer"
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

export interface RawServerOptions {
  readonly key: string
  readonly reply: string
  readonly version: string
  /** Calls of a key in a minute. */
  readonly limit: number
}

const maximumBodyBytes = 262_144
const windowMillis = 60_000
/** Stamps that have left the window are thrown away when there are so many. */
const compactAt = 1_024
const requestIdPattern = /^[A-Za-z0-9_-]{1,64}$/

/** The calls of one key within the last minute. */
const makeWindow = (limit: number) => {
  let stamps: Array<number> = []
  let first = 0
  return (): { readonly remaining: number; readonly resetSeconds: number } => {
    const now = performance.now()
    while (first < stamps.length && now - stamps[first]! > windowMillis) first++
    if (first >= compactAt) {
      stamps = stamps.slice(first)
      first = 0
    }
    const used = stamps.length - first
    if (used >= limit) return { remaining: -1, resetSeconds: Math.ceil((windowMillis - now + stamps[first]!) / 1_000) }
    stamps.push(now)
    return {
      remaining: limit - used - 1,
      resetSeconds: Math.ceil((windowMillis - now + stamps[first]!) / 1_000)
    }
  }
}

const isText = (value: unknown, longest: number): boolean =>
  value === undefined || (typeof value === "string" && value.length <= longest)

const fields: ReadonlySet<string> = new Set([
  ...["amount", "description", "customer_id", "metadata", "expires_in", "customer_email", "locale"]
])

/** Why a body is refused; undefined: it is good. */
const faultOf = (body: unknown): string | undefined => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return "The body must be an object"
  const { amount, customer_email, customer_id, description, expires_in, locale, metadata } = body as Record<
    string,
    unknown
  >
  if (!Number.isSafeInteger(amount) || (amount as number) < 10 || (amount as number) > 1_000_000_000) return "amount"
  if (!isText(description, 255)) return "description"
  if (!isText(customer_id, 255)) return "customer_id"
  if (!isText(customer_email, Infinity)) return "customer_email"
  if (!isText(locale, Infinity)) return "locale"
  if (expires_in !== undefined && !Number.isSafeInteger(expires_in)) return "expires_in"
  if (metadata !== undefined && (typeof metadata !== "object" || metadata === null || Array.isArray(metadata))) {
    return "metadata"
  }
  for (const name in body) if (!fields.has(name)) return name
  return undefined
}

export const rawServer = ({ key, limit, reply, version }: RawServerOptions): Server => {
  const replyBytes = Buffer.byteLength(reply)
  const take = makeWindow(limit)
  const limitText = String(limit)
  const policy = `${limit};w=${windowMillis / 1_000}`
  let inFlight = 0

  const respond = (response: ServerResponse, requestId: string, status: number, text: string) => {
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": text === reply ? replyBytes : Buffer.byteLength(text),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": requestId,
      "x-service-version": version
    })
    response.end(text)
  }

  const refuse = (response: ServerResponse, requestId: string, status: number, message: string) =>
    respond(response, requestId, status, JSON.stringify({ error: { message, request_id: requestId } }))

  /** Counts the call; false: it was refused. */
  const count = (response: ServerResponse, requestId: string): boolean => {
    const { remaining, resetSeconds } = take()
    response.setHeader("ratelimit-limit", limitText)
    response.setHeader("ratelimit-remaining", String(Math.max(0, remaining)))
    response.setHeader("ratelimit-reset", String(resetSeconds))
    response.setHeader("ratelimit-policy", policy)
    if (remaining < 0) refuse(response, requestId, 429, "Too many requests")
    return remaining >= 0
  }

  const readBody = (request: IncomingMessage, response: ServerResponse, requestId: string) => {
    const chunks: Array<Buffer> = []
    let size = 0
    request.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size <= maximumBodyBytes) chunks.push(chunk)
    })
    request.on("end", () => {
      if (size > maximumBodyBytes) return refuse(response, requestId, 413, "The body is too large")
      const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      if (!isUtf8(bytes)) return refuse(response, requestId, 400, "The body is not UTF-8")
      let body: unknown
      try {
        body = JSON.parse(bytes.toString())
      } catch {
        return refuse(response, requestId, 400, "The body is not JSON")
      }
      const fault = faultOf(body)
      if (fault === undefined) respond(response, requestId, 200, reply)
      else refuse(response, requestId, 400, fault)
    })
  }

  return createServer((request, response) => {
    const { headers, method, url } = request
    const sentId = headers["x-request-id"]
    const requestId = typeof sentId === "string" && requestIdPattern.test(sentId) ? sentId : `req_${randomUUID()}`
    const isPost = method === "POST" && url === "/api/v1/bench"
    if (!isPost && !(method === "GET" && url?.startsWith("/api/v1/bench/") === true)) {
      return refuse(response, requestId, 404, "No such path")
    }
    const sentVersion = headers["x-service-version"]
    if (sentVersion !== undefined && sentVersion !== version) return refuse(response, requestId, 400, "Unknown version")
    if (headers["x-api-key"] !== key) return refuse(response, requestId, 401, "Unknown key")
    inFlight++
    response.once("close", () => inFlight--)
    if (inFlight > limit) return refuse(response, requestId, 429, "Too many requests at once")
    if (!count(response, requestId)) return
    if (!isPost) return respond(response, requestId, 200, reply)
    if (Number(headers["content-length"]) > maximumBodyBytes) return refuse(response, requestId, 413, "Too large")
    if (headers["content-type"] !== "application/json" || headers["content-encoding"] !== undefined) {
      return refuse(response, requestId, 415, "Send application/json")
    }
    readBody(request, response, requestId)
  })
}
