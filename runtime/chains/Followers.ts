/**
 * One follower per network: under a lease, from the stored cursor, one fact after the other. A block's transfers and
 * the cursor are one commit; everything is read again before it is written, so doing a block twice changes nothing
 * and a second follower by accident only loses races.
 */
import { Cause, Clock, Deferred, Effect, Exit, Metric, Option, Queue, Result, Schedule, Semaphore, Stream } from "effect"
import { familyOf } from "../../schemas/Network.ts"
import {
  type BlockReading, type ChainDriver, type ChainEvent, type ChainPoint, DriverError, type JournalEntry,
  type NetworkSight, type NetworkStatus, type ObservedTransfer
} from "../Chains.ts"
import { Commit, Conflict, type Fence, noCause, systemMerchant, type Write } from "../Commit.ts"
import type { Leases } from "../Leases.ts"
import type { TokenCatalog } from "../TokenCatalog.ts"
import * as Balances from "./Balances.ts"
import { claimOf, entryIds, idBeside, transferKey } from "./Claims.ts"
import {
  anchorOf, confirmed, dropAbove, finalHeight, mayRevert, pushPoint, reverted, seenByBlock, seenByLook, seenBySearch,
  sight
} from "./Depth.ts"
import { type Looks, noLooks, pausedIds, step as stepLooks } from "./Looks.ts"
import * as Receivers from "./Receivers.ts"
import {
  advanced, anchorHeight, completed, type Forgotten, higher, isAstray, isBelieved, isOpen, isRead, leavesGap, lower,
  lowestInDoubt, nextHeights, nextRepair, reanchored, type Repair, repairBatch, restoreFrom, skipped, stillForgotten
} from "./Repairs.ts"
import { lowestSince, walletWaitSeconds, watchedAfterRestoreSeconds } from "./Restores.ts"
import {
  balanceWrite, type Cursor, cursorWrite, repairWrite, type RingPoint, type Rows, transferId, transferWrite
} from "./Rows.ts"
import type { make as makeTargets } from "./Targets.ts"
import { fromZero } from "../Telemetry.ts"
import { admit, screen } from "./Unlisted.ts"
import type { WalletAddresses } from "./WalletAddresses.ts"
import { aloneUpTo, makeVerifying, type Place, searchLag, type Verified } from "./Verification.ts"

/** Rows of one commit, the cursor not counted: below the commit log's limit of 1,000. */
const rowsPerCommit = 900
/** An unanswered chain is unhealthy after this long (modules/docs/reference/networks.md#status). */
const silenceMillis = 60_000
/** A chain that gave no answer for so long after a start holds up no address: nobody can say what is on it. */
const firstAnswerMillis = 2_000
/** Nor does one that no instance has begun to follow for so long: the lease of one that was killed has ended by then. */
const takeOverMillis = 10_000
/** Nor does one that is still behind after this time: 1 h, as long as a day of the fastest network takes to be read. */
const catchUpLimitMillis = 3_600_000
/** How long another instance takes over after this one dies. */
const leaseMillis = 6_000
/**
 * The cursor is stored this often where no transfer stores it: a restart reads a few empty blocks again, harmlessly, and
 * other instances see that the chain answers.
 */
const idleCursorMillis = 5_000
/** How often a follower looks for entries other instances made ready, and others look at its cursor. */
const tickMillis = 1_000
/** How often what waits for another endpoint is looked at again, and new blocks are searched. */
const verifyMillis = 1_000
/** Pause of a repair after a failure: doubles to the longest. */
const repairPause = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("1 minute")])
/** Entries checked in one turn after a reanchor. */
const astrayPage = 200
/** An answer to where the chain is now takes at most this long. */
const anchorMillis = 60_000
/** Conflicts in a row on one fact before the follower starts again from its cursor. */
const conflictRetries = 10
/** Pause after a failure: doubles from the first to the longest. */
const firstPauseMillis = 250
const longestPauseMillis = 15_000

const reorgs = Metric.counter("reorgs_total", { incremental: true })
const alerts = Metric.counter("chain_alerts_total", { incremental: true })
const unrecorded = Metric.counter("unlisted_transfers_dropped_total", {
  description: "Transfers of tokens that are not in the catalogue, over the limits of what is recorded",
  incremental: true
})
/** What the alerts are of. */
const alertKinds = [
  "reorg_below_final", "report_ended", "balance", "transfer_left_out", "endpoints_show_different_transfers",
  "block_not_searched"
] as const
const headLag = Metric.gauge("payment_detection_lag_seconds")
const health = Metric.gauge("network_health")

/** The block of reported entries, or why no node gave it. */
interface ReportedBlock {
  readonly _tag: "ReportedBlock"
  readonly generation: number
  readonly entries: ReadonlyArray<JournalEntry>
  readonly block: Result.Result<BlockReading, DriverError>
  /** Done once it was dealt with. */
  readonly done: Deferred.Deferred<void>
}

/** Blocks that a repair read, or entries it found astray: what changes, and the repair as it is after it. */
interface RepairTurn {
  readonly _tag: "RepairTurn"
  readonly generation: number
  readonly blocks: ReadonlyArray<BlockReading>
  readonly astray: ReadonlyArray<JournalEntry>
  readonly next: (credited: number) => Repair
  /** Done once it was dealt with. */
  readonly done: Deferred.Deferred<void>
}

/** What was read beside the follower, for it to deal with in its turn. */
type Reading = Balances.Reading | ReportedBlock | RepairTurn

/** What one turn of a follower works on. */
type Item = Exclude<ChainEvent, Finality> | Looked | { readonly _tag: "Check" } | Reading | Verified

type Finality = Extract<ChainEvent, { readonly _tag: "Finality" }>

/** A look at the chain is over, and all that it found came before this. */
interface Looked {
  readonly _tag: "Looked"
  readonly finalized: bigint | null
  /** Epoch milliseconds at which it began, or earlier; null: not known. */
  readonly since: number | null
}

