/**
 * Goal: a page of events has exactly what its filters select, and costs the same however many events there are and
 * however rare what is asked for. Method: every filter alone and in pairs, in both directions, against filters in
 * memory; then plans with ANALYZE over rows of which the rare ones are the oldest, and over four times as many.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { pageStatement, type Row as StoredRow, textOf } from "../../../modules/events/repo.ts"
import { textStatement } from "../../../modules/events/repo/EventText.ts"
import type { EventsPage } from "../../../modules/events/rules.ts"
import { deliveredTypes } from "../../../schemas/Event.ts"
import { compareEventPositions, type EventPosition } from "../../../schemas/Ids.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { kernel } from "../../support/Api.ts"

const served = kernel([]) as Layer.Layer<SqlClient.SqlClient>

const limit = 10
const firstMillis = 1_700_000_000_000n
/** The rare events of merchant 1 are among its first. */
const rareRows = 200

/**
 * Events `from` to `to` of two merchants, among them some of an opt-in type. Merchant 1 has a customer with half of all
 * its events; in `rareRows` also some of commerce, on mainnet, and of a type that no later one has. Merchant 2 has
 * mostly what is rare for merchant 1.
 */
const fill = (from: number, to: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO events (merchant_id, ms, seq, environment, type, invoice_id, order_id, customer_id, commerce,
        pending_webhooks, data)
      SELECT m, ${String(firstMillis)}::bigint + n * 7, n * 2 + m,
        CASE WHEN m = 2 OR (n < ${rareRows} AND n % 20 IN (3, 4)) THEN 'mainnet' ELSE 'devnet' END,
        CASE WHEN n % 9 > 6 THEN 'exception.opened' WHEN m = 2 THEN (array['invoice.canceled', 'invoice.expired', 'invoice.paid'])[1 + n % 3]
          WHEN n < ${rareRows} AND n % 20 IN (2, 4) THEN 'invoice.canceled'
          ELSE (array['invoice.created', 'invoice.updated', 'invoice_payment.created', 'invoice.paid'])[1 + n % 4] END,
        'invoice ' || n / 5, CASE WHEN m = 2 OR (n < ${rareRows} AND n % 20 = 5) THEN 'order ' || n / 50 END,
        CASE WHEN n % 2 = 0 THEN 'everybody' WHEN n % 10 > 1 THEN 'customer ' || n / 100 END,
        n % 9 <= 6 AND (m = 2 OR (n < ${rareRows} AND n % 20 IN (4, 5))), 0, 'text'
      FROM generate_series(${from}::integer, ${to - 1}::integer) n, generate_series(1, 2) m`
  )

const ofMerchant: EventsPage = {
  merchantId: 1,
  commerceOnly: false,
  environment: undefined,
  types: undefined,
  fromMillis: undefined,
  toMillis: undefined,
  invoiceId: undefined,
  orderId: undefined,
  customerId: undefined,
  direction: "older",
  cursor: undefined,
  limit
}

const at = (n: number): EventPosition => ({ ms: firstMillis + BigInt(n) * 7n, seq: BigInt(n) * 2n + 1n })

/** By the parameter that is sent, or the key; those of one parameter do not go together. */
const filters: ReadonlyArray<readonly [name: string, filter: Partial<EventsPage>]> = [
  ["a common type", { types: ["invoice.paid"] }],
  ["a rare type", { types: ["invoice.canceled"] }],
  ["an opt-in type", { types: ["exception.opened"] }],
  ["every type by name", { types: deliveredTypes }],
  ["a type without events", { types: ["invoice.expired"] }],
  ["no type", { types: [] }],
  ["several types", { types: ["invoice.paid", "invoice.canceled", "commerce.order.created"] }],
  ["the common environment", { environment: "devnet" }],
  ["the rare environment", { environment: "mainnet" }],
  ["a commerce key", { environment: "devnet", commerceOnly: true }],
  ["a customer with most events", { customerId: "everybody" }],
  ["a customer", { customerId: "customer 1" }],
  ["a customer without events", { customerId: "nobody" }],
  ["an invoice", { invoiceId: "invoice 4" }],
  ["an order", { orderId: "order 1" }],
  ["a time from", { fromMillis: at(190).ms }],
  ["a time to", { toMillis: at(150).ms }]
]

const goTogether = (a: Partial<EventsPage>, b: Partial<EventsPage>) => !Object.keys(a).some((key) => key in b)

const cursors: Readonly<Record<string, Partial<EventsPage>>> = {
  "the first page": {},
  older: { cursor: at(160) },
  newer: { direction: "newer", cursor: at(100) }
}

/** The first page, and one in each direction, of no filter, every filter alone and every two that go together. */
const pages: ReadonlyArray<readonly [name: string, page: EventsPage]> = [
  ["no filter", {}] as const,
  ...filters,
  ...filters.flatMap(([name, filter], index) =>
    filters.slice(index + 1).filter(([, other]) => goTogether(filter, other))
      .map(([otherName, other]) => [`${name} and ${otherName}`, { ...filter, ...other }] as const)
  )
].flatMap(([name, filter]) =>
  Object.entries(cursors).map(([which, cursor]) =>
    [`${name}, ${which}`, { ...ofMerchant, ...filter, ...cursor }] as const
  )
)

interface Row extends EventPosition {
  readonly merchant_id: number
  readonly environment: string
  readonly type: string
  readonly invoice_id: string | null
  readonly order_id: string | null
  readonly customer_id: string | null
  readonly commerce: boolean
}

const isSelected = (page: EventsPage) => (row: Row): boolean =>
  row.merchant_id === page.merchantId && (!page.commerceOnly || row.commerce) &&
  (page.environment === undefined || row.environment === page.environment) &&
  (page.types === undefined ? row.type !== "exception.opened" : page.types.some((type) => type === row.type)) &&
  (page.fromMillis === undefined || row.ms >= page.fromMillis) &&
  (page.toMillis === undefined || row.ms < page.toMillis) &&
  (page.invoiceId === undefined || row.invoice_id === page.invoiceId) &&
  (page.orderId === undefined || row.order_id === page.orderId) &&
  (page.customerId === undefined || row.customer_id === page.customerId) &&
  (page.cursor === undefined ||
    Math.sign(compareEventPositions(row, page.cursor)) === (page.direction === "older" ? -1 : 1))

interface Plan {
  readonly "Relation Name"?: string
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number
  readonly "Shared Hit Blocks": number
  readonly "Shared Read Blocks": number
  readonly Plans?: ReadonlyArray<Plan>
}

const nodes = (plan: Plan): ReadonlyArray<Plan> => [plan, ...(plan.Plans ?? []).flatMap(nodes)]

/** Rows of the events that were looked at, those left out included, and pages of the database. */
const costOf = Effect.fnUntraced(function*(page: EventsPage) {
  const sql = yield* SqlClient.SqlClient
  const { text, values } = pageStatement(page)
  const [row] = yield* sql.unsafe<{ "QUERY PLAN": ReadonlyArray<{ readonly Plan: Plan }> }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ${text}`,
    values
  )
  const plan = row!["QUERY PLAN"][0]!.Plan
  const rows = nodes(plan).filter((node) => node["Relation Name"]?.startsWith("events") === true).reduce(
    (sum, node) => sum + (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
    0
  )
  return { rows, buffers: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] }
})

