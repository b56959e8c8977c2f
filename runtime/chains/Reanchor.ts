/**
 * Handles a network of which no stored block is on the chain any more. The follower reports that, and continues from
 * another block when an operator asks for it. It does so by itself where nothing that was credited can be taken back. A
 * chain that is read by blocks continues below the lowest stored block, and reads all blocks from there again. A chain
 * that is read by accounts continues at its newest point, and a repair asks again for the transfers before it.
 */
import { Effect, Result, Stream } from "effect"
import { type AccountHistory, type BlockReading, type ChainPoint, DriverError } from "../Chains.ts"
import type { Fence } from "../Commit.ts"
import { finalHeight } from "./Confirmations.ts"
import { ringSize } from "./Points.ts"
import { apply } from "./FollowerActions.ts"
import { dispatch, type FollowerContext, monotonicMillis, nowSeconds, stateOf, write } from "./FollowerContext.ts"
import { finalHeightOf, isPruned } from "./FollowerState.ts"
import { undoBalances } from "./Reorganisations.ts"
import {
  anchorHeight,
  beginReanchor,
  hasGap,
  inheritReanchor,
  isOpen,
  lowestUncertainHeight,
  maxHeight,
  mayReanchorAutomatically,
  minHeight,
  newRepair,
  type Repair,
  uncertainBlocks
} from "./Repairs.ts"
import { findLowestHeight } from "./Restores.ts"
import { repairWrite } from "./ChainsRepo.ts"

/** An answer to where the chain is now takes at most this long. */
const anchorMillis = 60_000

/**
 * What is read again of a chain that is asked for accounts where no point that was followed lies on it: 24 h, the
 * longest outage provided for. The operator may name an older height.
 */
const unknownSeconds = 86_400

/** Entries looked at in one page. */
const pageSize = 200

/** Where the chain is now, and its own finality mark. */
const readHead = Effect.fnUntraced(function*({ driver, network, watch }: FollowerContext) {
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
  return {
    point: head.point,
    time: head.time,
    finalized: found.find((event) => event._tag === "Finality")?.finalized ?? null
  }
})

type Head = Effect.Success<ReturnType<typeof readHead>>

/** Only a chain that is read by blocks can have left those that were followed. */
const readBlock = ({ driver: { history, network }, watch }: FollowerContext, height: bigint, head: ChainPoint) =>
  history._tag === "BlockHistory"
    ? history.readBlock(height, head, watch)
    : Effect.fail(new DriverError({ network, reason: "the chain is not read by blocks" }))

const hashBelow = (follower: FollowerContext, height: bigint, head: ChainPoint) =>
  readBlock(follower, height, head).pipe(
    Effect.map(({ point }) => point.hash),
    Effect.catchIf((error) => error.condition === "block_pruned", () => Effect.succeed("pruned" as const))
  )

/** The lowest block that may be another one now: down the entries of the journal, until one is where it was. */
const findLowestUncertain = Effect.fnUntraced(function*(
  follower: FollowerContext,
  head: ChainPoint,
  oldest: bigint,
  finalBefore: bigint,
  uncertainBelow: bigint
) {
  const { environment, network, repo } = follower
  let lowestOrphaned: bigint | null = null
  for (let below = oldest;;) {
    const page = yield* repo.activeEntriesBelow(network, environment, below, pageSize)
    for (const [height, entries] of Map.groupBy(page, (entry) => entry.height)) {
      const isThere = height <= head.height
      const hash = isThere ? yield* hashBelow(follower, height, head) : undefined
      // Nor is anything below it there any more: what can be read is found out block by block.
      if (hash === "pruned") return lowestUncertainHeight(uncertainBelow, oldest, finalBefore, lowestOrphaned, null)
      if (entries[0]!.blockHash === hash) {
        return lowestUncertainHeight(uncertainBelow, oldest, finalBefore, lowestOrphaned, height)
      }
      lowestOrphaned = height
      below = height
    }
    if (page.length < pageSize) return lowestUncertainHeight(uncertainBelow, oldest, finalBefore, lowestOrphaned, null)
  }
})

