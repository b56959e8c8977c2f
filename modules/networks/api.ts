/** The state of each network, readable by anybody: for payors' pages, shops and status pages. Answers are wrapped. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Anonymous, errors, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"

/** What the state of a network means for payments. */
export const PublicCondition = Schema.Literals([
  "ok",
  "silent",
  "frozen",
  "disagreement",
  "no_common_block",
  "disabled"
]).annotate({
  description: "`ok`: payments are seen and confirmed. `silent`: no node answers. `frozen`: no new block arrives. " +
    "`disagreement`: nodes are on different branches, so payments are seen but not all are confirmed. `no_common_block`: " +
    "the blocks read so far are not on the chain any more, so the operator must act. `disabled`: the operator takes no "
    + "new payments there; those under way are seen and confirmed. New values may be added"
})

export const NetworkState = Schema.Struct({
  network: Network,
  environment: Environment,
  healthy: Schema.Boolean.annotate({
    description: "True while `condition` is `ok`. While false, payors get no new address there"
  }),
  condition: PublicCondition,
  message: Schema.String.annotate({ description: "What that means for a payment, in a sentence for people" }),
  head_height: Schema.NullOr(Schema.Int).annotate({
    description: "Height of the newest block read; null before the first"
  }),
  head_time: Schema.NullOr(EpochSeconds).annotate({ description: "When that block was made; null before the first" })
}).annotate({ identifier: "NetworkState" })
export type NetworkState = typeof NetworkState.Type

const example = {
  network: "base",
  environment: "mainnet",
  healthy: true,
  condition: "ok",
  message: "Payments are seen and confirmed as usual.",
  head_height: 38_764_112,
  head_time: 1_766_320_496 as never
} as const

export class NetworksGroup extends HttpApiGroup.make("networks").add(
  HttpApiEndpoint.get("status", "/api/v1/networks/status", {
    query: { environment: Schema.optionalKey(Environment) },
    success: Schema.Struct({
      success: Schema.tag(true),
      data: Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(NetworkState), has_more: Schema.Boolean })
    }).annotate({
      identifier: "NetworkStates",
      examples: [{ success: true, data: { object: "list", data: [example], has_more: false } }]
    }),
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_ENVIRONMENT",
      "MAINNET_NOT_ENABLED",
      "DEVNET_NOT_ENABLED",
      "RATE_LIMIT_EXCEEDED",
      "INTERNAL_ERROR",
      "SERVICE_UNAVAILABLE"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Read the state of the networks",
    description:
      "Every network that a plugin follows, sorted by environment and name; `environment` selects one of the "
      + "environments. `has_more` is always false. No credential is needed."
  }))
)
  .middleware(Anonymous)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" })
  .annotateMerge(
    OpenApi.annotations({ title: "Networks", description: "Whether payments are seen and confirmed now." })
  )
{}

export class NetworksApi extends HttpApi.make("networks").add(NetworksGroup) {}
