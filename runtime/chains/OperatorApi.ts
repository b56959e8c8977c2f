/** Networks for operators (modules/docs/reference/operator-api.md#networks): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"
import { AvailabilityReason } from "../Availability.ts"
import { ParameterCodes, WrappedErrors } from "../Http.ts"
import { OperatorAuth, operatorErrors } from "../OperatorRoutes.ts"
import { Height, NetworkHealth, Repair } from "./ChainsRpc.ts"

const environmentCodes = ["INVALID_ENVIRONMENT", "MAINNET_NOT_ENABLED", "DEVNET_NOT_ENABLED"] as const

const params = { network: Network }

const networkExample = {
  object: "network",
  network: "base",
  environment: "devnet",
  is_enabled: true,
  disabled_reason: null,
  availability_changed_at: null,
  healthy: true,
  condition: "ok",
  head: "19000120",
  head_time: 1_766_320_496 as never,
  cursor_time: 1_766_320_498 as never,
  repairs: []
} as const

export const OperatorNetwork = Schema.Struct({
  object: Schema.tag("network"),
  ...NetworkHealth.fields,
  /** Whether new payments may use it. */
  is_enabled: Schema.Boolean,
  disabled_reason: Schema.NullOr(Schema.String),
  /** Null: it was never disabled. */
  availability_changed_at: Schema.NullOr(EpochSeconds)
}).annotate({ identifier: "OperatorNetwork", examples: [networkExample] })

const repairExample = {
  object: "repair",
  network: "base",
  environment: "devnet",
  kind: "rescan",
  status: "waiting",
  from: "19000000",
  to: "19000100",
  next: "19000000",
  credited: 0,
  reason: null
} as const

export const NetworkRepair = Schema.Struct({
  object: Schema.tag("repair"),
  network: Network,
  environment: Environment,
  ...Repair.fields
}).annotate({ identifier: "NetworkRepair", examples: [repairExample] })

const oneNetwork = success(OperatorNetwork).annotate({
  identifier: "OneOperatorNetwork",
  examples: [{ success: true, data: networkExample }]
})
const oneRepair = success(NetworkRepair).annotate({
  identifier: "OneNetworkRepair",
  examples: [{ success: true, data: repairExample }]
})

export class OperatorNetworksGroup extends HttpApiGroup.make("operatorNetworks").add(
  HttpApiEndpoint.get("list", "/admin/v1/networks", {
    query: { environment: Schema.optionalKey(Environment) },
    success: success(Schema.Struct({
      object: Schema.tag("list"),
      data: Schema.Array(OperatorNetwork),
      has_more: Schema.Boolean
    })).annotate({
      identifier: "OperatorNetworks",
      examples: [{ success: true, data: { object: "list", data: [networkExample], has_more: false } }]
    }),
    error: operatorErrors(...environmentCodes)
  }).annotateMerge(OpenApi.annotations({
    summary: "List the networks, with their repairs",
    description: "Every network that is followed, by environment and name. `has_more` is always false."
  })),
  HttpApiEndpoint.post("rescan", "/admin/v1/networks/:network/rescan", {
    params,
    payload: Schema.Struct({ environment: Environment, from: Height, to: Height }).annotate({
      identifier: "NetworkRescan",
      examples: [{ environment: "devnet", from: "19000000", to: "19000100" }]
    }),
    success: oneRepair,
    error: operatorErrors("UNSUPPORTED_NETWORK", ...environmentCodes, "INVALID_TRANSITION")
  }).annotateMerge(OpenApi.annotations({
    summary: "Read blocks again",
    description:
      "Reads blocks `from` to `to` again, 100,000 at most, and credits what was missing. It goes on in the background; "
      + "the same call again answers how far it is."
  })),
  HttpApiEndpoint.post("reanchor", "/admin/v1/networks/:network/reanchor", {
    params,
    payload: Schema.Struct({ environment: Environment, height: Schema.optionalKey(Height) }).annotate({
      identifier: "NetworkReanchor",
      examples: [{ environment: "devnet", height: "19000000" }]
    }),
    success: oneRepair,
    error: operatorErrors("UNSUPPORTED_NETWORK", ...environmentCodes, "INVALID_TRANSITION")
  }).annotateMerge(OpenApi.annotations({
    summary: "Go on where no followed block is on the chain any more",
    description:
      "For a network whose condition is `no_common_block`: goes on from the final block `height`, or without it from the "
      + "newest one below all that was followed."
  })),
  HttpApiEndpoint.post("disable", "/admin/v1/networks/:network/disable", {
    params,
    payload: Schema.Struct({ environment: Environment, reason: AvailabilityReason }).annotate({
      identifier: "NetworkDisabling",
      examples: [{ environment: "devnet", reason: "the nodes disagree since 14:10" }]
    }),
    success: oneNetwork,
    error: operatorErrors("UNSUPPORTED_NETWORK", ...environmentCodes)
  }).annotateMerge(OpenApi.annotations({
    summary: "Disable a network for new payments",
    description:
      "From now on no quote and no address is given out for it, on any instance within two seconds and after a restart "
      + "too. Payments to addresses that were given out are followed and credited. Doing it twice is the same as once."
  })),
  HttpApiEndpoint.post("enable", "/admin/v1/networks/:network/enable", {
    params,
    payload: Schema.Struct({ environment: Environment }).annotate({
      identifier: "NetworkEnabling",
      examples: [{ environment: "devnet" }]
    }),
    success: oneNetwork,
    error: operatorErrors("UNSUPPORTED_NETWORK", ...environmentCodes)
  }).annotateMerge(OpenApi.annotations({
    summary: "Enable a network for new payments",
    description: "Takes back that it was disabled."
  }))
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT", network: "UNSUPPORTED_NETWORK" })
  .annotateMerge(OpenApi.annotations({
    title: "Operator: networks",
    description: "What an operator sees of the networks, and does when one is in trouble."
  }))
{}

export class OperatorNetworksApi extends HttpApi.make("operatorNetworks").add(OperatorNetworksGroup) {}
