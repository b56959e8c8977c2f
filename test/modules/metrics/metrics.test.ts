/**
 * Goal: what a merchant reads of its business is what its invoices and payments add up to, and nobody else's.
 * Method: random histories through the real commit log, then random questions over HTTP against a recount in memory.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { type Aggregate, invoiceStates } from "../../../modules/invoices/machine.ts"
import { migrations, tables } from "../../../modules/invoices/migrations.ts"
import { MetricsApi } from "../../../modules/metrics/api.ts"
import { handlers } from "../../../modules/metrics/handlers.ts"
import { customers, paidInvoices, payments } from "../../../modules/metrics/rules.ts"
import type { Commit } from "../../../runtime/Commit.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import { histories, makeRandom, startSeconds } from "../../fixtures/histories.ts"
import { Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

/** `<scope>-<merchant>-<environment>` is a key. */
const keys = Layer.effectDiscard(Effect.flatMap(Credentials, ({ register }) =>
  register((key) => {
    const [scope, merchant, environment] = key.split("-")
    return Effect.succeed({
      merchantId: Number(merchant),
      environment,
      scope,
      kind: "key",
      credential: `key_${key}`,
      apiVersion: "2026-01-15",
      ...operatorKey
    } as never)
  })))

const rollups = [invoiceStates, paidInvoices, payments, customers]
const routes = Layer.merge(HttpApiBuilder.layer(MetricsApi).pipe(Layer.provide(handlers)), keys)
const served = apiLayer(
  [MetricsApi],
  routes,
  kernel(
    [{ name: "invoices", migrations, tables, rollups }],
    settingsLayer({ environments: ["devnet", "mainnet"] })
  )
)

const get = (query: Readonly<Record<string, string | number>>, key = "merchant-1-devnet") =>
  Effect.flatMap(
    Api,
    ({ call }) =>
      call(`/api/v1/metrics?${new URLSearchParams(query as Readonly<Record<string, string>>)}`, {
        headers: { "x-api-key": key }
      })
  )

const range = (n: number) => Array.from({ length: n }, (_, index) => index)

interface Stretch {
  readonly from: number
  readonly to: number
}

/** The figures counted from the objects as they stand. */
const recount = (all: ReadonlyArray<Aggregate>, { from, to }: Stretch) => {
  const within = (at: number | null | undefined): boolean => at !== null && at !== undefined && at >= from && at < to
  const invoices = all.map(({ invoice }) => invoice)
  const created = invoices.filter(({ createdAt }) => within(createdAt))
  const every = all.flatMap((aggregate) =>
    aggregate.payments.map((payment) => ({ ...payment, invoice: aggregate.invoice }))
  )
  const counted = every.filter(({ confirmedAt, status }) => isCounted(status) && within(confirmedAt))
  const sum = (amounts: ReadonlyArray<{ readonly amount: bigint }>) =>
    amounts.reduce((total, { amount }) => total + amount, 0n)
  const times = invoices.filter(({ paidAt }) => within(paidAt)).map(({ createdAt, paidAt }) => paidAt! - createdAt)
  return {
    created,
    counted,
    times: times.toSorted((a, b) => a - b),
    totals: {
      invoices_created: created.length,
      invoices_paid: times.length,
      invoices_expired: created.filter(({ status }) => status === "expired").length,
      invoices_underpaid: created.filter(({ status }) => status === "underpaid").length,
      amount_created: Number(sum(created)),
      amount_paid: Number(sum(counted)),
      paid_ratio: created.length === 0
        ? null
        : Math.round(created.filter(({ status }) => status === "paid").length / created.length * 1000) / 1000,
      payments: counted.length,
      payments_late:
        every.filter(({ invoice, seenAt, status }) => isCounted(status) && within(seenAt) && seenAt > invoice.expiresAt)
          .length,
      payments_reverted:
        every.filter(({ metadata, status }) => status === "reverted" && within(metadata.quote?.priced_at)).length,
      webhook_attempts: 0,
      webhook_success_ratio: null
    }
  }
}

