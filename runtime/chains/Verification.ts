/**
 * Before a payment is confirmed its block is read again from another endpoint, and every block is searched once more
 * for transfers nobody was shown at first. Beside the follower, so that a slow node holds up no block; what comes of it
 * is written by the follower.
 */
import { Clock, Deferred, Effect, Metric, Ref } from "effect"
import type {
  ChainDriver,
  ChainPoint,
  Corroboration,
  FoundTransfer,
  JournalEntry,
  ObservedTransfer,
  WatchSet
} from "../Chains.ts"
import { initializeSeries } from "../Telemetry.ts"
import { transferKey } from "./TransferIdentity.ts"
import type { ChainHeights, ChainsRepo, RingPoint } from "./ChainsRepo.ts"

/** Entries looked at in one pass. */
const entriesPerPass = 900
/** Blocks read again side by side. */
const concurrentBlocks = 4
/** Blocks of one search: providers commonly allow ten. */
const blocksPerSearch = 8n
/** Searches of one pass: after a long absence the follower's other work has its turn in between. */
const searchesPerPass = 16
/** Blocks below the head that are not searched yet: nodes index logs a moment after they show a block. */
export const searchLag = 1n
/** Failed searches of one block in a row, a second apart, before it is passed: an outage ends, a refusal does not. */
const searchTries = 60
/**
 * Blocks below the newest searched one that are searched again once another endpoint is back: a day of Base. One that
 * is away for longer needs an operator's rescan.
 */
export const repeatSearchBlocks = 43_200n
/** How long a block waits that could not be confirmed: endpoints that are away, or on two branches. */
const retryMillis = 2_000
/** How long a block waits whose transfers endpoints show differently: an operator is told each time. */
const disagreementMillis = 30_000

const alerts = Metric.counter("chain_alerts_total", { incremental: true })
const waitingForAgreement = Metric.gauge("chain_payments_waiting_for_agreement", {
  description: "Blocks with payments that wait until another endpoint confirms them"
})

/** What became of the entries of a block, and the transfers in it that the journal lacks. */
export interface BlockDecision {
  readonly confirm: ReadonlyArray<string>
  readonly revert: ReadonlyArray<string>
  readonly undecidedIds: ReadonlyArray<string>
  readonly missing: ReadonlyArray<ObservedTransfer>
  /**
   * Whether another look must tell what is in the block: it could not be read, or as many show a transfer as do not.
   */
  readonly isInconclusive: boolean
}

/** What the follower writes, for as long as no rollback came since `generation`. */
export interface VerificationResult extends Omit<BlockDecision, "undecidedIds" | "isInconclusive"> {
  readonly _tag: "VerificationResult"
  readonly generation: number
  readonly point: RingPoint
  /** Up to here blocks have been searched; absent: this is no result of a search of new blocks. */
  readonly searchedHeight?: bigint
  /** See {@link FollowerPosition.singleSourceFrom}; absent: as before. */
  readonly singleSourceFrom?: bigint | null
  readonly done: Deferred.Deferred<void>
}

/** What a pass works on: where the follower stands. */
export interface FollowerPosition {
  readonly generation: number
  readonly ring: ReadonlyArray<RingPoint>
  readonly heights: ChainHeights
  readonly searchedHeight: bigint | null
  /** The lowest searched block that may have been searched nowhere but where it was read; null: there is none. */
  readonly singleSourceFrom: bigint | null
}

/**
 * The lowest block that only one endpoint was asked about, where blocks above `searchedHeight` are to be searched anew.
 */
export const singleSourceUpTo = (singleSourceFrom: bigint | null, searchedHeight: bigint | null): bigint | null =>
  singleSourceFrom === null || searchedHeight === null || singleSourceFrom > searchedHeight ? null : singleSourceFrom

/**
 * A credit by a difference of balances is in no block's transfers: {@link ChainDriver.balanceAt} asks two endpoints.
 */
const isOfBalance = (entry: JournalEntry): boolean => entry.txHash.startsWith("balance:")

/** A transfer with all that it says: readings of one that name different amounts show different things. */
const factKey = (
  transfer: Pick<ObservedTransfer, "amount" | "index" | "matchKey" | "tokenAddress" | "txHash">
): string => `${transferKey(transfer)}:${transfer.tokenAddress}:${transfer.amount}`

/**
 * What a block's entries come to. `deepEntries`: those that are deep enough; `entries`: all of the block; `isListed`:
 * tokens of the catalogue, for others are left out of the journal on purpose. Null where one reading differs from the
 * journal: all endpoints have to be asked.
 */
