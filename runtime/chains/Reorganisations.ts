/**
 * What a follower takes back when blocks leave its chain. Final transfers stay, because goods may have been handed over
 * for them: an operator decides.
 */
import { Effect } from "effect"
import type { ChainPoint, JournalEntry, TransferIdentity } from "../Chains.ts"
import type { Fence } from "../Commit.ts"
import { rewindBase as undoBalance } from "./Balances.ts"
import { canRevert, revertEntry } from "./Confirmations.ts"
import { apply } from "./FollowerActions.ts"
import {
  countReorg,
  dispatch,
  type FollowerContext,
  raiseAlert,
  rowsPerCommit,
  stateOf,
  write,
  writeEntries
} from "./FollowerContext.ts"
import { finalHeightOf } from "./FollowerState.ts"
import { balanceWrite, transferId, transferWrite } from "./ChainsRepo.ts"
import { entryIds, transferKey } from "./TransferIdentity.ts"

/** Takes entries back, in one commit. */
export const revertEntries = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  entries: ReadonlyArray<JournalEntry>
) {
  yield* write(follower, fence, entries.map((entry) => transferWrite(revertEntry(entry))))
  yield* follower.wakeHandler
})

/** Keeps final transfers that have left the chain, and says so: an operator decides. */
export const keepFinal = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  entries: ReadonlyArray<JournalEntry>
) {
  const unmarked = entries.filter((entry) => entry.reorgedAfterFinality !== true)
  yield* writeEntries(
    follower,
    fence,
    unmarked.map((entry) => ({ ...entry, reorgedAfterFinality: true, version: entry.version + 1 }))
  )
  for (const entry of entries) {
    yield* raiseAlert(follower, "reorg_below_final")
    yield* Effect.logError("a final transfer left the chain: an operator must decide", { id: entry.id })
  }
})

/** Balances compared above `height` are compared anew from there, in as many commits as needed. */
export const undoBalances = Effect.fnUntraced(function*(follower: FollowerContext, fence: Fence, height: bigint) {
  const { environment, network, repo } = follower
  while (true) {
    const bases = yield* repo.balancesAbove(network, environment, height, rowsPerCommit)
    if (bases.length === 0) return
    yield* write(follower, fence, bases.map((base) => balanceWrite(undoBalance(base, height))))
  }
})

/** The chain goes on from `to`: what was seen above it is taken back, then the cursor is. */
export const rollBack = Effect.fnUntraced(function*(follower: FollowerContext, fence: Fence, to: ChainPoint) {
  const { environment, network, repo } = follower
  dispatch(follower, { _tag: "RollbackStarted", height: to.height, monotonicMillis: follower.machineMillis() })
  const state = stateOf(follower)
  const final = finalHeightOf(state)
  yield* countReorg(follower)
  yield* Effect.logWarning("chain reorganised", { network, from: state.ring[0]?.height, to: to.height })
  let kept: ReadonlyArray<JournalEntry> = []
  while (true) {
    const found = yield* repo.entriesAbove(network, environment, to.height, rowsPerCommit + kept.length)
    kept = found.filter((entry) => !canRevert(entry, final))
    const undone = found.filter((entry) => canRevert(entry, final))
    if (undone.length === 0) break
    yield* revertEntries(follower, fence, undone)
  }
  yield* keepFinal(follower, fence, kept)
  yield* undoBalances(follower, fence, to.height)
  yield* apply(follower, fence, { _tag: "RollbackWritten", height: to.height })
})

/** Takes back single transfers that left the chain, by the rule of a rollback: what lies beside them stays. */
export const revertGone = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  transfers: ReadonlyArray<TransferIdentity>
) {
  const { environment, network, repo } = follower
  const ids = transfers.flatMap(({ index, matchKey, txHash }) =>
    entryIds(transferId(network, environment, txHash, index), matchKey)
  )
  const keys = new Set(transfers.map(transferKey))
  const found = (yield* repo.entriesById(ids)).filter((entry) =>
    entry.status !== "reverted" && keys.has(transferKey(entry))
  )
  if (found.length === 0) return
  const final = finalHeightOf(stateOf(follower))
  const undone = found.filter((entry) => canRevert(entry, final))
  yield* Effect.logWarning("transactions left the chain", { network, environment, transfers: found.length })
  for (let from = 0; from < undone.length; from += rowsPerCommit) {
    yield* revertEntries(follower, fence, undone.slice(from, from + rowsPerCommit))
  }
  yield* keepFinal(follower, fence, found.filter((entry) => !canRevert(entry, final)))
})
