/** How the delivery queue stands: asked of the database by the health check, told as metrics. */
import { Effect, Metric } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { leaseSeconds } from "./DeliveryRepo.ts"
import type { DueSpan } from "./DueSpan.ts"

/** The queue of all instances. Ages are whole seconds, 0 where nothing waits. */
export interface Lag {
  /**
   * How long the oldest delivery could have been sent and was not: what we owe. What waits behind a breaker, for a
   * retry or for a slow receiver is not in it.
   */
  readonly outboxLagSeconds: number
  /** How long ago the oldest waiting delivery became due, those of dead endpoints included. */
  readonly oldestPendingSeconds: number
  /** Endpoints with something due. */
  readonly endpointsWaiting: number
  /** Enabled endpoints whose last attempt failed. */
  readonly endpointsFailing: number
  /** Enabled endpoints whose breaker lets nothing pass, and those whose breaker waits for its probe. */
  readonly breakersOpen: number
  readonly breakersHalfOpen: number
}

interface Row {
  readonly owed_ms: number
  readonly oldest_ms: number
  readonly waiting: number
  readonly failing: number
  readonly opened: number
  readonly half_open: number
}

/** The queue as it is now. Costs one index probe for each endpoint with something waiting, and each partition of `span`. */
export const lag = Effect.fnUntraced(function*({ from, to }: DueSpan): Effect.fn.Return<
  Lag,
  SqlError.SqlError,
  SqlClient.SqlClient
> {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<Row>`
    SELECT * FROM webhook_lag_v2(${leaseSeconds}::integer * interval '1 second', ${from}::timestamptz, ${to}::timestamptz)`
  const { failing, half_open, oldest_ms, opened, owed_ms, waiting } = row!
  return {
    outboxLagSeconds: Math.floor(owed_ms / 1000),
    oldestPendingSeconds: Math.floor(oldest_ms / 1000),
    endpointsWaiting: waiting,
    endpointsFailing: failing,
    breakersOpen: opened,
    breakersHalfOpen: half_open
  }
})

const outboxLag = Metric.gauge("outbox_lag_seconds", {
  description: "How long the oldest webhook delivery could have been sent and was not"
})
const oldestPending = Metric.gauge("webhook_oldest_pending_seconds", {
  description: "How long ago the oldest waiting webhook delivery became due, those of dead endpoints included"
})
const waiting = Metric.gauge("webhook_endpoints_waiting", {
  description: "Webhook endpoints with a delivery that is due"
})
const failing = Metric.gauge("webhook_endpoints_failing", {
  description: "Enabled webhook endpoints whose last attempt failed"
})
const breakers = Metric.gauge("webhook_breakers", {
  description: "Enabled webhook endpoints by the state of their breaker"
})
const open = Metric.withAttributes(breakers, { state: "open" })
const halfOpen = Metric.withAttributes(breakers, { state: "half_open" })

/** Shows the queue in the metrics. */
export const recordLag = (found: Lag): Effect.Effect<void> =>
  Effect.all([
    Metric.update(outboxLag, found.outboxLagSeconds),
    Metric.update(oldestPending, found.oldestPendingSeconds),
    Metric.update(waiting, found.endpointsWaiting),
    Metric.update(failing, found.endpointsFailing),
    Metric.update(open, found.breakersOpen),
    Metric.update(halfOpen, found.breakersHalfOpen)
  ], { discard: true })