export const decideBlock = (
  deepEntries: ReadonlyArray<JournalEntry>,
  entries: ReadonlyArray<JournalEntry>,
  corroboration: Corroboration,
  isThorough: boolean,
  isListed: (transfer: Pick<ObservedTransfer, "tokenAddress">) => boolean
): BlockDecision | null => {
  const inconclusive = { confirm: [], revert: [], undecidedIds: [], missing: [], isInconclusive: true }
  const ids = deepEntries.map(({ id }) => id)
  if (corroboration._tag === "Disagreed") return { ...inconclusive, undecidedIds: ids }
  if (corroboration._tag === "Unavailable") {
    if (isThorough) return { ...inconclusive, undecidedIds: ids }
    const undecidedIds = deepEntries.filter(({ requiredDepth }) => requiredDepth?.agreement === true).map(({ id }) =>
      id
    )
    return { ...inconclusive, confirm: ids.filter((id) => !undecidedIds.includes(id)), undecidedIds }
  }
  const { hasAllAnswers, readings } = corroboration
  const transferCounts = new Map<string, { readonly transfer: ObservedTransfer; readonly times: number }>()
  for (const transfer of readings.flat()) {
    const key = factKey(transfer)
    transferCounts.set(key, { transfer, times: (transferCounts.get(key)?.times ?? 0) + 1 })
  }
  const timesOf = (entry: JournalEntry) => transferCounts.get(factKey(entry))?.times ?? 0
  const isMajority = (times: number) => times * 2 > readings.length
  const knownKeys = new Set([...entries, ...deepEntries].map(transferKey))
  const missing = [...transferCounts].filter(([, { transfer }]) =>
    !knownKeys.has(transferKey(transfer)) && isListed(transfer)
  )
  // Nobody but the endpoint that it was read from has shown it, where others are configured.
  const isSingleSource = corroboration._tag === "Alone" && !hasAllAnswers
  const unconfirmed = deepEntries.filter((entry) =>
    !isMajority(timesOf(entry)) || (isSingleSource && entry.requiredDepth?.agreement === true)
  )
  if (!isThorough && (unconfirmed.length > 0 || missing.length > 0)) return null
  const revert = hasAllAnswers ? unconfirmed.filter((entry) => timesOf(entry) === 0).map(({ id }) => id) : []
  return {
    confirm: deepEntries.filter((entry) => !unconfirmed.includes(entry)).map(({ id }) => id),
    revert,
    undecidedIds: unconfirmed.map(({ id }) => id).filter((id) => !revert.includes(id)),
    missing: missing.filter(([, { times }]) => isMajority(times)).map(([, { transfer }]) => transfer),
    isInconclusive: missing.some(([, { times }]) => times * 2 === readings.length)
  }
}

/** Blocks in which a search found more transfers than the journal has. */
export const blocksWithMissingTransfers = (
  found: ReadonlyArray<FoundTransfer>,
  entries: ReadonlyArray<JournalEntry>
): ReadonlyArray<ChainPoint> => {
  const keyOf = (
    hash: string,
    each: { txHash: string; matchKey: string; tokenAddress: string | null; amount: bigint }
  ) => `${hash}:${each.txHash}:${each.matchKey}:${each.tokenAddress}:${each.amount}`
  const journalCounts = new Map<string, number>()
  for (const entry of entries) {
    const key = keyOf(entry.blockHash, entry)
    journalCounts.set(key, (journalCounts.get(key) ?? 0) + 1)
  }
  const blocks = new Map<string, ChainPoint>()
  for (const each of found) {
    const key = keyOf(each.point.hash, each)
    const remaining = journalCounts.get(key) ?? 0
    if (remaining === 0) blocks.set(each.point.hash, each.point)
    else journalCounts.set(key, remaining - 1)
  }
  return [...blocks.values()]
}

export interface VerificationServices {
  readonly driver: ChainDriver
  readonly repo: ChainsRepo
  readonly watch: WatchSet
  /** Whether a token is in the catalogue: others are not looked for again. */
  readonly isListed: (transfer: Pick<ObservedTransfer, "tokenAddress">) => boolean
  /** Where the follower stands now; null before its first block. */
  readonly position: () => FollowerPosition | null
  /** Hands a result to the follower and waits until it is written. */
  readonly apply: (result: Omit<VerificationResult, "_tag" | "done">) => Effect.Effect<void>
}

