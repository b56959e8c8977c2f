/**
 * Goal: what a merchant is shown of its invoices, page by page and summed up, is exactly what is there; and a page
 * costs the same whatever the filter and however many invoices there are. Method: random histories through the real
 * commit log, against filters in memory; plans with ANALYZE on many rows.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { invoiceObject, type InvoiceState, invoiceStates } from "../../../modules/invoices/machine.ts"
import { migrations, tables } from "../../../modules/invoices/migrations.ts"
import { type InvoiceFilter, type InvoicePage, makeRepo, makeStatements } from "../../../modules/invoices/repo.ts"
import { Commit } from "../../../runtime/Commit.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { bucketOf } from "../../../runtime/Rollups.ts"
import { InvoiceStatus } from "../../../schemas/Invoice.ts"
import { histories, makeRandom, newInvoice, startSeconds } from "../../fixtures/histories.ts"
import { kernel } from "../../support/Api.ts"

const range = (n: number) => Array.from({ length: n }, (_, index) => index)

const served = kernel([{ name: "invoices", migrations, tables, rollups: [invoiceStates] }]) as Layer.Layer<
  Commit | MerchantClock | SqlClient.SqlClient
>

const live = (seed: number, count: number) =>
  Effect.map(histories(seed, count), (all) => all.map(({ invoice }) => invoice))

const passes = (filter: InvoiceFilter) => (invoice: InvoiceState): boolean =>
  invoice.merchantId === filter.merchantId && invoice.environment === filter.environment &&
  (!filter.commerceOnly || invoice.type === "commerce") &&
  (filter.statuses === undefined || filter.statuses.includes(invoice.status)) &&
  (filter.type === undefined || invoice.type === filter.type) &&
  (filter.customerId === undefined || invoice.customerId === filter.customerId) &&
  (filter.createdFrom === undefined || invoice.createdAt >= filter.createdFrom) &&
  (filter.createdTo === undefined || invoice.createdAt <= filter.createdTo) &&
  (filter.payerWalletAddress === undefined || invoice.payerWalletAddress === filter.payerWalletAddress) &&
  (filter.payerWalletNetwork === undefined || invoice.payerWalletNetwork === filter.payerWalletNetwork)

const randomFilter = (roll: ReturnType<typeof makeRandom>): InvoiceFilter => {
  const maybe = <A>(value: A): A | undefined => (roll(4) === 0 ? value : undefined)
  const given = {
    statuses: maybe(range(1 + roll(3)).map(() => InvoiceStatus.literals[roll(5)]!)),
    type: maybe(roll(2) === 0 ? "standard" : "commerce"),
    customerId: maybe(`customer ${roll(4)}`),
    createdFrom: maybe(startSeconds + roll(100_000)),
    createdTo: maybe(startSeconds + roll(100_000)),
    payerWalletAddress: maybe(`0xpayer${roll(4)}`),
    payerWalletNetwork: maybe(["base", "ethereum", "solana", "ton"][roll(4)]!)
  }
  return {
    merchantId: 1 + roll(2),
    environment: roll(2) === 0 ? "devnet" : "mainnet",
    commerceOnly: roll(4) === 0,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  }
}

const newestFirst = (a: InvoiceState, b: InvoiceState) => (a.id < b.id ? 1 : -1)

describe("invoices", () => {
  it.effect("are summed up as they stand, after any history, concurrent writers and lost races", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const standing = yield* live(1, 150)
      const expected = new Map<string, readonly [number, bigint, bigint]>()
      for (const invoice of standing) {
        for (const wide of invoiceStates.widths) {
          const { status, type, payerWalletNetwork, createdAt } = invoice
          const id = [
            invoice.merchantId,
            invoice.environment,
            wide,
            bucketOf(createdAt, wide),
            type,
            status,
            payerWalletNetwork
          ].join()
          const [count, amount, paid] = expected.get(id) ?? [0, 0n, 0n]
          expected.set(id, [count + 1, amount + invoice.amount, paid + invoice.amountPaid])
        }
      }
      const rows = yield* sql<
        Record<string, any>
      >`select * from rollups where count <> 0 or amount <> 0 or amount_paid <> 0`
      const found = rows.map((row): [string, readonly [number, bigint, bigint]] => [
        [row.merchant_id, row.environment, row.width, row.bucket, ...row.key.split(":")].join(),
        [Number(row.count), row.amount, row.amount_paid]
      ])
      assert.deepStrictEqual(new Map(found.toSorted()), new Map([...expected].toSorted()))
      assert.deepStrictEqual(new Set(standing.map(({ status }) => status)), new Set(InvoiceStatus.literals))
    }).pipe(Effect.provide(served)))

  it.effect("are listed and totalled as any filter selects them, on every page and from every cursor", () =>
    Effect.gen(function*() {
      const repo = yield* makeRepo
      const standing = (yield* live(2, 150)).toSorted(newestFirst)
      const roll = makeRandom(2)
      for (const _ of range(250)) {
        const filter = randomFilter(roll)
        const expected = standing.filter(passes(filter))
        const byStatus = yield* repo.totals(filter)
        for (const status of InvoiceStatus.literals) {
          const these = expected.filter((invoice) => invoice.status === status)
          const total = byStatus.get(status) ?? { count: 0, amount: 0n, amountPaid: 0n }
          assert.deepStrictEqual(total as object, {
            count: these.length,
            amount: these.reduce((sum, { amount }) => sum + amount, 0n),
            amountPaid: these.reduce((sum, { amountPaid }) => sum + amountPaid, 0n)
          }, JSON.stringify(filter))
        }
        const limit = 1 + roll(7)
        /** As a service reads it, and as the API does, which counts and asks for payments in the same statement. */
        const shown = Effect.fnUntraced(function*(page: InvoicePage) {
          const { hasMore, invoices } = yield* repo.list(filter, page)
          const { payments, total, ...again } = yield* repo.listWithTotal(filter, page, roll(3))
          assert.deepStrictEqual(again, { hasMore, invoices })
          assert.strictEqual(total, expected.length)
          for (const { id } of invoices) assert.isDefined(payments.get(id))
          return { ids: invoices.map(({ id }) => id), hasMore }
        })
        const offset = roll(3) * limit
        assert.deepStrictEqual(yield* shown({ _tag: "Offset", offset, limit }), {
          ids: expected.slice(offset, offset + limit).map(({ id }) => id),
          hasMore: expected.length > offset + limit
        }, JSON.stringify(filter))
        const cursor = standing[roll(standing.length)]!
        const older = expected.filter((invoice) => newestFirst(invoice, cursor) > 0 && invoice !== cursor)
        assert.deepStrictEqual(yield* shown({ _tag: "Older", id: cursor.id, limit }), {
          ids: older.slice(0, limit).map(({ id }) => id),
          hasMore: older.length > limit
        }, JSON.stringify(filter))
        const newer = expected.filter((invoice) => newestFirst(invoice, cursor) < 0 && invoice !== cursor)
        assert.deepStrictEqual(yield* shown({ _tag: "Newer", id: cursor.id, limit }), {
          ids: newer.slice(-limit).map(({ id }) => id),
          hasMore: newer.length > limit
        }, JSON.stringify(filter))
      }
    }).pipe(Effect.provide(served)))

  it("in a sum stand in one bucket of each width, by type, status and network", () => {
    const invoice = newInvoice(makeRandom(3), startSeconds, {
      payerWalletNetwork: "base",
      status: "paid",
      type: "standard"
    })
    assert.deepStrictEqual(invoiceStates.contributions(invoiceObject(invoice)), [{
      at: startSeconds,
      key: "standard:paid:base",
      count: 1,
      amount: invoice.amount,
      amountPaid: 0n
    }])
  })
})

