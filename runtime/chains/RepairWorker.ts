/** Works on what operators asked of a follower: reads blocks again beside it, and hands them over to be dealt with. */
import { Deferred, Effect, Queue, Result, Schedule } from "effect"
import { type AccountHistory, type BlockReading, DriverError, type LocatedTransfer } from "../Chains.ts"
import { anchorOf } from "./Confirmations.ts"
import {
  dispatch,
  type FollowerContext,
  monotonicMillis,
  nowSeconds,
  type RepairTurn,
  stateOf
} from "./FollowerContext.ts"
import { headOf, isPruned } from "./FollowerState.ts"
import {
  accountBatch,
  advanceRepair,
  beginReanchor,
  completeRepair,
  heightsIn,
  isOrphaned,
  isRead,
  minHeight,
  nextHeights,
  nextRepair,
  type Repair,
  repairBatch,
  skipBlocks,
  startRestore
} from "./Repairs.ts"
import { findLowestHeight, restoreWatchSeconds, walletWaitSeconds } from "./Restores.ts"

/** Entries checked in one turn after a reanchor. */
const orphanedPage = 200

/** How long a repair waits that has nothing to do now. */
const idleMillis = 1_000

/** Pause of a repair after a failure: doubles to the longest. */
const failurePause = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("1 minute")])

/** Hands a turn to the follower and waits until it was dealt with. `generation`: of the points that were read. */
const handOver = Effect.fnUntraced(function*(
  { readings }: FollowerContext,
  turn: Pick<RepairTurn, "generation" | "next"> & Partial<Pick<RepairTurn, "orphanedEntries" | "blocks">>
) {
  const done = yield* Deferred.make<void>()
  yield* Queue.offer(readings, { blocks: [], orphanedEntries: [], ...turn, _tag: "RepairTurn", done })
  yield* Deferred.await(done)
})

/**
 * A block on the branch that is followed; null: it is above what was followed. Of a chain that is asked for accounts
 * only its time is known, which is all that a search for a time needs.
 */
const readAgain = Effect.fnUntraced(function*(follower: FollowerContext, height: bigint) {
  const { driver: { history, network }, watch } = follower
  const anchor = anchorOf(stateOf(follower).ring, height)
  if (anchor === undefined) return null
  if (history._tag === "BlockHistory") return yield* history.readBlock(height, anchor, watch)
  const time = yield* history.timeOf(height)
  if (time !== null) return { point: { height, hash: "" }, time, transfers: [] } satisfies BlockReading
  return yield* new DriverError({ network, reason: `${height} is too old`, condition: "block_pruned" })
})

/** Transfers that name their places, as blocks. */
const blocksOf = (transfers: ReadonlyArray<LocatedTransfer>): ReadonlyArray<BlockReading> =>
  [...Map.groupBy(transfers, ({ at }) => at.hash).values()].map((inBlock) => {
    const { hash, height, time } = inBlock[0]!.at
    return { point: { height, hash }, time, transfers: inBlock }
  })

const readUnlessPruned = (follower: FollowerContext, height: bigint) =>
  Effect.catchIf(
    readAgain(follower, height),
    (error) => error.condition === "block_pruned",
    () => Effect.succeed("pruned" as const)
  )

/** Goes on above blocks that every endpoint has said for long enough it does not have any more. */
const skipPruned = Effect.fnUntraced(function*(follower: FollowerContext, repair: Repair, height: bigint) {
  const { network, environment } = follower
  const now = monotonicMillis(follower)
  dispatch(follower, { _tag: "BlockPruned", height, monotonicMillis: now })
  if (!isPruned(stateOf(follower), now)) {
    return yield* new DriverError({ network, reason: `no endpoint has block ${height} any more` })
  }
  dispatch(follower, { _tag: "BlockFound" })
  const { generation, ring } = stateOf(follower)
  const next = yield* findLowestHeight(minHeight(repair.to!, ring[0]!.height) + 1n, (each) =>
    each <= height
      ? Effect.succeed(true)
      : Effect.map(readUnlessPruned(follower, each), (block) => block === "pruned"))
  if (generation !== stateOf(follower).generation) return false
  const skip = skipBlocks(repair, next)
  yield* Effect.logError("a repair goes on without blocks that no endpoint has any more", {
    network,
    environment,
    kind: repair.kind,
    from: height,
    to: next - 1n
  })
  const after = repair.kind !== "reanchor" && isRead(skip) ? completeRepair(skip) : skip
  yield* handOver(follower, { generation, next: () => after })
  return true
})