layer(served as unknown as Layer.Layer<Api | Commit | SqlClient.SqlClient>)("GET /api/v1/metrics", (it) => {
  it.effect("equals a recount of what stands, for any span, zone, key and group; points and groups add up to totals", () =>
    Effect.gen(function*() {
      const all = yield* histories(5, 200)
      const roll = makeRandom(5)
      const seen = new Set<string>()
      for (const n of range(120)) {
        const merchant = 1 + roll(2)
        const environment = roll(3) === 0 ? "mainnet" : "devnet"
        const scope = roll(3) === 0 ? "commerce" : "merchant"
        const from = startSeconds - 50_000 + roll(120_000)
        const to = from + 1 + roll(150_000)
        const groupBy = (["network", "token", "customer"] as const)[roll(3)]!
        const answer = yield* get({
          from,
          to,
          interval: roll(2) === 0 ? "hour" : "day",
          timezone: ["UTC", "Asia/Kathmandu", "America/New_York"][roll(3)]!,
          group_by: groupBy
        }, `${scope}-${merchant}-${environment}`)
        assert.strictEqual(answer.status, 200, answer.text)
        const { data } = answer.json
        assert.deepStrictEqual([data.from <= from, data.to >= to, data.from % 900, data.to % 900], [true, true, 0, 0])
        const mine = all.filter(({ invoice }) =>
          invoice.merchantId === merchant && invoice.environment === environment &&
          (scope === "merchant" || invoice.type === "commerce")
        )
        const { counted, times, totals } = recount(mine, data)
        const told = `${n} ${JSON.stringify({ merchant, environment, scope, from, to, groupBy })}`
        assert.deepInclude(data.totals, totals, told)
        Object.entries(totals).forEach(([name, value]) => value !== 0 && value !== null && seen.add(name))

        const median = times[Math.ceil(times.length / 2) - 1]
        if (median === undefined) assert.isNull(data.totals.median_seconds_to_pay)
        else assert.isAtMost(Math.abs(data.totals.median_seconds_to_pay - median), median * 0.0625, told)

        data.series.forEach((point: any, at: number) => {
          const part = recount(mine, { from: point.start, to: data.series[at + 1]?.start ?? data.to })
          const { amount_paid, invoices_created, invoices_paid } = part.totals
          assert.deepInclude(point, { amount_paid, invoices_created, invoices_paid }, told)
        })
        for (const name of ["invoices_created", "invoices_paid", "amount_paid"]) {
          assert.strictEqual(
            data.series.reduce((sum: number, point: any) => sum + point[name], 0),
            data.totals[name],
            told
          )
        }

        const nameOf = ({ invoice, metadata, network }: typeof counted[number]) =>
          groupBy === "network" ? network : groupBy === "token" ? metadata.token?.id ?? null : invoice.customerId
        const groups = new Map<unknown, [number, number]>()
        for (const payment of counted) {
          const [count, amount] = groups.get(nameOf(payment)) ?? [0, 0]
          groups.set(nameOf(payment), [count + 1, amount + Number(payment.amount)])
        }
        const found = data.groups.map((group: any) => [group[groupBy], [group.payments, group.amount_paid]])
        assert.deepStrictEqual(new Map(found), groups, told)
        const amounts = data.groups.map((group: any) => group.amount_paid)
        assert.deepStrictEqual(amounts, amounts.toSorted((a: number, b: number) => b - a))
      }
      // Every figure was something at least once, but for the webhooks nobody asked for.
      assert.strictEqual(seen.size, Object.keys(recount([], { from: 0, to: 0 }).totals).length - 2)
    }))

  it.effect("answers exactly what is documented, decimals included, and zeros where there is nothing", () =>
    Effect.gen(function*() {
      const answer = yield* get({ from: "2020-01-01", to: "2020-01-03", group_by: "network" }, "merchant-9-devnet")
      assert.deepStrictEqual(answer.json, {
        success: true,
        data: {
          object: "metrics",
          from: 1_577_836_800,
          to: 1_578_009_600,
          interval: "day",
          timezone: "UTC",
          currency: "usd",
          amount_unit: "usd_millis",
          totals: {
            invoices_created: 0,
            invoices_paid: 0,
            invoices_expired: 0,
            invoices_underpaid: 0,
            amount_created: 0,
            amount_created_decimal: "0.000",
            amount_paid: 0,
            amount_paid_decimal: "0.000",
            paid_ratio: null,
            median_seconds_to_pay: null,
            payments: 0,
            payments_late: 0,
            payments_reverted: 0,
            webhook_attempts: 0,
            webhook_success_ratio: null
          },
          series: [1_577_836_800, 1_577_923_200].map((start) => ({
            start,
            invoices_created: 0,
            invoices_paid: 0,
            amount_paid: 0,
            amount_paid_decimal: "0.000"
          })),
          groups: [],
          groups_has_more: false
        }
      })
    }))

  it.effect("tells webhook attempts by environment, and a commerce key those of commerce", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rows = [["devnet", "standard:succeeded", 5], ["devnet", "standard:failed", 1], [
        "devnet",
        "commerce:failed",
        2
      ], ["mainnet", "standard:failed", 9]] as const
      yield* Effect.forEach(
        rows,
        ([environment, key, count]) =>
          sql`insert into rollups values (7, ${environment}, 'webhooks.attempts', 21600, 1577836800, ${key}, ${count}, 0, 0)`
      )
      const attempts = (key: string) =>
        Effect.map(
          get({ from: "2020-01-01", to: "2020-01-03" }, key),
          ({ json }) => [json.data.totals.webhook_attempts, json.data.totals.webhook_success_ratio]
        )
      assert.deepStrictEqual(yield* attempts("merchant-7-devnet"), [8, 0.625])
      assert.deepStrictEqual(yield* attempts("commerce-7-devnet"), [2, 0])
      assert.deepStrictEqual(yield* attempts("merchant-8-devnet"), [0, null])
    }))

  it.effect("tells at most 100 groups, those that paid most, and that there are more", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`insert into rollups select 6, 'devnet', ${customers.sum}, 21600, 1577836800, 'standard:c:' || n, 1, n, 0
        from generate_series(1, 150) n`
      const { json } = yield* get({ from: "2020-01-01", to: "2020-01-03", group_by: "customer" }, "merchant-6-devnet")
      assert.deepStrictEqual(
        json.data.groups.map(({ customer }: { customer: string }) => customer),
        range(100).map((n) => `c:${150 - n}`)
      )
      assert.isTrue(json.data.groups_has_more)
    }))

  it.effect("refuses what it cannot answer, wrapped and by name", () =>
    Effect.gen(function*() {
      const codeOf = (query: Readonly<Record<string, string | number>>, key?: string) =>
        Effect.map(get(query, key), ({ json, status, text }) =>
          `${status} ${json.error?.code ?? text} ${json.error?.param}`)
      assert.strictEqual(yield* codeOf({ interval: "minute" }), "400 VALIDATION_ERROR interval")
      assert.strictEqual(yield* codeOf({ group_by: "status" }), "400 VALIDATION_ERROR group_by")
      assert.strictEqual(yield* codeOf({ timezone: "Nowhere" }), "400 VALIDATION_ERROR timezone")
      assert.strictEqual(yield* codeOf({ from: "0", to: "1766320496" }), "400 VALIDATION_ERROR interval")
      assert.strictEqual(yield* codeOf({ from: "soon" }), "400 VALIDATION_ERROR from")
      assert.strictEqual(yield* codeOf({ environment: "testnet" }), "400 INVALID_ENVIRONMENT environment")
      assert.strictEqual(
        yield* codeOf({ environment: "mainnet" }, "commerce-1-devnet"),
        "403 ENVIRONMENT_FORBIDDEN null"
      )
    }))
})
