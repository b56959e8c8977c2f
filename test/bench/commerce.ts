/**
 * A checkout of three calls and its last one alone, beside the plain invoice in the same process; and the list of
 * orders with its total over a million rows, beside the same over ten thousand, filter by filter.
 */
import { Effect } from "effect"
import { makeMerchants } from "../support/Merchants.ts"
import { runRole } from "../support/Process.ts"
import type { Bench } from "./Bench.ts"
import type { CheckoutRate, CheckoutResult, CheckoutSpec } from "./checkout.ts"
import { invoiceBody, merchantCount } from "./create.ts"
import { type DatabaseServer, onDatabase } from "./Database.ts"
import { measure, type Questions, type Side, type Size, sizeNames, sizes, spanSeconds } from "./list.ts"
import { drive } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const callers = 64
const seconds = 4
const warmUpSeconds = 12
const prepared = 2_000

const item = { product_id: "B08N5WRWNW", retailer: "amazon", quantity: 2, price: 9.99 }

const address = {
  first_name: "Ada",
  last_name: "Lovelace",
  street_address: "12 Analytical Way",
  city: "Miami",
  state: "FL",
  zip_code: "33101",
  country: "US",
  phone: "+1 305 555 0100",
  email: "ada@example.com"
}

const checkoutOf = (pid: number, port: number, keys: ReadonlyArray<string>, more: Partial<CheckoutSpec> = {}) =>
  runRole<CheckoutResult>(new URL("checkout.ts", import.meta.url), {
    port,
    pid,
    callers,
    seconds,
    prepared,
    keys,
    address,
    estimate: { items: [item] },
    customer: { customer_id: "customer-42" },
    ...more
  })

/** One fresh process: whole checkouts, their last call alone, and the plain invoice. */
const checkoutRound = (deployment: Tillwire.Deployment, keys: ReadonlyArray<string>) =>
  Effect.scoped(Effect.gen(function*() {
    const { pid, ports: { http: port } } = yield* Tillwire.start(deployment)
    yield* checkoutOf(pid, port, keys, { seconds: warmUpSeconds, prepared: callers })
    const { invoice, whole } = yield* checkoutOf(pid, port, keys)
    const load = {
      port,
      callers,
      seconds,
      method: "POST",
      paths: ["/api/v1/invoices"],
      keys,
      body: invoiceBody,
      keyed: true
    } as const
    yield* drive(pid, { ...load, seconds: 2 })
    return { whole, invoice, plain: yield* drive(pid, load) }
  }))

const checkout = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, "commerce_checkout")
    const keys = yield* Tillwire.prepare(
      deployment,
      (service) =>
        Effect.map(makeMerchants(service, merchantCount, "commerce"), (merchants) => merchants.map(({ key }) => key))
    )
    const found: Array<Effect.Success<ReturnType<typeof checkoutRound>>> = []
    for (let round = 1; round <= rounds; round++) {
      found.push(yield* checkoutRound(deployment, keys))
      const { invoice, plain, whole } = found.at(-1)!
      const [orders, last, invoices] = [whole, invoice, plain].map(({ perSecond }) => Math.round(perSecond))
      progress(
        `commerce ${round}/${rounds}: ${orders} checkouts/s, ${last} orders/s by the last call, ${invoices} plain invoices/s`
      )
    }
    const of = (name: "whole" | "invoice" | "plain", figure: keyof CheckoutRate) =>
      median(found.map((round) => round[name][figure]))
    const line = (what: string, name: "whole" | "invoice" | "plain"): ReportLine => ({
      section: "commerce",
      what: `${what}, ${callers} callers`,
      value: of(name, "perSecond"),
      unit: "/s",
      cpuEach: of(name, "cpuEach"),
      note: `p50 ${of(name, "p50").toFixed(1)} ms`
    })
    return [
      line("checkout: estimate, address, invoice", "whole"),
      line("checkout's invoice alone: order, invoice, events", "invoice"),
      line("a plain invoice", "plain"),
      {
        section: "commerce",
        what: "an order's rate against a plain invoice's",
        value: median(found.map(({ invoice, plain }) => invoice.perSecond / plain.perSecond)),
        unit: "x"
      }
    ]
  }))

/** Every customer and every wallet has so many orders, in either size. */
const ordersEach = 100

/**
 * Copies of one real order, a hundred days of them: seven tenths delivered, a thousandth cancelled, none failed, of
 * three retailers and several, half of them by a wallet on one of two networks, a tenth on mainnet.
 */
const replaced = (count: number): Readonly<Record<string, string>> => ({
  id: `overlay(overlay(lpad(to_hex(t.at * 1000 + n % 1000), 12, '0') || '7' || substr(md5(n::text), 1, 19)
    placing '-' from 9 for 0) placing '-' from 14 for 0)::uuid`,
  environment: "case when n % 10 = 9 then 'mainnet' else 'devnet' end",
  status: `case when n % 10 < 7 then 'delivered' when n % 1000 = 8 then 'cancelled' when n % 10 = 7 then 'shipped'
    when n % 20 < 10 then 'placed' else 'pending_payment' end`,
  retailer: "(array['amazon', 'amazon', 'walmart', 'target', ''])[1 + n / 10 % 5]",
  customer_id: `'customer ' || n % ${count / ordersEach}`,
  wallet_address: `case when n % 2 = 0 then '0xwallet' || n % ${count / ordersEach} end`,
  wallet_network: "case when n % 2 = 0 then case when n % 3 = 0 then 'base' else 'solana' end end",
  created_at: "t.at",
  updated_at: "t.at",
  due_at: "null"
})

