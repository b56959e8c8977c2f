/** Following Cardano by polling: in order, hash-linked, with rollbacks where the chain changed its mind. */
import { Clock, Effect, MutableRef, Schedule, Stream } from "effect"
import { eventsOfLook, onCondition, onLookEnd } from "../../../runtime/nodes/LookState.ts"
import {
  branchCounts,
  conditionOf,
  endpointsByPreference,
  isFrozen,
  isPaused
} from "../../../runtime/nodes/EndpointPool.ts"
import type { ChainEvent, ChainPoint, DriverError, ObservedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import { type Api, type BlockHeader, type FullBlock, readHeader, readNext, readWhole } from "./Api.ts"
import { findSourcesAt, transfersOfBlock } from "./BlockTransfers.ts"
import {
  dispatch,
  type FollowContext,
  type FollowOptions,
  hasOthers,
  nowMillisOf,
  observeHead,
  stateOf
} from "./FollowContext.ts"
import { compareTop, initialState, linkBlocks, onForward, onHead, onTorn, patientLooks } from "./FollowState.ts"
import { findRollback } from "./Rollbacks.ts"

/** How often the endpoints that are not followed are asked for their heads: two calls each. */
const watchMillis = 60_000

/** See `ChainDriver.follow`. */
export const follow = (
  options: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Stream.Stream<ChainEvent, DriverError> =>
  Stream.unwrap(Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const state = MutableRef.make(initialState(recent, clock.currentTimeMillisUnsafe()))
    const context: FollowContext = { ...options, watch, clock, state, sources: new Map() }
    const pause = Math.min(watchMillis, options.endpoints.pool().lagMillis / 3)
    const watching = Effect.repeat(watchOthers(context), Schedule.spaced(pause))
    yield* Effect.forkScoped(Effect.delay(watching, Math.min(pause, options.pollMillis)))
    return Stream.fromEffectRepeat(poll(context)).pipe(Stream.flatMap(Stream.fromIterable))
  }))

/** A look at the chain: yields what is new, and waits first when the last one reached the end. */
const poll = Effect.fnUntraced(function*(context: FollowContext) {
  if (stateOf(context).isIdle) yield* Effect.sleep(context.pollMillis)
  const { events, servingEndpoint } = yield* pollOnce(context)
  const nowMillis = nowMillisOf(context)
  if (servingEndpoint !== null) {
    context.endpoints.observe({ _tag: "Branch", place: servingEndpoint, branch: "followed", at: nowMillis })
  }
  MutableRef.update(context.state, (state) => onLookEnd(state, events, servingEndpoint, nowMillis))
  const conditionEvents = yield* conditions(context)
  // Cardano's nodes mark no height as final.
  return eventsOfLook(stateOf(context), events, conditionEvents, null)
})

/** Blocks read side by side. */
const batchSize = 5

/** Waits until reading `count` blocks since `startMillis` has taken as long as the options ask for. */
const keepPace = (context: FollowContext, startMillis: number, count: number) =>
  Effect.sleep(Math.max(0, startMillis + count * 1000 / context.blocksPerSecond - nowMillisOf(context)))

/** A block with what of it came to watched addresses. */
interface MatchedBlock {
  readonly block: FullBlock
  readonly transfers: ReadonlyArray<ObservedTransfer>
}

/** Reads and matches a few blocks into `found`, lowest first; ends with false where one is not there any more. */
const readBatch = Effect.fnUntraced(function*(
  context: FollowContext,
  api: Api,
  headers: ReadonlyArray<BlockHeader>,
  found: Array<MatchedBlock>
) {
  const { sources, watch } = context
  const isExhausted = stateOf(context).tornLooks >= patientLooks
  const findSources = findSourcesAt(context.endpoints)
  const blocks = yield* Effect.forEach(headers, (header) => readWhole(api, header), { concurrency: batchSize })
  yield* watch.refresh
  for (const block of blocks) {
    const transfers = block === null
      ? null
      : yield* transfersOfBlock(api, block, watch.has, { isExhausted, sources, findSources })
    if (block === null || transfers === null) return false
    found.push({ block, transfers })
  }
  return true
})

/**
 * Reads blocks, lowest first, no faster than the options allow, and keeps what was read before one that cannot be:
 * a server that allows few calls is not asked for the same again. Fails where the first of them cannot be read.
 */
const readBlocks = Effect.fnUntraced(function*(
  context: FollowContext,
  api: Api,
  headers: ReadonlyArray<BlockHeader>
) {
  const found: Array<MatchedBlock> = []
  for (let start = 0; start < headers.length; start += batchSize) {
    const startMillis = nowMillisOf(context)
    const part = headers.slice(start, start + batchSize)
    const read = yield* Effect.result(readBatch(context, api, part, found))
    if (read._tag === "Failure" && found.length === 0) return yield* read.failure
    if (read._tag === "Failure" || !read.success) break
    if (start + batchSize < headers.length) yield* keepPace(context, startMillis, part.length)
  }
  return found
})

/** Reads these blocks, and what of them came to watched addresses. */
const advance = Effect.fnUntraced(function*(
  context: FollowContext,
  api: Api,
  headers: ReadonlyArray<BlockHeader>,
  hasMore: boolean
) {
  const found = yield* readBlocks(context, api, headers)
  const blocks = found.map(({ block }) => block)
  MutableRef.update(context.state, (state) => blocks.length === 0 ? onTorn(state) : onForward(state, blocks))
  for (const { hash } of blocks) context.readers.remember(hash, api.place)
  return found.map(({ block: { hash, height, time }, transfers }, place): ChainEvent => ({
    _tag: "Forward",
    point: { height, hash },
    time,
    transfers,
    isCatchingUp: hasMore || place < headers.length - 1
  }))
})

