/**
 * Before a payment is confirmed its block is read again from another endpoint, and every block is searched once more for
 * transfers nobody was shown at first. Beside the follower, so that a slow node holds up no block; what comes of it is
 * written by the follower.
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
import { fromZero } from "../Telemetry.ts"
import { transferKey } from "./Claims.ts"
import type { ChainHeights, RingPoint, Rows } from "./Rows.ts"

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
 * Blocks below the newest searched one that are searched again once another endpoint is back: a day of Base. One that is
 * away for longer needs an operator's rescan.
 */
export const searchedAgainBlocks = 43_200n
/** How long a block waits that could not be confirmed: endpoints that are away, or on two branches. */
const heldMillis = 2_000
/** How long a block waits whose transfers endpoints show differently: an operator is told each time. */
const contestedMillis = 30_000

const alerts = Metric.counter("chain_alerts_total", { incremental: true })
const waitingForAgreement = Metric.gauge("chain_payments_waiting_for_agreement", {
  description: "Blocks with payments that wait until another endpoint confirms them"
})

/** What became of the entries of a block, and the transfers in it that the journal lacks. */
export interface BlockVerdict {
  readonly confirm: ReadonlyArray<string>
  readonly revert: ReadonlyArray<string>
  readonly held: ReadonlyArray<string>
  readonly missing: ReadonlyArray<ObservedTransfer>
  /** Whether another look must tell what is in the block: it could not be read, or as many show a transfer as do not. */
  readonly isOpen: boolean
}

/** What the follower writes, for as long as no rollback came since `generation`. */
export interface Verified extends Omit<BlockVerdict, "held" | "isOpen"> {
  readonly _tag: "Verified"
  readonly generation: number
  readonly point: RingPoint
  /** Up to here blocks have been searched; absent: this is no result of a search of new blocks. */
  readonly searched?: bigint
  /** See {@link Place.searchedAlone}; absent: as before. */
  readonly searchedAlone?: bigint | null
  readonly done: Deferred.Deferred<void>
}

/** What a pass works on: where the follower stands. */
export interface Place {
  readonly generation: number
  readonly ring: ReadonlyArray<RingPoint>
  readonly heights: ChainHeights
  readonly searched: bigint | null
  /** The lowest searched block that may have been searched nowhere but where it was read; null: there is none. */
  readonly searchedAlone: bigint | null
}

/** The lowest block that was searched alone, where blocks above `searched` are to be searched anew. */
export const aloneUpTo = (searchedAlone: bigint | null, searched: bigint | null): bigint | null =>
  searchedAlone === null || searched === null || searchedAlone > searched ? null : searchedAlone

/** A credit by a difference of balances is in no block's transfers: {@link ChainDriver.balanceAt} asks two endpoints. */
const isOfBalance = (entry: JournalEntry): boolean => entry.txHash.startsWith("balance:")

/** A transfer with all that it says: readings of one that name different amounts show different things. */
const factKey = (transfer: Pick<ObservedTransfer, "amount" | "index" | "matchKey" | "tokenAddress" | "txHash">): string =>
  `${transferKey(transfer)}:${transfer.tokenAddress}:${transfer.amount}`

/**
 * What a block's entries come to. `deep`: those that are deep enough; `entries`: all of the block; `isListed`: tokens of
 * the catalogue, for others are left out of the journal on purpose. Null where one reading differs from the journal: all
 * endpoints have to be asked.
 */
