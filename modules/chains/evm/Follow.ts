/** Following an EVM chain by polling: in order, hash-linked, with rollbacks where the chain changed its mind. */
import { Effect, Stream } from "effect"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { type ChainEvent, type ChainPoint, DriverError, type WatchSet } from "../../../runtime/Chains.ts"
import { type BlockHeader, type FullBlock, readBlock, readHeader, transfersOf } from "./Blocks.ts"
import type { Endpoint, JsonRpc } from "./JsonRpc.ts"

/** Blocks fetched side by side while catching up. */
const batchSize = 8
/** Points kept to find a common block with: as many as the follower's cursor holds. */
const ringSize = 128
/**
 * Looks in a row that must find the tip below ours, on the same blocks, before it counts as undone. Nodes behind one
 * balancer differ by a few blocks all the time, and public chains never shrink; test nodes do.
 */
const shrinkLooks: Record<Environment, number> = { devnet: 3, mainnet: 1_000 }
/** Looks in a row that may find no whole next block before the endpoint is given up. */
const tornLooks = 20
/** A devnet chain that shares no block with us and is this short was started anew. */
const resetLimit = 20_000n

export interface FollowOptions {
  readonly network: Network
  readonly environment: Environment
  readonly rpc: JsonRpc
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
  Stream.suspend(() => {
    const look = looking(options, recent, watch)
    return Stream.fromEffectRepeat(look).pipe(Stream.flatMap(Stream.fromIterable))
  })

/** A look at the chain, again and again: each yields what is new and waits when nothing was. */
const looking = (
  options: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Effect.Effect<ReadonlyArray<ChainEvent>, DriverError> => {
  const { environment, finalizedTag, network, pollMillis, rpc } = options
  let ring = recent.slice(0, ringSize)
  let shorter = 0
  let torn = 0
  let waiting = false
  let finalized: bigint | null = null

  const roll = (to: ChainPoint): ReadonlyArray<ChainEvent> => {
    ring = ring.filter((point) => point.height <= to.height)
    return [{ _tag: "Rollback", to }]
  }

  const undo = Effect.fnUntraced(function*(endpoint: Endpoint, head: BlockHeader) {
    for (const point of ring) {
      if (point.height > head.height) continue
      const header = point.height === head.height ? head : yield* readHeader(endpoint, point.height)
      if (header !== null && header.hash === point.hash) return roll(point)
    }
    const genesis = environment === "devnet" && head.height < resetLimit ? yield* readHeader(endpoint, 0n) : null
    if (genesis !== null) return roll({ height: -1n, hash: genesis.parentHash })
    return yield* new DriverError({ network, reason: `no common block in the last ${ringSize}: an operator must act` })
  })

  const fetchBatch = (endpoint: Endpoint, from: bigint, to: bigint) => {
    const length = Number(to - from + 1n)
    const heights = Array.from({ length: Math.min(batchSize, length) }, (_, place) => from + BigInt(place))
    return Effect.forEach(heights, (height) => readBlock(endpoint, height), { concurrency: batchSize })
  }

  /** The longest run of whole blocks that continue our own; `forked` when the first does not. */
  const linked = (blocks: ReadonlyArray<FullBlock | null>) => {
    const run: Array<FullBlock> = []
    let parent = ring[0]?.hash
    for (const block of blocks) {
      if (block === null) break
      if (parent !== undefined && block.parentHash !== parent) return { run, forked: run.length === 0 }
      run.push(block)
      parent = block.hash
    }
    return { run, forked: false }
  }

  const advance = Effect.fnUntraced(function*(endpoint: Endpoint, head: BlockHeader) {
    const top = ring[0]
    const blocks = yield* fetchBatch(endpoint, top === undefined ? head.height : top.height + 1n, head.height)
    const { forked, run } = linked(blocks)
    if (forked) return yield* undo(endpoint, head)
    torn = run.length > 0 ? 0 : torn + 1
    if (torn > tornLooks) {
      torn = 0
      return yield* new DriverError({ network, reason: "blocks and receipts do not belong together" })
    }
    if (run.length === 0) return []
    yield* watch.refresh
    return run.map((block): ChainEvent => {
      const point = { height: block.height, hash: block.hash }
      ring = [point, ...ring].slice(0, ringSize)
      return {
        _tag: "Forward",
        point,
        time: block.time,
        transfers: transfersOf(block, watch.has),
        behind: block.height < head.height
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

  const lookOnce = Effect.fnUntraced(function*(endpoint: Endpoint) {
    const head = yield* readHeader(endpoint, "latest")
    if (head === null) return yield* new DriverError({ network, reason: "the node has no blocks" })
    const top = ring[0]
    if (top !== undefined && head.height === top.height && head.hash === top.hash) {
      shorter = 0
      return []
    }
    if (top === undefined || head.height > top.height) {
      shorter = 0
      yield* readFinalized(endpoint)
      return yield* advance(endpoint, head)
    }
    const lagging = ring.some((point) => point.height === head.height && point.hash === head.hash)
    shorter += 1
    if (lagging && shorter < shrinkLooks[environment]) return []
    shorter = 0
    return yield* undo(endpoint, head)
  })

  return Effect.gen(function*() {
    if (waiting) yield* Effect.sleep(pollMillis)
    const found = yield* rpc.pinned(lookOnce)
    const last = found[found.length - 1]
    waiting = last === undefined || (last._tag === "Forward" && !last.behind)
    return [...found, { _tag: "Finality", finalized }]
  })
}
