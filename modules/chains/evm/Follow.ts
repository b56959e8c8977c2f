/** Following an EVM chain by polling: in order, hash-linked, with rollbacks where the chain changed its mind. */
import { Clock, Effect, MutableRef, Schedule, Stream } from "effect"
import { type ChainEvent, type ChainPoint, DriverError, type WatchSet } from "../../../runtime/Chains.ts"
import type { Network } from "../../../schemas/Network.ts"
import { type BlockHeader, readBlock, readHeader, transfersOf } from "./Blocks.ts"
import {
  branchCounts,
  conditionOf,
  endpointsByPreference,
  isAllBelow,
  isFrozen
} from "../../../runtime/nodes/EndpointPool.ts"
import { eventsOfLook, onCondition, onLookEnd } from "../../../runtime/nodes/LookState.ts"
import { watchOthers } from "./EndpointWatch.ts"
import {
  dispatch,
  type FollowContext,
  type FollowOptions,
  hasOtherEndpoints,
  monotonicMillisOf,
  nowMillisOf,
  readHead,
  stateOf
} from "./FollowContext.ts"
import {
  firstMissing,
  type FollowState,
  initialState,
  linkBlocks,
  onForward,
  onHead,
  onLinkedBlocks
} from "./FollowState.ts"
import type { Endpoint } from "./JsonRpc.ts"
import { findRollback } from "./Rollbacks.ts"

/** Blocks fetched side by side while catching up. */
const batchSize = 8

/** How often the endpoints that are not followed are asked for their heads, at the longest. */
const longestWatchMillis = 5_000

/** See `ChainDriver.follow`. */
export const follow = (
  options: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Stream.Stream<ChainEvent, DriverError> =>
  Stream.unwrap(Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const state = MutableRef.make(initialState(options.environment, recent, monotonicMillisOf({ clock })))
    const context: FollowContext = { ...options, watch, clock, state }
    const { lagMillis } = options.rpc.pool()
    const watchMillis = Math.min(longestWatchMillis, lagMillis / 3)
    const watching = Effect.repeat(watchOthers(context), Schedule.spaced(watchMillis))
    yield* Effect.forkScoped(Effect.delay(watching, watchMillis))
    return Stream.fromEffectRepeat(poll(context)).pipe(Stream.flatMap(Stream.fromIterable))
  }))

/** A look at the chain: yields what is new, and waits first when the last one reached the end. */
const poll = Effect.fnUntraced(function*(context: FollowContext) {
  if (stateOf(context).isIdle) yield* Effect.sleep(context.pollMillis)
  const { events, servingEndpoint } = yield* pollOnce(context)
  if (servingEndpoint !== null) {
    context.rpc.observe({ _tag: "Branch", place: servingEndpoint, branch: "followed", at: nowMillisOf(context) })
  }
  const endedAt = monotonicMillisOf(context)
  MutableRef.update(context.state, (state) => onLookEnd(state, events, servingEndpoint, endedAt))
  const conditionEvents = yield* conditions(context)
  const state = stateOf(context)
  return eventsOfLook(state, events, conditionEvents, state.finalized)
})

/** The next blocks; null for one that cannot be read whole. Only the first fails, so that those before one go on. */
const fetchBatch = (endpoint: Endpoint, from: bigint, to: bigint) => {
  const length = Number(to - from + 1n)
  const heights = Array.from({ length: Math.min(batchSize, length) }, (_, place) => from + BigInt(place))
  const read = (height: bigint) =>
    readBlock(endpoint, height).pipe(
      Effect.catch((error) =>
        height > from && error.kind === "contradiction" ? Effect.succeed(null) : Effect.fail(error)
      )
    )
  return Effect.forEach(heights, read, { concurrency: batchSize })
}

/** Reads the next blocks up to a head; null where the endpoint does not have the first of them whole. */
const advance = Effect.fnUntraced(function*(context: FollowContext, endpoint: Endpoint, head: BlockHeader) {
  const { network, readers, watch } = context
  const blocks = yield* fetchBatch(endpoint, firstMissing(stateOf(context), head), head.height)
  const { chain, isForked } = linkBlocks(stateOf(context), blocks)
  if (isForked) return yield* findRollback(context, endpoint, head)
  if (dispatch(context, (state) => onLinkedBlocks(state, chain.length))) {
    return yield* new DriverError({ network, reason: "blocks and receipts do not belong together" })
  }
  if (chain.length === 0) return null
  yield* watch.refresh
  const points = chain.map(({ hash, height }): ChainPoint => ({ height, hash }))
  MutableRef.update(context.state, (state) => onForward(state, points))
  for (const point of points) readers.follow(point, endpoint.place)
  return chain.map((block, index): ChainEvent => ({
    _tag: "Forward",
    point: points[index]!,
    time: block.time,
    transfers: transfersOf(block, watch.has),
    isCatchingUp: block.height < head.height
  }))
})

