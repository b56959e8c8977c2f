/** Answers the state of the networks from memory, without a query. */
import { Effect } from "effect"
import { Availability } from "../../runtime/Availability.ts"
import { Chains } from "../../runtime/Chains.ts"
import { jsonText } from "../../runtime/Http.ts"
import { Settings } from "../../runtime/Settings.ts"
import { publicError } from "../../schemas/Errors.ts"
import { NetworksApi } from "./api.ts"
import { networkStates } from "./rules.ts"
import * as Operations from "../../runtime/Operations.ts"

export const handlers = Operations.group(
  NetworksApi,
  "networks",
  Effect.fn(function*(handlers) {
    const availability = yield* Availability
    const chains = yield* Chains
    const { environments } = yield* Settings
    return handlers.handle(
      "status",
      Effect.fnUntraced(function*({ query: { environment } }) {
        if (environment !== undefined && !environments.includes(environment)) {
          return yield* publicError(environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED")
        }
        const selected = environment === undefined ? environments : [environment]
        const data = networkStates(
          selected.flatMap((each) => chains.status(each)),
          ({ environment, network }) => availability.isNetworkEnabled(network, environment)
        )
        return jsonText(JSON.stringify({ success: true, data: { object: "list", data, has_more: false } }))
      })
    )
  })
)
