/** Whether the service can do its work, as probes and internal services read it. */
import { Schema } from "effect"

export const HealthReport = Schema.Struct({
  /** `degraded`: it works, something needs a look; `unavailable`: send no requests now. */
  status: Schema.Literals(["ok", "degraded", "unavailable"]),
  checks: Schema.Struct({
    /** The database answered within {@link databasePatienceMillis}. */
    database: Schema.Struct({ ok: Schema.Boolean }),
    /** Every table is at this build's version. */
    migrations: Schema.Struct({ ok: Schema.Boolean }),
    /**
     * How long the oldest webhook delivery could have been sent and was not: what waits for a receiver is not in it. Null
     * while unknown.
     */
    deliveries: Schema.Struct({ ok: Schema.Boolean, oldest_due_seconds: Schema.NullOr(Schema.Int) }),
    /** False once a stop was asked for. */
    accepting: Schema.Struct({ ok: Schema.Boolean })
  })
})
export type HealthReport = typeof HealthReport.Type

/** Milliseconds the database may take to answer the check. */
export const databasePatienceMillis = 2_000

/** Seconds after which a delivery that could have been sent means that something of ours is stuck: ten leases over. */
export const staleDeliverySeconds = 300

/** What was found out, before it is judged. */
export interface Findings {
  readonly database: boolean
  readonly migrated: boolean
  readonly outboxLagSeconds: number | null
  readonly stopping: boolean
}

/** The report of `findings`. A late delivery degrades only: refusing requests would not send it sooner. */
export const judge = ({ database, migrated, outboxLagSeconds, stopping }: Findings): HealthReport => {
  const timely = outboxLagSeconds === null || outboxLagSeconds <= staleDeliverySeconds
  const able = database && migrated && !stopping
  return {
    status: able ? (timely ? "ok" : "degraded") : "unavailable",
    checks: {
      database: { ok: database },
      migrations: { ok: migrated },
      deliveries: { ok: timely, oldest_due_seconds: outboxLagSeconds },
      accepting: { ok: !stopping }
    }
  }
}
