/** Metrics of how the endpoints of a network stand. */
import { Clock, Effect, Metric } from "effect"
import type { Environment, Network } from "../../schemas/Network.ts"
import { initializeSeries } from "../Telemetry.ts"
import { type EndpointPool, isFrozen, isPaused } from "./EndpointPool.ts"

const endpointsOnOtherBranch = Metric.gauge("chain_endpoints_on_other_branch", {
  description: "Endpoints of the network that are on another branch than the one followed"
})
const endpointsFrozen = Metric.gauge("chain_endpoints_frozen", {
  description: "Endpoints of the network whose head stands still"
})
const endpointsResting = Metric.gauge("chain_endpoints_failing", {
  description: "Endpoints of the network that failed and are left alone for a while"
})

/** Whose endpoints are counted. */
export interface EndpointOwner {
  readonly network: Network
  readonly environment: Environment
}

/** The gauges of a network's endpoints: an instance that does not follow the network shows 0 in them. */
export const endpointGaugesFromZero = ({ environment, network }: EndpointOwner) =>
  Effect.forEach(
    [endpointsOnOtherBranch, endpointsFrozen, endpointsResting],
    (gauge) => initializeSeries(gauge, [{ network, environment }]),
    { discard: true }
  )

/** Shows the endpoints as they stand now. */
export const updateEndpointGauges = Effect.fnUntraced(
  function*({ environment, network }: EndpointOwner, pool: EndpointPool) {
    const nowMillis = yield* Clock.currentTimeMillis
    const update = (gauge: typeof endpointsFrozen, isCounted: (place: number) => boolean) =>
      Metric.update(
        Metric.withAttributes(gauge, { network, environment }),
        pool.endpoints.filter((_, place) => isCounted(place)).length
      )
    yield* update(endpointsOnOtherBranch, (place) => pool.endpoints[place]!.branch === "other")
    yield* update(endpointsFrozen, (place) => isFrozen(pool, place, nowMillis))
    yield* update(
      endpointsResting,
      (place) => pool.endpoints[place]!.isResting || isPaused(pool, place, nowMillis)
    )
  }
)
