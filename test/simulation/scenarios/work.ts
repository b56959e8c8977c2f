/**
 * Work that one instance at a time does, on three of them: a follower whose commits carry the fence of its lease, and
 * rows that fall due. Instances are killed and paused, clocks are set, connections break.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Commit, type Fence, noCause } from "../../../runtime/Commit.ts"
import { layer as groupCommit } from "../../../runtime/commit/GroupCommit.ts"
import { Leases } from "../../../runtime/Leases.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { layer as timersLayer, Timers } from "../../../runtime/Timers.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { Cluster } from "../Cluster.ts"
import { drawsOf } from "../Draws.ts"
import type { Scenario, Violation } from "../Simulation.ts"
import type { Instance } from "../World.ts"

const promises = {
  fence: "what the work of a lease stored is stored in the order of its tokens, each step once",
  due: "a row that fell due is handled, and once",
  progress: "work goes on within three terms after the last fault",
  alone: "when nothing goes wrong any more, one instance does the work"
} as const

const instances = 3
/** Rows that are planned by one commit, and how many such commits there are. */
const rowsOfPlan = 6
const plans = 2
const termMillis = 6_000
/** Milliseconds between two steps of the follower. */
const stepMillis = 700
/** A row that cannot be handled is looked at again after this long at most: half a minute of pauses, and a poll. */
const patienceMillis = 120_000

const eventOf = (id: string, more: Readonly<Record<string, unknown>>): EventDraft => ({
  type: "invoice.updated",
  object: { object: "invoice", id, invoice_type: "standard", customer_id: null, ...more },
  previousAttributes: {}
})

interface Row {
  readonly id: string
  readonly version: bigint
  readonly due: bigint
}

/** The next step of the follower, in one commit with its fence. */
const followOnce = (fence: Fence) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const commit = yield* Commit
    const [row] = yield* sql<Row>`select id, version, due from work where merchant_id = 1 and id = 'cursor'`
    const version = Number(row?.version ?? 0n) + 1
    yield* commit.append({
      merchantId: 1,
      environment: "devnet",
      cause: noCause,
      writes: [{ table: "work", row: { merchant_id: 1, id: "cursor", version, due: 0 } }],
      events: [eventOf("cursor", { version, token: String(fence.token) })],
      fence
    })
  })

/** Rows whose time has come, each in a commit of its own. */
const handleDue = (nowMillis: number, limit: number) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const commit = yield* Commit
    const rows = yield* sql<Row>`select id, version, due from work
      where merchant_id = 2 and version = 1 and due <= ${String(nowMillis)}::bigint
      order by due limit ${limit}::integer`
    yield* Effect.forEach(
      rows,
      ({ due, id }) =>
        Effect.ignore(commit.append({
          merchantId: 2,
          environment: "devnet",
          cause: noCause,
          writes: [{ table: "work", row: { merchant_id: 2, id, version: 2, due: String(due) } }],
          events: [eventOf(id, { handled: true })]
        })),
      { discard: true }
    )
    return rows.length
  }).pipe(Effect.orDie)

const nextDue = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<
    { due: bigint | null }
  >`select min(due) as due from work where merchant_id = 2 and version = 1`
  return row?.due == null ? null : Number(row.due)
}).pipe(Effect.orDie)

type Services = Commit | Leases | Timers | SqlClient.SqlClient

/** What an instance does from its start on. `isAtWork` tells which instances run the follower. */
const work = (instance: Instance, atWork: Set<Instance>): Effect.Effect<void, never, Services | Scope.Scope> =>
  Effect.gen(function*() {
    const leases = yield* Leases
    const timers = yield* Timers
    const context = yield* Effect.context<Services>()
    const follow = (fence: Fence, progress: Effect.Effect<void>) =>
      Effect.sync(() => atWork.add(instance)).pipe(
        Effect.andThen(Effect.forever(
          Effect.ignore(followOnce(fence)).pipe(Effect.andThen(progress), Effect.andThen(Effect.sleep(stepMillis)))
        )),
        Effect.ensuring(Effect.sync(() => atWork.delete(instance)))
      )
    yield* Effect.forkScoped(
      leases.hold("follower", { role: "follower", ttlMillis: termMillis, passMillis: 10 * termMillis }, follow)
    )
    yield* timers.register({
      name: "rows",
      batchSize: 4,
      nextDueMillis: Effect.provideContext(nextDue, context),
      run: (now, limit) => Effect.provideContext(handleDue(now, limit), context)
    })
  })

