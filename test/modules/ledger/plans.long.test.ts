/**
 * Goal: what is read of the books costs the same after years of settlements and of money in other tokens. Method: a
 * service whose connections made their plans on small tables; the plans that it then runs over large ones.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { type ExecutedPlan, makePlanRecorder, nodesOf } from "../../support/PlanRecorder.ts"
import { endPlans } from "../../support/TableGrowth.ts"
import { configOf, exchange, startService, temporaryDirectory, until } from "../../support/Service.ts"
import { assertStatus } from "../../journeys/Shop.ts"

/** The planner settles on a plan after five executions on a connection; there are two. */
const roundsBefore = 11

/** Rows of the books' tables that an answer may look at; thousands are there. */
const maximumRows = 250

const tables = ["account_balances", "balance_transactions"]

const rowsOf = (plans: ReadonlyArray<ExecutedPlan>): number =>
  plans.flatMap(({ plan }) => nodesOf(plan)).filter((node) => tables.includes(node["Relation Name"] ?? "")).reduce(
    (sum, node) =>
      sum + ((node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0)) * (node["Actual Loops"] ?? 1),
    0
  )

const grow = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO account_balances (merchant_id, environment, account, asset, units, usd_millis)
    SELECT merchant_id, environment, 'settled:' || lpad(n::text, 6, '0') || ':' || n || ':w', asset, 1, 1
    FROM (SELECT DISTINCT merchant_id, environment, asset FROM account_balances) a, generate_series(1, 20000) n`
  yield* sql`INSERT INTO balance_transactions (merchant_id, id, version, environment, type, is_pending, amount, net,
      asset, units, source_object, source_id, booked_micros)
    SELECT merchant_id, 'bt_' || gen_random_uuid(), 1, environment, type, is_pending, amount, net, 'base:other', units, source_object,
      source_id || n, booked_micros + n
    FROM balance_transactions, generate_series(1, 20000) n`
  yield* sql`UPDATE account_balances SET usd_millis = usd_millis - 20000, units = units - 20000
    WHERE account = 'settled'`
})

it.live("what is read of the books costs the same after years", () =>
  Effect.scoped(Effect.gen(function*() {
    const database = yield* migratedDatabase
    const recorder = yield* makePlanRecorder(database)
    const service = yield* startService({
      directory: yield* temporaryDirectory,
      config: {
        ...configOf({ database: recorder.url, chains: [{ use: "simulated", options: { networks: ["base"] } }] }),
        store: { use: "postgres", options: { url: recorder.url, maxConnections: 2 } }
      }
    })
    const headers = { "x-api-key": (yield* service.keys).merchant_key }
    const call = (path: string, body?: object) =>
      Effect.map(
        service.call(`/api/v1/${path}`, {
          headers: body === undefined ? headers : { ...headers, "idempotency-key": randomUUID() },
          ...(body === undefined ? {} : { body })
        }),
        (answer) => assertStatus(200, answer)
      )
    for (let n = 0; n < 3; n++) {
      const { invoice_id } = yield* call("invoices", { amount_usd: 5 })
      yield* call(`devnet/invoices/${invoice_id}/simulate`, { action: "pay" })
    }
    const { data: [{ asset }] } = (yield* call("balance-transactions")).data
    const paths = [
      "balance",
      `balance-transactions?asset=${asset}`,
      `balance-transactions?asset=${asset}&type=payment`,
      "balance-transactions?asset=base:nothing",
      "balance-transactions?limit=5",
      "settlements?limit=5"
    ]
    for (let round = 0; round < roundsBefore; round++) {
      for (const path of paths) yield* call(path)
    }
    const onDatabase = <A, E>(act: Effect.Effect<A, E, SqlClient.SqlClient>) =>
      Effect.orDie(Effect.provide(act, connect(database), { local: true }))
    yield* onDatabase(grow)
    const readFew = Effect.fnUntraced(function*(when: string) {
      for (const path of paths) {
        yield* recorder.take
        yield* call(path)
        assert.isAtMost(rowsOf(yield* recorder.take), maximumRows, `${path} ${when}`)
      }
    })
    yield* readFew("by the plans of small tables")
    yield* onDatabase(endPlans)
    yield* readFew("planned anew without statistics")
    // The first look at its health has read them, and keeps them for 15 seconds.
    const scraped = "WITH RECURSIVE owners"
    const scrape = Effect.gen(function*() {
      yield* Effect.sleep("200 millis")
      yield* recorder.take
      const { text } = yield* exchange(service.rpcUrl, "/metrics")
      assert.include(text, "tillwire_ledger_trial_balance_millis 0")
      return (yield* recorder.take).filter(({ text }) => text.includes(scraped))
    })
    const plans = yield* until("the totals are read anew", scrape, (found) => found.length > 0)
    assert.isAtMost(rowsOf(plans), maximumRows, "the metrics")
  })))