/** Ends a reanchor that cannot be done, with a sentence for the operator. */
const failReanchor = (follower: FollowerContext, fence: Fence, repair: Repair, reason: string) =>
  Effect.andThen(
    write(follower, fence, [repairWrite({ ...repair, status: "failed", reason, version: repair.version + 1 })]),
    Effect.logError(`chains.reanchor failed: ${reason}`, {
      network: follower.network,
      environment: follower.environment
    })
  )

/** The block to go on from; a sentence for the operator where every endpoint says for long that it does not have it. */
const readAnchor = Effect.fnUntraced(function*(
  follower: FollowerContext,
  height: bigint,
  head: ChainPoint,
  final: bigint
) {
  const anchored = yield* Effect.result(readBlock(follower, height, head))
  if (Result.isSuccess(anchored)) {
    dispatch(follower, { _tag: "BlockFound" })
    return anchored.success
  }
  if (anchored.failure.condition !== "block_pruned") return yield* anchored.failure
  const now = monotonicMillis(follower)
  dispatch(follower, { _tag: "BlockPruned", height, monotonicMillis: now })
  if (!isPruned(stateOf(follower), now)) return yield* anchored.failure
  return `no endpoint has block ${height} any more: name a later final block as \`height\`, at most ${final}`
})

/** The newest final block of the chain that ends in a head. */
const finalHeightBelow = ({ environment, network }: FollowerContext, { finalized, point }: Head) =>
  finalHeight(network, environment, { head: point.height, finalized })

/**
 * Continues from a block, the anchor. A repair reads the blocks before it again, from the lowest one that may have been
 * replaced: at most `uncertainBelow` blocks below all that are stored.
 */
const continueFrom = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  repair: Repair,
  head: Head,
  { point, time }: BlockReading,
  uncertainBelow: bigint
) {
  const { environment, network } = follower
  const state = stateOf(follower)
  const oldest = state.ring[state.ring.length - 1]!.height
  const finalBefore = maxHeight(finalHeightOf(state), repair.finalBefore)
  const uncertain = yield* findLowestUncertain(follower, head.point, oldest, finalBefore, uncertainBelow)
  const lowestUncertain = minHeight(uncertain, repair.next)
  const lowest = minHeight(point.height, lowestUncertain)
  yield* undoBalances(follower, fence, lowest > 0n ? lowest - 1n : 0n)
  yield* apply(
    follower,
    fence,
    {
      _tag: "Reanchored",
      anchor: { ...point, time },
      finalized: head.finalized,
      monotonicMillis: follower.machineMillis()
    },
    [repairWrite(beginReanchor(repair, point.height, lowestUncertain, finalBefore))]
  )
  yield* Effect.logWarning("following goes on from another block", { network, environment, from: point.height, oldest })
})

/** Goes on from a block that the operator chose, or the newest final one below everything that was followed. */
const reanchor = Effect.fnUntraced(function*(follower: FollowerContext, fence: Fence, repair: Repair) {
  const head = yield* readHead(follower)
  const final = finalHeightBelow(follower, head)
  const state = stateOf(follower)
  const oldest = state.ring[state.ring.length - 1]!.height
  const chosen = anchorHeight(repair.to, final, oldest)
  if (typeof chosen === "string") return yield* failReanchor(follower, fence, repair, chosen)
  const anchor = yield* readAnchor(follower, chosen, head.point, final)
  if (typeof anchor === "string") return yield* failReanchor(follower, fence, repair, anchor)
  yield* continueFrom(follower, fence, repair, head, anchor, uncertainBlocks[follower.environment])
})

/** Fails where the endpoints do not agree that a block is on the chain: one of them may be wrong. */
const requireAgreement = Effect.fnUntraced(function*({ driver, network, watch }: FollowerContext, point: ChainPoint) {
  if (driver.corroborate === null) return
  const found = yield* driver.corroborate(point, watch, false, [])
  if (found._tag === "Agreed" || found._tag === "Alone" && found.hasAllAnswers) return
  const reason = `the endpoints do not agree on block ${point.height}, from which following would go on`
  return yield* new DriverError({ network, reason })
})

/**
 * Continues without an operator, from the newest final block below the lowest stored one. Answers whether it did. All
 * blocks after it are read again, and none before it was ever read. A chain that now ends below the lowest stored block
 * is left to the operator, because its nodes may still be synchronising.
 */