/** A failed look keeps the last mark: it is only too careful. A node that never had one leaves null. */
const readFinalized = Effect.fnUntraced(function*(context: FollowContext, endpoint: Endpoint) {
  if (!context.finalizedTag) return
  const header = yield* readHeader(endpoint, "finalized").pipe(
    Effect.catch((error) => Effect.as(Effect.logDebug("no finality mark", error.reason), null))
  )
  if (header !== null) MutableRef.update(context.state, (state) => ({ ...state, finalized: header.height }))
})

/**
 * What is new at one endpoint; null where it is of no use to this look, because it is not on the followed branch or
 * does not have its blocks whole; `below` where it has nothing to compare.
 */
const pollEndpoint = Effect.fnUntraced(function*(context: FollowContext, endpoint: Endpoint, head: BlockHeader) {
  const decision = dispatch(context, (state) => onHead(state, head, hasOtherEndpoints(context)))
  if (decision === "unchanged") return []
  if (decision === "compare") return yield* findRollback(context, endpoint, head)
  if (decision === "below") {
    context.rpc.observe({ _tag: "Below", place: endpoint.place, at: nowMillisOf(context) })
    return decision
  }
  yield* readFinalized(context, endpoint)
  return yield* advance(context, endpoint, head)
})

/** The chain has become shorter than what was followed, on all endpoints. */
const allHeadsBelow = (network: Network, { ring }: FollowState) =>
  new DriverError({
    network,
    reason:
      `every head lies below the ${ring.length} blocks that were followed last: make sure that the nodes are not ` +
      "being synchronised anew, then call chains.reanchor on the rpc port",
    condition: "no_common_block"
  })

/** What one look found, and the endpoint that it was found at; null: none was of use. */
interface LookResult {
  readonly events: ReadonlyArray<ChainEvent>
  readonly servingEndpoint: number | null
}

const nothingFound: LookResult = { events: [], servingEndpoint: null }

/** Asks one endpoint. `frozen`: its head stands still while, with `hasNext`, another endpoint may move. */
const askEndpoint = (context: FollowContext, place: number, hasNext: boolean) =>
  context.rpc.attempt(
    context.rpc.endpoints[place]!,
    Effect.fnUntraced(function*(endpoint) {
      const head = yield* readHead(context, endpoint)
      if (hasNext && isFrozen(context.rpc.pool(), place, nowMillisOf(context))) return "frozen" as const
      return yield* pollEndpoint(context, endpoint, head)
    })
  )

/**
 * A look at the first endpoint that is of use: one that stands still is passed over while another may move, and one on
 * another branch or without its blocks leaves the look to the next. Where none is, nothing says that this is the end.
 */
const pollOnce = Effect.fnUntraced(function*(context: FollowContext) {
  const { rpc } = context
  const places = endpointsByPreference(rpc.pool(), nowMillisOf(context))
  let lastError: DriverError | null = null
  let isOfNoUse = false
  let frozenEndpoint: number | null = null
  let isBelow = false
  for (const [index, place] of places.entries()) {
    const hasNext = places.slice(index + 1).some((each) => !rpc.pool().endpoints[each]!.isResting)
    const outcome = yield* Effect.result(askEndpoint(context, place, hasNext))
    if (outcome._tag === "Failure") lastError = outcome.failure
    else if (outcome.success === "frozen") frozenEndpoint ??= place
    else if (outcome.success === "below") isBelow = true
    else if (outcome.success === null) isOfNoUse = true
    else return { events: outcome.success, servingEndpoint: place }
  }
  if (frozenEndpoint !== null) {
    const found = yield* askEndpoint(context, frozenEndpoint, false)
    if (found === null) return nothingFound
    if (found !== "below" && found !== "frozen") return { events: found, servingEndpoint: frozenEndpoint }
    isBelow = true
  }
  if (isBelow && isAllBelow(rpc.pool(), nowMillisOf(context))) {
    return yield* allHeadsBelow(context.network, stateOf(context))
  }
  if (!isBelow && !isOfNoUse && lastError !== null) return yield* lastError
  return nothingFound
})

/** How the endpoints stand to each other, where that changed. */
const conditions = Effect.fnUntraced(function*(context: FollowContext) {
  const { environment, network, rpc } = context
  const pool = rpc.pool()
  const nowMillis = nowMillisOf(context)
  const { servingEndpoint } = stateOf(context)
  const events = dispatch(context, (state) => onCondition(state, conditionOf(pool, servingEndpoint, nowMillis)))
  if (events.length > 0 && stateOf(context).condition === "disagreement") {
    yield* Effect.logError(
      "the endpoints of a network are on different branches: payments above its threshold wait, and no invoice with " +
        "an address on it expires. Compare the endpoints' blocks with a third node, and correct or remove the wrong one",
      { network, environment, ...branchCounts(pool, nowMillis) }
    )
  }
  return events
})
