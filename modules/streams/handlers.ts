/** Between the wire and the tickets, and the streams they open. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { CurrentPrincipal, jsonText, RequestInfo, revocableAs } from "../../runtime/Http.ts"
import { authorityOf } from "../../runtime/Rights.ts"
import { Settings } from "../../runtime/Settings.ts"
import { eventStreamPaths, makeEventsRoute } from "../../runtime/sockets/EventsRoute.ts"
import { publicError } from "../../schemas/Errors.ts"
import { Tickets } from "./service.ts"
import { StreamsApi, type StreamTicket } from "./api.ts"
import { objectionTo, ticketSeconds } from "./rules.ts"
import * as Operations from "../../runtime/Operations.ts"

export const handlers = Operations.group(
  StreamsApi,
  "streams",
  Effect.fn(function*(group) {
    const tickets = yield* Tickets
    const { publicUrl } = yield* Settings

    return group.handle(
      "createTicket",
      Effect.fnUntraced(function*({ payload: { scope, ttl_seconds } }) {
        const principal = yield* CurrentPrincipal
        const objection = objectionTo(principal, scope)
        if (objection !== undefined) return yield* objection
        const revocable = revocableAs(principal)
        if (revocable === null) return yield* publicError("UNAUTHORIZED")
        const { apiVersion } = yield* RequestInfo
        const { credential, environment, kind, merchantId } = principal
        const authority = authorityOf(principal)
        const { expiresAt, ticket } = yield* tickets.make(
          { merchantId, scope, environment, apiVersion, credential, revocableAs: revocable, kind, authority },
          ttl_seconds ?? ticketSeconds.maximum
        )
        const endpoint = eventStreamPaths[scope]
        const body: StreamTicket = {
          success: true,
          data: {
            token: ticket,
            scope,
            environment,
            endpoint,
            format: "event_v1",
            ws_url: `${publicUrl.replace(/^http/, "ws")}${endpoint}?format=event_v1`,
            expires_at: expiresAt as StreamTicket["data"]["expires_at"]
          }
        }
        return jsonText(JSON.stringify(body))
      })
    )
  })
)

/** `/ws/merchant/events` and `/ws/commerce/events`. */
export const socketRoutes = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const { redeem } = yield* Tickets
  for (const stream of ["merchant", "commerce"] as const) {
    yield* router.add("GET", eventStreamPaths[stream], yield* makeEventsRoute(stream, redeem))
  }
}))