const reanchorAutomatically = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  repairs: ReadonlyArray<Repair>
) {
  const { environment, network, repo } = follower
  const state = stateOf(follower)
  const oldestFollowed = state.ring.at(-1)?.height
  if (oldestFollowed === undefined) return false
  const finalBefore = finalHeightOf(state)
  const strandedChain = {
    isFull: state.ring.length >= ringSize,
    oldestFollowed,
    finalBefore,
    hasConfirmed: yield* repo.hasConfirmedAbove(network, environment, finalBefore),
    hasGap: repairs.some(hasGap)
  }
  if (!mayReanchorAutomatically(strandedChain)) return false
  const head = yield* readHead(follower)
  if (head.point.height < oldestFollowed) return false
  const chosen = anchorHeight(null, finalHeightBelow(follower, head), oldestFollowed)
  if (typeof chosen === "string") return false
  const anchor = yield* readBlock(follower, chosen, head.point)
  yield* requireAgreement(follower, anchor.point)
  const last = repairs.find(({ kind }) => kind === "reanchor")
  const wanted = { kind: "reanchor", from: null, to: null, ...inheritReanchor(last) } as const
  // The repair is stored when it begins, so that one that cannot begin is tried again or left to the operator.
  const repair = {
    ...newRepair({ network, environment }, wanted, last, nowSeconds(follower)),
    version: last?.version ?? 0
  }
  yield* continueFrom(follower, fence, repair, head, anchor, 0n)
  return true
})

/**
 * The first height to ask for again: the oldest point that was followed, which lies before the one that was wrong; or
 * the first of the last {@link unknownSeconds} where that is above the chain, too.
 */
const lowestUnread = (follower: FollowerContext, history: AccountHistory, head: bigint) => {
  const oldest = stateOf(follower).ring.at(-1)!.height
  const since = nowSeconds(follower) - unknownSeconds
  return oldest <= head ?
    Effect.succeed(oldest) :
    findLowestHeight(head, (height) => Effect.map(history.timeOf(height), (time) => time === null || time < since))
}

/** Goes on at the newest point of a chain that is asked for accounts, and has all since a height asked for again. */
const reanchorAccounts = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  repair: Repair,
  history: AccountHistory
) {
  const { environment, network } = follower
  const { finalized, point, time } = yield* readHead(follower)
  if (repair.to !== null && repair.to > point.height) {
    const reason = `block ${repair.to} is not on the chain yet: the newest block is ${point.height}`
    return yield* failReanchor(follower, fence, repair, reason)
  }
  const lowest = minHeight(repair.to ?? (yield* lowestUnread(follower, history, point.height)), repair.next)
  const finalBefore = maxHeight(finalHeightOf(stateOf(follower)), repair.finalBefore)
  yield* apply(
    follower,
    fence,
    { _tag: "Reanchored", anchor: { ...point, time }, finalized, monotonicMillis: follower.machineMillis() },
    [repairWrite(beginReanchor(repair, point.height, lowest, finalBefore))]
  )
  yield* Effect.logWarning("following goes on from another block", { network, environment, from: lowest, at: point })
})

/**
 * No stored block is on the chain: continues from another block where it may, else reports `no_common_block` and waits
 * for the chain or the operator.
 */
export const handleStranded = Effect.fnUntraced(function*(follower: FollowerContext, fence: Fence) {
  const { history } = follower.driver
  const repairs = yield* follower.repo.repairs(follower.network, follower.environment)
  const repair = repairs.find((repair) => repair.kind === "reanchor" && isOpen(repair) && repair.from === null)
  const reportCondition = apply(follower, fence, { _tag: "ConditionFound", condition: "no_common_block" })
  if (repair === undefined && history._tag === "BlockHistory") {
    const hasReanchored = yield* reanchorAutomatically(follower, fence, repairs).pipe(
      // It is tried again when the chain is polled next. Until then no block is read.
      Effect.catchCause((cause) => Effect.andThen(reportCondition, Effect.failCause(cause)))
    )
    if (hasReanchored) return
  }
  yield* reportCondition
  if (repair === undefined) return
  yield* history._tag === "AccountHistory"
    ? reanchorAccounts(follower, fence, repair, history)
    : reanchor(follower, fence, repair)
})
