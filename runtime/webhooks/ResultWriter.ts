/**
 * What became of attempts, written down: one writer takes everything that has gathered. Then what the attempts say of
 * their endpoints: breakers, and endpoints that are switched off.
 */
import { Clock, Effect, Latch, Schedule, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Commit, noCause, retryConflicts } from "../Commit.ts"
import type { Environment } from "../../schemas/Network.ts"
import { updateHealth } from "./CircuitBreaker.ts"
import { endpointWrite, findEndpoint } from "./Endpoints.ts"
import type { FinishedDelivery } from "./EndpointQueues.ts"
import {
  cancelWaiting,
  type ClaimedDelivery,
  type DeliveryResult,
  type EndpointLease,
  type EndpointReport,
  leaseSeconds,
  readHealth,
  writeHealth,
  writeResults
} from "./DeliveryRepo.ts"

/**
 * Results that are written without waiting for more: with twice as many deliveries were a sixth faster (measured), and
 * a kill repeated twice as many.
 */
const fullBatch = 64

/** How long results wait for more while deliveries are on their way: nobody waits for them, and a kill repeats few. */
const gatherMillis = 5

/** How results are tried again that could not be written: 3 s in all, for a database that restarts or fails over. */
const retrySchedule = { schedule: Schedule.exponential("100 millis"), times: 5 }

/** Tries to write an endpoint's health, or to switch an endpoint off, while others change the row. */
const conflictTries = 3

/** Why an endpoint was switched off, as its `disabled_reason` says. */
export type DisabledReason = "gone" | "failing"

/** A result on its way to the database; one that `wasSent` took a slot. */
export interface QueuedResult {
  readonly result: DeliveryResult
  readonly wasSent: boolean
}

/** What the writer of results asks and tells. */
export interface ResultListener {
  /** Whether no more results are to be expected soon. */
  readonly isIdle: () => boolean
  /** A writing begins: from now until `onWritten` it may hold rows of endpoints, and claims pass those over. */
  readonly onWriteStart: () => void
  /** Leases to release with these results. */
  readonly leasesToRelease: (results: ReadonlyArray<FinishedDelivery>) => ReadonlyArray<EndpointLease>
  /** They are written, or could not be, and the time of a lease has passed since. */
  readonly onWritten: (results: ReadonlyArray<FinishedDelivery>) => void
}

/** The writer of an instance's results. */
// oxlint-disable-next-line max-lines-per-function -- one writer of gathered results
export const makeResultWriter = Effect.fnUntraced(function*(listener: ResultListener) {
  const commit = yield* Commit
  const sql = yield* SqlClient.SqlClient
  const scope = yield* Effect.scope
  const writing = yield* Semaphore.make(1)
  const work = yield* Latch.make()
  const isBatchFull = yield* Latch.make()
  let queued: Array<QueuedResult> = []

  /**
   * Switches an endpoint off at once and cancels what waits for it
   * (modules/docs/reference/webhooks.md#an-endpoint-that-fails), but for the delivery that is the reason; when its URL
   * is not the endpoint's any more, that was changed since.
   */
  const disable = (
    { endpointId, merchantId }: Pick<EndpointReport, "endpointId" | "merchantId">,
    reason: DisabledReason,
    cause?: ClaimedDelivery
  ) =>
    Effect.gen(function*() {
      const row = yield* findEndpoint(merchantId, endpointId)
      if (row === undefined || row.status !== "enabled" || (cause !== undefined && row.url !== cause.url)) return
      const now = yield* Clock.currentTimeMillis
      yield* commit.append({
        merchantId,
        environment: row.environment ?? anyEnvironment,
        cause: noCause,
        writes: [endpointWrite({
          ...row,
          version: row.version + 1,
          status: "disabled",
          disabledReason: reason,
          updatedAt: Math.floor(now / 1000)
        })],
        events: []
      })
      yield* cancelWaiting(merchantId, endpointId, cause?.id)
      yield* Effect.logWarning(`webhook endpoint ${endpointId} is disabled: ${reason}`)
    }).pipe(
      retryConflicts(conflictTries),
      Effect.catch((error) => Effect.logError(`webhook endpoint ${endpointId} not disabled`, error)),
      Effect.provideService(SqlClient.SqlClient, sql)
    )

  /** Health that another instance wrote meanwhile is read and updated again. The leases in `released` are released. */
  const applyHealth = (
    reports: ReadonlyArray<EndpointReport>,
    released: ReadonlyMap<string, EndpointLease>,
    tries = conflictTries
  ): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
    Effect.gen(function*() {
      if (reports.length === 0) return
      if (tries === 0) {
        return yield* Effect.logWarning(
          "the health of webhook endpoints was not written: other instances keep changing it"
        )
      }
      const updates = reports.map((report) => ({
        report,
        release: released.get(report.endpointId),
        ...updateHealth(report.health, report.statistics)
      }))
      const conflicts = yield* writeHealth(updates)
      for (const { disable: off, health, report } of updates) {
        if (conflicts.includes(report)) continue
        if (health.openings > report.health.openings) {
          yield* Effect.logInfo(`webhook endpoint ${report.endpointId} fails: nothing is sent to it for a while`, {
            openings: health.openings
          })
        }
        if (off) yield* disable(report, "failing")
      }
      if (conflicts.length > 0) yield* applyHealth(yield* readHealth(conflicts), released, tries - 1)
    })

  const flush = writing.withPermits(1)(Effect.suspend(() => {
    const batch = queued
    queued = []
    if (batch.length === 0) return Effect.void
    listener.onWriteStart()
    const finished = batch.map(({ result: { delivery }, wasSent }) => ({ delivery, wasSent }))
    const results = batch.map((result) => result.result)
    const released = listener.leasesToRelease(finished)
    const byId = new Map(released.map((lease) => [lease.endpointId, lease]))
    const notify = Effect.sync(() => listener.onWritten(finished))
    return writeResults(results, released).pipe(
      Effect.retry(retrySchedule),
      Effect.matchCauseEffect({
        onSuccess: (reports) =>
          applyHealth(reports, byId).pipe(
            Effect.catchCause((cause) => Effect.logWarning("the health of webhook endpoints was not updated", cause)),
            Effect.andThen(notify)
          ),
        // Let go of at once, they would be claimed and sent again at once. What was answered is repeated: at least
        // once.
        onFailure: (cause) =>
          Effect.andThen(
            Effect.logError(
              "webhook results not written, their deliveries are tried again when a lease is over",
              cause
            ),
            Effect.forkIn(Effect.delay(notify, leaseSeconds * 1000), scope)
          )
      })
    )
  })).pipe(Effect.uninterruptible, Effect.provideService(SqlClient.SqlClient, sql))

  const put = (result: QueuedResult): void => {
    queued.push(result)
    work.openUnsafe()
    if (queued.length >= fullBatch || listener.isIdle()) isBatchFull.openUnsafe()
  }

  yield* work.await.pipe(
    Effect.andThen(Effect.timeoutOption(isBatchFull.await, gatherMillis)),
    Effect.andThen(Effect.suspend(() => {
      work.closeUnsafe()
      isBatchFull.closeUnsafe()
      return flush
    })),
    Effect.forever,
    Effect.forkScoped
  )

  return {
    /** Has a result written soon. */
    put,
    /** Done when everything put before is written. */
    flush,
    disable
  }
})

/** Where a commit about an endpoint of both environments is filed; it has no events that would tell. */
const anyEnvironment: Environment = "devnet"
