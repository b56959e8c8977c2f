/** Tickets for the merchants' websockets: definitions only (modules/docs/reference/websockets.md#tickets). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  authenticationErrors,
  errors,
  Idempotent,
  MerchantAuth,
  ParameterCodes,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { KeyScope } from "../../schemas/Auth.ts"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"
import { ticketSeconds } from "./rules.ts"

const { maximum, minimum } = ticketSeconds

export const NewStreamTicket = Schema.Struct({
  scope: KeyScope.annotate({ description: "The stream it opens. A commerce key gets `commerce` only" }),
  ttl_seconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum, maximum }))
  ).annotate({ description: "Seconds within which it must be used; absent: 60" })
}).annotate({ identifier: "NewStreamTicket", examples: [{ scope: "merchant", ttl_seconds: 60 }] })

export const StreamTicket = success(Schema.Struct({
  token: Schema.String.annotate({ description: "Goes into the query as `token`, once" }),
  scope: KeyScope,
  environment: Environment,
  endpoint: Schema.String,
  format: Schema.Literal("event_v1"),
  ws_url: Schema.String.annotate({ description: "Where to connect: add `&token=` and filters" }),
  expires_at: EpochSeconds
})).annotate({
  identifier: "StreamTicket",
  examples: [{
    success: true,
    data: {
      token: "wst_0pX1V2m3B4c5D6e7F8g9H0i1J2k3L4m5N6o7P8q9R0s",
      scope: "merchant",
      environment: "devnet",
      endpoint: "/ws/merchant/events",
      format: "event_v1",
      ws_url: "wss://pay.example/ws/merchant/events?format=event_v1",
      expires_at: 1_766_320_556
    }
  }]
})
export type StreamTicket = typeof StreamTicket.Type

export class StreamsGroup extends HttpApiGroup.make("streams").add(
  HttpApiEndpoint.post("createTicket", "/api/v1/ws/token", {
    query: { environment: Schema.optionalKey(Environment) },
    payload: NewStreamTicket,
    success: StreamTicket,
    error: errors(
      "wrapped",
      ...authenticationErrors,
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "INVALID_ENVIRONMENT",
      "ENVIRONMENT_FORBIDDEN",
      "IDEMPOTENCY_KEY_INVALID",
      "IDEMPOTENCY_REQUEST_IN_PROGRESS",
      "IDEMPOTENCY_KEY_REUSED",
      "SERVICE_UNAVAILABLE"
    )
  }).middleware(Idempotent).annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" }).annotateMerge(
    OpenApi.annotations({
      summary: "Get a ticket for a websocket",
      description:
        "For pages, which cannot send headers with a websocket. A ticket opens one connection, once, within a " +
        "minute; the connection lasts until the key or session that made the ticket ends. `environment` is for wallets, and " +
        "the caller's own where it is absent. See the guide on websockets."
    })
  )
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "payments:read" })
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({ title: "Streams", description: "Events over websockets, as they happen." }))
{}

export class StreamsApi extends HttpApi.make("streams").add(StreamsGroup) {}