/** A follower as the rest of the process sees it. */
export interface Follower {
  readonly driver: ChainDriver
  readonly status: () => NetworkStatus
  /** How far this instance knows that the journal is complete. */
  readonly sight: () => NetworkSight
  /** Looks at once whether entries are deep enough. */
  readonly check: Effect.Effect<void>
  /** Newest block processed, from memory where this instance follows, else from the stored cursor. */
  readonly head: () => bigint | null
  /**
   * Whether the chain was read up to its end since this process started, here or by the instance that follows it. Until
   * then a block may hold a payment to an address that a restored backup does not remember.
   */
  readonly isCaughtUp: () => boolean
  /** The newest block processed, if the chain is read up to its end. */
  readonly newest: () => RingPoint | null
}

export interface FollowerServices {
  readonly catalog: TokenCatalog["Service"]
  readonly rows: Rows
  readonly commit: Commit["Service"]
  readonly leases: Leases["Service"]
  readonly targets: Effect.Success<ReturnType<typeof makeTargets>>
  readonly addresses: WalletAddresses
  /** Says that entries wait for the handler. */
  readonly wakeHandler: Effect.Effect<void>
}

const isStranded = (cause: Cause.Cause<unknown>): boolean =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => false,
    onSome: (error) => error instanceof DriverError && error.condition === "no_common_block"
  })

