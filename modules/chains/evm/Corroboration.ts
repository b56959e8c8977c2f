/** What other endpoints have in a block that one of them showed: `ChainDriver.corroborate` and `findTransfers`. */
import { Clock, Effect } from "effect"
import {
  type ChainDriver,
  type ChainPoint,
  DriverError,
  type FoundTransfer,
  isOutage,
  type WatchSet
} from "../../../runtime/Chains.ts"
import { findTransfers, type FullBlock, readBlock, readHeader, transfersOf } from "./Blocks.ts"
import {
  type Answer,
  askAgain,
  makeReaders as makeReadersByKey,
  noAnswer
} from "../../../runtime/nodes/Corroboration.ts"
import {
  endpointsByPreference,
  isExpectedToAnswer,
  isFrozen,
  isWorthAsking
} from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoint, JsonRpc } from "./JsonRpc.ts"
import { isBloomOf } from "./LogsBloom.ts"

/** Which endpoint a block was read from, by its hash: another one is asked before its transfers count. */
export interface BlockReaders {
  readonly get: (hash: string) => number | undefined
  readonly set: (hash: string, place: number) => void
  /** The block was followed there: nothing read of it again changes that. */
  readonly follow: (point: ChainPoint, place: number) => void
  /** Where blocks of a range were followed, both ends included; null: not known of all of them, as after a restart. */
  readonly readersOf: (from: bigint, to: bigint) => ReadonlySet<number> | null
}

export const makeReaders = (): BlockReaders => {
  const blocks = makeReadersByKey()
  const heights = makeReadersByKey<bigint>()
  return {
    get: blocks.placeOf,
    set: blocks.remember,
    follow: ({ hash, height }, place) => {
      blocks.remember(hash, place)
      heights.remember(height, place)
    },
    readersOf: (from, to) => {
      const found = new Set<number>()
      for (let height = from; height <= to; height++) {
        const place = heights.placeOf(height)
        if (place === undefined) return null
        found.add(place)
      }
      return found
    }
  }
}

interface EndpointReading {
  readonly place: number
  readonly block: FullBlock
}

const isComplete = ({ block }: EndpointReading): boolean => isBloomOf(block.logsBloom, block.receipts) === true

/**
 * Where readings of one block differ, those that do not have the logs the block's own header names are left out, and of
 * the others those whose header is not proven by the block's hash, if one is. Where no reading has the logs of its
 * header the header tells nothing, and all are kept.
 */
export const completeReadings = <A extends EndpointReading>(readings: ReadonlyArray<A>): ReadonlyArray<A> => {
  const complete = readings.filter(isComplete)
  if (complete.length === 0) return readings
  const blooms = new Set(complete.map(({ block }) => block.logsBloom!.toLowerCase()))
  const proven = blooms.size === 1 ? [] : complete.filter(({ block }) => block.isProven())
  return proven.length === 0 ? complete : proven
}

export const makeCorroborate = (rpc: JsonRpc, readers: BlockReaders): NonNullable<ChainDriver["corroborate"]> => {
  /** Whether an endpoint has a block that it could not show whole. */
  const readBranch = (endpoint: Endpoint, { hash, height }: ChainPoint) =>
    rpc.attempt(endpoint, (each) => readHeader(each, height)).pipe(
      Effect.map((header): Answer<never> => ({
        _tag: header === null ? "Nothing" : header.hash === hash ? "Branch" : "Other"
      })),
      Effect.catch((error) => Effect.as(Effect.logDebug("a header could not be read again", error.reason), noAnswer))
    )
  const readAgain = (endpoint: Endpoint, point: ChainPoint): Effect.Effect<Answer<FullBlock>> =>
    rpc.attempt(endpoint, (each) => readBlock(each, point.height)).pipe(
      Effect.flatMap((block): Effect.Effect<Answer<FullBlock>> =>
        block === null
          ? readBranch(endpoint, point)
          : Effect.succeed(block.hash === point.hash ? { _tag: "Whole", reading: block } : { _tag: "Other" })
      ),
      Effect.catch((error) =>
        Effect.andThen(
          Effect.logDebug("a block could not be read again", error.reason),
          // An endpoint that refuses a block may still tell by its headers which branch it is on.
          isOutage(error) ? Effect.succeed(noAnswer) : readBranch(endpoint, point)
        )
      )
    )

  return Effect.fnUntraced(function*(point: ChainPoint, watch, isThorough) {
    const asked = yield* askAgain(rpc, readers.get(point.hash), isThorough, (endpoint) => readAgain(endpoint, point))
    const { agreement, hasAllAnswers } = asked
    if (agreement === "Disagreed" || agreement === "Unavailable") return { _tag: agreement }
    yield* watch.refresh
    const readings = asked.readings.map(({ place, reading }) => ({ place, block: reading }))
    const usedReadings = isThorough ? completeReadings(readings) : readings
    if (isThorough) readers.set(point.hash, usedReadings[0]!.place)
    return {
      _tag: agreement,
      time: usedReadings[0]!.block.time,
      readings: usedReadings.map(({ block }) => transfersOf(block, watch.has)),
      hasAllAnswers
    }
  })
}

