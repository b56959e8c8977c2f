/** The entries of the journal that transfers in a block make or change. Writes nothing. */
import { Effect } from "effect"
import type { JournalEntry, ObservedTransfer } from "../Chains.ts"
import { findAlreadyCredited } from "./Balances.ts"
import { alternateEntryId, entryIds, matchEntry, transferKey } from "./TransferIdentity.ts"
import { observe, type Receiver, revertEntry } from "./Confirmations.ts"
import { countUnrecorded, type FollowerContext, nowSeconds, rowsPerCommit, stateOf } from "./FollowerContext.ts"
import { headOf } from "./FollowerState.ts"
import * as Receivers from "./Receivers.ts"
import { type RingPoint, transferId } from "./ChainsRepo.ts"
import { admitTransfers, screenTransfers } from "./UnlistedTransfers.ts"

/** Whether the catalogue has a transfer's token, or it is of the native coin. */
export const isListed = (
  { catalog, environment, network }: Pick<FollowerContext, "catalog" | "environment" | "network">,
  { tokenAddress }: Pick<ObservedTransfer, "tokenAddress">
): boolean => tokenAddress === null || catalog.find(network, environment, tokenAddress) !== undefined

const idOf = ({ environment, network }: FollowerContext, { index, txHash }: ObservedTransfer): string =>
  transferId(network, environment, txHash, index)

/** What the journal may have of these transfers, by id. */
const entriesOf = (follower: FollowerContext, transfers: ReadonlyArray<ObservedTransfer>) =>
  Effect.map(
    follower.repo.entriesById(transfers.flatMap((each) => entryIds(idOf(follower, each), each.matchKey))),
    (found): ReadonlyMap<string, JournalEntry> => new Map(found.map((entry) => [entry.id, entry]))
  )

/** One transfer at `point`, for `receiver`; `entries`: what {@link entriesOf} has of it. */
const observeTransfer = Effect.fnUntraced(function*(
  follower: FollowerContext,
  transfer: ObservedTransfer,
  point: RingPoint,
  receiver: Receiver,
  entries: ReadonlyMap<string, JournalEntry>
) {
  const { environment, network } = follower
  const { entry: before, id } = matchEntry(entries, idOf(follower, transfer), transfer.matchKey)
  const isWrongReport = before?.confirmations === 0 && before.invoiceId !== null && receiver.invoiceId === null
  const changed: Array<JournalEntry> = []
  if (isWrongReport && before.status !== "reverted") {
    yield* Effect.logError("a reported transfer is older than its target, so it pays another invoice", { id })
    changed.push(revertEntry(before))
  }
  const entry = observe(isWrongReport ? undefined : before, transfer, receiver, {
    network,
    environment,
    point,
    observedAt: nowSeconds(follower),
    confirmations: 1,
    isUnlisted: !isListed(follower, transfer),
    id: isWrongReport ? alternateEntryId(id, transfer.matchKey) : id
  })
  if (entry !== undefined) changed.push(entry)
  return changed
})

const observeAll = Effect.fnUntraced(function*(
  follower: FollowerContext,
  transfers: ReadonlyArray<ObservedTransfer>,
  point: RingPoint
) {
  const { driver, environment, network } = follower
  const newest = driver.history._tag === "AccountHistory" ? headOf(stateOf(follower)) : null
  const changed: Array<JournalEntry> = []
  for (let from = 0; from < transfers.length; from += rowsPerCommit) {
    const part = transfers.slice(from, from + rowsPerCommit)
    const entries = yield* entriesOf(follower, part)
    for (const inBlock of Map.groupBy(part, ({ at }) => at?.hash ?? point.hash).values()) {
      const location = inBlock[0]!.at ?? point
      const keys = [...new Set(inBlock.map(({ matchKey }) => matchKey))]
      const receivers = yield* Receivers.findReceivers(
        follower,
        { network, environment, point: location, newest },
        keys
      )
      for (const transfer of inBlock) {
        const receiver = receivers.get(transfer.matchKey)
        if (receiver === undefined) continue
        changed.push(...yield* observeTransfer(follower, transfer, location, receiver, entries))
      }
    }
  }
  const unmatched = changed.filter(({ invoiceId, version }) => invoiceId === null && version === 1)
  if (unmatched.length > 0) {
    yield* Effect.logWarning(
      "money came in that names no invoice, or to an address that none had when it was sent: if a backup was restored, " +
        "declare it with chains.restored",
      { network, transfers: unmatched.length, first: unmatched[0]!.id }
    )
  }
  return changed
})

/**
 * Entries that seeing a block's transfers at `point` makes or changes: those of tokens in the catalogue first, and of
 * others no more than the limits of {@link screenTransfers} and {@link admitTransfers}, beside `wanted` (keys of
 * transfers). What is left out is counted and logged.
 */
export const observeBlock = Effect.fnUntraced(function*(
  follower: FollowerContext,
  transfers: ReadonlyArray<ObservedTransfer>,
  point: RingPoint,
  wanted: ReadonlyArray<string> = []
) {
  const { environment, network, repo } = follower
  const { droppedCount, listed, unlistedTransfers } = screenTransfers(
    transfers,
    (each) => isListed(follower, each) || wanted.includes(transferKey(each))
  )
  const changed = yield* observeAll(follower, listed, point)
  if (unlistedTransfers.length === 0) return changed
  const keys = [...new Set(unlistedTransfers.map(({ matchKey }) => matchKey))]
  const admitted = admitTransfers(
    unlistedTransfers,
    yield* repo.unlistedTransfers(network, environment, keys),
    transferKey
  )
  const left = droppedCount + unlistedTransfers.length - admitted.length
  if (left > 0) {
    yield* countUnrecorded(follower, left)
    yield* Effect.logWarning("transfers of tokens that are not in the catalogue are not recorded: too many of them", {
      network,
      environment,
      height: point.height,
      recorded: admitted.length,
      unrecorded: left
    })
  }
  return [...changed, ...yield* observeAll(follower, admitted, point)]
})

/**
 * {@link observeBlock} of a block that was passed before, without the native transfers whose amounts were credited by
 * comparing balances since: the keys of those are `alreadyCredited`.
 */
export const observeOlderBlock = Effect.fnUntraced(function*(
  follower: FollowerContext,
  transfers: ReadonlyArray<ObservedTransfer>,
  point: RingPoint,
  wanted: ReadonlyArray<string> = []
) {
  const { environment, network, repo } = follower
  const native = transfers.filter(({ tokenAddress }) => tokenAddress === null)
  const seen = new Set(
    [...(yield* entriesOf(follower, native)).values()]
      .filter(({ confirmations, status }) => confirmations > 0 && status !== "reverted").map(transferKey)
  )
  const late = native.filter((transfer) => !seen.has(transferKey(transfer)))
  const keys = [...new Set(late.map(({ matchKey }) => matchKey))]
  const credited = yield* repo.balanceCredits(network, environment, point.height, keys)
  const alreadyCredited = new Set(findAlreadyCredited(late, credited).map(transferKey))
  if (alreadyCredited.size > 0) {
    yield* Effect.logInfo("transfers found late were credited before, by comparing balances", {
      transfers: [...alreadyCredited]
    })
  }
  const remaining = transfers.filter((transfer) => !alreadyCredited.has(transferKey(transfer)))
  return { changed: yield* observeBlock(follower, remaining, point, wanted), alreadyCredited }
})
