/** Follows Bitcoin block by block: from the newest block that is still on the chain to the head, and then waits. */
import { Effect, MutableRef, Stream } from "effect"
import { descriptorOf, type Network } from "../../../schemas/Network.ts"
import {
  type ChainEvent,
  type ChainPoint,
  type DriverCondition,
  DriverError,
  type WatchSet
} from "../../../runtime/Chains.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { look } from "../../../runtime/nodes/Heads.ts"
import { type Esplora, hashAt, readBlock, readHead, transfersOf } from "./Blocks.ts"

/** Points that are compared with the chain: as many as the cursor holds. */
const ringSize = 128

export interface FollowOptions {
  readonly api: Endpoints<Esplora>
  readonly network: Network
  readonly pollMillis: number | undefined
}

/** How far the chain was followed. */
export interface Position {
  /** Newest first. */
  readonly ring: ReadonlyArray<ChainPoint>
  readonly condition: DriverCondition
  /** The last look came to the head: the next one waits first. */
  readonly isAtHead: boolean
}

/** Where one is after an event. Pure. */
export const step = (position: Position, event: ChainEvent): Position => {
  switch (event._tag) {
    case "Forward":
      return { ...position, ring: [event.point, ...position.ring].slice(0, ringSize) }
    case "Rollback":
      return { ...position, ring: position.ring.filter(({ height }) => height <= event.to.height) }
    case "Condition":
      return { ...position, condition: event.condition }
    case "Gone":
    case "Finality":
      return position
  }
}

/** The newest block of the ring that is still on the chain; undefined: none is. */
const findBase = Effect.fnUntraced(function*(endpoint: Esplora, ring: ReadonlyArray<ChainPoint>) {
  for (const point of ring) {
    if ((yield* hashAt(endpoint, point.height)) === point.hash) return point
  }
  return undefined
})

const forward = Effect.fnUntraced(function*(
  endpoint: Esplora,
  base: ChainPoint | undefined,
  hash: string,
  head: EndpointHead,
  watch: WatchSet
): Effect.fn.Return<ReadonlyArray<ChainEvent>, DriverError> {
  const block = yield* readBlock(endpoint, hash)
  const { height, previousblockhash, timestamp } = block.header
  // The chain was reorganised between two calls: the next look finds the block they have in common.
  if (base !== undefined && previousblockhash !== base.hash) return []
  yield* watch.refresh
  return [{
    _tag: "Forward",
    point: { height: BigInt(height), hash },
    time: timestamp,
    transfers: transfersOf(block, watch.has),
    isCatchingUp: BigInt(height) < head.height
  }]
})

/** What is new at an endpoint whose newest block is `head`. Bitcoin has no mark of finality. */
const advance = Effect.fnUntraced(function*(
  network: Network,
  endpoint: Esplora,
  head: EndpointHead,
  ring: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Effect.fn.Return<ReadonlyArray<ChainEvent>, DriverError> {
  const base = ring[0]?.hash === head.hash ? ring[0] : yield* findBase(endpoint, ring)
  if (base === undefined && ring.length > 0) {
    return yield* new DriverError({
      network,
      reason: "none of the blocks that were followed is on the chain any more",
      condition: "no_common_block"
    })
  }
  if (base !== ring[0] && base !== undefined) return [{ _tag: "Rollback", to: base }]
  const hash = base === undefined ? head.hash : yield* hashAt(endpoint, base.height + 1n)
  return hash === null ? [] : yield* forward(endpoint, base, hash, head, watch)
})

/** See `ChainDriver.follow`. */
export const follow = (
  { api, network, pollMillis = descriptorOf(network).pollMillis }: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Stream.Stream<ChainEvent, DriverError> =>
  Stream.suspend(() => {
    const position = MutableRef.make<Position>({ ring: recent, condition: "ok", isAtHead: false })
    const poll = Effect.gen(function*() {
      const { condition: before, isAtHead, ring } = MutableRef.get(position)
      if (isAtHead) yield* Effect.sleep(pollMillis)
      const { condition, head, result } = yield* look(
        api,
        readHead,
        (endpoint, head) => advance(network, endpoint, head, ring, watch)
      )
      const events: ReadonlyArray<ChainEvent> = [
        ...result,
        ...(condition === before ? [] : [{ _tag: "Condition", condition } as const]),
        { _tag: "Finality", finalized: null }
      ]
      MutableRef.update(position, (position) => {
        const after = events.reduce(step, position)
        return { ...after, isAtHead: after.ring[0]?.hash === head.hash || result.length === 0 }
      })
      return events
    })
    return Stream.fromEffectRepeat(poll).pipe(Stream.flatMap(Stream.fromIterable))
  })
