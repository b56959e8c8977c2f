/** What operators are told of how the endpoints of a network stand: metrics, and an entry of the log at a change. */
import { Clock, Effect, Metric } from "effect"
import type { Environment, Network } from "../../schemas/Network.ts"
import { initializeSeries } from "../Telemetry.ts"
import { type EndpointPool, type EndpointStanding, isFrozen, isPaused, standingOf } from "./EndpointPool.ts"

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

/**
 * Logs each endpoint whose standing differs from that in `before`; an endpoint that `before` does not hold counts as
 * `ok`. The metrics say how many endpoints are in trouble, and only this log says which. It names an endpoint by its
 * place in the config, because its URL may hold a key. Answers the standings of now.
 */
const logChanges = Effect.fnUntraced(
  function*(
    { environment, network }: EndpointOwner,
    pool: EndpointPool,
    before: ReadonlyArray<EndpointStanding>,
    nowMillis: number
  ) {
    const standings = pool.endpoints.map((_, place) => standingOf(pool, place, nowMillis))
    for (const [place, to] of standings.entries()) {
      const from = before[place] ?? "ok"
      if (from === to) continue
      const entry = { network, environment, node: `${place + 1} of ${standings.length}`, from, to }
      yield* Effect.logWarning("the condition of a node changed", entry)
    }
    return standings
  }
)

/** Sets the gauges and logs changed standings. `before`: the answer of the report before, empty for the first one. */
export const reportEndpoints = Effect.fnUntraced(
  function*({ environment, network }: EndpointOwner, pool: EndpointPool, before: ReadonlyArray<EndpointStanding>) {
    const nowMillis = yield* Clock.currentTimeMillis
    const standings = yield* logChanges({ environment, network }, pool, before, nowMillis)
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
    return standings
  }
)
