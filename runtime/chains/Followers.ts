/**
 * One follower per network: under a lease, from the stored cursor, one fact after the other. A block's transfers and
 * the cursor are one commit; everything is read again before it is written, so doing a block twice changes nothing
 * and a second follower by accident only loses races.
 *
 *   FollowerState     what it knows, and what each event makes of it (pure)
 *   FollowerContext   what its parts share; FollowerActions does what the state decided
 *   TurnProcessor     one turn: a block, a rollback (Reorganisations), or what was read beside the follower:
 *                     ReportedTransfers, Verification, Balances, repairs (RepairWorker reads, RepairTurns writes)
 *   Reanchor          nothing that was followed is on the chain any more
 */
import { Cause, Deferred, Effect, Exit, Option, Queue, Schedule, Stream } from "effect"
import { type ChainDriver, DriverError, type NetworkCoverage, type NetworkStatus } from "../Chains.ts"
import type { Fence } from "../Commit.ts"
import * as Balances from "./Balances.ts"
import {
  dispatch,
  type FollowerContext,
  type FollowerItem,
  type FollowerServices,
  makeContext,
  measureHealth,
  nowMillis,
  nowSeconds,
  requestCheck,
  stateOf
} from "./FollowerContext.ts"
import { allowsAddresses } from "./CatchUp.ts"
import { coverageOf, finalHeightOf, headOf, positionOf, statusOf } from "./FollowerState.ts"
import { handleStranded } from "./Reanchor.ts"
import { hasGap } from "./Repairs.ts"
import { keepRepairing } from "./RepairWorker.ts"
import { readReported } from "./ReportedTransfers.ts"
import type { RingPoint } from "./ChainsRepo.ts"
import { recordOwn } from "../telemetry/Traces.ts"
import { isListed } from "./TransferObserver.ts"
import { processTurn } from "./TurnProcessor.ts"
import { makeVerification } from "./Verification.ts"

/**
 * How long after this instance dies another one takes over, and how long a follower may do nothing at all before it
 * counts as stuck: it looks once a second whether there is something to do, and a turn takes seconds at most.
 */
const leaseOptions = { role: "follower", ttlMillis: 6_000, passMillis: 120_000 } as const
/** How often a follower looks for entries other instances made ready, and others look at its cursor. */
const tickMillis = 1_000
/** How often what waits for another endpoint is looked at again, and new blocks are searched. */
const verifyMillis = 1_000
/** Pause after a failure: doubles from the first to the longest. */
const firstPauseMillis = 250
const longestPauseMillis = 15_000

/** A follower as the rest of the process sees it. */
export interface Follower {
  readonly driver: ChainDriver
  readonly status: () => NetworkStatus
  /** How far this instance knows that the journal is complete. */
  readonly coverage: () => NetworkCoverage
  /** Looks at once whether entries are deep enough. */
  readonly check: Effect.Effect<void>
  /** Newest block processed, from memory where this instance follows, else from the stored cursor. */
  readonly head: () => bigint | null
  /**
   * Whether addresses may be given out: the chain was read up to its end since this process started, here or by the
   * instance that follows it, or one of the time limits of `CatchUp.ts` has passed. Before, a block may hold a payment
   * to an address that a restored backup does not remember.
   */
  readonly allowsAddresses: () => boolean
  /** The newest block processed, if the chain is read up to its end. */
  readonly newest: () => RingPoint | null
}

const isStranded = (cause: Cause.Cause<unknown>): boolean =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => false,
    onSome: (error) => error instanceof DriverError && error.condition === "no_common_block"
  })

/** Reads balances beside the follower, so that a slow node holds up no block. */
const readBalances = (follower: FollowerContext) =>
  Effect.gen(function*() {
    const state = stateOf(follower)
    if (follower.driver.balanceAt === null || headOf(state) === null) return
    const at = { height: finalHeightOf(state), generation: state.generation }
    const reading = yield* Balances.readBalances(follower.repo, follower.driver, at, nowSeconds(follower))
    if (reading !== null) yield* Queue.offer(follower.readings, reading)
  }).pipe(Effect.catchTag("DriverError", (error) => Effect.logWarning("balances could not be read", error)))

/** Reads blocks again beside the follower, as soon as entries are deep enough, and searches new blocks. */
const keepVerifying = Effect.fnUntraced(function*(follower: FollowerContext) {
  const { driver, network, repo, verified, verifyRequests, watch } = follower
  if (driver.corroborate === null) return
  const { search, verify } = yield* makeVerification({
    driver,
    repo,
    watch,
    isListed: (transfer) => isListed(follower, transfer),
    position: () => positionOf(stateOf(follower)),
    apply: Effect.fnUntraced(function*(result) {
      const done = yield* Deferred.make<void>()
      yield* Queue.offer(verified, { _tag: "VerificationResult", ...result, done })
      yield* Deferred.await(done)
    })
  })
  const withWarning = <A, E>(work: Effect.Effect<A, E>) =>
    Effect.catchCause(work, (cause) => Effect.logWarning("blocks could not be verified", { network }, cause))
  yield* Effect.forkScoped(Effect.repeat(withWarning(search), Schedule.spaced(verifyMillis)))
  while (true) {
    yield* Effect.timeoutOption(Queue.take(verifyRequests), verifyMillis)
    yield* withWarning(verify)
  }
})

