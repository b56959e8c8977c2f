/** Where an endpoint's branch leaves the one that was followed, and whether the others go with it. */
import { ringSize } from "../../../runtime/chains/Points.ts"
import { Effect } from "effect"
import { type BranchVotes, countVotes, decideBranch } from "../../../runtime/nodes/Branches.ts"
import { type ChainEvent, type ChainPoint, type DriverError, noStoredBlock } from "../../../runtime/Chains.ts"
import { requiredDepth } from "../../../schemas/Network.ts"
import { type Api, readHeader } from "./Api.ts"
import { dispatch, type FollowContext, hasOthers, nowMillisOf, stateOf } from "./FollowContext.ts"
import { onRollback } from "./FollowState.ts"

/** What an endpoint has at a height: a hash, `null` for no block, undefined for no answer. */
const hashAt = ({ endpoints }: FollowContext, endpoint: Api, height: bigint) =>
  endpoints.attempt(endpoint, (api) => readHeader(api, height)).pipe(
    Effect.map((header) => header === null ? null : header.hash),
    Effect.catch((error) => Effect.as(Effect.logDebug("no vote", error.reason), undefined))
  )

/** Asks every endpoint which branch it is on: the followed one, with `point`, or that of `api`. */
const vote = Effect.fnUntraced(function*(context: FollowContext, api: Api, { hash, height }: ChainPoint) {
  const theirs = yield* readHeader(api, height)
  const others = context.endpoints.endpoints.filter(({ place }) => place !== api.place)
  const hashes = yield* Effect.forEach(others, (each) => hashAt(context, each, height), { concurrency: "unbounded" })
  return countVotes(hashes, hash, theirs?.hash ?? null)
})

const decide = (context: FollowContext, votes: BranchVotes, undoneBlocks: number) => {
  const standardBlocks = requiredDepth("cardano", context.environment, "standard", 0n).blocks
  const waitedMillis = nowMillisOf(context) - stateOf(context).followedAtMillis
  return decideBranch(votes, undoneBlocks, standardBlocks, waitedMillis)
}

/** The newest point of the ring that the endpoint has; `behind` where it lacks one that lies below its head. */
const findCommonPoint = Effect.fnUntraced(function*(context: FollowContext, api: Api) {
  for (const point of stateOf(context).ring) {
    const header = yield* readHeader(api, point.height)
    if (header === null) return "behind" as const
    if (header.hash === point.hash) return point
  }
  return null
})

/**
 * The rollback that an endpoint's branch asks for, which has another block than ours at the height of our newest; null
 * where the followed branch is kept; `behind` where nothing can be compared.
 */
export const findRollback = Effect.fnUntraced(function*(
  context: FollowContext,
  api: Api
): Effect.fn.Return<ReadonlyArray<ChainEvent> | "behind" | null, DriverError> {
  const { ring } = stateOf(context)
  const common = yield* findCommonPoint(context, api)
  if (common === "behind" || common === ring[0]) return "behind"
  if (hasOthers(context)) {
    const first = ring.findLast(({ height }) => height > (common?.height ?? -1n))!
    const votes = yield* vote(context, api, first)
    const undoneBlocks = common === null ? ringSize : Number(ring[0]!.height - common.height)
    if (decide(context, votes, undoneBlocks) !== "follow") {
      context.endpoints.observe({ _tag: "Branch", place: api.place, branch: "other", at: nowMillisOf(context) })
      return null
    }
    yield* Effect.logInfo("another branch is followed", { network: api.network, from: first, votes, undoneBlocks })
  }
  if (common !== null) return dispatch(context, (state) => onRollback(state, common))
  return yield* noStoredBlock(api.network, ring)
})