/** One pass over what is deep enough, and one over what was not searched yet. */
export const makeVerification = Effect.fnUntraced(function*(services: VerificationServices) {
  const { apply, driver, isListed, position, repo, watch } = services
  const { environment, network } = driver
  const attributes = { network, environment }
  yield* initializeSeries(waitingForAgreement, [attributes])
  /** Blocks that wait, by hash, with the time at which they are read again. */
  const waitUntil = yield* Ref.make<ReadonlyMap<string, number>>(new Map())
  /** The search that failed last, and how often in a row: of new blocks, and of those that are searched again. */
  const searchFailure = yield* Ref.make({ from: -1n, times: 0 })
  const repeatSearchFailure = yield* Ref.make({ from: -1n, times: 0 })

  const wait = (hash: string, until: number) => Ref.update(waitUntil, (before) => new Map([...before, [hash, until]]))

  const alert = (kind: string) => Metric.update(Metric.withAttributes(alerts, { ...attributes, kind }), 1)

  const corroborate = (point: ChainPoint, isThorough: boolean) => driver.corroborate!(point, watch, isThorough)

  /**
   * Reads a block again, from all endpoints where one reading is not what the journal has. Answers whether it is
   * decided what is in it.
   */
  const verifyBlock = Effect.fnUntraced(
    function*(at: FollowerPosition, point: ChainPoint, deepEntries: ReadonlyArray<JournalEntry>) {
      const direct = deepEntries.filter((entry) => !isOfBalance(entry))
      const byBalance = deepEntries.filter(isOfBalance).map(({ id }) => id)
      const entries = (yield* repo.entriesAtHeights(network, environment, [point.height]))
        .filter((entry) => entry.blockHash === point.hash && !isOfBalance(entry))
      const first = deepEntries.length > 0 && direct.length === 0
        ? null
        : yield* corroborate(point, deepEntries.length === 0)
      const firstDecision = first === null
        ? null
        : decideBlock(direct, entries, first, deepEntries.length === 0, isListed)
      const last = first === null || firstDecision !== null ? first : yield* corroborate(point, true)
      const decision = last === null ? null : firstDecision ?? decideBlock(direct, entries, last, true, isListed)!
      const time = last !== null && "time" in last ? last.time : deepEntries[0]?.blockTime ?? 0
      if (decision !== null && (decision.undecidedIds.length > 0 || decision.isInconclusive)) {
        const isContested = last!._tag === "Agreed" || (last!._tag === "Alone" && last!.hasAllAnswers)
        yield* wait(point.hash, (yield* Clock.currentTimeMillis) + (isContested ? disagreementMillis : retryMillis))
        if (isContested) {
          yield* alert("endpoints_show_different_transfers")
          yield* Effect.logError(
            "endpoints show different transfers in one block: its payments wait, and later blocks are not " +
              "searched. Compare the block's receipts with a third node, and correct or remove the endpoint that is wrong",
            { network, environment, height: point.height, hash: point.hash, ids: decision.undecidedIds }
          )
        }
      }
      const confirm = [...byBalance, ...decision?.confirm ?? []]
      const revert = decision?.revert ?? []
      const missing = decision?.missing ?? []
      if (confirm.length + revert.length + missing.length > 0) {
        yield* apply({ generation: at.generation, point: { ...point, time }, confirm, revert, missing })
      }
      return decision?.isInconclusive !== true
    }
  )

  const verify = Effect.gen(function*() {
    const at = position()
    if (at === null) return
    const now = yield* Clock.currentTimeMillis
    const waiting = yield* Ref.updateAndGet(
      waitUntil,
      (before) => new Map([...before].filter(([, until]) => until > now))
    )
    const deepEntries = yield* repo.entriesDeepEnough(network, environment, at.heights, entriesPerPass, [
      ...waiting.keys()
    ])
    const blocks = Map.groupBy(deepEntries, ({ blockHash }) => blockHash)
    yield* Effect.forEach(blocks, ([hash, entries]) => verifyBlock(at, { height: entries[0]!.height, hash }, entries), {
      discard: true,
      concurrency: concurrentBlocks
    })
    yield* Metric.update(Metric.withAttributes(waitingForAgreement, attributes), (yield* Ref.get(waitUntil)).size)
  })

  const reportProgress = (
    at: FollowerPosition,
    progress: Pick<VerificationResult, "searchedHeight" | "singleSourceFrom">
  ) => apply({ generation: at.generation, point: at.ring[0]!, confirm: [], revert: [], missing: [], ...progress })

  /**
   * Searches one range; false when it could not be, or a block in it is not decided yet: no search passes that one. One
   * that is searched again waits for an endpoint that it was not read from.
   */
  const searchRange = Effect.fnUntraced(function*(at: FollowerPosition, from: bigint, to: bigint, isAgain: boolean) {
    const { isSingleSource, transfers } = yield* driver.findTransfers!(from, to, watch)
    if (isAgain && isSingleSource) return false
    const found = transfers.filter(isListed)
    const ours = new Map(at.ring.map((point) => [point.height, point.hash]))
    if (found.some(({ point }) => (ours.get(point.height) ?? point.hash) !== point.hash)) return false
    const moveTo = (height: bigint) =>
      reportProgress(
        at,
        isAgain
          ? { singleSourceFrom: singleSourceUpTo(height + 1n, at.searchedHeight) }
          : {
            searchedHeight: height,
            singleSourceFrom: isSingleSource ? at.singleSourceFrom ?? from : at.singleSourceFrom
          }
      )
    const heights = [...new Set(found.map(({ point }) => point.height))]
    const entries = heights.length === 0 ? [] : yield* repo.entriesAtHeights(network, environment, heights)
    const incomplete = blocksWithMissingTransfers(found, entries).toSorted((one, other) =>
      Number(one.height - other.height)
    )
    for (const point of incomplete) {
      const isWaiting = ((yield* Ref.get(waitUntil)).get(point.hash) ?? 0) > (yield* Clock.currentTimeMillis)
      if (isWaiting || !(yield* verifyBlock(at, point, []))) {
        if (point.height > from) yield* moveTo(point.height - 1n)
        return false
      }
    }
    yield* moveTo(to)
    return true
  })

  const reportUnsearchable = Effect.fnUntraced(function*(height: bigint, reason: string) {
    yield* alert("block_not_searched")
    yield* Effect.logError("a block could not be searched for transfers that were left out", {
      network,
      height,
      reason
    })
  })

  /** A range that cannot be searched is tried block by block; a block that cannot for long is passed with an alarm. */
  const searchNew = Effect.gen(function*() {
    for (let done = 0; done < searchesPerPass; done++) {
      const at = position()
      if (at === null || driver.findTransfers === null) return
      const from = (at.searchedHeight ?? at.ring[at.ring.length - 1]!.height) + 1n
      const newest = at.heights.head - searchLag
      if (from > newest) return
      const before = yield* Ref.get(searchFailure)
      const times = before.from === from ? before.times : 0
      const wide = from + blocksPerSearch - 1n
      const to = times > 0 ? from : wide < newest ? wide : newest
      const outcome = yield* Effect.result(searchRange(at, from, to, false))
      if (outcome._tag === "Success" && outcome.success) continue
      yield* Ref.set(searchFailure, { from, times: times + 1 })
      if (outcome._tag === "Success" || times < searchTries) return
      yield* reportUnsearchable(from, outcome.failure.reason)
      // An outage ends: who could not be asked is asked later.
      const isOutage = outcome.failure.kind === "unanswered" || outcome.failure.kind === "timeout"
      yield* reportProgress(at, {
        searchedHeight: from,
        singleSourceFrom: isOutage ? at.singleSourceFrom ?? from : at.singleSourceFrom
      })
    }
  })

  /**
   * Searches blocks again that were searched while every other endpoint was away, once one of them is back: what the
   * only endpoint left out is found so. An outage is waited for, a refusal is not.
   */
  const searchAgain = Effect.gen(function*() {
    for (let done = 0; done < searchesPerPass; done++) {
      const at = position()
      if (at === null || driver.findTransfers === null || at.searchedHeight === null || at.singleSourceFrom === null) {
        return
      }
      const oldest = at.searchedHeight - repeatSearchBlocks
      const isTooOld = at.singleSourceFrom < oldest
      const from = isTooOld ? oldest : at.singleSourceFrom
      const before = yield* Ref.get(repeatSearchFailure)
      const times = before.from === from ? before.times : 0
      const wide = from + blocksPerSearch - 1n
      const to = times > 0 ? from : wide < at.searchedHeight ? wide : at.searchedHeight
      const outcome = yield* Effect.result(searchRange(at, from, to, true))
      if (isTooOld && outcome._tag === "Success" && outcome.success) {
        yield* Effect.logError(
          "blocks are too old to be searched again at the endpoint that is back: call chains.rescan with them",
          { network, from: at.singleSourceFrom, to: from - 1n }
        )
      }
      if (outcome._tag === "Success" && outcome.success) continue
      if (outcome._tag === "Success") return
      yield* Ref.set(repeatSearchFailure, { from, times: times + 1 })
      const isOutage = outcome.failure.kind === "unanswered" || outcome.failure.kind === "timeout"
      if (isOutage || times < searchTries) return
      yield* reportUnsearchable(from, outcome.failure.reason)
      yield* reportProgress(at, { singleSourceFrom: singleSourceUpTo(from + 1n, at.searchedHeight) })
    }
  })

  const search = Effect.andThen(searchNew, searchAgain)

  return { verify, search }
})