/** The pool learns that the newest block that was followed is the endpoint's newest too. */
const observeTop = Effect.fnUntraced(function*(context: FollowContext, api: Api, top: ChainPoint) {
  const { headTime } = stateOf(context)
  if (headTime === null) {
    const head = yield* observeHead(context, api)
    return MutableRef.update(context.state, (state) => onHead(state, head))
  }
  const head = { ...top, time: headTime }
  context.endpoints.observe({ _tag: "Head", place: api.place, head, at: nowMillisOf(context) })
})

/** See {@link findRollback}. */
const compare = Effect.fnUntraced(function*(context: FollowContext, api: Api, top: ChainPoint) {
  const found = yield* readHeader(api, top.height)
  return compareTop(top, found) === "behind" ? "behind" as const : yield* findRollback(context, api)
})

/**
 * What is new at one endpoint; null where it is not on the followed branch, `behind` where it does not have the newest
 * block, and no other in its place either.
 */
const pollEndpoint = Effect.fnUntraced(function*(context: FollowContext, api: Api) {
  const [top] = stateOf(context).ring
  if (top === undefined) {
    return yield* advance(context, api, [yield* observeHead(context, api)], false)
  }
  const next = yield* readNext(api, top.hash)
  if (next === null) return yield* compare(context, api, top)
  if (next.blocks.length === 0) {
    yield* observeTop(context, api, top)
    return []
  }
  const headers = linkBlocks(top, next.blocks)
  if (headers.length === 0) return yield* compare(context, api, top)
  const head = next.blocks.at(-1)!
  if (!next.isFull) context.endpoints.observe({ _tag: "Head", place: api.place, head, at: nowMillisOf(context) })
  return yield* advance(context, api, headers, next.isFull)
})

/** What one look found, and the endpoint on the followed branch that it was found at; null: none was. */
interface LookResult {
  readonly events: ReadonlyArray<ChainEvent>
  readonly servingEndpoint: number | null
}

const nothingFound: LookResult = { events: [], servingEndpoint: null }

/**
 * A look at the first endpoint that is of use: one that found nothing and stands still, or is behind, is passed over
 * while another may move, and one on another branch leaves the look to the next.
 */
const pollOnce = Effect.fnUntraced(function*(context: FollowContext): Effect.fn.Return<LookResult, DriverError> {
  const { endpoints } = context
  const places = endpointsByPreference(endpoints.pool(), nowMillisOf(context))
  let lastError: DriverError | null = null
  let idleEndpoint: number | null = null
  for (const [index, place] of places.entries()) {
    const hasNext = places.slice(index + 1).some((each) => !endpoints.pool().endpoints[each]!.isResting)
    const outcome = yield* Effect.result(
      endpoints.attempt(endpoints.endpoints[place]!, (api) => pollEndpoint(context, api))
    )
    if (outcome._tag === "Failure") {
      lastError = outcome.failure
      if (lastError.condition !== undefined) return yield* lastError
      continue
    }
    const events = outcome.success
    const isStill = events !== null && events !== "behind" && events.length === 0 &&
      isFrozen(endpoints.pool(), place, nowMillisOf(context))
    if (events === "behind" || (isStill && hasNext)) idleEndpoint ??= place
    else if (events !== null) return { events, servingEndpoint: place }
  }
  if (idleEndpoint !== null) return { events: [], servingEndpoint: idleEndpoint }
  return lastError === null ? nothingFound : yield* lastError
})

/** How the endpoints stand to each other, where that changed. */
const conditions = Effect.fnUntraced(function*(context: FollowContext) {
  const { endpoints, environment } = context
  const pool = endpoints.pool()
  const nowMillis = nowMillisOf(context)
  const { servingEndpoint } = stateOf(context)
  const events = dispatch(context, (state) => onCondition(state, conditionOf(pool, servingEndpoint, nowMillis)))
  if (events.length > 0 && stateOf(context).condition === "disagreement") {
    yield* Effect.logError(
      "the endpoints of a network are on different branches: payments above its threshold wait, and no invoice with " +
        "an address on it expires. Compare the endpoints' blocks with a third one, and correct or remove the wrong one",
      { network: "cardano", environment, ...branchCounts(pool, nowMillis) }
    )
  }
  return events
})

/** Whether an endpoint has the newest block that both it and the follower have. */
const compareBranch = Effect.fnUntraced(function*(context: FollowContext, api: Api) {
  const head = yield* observeHead(context, api)
  const point = stateOf(context).ring.find(({ height }) => height <= head.height)
  if (point === undefined) return
  const header = point.height === head.height ? head : yield* readHeader(api, point.height)
  // A rollback meanwhile has taken the point back: it says nothing any more.
  if (header === null || !stateOf(context).ring.includes(point)) return
  const branch = header.hash === point.hash ? "followed" : "other"
  context.endpoints.observe({ _tag: "Branch", place: api.place, branch, at: nowMillisOf(context) })
})

/**
 * Asks the endpoints beside the one that answered the last look, once, so that one that failed comes back and one that
 * goes astray is seen.
 */
const watchOthers = Effect.fnUntraced(function*(context: FollowContext) {
  const { endpoints } = context
  const { servingEndpoint } = stateOf(context)
  const others = hasOthers(context)
    ? endpoints.endpoints.filter(({ place }) =>
      place !== servingEndpoint && !isPaused(endpoints.pool(), place, nowMillisOf(context))
    )
    : []
  yield* Effect.forEach(others, (endpoint) =>
    endpoints.attempt(endpoint, (api) => compareBranch(context, api)).pipe(
      Effect.catch((error) => Effect.logDebug("an endpoint does not answer", error.reason))
    ), { discard: true, concurrency: "unbounded" })
  yield* endpoints.report
})
