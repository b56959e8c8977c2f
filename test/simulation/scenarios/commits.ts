/**
 * The commit log of two instances: callers who change the same rows, use an idempotency key more than once, move a
 * balance and tell events, while connections break and instances are killed.
 */
import { Context, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { CommitFeed, type CommittedBatch } from "../../../runtime/commit/CommitFeed.ts"
import { layer as groupCommit } from "../../../runtime/commit/GroupCommit.ts"
import { compareEventPositions, type EventPosition } from "../../../schemas/Ids.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { Cluster } from "../Cluster.ts"
import { drawsOf } from "../Draws.ts"
import type { PlantedBug } from "../PlantedBug.ts"
import type { Scenario, Violation } from "../Simulation.ts"

const promises = {
  acknowledged: "what was acknowledged is stored, once",
  refused: "of what was refused nothing is stored",
  whole: "a commit is stored whole or not at all",
  row: "a row has every change that was stored, and was changed by nothing else",
  balance: "a balance is the sum of what was stored",
  key: "an idempotency key has one effect, and every repeat the same answer",
  order: "positions of a merchant's events only grow, and the stream's end is the last one",
  feed: "an instance tells its commits in order, with what came before them"
} as const

const callers = 5
const changesOfCaller = 4
const rows = ["a", "b"]
const merchants = [1, 2, 3]

/** A change that a caller asked for, by a mark that is in its event and in its row. */
interface Change {
  readonly mark: string
  readonly merchantId: number
  readonly rowId: string
  readonly amount: number
  readonly key: string | null
  answer: "acknowledged" | "refused" | "unknown"
  positions: ReadonlyArray<EventPosition>
}

const eventOf = ({ amount, key, mark, rowId }: Change): EventDraft => ({
  type: "invoice.updated",
  object: { object: "invoice", id: rowId, invoice_type: "standard", customer_id: null, mark, key, amount },
  previousAttributes: {}
})

interface Told {
  readonly instance: string
  readonly batch: CommittedBatch
}

export const plants: ReadonlyArray<PlantedBug> = [
  {
    name: "versions are not compared",
    seed: 17,
    promise: promises.row,
    statement: (text) => text.replaceAll("where t.version = excluded.version - 1", "where true")
  },
  {
    name: "a balance is set in place of moved",
    seed: 1,
    promise: promises.balance,
    statement: (text) => text.replaceAll("set units = t.units + excluded.units", "set units = excluded.units")
  },
  {
    name: "a key that is taken stops nothing",
    seed: 1,
    promise: promises.key,
    statement: (text) =>
      text.replaceAll(
        "r order by r.merchant_id, r.environment, r.scope;",
        "r order by r.merchant_id, r.environment, r.scope on conflict do nothing;"
      )
  },
  {
    name: "the first event of a flush is left out",
    seed: 1,
    promise: promises.whole,
    statement: (text) => text.replace(/(e\.is_for_payors, e\.data\s+from \([\s\S]*?\) e);/, "$1 where e.place > 1;")
  },
  {
    name: "a flush answers another position before its own",
    seed: 1,
    promise: promises.feed,
    statement: (text) =>
      text.replaceAll(
        "v_previous_ms[e.merchant], v_previous_seq[e.merchant]\n",
        "v_previous_ms[e.merchant], v_previous_seq[e.merchant] - 1\n"
      )
  },
  { name: "an unknown outcome is taken for success", seed: 1, promise: promises.acknowledged },
  { name: "a commit of unknown outcome is sent again", seed: 1, promise: promises.refused },
  {
    name: "the position of an event does not wait for the clock to catch up",
    seed: 4,
    promise: promises.order,
    statement: (text) => text.replaceAll(/greatest\(v_previous_ms\[e\.merchant\], v_clock\)/g, "v_clock")
  }
]

const run: Scenario["run"] = async (world, database, plant) => {
  const draws = drawsOf(world.plan.seed, "callers")
  const told: Array<Told> = []
  const changes: Array<Change> = []
  const replies = new Map<string, Set<string>>()
  const cluster = new Cluster(
    world,
    2,
    (instance) => groupCommit(["things"]).pipe(Layer.provideMerge(database.layer(world, instance)))
  )
  cluster.onStart = ({ instance, services }) =>
    world.fork(
      instance,
      Effect.forever(Effect.scoped(Effect.andThen(
        Context.get(services, CommitFeed).listen((batches) =>
          batches.forEach((batch) => told.push({ instance: instance.name, batch }))
        ),
        Effect.never
      )))
    )

  /** Reads the row, decides and commits: what a service does for each call. */
  const change = (asked: Omit<Change, "answer" | "positions">) =>
    Effect.gen(function*() {
      const commit = yield* Commit
      const sql = yield* SqlClient.SqlClient
      const attempt: Change = { ...asked, answer: "unknown", positions: [] }
      const [row] = yield* sql<{ version: bigint; amount: string }>`
        select version, amount from things where merchant_id = ${asked.merchantId} and id = ${asked.rowId}`
      changes.push(attempt)
      const append = commit.append({
        merchantId: asked.merchantId,
        environment: "devnet",
        cause: noCause,
        writes: [{
          table: "things",
          row: {
            merchant_id: asked.merchantId,
            id: asked.rowId,
            version: Number(row?.version ?? 0n) + 1,
            note: asked.mark,
            amount: String(BigInt(row?.amount ?? 0) + BigInt(asked.amount))
          }
        }],
        events: [eventOf(attempt)],
        balances: [{
          merchantId: asked.merchantId,
          environment: "devnet",
          account: "sales",
          asset: "usdc",
          units: BigInt(asked.amount),
          usdMillis: BigInt(asked.amount)
        }],
        reply: asked.key === null
          ? undefined
          : { environment: "devnet", scope: asked.key, fingerprint: "f", status: 200, reference: asked.mark }
      })
      const exit = yield* Effect.exit(
        plant?.name === "a commit of unknown outcome is sent again"
          ? Effect.retry(append, { while: (error) => error._tag === "PublicError", times: 5 })
          : append
      )
      if (Exit.isSuccess(exit)) {
        attempt.answer = "acknowledged"
        attempt.positions = exit.value.events.map(({ position }) => position)
        return { _tag: "Done" as const, reply: asked.mark }
      }
      const text = String(exit.cause)
      const replay = /IdempotentReplay/.test(text)
      if (replay || /Conflict/.test(text)) attempt.answer = "refused"
      if (!replay && !/Conflict|PublicError/.test(text)) return yield* Effect.failCause(exit.cause)
      if (attempt.answer === "unknown" && plant?.name === "an unknown outcome is taken for success") {
        attempt.answer = "acknowledged"
        return { _tag: "Done" as const, reply: asked.mark }
      }
      return replay
        ? { _tag: "Done" as const, reply: (exit.cause.reasons[0] as any).error.reference as string }
        : { _tag: "Again" as const, reply: "" }
    })

  const caller = (name: number) =>
    Effect.gen(function*() {
      for (let index = 0; index < changesOfCaller; index++) {
        const key = draws.happens(0.5) ? `POST /things key-${draws.below(3)}` : null
        // A key belongs to one merchant: the same call again.
        const merchantId = key === null ? draws.oneOf(merchants) : 1
        const rowId = draws.oneOf(rows)
        const amount = 1 + draws.below(9)
        let attempts = 0
        while (true) {
          const mark = `${name}-${index}-${attempts++}`
          const result = yield* cluster.call(draws.below(2), change({ mark, merchantId, rowId, amount, key })).pipe(
            // The instance is gone, or it could not read: the caller knows nothing and asks again.
            Effect.catch(() => Effect.succeed({ _tag: "Again" as const, reply: "" }))
          )
          if (result._tag === "Done") {
            if (key !== null) replies.set(key, (replies.get(key) ?? new Set()).add(result.reply))
            break
          }
          yield* Effect.sleep(draws.below(200))
        }
      }
    })

  await world.complete(
    Effect.forEach(Array.from({ length: callers }, (_, name) => name), caller, {
      concurrency: "unbounded",
      discard: true
    })
  )
  await world.complete(cluster.stop)
  return judge(await database.read("select * from events order by merchant_id, ms, seq"), {
    changes,
    told,
    replies,
    things: await database.read("select * from things"),
    balances: await database.read("select * from account_balances"),
    streams: await database.read("select * from merchant_streams")
  })
}

interface Found {
  readonly changes: ReadonlyArray<Change>
  readonly told: ReadonlyArray<Told>
  readonly replies: ReadonlyMap<string, ReadonlySet<string>>
  readonly things: ReadonlyArray<Readonly<Record<string, any>>>
  readonly balances: ReadonlyArray<Readonly<Record<string, any>>>
  readonly streams: ReadonlyArray<Readonly<Record<string, any>>>
}

const judge = (events: ReadonlyArray<Readonly<Record<string, any>>>, found: Found): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  const check = (promise: string, isKept: boolean, seen: () => string) => {
    if (!isKept) violations.push({ promise, seen: seen() })
  }
  const stored = new Map<string, number>()
  const markOf = (event: Readonly<Record<string, any>>): string => JSON.parse(event["data"]).object.mark
  for (const event of events) stored.set(markOf(event), (stored.get(markOf(event)) ?? 0) + 1)
  const times = ({ mark }: Change) => stored.get(mark) ?? 0
  for (const change of found.changes) {
    const seen = () =>
      `${JSON.stringify({ ...change, positions: change.positions.length })} is stored ${times(change)} times`
    if (change.answer === "acknowledged") check(promises.acknowledged, times(change) === 1, seen)
    else if (change.answer === "refused") check(promises.refused, times(change) === 0, seen)
    else check(promises.acknowledged, times(change) <= 1, seen)
  }
  const storedChanges = found.changes.filter((change) => times(change) > 0)
  for (const thing of found.things) {
    const own = storedChanges.filter(({ merchantId, rowId }) =>
      merchantId === thing["merchant_id"] && rowId === thing["id"]
    )
    const amount = own.reduce((sum, change) => sum + change.amount * times(change), 0)
    const count = own.reduce((sum, change) => sum + times(change), 0)
    check(
      promises.row,
      Number(thing["amount"]) === amount && Number(thing["version"]) === count,
      () =>
        `row ${thing["id"]} of merchant ${thing["merchant_id"]} has ${thing["amount"]} at version ${
          thing["version"]
        }; stored were ${count} changes of ${amount}`
    )
    check(
      promises.whole,
      own.some(({ mark }) => mark === thing["note"]),
      () => `row ${thing["id"]} is of ${thing["note"]}, whose event is not stored`
    )
  }
  for (const merchantId of merchants) {
    const amount = storedChanges.filter((change) => change.merchantId === merchantId).reduce(
      (sum, change) => sum + change.amount * times(change),
      0
    )
    const balance = found.balances.find((row) => row["merchant_id"] === merchantId)
    check(
      promises.balance,
      Number(balance?.["units"] ?? 0) === amount && Number(balance?.["usd_millis"] ?? 0) === amount,
      () => `the balance of merchant ${merchantId} is ${balance?.["units"]}; stored were ${amount}`
    )
    judgeStream(merchantId, events, found, check)
  }
  for (const [key, answers] of found.replies) {
    const effects = storedChanges.filter((change) => change.key === key)
    check(
      promises.key,
      answers.size === 1 && effects.length === 1 && answers.has(effects[0]!.mark),
      () => `${key} was answered ${[...answers].join(", ")}; stored are ${effects.map(({ mark }) => mark).join(", ")}`
    )
  }
  return violations
}