/** Two environments and, of each, ten types with and without commerce, two with it and three without. */
const runs = 50
/** Each run may give all rows of a page, which are then read; an invoice's or an order's few are looked at. */
const maximumRows = (runs + 1) * (limit + 1)

describe("a page of events", () => {
  it.effect("has what its filters select, in the order of the ids, in both directions", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* fill(0, 260)
      const all = yield* sql<Row>`SELECT * FROM events ORDER BY ms, seq`
      for (const [name, page] of pages) {
        const { text, values } = pageStatement(page)
        const found = yield* sql.unsafe<StoredRow>(text, values)
        const selected = all.filter(isSelected(page))
        const expected = (page.direction === "older" ? selected.toReversed() : selected).slice(0, limit + 1)
        assert.deepStrictEqual(found.map(({ ms, seq }) => [ms, seq]), expected.map(({ ms, seq }) => [ms, seq]), name)
        const texts = yield* sql.unsafe<{ readonly text: string }>(textStatement(text), values)
        assert.deepStrictEqual(texts.map((row) => row.text), found.map((row) => textOf(row, newestVersion)), name)
      }
    }).pipe(Effect.provide(served)))

  it.effect("costs the same over four times as many events, whatever is asked for", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* fill(0, 10_000)
      yield* sql`VACUUM ANALYZE events`
      const few = new Map<string, Effect.Success<ReturnType<typeof costOf>>>()
      for (const [name, page] of pages) few.set(name, yield* costOf(page))
      yield* fill(10_000, 40_000)
      yield* sql`VACUUM ANALYZE events`
      for (const [name, page] of pages) {
        const { buffers, rows } = yield* costOf(page)
        assert.isAtMost(rows, maximumRows, name)
        // An index may be one level higher.
        assert.isAtMost(buffers, 2 * few.get(name)!.buffers + 2 * runs, name)
      }
    }).pipe(Effect.provide(served)))
})