/** Starts following in the current scope. */
export const start = Effect.fnUntraced(function*(driver: ChainDriver, services: FollowerServices) {
  const { addresses, catalog, commit, leases, rows, targets, wakeHandler } = services
  const { environment, network } = driver
  const family = familyOf(network)
  const attributes = { network, environment }
  const leaseName = `chain:${network}:${environment}`
  const clock = yield* Clock.Clock
  const wakes = yield* Queue.sliding<{ readonly _tag: "Check" }>(1)
  const readings = yield* Queue.bounded<Reading>(1)
  const lookWakes = yield* Queue.sliding<void>(1)
  const verified = yield* Queue.bounded<Verified>(1)
  const verifyWakes = yield* Queue.sliding<void>(1)
  const readingTurn = yield* Semaphore.make(1)

  let ring: ReadonlyArray<RingPoint> = []
  let version = 0
  let storedAt = 0
  /** Of the nodes; silence is told by `answeredAt`. */
  let condition: Cursor["condition"] = "ok"
  let finalized: bigint | null = null
  let seenUntil: number | null = null
  let searched: bigint | null = null
  let searchedAlone: bigint | null = null
  /** When the search moved last, or had nothing to search. Monotonic milliseconds. */
  let searchMovedAtMillis = performance.now()
  let answeredAt = clock.currentTimeMillisUnsafe()
  let following = false
  let mayWait = true
  let failures = 0
  /** Changes with every rollback: what was read before one is not written after it. */
  let generation = 0
  let looks: Looks = noLooks
  let startedAt = performance.now()
  let hasAnswered = false
  /** Of this process, until the database turns out to be an older one. */
  let caughtUp = (yield* rows.cursor(network, environment)) === null
  let caughtUpToken: bigint | null = null
  /** When the lease of the instance that follows ended, by the last look at it. */
  let leaseEnd: string | null = null
  /** A block came since the last look ended. */
  let isReading = false

  yield* fromZero(reorgs, [attributes])
  yield* fromZero(unrecorded, [attributes])
  yield* fromZero(alerts, alertKinds.map((kind) => ({ ...attributes, kind })))
  yield* Metric.update(Metric.withAttributes(headLag, attributes), 0)
  yield* Metric.update(Metric.withAttributes(health, attributes), 1)
  /** Whether the newest block there is was read since the follower began. */
  let isCaughtUp = false
  /** A block that the repair under way needs and every endpoint says it does not have any more. */
  let forgotten: Forgotten | null = null
  /** Between a reanchor and its end the journal is not complete: no invoice may expire by it. */
  let isReanchoring = false

  const heights = () => ({ head: ring[0]!.height, finalized })
  const isSearchBehind = () => ring.length > 0 && ring[0]!.height - (searched ?? ring.at(-1)!.height) > searchLag
  const moveSearch = (height: bigint | null) => {
    if (height !== searched) searchMovedAtMillis = performance.now()
    searched = height
    searchedAlone = aloneUpTo(searchedAlone, height)
  }
  const isStoreDue = () => clock.currentTimeMillisUnsafe() - storedAt >= idleCursorMillis
  const seconds = () => Math.floor(clock.currentTimeMillisUnsafe() / 1000)

  const write = (fence: Fence, writes: ReadonlyArray<Write>) =>
    commit.append({ merchantId: systemMerchant, environment, cause: noCause, writes, events: [], fence })

  /** Writes rows and then the cursor `next`, in as many commits as needed, the cursor in the last. */
  const store = Effect.fnUntraced(function*(
    fence: Fence,
    writes: ReadonlyArray<Write>,
    next: ReadonlyArray<RingPoint>,
    until = seenUntil
  ) {
    for (let done = 0; writes.length - done > rowsPerCommit; done += rowsPerCommit) {
      yield* write(fence, writes.slice(done, done + rowsPerCommit))
    }
    const rest = writes.slice(Math.max(0, Math.ceil(writes.length / rowsPerCommit) - 1) * rowsPerCommit)
    const storing = clock.currentTimeMillisUnsafe()
    const cursor: Cursor = {
      recent: next,
      finalized,
      answeredAt: Math.floor(answeredAt / 1000),
      condition,
      storedAt: Math.floor(storing / 1000),
      seenUntil: until,
      caughtUpToken,
      searched,
      searchedAlone,
      version: version + 1
    }
    yield* write(fence, [...rest, cursorWrite(network, environment, cursor)])
    version += 1
    storedAt = storing
    ring = next
    seenUntil = until
  })

  const idOf = ({ index, txHash }: ObservedTransfer) => transferId(network, environment, txHash, index)
  /** What the journal may have of these transfers, by id. */
  const entriesOf = (transfers: ReadonlyArray<ObservedTransfer>) =>
    Effect.map(
      rows.transfers(transfers.flatMap((each) => entryIds(idOf(each), each.matchKey))),
      (found) => new Map(found.map((entry) => [entry.id, entry]))
    )
  const isListed = ({ tokenAddress }: Pick<ObservedTransfer, "tokenAddress">) =>
    tokenAddress === null || catalog.find(network, environment, tokenAddress) !== undefined

  /** Entries that seeing these transfers at `point` makes or changes. */
  const changedBy = Effect.fnUntraced(function*(transfers: ReadonlyArray<ObservedTransfer>, point: RingPoint) {
    const changed: Array<JournalEntry> = []
    for (let from = 0; from < transfers.length; from += rowsPerCommit) {
      const part = transfers.slice(from, from + rowsPerCommit)
      const keys = [...new Set(part.map(({ matchKey }) => matchKey))]
      const receivers = yield* Receivers.find({ rows, addresses }, { network, environment, point }, keys)
      const known = yield* entriesOf(part)
      for (const transfer of part) {
        const receiver = receivers.get(transfer.matchKey)
        if (receiver === undefined) continue
        const unlisted = !isListed(transfer)
        const { entry: before, id } = claimOf(known, idOf(transfer), transfer.matchKey)
        const isWrongReport = before?.confirmations === 0 && before.invoiceId !== null && receiver.invoiceId === null
        if (isWrongReport && before.status !== "reverted") {
          yield* Effect.logError("a reported transfer is older than its target, so it pays another invoice", { id })
          changed.push(reverted(before))
        }
        const place = {
          network,
          environment,
          point,
          observedAt: seconds(),
          confirmations: 1,
          unlisted,
          id: isWrongReport ? idBeside(id, transfer.matchKey) : id
        }
        const entry = sight(isWrongReport ? undefined : before, transfer, receiver, place)
        if (entry !== undefined) changed.push(entry)
      }
    }
    const unmatched = changed.filter(({ invoiceId, version }) => invoiceId === null && version === 1)
    if (unmatched.length > 0) {
      yield* Effect.logWarning(
        "money on addresses that no invoice had when it was sent: if a backup was restored, declare it with chains.restored",
        { network, transfers: unmatched.length, first: unmatched[0]!.id }
      )
    }
    return changed
  })

  /**
   * Entries that seeing a block's transfers at `point` makes or changes: those of tokens in the catalogue first, and of
   * others no more than the limits of {@link screen} and {@link admit}, beside `wanted` (keys of transfers). What is
   * left out is counted and logged.
   */
  const sightings = Effect.fnUntraced(function*(
    transfers: ReadonlyArray<ObservedTransfer>,
    point: RingPoint,
    wanted: ReadonlyArray<string> = []
  ) {
    const { dropped, listed, unlisted } = screen(transfers, (each) => isListed(each) || wanted.includes(transferKey(each)))
    const changed = yield* changedBy(listed, point)
    if (unlisted.length === 0) return changed
    const keys = [...new Set(unlisted.map(({ matchKey }) => matchKey))]
    const admitted = admit(unlisted, yield* rows.unlisted(network, environment, keys), transferKey)
    const left = dropped + unlisted.length - admitted.length
    if (left > 0) {
      yield* Metric.update(Metric.withAttributes(unrecorded, attributes), left)
      yield* Effect.logWarning("transfers of tokens that are not in the catalogue are not recorded: too many of them", {
        network,
        environment,
        height: point.height,
        recorded: admitted.length,
        unrecorded: left
      })
    }
    return [...changed, ...yield* changedBy(admitted, point)]
  })

  /**
   * {@link sightings} of a block that was passed before, without the native transfers whose amounts were credited by
   * comparing balances since; those are answered beside them.
   */
  const sightingsSince = Effect.fnUntraced(function*(
    transfers: ReadonlyArray<ObservedTransfer>,
    point: RingPoint,
    wanted: ReadonlyArray<string> = []
  ) {
    const native = transfers.filter(({ tokenAddress }) => tokenAddress === null)
    const seen = new Set([...(yield* entriesOf(native)).values()]
      .filter(({ confirmations, status }) => confirmations > 0 && status !== "reverted").map(transferKey))
    const late = native.filter((transfer) => !seen.has(transferKey(transfer)))
    const keys = [...new Set(late.map(({ matchKey }) => matchKey))]
    const credited = yield* rows.creditedByBalance(network, environment, point.height, keys)
    const covered = new Set(Balances.alreadyCredited(late, credited).map(transferKey))
    if (covered.size > 0) {
      yield* Effect.logInfo("transfers found late were credited before, by comparing balances", { transfers: [...covered] })
    }
    const changed = yield* sightings(transfers.filter((transfer) => !covered.has(transferKey(transfer))), point, wanted)
    return { changed, covered }
  })

  const forward = Effect.fnUntraced(function*(fence: Fence, event: Extract<ChainEvent, { _tag: "Forward" }>) {
    const point: RingPoint = { ...event.point, time: event.time }
    const next = pushPoint(ring, point)
    const until = isReanchoring ? null : seenByBlock(seenUntil, point)
    const changed = event.transfers.length === 0 ? [] : yield* sightings(event.transfers, point)
    if (changed.length > 0 || ring.length === 0 || isStoreDue()) {
      yield* store(fence, changed.map((entry) => transferWrite(entry)), next, until)
    } else {
      ring = next
      seenUntil = until
    }
    if (changed.length > 0) {
      mayWait = true
      yield* wakeHandler
      yield* Metric.update(Metric.withAttributes(headLag, attributes), Math.max(0, seconds() - event.time))
    }
    if (!event.behind) yield* check(fence)
  })

  const revert = Effect.fnUntraced(function*(fence: Fence, entries: ReadonlyArray<JournalEntry>) {
    yield* write(fence, entries.map((entry) => transferWrite(reverted(entry))))
    yield* wakeHandler
  })

  /** Keeps final transfers that have left the chain, and says so: an operator decides. */
  const doubt = Effect.fnUntraced(function*(fence: Fence, entries: ReadonlyArray<JournalEntry>) {
    const doubted = entries.filter((entry) => entry.doubted !== true)
    for (let from = 0; from < doubted.length; from += rowsPerCommit) {
      const part = doubted.slice(from, from + rowsPerCommit)
      yield* write(fence, part.map((entry) => transferWrite({ ...entry, doubted: true, version: entry.version + 1 })))
    }
    for (const entry of entries) {
      yield* Metric.update(Metric.withAttributes(alerts, { ...attributes, kind: "reorg_below_final" }), 1)
      yield* Effect.logError("a final transfer left the chain: an operator must decide", { id: entry.id })
    }
  })

  /** Balances compared above `height` are compared anew from there, in as many commits as needed. */
  const undoBalances = Effect.fnUntraced(function*(fence: Fence, height: bigint) {
    while (true) {
      const bases = yield* rows.balancesAbove(network, environment, height, rowsPerCommit)
      if (bases.length === 0) return
      yield* write(fence, bases.map((base) => balanceWrite(Balances.undo(base, height))))
    }
  })

  const rollback = Effect.fnUntraced(function*(fence: Fence, to: ChainPoint) {
    generation += 1
    if (searched !== null && searched > to.height) moveSearch(to.height)
    const final = ring.length === 0 ? 0n : finalHeight(network, environment, heights())
    yield* Metric.update(Metric.withAttributes(reorgs, attributes), 1)
    yield* Effect.logWarning("chain reorganised", { network, from: ring[0]?.height, to: to.height })
    const kept: Array<JournalEntry> = []
    while (true) {
      const found = yield* rows.above(network, environment, to.height, rowsPerCommit + kept.length)
      const undone = found.filter((entry) => mayRevert(entry, final))
      kept.splice(0, kept.length, ...found.filter((entry) => !mayRevert(entry, final)))
      if (undone.length === 0) break
      yield* revert(fence, undone)
    }
    yield* doubt(fence, kept)
    yield* undoBalances(fence, to.height)
    const left = dropAbove(ring, to.height)
    yield* store(fence, [], left, left.length === 0 || isReanchoring ? null : seenByBlock(null, left[0]!))
  })

  /** Confirms what is deep enough, and has the blocks read of what only a report told of. */
  const check = Effect.fnUntraced(function*(fence: Fence) {
    if (ring.length === 0 || !mayWait) return
    mayWait = yield* rows.anySeen(network, environment)
    if (!mayWait) return
    while (driver.corroborate === null) {
      const found = yield* rows.deepEnough(network, environment, heights(), rowsPerCommit)
      if (found.length === 0) break
      yield* write(fence, found.map((entry) => transferWrite(confirmed(entry, heights().head))))
      yield* wakeHandler
    }
    yield* Queue.offer(verifyWakes, undefined)
    yield* Queue.offer(lookWakes, undefined)
  })

  /** Writes what another look at a block came to, of entries that are still as they were then. */
  const applyVerified = Effect.fnUntraced(function*(fence: Fence, item: Verified) {
    if (item.generation !== generation || ring.length === 0) return
    if (item.searched !== undefined) moveSearch(item.searched)
    if (item.searchedAlone !== undefined) searchedAlone = item.searchedAlone
    const ids = [...item.confirm, ...item.revert]
    const found = (ids.length === 0 ? [] : yield* rows.transfers(ids))
      .filter((entry) => entry.status === "seen" && entry.blockHash === item.point.hash)
    const added = item.missing.length === 0 ? [] : (yield* sightingsSince(item.missing, item.point)).changed
    for (const { height, id } of added) {
      yield* Metric.update(Metric.withAttributes(alerts, { ...attributes, kind: "transfer_left_out" }), 1)
      yield* Effect.logWarning("an endpoint left a transfer out at first", { network, id, height })
    }
    const changed = [
      ...found.map((entry) => item.revert.includes(entry.id) ? reverted(entry) : confirmed(entry, heights().head)),
      ...added
    ]
    for (let from = 0; from < changed.length; from += rowsPerCommit) {
      yield* write(fence, changed.slice(from, from + rowsPerCommit).map((entry) => transferWrite(entry)))
    }
    if (changed.length > 0) {
      mayWait = true
      yield* wakeHandler
    }
  })

  /** Ends reports whose looks are over, unless they were found meanwhile. */
  const endReports = Effect.fnUntraced(function*(fence: Fence, ids: ReadonlyArray<string>, reason: string) {
    const found = ids.length === 0 ? [] : yield* rows.transfers(ids)
    const over = found.filter((entry) => entry.status === "seen" && entry.confirmations === 0)
    if (over.length === 0) return
    yield* write(fence, over.map((entry) => transferWrite(reverted(entry))))
    yield* wakeHandler
    for (const { height, id } of over) {
      yield* Metric.update(Metric.withAttributes(alerts, { ...attributes, kind: "report_ended" }), 1)
      yield* Effect.logError(`a reported transfer is given up: ${reason}. Report it again with the right block`, {
        id,
        height
      })
    }
  })

  /** A reported transfer counts once the driver has seen it itself, and ends when it is not there. */
  const receiveReported = Effect.fnUntraced(function*(fence: Fence, reading: ReportedBlock) {
    const { block, entries } = reading
    const ids = entries.map(({ id }) => id)
    if (reading.generation !== generation) return
    if (Result.isFailure(block)) {
      const next = stepLooks(looks, { _tag: "unread", ids }, clock.currentTimeMillisUnsafe(), environment)
      yield* Effect.logWarning("the block of a reported transfer could not be read", { ids }, block.failure)
      yield* endReports(fence, next.ended, "no node gave its block for 24 h")
      looks = next.looks
      return
    }
    const { point, time, transfers } = block.success
    const inBlock = new Set(transfers.map(transferKey))
    const { changed, covered } = yield* sightingsSince(transfers, { ...point, time }, entries.map(transferKey))
    const isCredited = entries.filter((entry) => covered.has(transferKey(entry))).map(({ id }) => id)
    yield* endReports(fence, isCredited, "its amount was credited before, by comparing balances")
    if (changed.length > 0) {
      yield* write(fence, changed.map((entry) => transferWrite(entry)))
      yield* wakeHandler
      yield* Queue.offer(wakes, { _tag: "Check" })
    }
    const now = clock.currentTimeMillisUnsafe()
    const isFound = (entry: JournalEntry) => inBlock.has(transferKey(entry))
    const there = entries.filter(isFound).map(({ id }) => id)
    const missing = entries.filter((entry) => !isFound(entry)).map(({ id }) => id)
    const found = stepLooks(looks, { _tag: "found", ids: there }, now, environment)
    const next = stepLooks(found.looks, { _tag: "missed", ids: missing }, now, environment)
    yield* endReports(fence, next.ended, "it is not in its block")
    looks = next.looks
  })

  const credit = Effect.fnUntraced(function*(fence: Fence, reading: Balances.Reading) {
    if (reading.generation !== generation) return
    const decision = yield* Balances.settle(rows, reading, ring, seconds())
    for (const alert of decision.alerts) {
      yield* Metric.update(Metric.withAttributes(alerts, { ...attributes, kind: "balance" }), 1)
      yield* Effect.logError(alert.message, { network, address: alert.address })
    }
    if (decision.writes.length === 0) return
    yield* write(fence, decision.writes)
    if (decision.credits > 0) {
      mayWait = true
      yield* wakeHandler
    }
  })

  /** Credits what the blocks of a repair show beside the journal, and takes back what is not where it was. */
  const repairTurn = Effect.fnUntraced(function*(fence: Fence, turn: RepairTurn) {
    if (turn.generation !== generation) return
    const next = turn.next(0)
    // Another declaration may have taken its place.
    const stored = (yield* rows.repairs(network, environment)).find(({ id }) => id === next.id)
    if (stored !== undefined && stored.version !== next.version - 1) return
    const before = next.finalBefore ?? finalHeight(network, environment, heights())
    const current = turn.astray.length === 0 ? [] : yield* rows.transfers(turn.astray.map(({ id }) => id))
    const versions = new Map(turn.astray.map(({ id, version }) => [id, version]))
    const hashes = new Map(ring.map(({ hash, height }) => [height, hash]))
    const astray = current.filter((entry) =>
      versions.get(entry.id) === entry.version && (entry.kind === "internal" || hashes.get(entry.height) !== entry.blockHash)
    )
    const gone = astray.filter((entry) => mayRevert(entry, before))
    if (gone.length > 0) yield* revert(fence, gone)
    yield* doubt(fence, astray.filter((entry) => !mayRevert(entry, before)))
    let changes = 0
    for (const { point, time, transfers } of turn.blocks) {
      if (transfers.length === 0) continue
      const { changed } = yield* sightingsSince(transfers, { ...point, time })
      // Before the next block is looked at: its limits count what is written.
      for (let from = 0; from < changed.length; from += rowsPerCommit) {
        yield* write(fence, changed.slice(from, from + rowsPerCommit).map((entry) => transferWrite(entry)))
      }
      changes += changed.length
    }
    const after = turn.next(changes + astray.length)
    yield* write(fence, [repairWrite(after)])
    if (after.kind === "reanchor") isReanchoring = leavesGap(after)
    if (changes > 0) {
      mayWait = true
      yield* wakeHandler
      yield* Queue.offer(wakes, { _tag: "Check" })
    }
    if (!isOpen(after)) {
      const { credited, from, kind, reason, status, to } = after
      yield* Effect.logInfo("a repair has ended", { network, environment, kind, from, to, credited, status, reason })
    }
  })

  /** Stored at once, so that every instance knows what is offered. */
  const changeCondition = Effect.fnUntraced(function*(fence: Fence, next: Cursor["condition"]) {
    if (next === condition) return
    yield* Effect.logWarning("the condition of a network's nodes changed", { network, from: condition, to: next })
    condition = next
    yield* store(fence, [], ring)
  })

  /** The chain is read up to its end: other instances learn it from the cursor. */
  const reachEnd = Effect.fnUntraced(function*(fence: Fence) {
    caughtUp = true
    if (caughtUpToken === fence.token || ring.length === 0) return
    caughtUpToken = fence.token
    yield* store(fence, [], ring)
  })

  /** A look that brought a block without another behind it, or none at all, has reached the chain's end. */
  const noteEnd = (fence: Fence, item: Item) => {
    if (item._tag === "Forward" || item._tag === "Rollback") isReading = true
    const isEnd = item._tag === "Forward" ? !item.behind : item._tag === "Looked" && !isReading
    if (item._tag === "Looked") isReading = false
    if (isEnd) isCaughtUp = true
    return isEnd ? reachEnd(fence) : Effect.void
  }

  const process = (fence: Fence, item: Item) => {
    switch (item._tag) {
      case "Forward":
        return forward(fence, item)
      case "Rollback":
        return rollback(fence, item.to)
      case "Looked":
        finalized = item.finalized
        if (item.since !== null && ring.length > 0 && !isReanchoring) {
          seenUntil = seenByLook(environment, seenUntil, item.since)
        }
        if (condition === "no_common_block") return changeCondition(fence, "ok")
        return isStoreDue() ? store(fence, [], ring) : Effect.void
      case "Condition":
        return changeCondition(fence, item.condition)
      case "Check":
        mayWait = true
        return check(fence)
      case "Reading":
        return credit(fence, item)
      case "ReportedBlock":
        return Effect.andThen(receiveReported(fence, item), Deferred.succeed(item.done, undefined))
      case "Verified":
        return applyVerified(fence, item)
      case "RepairTurn":
        return Effect.andThen(repairTurn(fence, item), Deferred.succeed(item.done, undefined))
    }
  }

  /** Reads balances beside the follower, so that a slow node holds up no block. */
  const readBalances = Effect.gen(function*() {
    if (driver.balanceAt === null || ring.length === 0) return
    const at = { height: finalHeight(network, environment, heights()), generation }
    const reading = yield* Balances.read(rows, driver, at, seconds())
    if (reading !== null) yield* Queue.offer(readings, reading)
  }).pipe(
    Effect.catchTag("DriverError", (error) => Effect.logWarning("balances could not be read", error)),
    readingTurn.withPermits(1)
  )

  /** Reads the blocks of reported entries, however old, beside the follower. */
  const readReported = Effect.gen(function*() {
    yield* Queue.take(lookWakes)
    if (ring.length === 0) return
    const paused = pausedIds(looks, clock.currentTimeMillisUnsafe())
    const due = yield* rows.unseen(network, environment, ring[0]!.height, paused, rowsPerCommit)
    for (const [height, entries] of Map.groupBy(due, (entry) => entry.height)) {
      const before = generation
      const anchor = anchorOf(ring, height)
      if (anchor === undefined) return
      const block = yield* Effect.result(driver.readBlock(height, anchor, targets.watch(family, environment)))
      const done = yield* Deferred.make<void>()
      yield* Queue.offer(readings, { _tag: "ReportedBlock", generation: before, entries, block, done })
      yield* Deferred.await(done)
    }
  })

  /** Reads blocks again beside the follower, as soon as entries are deep enough, and searches new blocks. */
  const verifying = Effect.gen(function*() {
    if (driver.corroborate === null) return
    const place = (): Place | null => ring.length === 0 ? null : {
      generation, ring, heights: heights(), searched, searchedAlone
    }
    const { search, verify } = yield* makeVerifying({
      driver,
      rows,
      watch: targets.watch(family, environment),
      isListed,
      place,
      apply: Effect.fnUntraced(function*(result) {
        const done = yield* Deferred.make<void>()
        yield* Queue.offer(verified, { _tag: "Verified", ...result, done })
        yield* Deferred.await(done)
      })
    })
    const looked = <A, E>(work: Effect.Effect<A, E>) =>
      Effect.catchCause(work, (cause) => Effect.logWarning("blocks could not be verified", { network }, cause))
    yield* Effect.forkScoped(Effect.repeat(looked(search), Schedule.spaced(verifyMillis)))
    while (true) {
      yield* Effect.timeoutOption(Queue.take(verifyWakes), verifyMillis)
      yield* looked(verify)
    }
  })

  const watch = targets.watch(family, environment)

  const take = Effect.fnUntraced(function*(turn: Omit<RepairTurn, "_tag" | "done">) {
    const done = yield* Deferred.make<void>()
    yield* Queue.offer(readings, { _tag: "RepairTurn", ...turn, done })
    yield* Deferred.await(done)
  })

  const readAgain = Effect.fnUntraced(function*(height: bigint) {
    const anchor = anchorOf(ring, height)
    return anchor === undefined ? null : yield* driver.readBlock(height, anchor, watch)
  })

  const readUnlessForgotten = (height: bigint) =>
    Effect.catchIf(
      readAgain(height),
      (error) => error.condition === "block_forgotten",
      () => Effect.succeed("forgotten" as const)
    )

  /** Goes on above blocks that every endpoint has said for long enough it does not have any more. */
  const skipForgotten = Effect.fnUntraced(function*(repair: Repair, height: bigint) {
    const now = clock.currentTimeMillisUnsafe()
    forgotten = stillForgotten(forgotten, height, now)
    if (!isBelieved(forgotten, environment, now)) {
      return yield* new DriverError({ network, reason: `no endpoint has block ${height} any more` })
    }
    forgotten = null
    const before = generation
    const next = yield* lowestSince(lower(repair.to!, ring[0]!.height) + 1n, (each) =>
      each <= height ? Effect.succeed(true) : Effect.map(readUnlessForgotten(each), (block) => block === "forgotten"))
    if (before !== generation) return false
    const skip = skipped(repair, next)
    yield* Effect.logError("a repair goes on without blocks that no endpoint has any more", {
      network, environment, kind: repair.kind, from: height, to: next - 1n
    })
    const after = repair.kind !== "reanchor" && isRead(skip) ? completed(skip) : skip
    yield* take({ generation: before, blocks: [], astray: [], next: () => after })
    return true
  })

  /** Entries, page by page, whose block is not on the chain: the ring tells it of the newest, a read of the others. */
  const takeBackAstray = Effect.fnUntraced(function*(repair: Repair) {
    let after = { height: -1n, id: "" }
    while (true) {
      const before = generation
      const page = yield* rows.countedFrom(network, environment, repair.from!, after, astrayPage)
      const last = page.at(-1)
      if (last === undefined) return
      const hashes = new Map<bigint, string | undefined>(ring.map(({ hash, height }) => [height, hash]))
      const unreadable = new Set<bigint>()
      for (const { height, kind } of page) {
        if (kind === "internal" || hashes.has(height) || unreadable.has(height)) continue
        const block = yield* readUnlessForgotten(height)
        if (block === "forgotten") unreadable.add(height)
        else hashes.set(height, block?.point.hash)
      }
      const astray = page.filter((entry) =>
        entry.doubted !== true && !unreadable.has(entry.height) && isAstray(entry, hashes.get(entry.height)))
      // A reorganisation meanwhile: the page is read again.
      if (before !== generation) continue
      if (astray.length > 0) {
        const version = repair.version + 1
        yield* take({
          generation: before,
          blocks: [],
          astray,
          next: (count) => ({ ...repair, credited: repair.credited + count, version })
        })
        return true
      }
      after = { height: last.height, id: last.id }
    }
  })

  /** Whether a block is older than a restore looks for, or nobody has it any more. */
  const isBefore = Effect.fnUntraced(function*(since: number, height: bigint) {
    const block = yield* readAgain(height)
    return block !== null && block.time < since
  })

  /** Has every wallet's addresses derived, then finds the first block to read. */
  const beginRestore = Effect.fnUntraced(function*(repair: Repair, since: number) {
    const known = new Set(addresses.all().map(({ wallet }) => wallet.fingerprint))
    const isComplete = (yield* rows.restoredWallets(repair.requestedAt - watchedAfterRestoreSeconds))
      .every((fingerprint) => known.has(fingerprint))
    if (!isComplete && seconds() - repair.requestedAt < walletWaitSeconds) return false
    if (!(yield* addresses.fillAll)) return false
    // Whatever is read from now on is matched with them.
    const before = generation
    const head = ring[0]!.height
    const from = yield* lowestSince(head, (height) =>
      Effect.catchIf(
        isBefore(since, height),
        (error) => error.condition === "block_forgotten",
        () => Effect.succeed(true)
      ))
    // Test chains begin anew and have no older blocks.
    const isCut = environment === "mainnet" && from > 0n && (yield* readUnlessForgotten(from - 1n)) === "forgotten"
    if (before !== generation) return false
    const reason = isCut ? `blocks below ${from}` : null
    yield* take({ generation: before, blocks: [], astray: [], next: () => ({ ...restoreFrom(repair, from, head), reason }) })
    return true
  })

  /** One step of the repair that is next; false: there is nothing to do now. */
  const repairStep = Effect.gen(function*() {
    const repair = nextRepair(yield* rows.repairs(network, environment))
    if (repair === undefined || ring.length === 0) return false
    if (repair.from === null && repair.since !== null) return yield* beginRestore(repair, repair.since)
    const before = generation
    const ending = { ...repair, version: repair.version + 1 }
    if (repair.from === null) {
      if (!isCaughtUp) return false
      if (repair.next !== null) {
        const { finalBefore, next } = repair
        const resumed = reanchored(repair, ring[0]!.height, next, finalBefore!)
        yield* take({ generation: before, blocks: [], astray: [], next: () => resumed })
        return true
      }
      const reason = "the blocks that were followed are on the chain again: there was nothing to do"
      yield* take({ generation: before, blocks: [], astray: [], next: () => ({ ...ending, status: "failed", reason }) })
      return true
    }
    if (isRead(repair)) {
      if (!isCaughtUp) return false
      if ((yield* takeBackAstray(repair)) === true) return true
      yield* take({ generation: before, blocks: [], astray: [], next: () => completed(ending) })
      return true
    }
    const wanted = nextHeights(repair, ring[0]!.height)
    if (wanted.length === 0) return false
    const read = yield* Effect.forEach(wanted, (height) => Effect.result(readAgain(height)), { concurrency: repairBatch })
    const [first] = read
    if (Result.isFailure(first!)) {
      if (first.failure.condition === "block_forgotten") return yield* skipForgotten(repair, wanted[0]!)
      return yield* first.failure
    }
    forgotten = null
    // Up to the first that could not be read.
    const end = read.findIndex(Result.isFailure)
    const got = read.slice(0, end < 0 ? read.length : end).flatMap((each) => Result.isSuccess(each) ? [each.success] : [])
    const blocks = got.filter((block) => block !== null)
    if (blocks.length < got.length || before !== generation) return false
    yield* take({
      generation: before,
      blocks,
      astray: [],
      next: (count) => advanced(repair, wanted[got.length - 1]!, count)
    })
    return true
  })

  /** Works on repairs beside the follower, through failures of the nodes. */
  const keepRepairing = repairStep.pipe(
    Effect.tapError((error) => Effect.logWarning("a repair waits for a node", { network, environment }, error)),
    Effect.retry(repairPause),
    Effect.flatMap((isBusy) => isBusy ? Effect.void : Effect.sleep(tickMillis)),
    Effect.forever
  )

  const hashBelow = (height: bigint, head: ChainPoint) =>
    driver.readBlock(height, head, watch).pipe(
      Effect.map(({ point }) => point.hash),
      Effect.catchIf((error) => error.condition === "block_forgotten", () => Effect.succeed("forgotten" as const))
    )

  /** Why following cannot go on from a block, if every endpoint has said for long enough that it does not have it any more. */
  const anchorFault = (chosen: bigint, final: bigint): string | null => {
    const now = clock.currentTimeMillisUnsafe()
    forgotten = stillForgotten(forgotten, chosen, now)
    return isBelieved(forgotten, environment, now)
      ? `no endpoint has block ${chosen} any more: name a later final block as \`height\`, at most ${final}`
      : null
  }

  /** The lowest block that may be another one now: down the entries of the journal, until one is where it was. */
  const searchInDoubt = Effect.fnUntraced(function*(head: ChainPoint, oldest: bigint, finalBefore: bigint) {
    let lowestAstray: bigint | null = null
    for (let below = oldest;;) {
      const page = yield* rows.countedBelow(network, environment, below, astrayPage)
      for (const [height, entries] of Map.groupBy(page, (entry) => entry.height)) {
        const isThere = height <= head.height
        const hash = isThere ? yield* hashBelow(height, head) : undefined
        // Nor is anything below it there any more: what can be read is found out block by block.
        if (hash === "forgotten") return lowestInDoubt(environment, oldest, finalBefore, lowestAstray, null)
        if (entries[0]!.blockHash === hash) return lowestInDoubt(environment, oldest, finalBefore, lowestAstray, height)
        lowestAstray = height
        below = height
      }
      if (page.length < astrayPage) return lowestInDoubt(environment, oldest, finalBefore, lowestAstray, null)
    }
  })

  /** Goes on from a block that the operator chose, or the newest final one below everything that was followed. */
  const reanchor = Effect.fnUntraced(function*(fence: Fence, repair: Repair) {
    const found = yield* driver.follow([], watch).pipe(
      Stream.takeUntil((event) => event._tag === "Finality"),
      Stream.runCollect,
      Effect.timeoutOrElse({
        duration: anchorMillis,
        orElse: () => Effect.fail(new DriverError({ network, reason: "the newest block was not told" }))
      })
    )
    const head = found.find((event) => event._tag === "Forward")
    if (head === undefined) return yield* new DriverError({ network, reason: "the newest block was not told" })
    const mark = found.find((event) => event._tag === "Finality")?.finalized ?? null
    const final = finalHeight(network, environment, { head: head.point.height, finalized: mark })
    const oldest = ring[ring.length - 1]!.height
    const chosen = anchorHeight(repair.to, final, oldest)
    const fail = (reason: string) =>
      Effect.andThen(
        write(fence, [repairWrite({ ...repair, status: "failed", reason, version: repair.version + 1 })]),
        Effect.logError(`chains.reanchor failed: ${reason}`, { network, environment })
      )
    if (typeof chosen === "string") return yield* fail(chosen)
    const anchored = yield* Effect.result(driver.readBlock(chosen, head.point, watch))
    if (Result.isFailure(anchored)) {
      const fault = anchored.failure.condition === "block_forgotten" ? anchorFault(chosen, final) : null
      return yield* fault === null ? anchored.failure : fail(fault)
    }
    forgotten = null
    const { point, time } = anchored.success
    const finalBefore = higher(finalHeight(network, environment, heights()), repair.finalBefore)
    const inDoubt = lower(yield* searchInDoubt(head.point, oldest, finalBefore), repair.next)
    const lowest = chosen < inDoubt ? chosen : inDoubt
    yield* undoBalances(fence, lowest > 0n ? lowest - 1n : 0n)
    generation += 1
    finalized = mark
    condition = "ok"
    seenUntil = null
    if (searched !== null && searched > chosen) moveSearch(chosen)
    yield* store(fence, [repairWrite(reanchored(repair, chosen, inDoubt, finalBefore))], [{ ...point, time }])
    yield* Effect.logWarning("following goes on from another block", { network, environment, from: chosen, oldest })
  })

  /** Nothing that was followed is on the chain: says so, and waits for the chain or the operator. */
  const strand = Effect.fnUntraced(function*(fence: Fence) {
    yield* changeCondition(fence, "no_common_block")
    const wish = (yield* rows.repairs(network, environment)).find((repair) =>
      repair.kind === "reanchor" && isOpen(repair) && repair.from === null)
    if (wish !== undefined) yield* reanchor(fence, wish)
  })

  const run = Effect.fnUntraced(function*(fence: Fence) {
    const stored = yield* rows.cursor(network, environment)
    // Where nothing was ever read nothing can have been paid; an older cursor than before is that of a restored backup.
    if (stored === null) caughtUp = true
    else if (stored.version < version) caughtUp = false
    caughtUpToken = null
    isReading = false
    ring = stored?.recent ?? []
    version = stored?.version ?? 0
    finalized = stored?.finalized ?? null
    condition = stored?.condition ?? "ok"
    seenUntil = stored?.seenUntil ?? null
    moveSearch(stored?.searched ?? null)
    searchedAlone = stored?.searchedAlone ?? null
    mayWait = true
    following = true
    isCaughtUp = false
    isReanchoring = (yield* rows.repairs(network, environment)).some(leavesGap)
    if (!hasAnswered) startedAt = performance.now()
    // A driver looks again when its last event was taken, so the next look begins after this one's end.
    let since: number | null = null
    const chain: Stream.Stream<Item, unknown> = driver.follow(ring, watch).pipe(
      Stream.map((event): Item => {
        answeredAt = clock.currentTimeMillisUnsafe()
        hasAnswered = true
        failures = 0
        if (event._tag !== "Finality") return event
        const looked: Looked = { _tag: "Looked", finalized: event.finalized, since }
        since = answeredAt
        return looked
      })
    )
    const ticks = Stream.map(Stream.tick(tickMillis), (): Item => ({ _tag: "Check" }))
    const items = Stream.mergeAll(
      [chain, ticks, Stream.fromQueue(wakes), Stream.fromQueue(readings), Stream.fromQueue(verified)],
      { concurrency: "unbounded", bufferSize: 16 }
    )
    yield* Effect.forkScoped(Effect.forever(readReported))
    yield* Effect.forkScoped(keepRepairing)
    yield* Effect.forkScoped(Effect.repeat(readBalances, Schedule.spaced(Balances.passMillis(environment))))
    yield* Effect.forkScoped(verifying)
    yield* Stream.runForEach(items, (item) =>
      process(fence, item).pipe(
        Effect.andThen(noteEnd(fence, item)),
        Effect.retry({
          while: (error) => error instanceof Conflict,
          schedule: Schedule.max([Schedule.recurs(conflictRetries), Schedule.spaced(5)])
        }),
        Effect.tap(() => item._tag === "Verified" ? Deferred.succeed(item.done, undefined) : Effect.void)
      ))
  }, Effect.scoped)

  /** For ever: runs, and after a failure pauses and runs again from the stored cursor. */
  const keepRunning = (fence: Fence): Effect.Effect<never> =>
    Effect.gen(function*() {
      while (true) {
        const exit = yield* Effect.exit(run(fence))
        failures += 1
        if (Exit.isFailure(exit)) {
          yield* Effect.logWarning("following failed", { network, environment }, exit.cause)
          if (isStranded(exit.cause)) {
            yield* Effect.catchCause(strand(fence), (cause) =>
              Effect.logWarning("following could not go on from another block", { network, environment }, cause))
          }
        }
        yield* Effect.sleep(Math.min(longestPauseMillis, firstPauseMillis * 2 ** Math.min(failures, 10)))
      }
    }).pipe(Effect.ensuring(Effect.sync(() => void (following = false))))

  /** What the follower on another instance has stored. */
  const peek = Effect.gen(function*() {
    yield* Metric.update(Metric.withAttributes(health, attributes), status().healthy ? 1 : 0)
    if (!isSearchBehind()) searchMovedAtMillis = performance.now()
    if (following) return
    const stored = yield* rows.cursor(network, environment)
    if (stored === null || following) return
    ring = stored.recent
    finalized = stored.finalized
    seenUntil = stored.seenUntil
    moveSearch(stored.searched)
    condition = stored.condition
    storedAt = stored.storedAt * 1000
    hasAnswered = hasAnswered || (version !== 0 && stored.version !== version)
    version = stored.version
    answeredAt = Math.max(answeredAt, stored.answeredAt * 1000)
    if (caughtUp || stored.caughtUpToken === null) return
    // A lease of a restored backup ends by itself: only one that is renewed before our eyes has a holder.
    const end = yield* rows.leaseEnd(leaseName, stored.caughtUpToken)
    caughtUp = end !== null && leaseEnd !== null && end !== leaseEnd
    leaseEnd = end
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("cursor could not be read", { network }, cause)))

  const status = (): NetworkStatus => {
    const isSilent = clock.currentTimeMillisUnsafe() - answeredAt >= silenceMillis
    const current = isSilent && condition !== "no_common_block" ? "silent" : condition
    return {
      network,
      environment,
      healthy: current === "ok",
      condition: current,
      head: ring[0]?.height ?? null,
      headTime: ring[0]?.time ?? null,
      cursorTime: storedAt === 0 ? null : Math.floor(storedAt / 1000)
    }
  }

  yield* Effect.forkScoped(leases.hold(leaseName, leaseMillis, keepRunning))
  yield* Effect.forkScoped(Effect.repeat(peek, Schedule.spaced(tickMillis)))

  const sightNow = (): NetworkSight => {
    const { condition, healthy } = status()
    const stuckSeconds = (performance.now() - searchMovedAtMillis) / 1000
    const until = driver.findTransfers === null
      ? seenUntil
      : seenBySearch(environment, seenUntil, { searched, stuckSeconds }, ring)
    return { network, seenUntil: condition === "disagreement" ? null : until, isAdvancing: healthy }
  }

  const follower: Follower = {
    driver,
    status,
    sight: sightNow,
    check: Effect.asVoid(Queue.offer(wakes, { _tag: "Check" })),
    head: () => ring[0]?.height ?? null,
    isCaughtUp: () => {
      const limit = hasAnswered ? catchUpLimitMillis : following ? firstAnswerMillis : takeOverMillis
      return caughtUp || performance.now() - startedAt >= limit
    },
    newest: () => caughtUp ? ring[0] ?? null : null
  }
  return follower
})