/** Invoices of the merchant whose plans are asked for, as many of another, and the sums of both. */
const rows = 30_000

const fill = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`insert into invoices (merchant_id, id, version, environment, status, type, amount, amount_paid, customer_id,
      payer_wallet_address, payer_wallet_network, expires_at, created_at, paid_at, metadata, policy, details, grace_ended)
    select 1 + n % 2, overlay(overlay(lpad(to_hex((${startSeconds} + n * 60) * 1000::bigint), 12, '0') || '7' ||
        substr(md5(n::text), 1, 19) placing '-' from 9 for 0) placing '-' from 14 for 0)::uuid, 1,
      case when n % 20 < 2 then 'mainnet' else 'devnet' end, s.status, case when n % 50 < 2 then 'commerce' else 'standard' end,
      1000, case when s.status = 'paid' then 1000 else 0 end, 'customer ' || n % 1000,
      case when s.status = 'paid' then '0xpayer' || n % 1000 end,
      case when s.status = 'paid' then case when n % 100 < 50 then 'base' else 'ton' end end,
      ${startSeconds} + n * 60 + 600, ${startSeconds} + n * 60, case when s.status = 'paid' then 1 end, '{}', '{}', '{}', false
    from generate_series(0, ${2 * rows - 1}) n
    cross join lateral (select case when n % 10 < 8 then 'paid' when n % 1000 < 10 then 'canceled' else 'unpaid' end as status) s`
  yield* Effect.forEach(
    invoiceStates.widths,
    (wide) =>
      sql`insert into rollups select merchant_id, environment, ${invoiceStates.sum}, ${wide}::integer,
        case when ${wide}::integer = 0 then 0 else created_at - created_at % nullif(${wide}::integer, 0) end,
        type || ':' || status || ':' || coalesce(payer_wallet_network, ''), count(*), sum(amount), sum(amount_paid)
      from invoices group by 1, 2, 5, 6`
  )
  yield* sql`vacuum analyze invoices, rollups`
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

