/** Watches the endpoints that no look asks, so that one that fails comes back and one that goes astray is seen. */
import { Effect } from "effect"
import { isPaused } from "../../../runtime/nodes/EndpointPool.ts"
import { readHeader } from "./Blocks.ts"
import { type FollowContext, hasOtherEndpoints, nowMillisOf, readHead, stateOf } from "./FollowContext.ts"
import type { Endpoint } from "./JsonRpc.ts"

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
  const { servingEndpoint } = stateOf(context)
  const isWatched = ({ place }: Endpoint) =>
    place !== servingEndpoint && !isPaused(rpc.pool(), place, nowMillisOf(context))
  const others = hasOtherEndpoints(context) ? rpc.endpoints.filter(isWatched) : []
  yield* Effect.forEach(others, (endpoint) =>
    rpc.attempt(endpoint, (each) => compareBranch(context, each)).pipe(
      Effect.catch((error) => Effect.logDebug("an endpoint does not answer", error.reason))
    ), { discard: true, concurrency: "unbounded" })
  yield* rpc.report
})
