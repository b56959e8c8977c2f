/** What other endpoints have in a block that one of them showed: `ChainDriver.corroborate` and `findTransfers`. */
import { Clock, Effect } from "effect"
import {
  type ChainDriver,
  type ChainPoint,
  type Corroboration,
  DriverError,
  type FoundTransfer
} from "../../../runtime/Chains.ts"
import { findTransfers, type FullBlock, readBlock, readHeader, transfersOf } from "./Blocks.ts"
import {
  endpointsByPreference,
  isExpectedToAnswer,
  isFrozen,
  isWorthAsking
} from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoint, JsonRpc } from "./JsonRpc.ts"
import { bloomOf } from "./LogsBloom.ts"

/** Blocks whose reader is remembered: more than any network's payments wait for. */
const readersLimit = 8_192

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
  const places = new Map<string, number>()
  const heights = new Map<bigint, number>()
  const keep = <K>(all: Map<K, number>, key: K, place: number) => {
    all.delete(key)
    all.set(key, place)
    if (all.size > readersLimit) all.delete(all.keys().next().value!)
  }
  return {
    get: (hash) => places.get(hash),
    set: (hash, place) => keep(places, hash, place),
    follow: ({ hash, height }, place) => {
      keep(places, hash, place)
      keep(heights, height, place)
    },
    readersOf: (from, to) => {
      const found = new Set<number>()
      for (let height = from; height <= to; height++) {
        const place = heights.get(height)
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

const isComplete = ({ block }: EndpointReading): boolean =>
  block.logsBloom !== null &&
  block.logsBloom.toLowerCase() === bloomOf(block.receipts.flatMap(({ logs }) => logs))

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

/** What the endpoints that were asked for a block came to. */
export interface BlockAnswers {
  /** The endpoint that it was read from has it. */
  readonly own: number
  /** Others that have shown it whole. */
  readonly same: number
  /** Others that have it, and could not show all of it. */
  readonly branch: number
  /** Endpoints with another block in its place. */
  readonly other: number
  /** Endpoints that should answer within a moment: they have no such block yet, or failed not long ago. */
  readonly pending: number
  /** Whether anybody has shown it whole just now. */
  readonly isRead: boolean
}

/** See {@link Corroboration}. Silence is consent only of those that are away for long or stand still. */
export const corroborationOf = (answers: BlockAnswers): Corroboration["_tag"] => {
  const { pending, branch, isRead, other, own, same } = answers
  if (other > 0 && other >= own + same + branch) return "Disagreed"
  if (same > 0) return "Agreed"
  if (branch === 0 && pending > 0) return "Disagreed"
  return isRead ? "Alone" : "Unavailable"
}

type Answer = { readonly _tag: "Whole"; readonly block: FullBlock } | { readonly _tag: "Branch" | "Other" | "Nothing" }

const nothing: Answer = { _tag: "Nothing" }

const silentKinds: ReadonlySet<DriverError["kind"]> = new Set(["unanswered", "timeout", "unavailable", "rate_limited"])

/** Failures of an endpoint that answers: its headers may still tell which branch it is on. */
const isAnswer = ({ kind }: DriverError): boolean => !silentKinds.has(kind)

export const makeCorroborate = (rpc: JsonRpc, readers: BlockReaders): NonNullable<ChainDriver["corroborate"]> => {
  const { endpoints, pool } = rpc

  /** Whether an endpoint has a block that it could not show whole. */
  const readBranch = (endpoint: Endpoint, { hash, height }: ChainPoint) =>
    rpc.attempt(endpoint, (each) => readHeader(each, height)).pipe(
      Effect.map((header): Answer => ({
        _tag: header === null ? "Nothing" : header.hash === hash ? "Branch" : "Other"
      })),
      Effect.catch((error) => Effect.as(Effect.logDebug("a header could not be read again", error.reason), nothing))
    )
  const readAgain = (endpoint: Endpoint, point: ChainPoint): Effect.Effect<Answer> =>
    rpc.attempt(endpoint, (each) => readBlock(each, point.height)).pipe(
      Effect.flatMap((block): Effect.Effect<Answer> =>
        block === null
          ? readBranch(endpoint, point)
          : Effect.succeed(block.hash === point.hash ? { _tag: "Whole", block } : { _tag: "Other" })
      ),
      Effect.catch((error) =>
        Effect.andThen(
          Effect.logDebug("a block could not be read again", error.reason),
          isAnswer(error) ? readBranch(endpoint, point) : Effect.succeed(nothing)
        )
      )
    )

  return Effect.fnUntraced(function*(point: ChainPoint, watch, isThorough) {
    const isSingle = endpoints.length === 1
    const reader = readers.get(point.hash)
    // Where nobody knows whom a block was read from, one more has to show it than where it is known.
    const isReaderAsked = isThorough || isSingle || reader === undefined
    const readings: Array<EndpointReading> = []
    const counts = { own: isReaderAsked ? 0 : 1, same: 0, branch: 0, other: 0, pending: 0 }
    for (const place of endpointsByPreference(pool(), yield* Clock.currentTimeMillis)) {
      if (!isReaderAsked && place === reader) continue
      const canAsk = isSingle || isWorthAsking(pool(), place)
      const answer = canAsk ? yield* readAgain(endpoints[place]!, point) : nothing
      switch (answer._tag) {
        case "Whole":
          readings.push({ place, block: answer.block })
          counts[isReaderAsked && counts.own === 0 && (reader ?? place) === place ? "own" : "same"] += 1
          break
        case "Branch":
          counts.branch += 1
          break
        case "Other":
          counts.other += 1
          break
        case "Nothing":
          if (isExpectedToAnswer(pool(), place, yield* Clock.currentTimeMillis)) counts.pending += 1
      }
      if (!isThorough && counts.same > 0 && counts.own + counts.same + counts.branch > counts.other) break
    }
    const agreement = corroborationOf({ ...counts, isRead: readings.length > 0 })
    if (agreement === "Disagreed" || agreement === "Unavailable") return { _tag: agreement }
    yield* watch.refresh
    const usedReadings = isThorough ? completeReadings(readings) : readings
    if (isThorough) readers.set(point.hash, usedReadings[0]!.place)
    return {
      _tag: agreement,
      time: usedReadings[0]!.block.time,
      readings: usedReadings.map(({ block }) => transfersOf(block, watch.has)),
      hasAllAnswers: readings.length === endpoints.length
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

/**
 * Searches where none of the range's blocks was read, so that one that hides logs is not asked whether it hid some.
 * Where each endpoint has read some of them it fails, and block by block it does not; an endpoint that answered not
 * long ago is waited for. Where it is not known who read a block, all endpoints are asked. Where nobody else can be
 * asked, the reader is, and the answer says so.
 */
export const makeFindTransfers = (rpc: JsonRpc, readers: BlockReaders): NonNullable<ChainDriver["findTransfers"]> =>
  Effect.fnUntraced(function*(from, to, watch) {
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
    const searchPlaces = readerPlaces === null && usable.length > 0 ? usable : [others[0] ?? usable[0] ?? places[0]!]
    const found = yield* Effect.forEach(
      searchPlaces,
      (place) => rpc.attempt(endpoints[place]!, (endpoint) => findTransfers(endpoint, from, to, watch.has)),
      { concurrency: "unbounded" }
    )
    const isSingleSource = endpoints.length > 1 &&
      (readerPlaces === null ? searchPlaces.length < 2 : searchPlaces.every((place) => readerPlaces.has(place)))
    return { transfers: mergeTransfers(found), isSingleSource }
  })
