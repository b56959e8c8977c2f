/**
 * Transfers that a watcher elsewhere reported: the follower reads their blocks itself, however old. A report counts
 * once the transfer was found there, and ends when it is not there.
 */
import { Deferred, Effect, Queue, Ref, Result } from "effect"
import type { BlockReading, JournalEntry } from "../Chains.ts"
import type { Fence } from "../Commit.ts"
import { transferKey } from "./TransferIdentity.ts"
import { anchorOf, revertEntry } from "./Confirmations.ts"
import {
  type FollowerContext,
  monotonicMillis,
  raiseAlert,
  type ReportedBlock,
  requestCheck,
  rowsPerCommit,
  stateOf,
  write
} from "./FollowerContext.ts"
import { headOf } from "./FollowerState.ts"
import { pausedIds, step as stepLookups } from "./ReportLookups.ts"
import { transferWrite } from "./ChainsRepo.ts"
import { observeOlderBlock } from "./TransferObserver.ts"

/**
 * Reads the blocks of reported entries that are due, or their transactions where the chain is asked for accounts, once
 * somebody asks for it, and hands them to the follower.
 */
export const readReported = Effect.fnUntraced(function*(follower: FollowerContext) {
  const { driver, environment, lookRequests, lookups, network, readings, repo, watch } = follower
  yield* Queue.take(lookRequests)
  const head = headOf(stateOf(follower))
  if (head === null) return
  const paused = pausedIds(yield* Ref.get(lookups), monotonicMillis(follower))
  const due = yield* repo.unseenReports(network, environment, head, paused, rowsPerCommit)
  const { history } = driver
  const groups = history._tag === "BlockHistory"
    ? Map.groupBy(due, (entry) => entry.height)
    : Map.groupBy(due, (entry) => entry.txHash)
  for (const entries of groups.values()) {
    const { generation, ring } = stateOf(follower)
    const [{ blockHash, blockTime, height, txHash }] = entries as [JournalEntry]
    const anchor = anchorOf(ring, height)
    if (anchor === undefined) return
    const block = yield* Effect.result(
      history._tag === "BlockHistory"
        ? history.readBlock(height, anchor, watch)
        : Effect.map(history.readTransaction(txHash, watch, height), (transfers): BlockReading => ({
          point: { height, hash: blockHash },
          time: blockTime,
          transfers
        }))
    )
    const done = yield* Deferred.make<void>()
    yield* Queue.offer(readings, { _tag: "ReportedBlock", generation, entries, block, done })
    yield* Deferred.await(done)
  }
})

/** Ends reports whose lookups are over, unless they were found meanwhile. */
const endReports = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  ids: ReadonlyArray<string>,
  reason: string
) {
  const found = ids.length === 0 ? [] : yield* follower.repo.entriesById(ids)
  const over = found.filter((entry) => entry.status === "seen" && entry.confirmations === 0)
  if (over.length === 0) return
  yield* write(follower, fence, over.map((entry) => transferWrite(revertEntry(entry))))
  yield* follower.wakeHandler
  for (const { height, id } of over) {
    yield* raiseAlert(follower, "report_ended")
    yield* Effect.logError(`a reported transfer is given up: ${reason}. Report it again with the right block`, {
      id,
      height
    })
  }
})

const onUnread = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  ids: ReadonlyArray<string>,
  fault: unknown
) {
  const before = yield* Ref.get(follower.lookups)
  const next = stepLookups(before, { _tag: "unread", ids }, monotonicMillis(follower), follower.environment)
  yield* Effect.logWarning("the block of a reported transfer could not be read", { ids }, fault)
  yield* endReports(follower, fence, next.expiredIds, "no node gave its block for 24 h")
  yield* Ref.set(follower.lookups, next.lookups)
})

/** A reported transfer counts once the driver has seen it itself, and ends when it is not there. */
export const receiveReported = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  reading: ReportedBlock
) {
  const { block, entries, generation } = reading
  if (generation !== stateOf(follower).generation) return
  if (Result.isFailure(block)) return yield* onUnread(follower, fence, entries.map(({ id }) => id), block.failure)
  const { point, time, transfers } = block.success
  const inBlock = new Set(transfers.map(transferKey))
  const wanted = entries.map(transferKey)
  const { changed, alreadyCredited } = yield* observeOlderBlock(follower, transfers, { ...point, time }, wanted)
  const creditedIds = entries.filter((entry) => alreadyCredited.has(transferKey(entry))).map(({ id }) => id)
  yield* endReports(follower, fence, creditedIds, "its amount was credited before, by comparing balances")
  if (changed.length > 0) {
    yield* write(follower, fence, changed.map((entry) => transferWrite(entry)))
    yield* follower.wakeHandler
    yield* requestCheck(follower)
  }
  const now = monotonicMillis(follower)
  const isFound = (entry: JournalEntry) => inBlock.has(transferKey(entry))
  const there = entries.filter(isFound).map(({ id }) => id)
  const missing = entries.filter((entry) => !isFound(entry)).map(({ id }) => id)
  const found = stepLookups(yield* Ref.get(follower.lookups), { _tag: "found", ids: there }, now, follower.environment)
  const next = stepLookups(found.lookups, { _tag: "missed", ids: missing }, now, follower.environment)
  yield* endReports(follower, fence, next.expiredIds, "it is not in its block")
  yield* Ref.set(follower.lookups, next.lookups)
})