export const judgeBlock = (
  deep: ReadonlyArray<JournalEntry>,
  entries: ReadonlyArray<JournalEntry>,
  corroboration: Corroboration,
  isThorough: boolean,
  isListed: (transfer: Pick<ObservedTransfer, "tokenAddress">) => boolean
): BlockVerdict | null => {
  const none = { confirm: [], revert: [], held: [], missing: [], isOpen: true }
  const ids = deep.map(({ id }) => id)
  if (corroboration._tag === "Disagreed") return { ...none, held: ids }
  if (corroboration._tag === "Unavailable") {
    if (isThorough) return { ...none, held: ids }
    const held = deep.filter(({ required }) => required?.agreement === true).map(({ id }) => id)
    return { ...none, confirm: ids.filter((id) => !held.includes(id)), held }
  }
  const { isWhole, readings } = corroboration
  const shown = new Map<string, { readonly transfer: ObservedTransfer; readonly times: number }>()
  for (const transfer of readings.flat()) {
    const key = factKey(transfer)
    shown.set(key, { transfer, times: (shown.get(key)?.times ?? 0) + 1 })
  }
  const timesOf = (entry: JournalEntry) => shown.get(factKey(entry))?.times ?? 0
  const isMajority = (times: number) => times * 2 > readings.length
  const known = new Set([...entries, ...deep].map(transferKey))
  const missing = [...shown].filter(([, { transfer }]) => !known.has(transferKey(transfer)) && isListed(transfer))
  // Nobody but the endpoint that it was read from has shown it, where others are configured.
  const isOneVoice = corroboration._tag === "Alone" && !isWhole
  const unsure = deep.filter((entry) =>
    !isMajority(timesOf(entry)) || (isOneVoice && entry.required?.agreement === true)
  )
  if (!isThorough && (unsure.length > 0 || missing.length > 0)) return null
  const revert = isWhole ? unsure.filter((entry) => timesOf(entry) === 0).map(({ id }) => id) : []
  return {
    confirm: deep.filter((entry) => !unsure.includes(entry)).map(({ id }) => id),
    revert,
    held: unsure.map(({ id }) => id).filter((id) => !revert.includes(id)),
    missing: missing.filter(([, { times }]) => isMajority(times)).map(([, { transfer }]) => transfer),
    isOpen: missing.some(([, { times }]) => times * 2 === readings.length)
  }
}

/** Blocks in which a search found more transfers than the journal has. */
export const blocksLacking = (
  found: ReadonlyArray<FoundTransfer>,
  entries: ReadonlyArray<JournalEntry>
): ReadonlyArray<ChainPoint> => {
  const keyOf = (
    hash: string,
    each: { txHash: string; matchKey: string; tokenAddress: string | null; amount: bigint }
  ) => `${hash}:${each.txHash}:${each.matchKey}:${each.tokenAddress}:${each.amount}`
  const journalled = new Map<string, number>()
  for (const entry of entries) {
    const key = keyOf(entry.blockHash, entry)
    journalled.set(key, (journalled.get(key) ?? 0) + 1)
  }
  const lacking = new Map<string, ChainPoint>()
  for (const each of found) {
    const key = keyOf(each.point.hash, each)
    const left = journalled.get(key) ?? 0
    if (left === 0) lacking.set(each.point.hash, each.point)
    else journalled.set(key, left - 1)
  }
  return [...lacking.values()]
}

export interface VerifyingServices {
  readonly driver: ChainDriver
  readonly rows: Rows
  readonly watch: WatchSet
  /** Whether a token is in the catalogue: others are not looked for again. */
  readonly isListed: (transfer: Pick<ObservedTransfer, "tokenAddress">) => boolean
  /** Where the follower stands now; null before its first block. */
  readonly place: () => Place | null
  /** Hands a result to the follower and waits until it is written. */
  readonly apply: (verified: Omit<Verified, "_tag" | "done">) => Effect.Effect<void>
}

