/** Whether the service can do its work, as probes and internal services read it. */
import { Schema } from "effect"

/** The checks that parts of the service register, beside the database's own. */
export const CheckName = Schema.Literals([
  "database",
  "writes",
  "networks",
  "leases",
  "transfers",
  "timers",
  "prices",
  "archive",
  "partitions",
  "accepting"
])
export type CheckName = typeof CheckName.Type

/** Something that is wrong, in a sentence for the operator: what it means and what to do. */
export const HealthProblem = Schema.Struct({ check: Schema.String, message: Schema.String })
export type HealthProblem = typeof HealthProblem.Type

const Check = Schema.Struct({ ok: Schema.Boolean })

export const HealthReport = Schema.Struct({
  /**
   * `degraded`: this instance serves, and an operator should look; `unavailable`: send it no requests now. A fault that
   * all instances share, such as one network's nodes or a queue, only degrades: another instance would serve no better.
   */
  status: Schema.Literals(["ok", "degraded", "unavailable"]),
  /** Why it is unavailable; empty while it is not. */
  unavailable: Schema.Array(HealthProblem),
  /** What an operator should look at; empty while nothing is wrong. */
  degraded: Schema.Array(HealthProblem),
  checks: Schema.Struct({
    /** The database answered within {@link databaseTimeoutMillis}, and its connections keep their sessions. */
    database: Check,
    /** Every table is at this build's version. */
    migrations: Check,
    /**
     * How long the oldest webhook delivery could have been sent and was not: what waits for a receiver is not in it.
     * Null while unknown.
     */
    deliveries: Schema.Struct({ ok: Schema.Boolean, oldest_due_seconds: Schema.NullOr(Schema.Int) }),
    /** False once a stop was asked for, and while an HTTP process is missing. */
    accepting: Check,
    /** Commits are stored. */
    writes: Check,
    /** Every network's nodes answer, make progress and agree. */
    networks: Check,
    /** Each piece of background work is done by some instance. */
    leases: Check,
    /** No payment that was seen waits to be credited. */
    transfers: Check,
    /** No due work is late: an expiry, or events that wait for a sink. */
    timers: Check,
    /** Every asset that had a usable price has one. */
    prices: Check,
    /** Changes of the embedded database reach its archive in time; true where none is configured. */
    archive: Check,
    /** Months are made ahead of the tables that have a partition for each. */
    partitions: Check
  })
}).annotate({
  identifier: "HealthReport",
  description: "What works, and what an operator should look at.",
  examples: [{
    status: "ok",
    unavailable: [],
    degraded: [],
    checks: {
      database: { ok: true },
      migrations: { ok: true },
      deliveries: { ok: true, oldest_due_seconds: 0 },
      accepting: { ok: true },
      writes: { ok: true },
      networks: { ok: true },
      leases: { ok: true },
      transfers: { ok: true },
      timers: { ok: true },
      prices: { ok: true },
      archive: { ok: true },
      partitions: { ok: true }
    }
  }]
})
export type HealthReport = typeof HealthReport.Type

/** Milliseconds the database may take to answer the check. */
export const databaseTimeoutMillis = 2_000

/** Seconds after which a delivery that could have been sent means that something of ours is stuck: ten leases over. */
export const staleDeliverySeconds = 300

/** A fault that a check found. */
export interface Finding {
  readonly effect: "degraded" | "unavailable"
  readonly message: string
}

/** What was found out, before the report is made. */
export interface Findings {
  readonly database: boolean
  readonly isMigrated: boolean
  readonly outboxLagSeconds: number | null
  readonly isStopping: boolean
  readonly checkFindings: ReadonlyArray<Finding & { readonly check: CheckName }>
}

/**
 * The report of a service of several processes, as one of its HTTP processes gives it: `own` and what the `first`
 * process says of the rest; null: it did not answer. Pure.
 */
export const mergeReports = (own: HealthReport, first: HealthReport | null): HealthReport => {
  if (first === null) {
    const message = "The first process did not answer: payments, webhooks and timers may be standing still."
    const degraded = [...own.degraded, { check: "accepting", message }]
    const checks = { ...own.checks, accepting: { ok: false } }
    return { ...own, status: own.status === "ok" ? "degraded" : own.status, degraded, checks }
  }
  const both = (list: "unavailable" | "degraded") => [
    ...new Map([...own[list], ...first[list]].map((problem) => [`${problem.check} ${problem.message}`, problem]))
      .values()
  ]
  const isWell = (check: keyof HealthReport["checks"]) => ({ ok: own.checks[check].ok && first.checks[check].ok })
  const unavailable = both("unavailable")
  const degraded = both("degraded")
  return {
    status: unavailable.length > 0 ? "unavailable" : degraded.length > 0 ? "degraded" : "ok",
    unavailable,
    degraded,
    checks: {
      database: isWell("database"),
      migrations: isWell("migrations"),
      deliveries: { ...first.checks.deliveries, ...isWell("deliveries") },
      accepting: isWell("accepting"),
      writes: isWell("writes"),
      networks: isWell("networks"),
      leases: isWell("leases"),
      transfers: isWell("transfers"),
      timers: isWell("timers"),
      prices: isWell("prices"),
      archive: isWell("archive"),
      partitions: isWell("partitions")
    }
  }
}

/** The report of `findings`. Pure. */
export const makeReport = (
  { database, isMigrated, outboxLagSeconds, checkFindings, isStopping }: Findings
): HealthReport => {
  const isTimely = outboxLagSeconds === null || outboxLagSeconds <= staleDeliverySeconds
  const problems = (effect: Finding["effect"]) =>
    checkFindings.filter((part) => part.effect === effect).map(({ check, message }): HealthProblem => ({
      check,
      message
    }))
  const unavailable: ReadonlyArray<HealthProblem> = [
    ...(isStopping ? [{ check: "accepting", message: "The service is stopping." }] : []),
    ...(database ? [] : [{
      check: "database",
      message: `The database did not answer in ${
        databaseTimeoutMillis / 1000
      } s: nothing can be read or written until it does.`
    }]),
    ...(isMigrated ? [] : [{ check: "migrations", message: "The service is starting: its tables are not ready yet." }]),
    ...problems("unavailable")
  ]
  const degraded: ReadonlyArray<HealthProblem> = [
    ...(isTimely ? [] : [{
      check: "deliveries",
      message:
        `A webhook delivery could have been sent ${outboxLagSeconds} s ago and was not: see the log for deliveries that fail.`
    }]),
    ...problems("degraded")
  ]
  const isWell = (check: CheckName) => ({ ok: checkFindings.every((part) => part.check !== check) })
  return {
    status: unavailable.length > 0 ? "unavailable" : degraded.length > 0 ? "degraded" : "ok",
    unavailable,
    degraded,
    checks: {
      database: { ok: database && isWell("database").ok },
      migrations: { ok: isMigrated },
      deliveries: { ok: isTimely, oldest_due_seconds: outboxLagSeconds },
      accepting: { ok: !isStopping && isWell("accepting").ok },
      writes: isWell("writes"),
      networks: isWell("networks"),
      leases: isWell("leases"),
      transfers: isWell("transfers"),
      timers: isWell("timers"),
      prices: isWell("prices"),
      archive: isWell("archive"),
      partitions: isWell("partitions")
    }
  }
}