/** The sums of what is there, as the commits would have left them. */
const sums = `
  insert into rollups select merchant_id, environment, 'commerce.orders', w, case w when 0 then 0 else created_at - created_at % w end,
    status || ':' || retailer || ':' || coalesce(wallet_network, ''), count(*), sum((amounts->>'total')::bigint), 0
  from orders, unnest(array[0, 900, 21600]) w group by 1, 2, 4, 5, 6 order by 4, 5, 6
  on conflict (merchant_id, environment, sum, width, bucket, key) do update set count = excluded.count, amount = excluded.amount`

const fill = (server: DatabaseServer, database: string, count: number, first: number) =>
  onDatabase(server, database, async (client) => {
    const { rows } = await client.query(
      "select column_name as name from information_schema.columns where table_name = 'orders' order by ordinal_position"
    )
    const values = rows.map(({ name }) => replaced(count)[name] ?? `o.${name}`)
    await client.query(`insert into orders select ${values.join(", ")}
      from (select * from orders limit 1) o, generate_series(0, ${count - 1}) n
      cross join lateral (select ${first} + n * ${spanSeconds}::bigint / ${count} as at) t`)
    await client.query(sums)
    await client.query("vacuum analyze orders, rollups")
    await client.query("checkpoint")
  })

const questions = (at: number): Questions => {
  const anyOf = (prefix: string) => Array.from({ length: sizes.few / ordersEach }, (_, n) => prefix + n)
  const evenOf = (prefix: string) => Array.from({ length: sizes.few / ordersEach / 2 }, (_, n) => prefix + 2 * n)
  const span = `created_from=${at - 1_234}&created_to=${at + 10 * 86_400}`
  return Object.entries({
    "no filter": [""],
    "the last rows that may be skipped to": ["offset=5000"],
    "status=delivered": ["status=delivered"],
    "status=cancelled": ["status=cancelled"],
    "status=failed, which none is": ["status=failed"],
    "retailer": ["retailer=amazon", "retailer=target"],
    "retailer and status": ["retailer=walmart&status=cancelled"],
    "customer_id": anyOf("customer_id=customer%20"),
    "customer_id and status": anyOf("status=delivered&customer_id=customer%20"),
    "wallet": evenOf("wallet=0xwallet"),
    "wallet_network": ["wallet_network=base", "wallet_network=solana"],
    "wallet_network and status": ["wallet_network=base&status=cancelled"],
    "created_from": [`created_from=${at - 1_234}`],
    "created_from and created_to": [span],
    "a span, status and retailer": [`${span}&status=delivered&retailer=amazon`]
  }).map(([name, some]) => [name, some.map((query) => `/api/commerce/merchant/orders?${query}`)] as const)
}

const orders = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const at = Math.floor(Date.now() / 1000 / 86_400) * 86_400 - spanSeconds / 2 + 4_321
    const asked = questions(at)
    const sides = {} as Record<Size, Side>
    for (const size of sizeNames) {
      const deployment = yield* Tillwire.deploy(server, `orders_${size}`)
      const key = yield* Tillwire.prepare(deployment, (service) =>
        Effect.gen(function*() {
          const { commerce_key: key } = yield* service.keys
          yield* checkoutOf(service.pid, service.ports.http, [key], { callers: 1, seconds: 0, prepared: 1 })
          return key
        }))
      progress(`commerce: making ${sizes[size]} orders`)
      yield* fill(server, deployment.database, sizes[size], at - spanSeconds / 2)
      sides[size] = { deployment, key }
    }
    const found: Array<Effect.Success<ReturnType<typeof measure>>> = []
    const times = (round: typeof found[number], name: string): number => round.get(name)!.many / round.get(name)!.few
    for (let round = 1; round <= rounds; round++) {
      found.push(yield* measure(sides, asked))
      const worst = Math.max(...asked.map(([name]) => times(found.at(-1)!, name)))
      progress(`commerce ${round}/${rounds}: at most ${worst.toFixed(2)} times slower over ${sizes.many} orders`)
    }
    const p50 = (name: string, size: Size) => median(found.map((round) => round.get(name)![size])).toFixed(2)
    return asked.map(([name]): ReportLine => ({
      section: "commerce",
      what: `${sizes.many} orders against ${sizes.few}: ${name}`,
      value: median(found.map((round) => times(round, name))),
      unit: "x",
      goal: { atMost: 1.5 },
      note: `p50 ${p50(name, "few")} ms, ${p50(name, "many")} ms`
    }))
  }))

export const commerce = (bench: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.map(Effect.all([checkout(bench), orders(bench)]), (lines) => lines.flat())
