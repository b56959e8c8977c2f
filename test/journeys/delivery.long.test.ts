/**
 * Goal: every event reaches every endpoint that wants it, whatever dies on either side, and nobody is told twice but by
 * a kill (modules/docs/reference/webhooks.md#delivery). Method: the short form of `npm run bench -- delivery`: two real
 * processes on one PostgreSQL, and receivers of every kind.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { anvil } from "../support/Anvil.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { deliveryRunConfig, runDelivery } from "../support/Delivery.ts"
import { checkDeliveries, type History } from "../support/DeliveryChecker.ts"
import { makeMerchants } from "../support/Merchants.ts"
import { freePort } from "../support/Ports.ts"
import { makeReceivers, type ReceivedDelivery, type ReceiverKind, receiverKinds } from "../support/Receivers.ts"
import { testSeed } from "../support/Seed.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"

/** Seven starts of the service under load, and queues that run dry: a third of a core was not done with it in 180 s. */
const limitMillis = 600_000

const retry = { baseMillis: 200, factor: 2 }

const run = Effect.gen(function*() {
  const database = yield* migratedDatabase
  const node = yield* anvil("base")
  const receivers = yield* makeReceivers({ slowMillis: 150 })
  const directories = [yield* temporaryDirectory, yield* temporaryDirectory] as const
  const ports = [{ http: yield* freePort, rpc: yield* freePort }, {
    http: yield* freePort,
    rpc: yield* freePort
  }] as const
  const config = {
    ...configOf({ database: database.url, chains: [] }),
    ...deliveryRunConfig({ node, receivers, retry })
  }
  return yield* runDelivery({
    start: (instance) => startService({ directory: directories[instance], config, ports: ports[instance] }),
    query: (text) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, any>>(text)).pipe(
        Effect.provide(connect(database)),
        Effect.orDie
      ),
    makeMerchants,
    receivers,
    node,
    merchants: 2,
    callers: 2,
    betweenMillis: 150,
    calmMillis: 3_000,
    shortestLife: 500,
    longestLife: 1_500,
    retry,
    // A stop waits 8 s for a receiver that says nothing, a breaker five times 10 s.
    kinds: receiverKinds.filter((kind) => kind !== "tarpit"),
    hurry: true,
    kills: 3,
    seed: testSeed,
    progress: (line) => console.log(line)
  })
})

type Spoil = (history: History) => History

/** The first of `all` that is so, changed. */
const changed = <A extends object>(
  all: ReadonlyArray<A>,
  which: (one: A) => boolean,
  by: Partial<A>
): ReadonlyArray<A> => {
  const at = all.findIndex(which)
  assert.isAtLeast(at, 0)
  return all.with(at, { ...all[at]!, ...by })
}

const row = (by: Partial<History["rows"][number]>): Spoil => (history) => ({
  ...history,
  rows: changed(history.rows, ({ status }) => status === "succeeded", by)
})

const seen = (by: (seen: History["seen"]) => Partial<History["seen"]>): Spoil => (history) => ({
  ...history,
  seen: { ...history.seen, ...by(history.seen) }
})

const arrival = (by: Partial<ReceivedDelivery>): Spoil =>
  seen(({ arrivals }) => ({ arrivals: changed(arrivals, () => true, by) }))

/** A second arrival of a delivery that was taken before anything was broken, so many milliseconds after its answer. */
const again = (kind: ReceiverKind, afterMillis: number, by: Partial<ReceivedDelivery>): Spoil => (history) => {
  const firstBreak = Math.min(...history.breaks.map(({ at }) => at))
  const taken = history.seen.arrivals.find(({ answeredAt, path, startedAt }) =>
    path.startsWith(`/${kind}/`) && answeredAt !== null && startedAt < firstBreak - 1_000
  )!
  const startedAt = taken.answeredAt! + afterMillis
  const more: ReceivedDelivery = { ...taken, startedAt, answeredAt: startedAt + 1, endedAt: startedAt + 1, ...by }
  return { ...history, seen: { ...history.seen, arrivals: [...history.seen.arrivals, more] } }
}

/** A history spoiled by hand, and the invariant that has to notice. */
const spoiled: Readonly<Record<string, readonly [string, Spoil]>> = {
  "an event without its delivery": ["deliveries", (history) => ({ ...history, rows: history.rows.slice(1) })],
  "an event with two": ["deliveries", (history) => ({ ...history, rows: [...history.rows, history.rows[0]!] })],
  "a delivery that was given up": ["outcomes", row({ status: "failed" })],
  "a delivery that still waits": ["outcomes", row({ status: "pending" })],
  "a delivery that nobody took": ["outcomes", seen(({ arrivals }) => ({ arrivals: arrivals.slice(1) }))],
  "an attempt that was not kept": ["outcomes", row({ attempt: 3 })],
  "another body in one attempt": ["bodies", arrival({ hash: "0".repeat(64) })],
  "a wrong signature": ["bodies", arrival({ objection: "No matching signature found" })],
  "the event of another delivery": ["bodies", arrival({ eventId: "evt_1-1" })],
  "an attempt that came twice": ["repeats", again("healthy", 300, {})],
  "a retry before its time": ["pace", again("healthy", 50, { attempt: 2 })],
  "a delivery sent twice at once": ["pace", again("slow", -80, { attempt: 2 })],
  "a healthy endpoint that waited": ["isolation", (history) => {
    const millis = 3_000 * history.slowness
    const breaks = history.breaks.map((one) => ({ ...one, at: one.at + millis, until: one.until + millis }))
    const arrivals = history.seen.arrivals.map((one) => ({ ...one, startedAt: one.startedAt + millis }))
    return { ...history, breaks, seen: { ...history.seen, arrivals } }
  }],
  "a text that the API does not tell": [
    "texts",
    seen(({ bodies }) => ({
      bodies: new Map(
        [...bodies].map(([id, body]) => [id, body.replace("devnet", "mainnet").replace("event", "Event")])
      )
    }))
  ]
}

describe("deliveries of two instances", () => {
  it.live(
    "reach who wants them, whichever is killed or stopped and however receivers behave, and the judge can fail",
    () =>
      Effect.gen(function*() {
        const { history, ...report } = yield* run
        assert.deepStrictEqual(report.faults.slice(0, 20), [], `seed ${report.seed}`)
        assert.isAbove(report.delivered, 100)
        assert.isAbove(report.exhausted, 0, "failed after exactly four attempts")
        assert.isAbove(report.waiting, 0, "waiting behind open breakers")
        assert.isAbove(report.retries, 20)
        assert.isAbove(report.rolling, 10, "asked for while an instance was stopped")
        for (const [what, [invariant, spoil]] of Object.entries(spoiled)) {
          const { faults } = checkDeliveries(spoil(history))
          assert.isTrue(faults.some((fault) => fault.startsWith(invariant)), `${what} was not noticed`)
        }
      }).pipe(Effect.scoped),
    limitMillis
  )
})