/** The next heights of a repair where the chain is asked for accounts. */
const readAccounts = Effect.fnUntraced(function*(
  follower: FollowerContext,
  repair: Repair,
  history: AccountHistory
) {
  const { generation, ring } = stateOf(follower)
  const heights = nextHeights(repair, ring[0]!.height, accountBatch)
  if (heights === null) return false
  const read = yield* Effect.result(history.readTransfers(heights.from, heights.to, follower.watch))
  if (Result.isFailure(read)) {
    if (read.failure.condition === "block_pruned") return yield* skipPruned(follower, repair, heights.from)
    return yield* read.failure
  }
  dispatch(follower, { _tag: "BlockFound" })
  if (generation !== stateOf(follower).generation) return false
  const next = (count: number) => advanceRepair(repair, heights.to, count)
  yield* handOver(follower, { generation, blocks: blocksOf(read.success), next })
  return true
})

/** Entries, page by page, whose block is not on the chain: the ring says it of the newest, a read of the others. */
const revertOrphaned = Effect.fnUntraced(function*(follower: FollowerContext, repair: Repair) {
  const { environment, network, repo } = follower
  let after = { height: -1n, id: "" }
  while (true) {
    const { generation, ring } = stateOf(follower)
    const page = yield* repo.activeEntriesFrom(network, environment, repair.from!, after, orphanedPage)
    const last = page.at(-1)
    if (last === undefined) return false
    const hashes = new Map<bigint, string | undefined>(ring.map(({ hash, height }) => [height, hash]))
    const unreadable = new Set<bigint>()
    for (const { height, kind } of page) {
      if (kind === "internal" || hashes.has(height) || unreadable.has(height)) continue
      const block = yield* readUnlessPruned(follower, height)
      if (block === "pruned") unreadable.add(height)
      else hashes.set(height, block?.point.hash)
    }
    const orphanedEntries = page.filter((entry) =>
      entry.reorgedAfterFinality !== true && !unreadable.has(entry.height) &&
      isOrphaned(entry, hashes.get(entry.height))
    )
    // A reorganisation meanwhile: the page is read again.
    if (generation !== stateOf(follower).generation) continue
    if (orphanedEntries.length > 0) {
      const version = repair.version + 1
      const next = (count: number) => ({ ...repair, credited: repair.credited + count, version })
      yield* handOver(follower, { generation, orphanedEntries, next })
      return true
    }
    after = { height: last.height, id: last.id }
  }
})

/** Whether a block is older than a restore looks for, or nobody has it any more. */
const isTooEarly = (follower: FollowerContext, since: number, height: bigint) =>
  Effect.map(
    readUnlessPruned(follower, height),
    (block) => block === "pruned" || (block !== null && block.time < since)
  )

/** Has every wallet's addresses derived, then finds the first block to read. */
const beginRestore = Effect.fnUntraced(function*(follower: FollowerContext, repair: Repair, since: number) {
  const { addresses, environment, repo } = follower
  const known = new Set(addresses.all().map(({ wallet }) => wallet.fingerprint))
  const isComplete = (yield* repo.restoredWallets(repair.requestedAt - restoreWatchSeconds))
    .every((fingerprint) => known.has(fingerprint))
  if (!isComplete && nowSeconds(follower) - repair.requestedAt < walletWaitSeconds) return false
  if (!(yield* addresses.fillAll)) return false
  // Whatever is read from now on is matched with them.
  const { generation, ring } = stateOf(follower)
  const head = ring[0]!.height
  const from = yield* findLowestHeight(head, (height) => isTooEarly(follower, since, height))
  // Test chains begin anew and have no older blocks.
  const isCut = environment === "mainnet" && from > 0n &&
    (yield* readUnlessPruned(follower, from - 1n)) === "pruned"
  if (generation !== stateOf(follower).generation) return false
  const reason = isCut ? `blocks below ${from}` : null
  yield* handOver(follower, { generation, next: () => ({ ...startRestore(repair, from, head), reason }) })
  return true
})

