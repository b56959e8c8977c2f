/** Following an EVM chain by polling: in order, hash-linked, with rollbacks where the chain changed its mind. */
import { Clock, Effect, Metric, Schedule, Stream } from "effect"
import { type Environment, type Network, requiredDepth } from "../../../schemas/Network.ts"
import {
  type ChainEvent,
  type ChainPoint,
  type DriverCondition,
  DriverError,
  type WatchSet
} from "../../../runtime/Chains.ts"
import { initializeSeries } from "../../../runtime/Telemetry.ts"
import { type BlockHeader, type FullBlock, readBlock, readHeader, transfersOf } from "./Blocks.ts"
import { type BranchVotes, decideBranch } from "./Branches.ts"
import type { BlockReaders } from "./Corroboration.ts"
import { branchCounts, conditionOf, isAllBelow, isFrozen, placesByPreference } from "./EndpointPool.ts"
import type { Endpoint, JsonRpc } from "./JsonRpc.ts"

/** Blocks fetched side by side while catching up. */
const batchSize = 8
/** Points kept to find a common block with: as many as the follower's cursor holds. */
const ringSize = 128
/**
 * Looks in a row that must find the tip below ours, on the same blocks, before it counts as undone. Nodes behind one
 * balancer differ by a few blocks all the time, and public chains never shrink; test nodes do.
 */
const shrinkPolls: Record<Environment, number> = { devnet: 3, mainnet: 1_000 }
/** Looks in a row that may find no whole next block before the endpoint is given up. */
const maximumTornPolls = 20
/** A devnet chain that shares no block with us and is this short was started anew. */
const resetLimit = 20_000n
/** How often the endpoints that are not followed are asked for their heads, at the longest. */
const longestWatchMillis = 5_000

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

export interface FollowOptions {
  readonly network: Network
  readonly environment: Environment
  readonly rpc: JsonRpc
  /** Learns which endpoint each block was read from. */
  readonly readers: BlockReaders
  readonly pollMillis: number
  /** Whether to ask for the node's finality mark. */
  readonly finalizedTag: boolean
}