/** One pass over what is deep enough, and one over what was not searched yet. */
export const makeVerifying = Effect.fnUntraced(function*(services: VerifyingServices) {
  const { apply, driver, isListed, place, rows, watch } = services
  const { environment, network } = driver
  const attributes = { network, environment }
  yield* fromZero(waitingForAgreement, [attributes])
  /** Blocks that wait, by hash, with the time at which they are read again. */
  const waits = yield* Ref.make<ReadonlyMap<string, number>>(new Map())
  /** The search that failed last, and how often in a row: of new blocks, and of those that are searched again. */
  const failed = yield* Ref.make({ from: -1n, times: 0 })
  const failedAgain = yield* Ref.make({ from: -1n, times: 0 })

  const wait = (hash: string, until: number) => Ref.update(waits, (before) => new Map([...before, [hash, until]]))

  const alert = (kind: string) => Metric.update(Metric.withAttributes(alerts, { ...attributes, kind }), 1)

  const corroborate = (point: ChainPoint, isThorough: boolean) => driver.corroborate!(point, watch, isThorough)

  /**
   * Reads a block again, from all endpoints where one reading is not what the journal has. Answers whether it is decided
   * what is in it.
   */
  const verifyBlock = Effect.fnUntraced(function*(at: Place, point: ChainPoint, deep: ReadonlyArray<JournalEntry>) {
    const read = deep.filter((entry) => !isOfBalance(entry))
    const byBalance = deep.filter(isOfBalance).map(({ id }) => id)
    const entries = (yield* rows.atHeights(network, environment, [point.height]))
      .filter((entry) => entry.blockHash === point.hash && !isOfBalance(entry))
    const first = deep.length > 0 && read.length === 0 ? null : yield* corroborate(point, deep.length === 0)
    const quick = first === null ? null : judgeBlock(read, entries, first, deep.length === 0, isListed)
    const last = first === null || quick !== null ? first : yield* corroborate(point, true)
    const verdict = last === null ? null : quick ?? judgeBlock(read, entries, last, true, isListed)!
    const time = last !== null && "time" in last ? last.time : deep[0]?.blockTime ?? 0
    if (verdict !== null && (verdict.held.length > 0 || verdict.isOpen)) {
      const isContested = last!._tag === "Agreed" || (last!._tag === "Alone" && last!.isWhole)
      yield* wait(point.hash, (yield* Clock.currentTimeMillis) + (isContested ? contestedMillis : heldMillis))
      if (isContested) {
        yield* alert("endpoints_show_different_transfers")
        yield* Effect.logError(
          "endpoints show different transfers in one block: its payments wait, and later blocks are not " +
            "searched. Compare the block's receipts with a third node, and correct or remove the endpoint that is wrong",
          { network, environment, height: point.height, hash: point.hash, ids: verdict.held }
        )
      }
    }
    const confirm = [...byBalance, ...verdict?.confirm ?? []]
    const revert = verdict?.revert ?? []
    const missing = verdict?.missing ?? []
    if (confirm.length + revert.length + missing.length > 0) {
      yield* apply({ generation: at.generation, point: { ...point, time }, confirm, revert, missing })
    }
    return verdict?.isOpen !== true
  })

  const verify = Effect.gen(function*() {
    const at = place()
    if (at === null) return
    const now = yield* Clock.currentTimeMillis
    const held = yield* Ref.updateAndGet(waits, (before) => new Map([...before].filter(([, until]) => until > now)))
    const deep = yield* rows.deepEnough(network, environment, at.heights, entriesPerPass, [...held.keys()])
    const blocks = Map.groupBy(deep, ({ blockHash }) => blockHash)
    yield* Effect.forEach(blocks, ([hash, entries]) =>
      verifyBlock(at, { height: entries[0]!.height, hash }, entries), { discard: true, concurrency: concurrentBlocks })
    yield* Metric.update(Metric.withAttributes(waitingForAgreement, attributes), (yield* Ref.get(waits)).size)
  })

  const moved = (at: Place, progress: Pick<Verified, "searched" | "searchedAlone">) =>
    apply({ generation: at.generation, point: at.ring[0]!, confirm: [], revert: [], missing: [], ...progress })

  /**
   * Searches one range; false when it could not be, or a block in it is not decided yet: no search passes that one. One
   * that is searched again waits for an endpoint that it was not read from.
   */
  const searchRange = Effect.fnUntraced(function*(at: Place, from: bigint, to: bigint, isAgain: boolean) {
    const { isAlone, transfers } = yield* driver.findTransfers!(from, to, watch)
    if (isAgain && isAlone) return false
    const found = transfers.filter(isListed)
    const ours = new Map(at.ring.map((point) => [point.height, point.hash]))
    if (found.some(({ point }) => (ours.get(point.height) ?? point.hash) !== point.hash)) return false
    const passed = (height: bigint) =>
      moved(at, isAgain
        ? { searchedAlone: aloneUpTo(height + 1n, at.searched) }
        : { searched: height, searchedAlone: isAlone ? at.searchedAlone ?? from : at.searchedAlone })
    const heights = [...new Set(found.map(({ point }) => point.height))]
    const entries = heights.length === 0 ? [] : yield* rows.atHeights(network, environment, heights)
    const lacking = blocksLacking(found, entries).toSorted((one, other) => Number(one.height - other.height))
    for (const point of lacking) {
      const isWaiting = ((yield* Ref.get(waits)).get(point.hash) ?? 0) > (yield* Clock.currentTimeMillis)
      if (isWaiting || !(yield* verifyBlock(at, point, []))) {
        if (point.height > from) yield* passed(point.height - 1n)
        return false
      }
    }
    yield* passed(to)
    return true
  })

  const giveUp = Effect.fnUntraced(function*(height: bigint, reason: string) {
    yield* alert("block_not_searched")
    yield* Effect.logError("a block could not be searched for transfers that were left out", { network, height, reason })
  })

  /** A range that cannot be searched is tried block by block; a block that cannot for long is passed with an alarm. */
  const searchNew = Effect.gen(function*() {
    for (let done = 0; done < searchesPerPass; done++) {
      const at = place()
      if (at === null || driver.findTransfers === null) return
      const from = (at.searched ?? at.ring[at.ring.length - 1]!.height) + 1n
      const newest = at.heights.head - searchLag
      if (from > newest) return
      const before = yield* Ref.get(failed)
      const times = before.from === from ? before.times : 0
      const wide = from + blocksPerSearch - 1n
      const to = times > 0 ? from : wide < newest ? wide : newest
      const outcome = yield* Effect.result(searchRange(at, from, to, false))
      if (outcome._tag === "Success" && outcome.success) continue
      yield* Ref.set(failed, { from, times: times + 1 })
      if (outcome._tag === "Success" || times < searchTries) return
      yield* giveUp(from, outcome.failure.reason)
      // An outage ends: who could not be asked is asked later.
      const isOutage = outcome.failure.kind === "unanswered" || outcome.failure.kind === "timeout"
      yield* moved(at, { searched: from, searchedAlone: isOutage ? at.searchedAlone ?? from : at.searchedAlone })
    }
  })

  /**
   * Searches blocks again that were searched while every other endpoint was away, once one of them is back: what the
   * only endpoint left out is found so. An outage is waited for, a refusal is not.
   */
  const searchAgain = Effect.gen(function*() {
    for (let done = 0; done < searchesPerPass; done++) {
      const at = place()
      if (at === null || driver.findTransfers === null || at.searched === null || at.searchedAlone === null) return
      const oldest = at.searched - searchedAgainBlocks
      const isTooOld = at.searchedAlone < oldest
      const from = isTooOld ? oldest : at.searchedAlone
      const before = yield* Ref.get(failedAgain)
      const times = before.from === from ? before.times : 0
      const wide = from + blocksPerSearch - 1n
      const to = times > 0 ? from : wide < at.searched ? wide : at.searched
      const outcome = yield* Effect.result(searchRange(at, from, to, true))
      if (isTooOld && outcome._tag === "Success" && outcome.success) {
        yield* Effect.logError(
          "blocks are too old to be searched again at the endpoint that is back: call chains.rescan with them",
          { network, from: at.searchedAlone, to: from - 1n }
        )
      }
      if (outcome._tag === "Success" && outcome.success) continue
      if (outcome._tag === "Success") return
      yield* Ref.set(failedAgain, { from, times: times + 1 })
      const isOutage = outcome.failure.kind === "unanswered" || outcome.failure.kind === "timeout"
      if (isOutage || times < searchTries) return
      yield* giveUp(from, outcome.failure.reason)
      yield* moved(at, { searchedAlone: aloneUpTo(from + 1n, at.searched) })
    }
  })

  const search = Effect.andThen(searchNew, searchAgain)

  return { verify, search }
})
