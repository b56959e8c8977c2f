/**
 * Whether the instances of a cluster can divide their work. They do by shards, each of which belongs to a role: work
 * whose shard is given to an instance that does not know it is done by nobody, and so is that of a shard that nobody
 * has, while all that is seen of the engine is well.
 *
 * Each instance writes down which work of its roles it knows, and looks once in a takeover at what others wrote and at
 * the locks that are granted.
 */
import { Effect, Metric } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { monotonicMillis } from "../Clock.ts"
import { type InstanceRole, instanceRoles } from "../Leases.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** How long instances may know different work: a rolling update takes minutes. 10 min. */
export const differenceMillis = 600_000

/** Takeovers after which a difference is logged: an instance that starts comes to know its work within seconds. */
const warningLooks = 3

/** Looks in a row, one in each takeover, that find a shard of a role without an owner before health says so. */
export const unownedLooks = 3

/** Names that one finding lists, at most. */
const shownNames = 5

export const unownedGauge = Metric.gauge("unowned_shards", {
  description: "Parts of the work of a cluster's roles that no instance has, as this instance sees it; above 0 for "
    + "longer than a few takeovers their work is done by nobody"
})

/** What a living instance wrote of one of its roles. */
export interface RoleReading {
  readonly address: string
  readonly role: string
  readonly names: ReadonlyArray<string>
}

/** Work of a role that some of its instances know and others do not. */
export interface Difference {
  readonly role: string
  readonly names: ReadonlyArray<string>
}

/** Differences among instances of the same role, in order of role. Pure. */
export const differencesOf = (readings: ReadonlyArray<RoleReading>): ReadonlyArray<Difference> =>
  [...Map.groupBy(readings, ({ role }) => role)]
    .flatMap(([role, ofRole]) => {
      const all = [...new Set(ofRole.flatMap(({ names }) => names))].toSorted()
      const names = all.filter((name) => !ofRole.every((reading) => reading.names.includes(name)))
      return names.length === 0 ? [] : [{ role, names }]
    })
    .toSorted((a, b) => a.role.localeCompare(b.role))

/** Shards that the roles of living instances have, less those whose lock one of them was granted. Pure. */
export const unownedOf = (
  readings: ReadonlyArray<Pick<RoleReading, "role">>,
  grantedOf: (role: InstanceRole) => number,
  shardsPerRole: number
): number =>
  instanceRoles
    .filter((role) => readings.some((reading) => reading.role === role))
    .reduce((sum, role) => sum + Math.max(0, shardsPerRole - grantedOf(role)), 0)

/** What was seen so far. */
export interface Division {
  readonly differences: ReadonlyArray<Difference>
  /** Monotonic milliseconds of the first look that found some, null where the last one found none. */
  readonly differentSinceMillis: number | null
  readonly unowned: number
  /** Looks in a row that found some. */
  readonly unownedLooks: number
}

export const emptyDivision: Division = { differences: [], differentSinceMillis: null, unowned: 0, unownedLooks: 0 }

/** After a look. Pure. */
export const afterLook = (
  before: Division,
  { differences, unowned }: Pick<Division, "differences" | "unowned">,
  nowMillis: number
): Division => ({
  differences,
  differentSinceMillis: differences.length === 0 ? null : before.differentSinceMillis ?? nowMillis,
  unowned,
  unownedLooks: unowned === 0 ? 0 : before.unownedLooks + 1
})

const listed = (names: ReadonlyArray<string>): string =>
  names.slice(0, shownNames).map((name) => `"${name}"`).join(", ")
  + (names.length > shownNames ? ` and ${names.length - shownNames} more` : "")

const sayDifference = ({ names, role }: Difference): string =>
  `Not all instances with the role "${role}" know ${
    listed(names)
  }: where it falls to one that does not, nobody does it. `
  + "An update ends this by itself; otherwise give all instances the same version and the same config."

/** What health says. Pure. */
export const divisionFindings = (division: Division, nowMillis: number): ReadonlyArray<Finding> => [
  ...(division.differentSinceMillis !== null && nowMillis - division.differentSinceMillis >= differenceMillis
    ? division.differences.map((difference): Finding => ({ effect: "degraded", message: sayDifference(difference) }))
    : []),
  ...(division.unownedLooks >= unownedLooks
    ? [{
      effect: "degraded" as const,
      message: `${division.unowned} parts of the cluster's work have no instance, and what falls to them is done by `
        + "nobody: look in the logs of all instances for locks, and end sessions of the database that hold advisory locks "
        + "and belong to no instance that runs."
    }]
    : [])
]