/** See `ChainDriver.follow`. */
export const follow = (
  options: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Stream.Stream<ChainEvent, DriverError> =>
  Stream.unwrap(Effect.gen(function*() {
    const { poll, others } = yield* makePoller(options, recent, watch)
    const { lagMillis } = options.rpc.pool()
    const watchMillis = Math.min(longestWatchMillis, lagMillis / 3)
    yield* Effect.forkScoped(Effect.delay(Effect.repeat(others, Schedule.spaced(watchMillis)), watchMillis))
    return Stream.fromEffectRepeat(poll).pipe(Stream.flatMap(Stream.fromIterable))
  }))

/** A look at the chain, again and again: each yields what is new and waits when nothing was. */
const makePoller = Effect.fnUntraced(function*(
  options: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
) {
  const { environment, finalizedTag, network, pollMillis, readers, rpc } = options
  const clock = yield* Clock.Clock
  const settledBlocks = requiredDepth(network, environment, "standard", 0n).blocks
  let ring = recent.slice(0, ringSize)
  let shorterPolls = 0
  let tornPolls = 0
  let isIdle = false
  let finalized: bigint | null = null
  /** Null before the first event of it, which is sent however the network stands. */
  let condition: DriverCondition | null = null
  /** When an endpoint on the followed branch last answered. */
  let followedAt = clock.currentTimeMillisUnsafe()
  /** The endpoint that answered the last look; the others are watched beside it. */
  let servingPlace: number | null = null

  const now = () => clock.currentTimeMillisUnsafe()

  const roll = (to: ChainPoint): ReadonlyArray<ChainEvent> => {
    ring = ring.filter((point) => point.height <= to.height)
    return [{ _tag: "Rollback", to }]
  }

  /** What an endpoint has at a height: a hash, `null` for no block, undefined for no answer. */
  const hashAt = (endpoint: Endpoint, height: bigint) =>
    rpc.attempt(endpoint, (each) => readHeader(each, height)).pipe(
      Effect.map((header) => header === null ? null : header.hash),
      Effect.catch((error) => Effect.as(Effect.logDebug("no vote", error.reason), undefined))
    )

  /** Asks every other endpoint which of two branches it is on. */
  const vote = Effect.fnUntraced(function*(endpoint: Endpoint, height: bigint, ours: string, theirs: string | null) {
    const watchOthers = rpc.endpoints.filter(({ place }) => place !== endpoint.place)
    const hashes = yield* Effect.forEach(watchOthers, (each) => hashAt(each, height), { concurrency: "unbounded" })
    const count = (isOf: (hash: string | null | undefined) => boolean) => hashes.filter(isOf).length
    const votes: BranchVotes = {
      followed: count((hash) => hash === ours),
      other: 1 + count((hash) => hash === theirs),
      missing: count((hash) => hash === undefined || (hash === null && theirs !== null)),
      third: count((hash) => typeof hash === "string" && hash !== ours && hash !== theirs)
    }
    return votes
  })

  /**
   * The endpoint does not have the followed branch: which one is followed from here is a question to all of them.
   * Answers null where the followed branch is kept.
   */
  const rollbackIfOutvoted = Effect.fnUntraced(function*(endpoint: Endpoint, head: BlockHeader, to: ChainPoint) {
    if (rpc.endpoints.length === 1) return roll(to)
    const first = ring.findLast((point) => point.height > to.height)!
    const theirs = first.height > head.height ? null : yield* readHeader(endpoint, first.height)
    const votes = yield* vote(endpoint, first.height, first.hash, theirs?.hash ?? null)
    const undone = Number(ring[0]!.height - to.height)
    const decision = decideBranch(votes, undone, settledBlocks, now() - followedAt)
    if (decision === "follow") {
      yield* Effect.logInfo("another branch is followed", { network, from: first, votes, undone })
      return roll(to)
    }
    rpc.observe({ _tag: "Branch", place: endpoint.place, branch: "other", at: now() })
    return null
  })

  const findRollback = Effect.fnUntraced(function*(endpoint: Endpoint, head: BlockHeader) {
    for (const point of ring) {
      if (point.height > head.height) continue
      const header = point.height === head.height ? head : yield* readHeader(endpoint, point.height)
      if (header !== null && header.hash === point.hash) {
        return point === ring[0] ? [] : yield* rollbackIfOutvoted(endpoint, head, point)
      }
    }
    if (rpc.endpoints.length > 1) {
      const oldest = ring[ring.length - 1]!
      const theirs = oldest.height > head.height ? null : yield* readHeader(endpoint, oldest.height)
      const votes = yield* vote(endpoint, oldest.height, oldest.hash, theirs?.hash ?? null)
      if (decideBranch(votes, ringSize, settledBlocks, now() - followedAt) !== "follow") {
        rpc.observe({ _tag: "Branch", place: endpoint.place, branch: "other", at: now() })
        return null
      }
    }
    const genesis = environment === "devnet" && head.height < resetLimit ? yield* readHeader(endpoint, 0n) : null
    if (genesis !== null) return roll({ height: -1n, hash: genesis.parentHash })
    return yield* new DriverError({
      network,
      reason: `none of the last ${ringSize} blocks is on the chain any more: call chains.reanchor on the rpc port`,
      condition: "no_common_block"
    })
  })

  const fetchBatch = (endpoint: Endpoint, from: bigint, to: bigint) => {
    const length = Number(to - from + 1n)
    const heights = Array.from({ length: Math.min(batchSize, length) }, (_, place) => from + BigInt(place))
    return Effect.forEach(heights, (height) => readBlock(endpoint, height), { concurrency: batchSize })
  }

  /** The longest run of whole blocks that continue our own; `isForked` when the first does not. */
  const linkBlocks = (blocks: ReadonlyArray<FullBlock | null>) => {
    const chain: Array<FullBlock> = []
    let parent = ring[0]?.hash
    for (const block of blocks) {
      if (block === null) break
      if (parent !== undefined && block.parentHash !== parent) return { chain, isForked: chain.length === 0 }
      chain.push(block)
      parent = block.hash
    }
    return { chain, isForked: false }
  }

  const advance = Effect.fnUntraced(function*(endpoint: Endpoint, head: BlockHeader) {
    const top = ring[0]
    const blocks = yield* fetchBatch(endpoint, top === undefined ? head.height : top.height + 1n, head.height)
    const { chain, isForked } = linkBlocks(blocks)
    if (isForked) return yield* findRollback(endpoint, head)
    tornPolls = chain.length > 0 ? 0 : tornPolls + 1
    if (tornPolls > maximumTornPolls) {
      tornPolls = 0
      return yield* new DriverError({ network, reason: "blocks and receipts do not belong together" })
    }
    if (chain.length === 0) return []
    yield* watch.refresh
    return chain.map((block): ChainEvent => {
      const point = { height: block.height, hash: block.hash }
      ring = [point, ...ring].slice(0, ringSize)
      readers.follow(point, endpoint.place)
      return {
        _tag: "Forward",
        point,
        time: block.time,
        transfers: transfersOf(block, watch.has),
        isCatchingUp: block.height < head.height
      }
    })
  })

  /** A failed look keeps the last mark: it is only too careful. A node that never had one leaves null. */
  const readFinalized = Effect.fnUntraced(function*(endpoint: Endpoint) {
    if (!finalizedTag) return
    const header = yield* readHeader(endpoint, "finalized").pipe(
      Effect.catch((error) => Effect.as(Effect.logDebug("no finality mark", error.reason), null))
    )
    finalized = header?.height ?? finalized
  })

  const readHead = Effect.fnUntraced(function*(endpoint: Endpoint) {
    const head = yield* readHeader(endpoint, "latest")
    if (head === null) return yield* new DriverError({ network, reason: "the node has no blocks" })
    rpc.observe({ _tag: "Head", place: endpoint.place, head, at: now() })
    return head
  })

  /**
   * What is new at one endpoint; null where it is not on the followed branch, `below` where it has nothing to compare.
   */
  const pollEndpoint = Effect.fnUntraced(function*(endpoint: Endpoint, head: BlockHeader) {
    const top = ring[0]
    if (top !== undefined && head.height === top.height && head.hash === top.hash) {
      shorterPolls = 0
      return []
    }
    if (top === undefined || head.height > top.height) {
      shorterPolls = 0
      yield* readFinalized(endpoint)
      return yield* advance(endpoint, head)
    }
    // So far behind that it has nothing to compare: it is neither with us nor against us.
    if (rpc.endpoints.length > 1 && head.height < ring[ring.length - 1]!.height) {
      rpc.observe({ _tag: "Below", place: endpoint.place, at: now() })
      return "below" as const
    }
    const isLagging = ring.some((point) => point.height === head.height && point.hash === head.hash)
    shorterPolls += 1
    if (isLagging && shorterPolls < shrinkPolls[environment]) return []
    shorterPolls = 0
    return yield* findRollback(endpoint, head)
  })

  /** The chain has become shorter than what was followed, on all endpoints. */
  const allHeadsBelow = Effect.suspend(() =>
    Effect.fail(
      new DriverError({
        network,
        reason:
          `every head lies below the ${ring.length} blocks that were followed last: make sure that the nodes are not being ` +
          "synchronised anew, then call chains.reanchor on the rpc port",
        condition: "no_common_block"
      })
    )
  )

  /**
   * A look at the first endpoint that is of use: one that stands still is passed over while another may move, and one
   * on another branch leaves the look to the next.
   */
  const pollOnce = Effect.gen(function*() {
    const places = placesByPreference(rpc.pool(), now())
    let last: DriverError | null = null
    let isOnOther = false
    let frozenPlace: number | null = null
    let isBelow = false
    for (const [index, place] of places.entries()) {
      const endpoint = rpc.endpoints[place]!
      const hasNext = places.slice(index + 1).some((each) => !rpc.pool().endpoints[each]!.isResting)
      const outcome = yield* Effect.result(rpc.attempt(
        endpoint,
        Effect.fnUntraced(function*(node) {
          const head = yield* readHead(node)
          if (hasNext && isFrozen(rpc.pool(), place, now())) return "frozen" as const
          return yield* pollEndpoint(node, head)
        })
      ))
      if (outcome._tag === "Failure") last = outcome.failure
      else if (outcome.success === "frozen") frozenPlace ??= place
      else if (outcome.success === "below") isBelow = true
      else if (outcome.success === null) isOnOther = true
      else return { found: outcome.success, served: place }
    }
    if (frozenPlace !== null) {
      const found = yield* rpc.attempt(
        rpc.endpoints[frozenPlace]!,
        (endpoint) => Effect.flatMap(readHead(endpoint), (head) => pollEndpoint(endpoint, head))
      )
      if (found !== "below") return { found: found ?? [], served: found === null ? null : frozenPlace }
      isBelow = true
    }
    if (isBelow && isAllBelow(rpc.pool(), now())) return yield* allHeadsBelow
    if (isBelow) return { found: [], served: null }
    if (!isOnOther && last !== null) return yield* last
    return { found: [], served: null }
  })

  /** How the endpoints stand to each other, where that changed. */
  const conditions = Effect.fnUntraced(function*(served: number | null) {
    const pool = rpc.pool()
    const next = conditionOf(pool, served, now())
    if (next === condition) return []
    if (next === "disagreement") {
      yield* Effect.logError(
        "the endpoints of a network are on different branches: payments above its threshold wait, and no invoice with an " +
          "address on it expires. Compare the endpoints' blocks with a third node, and correct or remove the wrong one",
        { network, environment, ...branchCounts(pool, now()) }
      )
    }
    condition = next
    return [{ _tag: "Condition", condition: next } as const]
  })

  const poll = Effect.gen(function*() {
    if (isIdle) yield* Effect.sleep(pollMillis)
    const { found, served } = yield* pollOnce
    servingPlace = served
    if (served !== null) {
      followedAt = now()
      rpc.observe({ _tag: "Branch", place: served, branch: "followed", at: now() })
    }
    const last = found[found.length - 1]
    isIdle = last === undefined || (last._tag === "Forward" && !last.isCatchingUp)
    const conditionEvents = yield* conditions(served)
    // Without an endpoint on the followed branch nothing was seen: the condition alone says that some endpoint answers.
    return served === null
      ? [{ _tag: "Condition", condition: condition! } as const]
      : [...found, ...conditionEvents, { _tag: "Finality", finalized } as const]
  })

  /** Whether an endpoint has the newest block that both it and the follower have. */
  const compare = Effect.fnUntraced(function*(endpoint: Endpoint) {
    const head = yield* readHead(endpoint)
    const point = ring.find(({ height }) => height <= head.height)
    if (point === undefined) return
    const header = point.height === head.height ? head : yield* readHeader(endpoint, point.height)
    if (header === null || !ring.includes(point)) return
    const branch = header.hash === point.hash ? "followed" : "other"
    rpc.observe({ _tag: "Branch", place: endpoint.place, branch, at: now() })
  })

  /** Asks the endpoints that no look asks, so that one that fails comes back and one that goes astray is seen. */
  const watchOthers = Effect.gen(function*() {
    const idle = rpc.endpoints.filter(({ place }) => place !== servingPlace && rpc.endpoints.length > 1)
    yield* Effect.forEach(idle, (endpoint) =>
      rpc.attempt(endpoint, compare).pipe(
        Effect.catch((error) => Effect.logDebug("an endpoint does not answer", error.reason))
      ), { discard: true, concurrency: "unbounded" })
    const pool = rpc.pool()
    const attributes = { network, environment }
    const states = pool.endpoints
    const count = (gauge: typeof endpointsFrozen, amount: number) =>
      Metric.update(Metric.withAttributes(gauge, attributes), amount)
    yield* count(endpointsOnOtherBranch, states.filter(({ branch }) => branch === "other").length)
    yield* count(endpointsFrozen, states.filter((_, place) => isFrozen(pool, place, now())).length)
    yield* count(endpointsResting, states.filter(({ isResting }) => isResting).length)
  })

  return { poll, others: watchOthers }
})
