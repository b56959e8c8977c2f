/**
 * Goal: a page of the dashboard asks the database little, however large the shop has grown. Method: the service as it
 * is started, tables that have grown, and the statements that each page sends, told from those of timers.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { makePlanRecorder } from "../../support/PlanRecorder.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import { configOf, startService, temporaryDirectory } from "../../support/Service.ts"
import { statementsOf, wholeReads } from "../../support/Statements.ts"
import { growTables } from "../../support/TableGrowth.ts"
import { makeVisitor, servedPages } from "../../journeys/DashboardVisits.ts"
import { assertStatus } from "../../journeys/Shop.ts"

/** As many rows as there were, so often again. */
const copies = 200

const usualStatements = 4

/** Pages that ask for more: each adds up what several calls of the API answer. */
const moreStatements: Readonly<Record<string, number>> = {
  "/team": 5,
  "/account": 10,
  // Chain and books differ, as tables have grown without them; of the older month they agree.
  "/periods": 16,
  "/periods?period=2020-01": 12
}

/** Adds up all of a month on purpose: `npm run bench -- reconciliation` measures that. */
const readsWholeTables: ReadonlySet<string> = new Set(["/periods", "/periods?period=2020-01"])

/** Of a deployment, not of its trade; or who is signed in. */
const unchangedTables = [
  "migrations",
  "leases",
  "merchants",
  "api_keys",
  "webhook_endpoints",
  "webhook_lanes",
  "tokens",
  "wallet_owners",
  "wallet_counters",
  "wallet_batches",
  "wallet_addresses",
  "wallet_derivations",
  "members",
  "people",
  "team_sessions"
]

/** Tables that are small whatever a shop sells. */
const smallTables: ReadonlySet<string> = new Set([...unchangedTables, "merchant_clocks", "merchant_settings"])

const paths = [
  "",
  "/payments",
  "/payments?status=paid",
  "/payments?status=paid&views=open",
  "/payments/:invoice",
  "/payments/:invoice/refund",
  "/todo",
  "/todo?views=open",
  "/todo?status=resolved",
  "/links",
  "/refunds",
  "/refunds?views=open",
  "/collect",
  "/batches",
  "/balances",
  "/periods",
  "/periods?period=2020-01",
  "/webhooks",
  "/webhooks/:endpoint",
  "/events",
  "/events?views=open",
  "/keys",
  "/tokens",
  "/wallets",
  "/branding",
  "/limits",
  "/team",
  "/audit",
  "/audit?views=open",
  "/networks",
  "/account",
  "/simulator",
  "/search?q=customer"
]

it.live(
  "a page asks the database a few times, and reads no large table as a whole",
  () =>
    Effect.scoped(Effect.gen(function*() {
      const database = yield* migratedDatabase
      const recorder = yield* makePlanRecorder(database)
      const receiver = yield* makeReceiver()
      const directory = yield* temporaryDirectory
      // At the pace of tests, looks for due rows would be counted with the page's statements.
      const service = yield* startService({
        directory,
        ownProcess: true,
        config: {
          ...configOf({
            database: recorder.url,
            chains: [{ use: "simulated", options: { networks: ["base"] } }],
            receivers: [receiver.host]
          }),
          telemetry: { logs: "json", level: "info" }
        }
      })
      const { merchant_id: merchant, merchant_key: key } = yield* service.keys
      const visitor = makeVisitor({ service, merchant, origin: new URL(service.url).origin })
      const cookies = yield* visitor.signIn()
      const call = (path: string, body: object) =>
        Effect.map(
          service.call(`/api/v1/${path}`, { headers: { "x-api-key": key, "idempotency-key": randomUUID() }, body }),
          (answer) => assertStatus(200, answer)
        )
      const { data: { id: endpoint } } = yield* call("webhooks", { url: receiver.url("/hook"), enabled_events: ["*"] })
      let invoice = ""
      for (let n = 0; n < 4; n++) {
        const made = yield* call("invoices", { amount_usd: 5, customer_id: "customer" })
        invoice = made.invoice_id
        yield* call(`devnet/invoices/${invoice}/simulate`, { action: "pay", amount: 5_000 + n * 1_000 })
      }
      const onDatabase = <A, E>(act: Effect.Effect<A, E, SqlClient.SqlClient>) =>
        Effect.orDie(Effect.provide(act, connect(database), { local: true }))
      yield* onDatabase(growTables(copies, unchangedTables))
      yield* onDatabase(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`analyze`))

      const sections = new Set((yield* servedPages(service)).map(({ path }) => path.split("/")[0]))
      const found: Array<string> = []
      for (const path of paths.filter((each) => sections.has(each.slice(1).split(/[/?]/)[0]))) {
        const address = path.replace(":invoice", invoice).replace(":endpoint", endpoint)
        const statements = yield* statementsOf(
          recorder,
          Effect.map(
            visitor.see(cookies, address),
            ({ status, text }) => assert.strictEqual(status, 200, `${path} ${text}`)
          )
        )
        const count = statements.reduce((sum, each) => sum + each.count, 0)
        const most = moreStatements[path] ?? usualStatements
        if (count > most) {
          found.push(`${path} sends ${count} statements: ${statements.map(({ name }) => name).join("\n")}`)
        }
        if (!readsWholeTables.has(path)) {
          found.push(...new Set(wholeReads(statements.flatMap(({ plans }) => plans), smallTables)))
        }
      }
      assert.deepStrictEqual(found, [])
    })),
  240_000
)
