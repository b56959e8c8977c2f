/**
 * Goal: a page of orders and its total are exactly what is there, and cost the same whatever the filter and however
 * many orders there are. Method: many rows of two merchants; each answer beside that of the plain question, and its
 * plan with ANALYZE.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { orderStates } from "../../../modules/commerce/machine.ts"
import { migrations, tables } from "../../../modules/commerce/migrations.ts"
import { makeRepo, makeStatements, type OrderFilter } from "../../../modules/commerce/repo.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { kernel } from "../../support/Api.ts"

const served = kernel([{ name: "commerce", migrations, tables, rollups: [orderStates] }]) as Layer.Layer<
  MerchantClock | SqlClient.SqlClient
>

const beginning = 1_766_300_400

/** Orders of the merchant that is asked about, as many of another, and the sums of both. */
const rows = 10_000

const fill = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO orders (merchant_id, id, version, environment, invoice_id, status, substatus, retailer, timeline,
      payment, paid_by, received, received_late, refunded, shipments, items, amounts, customer_id, wallet_address,
      wallet_network, cancellation, refunds, shipping, address, metadata, tries, is_acknowledged, created_at, updated_at)
    SELECT 1 + n / 20 % 2, md5('o' || n)::uuid, 1, CASE WHEN n % 20 < 2 THEN 'mainnet' ELSE 'devnet' END, md5('i' || n)::uuid,
      CASE WHEN n % 10 < 8 THEN 'delivered' WHEN n % 1000 < 10 THEN 'failed' ELSE 'pending_payment' END, 'DELIVERED',
      CASE WHEN n % 100 < 90 THEN 'amazon' WHEN n % 100 < 96 THEN 'target' ELSE '' END, '[]',
      '{"status":"paid","amountPaid":"1000","txHash":null,"network":null,"paidAt":null,"settlement":{"status":null,"txHash":null,"network":null,"settledAt":null}}',
      '[]', 1000, 0, 0, '[]', '[]', '{"subtotal":"1000","shipping":"0","tax":"0","fees":"0","total":"1000"}',
      CASE WHEN n % 4 < 3 THEN 'customer ' || n % 1000 END, CASE WHEN n % 4 = 3 THEN '0xwallet' || n % 1000 END,
      CASE WHEN n % 4 = 3 THEN CASE WHEN n % 8 = 3 THEN 'bsc' ELSE 'ton' END END, 'none', '[]',
      '{"id":"standard","name":"Standard","amount":"0","estimatedDays":"5"}', '{}', '{}', 0, false,
      ${beginning} + n * 60, ${beginning} + n * 60
    FROM generate_series(0, ${2 * rows - 1}) n`
  yield* Effect.forEach(
    orderStates.widths,
    (wide) =>
      sql`INSERT INTO rollups SELECT merchant_id, environment, ${orderStates.sum}, ${wide}::integer,
        CASE WHEN ${wide}::integer = 0 THEN 0 ELSE created_at - created_at % nullif(${wide}::integer, 0) END,
        status || ':' || retailer || ':' || coalesce(wallet_network, ''), count(*), count(*) * 1000, count(*) * 1000
      FROM orders GROUP BY 1, 2, 5, 6`
  )
  yield* sql`VACUUM ANALYZE orders, rollups`
})

interface Plan {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number
  readonly Plans?: ReadonlyArray<Plan>
}

const nodes = (plan: Plan): ReadonlyArray<Plan> => [plan, ...(plan.Plans ?? []).flatMap(nodes)]

/** Rows a plan took from a table, those it threw away included. */
const rowsRead = (plan: ReadonlyArray<Plan>, table: string): number =>
  plan.filter((node) => node["Relation Name"] === table).reduce(
    (sum, node) => sum + (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
    0
  )

const middle = beginning + rows * 60

const filters: Readonly<Record<string, Partial<OrderFilter>>> = {
  nothing: {},
  "the rarer environment": { environment: "mainnet" },
  "a status": { status: "delivered" },
  "a rare status": { status: "failed" },
  "a status nobody has": { status: "shipped" },
  "a customer": { customerId: "customer 400" },
  "a customer and a status": { customerId: "customer 400", status: "pending_payment" },
  "a customer nobody knows": { customerId: "nobody" },
  "a wallet": { wallet: "0xwallet403" },
  "a wallet and its network": { wallet: "0xwallet407", walletNetwork: "ton" },
  "a network": { walletNetwork: "ton" },
  "a network nobody has": { walletNetwork: "sui" },
  "a network and a status": { walletNetwork: "ton", status: "failed" },
  "a network and a retailer": { walletNetwork: "ton", retailer: "target" },
  "a retailer": { retailer: "amazon" },
  "a retailer nobody bought from": { retailer: "ebay" },
  "a retailer and a status": { retailer: "target", status: "pending_payment" },
  "a time from": { createdFrom: middle + 1 },
  "a time to": { createdTo: middle + 1 },
  "a span": { createdFrom: middle + 100, createdTo: middle + 86_400 },
  "a span, a status and a retailer": {
    createdFrom: middle + 100,
    createdTo: middle + 86_400,
    status: "delivered",
    retailer: "amazon"
  }
}

describe("a page of orders", () => {
  it.effect("is what is there, with its total, and reads few rows whatever the filter", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* fill
      const repo = yield* makeRepo
      const statements = makeStatements(sql)
      const planOf = (statement: ReturnType<typeof statements.page> | ReturnType<typeof statements.total>) =>
        Effect.map(
          sql<{ "QUERY PLAN": ReadonlyArray<{ readonly Plan: Plan }> }>`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
          ([row]) => nodes(row!["QUERY PLAN"][0]!.Plan)
        )
      for (const [name, more] of Object.entries(filters)) {
        const filter: OrderFilter = { merchantId: 1, environment: "devnet", ...more }
        const equal = {
          merchant_id: filter.merchantId,
          environment: filter.environment,
          status: filter.status,
          retailer: filter.retailer,
          customer_id: filter.customerId,
          wallet_address: filter.wallet,
          wallet_network: filter.walletNetwork
        }
        const where = sql.and([
          sql`created_at >= ${filter.createdFrom ?? 0}`,
          sql`created_at <= ${filter.createdTo ?? 2 ** 33}`,
          ...Object.entries(equal).flatMap(([column, value]) =>
            value === undefined ? [] : [sql`${sql(column)} = ${value}`]
          )
        ])
        const plain = yield* sql<
          { readonly id: string }
        >`SELECT id FROM orders WHERE ${where} ORDER BY created_at DESC, id DESC`
        assert.strictEqual(yield* repo.count(filter), plain.length, name)
        for (const page of [{ limit: 10, offset: 0 }, { limit: 10, offset: 45 }]) {
          const found = yield* repo.list(filter, page)
          assert.deepStrictEqual(
            found.map(({ id }) => id),
            plain.slice(page.offset, page.offset + page.limit).map(({ id }) => id),
            name
          )
          const plan = yield* planOf(statements.page(filter, page))
          const told = `${name}: ${plan.map((node) => node["Node Type"]).join(" < ")}`
          assert.isFalse(plan.some((node) => node["Node Type"] === "Seq Scan"), told)
          // Each of seven statuses, and of seven retailers where a network is asked for, may give all rows of a page.
          assert.isAtMost(rowsRead(plan, "orders"), 50 * (page.offset + page.limit), told)
        }
        const plan = yield* planOf(statements.total(filter))
        const told = `${name}, total: ${plan.map((node) => node["Node Type"]).join(" < ")}`
        assert.isFalse(plan.some((node) => node["Node Type"] === "Seq Scan"), told)
        assert.isAtMost(rowsRead(plan, "orders"), 100, told)
      }
    }).pipe(Effect.provide(served)))
})
