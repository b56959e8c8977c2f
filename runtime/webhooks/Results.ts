/**
 * What became of attempts, written down: one writer takes everything that has gathered. Then what the attempts say of
 * their endpoints: breakers, and endpoints that are switched off.
 */
import { Clock, Effect, Latch, Schedule, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Commit, noCause } from "../Commit.ts"
import type { Environment } from "../../schemas/Network.ts"
import { judge } from "./Breaker.ts"
import { endpointWrite, findEndpoint } from "./Endpoints.ts"
import type { Ended } from "./Lanes.ts"
import { cancelWaiting, type Claimed, type HeldLane, type LaneReport, leaseSeconds, type Mark, mark, readLanes, writeLanes } from "./Queue.ts"

/**
 * Results that are written without waiting for more: with twice as many deliveries were a sixth faster (measured), and
 * a kill repeated twice as many.
 */
const fullBatch = 64

/** How long results wait for more while deliveries are on their way: nobody waits for them, and a kill repeats few. */
const gatherMillis = 5

/** How results are tried again that could not be written: 3 s in all, for a database that restarts or fails over. */
const again = { schedule: Schedule.exponential("100 millis"), times: 5 }

/** Tries to write a lane, or to switch an endpoint off, while others change the row. */
const conflictTries = 3

/** Why an endpoint was switched off, as its `disabled_reason` says. */
export type DisabledReason = "gone" | "failing"

/** A result on its way to the database; `sent` rows took a slot. */
export interface Result {
  readonly mark: Mark
  readonly sent: boolean
}

/** What the writer of results asks and tells. */
export interface Ledger {
  /** Whether no more results are to be expected soon. */
  readonly isQuiet: () => boolean
  /** A writing begins: from now until `written` it may hold rows of lanes, and claims pass those over. */
  readonly begins: () => void
  /** Lanes to let go of with these results. */
  readonly emptiedBy: (results: ReadonlyArray<Ended>) => ReadonlyArray<HeldLane>
  /** They are written, or it was long ago that they could not be. */
  readonly written: (results: ReadonlyArray<Ended>) => void
}

/** The writer of an instance's results. */
export const makeResults = Effect.fnUntraced(function*(ledger: Ledger) {
  const commit = yield* Commit
  const sql = yield* SqlClient.SqlClient
  const scope = yield* Effect.scope
  const writing = yield* Semaphore.make(1)
  const work = yield* Latch.make()
  const enough = yield* Latch.make()
  let gathered: Array<Result> = []

  /**
   * Switches an endpoint off at once and cancels what waits for it
   * (modules/docs/reference/webhooks.md#an-endpoint-that-fails), but for the delivery that is the reason; when its URL
   * is not the endpoint's any more, that was changed since.
   */
  const disable = (
    { endpointId, merchantId }: Pick<LaneReport, "endpointId" | "merchantId">,
    reason: DisabledReason,
    cause?: Claimed
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
      Effect.retry({ times: conflictTries, while: (error) => error._tag === "Conflict" }),
      Effect.catch((error) => Effect.logError(`webhook endpoint ${endpointId} not disabled`, error)),
      Effect.provideService(SqlClient.SqlClient, sql)
    )

  /** A lane that another instance wrote meanwhile is judged again by what it is then. Those in `released` are let go of. */
  const judgeLanes = (
    reports: ReadonlyArray<LaneReport>,
    released: ReadonlyMap<string, HeldLane>,
    tries = conflictTries
  ): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
    Effect.gen(function*() {
      if (reports.length === 0) return
      if (tries === 0) return yield* Effect.logWarning("webhook lanes not written: others keep changing them")
      const judged = reports.map((report) => ({
        report,
        release: released.get(report.endpointId),
        ...judge(report.lane, report.evidence)
      }))
      const lost = yield* writeLanes(judged)
      for (const { disable: off, lane, report } of judged) {
        if (lost.includes(report)) continue
        if (lane.openings > report.lane.openings) {
          yield* Effect.logInfo(`webhook endpoint ${report.endpointId} fails: nothing is sent to it for a while`, {
            openings: lane.openings
          })
        }
        if (off) yield* disable(report, "failing")
      }
      if (lost.length > 0) yield* judgeLanes(yield* readLanes(lost), released, tries - 1)
    })

  const flush = writing.withPermits(1)(Effect.suspend(() => {
    const taken = gathered
    gathered = []
    if (taken.length === 0) return Effect.void
    ledger.begins()
    const ended = taken.map(({ mark: { claimed }, sent }) => ({ claimed, sent }))
    const marks = taken.map((result) => result.mark)
    const released = ledger.emptiedBy(ended)
    const byId = new Map(released.map((lane) => [lane.endpointId, lane]))
    const done = Effect.sync(() => ledger.written(ended))
    return mark(marks, released).pipe(
      Effect.retry(again),
      Effect.matchCauseEffect({
        onSuccess: (reports) =>
          judgeLanes(reports, byId).pipe(
            Effect.catchCause((cause) => Effect.logWarning("webhook lanes not judged", cause)),
            Effect.andThen(done)
          ),
        // Let go of at once, they would be claimed and sent again at once. What was answered is repeated: at least once.
        onFailure: (cause) =>
          Effect.andThen(
            Effect.logError("webhook results not written, their deliveries are tried again when a lease is over", cause),
            Effect.forkIn(Effect.delay(done, leaseSeconds * 1000), scope)
          )
      })
    )
  })).pipe(Effect.uninterruptible, Effect.provideService(SqlClient.SqlClient, sql))

  const put = (result: Result): void => {
    gathered.push(result)
    work.openUnsafe()
    if (gathered.length >= fullBatch || ledger.isQuiet()) enough.openUnsafe()
  }

  yield* work.await.pipe(
    Effect.andThen(Effect.timeoutOption(enough.await, gatherMillis)),
    Effect.andThen(Effect.suspend(() => {
      work.closeUnsafe()
      enough.closeUnsafe()
      return flush
    })),
    Effect.forever,
    Effect.forkScoped
  )

  return {
    /** Has a result written soon. */
    put,
    /** Done when everything put before is written. */
    settled: flush,
    disable
  }
})

/** Where a commit about an endpoint of both environments is filed; it has no events that would tell. */
const anyEnvironment: Environment = "devnet"
