/**
 * Delivers webhooks to programs on this machine: HTTP over Unix sockets, which no other machine reaches. The URL of an
 * endpoint is `unix://<name>`; the operator says which socket that is, so that a merchant reaches no other.
 */
import { Effect, Layer, Schema } from "effect"
import { Agent, request as httpRequest } from "node:http"
import {
  type DeliveryAnswer,
  type DeliveryRequest,
  make,
  type Transport,
  TransportFailed,
  UrlRefused,
  Webhooks
} from "tillwire/plugin"

const Options = Schema.Struct({
  /** Paths of sockets by their names: `{ "orders": "/run/shop/orders.sock" }`. */
  sockets: Schema.Record(
    Schema.String.check(Schema.isPattern(/^[a-z0-9-]{1,63}$/, { expected: "a-z, 0-9 and dashes" })),
    Schema.String
  )
})

/** Bytes of an answer that are kept, as the port says. */
const maximumAnswerBytes = 4_096

/** Connections to one socket at once: a system lets some hundreds wait to be taken, and refuses the next. */
const maximumConnections = 64

const failed = (reason: string, timedOut = false) => new TransportFailed({ reason, isOurFault: false, timedOut })

/** One request over a socket; an interrupt ends it at once. */
const post = (agent: Agent, socketPath: string, { body, headers }: DeliveryRequest) =>
  Effect.callback<DeliveryAnswer, TransportFailed>((resume) => {
    const request = httpRequest(
      { socketPath, method: "POST", path: "/", headers: { ...headers, host: "localhost" }, agent },
      (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => text = (text + chunk).slice(0, maximumAnswerBytes))
        response.once("error", (error) => resume(Effect.fail(failed(error.message))))
        response.once("end", () =>
          resume(Effect.succeed({
            status: response.statusCode ?? 0,
            retryAfter: response.headers["retry-after"] ?? null,
            body: text
          })))
      }
    )
    request.once("error", (error) => resume(Effect.fail(failed(error.message))))
    request.end(body)
    return Effect.sync(() => void request.destroy())
  })

const transportOf = (sockets: ReadonlyMap<string, string>): Transport => {
  const agent = new Agent({ maxSockets: maximumConnections })
  const unknown = "There is no such socket here: the operator names them as unix://<name>"
  return {
    name: "acme-socket",
    schemes: ["unix:"],
    check: (url) => sockets.has(url) ? Effect.void : Effect.fail(new UrlRefused({ reason: unknown })),
    send: (request) => {
      const socket = sockets.get(request.url)
      if (socket === undefined) return Effect.fail(failed(unknown))
      return post(agent, socket, request).pipe(
        Effect.timeoutOrElse({
          duration: request.timeoutMillis,
          orElse: () => Effect.fail(failed(`no answer in ${request.timeoutMillis} ms`, true))
        })
      )
    }
  }
}

export const plugin = make({
  api: 1,
  name: "acme-socket",
  slot: "transports",
  options: Options,
  layer: ({ sockets }) =>
    Layer.effectDiscard(
      Effect.flatMap(Webhooks, ({ register }) =>
        register(transportOf(new Map(Object.entries(sockets).map(([name, path]) => [`unix://${name}`, path])))))
    )
})
