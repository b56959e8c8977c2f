/** What other endpoints have in a block that one of them showed: `ChainDriver.corroborate` and `findTransfers`. */
import { Clock, Effect } from "effect"
import type { ChainDriver, ChainPoint, Corroboration } from "../../../runtime/Chains.ts"
import { findTransfers, type FullBlock, readBlock, transfersOf } from "./Blocks.ts"
import { mayStillAnswer, order } from "./EndpointPool.ts"
import type { JsonRpc } from "./JsonRpc.ts"
import { bloomOf } from "./LogsBloom.ts"

/** Blocks whose reader is remembered: more than any network's payments wait for. */
const readersLimit = 8_192

/** Which endpoint a block was read from, by its hash: another one is asked before its transfers count. */
export interface BlockReaders {
  readonly get: (hash: string) => number | undefined
  readonly set: (hash: string, place: number) => void
}

export const makeReaders = (): BlockReaders => {
  const places = new Map<string, number>()
  return {
    get: (hash) => places.get(hash),
    set: (hash, place) => {
      places.delete(hash)
      places.set(hash, place)
      if (places.size > readersLimit) places.delete(places.keys().next().value!)
    }
  }
}

interface Reading {
  readonly place: number
  readonly block: FullBlock
}

const isComplete = ({ block }: Reading): boolean =>
  block.logsBloom !== null &&
  block.logsBloom.toLowerCase() === bloomOf(block.receipts.flatMap(({ logs }) => logs))

/**
 * Where readings of one block differ, those that do not have the logs the block's own header names are left out. Where no
 * reading has them the header tells nothing, and all are kept.
 */
export const completeReadings = <A extends Reading>(readings: ReadonlyArray<A>): ReadonlyArray<A> => {
  const complete = readings.filter(isComplete)
  return complete.length === 0 ? readings : complete
}

export const makeCorroborate = (rpc: JsonRpc, readers: BlockReaders): NonNullable<ChainDriver["corroborate"]> =>
  Effect.fnUntraced(function*(point: ChainPoint, watch, isThorough) {
    const { endpoints, pool } = rpc
    const places = order(pool(), yield* Clock.currentTimeMillis)
    const isAlone = endpoints.length === 1
    const reader = readers.get(point.hash) ?? places[0]!
    const asked = places.filter((place) =>
      isAlone || ((isThorough || place !== reader) && !pool().endpoints[place]!.isResting)
    )
    const readings: Array<Reading> = []
    let others = 0
    for (const place of asked) {
      const outcome = yield* Effect.result(
        rpc.attempt(endpoints[place]!, (endpoint) => readBlock(endpoint, point.height))
      )
      if (outcome._tag === "Failure") yield* Effect.logDebug("a block could not be read again", outcome.failure.reason)
      else if (outcome.success?.hash === point.hash) readings.push({ place, block: outcome.success })
      else if (outcome.success !== null) others += 1
      if (!isThorough && readings.length + 1 > others && readings.length > 0) break
    }
    if (readings.length === 0) {
      // One that does not have the block yet, or is away for a moment, may be on another branch: it is waited for.
      const now = yield* Clock.currentTimeMillis
      const isAwaited = places.some((place) => place !== reader && mayStillAnswer(pool(), place, now))
      return { _tag: others > 0 || isAwaited ? "Disagreed" : "Unavailable" } satisfies Corroboration
    }
    const followers = readings.length + (isThorough || isAlone ? 0 : 1)
    if (followers <= others) return { _tag: "Disagreed" }
    yield* watch.refresh
    const kept = isThorough ? completeReadings(readings) : readings
    if (isThorough) readers.set(point.hash, kept[0]!.place)
    return {
      _tag: isAlone ? "Alone" : "Agreed",
      time: kept[0]!.block.time,
      readings: kept.map(({ block }) => transfersOf(block, watch.has)),
      isWhole: readings.length === endpoints.length
    }
  })

export const makeFindTransfers = (rpc: JsonRpc): NonNullable<ChainDriver["findTransfers"]> =>
  Effect.fnUntraced(function*(from, to, watch) {
    const places = order(rpc.pool(), yield* Clock.currentTimeMillis)
    const usable = places.filter((place) => {
      const { branch, isResting } = rpc.pool().endpoints[place]!
      return branch !== "other" && !isResting
    })
    const place = usable[1] ?? usable[0] ?? places[0]!
    yield* watch.refresh
    return yield* rpc.attempt(rpc.endpoints[place]!, (endpoint) => findTransfers(endpoint, from, to, watch.has))
  })