export interface DivisionOptions {
  /** As in `cluster_runners`, and the name of the instance's sessions. */
  readonly address: string
  readonly roles: ReadonlyArray<InstanceRole>
  readonly takeoverMillis: number
  readonly shardsPerRole: number
  /** First key of the advisory locks, whose second one is the shard's number. */
  readonly lockNamespace: number
}

interface LookRow {
  readonly address: string
  readonly role: string
  readonly names: ReadonlyArray<string>
  readonly granted: ReadonlyArray<number> | null
}

/**
 * Looks for ever. `namesOf` is the work that this instance knows of a role. The effect of the result is what health
 * says, from memory.
 */
export const watchDivision = (
  sql: SqlClient.SqlClient,
  { address, lockNamespace, roles, shardsPerRole, takeoverMillis }: DivisionOptions,
  namesOf: (role: InstanceRole) => ReadonlyArray<string>
) =>
  Effect.gen(function*() {
    let division = emptyDivision
    let isWarned = false

    const write = (role: InstanceRole, names: ReadonlyArray<string>) =>
      sql`INSERT INTO cluster_roles (address, role, names) VALUES (${address}, ${role}, ${names}::text[])
        ON CONFLICT (address, role) DO UPDATE SET names = excluded.names`

    // Members as in the driver's storage. The locks of a session that belongs to none of them are nobody's.
    const read = sql<LookRow>`
      WITH members AS MATERIALIZED (
        SELECT r.address FROM cluster_runners r
        WHERE r.last_heartbeat BETWEEN now() - ${takeoverMillis}::float8 * interval '1 millisecond'
            AND now() + ${takeoverMillis}::float8 * interval '1 millisecond'
          AND EXISTS (SELECT 1 FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.application_name = r.address)
      ), granted AS MATERIALIZED (
        SELECT l.objid::bigint / 1000000 AS place, count(*) AS shards
        FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid::bigint = ${lockNamespace}::bigint
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND a.application_name IN (SELECT address FROM members)
        GROUP BY 1
      )
      SELECT c.address, c.role, c.names, (
        SELECT json_agg(coalesce(g.shards, 0) ORDER BY p.place)
        FROM generate_series(1, ${instanceRoles.length}::int) AS p(place) LEFT JOIN granted g ON g.place = p.place
      ) AS granted
      FROM cluster_roles c JOIN members m ON m.address = c.address`

    const removeOfOthers = sql`DELETE FROM cluster_roles c
      WHERE NOT EXISTS (SELECT 1 FROM cluster_runners r WHERE r.address = c.address) AND c.address <> ${address}`

    const look: Effect.Effect<void, SqlError.SqlError> = Effect.gen(function*() {
      const rows = yield* read
      let isChanged = false
      for (const role of roles) {
        const names = namesOf(role).toSorted()
        const written = rows.find((row) => row.address === address && row.role === role)?.names
        if (
          written !== undefined && written.length === names.length && names.every((name, at) => written[at] === name)
        ) {
          continue
        }
        yield* write(role, names)
        isChanged = true
      }
      if (isChanged) yield* removeOfOthers
      // Before this instance is a member, and has written, it sees too little to judge.
      if (isChanged || rows.length === 0) return
      const granted = rows[0]!.granted ?? []
      const unowned = unownedOf(rows, (role) => Number(granted[instanceRoles.indexOf(role)] ?? 0), shardsPerRole)
      const now = yield* monotonicMillis
      division = afterLook(division, { differences: differencesOf(rows), unowned }, now)
      yield* Metric.update(unownedGauge, unowned)
      const { differentSinceMillis } = division
      const isLasting = differentSinceMillis !== null && now - differentSinceMillis >= warningLooks * takeoverMillis
      if (isLasting && !isWarned) {
        yield* Effect.forEach(division.differences, (difference) => Effect.logWarning(sayDifference(difference)), {
          discard: true
        })
      }
      isWarned = isLasting
    })

    yield* Effect.forkScoped(
      Effect.sleep(takeoverMillis).pipe(
        Effect.andThen(look),
        Effect.catchCause((cause) => Effect.logWarning("How the cluster divides its work was not looked at", cause)),
        Effect.forever
      )
    )
    return Effect.map(monotonicMillis, (now) => divisionFindings(division, now))
  })