/** The events of the chain, for as long as it is followed from the points there are. */
const eventsOf = (follower: FollowerContext) => {
  const isByBlock = follower.driver.history._tag === "BlockHistory"
  return follower.driver.follow(stateOf(follower).ring, follower.watch).pipe(
    Stream.map((event): FollowerItem => {
      // A driver looks again when its last event was taken, so the next look begins after this one's end. One that asks
      // for accounts says itself until when it has emitted everything: their index may be behind the head.
      const sinceMillis = isByBlock ? stateOf(follower).lookSinceMillis : null
      const isLookEnd = event._tag === "Finality"
      dispatch(follower, { _tag: "ChainAnswered", isLookEnd, nowMillis: nowMillis(follower) })
      return isLookEnd ? { _tag: "LookEnd", finalized: event.finalized, sinceMillis } : event
    })
  )
}

/** Follows from the stored cursor until something fails. */
const follow = Effect.fnUntraced(function*(follower: FollowerContext, fence: Fence, progress: Effect.Effect<void>) {
  const { environment, network, repo } = follower
  const cursor = yield* repo.cursor(network, environment)
  dispatch(follower, { _tag: "FollowingStarted", cursor, monotonicMillis: follower.machineMillis() })
  dispatch(follower, { _tag: "RepairsRead", hasGap: (yield* repo.repairs(network, environment)).some(hasGap) })
  const ticks = Stream.map(Stream.tick(tickMillis), (): FollowerItem => ({ _tag: "Check" }))
  const items = Stream.mergeAll(
    [
      eventsOf(follower),
      ticks,
      Stream.fromQueue(follower.checks),
      Stream.fromQueue(follower.readings),
      Stream.fromQueue(follower.verified)
    ],
    { concurrency: "unbounded", bufferSize: 16 }
  )
  yield* Effect.forkScoped(Effect.forever(readReported(follower)))
  yield* Effect.forkScoped(keepRepairing(follower))
  yield* Effect.forkScoped(
    Effect.repeat(readBalances(follower), Schedule.spaced(Balances.passMillis(environment)))
  )
  yield* Effect.forkScoped(keepVerifying(follower))
  yield* Stream.runForEach(items, (item) => {
    const turn = processTurn(follower, fence, item)
    // Most turns only look whether there is anything to do.
    const recorded = item._tag === "Check"
      ? turn
      : recordOwn("chain turn", {
        "tillwire.network": network,
        "tillwire.environment": environment,
        "tillwire.turn": item._tag
      }, turn)
    return Effect.andThen(recorded, progress)
  })
}, Effect.scoped)

/** For ever: follows, and after a failure pauses and follows again from the stored cursor. */
const keepFollowing = (
  follower: FollowerContext,
  fence: Fence,
  progress: Effect.Effect<void>
): Effect.Effect<never> => {
  const { environment, network } = follower
  return Effect.gen(function*() {
    while (true) {
      // Nodes that fail are no reason to begin a new term: health tells of them as networks.
      yield* progress
      const exit = yield* Effect.exit(follow(follower, fence, progress))
      dispatch(follower, { _tag: "FollowingFailed" })
      if (Exit.isFailure(exit)) {
        yield* Effect.logWarning("following failed", { network, environment }, exit.cause)
        if (isStranded(exit.cause)) {
          yield* Effect.catchCause(
            handleStranded(follower, fence),
            (cause) =>
              Effect.logWarning("following could not go on from another block", { network, environment }, cause)
          )
        }
      }
      const { failures } = stateOf(follower)
      yield* Effect.sleep(Math.min(longestPauseMillis, firstPauseMillis * 2 ** Math.min(failures, 10)))
    }
  }).pipe(Effect.ensuring(Effect.sync(() => dispatch(follower, { _tag: "FollowingStopped" }))))
}

/** Looks at what the follower on another instance has stored. */
const peek = (follower: FollowerContext, leaseName: string) =>
  Effect.gen(function*() {
    const { environment, network, repo } = follower
    yield* measureHealth(follower, statusOf(stateOf(follower), nowMillis(follower)).healthy)
    dispatch(follower, { _tag: "SearchComparedToHead", monotonicMillis: follower.machineMillis() })
    dispatch(follower, { _tag: "ClockRead", nowMillis: nowMillis(follower) })
    if (stateOf(follower).isFollowing) return
    const cursor = yield* repo.cursor(network, environment)
    if (cursor === null || stateOf(follower).isFollowing) return
    dispatch(follower, { _tag: "CursorPeeked", cursor, monotonicMillis: follower.machineMillis() })
    if (stateOf(follower).isCaughtUp || cursor.caughtUpToken === null) return
    const leaseEnd = yield* repo.leaseEnd(leaseName, cursor.caughtUpToken)
    dispatch(follower, { _tag: "LeaseRead", leaseEnd })
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning("cursor could not be read", { network: follower.network }, cause))
  )

/** Starts following in the current scope. */
export const start = Effect.fnUntraced(function*(driver: ChainDriver, services: FollowerServices) {
  const context = yield* makeContext(driver, services)
  const leaseName = `chain:${driver.network}:${driver.environment}`
  yield* Effect.forkScoped(
    services.leases.hold(leaseName, leaseOptions, (fence, progress) => keepFollowing(context, fence, progress))
  )
  yield* Effect.forkScoped(Effect.repeat(peek(context, leaseName), Schedule.spaced(tickMillis)))
  const follower: Follower = {
    driver,
    status: () => statusOf(stateOf(context), nowMillis(context)),
    coverage: () =>
      coverageOf(stateOf(context), {
        hasSearch: driver.findTransfers !== null,
        nowMillis: nowMillis(context),
        monotonicMillis: context.machineMillis()
      }),
    check: requestCheck(context),
    head: () => headOf(stateOf(context)),
    allowsAddresses: () => allowsAddresses(stateOf(context), context.machineMillis()),
    newest: () => {
      const { isCaughtUp, ring } = stateOf(context)
      return isCaughtUp ? ring[0] ?? null : null
    }
  }
  return follower
})
