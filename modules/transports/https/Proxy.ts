/**
 * The way out through a proxy, by `CONNECT`: TLS still runs from here to the receiver, so the proxy sees a host and a
 * port and nothing else. Names are resolved by the proxy, which is trusted with the second gate; the first gate and the
 * ban on redirects stay here. Whatever else the proxy refuses, it refuses.
 */
import { type ClientRequest, request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import type { Socket } from "node:net"
import type { SecureContext } from "node:tls"
import { Effect, Schema, type Scope } from "effect"
import type { buildConnector } from "undici"
import { makeSuccessTracker } from "./SuccessTracker.ts"

/** The proxy did not connect us. `own`: its fault or that of its settings, not of the receiver. */
export class ProxyRefused extends Schema.TaggedError<ProxyRefused>()("ProxyRefused", {
  reason: Schema.String,
  own: Schema.Boolean,
  timedOut: Schema.Boolean
}) {
  override get message() {
    return this.reason
  }
}

/** A proxy as `webhooks.proxyUrl` names it. */
export interface Proxy {
  readonly secure: boolean
  readonly hostname: string
  readonly port: number
  /** The value of `Proxy-Authorization`; undefined where the URL has no credential. Never logged. */
  readonly authorization: string | undefined
}

/** Reads `http(s)://[user:password@]host[:port]`, which the settings have checked. */
export const proxyOf = (text: string): Proxy => {
  const url = new URL(text)
  const secure = url.protocol === "https:"
  const credential = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return {
    secure,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (secure ? 443 : 80) : Number.parseInt(url.port, 10),
    authorization: credential === ":" ? undefined : `Basic ${Buffer.from(credential).toString("base64")}`
  }
}

/**
 * What the status of an answer to `CONNECT` says; undefined: connected. 403 and 5xx are about the receiver (refused by
 * the proxy's rules, unreachable, too slow); anything else is about us and the proxy.
 */
export const refusalOf = (status: number): ProxyRefused | undefined => {
  if (status >= 200 && status < 300) return undefined
  const reason = status === 407
    ? "the proxy wants another credential (407)"
    : status === 403
    ? "the proxy refuses this receiver (403)"
    : `the proxy cannot connect to the receiver (${status})`
  return new ProxyRefused({ reason, own: status !== 403 && status < 500, timedOut: status === 504 })
}

/** Connects through a proxy; `direct` puts TLS on the tunnel. */
export const throughProxy = (
  proxy: Proxy,
  { connectTimeoutMillis, direct, secureContext }: {
    readonly connectTimeoutMillis: number
    readonly direct: buildConnector.connector
    readonly secureContext: SecureContext
  }
): Effect.Effect<buildConnector.connector, never, Scope.Scope> =>
  Effect.gen(function*() {
    const successes = makeSuccessTracker()
    const pending = yield* Effect.acquireRelease(
      Effect.sync(() => new Set<ClientRequest>()),
      (all) => Effect.sync(() => all.forEach((each) => each.destroy()))
    )
    const run = Effect.runForkWith(yield* Effect.context<never>())
    return (target, callback) => {
      let isDone = false
      let isConnected = false
      const fail = (error: Error) => {
        if (isDone) return
        isDone = true
        callback(error, null)
      }
      /** Nothing came of it: ours, unless the proxy took us and serves others. */
      const failWithoutAnswer = (reason: string, timedOut: boolean) =>
        void run(Effect.map(successes.isWorking, (working) => {
          const own = !(isConnected && working)
          fail(new ProxyRefused({ reason, own, timedOut: timedOut && !own }))
        }))
      const host = target.hostname.includes(":") ? `[${target.hostname}]` : target.hostname
      const authority = `${host}:${target.port === "" ? 443 : target.port}`
      const connectRequest = (proxy.secure ? requestHttps : requestHttp)({
        method: "CONNECT",
        host: proxy.hostname,
        port: proxy.port,
        path: authority,
        agent: false,
        ...(proxy.secure ? { secureContext, rejectUnauthorized: true } : {}),
        headers: {
          host: authority,
          ...(proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization })
        }
      })
      const timer = setTimeout(() => {
        failWithoutAnswer(`the proxy did not connect within ${connectTimeoutMillis} ms`, true)
        connectRequest.destroy()
      }, connectTimeoutMillis)
      connectRequest.once("socket", (socket) => {
        socket.once(proxy.secure ? "secureConnect" : "connect", () => {
          isConnected = true
        })
      })
      pending.add(connectRequest)
      connectRequest.once("close", () => {
        pending.delete(connectRequest)
        clearTimeout(timer)
      })
      connectRequest.on("error", (error: NodeJS.ErrnoException) => {
        failWithoutAnswer(`the proxy cannot be reached (${error.code ?? "error"})`, false)
      })
      connectRequest.once("connect", ({ statusCode = 0 }, socket: Socket, head) => {
        clearTimeout(timer)
        pending.delete(connectRequest)
        const refusal = refusalOf(statusCode)
        if (refusal?.own !== true) run(successes.recordSuccess)
        if (isDone || refusal !== undefined) {
          socket.on("error", () => {}).destroy()
          return refusal === undefined ? undefined : fail(refusal)
        }
        isDone = true
        if (head.length > 0) socket.unshift(head)
        direct({ ...target, httpSocket: socket }, callback)
      })
      connectRequest.end()
    }
  })