/** All that several endpoints found: of transfers that look alike as many as the one that found most of them. */
export const mergeTransfers = (all: ReadonlyArray<ReadonlyArray<FoundTransfer>>): ReadonlyArray<FoundTransfer> => {
  const merged = new Map<string, ReadonlyArray<FoundTransfer>>()
  for (const found of all) {
    const byLook = Map.groupBy(
      found,
      ({ amount, matchKey, point, tokenAddress, txHash }) =>
        `${point.hash}:${txHash}:${matchKey}:${tokenAddress}:${amount}`
    )
    for (const [look, alike] of byLook) {
      if (alike.length > (merged.get(look)?.length ?? 0)) merged.set(look, alike)
    }
  }
  return [...merged.values()].flat()
}

/** Searches at one endpoint; fails where it does not have the last block of the range as it was followed. */
const searchAt = (
  { attempt, endpoints }: JsonRpc,
  place: number,
  { from, hash, to, watch }: {
    readonly from: bigint
    readonly to: bigint
    readonly hash: string | null
    readonly watch: WatchSet
  }
) => {
  const { name, network } = endpoints[place]!
  const reason = `${name} does not have block ${to} as it was followed`
  return attempt(endpoints[place]!, (endpoint) => findTransfers(endpoint, from, to, hash, watch.has)).pipe(
    Effect.flatMap((found) =>
      found === null ? Effect.fail(new DriverError({ network, reason, kind: "unanswered" })) : Effect.succeed(found)
    )
  )
}

/**
 * What the first of these endpoints finds that can be searched. Where none can, an outage of one of them counts for
 * more than what the others refuse: it ends, and then something may be found.
 */
const searchFirst = Effect.fnUntraced(function*<A>(
  places: ReadonlyArray<number>,
  search: (place: number) => Effect.Effect<A, DriverError>
) {
  const failures: Array<DriverError> = []
  for (const place of places) {
    const outcome = yield* Effect.result(search(place))
    if (outcome._tag === "Success") return outcome.success
    failures.push(outcome.failure)
  }
  return yield* failures.find(isOutage) ?? failures[0]!
})

/**
 * Searches where none of the range's blocks was read, so that one that hides logs is not asked whether it hid some.
 * Where each endpoint has read some of them it fails, and block by block it does not; an endpoint that answered not
 * long ago, or that is behind, is waited for. Where it is not known who read a block, all endpoints are asked. Where
 * nobody else can be asked, the reader is, and the answer says so.
 */
export const makeFindTransfers = (rpc: JsonRpc, readers: BlockReaders): NonNullable<ChainDriver["findTransfers"]> =>
  Effect.fnUntraced(function*(from, to, hash, watch) {
    const { endpoints, pool } = rpc
    const now = yield* Clock.currentTimeMillis
    const places = endpointsByPreference(pool(), now)
    const readerPlaces = readers.readersOf(from, to)
    const usable = places.filter((place) =>
      pool().endpoints[place]!.branch !== "other" && isWorthAsking(pool(), place) && !isFrozen(pool(), place, now)
    )
    const others = readerPlaces === null ? usable : usable.filter((place) => !readerPlaces.has(place))
    const isMixed = readerPlaces !== null && readerPlaces.size > 1 && others.length === 0
    const isLacking = readerPlaces === null ? others.length < 2 : others.length === 0
    const isOneAwaited = places.some((place) =>
      !usable.includes(place) && readerPlaces?.has(place) !== true && isExpectedToAnswer(pool(), place, now)
    )
    if (isLacking && (isMixed || isOneAwaited)) {
      return yield* new DriverError({
        network: endpoints[0]!.network,
        reason: `blocks ${from} to ${to} wait for an endpoint that they were not read from`,
        kind: "unanswered"
      })
    }
    yield* watch.refresh
    const search = (place: number) =>
      Effect.map(searchAt(rpc, place, { from, to, hash, watch }), (transfers) => ({ place, transfers }))
    const lone = usable[0] ?? places[0]!
    const answers = readerPlaces === null && usable.length > 0
      ? yield* Effect.forEach(usable, search, { concurrency: "unbounded" })
      : [yield* searchFirst(others.length > 0 ? others : [lone], search)]
    const isSingleSource = endpoints.length > 1 &&
      (readerPlaces === null ? answers.length < 2 : answers.every(({ place }) => readerPlaces.has(place)))
    return { transfers: mergeTransfers(answers.map(({ transfers }) => transfers)), isSingleSource }
  })
