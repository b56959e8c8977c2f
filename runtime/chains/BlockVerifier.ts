/** Before a payment is confirmed its block is read again from another endpoint. */
import { Effect, Metric, Ref } from "effect"
import type { ChainPoint, Corroboration, JournalEntry } from "../Chains.ts"
import { initializeSeries } from "../Telemetry.ts"
import { type BlockDecision, decideBlock, isContested, isOfBalance } from "./BlockDecision.ts"
import type { FollowerPosition } from "./SearchSchedule.ts"
import { alert, type VerificationContext, waitFor, waitingBlocks } from "./VerificationContext.ts"

/** Entries looked at in one pass. */
const entriesPerPass = 900

/** Blocks read again side by side. */
const concurrentBlocks = 4

/** How long a block waits that could not be confirmed: endpoints that are away, or on two branches. */
const retryMillis = 2_000

/** How long a block waits whose transfers endpoints show differently: an operator is told each time. */
const disagreementMillis = 30_000

const waitingForAgreement = Metric.gauge("chain_payments_waiting_for_agreement", {
  description: "Blocks with payments that wait until another endpoint confirms them"
})

const attributesOf = ({ driver: { environment, network } }: VerificationContext) => ({ network, environment })

/** A follower without blocks that wait shows 0. */
export const initializeWaitingGauge = (context: VerificationContext) =>
  initializeSeries(waitingForAgreement, [attributesOf(context)])

/** The readings of a block, and what they make of its entries. */
interface Reading {
  readonly corroboration: Corroboration
  readonly decision: BlockDecision
}

/**
 * Reads a block from one more endpoint, and from all where that one shows something else than the journal has.
 * `deepEntries` of balances are left out: no block shows them.
 */
const readBlock = Effect.fnUntraced(function*(
  context: VerificationContext,
  point: ChainPoint,
  deepEntries: ReadonlyArray<JournalEntry>,
  isThorough: boolean
) {
  const { driver, isListed, repo, watch } = context
  const entries = (yield* repo.entriesAtHeights(driver.network, driver.environment, [point.height]))
    .filter((entry) => entry.blockHash === point.hash && !isOfBalance(entry))
  const txHashes = [...new Set([...entries, ...deepEntries].map(({ txHash }) => txHash))]
  const first = yield* driver.corroborate!(point, watch, isThorough, txHashes)
  const decision = decideBlock(deepEntries, entries, first, isThorough, isListed)
  if (decision !== null) return { corroboration: first, decision } satisfies Reading
  const all = yield* driver.corroborate!(point, watch, true, txHashes)
  return { corroboration: all, decision: decideBlock(deepEntries, entries, all, true, isListed)! } satisfies Reading
})

/** A block that is not decided waits; where endpoints contradict each other an operator is told. */
const postpone = Effect.fnUntraced(function*(
  context: VerificationContext,
  point: ChainPoint,
  { corroboration, decision }: Reading
) {
  const contested = isContested(corroboration)
  yield* waitFor(context, point.hash, contested ? disagreementMillis : retryMillis)
  if (!contested) return
  yield* alert(context, "endpoints_show_different_transfers")
  yield* Effect.logError(
    "endpoints show different transfers in one block: its payments wait, and later blocks are not " +
      "searched. Compare the block's receipts with a third node, and correct or remove the endpoint that is wrong",
    { ...attributesOf(context), height: point.height, hash: point.hash, ids: decision.undecidedIds }
  )
})

/**
 * Reads a block again for its entries that are deep enough, or because a search found more in it. Answers whether it is
 * decided what is in it.
 */
export const verifyBlock = Effect.fnUntraced(function*(
  context: VerificationContext,
  at: FollowerPosition,
  point: ChainPoint,
  deepEntries: ReadonlyArray<JournalEntry>
) {
  const direct = deepEntries.filter((entry) => !isOfBalance(entry))
  const byBalance = deepEntries.filter(isOfBalance).map(({ id }) => id)
  const isSearched = deepEntries.length === 0
  const reading = isSearched || direct.length > 0 ? yield* readBlock(context, point, direct, isSearched) : null
  const decision = reading?.decision
  if (reading !== null && (reading.decision.undecidedIds.length > 0 || reading.decision.isInconclusive)) {
    yield* postpone(context, point, reading)
  }
  const confirm = [...byBalance, ...decision?.confirm ?? []]
  const revert = decision?.revert ?? []
  const missing = decision?.missing ?? []
  if (confirm.length + revert.length + missing.length > 0) {
    const time = reading !== null && "time" in reading.corroboration
      ? reading.corroboration.time
      : deepEntries[0]?.blockTime ?? 0
    yield* context.apply({ generation: at.generation, point: { ...point, time }, confirm, revert, missing })
  }
  return decision?.isInconclusive !== true
})

/** One pass over the entries that are deep enough. */
export const verify = Effect.fnUntraced(function*(context: VerificationContext) {
  const { driver: { environment, network }, position, repo } = context
  const at = position()
  if (at === null) return
  const waiting = yield* waitingBlocks(context)
  const deepEntries = yield* repo.entriesDeepEnough(network, environment, at.heights, entriesPerPass, waiting)
  const blocks = Map.groupBy(deepEntries, ({ blockHash }) => blockHash)
  yield* Effect.forEach(
    blocks,
    ([hash, entries]) => verifyBlock(context, at, { height: entries[0]!.height, hash }, entries),
    { discard: true, concurrency: concurrentBlocks }
  )
  const stillWaiting = (yield* Ref.get(context.waitUntilMillis)).size
  yield* Metric.update(Metric.withAttributes(waitingForAgreement, attributesOf(context)), stillWaiting)
})
