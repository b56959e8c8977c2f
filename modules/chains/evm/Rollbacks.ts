/** Where an endpoint's branch leaves the one that was followed, and whether the others go with it. */
import { ringSize } from "../../../runtime/chains/Points.ts"
import { Effect } from "effect"
import { type ChainPoint, DriverError, noStoredBlock } from "../../../runtime/Chains.ts"
import { requiredDepth } from "../../../schemas/Network.ts"
import { type BlockHeader, readHeader } from "./Blocks.ts"
import { type BranchVotes, countVotes, decideBranch } from "../../../runtime/nodes/Branches.ts"
import {
  dispatch,
  type FollowContext,
  hasOtherEndpoints,
  monotonicMillisOf,
  nowMillisOf,
  stateOf
} from "./FollowContext.ts"
import { onLinkedBlocks, onRollback } from "./FollowState.ts"
import type { Endpoint } from "./JsonRpc.ts"

/** A devnet chain that shares no block with us and is this short was started anew. */
const resetLimit = 20_000n

const rollBack = (context: FollowContext, to: ChainPoint) => dispatch(context, (state) => onRollback(state, to))

/** What an endpoint has at a height: a hash, `null` for no block, undefined for no answer. */
const hashAt = ({ rpc }: FollowContext, endpoint: Endpoint, height: bigint) =>
  rpc.attempt(endpoint, (each) => readHeader(each, height)).pipe(
    Effect.map((header) => header === null ? null : header.hash),
    Effect.catch((error) => Effect.as(Effect.logDebug("no vote", error.reason), undefined))
  )

/** Stands for the block of an endpoint that does not show it, though it has a later one: nobody else's is the same. */
const unknownHash = ""

/** Asks every endpoint which branch it is on: the followed one, with `point`, or that of `endpoint`. */
const vote = Effect.fnUntraced(function*(
  context: FollowContext,
  endpoint: Endpoint,
  head: BlockHeader,
  point: ChainPoint
) {
  const { height } = point
  const theirs = height > head.height ? null : (yield* readHeader(endpoint, height))?.hash ?? unknownHash
  const others = context.rpc.endpoints.filter(({ place }) => place !== endpoint.place)
  const hashes = yield* Effect.forEach(others, (each) => hashAt(context, each, height), { concurrency: "unbounded" })
  return countVotes(hashes, point.hash, theirs)
})

const decide = (context: FollowContext, votes: BranchVotes, undoneBlocks: number) => {
  const { environment, network } = context
  const standardBlocks = requiredDepth(network, environment, "standard", 0n).blocks
  const waitedMillis = monotonicMillisOf(context) - stateOf(context).followedAtMillis
  return decideBranch(votes, undoneBlocks, standardBlocks, waitedMillis)
}

/** The followed branch is kept: the endpoint counts as one on another. */
const keepBranch = (context: FollowContext, endpoint: Endpoint): null => {
  context.rpc.observe({ _tag: "Branch", place: endpoint.place, branch: "other", at: nowMillisOf(context) })
  return null
}

/**
 * The endpoint does not have the followed branch above `to`: which one is followed from here is a question to all of
 * them.
 */
const rollbackIfOutvoted = Effect.fnUntraced(function*(
  context: FollowContext,
  endpoint: Endpoint,
  head: BlockHeader,
  to: ChainPoint
) {
  if (!hasOtherEndpoints(context)) return rollBack(context, to)
  const { ring } = stateOf(context)
  const first = ring.findLast((point) => point.height > to.height)!
  const votes = yield* vote(context, endpoint, head, first)
  const undone = Number(ring[0]!.height - to.height)
  if (decide(context, votes, undone) !== "follow") return keepBranch(context, endpoint)
  yield* Effect.logInfo("another branch is followed", { network: context.network, from: first, votes, undone })
  return rollBack(context, to)
})

/**
 * The newest point of the ring that the endpoint has; undefined: none. `isLacking`: it does not show the block above
 * that point, or of none, though by its own head it has one there. Then it is behind, or one of several nodes that
 * answer for it is, and nothing says that the block has left the chain.
 */
const findCommonPoint = Effect.fnUntraced(function*(context: FollowContext, endpoint: Endpoint, head: BlockHeader) {
  let isLacking = false
  for (const point of stateOf(context).ring) {
    if (point.height > head.height) continue
    const header = point.height === head.height ? head : yield* readHeader(endpoint, point.height)
    if (header?.hash === point.hash) return { common: point, isLacking }
    isLacking = header === null
  }
  return { common: undefined, isLacking }
})

/**
 * The rollback that an endpoint's branch asks for; null where the followed branch is kept, or the endpoint does not
 * show where its branch leaves it.
 */
export const findRollback = Effect.fnUntraced(function*(
  context: FollowContext,
  endpoint: Endpoint,
  head: BlockHeader
) {
  const { environment, network } = context
  const { ring } = stateOf(context)
  const { common, isLacking } = yield* findCommonPoint(context, endpoint, head)
  if (isLacking && !dispatch(context, (state) => onLinkedBlocks(state, 0))) return null
  if (common !== undefined) {
    if (isLacking) {
      const reason = "a node lacks a header below its own head: make sure that it is synchronised"
      return yield* new DriverError({ network, reason, kind: "contradiction" })
    }
    return common === ring[0] ? [] : yield* rollbackIfOutvoted(context, endpoint, head, common)
  }
  if (hasOtherEndpoints(context)) {
    const votes = yield* vote(context, endpoint, head, ring[ring.length - 1]!)
    if (decide(context, votes, ringSize) !== "follow") return keepBranch(context, endpoint)
  }
  const genesis = environment === "devnet" && head.height < resetLimit ? yield* readHeader(endpoint, 0n) : null
  if (genesis !== null) return rollBack(context, { height: -1n, hash: genesis.parentHash })
  return yield* noStoredBlock(network, ring)
})