const judgeStream = (
  merchantId: number,
  events: ReadonlyArray<Readonly<Record<string, any>>>,
  found: Found,
  check: (promise: string, isKept: boolean, seen: () => string) => void
) => {
  const stream = events.filter((event) => event["merchant_id"] === merchantId)
    .map((event): EventPosition => ({ ms: event["ms"], seq: event["seq"] }))
  const end = found.streams.find((row) => row["merchant_id"] === merchantId)
  const last = stream.at(-1)
  const bySeq = stream.toSorted((a, b) => Number(a.seq - b.seq))
  const positions = (list: ReadonlyArray<EventPosition>) => list.map(({ ms, seq }) => `${ms}-${seq}`).join(" ")
  check(
    promises.order,
    positions(bySeq) === positions(stream) &&
      (last === undefined || end !== undefined && end["last_ms"] === last.ms && end["last_seq"] === last.seq),
    () =>
      `the stream of merchant ${merchantId} is ${positions(stream)} and ends at ${end?.["last_ms"]}-${
        end?.["last_seq"]
      }`
  )
  for (const { batch, instance } of found.told.filter(({ batch }) => batch.merchantId === merchantId)) {
    const first = batch.events[0]!.position
    const place = stream.findIndex((each) => compareEventPositions(each, first) === 0)
    const before = place > 0 ? stream[place - 1]! : { ms: 0n, seq: 0n }
    const part = stream.slice(place, place + batch.events.length)
    check(
      promises.feed,
      place >= 0 && compareEventPositions(before, batch.previous) === 0 &&
        positions(part) === positions(batch.events.map(({ position }) => position)),
      () =>
        `${instance} told ${positions(batch.events.map(({ position }) => position))} after ${
          positions([batch.previous])
        }, but stored is ${positions(stream)}`
    )
  }
}

export const commits: Scenario = {
  name: "commits",
  instances: 2,
  template: "runtime",
  prepare: [
    `create table things (merchant_id integer not null, id text not null, version bigint not null,
      note text not null, amount numeric(78, 0) not null check (amount >= 0), primary key (merchant_id, id))`
  ],
  faults: {
    calls: 70,
    steps: 350,
    connectionsLost: 10,
    callsDelayed: 4,
    instancesKilled: 2,
    instancesStalled: 2,
    clocksStepped: 2,
    longestClockStep: 3_600_000,
    disturbances: 0
  },
  seedsInTests: 140,
  plants,
  run
}
