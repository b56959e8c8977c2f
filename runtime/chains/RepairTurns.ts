/** Writes what a repair read. */
import { Effect } from "effect"
import type { JournalEntry } from "../Chains.ts"
import type { Fence } from "../Commit.ts"
import { canRevert } from "./Confirmations.ts"
import { apply } from "./FollowerActions.ts"
import {
  dispatch,
  type FollowerContext,
  type RepairTurn,
  requestCheck,
  stateOf,
  write,
  writeEntries
} from "./FollowerContext.ts"
import { finalHeightOf } from "./FollowerState.ts"
import { keepFinal, revertEntries } from "./Reorganisations.ts"
import { hasGap, isOpen } from "./Repairs.ts"
import { repairWrite } from "./ChainsRepo.ts"
import { observeOlderBlock } from "./TransferObserver.ts"

/** Entries of a turn that are still as the repair read them, and still orphaned by the blocks that are followed. */
const stillOrphaned = Effect.fnUntraced(function*(follower: FollowerContext, entries: ReadonlyArray<JournalEntry>) {
  const current = entries.length === 0 ? [] : yield* follower.repo.entriesById(entries.map(({ id }) => id))
  const versions = new Map(entries.map(({ id, version }) => [id, version]))
  const hashes = new Map(stateOf(follower).ring.map(({ hash, height }) => [height, hash]))
  return current.filter((entry) =>
    versions.get(entry.id) === entry.version &&
    (entry.kind === "internal" || hashes.get(entry.height) !== entry.blockHash)
  )
})

/** Credits what the blocks of a repair show beside the journal, and takes back what is not where it was. */
export const applyRepairTurn = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  turn: RepairTurn
) {
  const { environment, network, repo } = follower
  if (turn.generation !== stateOf(follower).generation) return
  const next = turn.next(0)
  // Another declaration may have taken its place.
  const stored = (yield* repo.repairs(network, environment)).find(({ id }) => id === next.id)
  if (stored !== undefined && stored.version !== next.version - 1) return
  const finalBefore = next.finalBefore ?? finalHeightOf(stateOf(follower))
  const orphanedEntries = yield* stillOrphaned(follower, turn.orphanedEntries)
  const revertible = orphanedEntries.filter((entry) => canRevert(entry, finalBefore))
  if (revertible.length > 0) yield* revertEntries(follower, fence, revertible)
  yield* keepFinal(follower, fence, orphanedEntries.filter((entry) => !canRevert(entry, finalBefore)))
  let changes = 0
  for (const { point, time, transfers } of turn.blocks) {
    if (transfers.length === 0) continue
    const { changed } = yield* observeOlderBlock(follower, transfers, { ...point, time })
    // Before the next block is looked at: its limits count what is written.
    yield* writeEntries(follower, fence, changed)
    changes += changed.length
  }
  const after = turn.next(changes + orphanedEntries.length)
  yield* write(follower, fence, [repairWrite(after)])
  if (after.kind === "reanchor") dispatch(follower, { _tag: "RepairsRead", hasGap: hasGap(after) })
  if (changes > 0) {
    yield* apply(follower, fence, { _tag: "EntriesChanged" })
    yield* requestCheck(follower)
  }
  if (!isOpen(after)) {
    const { credited, from, kind, reason, status, to } = after
    yield* Effect.logInfo("a repair has ended", { network, environment, kind, from, to, credited, status, reason })
  }
})
