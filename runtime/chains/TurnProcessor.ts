/** One turn of a follower: a block, a rollback, or what was read beside it. Doing a turn twice changes nothing. */
import { Deferred, Effect } from "effect"
import type { ChainEvent } from "../Chains.ts"
import { type Fence, retryConflicts } from "../Commit.ts"
import * as Balances from "./Balances.ts"
import { confirmEntry, revertEntry } from "./Confirmations.ts"
import { requestMissedBlocks } from "./FirstBlock.ts"
import { apply } from "./FollowerActions.ts"
import {
  dispatch,
  type FollowerContext,
  type FollowerItem,
  nowMillis,
  nowSeconds,
  raiseAlert,
  stateOf,
  write,
  writeEntries
} from "./FollowerContext.ts"
import { heightsOf } from "./FollowerState.ts"
import { revertGone, rollBack } from "./Reorganisations.ts"
import { applyRepairTurn } from "./RepairTurns.ts"
import { receiveReported } from "./ReportedTransfers.ts"
import { type RingPoint, transferWrite } from "./ChainsRepo.ts"
import { observeBlock, observeOlderBlock } from "./TransferObserver.ts"
import type { VerificationResult } from "./VerificationContext.ts"

/** Conflicts in a row on one turn before the follower starts again from its cursor, and the pause between them. */
const conflictRetries = 10
const conflictPauseMillis = 5

const goForward = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  event: Extract<ChainEvent, { readonly _tag: "Forward" }>
) {
  const point: RingPoint = { ...event.point, time: event.time }
  const missedBlocks = yield* requestMissedBlocks(follower, point)
  const changed = event.transfers.length === 0 ? [] : yield* observeBlock(follower, event.transfers, point)
  yield* apply(
    follower,
    fence,
    {
      _tag: "BlockRead",
      point,
      isCatchingUp: event.isCatchingUp,
      seenUntil: event.seenUntil ?? null,
      changes: changed.length,
      nowMillis: nowMillis(follower)
    },
    [...missedBlocks, ...changed.map((entry) => transferWrite(entry))]
  )
})

/** Writes what another look at a block came to, of entries that are still as they were then. */
const applyVerified = Effect.fnUntraced(function*(follower: FollowerContext, fence: Fence, item: VerificationResult) {
  const { network, repo } = follower
  const state = stateOf(follower)
  const heights = heightsOf(state)
  if (item.generation !== state.generation || heights === null) return
  const { searchedHeight, singleSourceFrom } = item
  dispatch(follower, {
    _tag: "SearchMoved",
    searchedHeight,
    singleSourceFrom,
    monotonicMillis: follower.machineMillis()
  })
  const ids = [...item.confirm, ...item.revert]
  const found = (ids.length === 0 ? [] : yield* repo.entriesById(ids))
    .filter((entry) => entry.status === "seen" && entry.blockHash === item.point.hash)
  const added = item.missing.length === 0 ? [] : (yield* observeOlderBlock(follower, item.missing, item.point)).changed
  for (const { height, id } of added) {
    yield* raiseAlert(follower, "transfer_left_out")
    yield* Effect.logWarning("an endpoint left a transfer out at first", { network, id, height })
  }
  const changed = [
    ...found.map((entry) => item.revert.includes(entry.id) ? revertEntry(entry) : confirmEntry(entry, heights.head)),
    ...added
  ]
  yield* writeEntries(follower, fence, changed)
  if (changed.length > 0) yield* apply(follower, fence, { _tag: "EntriesChanged" })
})

/** Writes what balances came to that were read before no rollback since. */
const creditBalances = Effect.fnUntraced(
  function*(follower: FollowerContext, fence: Fence, reading: Balances.BalanceReading) {
    const { generation, ring } = stateOf(follower)
    if (reading.generation !== generation) return
    const decision = yield* Balances.applyReading(follower.repo, reading, ring, nowSeconds(follower))
    for (const alert of decision.alerts) {
      yield* raiseAlert(follower, "balance")
      yield* Effect.logError(alert.message, { network: follower.network, address: alert.address })
    }
    if (decision.writes.length === 0) return
    yield* write(follower, fence, decision.writes)
    if (decision.credits > 0) yield* apply(follower, fence, { _tag: "EntriesChanged" })
  }
)

const processItem = (follower: FollowerContext, fence: Fence, item: FollowerItem) => {
  switch (item._tag) {
    case "Forward":
      return goForward(follower, fence, item)
    case "Rollback":
      return rollBack(follower, fence, item.to)
    case "Gone":
      return revertGone(follower, fence, item.transfers)
    case "LookEnd":
      return apply(follower, fence, { ...item, _tag: "LookEnded", nowMillis: nowMillis(follower) })
    case "Condition":
      return apply(follower, fence, { _tag: "ConditionFound", condition: item.condition })
    case "Check":
      return apply(follower, fence, { _tag: "CheckRequested" })
    case "BalanceReading":
      return creditBalances(follower, fence, item)
    case "ReportedBlock":
      return receiveReported(follower, fence, item)
    case "VerificationResult":
      return applyVerified(follower, fence, item)
    case "RepairTurn":
      return applyRepairTurn(follower, fence, item)
  }
}

/** What a turn may say about the chain's end; null: nothing. */
const turnOf = (item: FollowerItem) => {
  switch (item._tag) {
    case "Forward":
      return item.isCatchingUp ? "block" : "last_block"
    case "Rollback":
      return "rollback"
    case "LookEnd":
      return "look"
    default:
      return null
  }
}

/** A turn that lost a race reads everything again before it writes. */
const retryTurn = retryConflicts(conflictRetries, conflictPauseMillis)

/** Does a turn, and tells whoever waits for it that it is done. */
export const processTurn = Effect.fnUntraced(function*(follower: FollowerContext, fence: Fence, item: FollowerItem) {
  yield* retryTurn(processItem(follower, fence, item))
  const turn = turnOf(item)
  if (turn !== null) yield* retryTurn(apply(follower, fence, { _tag: "TurnEnded", turn, token: fence.token }))
  if ("done" in item) yield* Deferred.succeed(item.done, undefined)
})
