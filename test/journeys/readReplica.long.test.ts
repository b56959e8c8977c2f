/**
 * Goal: what a merchant is told never goes back, whichever instance is asked and whatever becomes of the replica, and
 * an operator hears of it. Method: two instances on a primary of Debian's PostgreSQL and one streaming standby, whose
 * replay is held and which is killed; nothing keeps a caller with one instance.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { runCommand } from "../modules/cli/CommandLine.ts"
import { configOf, exchange, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { type Server, standbysMissing, startPrimary, startStandby } from "../support/Standby.ts"
import { assertStatus } from "./Shop.ts"

const database = "tillwire"

/** Nobody listens there. */
const receiver = "127.0.0.1:9"

class Town extends Context.Service<Town, {
  readonly primary: Server
  readonly replica: Server
  readonly services: readonly [Service, Service]
  /** Of the merchant, and its key for commerce. */
  readonly key: string
  readonly commerceKey: string
}>()("test/Town") {}

const configFor = (primary: Server, replica: Server) => ({
  ...configOf({ database: primary.urlOf(database), chains: [{ use: "simulated" }], receivers: [receiver] }),
  store: {
    use: "postgres",
    options: { url: primary.urlOf(database), replica: { url: replica.urlOf(database), maxConnections: 4 } }
  }
})

const town = Layer.effect(
  Town,
  Effect.gen(function*() {
    const primary = yield* startPrimary
    yield* primary.query("postgres", `create database ${database}`)
    const replica = yield* startStandby(primary)
    const config = configFor(primary, replica)
    const start = Effect.flatMap(temporaryDirectory, (directory) => startService({ directory, config }))
    const first = yield* start
    const { commerce_key: commerceKey, merchant_key: key } = yield* first.keys
    return { primary, replica, services: [first, yield* start], key, commerceKey } as const
  })
)

/** The value of a series, by its name and a label of it. */
const series = (service: Service, name: string, label = ""): Effect.Effect<number> =>
  Effect.map(exchange(service.rpcUrl, "/metrics"), ({ text }) => {
    const line = text.split("\n").find((each) => each.startsWith(`tillwire_${name}`) && each.includes(label))
    return Number(/ (\S+)$/.exec(line ?? "")?.[1] ?? Number.NaN)
  })

/** Reads that a server answered for this instance. */
const readsBy = (service: Service, server: "replica" | "primary") =>
  series(service, "replica_reads_total", `server="${server}"`)

const usesReplica = (service: Service) =>
  until("the replica is used", series(service, "replica_unused"), (value) => value === 0)

const withKey = (key: string) => ({ headers: { "x-api-key": key } })

const create = (service: Service, key: string) =>
  Effect.map(
    service.call("/api/v1/invoices", {
      headers: { "x-api-key": key, "idempotency-key": randomUUID() },
      body: { amount_usd: 5 }
    }),
    (made): string => assertStatus(200, made).invoice_id
  )

const countAt = (service: Service, key: string) =>
  Effect.map(
    service.call("/api/v1/invoices/totals", withKey(key)),
    (found): number => assertStatus(200, found).totals.all.count
  )

