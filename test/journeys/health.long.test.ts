/**
 * Goal: what the service says of itself is true: an operator's alert fires when money stands still, and only then.
 * Method: the running service, its probes and its metrics; a database that refuses to store as one with a full disk
 * does.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { ExceptionType } from "../../schemas/Payment.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { configOf, exchange, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"

/** Series of the newest scrape, name and labels as written, with their values. */
const scrape = (service: Service) =>
  Effect.map(exchange(service.rpcUrl, "/metrics"), ({ text }) => {
    const values = new Map<string, number>()
    for (const line of text.split("\n")) {
      const [, name, value] = /^([a-z_]+(?:\{.*\})?) (\S+)/.exec(line) ?? []
      if (name !== undefined) values.set(name.replaceAll(/,?unit="[^"]*"/g, "").replace("{}", ""), Number(value))
    }
    return values
  })

const ready = (service: Service) => exchange(service.url, "/health/ready")

class Deployed extends Context.Service<Deployed, {
  readonly service: Service
  /** What the service said before anybody called it. */
  readonly first: { readonly series: ReadonlyMap<string, number>; readonly report: any }
}>()("test/Deployed") {
  static readonly layer = Layer.unwrap(
    Effect.map(migratedDatabase, (database) =>
      Layer.effect(
        Deployed,
        Effect.gen(function*() {
          const config = configOf({ database: database.url, chains: [{ use: "simulated" }] })
          const service = yield* startService({ directory: yield* temporaryDirectory, config })
          const series = yield* scrape(service)
          return Deployed.of({ service, first: { series, report: (yield* ready(service)).json } })
        })
      ).pipe(Layer.provideMerge(Layer.orDie(connect(database)))))
  )
}

layer(Deployed.layer, { excludeTestServices: true })("an operator", (it) => {
  it.effect("finds every series that an alert may name from the first scrape on, at rest", () =>
    Effect.gen(function*() {
      const { first: { series } } = yield* Deployed
      const find = (name: string, labels: ReadonlyArray<string>) =>
        [...series].filter(([key]) =>
          (key === name || key.startsWith(`${name}{`)) && labels.every((label) => key.includes(label))
        )
      const atRest: ReadonlyArray<readonly [string, ReadonlyArray<string>, number]> = [
        ["commit_flush_failures_total", [], 0],
        ["commit_last_failed_flush_age_seconds", [], -1],
        ["commit_writable", [], 1],
        ["ready", [], 1],
        ["network_condition", ["network=\"base\"", "environment=\"devnet\"", "condition=\"ok\""], 1],
        ["network_condition", ["network=\"base\"", "condition=\"disagreement\""], 0],
        ["network_condition", ["network=\"base\"", "condition=\"frozen\""], 0],
        ["network_health", ["network=\"base\""], 1],
        ["reorgs_total", ["network=\"base\""], 0],
        ["chain_alerts_total", ["network=\"base\"", "kind=\"reorg_below_final\""], 0],
        ["transfers_oldest_unhandled_seconds", [], 0],
        ["transfers_unhandled", [], 0],
        ["timer_overdue_seconds", ["name=\"invoices\""], 0],
        ["lease_term_seconds", ["name=\"chain:base:devnet\""], 6],
        ["price_sources", ["environment=\"devnet\""], 1],
        ["price_assets_lost", ["environment=\"devnet\""], 0],
        ["outbox_lag_seconds", [], 0],
        ["webhook_deliveries_total", ["outcome=\"failed\""], 0],
        ["webhook_deliveries_expired_total", [], 0],
        ["http_server_errors_total", ["status=\"500\""], 0],
        ["http_server_errors_total", ["status=\"503\""], 0],
        ["rate_limited_total", ["limit=\"key\""], 0],
        ["rate_limited_total", ["limit=\"in_flight\""], 0],
        ["idempotency_replays_total", [], 0],
        ["invoices_total", ["status=\"paid\""], 0],
        ["refunds", ["status=\"failed\""], 0],
        ...ExceptionType.literals.map((type) => ["exceptions_open", [`type="${type}"`], 0] as const)
      ]
      const found = atRest.map(([name, labels]) => find(`tillwire_${name}`, labels).map(([, value]) => value))
      assert.deepStrictEqual(found, atRest.map(([, , value]) => [value]), JSON.stringify([...series.keys()]))
      for (const age of ["network_head_age_seconds", "network_cursor_age_seconds", "lease_age_seconds", "lease_held"]) {
        const values = find(`tillwire_${age}`, []).map(([, value]) => value)
        assert.isAbove(values.length, 2, age)
        assert.isTrue(values.every((value) => value >= 0 && value < 60), `${age}: ${values.join(" ")}`)
      }
      // Nothing is said of an environment that is not served: an alert on it would never end.
      assert.deepStrictEqual([...series.keys()].filter((key) => key.includes("environment=\"mainnet\"")), [])
      const [build] = find("tillwire_build_info", [
        `node="${process.versions.node}"`,
        "version=\"",
        "commit=\"",
        "postgres=\"1"
      ])
      assert.strictEqual(build?.[1], 1)
    }))

  it.effect("finds every series that the guides name from the first scrape on, with all labels, even while no node answers", () =>
    Effect.gen(function*() {
      const folder = new URL("../../modules/docs/guides/", import.meta.url)
      const text = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n")
      const named = new Map(
        [...text.matchAll(/tillwire_([a-z_]+)(?:\{([a-z,]+)\})?/g)].map((
          [whole, name, labels]
        ) => [whole, { name: `tillwire_${name}`, labels: labels?.split(",") ?? [] }])
      )
      assert.isAbove(named.size, 25)
      const database = yield* migratedDatabase
      const options = { network: "base", environment: "devnet", rpc: ["http://127.0.0.1:9", "http://127.0.0.1:9"] }
      const cardano = { environment: "devnet", api: [{ url: "http://127.0.0.1:9" }] }
      const chains = [{ use: "evm", options }, { use: "cardano", options: cardano }]
      const config = configOf({ database: database.url, chains })
      // The guides also name series of modules that a deployment has to ask for.
      const modules = [{ use: "screening" }, { use: "screening/none" }, ...config.modules]
      const service = yield* startService({ directory: yield* temporaryDirectory, config: { ...config, modules } })
      const series = [...(yield* scrape(service)).keys()]
      // Those of an archive are there where an embedded database has one.
      const expected = [...named].filter(([, { name }]) => !name.startsWith("tillwire_archive_"))
      const missing = expected.filter(([, { labels, name }]) =>
        !series.some((key) => key.split("{")[0] === name && labels.every((label) => key.includes(`${label}="`)))
      )
      assert.deepStrictEqual(missing.map(([whole]) => whole), [])
    }).pipe(Effect.scoped))

  it.effect("is told that an idle service is well, with nothing to look at", () =>
    Effect.gen(function*() {
      const { first, service } = yield* Deployed
      for (const report of [first.report, (yield* ready(service)).json]) {
        assert.deepInclude(report, { status: "ok", unavailable: [], degraded: [] })
        assert.deepStrictEqual(
          Object.values(report.checks).map(({ ok }: any) => ok),
          Array.from({ length: 12 }, () => true)
        )
      }
    }))

  it.effect("is told that nothing can be stored, by the probe as well, until it can again", () =>
    Effect.gen(function*() {
      const { service } = yield* Deployed
      const sql = yield* SqlClient.SqlClient
      const { merchant_key } = yield* service.keys
      const create = Effect.suspend(() =>
        service.call("/api/v1/invoices", {
          headers: { "x-api-key": merchant_key, "idempotency-key": randomUUID() },
          body: { amount_usd: 5 }
        })
      )
      yield* sql`CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`
      const tables = ["invoices", "chain_cursors", "trial_writes"]
      for (const table of tables) {
        yield* sql.unsafe(
          `CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON ${table} EXECUTE FUNCTION disk_is_full()`
        )
      }
      assert.strictEqual((yield* create).status, 503)
      const { headers, json } = yield* until("the probe says so", ready(service), ({ status }) => status === 503)
      assert.deepInclude(json, { status: "unavailable", degraded: [] })
      assert.strictEqual(headers["retry-after"], "1")
      assert.deepStrictEqual(json.unavailable.map(({ check }: any) => check), ["writes"])
      assert.match(json.unavailable[0].message, /^Nothing was stored since a flush failed \d+ s ago: calls that change/)
      assert.deepStrictEqual(json.checks.writes, { ok: false })
      const broken = yield* scrape(service)
      assert.strictEqual(broken.get("tillwire_commit_writable"), 0)
      assert.isAtLeast(broken.get("tillwire_commit_flush_failures_total")!, 1)
      assert.isAtLeast(broken.get("tillwire_http_server_errors_total{status=\"503\"}")!, 1)
      for (const table of tables) yield* sql.unsafe(`DROP TRIGGER full_disk ON ${table}`)
      // Nobody writes: a trial row finds out.
      yield* until("it recovers", ready(service), ({ json }) => json.status === "ok")
      assert.strictEqual((yield* create).status, 200)
      assert.strictEqual((yield* scrape(service)).get("tillwire_commit_writable"), 1)
    }))

  it.effect("and anybody else reads how each network is, and nothing of its nodes or of one merchant's play", () =>
    Effect.gen(function*() {
      const { service } = yield* Deployed
      const { merchant_key } = yield* service.keys
      const read = (query: string) => service.call(`/api/v1/networks/status${query}`)
      const before = yield* until(
        "blocks come",
        read(""),
        ({ json }) => json.data.data.every(({ head_height }: any) => head_height !== null)
      )
      assert.strictEqual(before.status, 200)
      assert.deepStrictEqual(Object.keys(before.json.data), ["object", "data", "has_more"])
      const networks = before.json.data.data
      assert.deepStrictEqual(
        networks.map(({ network }: any) => network),
        networks.map(({ network }: any) => network).toSorted()
      )
      for (const network of networks) {
        const { head_height, head_time, ...rest } = network
        assert.deepStrictEqual(Object.keys(network), [
          "network",
          "environment",
          "healthy",
          "condition",
          "message",
          "head_height",
          "head_time"
        ])
        assert.deepInclude(rest, {
          environment: "devnet",
          healthy: true,
          condition: "ok",
          message: "Payments are seen and confirmed as usual."
        })
        assert.isTrue(Number.isSafeInteger(head_height) && head_height >= 0 && Number.isSafeInteger(head_time))
      }
      yield* service.call("/api/v1/devnet/networks/base/fault", {
        headers: { "x-api-key": merchant_key },
        body: { mode: "down" }
      })
      const after = (yield* read("?environment=devnet")).json.data.data
      assert.isTrue(after.every(({ healthy }: any) => healthy))
      assert.isDefined(before.headers["ratelimit-limit"])
    }))

  it.effect("is told which environments there are, where one is asked for that is not", () =>
    Effect.gen(function*() {
      const { service } = yield* Deployed
      const found = yield* Effect.forEach(["mainnet", "testnet", ""], (environment) =>
        Effect.map(
          service.call(`/api/v1/networks/status?environment=${environment}`),
          ({ json, status }) => [status, json.error.code]
        ))
      assert.deepStrictEqual(found, [[403, "MAINNET_NOT_ENABLED"], [400, "INVALID_ENVIRONMENT"], [
        400,
        "INVALID_ENVIRONMENT"
      ]])
    }))
})