const reads = (plan: Plan, table: string) => nodes(plan).some((node) => node["Relation Name"] === table)

/** How the planner may group sums: by hashes where its random sample of the table says so, or by sorts alone. */
const groupings = ["hashes", "sorts"] as const

/** Rollups that the sums of a list may read: those of a span of weeks at the widths that it is cut into. */
const mostRollups = 2_000

/** Rows a plan took from a table, those it threw away included. */
const rowsRead = (plan: ReadonlyArray<Plan>, table: string): number =>
  plan.filter((node) => node["Relation Name"] === table).reduce(
    (sum, node) => sum + (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
    0
  )

describe("a plan", () => {
  const middle = startSeconds + rows * 60
  const week = 7 * 86_400
  const filters: Readonly<Record<string, Partial<InvoiceFilter>>> = {
    nothing: {},
    "the rarer environment": { environment: "mainnet" },
    "a status": { statuses: ["paid"] },
    "a rare status": { statuses: ["canceled"] },
    "a status nobody has": { statuses: ["expired"] },
    "several statuses": { statuses: ["paid", "canceled", "unpaid"] },
    "a type": { type: "commerce" },
    "a type and a status": { type: "commerce", statuses: ["unpaid"] },
    "a commerce key": { commerceOnly: true },
    "a customer": { customerId: "customer 400" },
    "a customer and a status": { customerId: "customer 400", statuses: ["paid"] },
    "a customer nobody knows": { customerId: "nobody" },
    "a customer of a commerce key": { customerId: "customer 400", commerceOnly: true },
    "a payer": { payerWalletAddress: "0xpayer400" },
    "a payer and a network": { payerWalletAddress: "0xpayer400", payerWalletNetwork: "base" },
    "a network": { payerWalletNetwork: "ton" },
    "a network nobody paid on": { payerWalletNetwork: "sui" },
    "a network and a status": { payerWalletNetwork: "base", statuses: ["canceled"] },
    "a network, a type and a status": { payerWalletNetwork: "base", statuses: ["paid"], type: "commerce" },
    "a time from": { createdFrom: middle },
    "a time to": { createdTo: middle },
    "a span": { createdFrom: middle, createdTo: middle + week },
    "a span and a status": { createdFrom: middle, createdTo: middle + week, statuses: ["paid"] },
    "a span, a type and a network": {
      createdFrom: middle,
      createdTo: middle + week,
      type: "commerce",
      payerWalletNetwork: "base"
    },
    "a span and a customer": { createdFrom: middle, createdTo: middle + week, customerId: "customer 400" }
  }
  const limit = 10
  const cursor = "019b4500-0000-7000-8000-000000000000"
  const pages: Readonly<Record<string, InvoicePage>> = {
    "the first page": { _tag: "Offset", offset: 0, limit },
    "page 5": { _tag: "Offset", offset: 4 * limit, limit },
    older: { _tag: "Older", id: cursor, limit },
    newer: { _tag: "Newer", id: cursor, limit }
  }

  it.effect("of any page and any totals scans no table, sorts no more than it shows and reads few rows", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* fill
      const statements = makeStatements(sql)
      const planOf = (
        statement: ReturnType<typeof statements.page> | ReturnType<typeof statements.totals>,
        grouping: (typeof groupings)[number]
      ) =>
        Effect.gen(function*() {
          yield* sql`select set_config('enable_hashagg', ${grouping === "hashes" ? "on" : "off"}, true)`
          const [row] = yield* sql<{ "QUERY PLAN": ReadonlyArray<{ readonly Plan: Plan }> }>`
            explain (analyze, format json) ${statement}`
          return nodes(row!["QUERY PLAN"][0]!.Plan)
        }).pipe(sql.withTransaction)
      // Each of two types and five statuses may give all rows of a page; a customer's or payer's are few.
      const atMost = (page: InvoicePage) => 11 * ((page._tag === "Offset" ? page.offset : 0) + limit + 1)
      const cases = Object.entries(filters).flatMap((entry) =>
        groupings.map((grouping) => [...entry, grouping] as const)
      )
      for (const [name, filter, grouping] of cases) {
        const whole: InvoiceFilter = { merchantId: 1, environment: "devnet", commerceOnly: false, ...filter }
        for (const [which, page] of Object.entries(pages)) {
          // The list itself: the page, how many there are, and the payments of what it shows.
          const plan = yield* planOf(statements.pageWithTotal(whole, page, 3), grouping)
          const told = `${name}, ${which}, ${grouping}: ${plan.map((node) => node["Node Type"]).join(" < ")}`
          assert.isFalse(plan.some((node) => node["Node Type"] === "Seq Scan"), told)
          assert.isAtMost(plan[0]!["Actual Rows"], limit + 1, told)
          // A sort of sums has the rollups, and the sums of invoices at the edges of a span.
          plan.filter((node) => node["Node Type"] === "Sort").forEach((node) =>
            assert.isAtMost(node["Actual Rows"], reads(node, "rollups") ? mostRollups : atMost(page), told)
          )
          assert.isAtMost(rowsRead(plan, "invoices"), atMost(page) + 100, told)
          assert.isAtMost(rowsRead(plan, "rollups"), mostRollups, told)
        }
        const plan = yield* planOf(statements.totals(whole), grouping)
        const told = `${name}, totals, ${grouping}: ${plan.map((node) => node["Node Type"]).join(" < ")}`
        assert.isFalse(plan.some((node) => node["Node Type"] === "Seq Scan"), told)
        assert.isAtMost(rowsRead(plan, "invoices"), 100, told)
        assert.isAtMost(rowsRead(plan, "rollups"), mostRollups, told)
      }
    }).pipe(Effect.provide(served)))
})
