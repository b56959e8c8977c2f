/**
 * Watches the endpoints that no look asks, so that one that fails comes back and one that goes astray is seen, and
 * counts for metrics how the endpoints stand.
 */
import { Effect, Metric } from "effect"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { initializeSeries } from "../../../runtime/Telemetry.ts"
import { readHeader } from "./Blocks.ts"
import { isFrozen } from "./EndpointPool.ts"
import { type FollowContext, hasOtherEndpoints, nowMillisOf, readHead, stateOf } from "./FollowContext.ts"
import type { Endpoint } from "./JsonRpc.ts"

const endpointsOnOtherBranch = Metric.gauge("chain_endpoints_on_other_branch", {
  description: "Endpoints of the network that are on another branch than the one followed"
})
const endpointsFrozen = Metric.gauge("chain_endpoints_frozen", {
  description: "Endpoints of the network whose head stands still"
})
const endpointsResting = Metric.gauge("chain_endpoints_failing", {
  description: "Endpoints of the network that failed and are left alone for a while"
})

/** The gauges of a network's endpoints: an instance that does not follow the network shows 0 in them. */
export const endpointGaugesFromZero = (attributes: { readonly network: Network; readonly environment: Environment }) =>
  Effect.forEach(
    [endpointsOnOtherBranch, endpointsFrozen, endpointsResting],
    (gauge) => initializeSeries(gauge, [attributes]),
    {
      discard: true
    }
  )

const updateGauges = Effect.fnUntraced(function*(context: FollowContext) {
  const { environment, network, rpc } = context
  const pool = rpc.pool()
  const states = pool.endpoints
  const nowMillis = nowMillisOf(context)
  const update = (gauge: typeof endpointsFrozen, count: number) =>
    Metric.update(Metric.withAttributes(gauge, { network, environment }), count)
  yield* update(endpointsOnOtherBranch, states.filter(({ branch }) => branch === "other").length)
  yield* update(endpointsFrozen, states.filter((_, place) => isFrozen(pool, place, nowMillis)).length)
  yield* update(endpointsResting, states.filter(({ isResting }) => isResting).length)
})

/** Whether an endpoint has the newest block that both it and the follower have. */
const compareBranch = Effect.fnUntraced(function*(context: FollowContext, endpoint: Endpoint) {
  const head = yield* readHead(context, endpoint)
  const point = stateOf(context).ring.find(({ height }) => height <= head.height)
  if (point === undefined) return
  const header = point.height === head.height ? head : yield* readHeader(endpoint, point.height)
  // A rollback meanwhile has taken the point back: it says nothing any more.
  if (header === null || !stateOf(context).ring.includes(point)) return
  const branch = header.hash === point.hash ? "followed" : "other"
  context.rpc.observe({ _tag: "Branch", place: endpoint.place, branch, at: nowMillisOf(context) })
})

/** Asks the endpoints beside the one that answered the last look, once. */
export const watchOthers = Effect.fnUntraced(function*(context: FollowContext) {
  const { rpc } = context
  const { servingPlace } = stateOf(context)
  const others = hasOtherEndpoints(context) ? rpc.endpoints.filter(({ place }) => place !== servingPlace) : []
  yield* Effect.forEach(others, (endpoint) =>
    rpc.attempt(endpoint, (each) => compareBranch(context, each)).pipe(
      Effect.catch((error) => Effect.logDebug("an endpoint does not answer", error.reason))
    ), { discard: true, concurrency: "unbounded" })
  yield* updateGauges(context)
})