if (standbysMissing !== undefined) {
  describe("a merchant", () => it.skip(`needs a standby: ${standbysMissing}`, () => undefined))
} else {
  layer(town, { excludeTestServices: true })("a merchant", (it) => {
    it.effect("finds each invoice in the totals of the other instance at once, also while the replay is held", () =>
      Effect.gen(function*() {
        const { key, replica, services: [first, second] } = yield* Town
        yield* usesReplica(second)
        const before = yield* countAt(second, key)
        const answered = yield* readsBy(second, "replica")
        // A read that the replica is late with goes to the primary, and so do the others for 5 s.
        const replicaAnswers = until(
          "the replica answers",
          Effect.andThen(countAt(second, key), readsBy(second, "replica")),
          (count) => count > answered
        )
        yield* replicaAnswers
        for (let created = 1; created <= 12; created++) {
          if (created === 5) yield* replica.query("postgres", "select pg_wal_replay_pause()")
          if (created === 9) yield* replica.query("postgres", "select pg_wal_replay_resume()")
          yield* create(first, key)
          assert.strictEqual(yield* countAt(second, key), before + created)
        }
        assert.isAbove(yield* readsBy(second, "primary"), 0)
        yield* usesReplica(second)
      }))

    it.effect("is answered by the replica what adds up, searches and is old, and by the primary what is new", () =>
      Effect.gen(function*() {
        const { commerceKey, key, services: [service] } = yield* Town
        yield* usesReplica(service)
        const ids = yield* Effect.all([create(service, key), create(service, key), create(service, key)])
        const send = (path: string, body: object) =>
          Effect.map(service.call(path, { ...withKey(key), body }), (answer) => assertStatus(200, answer).data)
        for (const action of ["pay", "wrong_token"]) {
          yield* send(`/api/v1/devnet/invoices/${ids[0]}/simulate`, { action })
        }
        const { id: endpoint } = yield* send("/api/v1/webhooks", {
          url: `http://${receiver}/hooks`,
          enabled_events: ["*"]
        })
        const { delivery_id: delivery } = yield* send(`/api/v1/webhooks/${endpoint}/test`, {})
        const read = (path: string) => Effect.map(service.call(path, withKey(key)), (found) => assertStatus(200, found))
        const newest = (yield* read("/api/v1/invoices?limit=1")).data[0].id
        const lastOf = (path: string) => Effect.map(read(path), ({ data }): string => data.data[0].id)
        const event = yield* lastOf("/api/v1/events?limit=1")
        const booking = yield* until(
          "the payment is booked",
          Effect.map(read("/api/v1/balance-transactions?limit=1"), ({ data }) => data.data[0]?.id),
          (id) => id !== undefined
        )
        const exception = yield* until(
          "the transfer of the wrong token is an exception",
          Effect.map(read("/api/v1/exceptions?limit=1"), ({ data }) => data.data[0]?.id),
          (id) => id !== undefined
        )
        const year = new Date().getUTCFullYear()
        const ofReplica: ReadonlyArray<string> = [
          "/api/v1/invoices/totals",
          `/api/v1/invoices?starting_after=${newest}`,
          "/api/v1/invoices?limit=1&page=2",
          `/api/v1/events?starting_after=${event}`,
          `/api/v1/balance-transactions?starting_after=${booking}`,
          `/api/v1/exceptions?starting_after=${exception}`,
          `/api/v1/webhooks/${endpoint}/deliveries?starting_after=${delivery}`,
          "/api/v1/metrics",
          `/api/v1/search?q=${newest.slice(-8)}`,
          `/api/v1/exports/payments?from=${year}-01-01T00:00:00Z&to=${year + 1}-01-01T00:00:00Z`,
          "/api/v1/reconciliation?period=2020-01"
        ]
        /** On a busy machine the replica may be late once. */
        const assertReplica = Effect.fnUntraced(function*(path: string, credential: string, status = 200) {
          const before = yield* readsBy(service, "replica")
          const call = Effect.gen(function*() {
            assert.strictEqual((yield* service.call(path, withKey(credential))).status, status, path)
            return yield* readsBy(service, "replica")
          })
          yield* until(`the replica answers ${path}`, call, (after) => after > before)
        })
        for (const path of ofReplica) yield* assertReplica(path, key)
        yield* assertReplica("/api/commerce/merchant/orders?offset=1", commerceKey)
        // There is no batch, so no cursor names one.
        yield* assertReplica("/api/v1/batches?starting_after=batch", key, 400)
        const ofPrimary = [
          "/api/v1/invoices",
          `/api/v1/invoices/${newest}`,
          `/api/v1/invoices?ending_before=${ids[0]}`,
          "/api/v1/events",
          "/api/v1/balance",
          "/api/v1/exceptions",
          "/api/v1/batches",
          "/api/v1/webhooks",
          `/api/v1/webhooks/${endpoint}/deliveries`
        ]
        const before = [yield* readsBy(service, "replica"), yield* readsBy(service, "primary")]
        for (const path of ofPrimary) assert.strictEqual((yield* service.call(path, withKey(key))).status, 200, path)
        assert.deepStrictEqual([yield* readsBy(service, "replica"), yield* readsBy(service, "primary")], before)
      }))

    it.effect("is answered as before when the replica is gone: ready, with a log and a gauge that say so", () =>
      Effect.gen(function*() {
        const { key, primary, replica, services: [service] } = yield* Town
        yield* usesReplica(service)
        const before = yield* countAt(service, key)
        yield* replica.kill
        yield* create(service, key)
        assert.strictEqual(yield* countAt(service, key), before + 1)
        assert.strictEqual((yield* exchange(service.url, "/health/ready")).status, 200)
        yield* until("the gauge says so", series(service, "replica_unused"), (value) => value === 1)
        yield* until(
          "the log says so",
          Effect.sync(() => service.output().includes("the replica is not used: reads go to the primary")),
          (is) => is
        )

        const directory = yield* temporaryDirectory
        const file = join(directory, "config.json")
        writeFileSync(file, JSON.stringify(configFor(primary, replica)))
        const doctor = yield* runCommand(["doctor", "--json", "-c", file])
        const findings: ReadonlyArray<any> = JSON.parse(doctor.stdout).data
        const finding = findings.find(({ check }) => check === "replica")
        assert.strictEqual(finding?.verdict, "warn", doctor.stdout)
        assert.include(finding.what, "cannot be reached")
        const checked = yield* runCommand(["config", "check", "--connect", "-c", file])
        assert.match(
          checked.stdout + checked.stderr,
          /config\.json:1:\d+ {2}store\.options\.replica\.url: .*cannot be reached/
        )
        assert.strictEqual(checked.code, 2)

        yield* replica.start
        yield* usesReplica(service)
        assert.strictEqual(yield* countAt(service, key), before + 1)
      }).pipe(Effect.scoped))

    it.effect("is served by no instance whose replica is the primary itself: its start names the place in the file", () =>
      Effect.gen(function*() {
        const { primary } = yield* Town
        const file = join(yield* temporaryDirectory, "config.json")
        writeFileSync(file, JSON.stringify(configFor(primary, primary), null, 2))
        const { code, stderr, stdout } = yield* runCommand(["start", "-c", file])
        assert.match(stdout + stderr, /config\.json:\d+:\d+ {2}store\.options\.replica\.url: .*is no standby/)
        assert.strictEqual(code, 2)
      }).pipe(Effect.scoped))
  })
}