const run: Scenario["run"] = async (world, database) => {
  const draws = drawsOf(world.plan.seed, "callers")
  const atWork = new Set<Instance>()
  const acknowledged = new Set<string>()
  const cluster = new Cluster<Services>(
    world,
    instances,
    (instance) =>
      Layer.effectDiscard(work(instance, atWork)).pipe(
        Layer.provideMerge(timersLayer),
        Layer.provideMerge(Layer.mergeAll(leasesLayer, MerchantClock.system, groupCommit(["work"]))),
        Layer.provideMerge(database.layer(world, instance))
      )
  )
  const outside = await world.complete(Effect.scoped(Layer.build(database.layer(world, world.outside))))
  const read = <A extends object>(statement: string) =>
    Context.get(outside, SqlClient.SqlClient).unsafe<A>(statement).pipe(
      Effect.retry({ times: 100 }),
      Effect.orDie
    )

  const plan = (rows: ReadonlyArray<{ readonly id: string; readonly due: number }>) =>
    Effect.flatMap(Commit, (commit) =>
      commit.append({
        merchantId: 2,
        environment: "devnet",
        cause: noCause,
        writes: rows.map(({ due, id }) => ({
          table: "work",
          row: { merchant_id: 2, id, version: 1, due: String(due) }
        })),
        events: []
      }))
  const caller = Effect.gen(function*() {
    for (let index = 0; index < plans; index++) {
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const rows = Array.from({ length: rowsOfPlan }, (_, row) => ({
        id: `row ${index}-${row}`,
        due: now + 2_000 + draws.below(3_000)
      }))
      for (let attempt = 0;; attempt++) {
        const exit = yield* Effect.exit(cluster.call(draws.below(instances), plan(rows)))
        if (exit._tag === "Success" || String(exit.cause).includes("Conflict")) break
        yield* Effect.sleep(200)
      }
      for (const { id } of rows) acknowledged.add(id)
      yield* Effect.sleep(draws.below(8_000))
    }
  })
  const violations: Array<Violation> = []
  await world.complete(Effect.andThen(caller, Effect.sleep(draws.below(10_000))))
  await world.complete(cluster.recover)
  const steps = read<{ version: bigint }>("select version from work where merchant_id = 1 and id = 'cursor'")
  const [before] = await world.complete(steps)
  await world.complete(Effect.sleep(3 * termMillis))
  const [after] = await world.complete(steps)
  if (Number(after?.version ?? 0n) <= Number(before?.version ?? 0n)) {
    violations.push({ promise: promises.progress, seen: `the follower stands at ${after?.version}` })
  }
  const alive = [...atWork].filter(({ isAlive }) => isAlive)
  if (alive.length !== 1) {
    violations.push({
      promise: promises.alone,
      seen: `the follower runs on ${alive.map(({ name }) => name).join(", ")}`
    })
  }
  const open = read<{ n: bigint }>("select count(*) as n from work where merchant_id = 2 and version = 1")
  const untilHandled = (patience: number): Effect.Effect<void> =>
    Effect.flatMap(open, ([row]) =>
      Number(row!.n) === 0 || patience <= 0
        ? Effect.void
        : Effect.andThen(Effect.sleep(5_000), untilHandled(patience - 5_000)))
  await world.complete(untilHandled(patienceMillis))
  await world.complete(cluster.stop)
  const events = (await database.read("select data from events order by merchant_id, ms, seq"))
    .map(({ data }): Record<string, any> => JSON.parse(data).object)
  const cursor = events.filter(({ id }) => id === "cursor")
  const isInOrder = cursor.every(({ token, version }, index) =>
    version === index + 1 && (index === 0 || BigInt(token) >= BigInt(cursor[index - 1]!["token"]))
  )
  if (!isInOrder) {
    violations.push({
      promise: promises.fence,
      seen: cursor.map(({ token, version }) => `step ${version} of token ${token}`).join(", ")
    })
  }
  for (const id of acknowledged) {
    const times = events.filter((event) => event["id"] === id).length
    if (times !== 1) violations.push({ promise: promises.due, seen: `${id} was handled ${times} times` })
  }
  return violations
}

export const backgroundWork: Scenario = {
  name: "work",
  instances,
  template: "runtime",
  prepare: [
    `create table work (merchant_id integer not null, id text not null, version bigint not null, due bigint not null,
      primary key (merchant_id, id))`
  ],
  faults: {
    calls: 180,
    steps: 700,
    connectionsLost: 10,
    callsDelayed: 4,
    instancesKilled: 3,
    instancesStalled: 3,
    clocksStepped: 3,
    longestClockStep: 3_600_000,
    disturbances: 0
  },
  seedsInTests: 30,
  plants: [
    {
      name: "fences are not compared",
      seed: 13,
      promise: promises.fence,
      statement: (text) => text.replaceAll("where l.token = f.token order by", "order by")
    },
    {
      name: "a lease is waited for by the database's clock alone",
      seed: 91,
      promise: promises.progress,
      statement: (text) => text.replaceAll(/or l\.token = (\$\d+)::bigint/g, "or false and l.token = $1::bigint")
    },
    {
      name: "a lease that has passed on is renewed by its former holder",
      seed: 7,
      promise: promises.alone,
      statement: (text) =>
        text.includes("returning 1 as held") ? text.replaceAll(/and token = (\$\d+)/g, "and $1::bigint > 0") : text
    },
    {
      name: "a row that fell due is handled without its version",
      seed: 187,
      promise: promises.due,
      statement: (text) => text.replaceAll("where t.version = excluded.version - 1", "where true")
    }
  ],
  run
}
