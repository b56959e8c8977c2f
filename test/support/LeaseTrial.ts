/**
 * Instances of a cluster as processes, each with pieces of work that write fenced rows every 50 ms: how long a piece is
 * done by nobody when an instance is killed, stopped, frozen or stalled, and what a paused one still writes.
 */
import { Effect, type Scope } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { randomUUID } from "node:crypto"
import { type InstanceRole, instanceRoles } from "../../runtime/Leases.ts"
import type { LeaseProcessSpecification } from "./leaseProcess.ts"

/** Runs a statement on the database of the trial. */
export type TrialQuery = (text: string, values?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<any>>

export interface TrialInstance {
  readonly instanceId: string
  readonly child: ChildProcess
}

export interface TrialOptions {
  readonly url: string
  readonly query: TrialQuery
  readonly names: ReadonlyArray<string>
  readonly takeoverMillis: number
}

/** Two thirds are followers of networks, the rest due work. */
export const trialNames = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => index % 3 === 2 ? `timer:${index}` : `chain:${index}`)

/** Makes the table of the rows. */
export const prepareTrial = (query: TrialQuery) =>
  Effect.andThen(
    query(`create unlogged table lease_writes (
      id bigint generated always as identity primary key, name text not null, instance text not null,
      token bigint not null, accepted boolean not null, at timestamptz not null default clock_timestamp())`),
    query("create index lease_writes_by_term on lease_writes (name, token)")
  )

/** A process that is killed with the scope. */
export const startInstance = (
  { names, takeoverMillis, url }: TrialOptions,
  roles: ReadonlyArray<InstanceRole> = instanceRoles
): Effect.Effect<TrialInstance, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<TrialInstance>((resume) => {
      const instanceId = randomUUID()
      const spec: LeaseProcessSpecification = { url, instanceId, roles, takeoverMillis, names }
      const child = fork(new URL("leaseProcess.ts", import.meta.url).pathname, [JSON.stringify(spec)], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        execArgv: [],
        serialization: "advanced"
      })
      child.once("message", () => resume(Effect.succeed({ instanceId, child })))
      child.once("exit", (code) => resume(Effect.die(new Error(`an instance of the trial ended with ${code}`))))
    }),
    ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
  )

/** Asks an instance to block its event loop. */
export const stall = ({ child }: TrialInstance, stallMillis: number) =>
  Effect.sync(() => void child.send({ questionId: 0, question: { stallMillis } }))

/** How many names each instance writes now. */
export const spread = (query: TrialQuery): Effect.Effect<ReadonlyMap<string, number>> =>
  Effect.map(
    query(`select instance, count(distinct name)::int as names from lease_writes
      where accepted and at > clock_timestamp() - interval '400 milliseconds' group by instance`),
    (rows) => new Map(rows.map(({ instance, names }) => [instance, names]))
  )

/** The instance with the most names: a ring of three is even on average only, and may leave one with none. */
export const busiestOf = (
  instances: ReadonlyArray<TrialInstance>,
  found: ReadonlyMap<string, number>
): TrialInstance => instances.toSorted((a, b) => (found.get(b.instanceId) ?? 0) - (found.get(a.instanceId) ?? 0))[0]!

/** Waits until each name is done by one instance, and at most `instances` do any. */
export const awaitCalm = (query: TrialQuery, names: number, instances: number) =>
  Effect.gen(function*() {
    const end = performance.now() + 60_000
    while (true) {
      const found = yield* spread(query)
      const sum = [...found.values()].reduce((a, b) => a + b, 0)
      if (sum === names && found.size <= instances) return found
      if (performance.now() > end) {
        return yield* Effect.die(new Error(`no calm: ${JSON.stringify([...found])} of ${names} names`))
      }
      yield* Effect.sleep(200)
    }
  })

export interface Gaps {
  /** Milliseconds without an accepted row, the longest of each name, in order. */
  readonly longest: ReadonlyArray<number>
  /** Rows that were refused since then. */
  readonly refused: number
  /** Accepted rows of a term that came after the first one of a newer term: there must be none. */
  readonly broken: number
}

/** The present time of the database, as text. */
export const now = (query: TrialQuery): Effect.Effect<string> =>
  Effect.map(query("select clock_timestamp()::text as now"), ([row]) => row.now)

/** What happened since then. */
export const gapsSince = (query: TrialQuery, since: string): Effect.Effect<Gaps> =>
  Effect.gen(function*() {
    const rows = yield* query(
      `select name, max(gap)::float8 as gap from (
        select name, extract(epoch from lead(at, 1, clock_timestamp()) over (partition by name order by at) - at) * 1000
          as gap, at from lease_writes where accepted and at > $1::timestamptz - interval '1 second'
      ) g where at > $1::timestamptz - interval '200 milliseconds' group by name order by gap`,
      [since]
    )
    const [sums] = yield* query(
      `select (select count(*)::int from lease_writes where not accepted and at > $1::timestamptz) as refused,
        (select count(*)::int from lease_writes w where accepted and exists (
          select from lease_writes n where n.name = w.name and n.accepted and n.token > w.token and n.id < w.id
            and n.at < w.at
        ) and w.at > $1::timestamptz) as broken`,
      [since]
    )
    return { longest: rows.map(({ gap }) => gap), refused: sums.refused, broken: sums.broken }
  })
