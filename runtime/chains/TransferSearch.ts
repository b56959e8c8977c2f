/** Searches every block once more for transfers nobody was shown at first; `SearchSchedule.ts` says which are next. */
import { Effect, Ref } from "effect"
import { blocksWithMissingTransfers } from "./BlockDecision.ts"
import { isOutage } from "./DriverError.ts"
import { verifyBlock } from "./BlockVerifier.ts"
import {
  failedAgain,
  type FollowerPosition,
  isGivenUp,
  nextRepeatedSearch,
  nextSearch,
  searchedAgainTo,
  searchedTo,
  type SearchProgress,
  type SearchRange
} from "./SearchSchedule.ts"
import { alert, isWaiting, type VerificationContext } from "./VerificationContext.ts"

/** Searches of one pass: after a long absence the follower's other work has its turn in between. */
const searchesPerPass = 16

const reportProgress = ({ apply }: VerificationContext, at: FollowerPosition, progress: SearchProgress) =>
  apply({ generation: at.generation, point: at.ring[0]!, confirm: [], revert: [], missing: [], ...progress })

/**
 * Searches one range; false when it could not be, or a block in it is not decided yet: no search passes that one. One
 * that is searched again waits for an endpoint that it was not read from.
 */
const searchRange = Effect.fnUntraced(function*(
  context: VerificationContext,
  at: FollowerPosition,
  { from, to }: SearchRange,
  isAgain: boolean
) {
  const { driver, isListed, repo, watch } = context
  const ours = new Map(at.ring.map((point) => [point.height, point.hash]))
  const { isSingleSource, transfers } = yield* driver.findTransfers!(from, to, ours.get(to) ?? null, watch)
  if (isAgain && isSingleSource) return false
  const found = transfers.filter(isListed)
  if (found.some(({ point }) => (ours.get(point.height) ?? point.hash) !== point.hash)) return false
  const moveTo = (height: bigint) =>
    reportProgress(
      context,
      at,
      isAgain ? searchedAgainTo(at, height) : searchedTo(at, from, height, isSingleSource)
    )
  const heights = [...new Set(found.map(({ point }) => point.height))]
  const entries = heights.length === 0
    ? []
    : yield* repo.entriesAtHeights(driver.network, driver.environment, heights)
  const incomplete = blocksWithMissingTransfers(found, entries).toSorted((one, other) =>
    Number(one.height - other.height)
  )
  for (const point of incomplete) {
    if ((yield* isWaiting(context, point.hash)) || !(yield* verifyBlock(context, at, point, []))) {
      if (point.height > from) yield* moveTo(point.height - 1n)
      return false
    }
  }
  yield* moveTo(to)
  return true
})

const reportUnsearchable = Effect.fnUntraced(function*(context: VerificationContext, height: bigint, reason: string) {
  yield* alert(context, "block_not_searched")
  yield* Effect.logError("a block could not be searched for transfers that were left out", {
    network: context.driver.network,
    height,
    reason
  })
})

/**
 * Where a range cannot be searched its first block is tried alone; one that cannot be for long is passed with an alarm.
 */
export const searchNew = Effect.fnUntraced(function*(context: VerificationContext) {
  const { driver, position, searchFailure } = context
  for (let count = 0; count < searchesPerPass; count++) {
    const at = position()
    if (at === null || driver.findTransfers === null) return
    const range = nextSearch(at, yield* Ref.get(searchFailure))
    if (range === null) return
    const outcome = yield* Effect.result(searchRange(context, at, range, false))
    if (outcome._tag === "Success" && outcome.success) continue
    yield* Ref.set(searchFailure, failedAgain(range))
    if (outcome._tag === "Success" || !isGivenUp(range)) return
    yield* reportUnsearchable(context, range.from, outcome.failure.reason)
    yield* reportProgress(context, at, searchedTo(at, range.from, range.from, isOutage(outcome.failure)))
  }
})

/**
 * Searches blocks again that were searched while every other endpoint was away, once one of them is back: what the only
 * endpoint left out is found so. An outage is waited for, a refusal is not.
 */
export const searchAgain = Effect.fnUntraced(function*(context: VerificationContext) {
  const { driver, position, repeatSearchFailure } = context
  for (let count = 0; count < searchesPerPass; count++) {
    const at = position()
    if (at === null || driver.findTransfers === null) return
    const range = nextRepeatedSearch(at, yield* Ref.get(repeatSearchFailure))
    if (range === null) return
    const outcome = yield* Effect.result(searchRange(context, at, range, true))
    if (outcome._tag === "Success" && !outcome.success) return
    if (outcome._tag === "Success") {
      if (range.passed === null) continue
      yield* Effect.logError(
        "blocks are too old to be searched again at the endpoint that is back: call chains.rescan with them",
        { network: driver.network, ...range.passed }
      )
      continue
    }
    yield* Ref.set(repeatSearchFailure, failedAgain(range))
    if (isOutage(outcome.failure) || !isGivenUp(range)) return
    yield* reportUnsearchable(context, range.from, outcome.failure.reason)
    yield* reportProgress(context, at, searchedAgainTo(at, range.from))
  }
})
