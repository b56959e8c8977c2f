/** What attempts say of their endpoints, written down: breakers, and endpoints that are switched off. */
import { Clock, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Commit, noCause, retryConflicts } from "../Commit.ts"
import { Notices } from "../Notices.ts"
import type { Environment } from "../../schemas/Network.ts"
import { updateHealth } from "./CircuitBreaker.ts"
import { endpointWrite, findEndpoint } from "./Endpoints.ts"
import {
  cancelWaiting,
  type ClaimedEndpoint,
  type EndpointKey,
  type EndpointLease,
  type EndpointReport,
  readHealth,
  writeHealth
} from "./DeliveryRepo.ts"

/** How often one tries to write an endpoint's health, or to disable the endpoint, while others change the row. */
const maximumTries = 3

/** Why an endpoint was switched off, as its `disabled_reason` says. */
export type DisabledReason = "gone" | "failing"

/** Where a commit about an endpoint of both environments is filed; it has no events that would tell. */
const anyEnvironment: Environment = "devnet"

/** Which delivery is the reason, and where it was sent. */
interface DisableCause {
  readonly id: string
  readonly endpoint: Pick<ClaimedEndpoint, "url">
}

/** The writer of the health of endpoints. */
export const makeHealthWriter = Effect.gen(function*() {
  const commit = yield* Commit
  const notices = yield* Notices
  const sql = yield* SqlClient.SqlClient

  /**
   * Disables the endpoint and cancels its waiting deliveries except the one that caused it
   * (modules/docs/reference/webhooks.md#an-endpoint-that-fails). Does nothing if the URL changed since that delivery
   * was sent.
   */
  const disable = ({ endpointId, merchantId }: EndpointKey, reason: DisabledReason, cause?: DisableCause) =>
    Effect.gen(function*() {
      const row = yield* findEndpoint(merchantId, endpointId)
      if (row === undefined || row.status !== "enabled") return
      if (cause !== undefined && row.url !== cause.endpoint.url) return
      const now = yield* Clock.currentTimeMillis
      const version = row.version + 1
      yield* commit.append({
        merchantId,
        environment: row.environment ?? anyEnvironment,
        cause: noCause,
        writes: [
          endpointWrite({
            ...row,
            version,
            status: "disabled",
            disabledReason: reason,
            updatedAt: Math.floor(now / 1000)
          }),
          ...yield* notices.draft({
            id: `${endpointId}_${version}`,
            merchantId,
            environment: row.environment,
            kind: "endpoint",
            subject: endpointId,
            type: reason,
            amount: null
          })
        ],
        events: []
      })
      yield* cancelWaiting(merchantId, endpointId, cause?.id)
      yield* Effect.logWarning(`webhook endpoint ${endpointId} is disabled: ${reason}`)
    }).pipe(
      retryConflicts(maximumTries - 1),
      Effect.catch((error) => Effect.logError(`webhook endpoint ${endpointId} not disabled`, error)),
      Effect.provideService(SqlClient.SqlClient, sql)
    )

  const applyTried = (
    reports: ReadonlyArray<EndpointReport>,
    released: ReadonlyMap<string, EndpointLease>,
    tries: number
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
      if (conflicts.length > 0) yield* applyTried(yield* readHealth(conflicts), released, tries - 1)
    })

  return {
    disable,
    /**
     * Updates health by reports; what another instance wrote meanwhile is read and updated again. The leases of these
     * endpoints in `released` are released.
     */
    apply: (
      reports: ReadonlyArray<EndpointReport>,
      released: ReadonlyArray<EndpointLease>
    ): Effect.Effect<void, never, SqlClient.SqlClient> =>
      applyTried(reports, new Map(released.map((lease) => [lease.endpointId, lease])), maximumTries).pipe(
        Effect.catchCause((cause) => Effect.logWarning("the health of webhook endpoints was not updated", cause))
      )
  }
})