/** A reanchor that was not begun although the chain is followed: its points are back. Reads what one before left. */
const resumeReanchor = Effect.fnUntraced(function*(follower: FollowerContext, repair: Repair) {
  const { generation, isAtEnd, ring } = stateOf(follower)
  if (!isAtEnd) return false
  const { finalBefore, next } = repair
  const reason = "the blocks that were followed are on the chain again: there was nothing to do"
  const after: Repair = next === null
    ? { ...repair, version: repair.version + 1, status: "failed", reason }
    : beginReanchor(repair, ring[0]!.height, next, finalBefore!)
  yield* handOver(follower, { generation, next: () => after })
  return true
})

/**
 * Every block was read: takes back what is not on the chain, then ends. A chain that is asked for accounts has no
 * hashes of blocks to compare: its driver looks itself whether what is not final stays.
 */
const finishRepair = Effect.fnUntraced(function*(follower: FollowerContext, repair: Repair) {
  const { generation, isAtEnd } = stateOf(follower)
  if (!isAtEnd) return false
  const isByBlock = follower.driver.history._tag === "BlockHistory"
  if (isByBlock && (yield* revertOrphaned(follower, repair))) return true
  yield* handOver(follower, { generation, next: () => completeRepair({ ...repair, version: repair.version + 1 }) })
  return true
})

/** The next blocks of a repair, up to the first that could not be read. */
const readBlocks = Effect.fnUntraced(function*(follower: FollowerContext, repair: Repair) {
  const { generation, ring } = stateOf(follower)
  const range = nextHeights(repair, ring[0]!.height, repairBatch)
  if (range === null) return false
  const wanted = heightsIn(range)
  const read = yield* Effect.forEach(wanted, (height) => Effect.result(readAgain(follower, height)), {
    concurrency: repairBatch
  })
  const [first] = read
  if (Result.isFailure(first!)) {
    if (first.failure.condition === "block_pruned") return yield* skipPruned(follower, repair, wanted[0]!)
    return yield* first.failure
  }
  dispatch(follower, { _tag: "BlockFound" })
  const end = read.findIndex(Result.isFailure)
  const got = read.slice(0, end < 0 ? read.length : end)
    .flatMap((each): ReadonlyArray<BlockReading | null> => Result.isSuccess(each) ? [each.success] : [])
  const blocks = got.filter((block) => block !== null)
  if (blocks.length < got.length || generation !== stateOf(follower).generation) return false
  const next = (count: number) => advanceRepair(repair, wanted[got.length - 1]!, count)
  yield* handOver(follower, { generation, blocks, next })
  return true
})

/** One step of the repair that is next; false: there is nothing to do now. */
const repairStep = Effect.fnUntraced(function*(follower: FollowerContext) {
  const repair = nextRepair(yield* follower.repo.repairs(follower.network, follower.environment))
  if (repair === undefined || headOf(stateOf(follower)) === null) return false
  if (repair.from === null) {
    return yield* repair.since === null
      ? resumeReanchor(follower, repair)
      : beginRestore(follower, repair, repair.since)
  }
  if (isRead(repair)) return yield* finishRepair(follower, repair)
  const { history } = follower.driver
  return yield* history._tag === "AccountHistory"
    ? readAccounts(follower, repair, history)
    : readBlocks(follower, repair)
})

/** Works on repairs for ever, through failures of the nodes. */
export const keepRepairing = (follower: FollowerContext) =>
  Effect.suspend(() => repairStep(follower)).pipe(
    Effect.tapError((error) =>
      Effect.logWarning(
        "a repair waits for a node",
        { network: follower.network, environment: follower.environment },
        error
      )
    ),
    Effect.retry(failurePause),
    Effect.flatMap((isBusy) => isBusy ? Effect.void : Effect.sleep(idleMillis)),
    Effect.forever
  )
