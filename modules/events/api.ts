/** The events API (modules/docs/reference/events.md#list): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, MerchantAuth, ParameterCodes, UnknownParameters, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { Event } from "../../schemas/Event.ts"
import { Environment } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"
import { pageLimits } from "./rules.ts"

const { minimum, maximum } = pageLimits

const Limit = Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Filter = Schema.optionalKey(Schema.String)

const authErrors = [
  "UNAUTHORIZED",
  "API_KEY_INVALID",
  "TOKEN_INVALID",
  "SCOPE_MISMATCH",
  "AMBIGUOUS_CREDENTIALS",
  "MAINNET_NOT_ENABLED",
  "DEVNET_NOT_ENABLED"
] as const

export class EventsGroup extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: {
        type: Filter.annotate({
          description:
            "At most 20 event types, comma-separated; each exact, `prefix.*` or `*`. Absent or `*`: all but the "
            + "opt-in types, which come only where they are named (`exception.*`, `balance_transaction.*`). Types take the "
            + "right to read what they tell of; without `environment` on mainnet too."
        }),
        "created[gte]": Filter,
        "created[lte]": Filter,
        limit: Schema.optionalKey(Limit),
        starting_after: Filter,
        ending_before: Filter,
        invoice_id: Filter,
        order_id: Filter,
        customer_id: Filter,
        environment: Schema.optionalKey(Environment)
      },
      success: Schema.Struct({
        success: Schema.tag(true),
        data: Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(Event), has_more: Schema.Boolean })
      }),
      error: errors(
        "wrapped",
        ...authErrors,
        "INVALID_LIMIT",
        "INVALID_CURSOR",
        "INVALID_EVENT_TYPE",
        "INVALID_ENVIRONMENT",
        "VALIDATION_ERROR",
        "ENVIRONMENT_FORBIDDEN",
        "INTERNAL_ERROR",
        "SERVICE_UNAVAILABLE"
      )
    }).annotate(ParameterCodes, { type: "INVALID_EVENT_TYPE" })
      .annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
        summary: "List events, newest first",
        description:
          "A merchant key reads both environments unless `environment` names one; a commerce key reads the " +
          "commerce events of its own. A cursor is a position: `ending_before` an event you have gives what is newer."
      })),
    HttpApiEndpoint.get("retrieve", "/:eventId", {
      params: { eventId: Schema.String },
      success: success(Event),
      error: errors(
        "wrapped",
        ...authErrors,
        "INVALID_EVENT_ID",
        "EVENT_NOT_FOUND",
        "INTERNAL_ERROR",
        "SERVICE_UNAVAILABLE"
      )
    }).annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
      summary: "Retrieve an event",
      description: "The same text that webhooks and websockets carry, but for `pending_webhooks`, which is live."
    }))
  )
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "payments:read" })
  .middleware(WrappedErrors)
  .prefix("/api/v1/events")
  .annotateMerge(OpenApi.annotations({ title: "Events", description: "Every state change, told the same way." }))
{}

export class EventsApi extends HttpApi.make("events-api").add(EventsGroup) {}
