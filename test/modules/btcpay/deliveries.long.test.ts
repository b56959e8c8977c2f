/**
 * Goal: a shop hears of its invoices in the order of what happened, whoever dies and however its receiver behaves
 * (modules/docs/reference/btcpay.md#webhooks). Method: the short form of `npm run bench -- shop_webhooks`: two real
 * processes on one PostgreSQL, both killed, and receivers that fail in every way.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { freePort } from "../../support/Ports.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import { testSeed } from "../../support/Seed.ts"
import { configOf, startService, temporaryDirectory } from "../../support/Service.ts"
import { runShopDeliveries } from "./ShopDeliveries.ts"
import { checkShopDeliveries, type ShopArrival, type ShopHistory } from "./ShopDeliveryChecker.ts"

/** Three starts of the service under load; a busy machine takes several times as long. */
const limitMillis = 300_000

const retry = { baseMillis: 50, factor: 1 }

const run = Effect.gen(function*() {
  const database = yield* migratedDatabase
  const receiver = yield* makeReceiver()
  const directories = [yield* temporaryDirectory, yield* temporaryDirectory] as const
  const ports = [{ http: yield* freePort, rpc: yield* freePort }, {
    http: yield* freePort,
    rpc: yield* freePort
  }] as const
  const config = configOf({
    database: database.url,
    receivers: [receiver.host],
    chains: [{ use: "simulated", options: { networks: ["base"] } }],
    webhooks: { retryBaseSeconds: retry.baseMillis / 1_000, retryFactor: retry.factor }
  })
  return yield* runShopDeliveries({
    start: (instance) => startService({ directory: directories[instance], config, ports: ports[instance] }),
    query: (text) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, any>>(text)).pipe(
        Effect.provide(connect(database)),
        Effect.orDie
      ),
    receiver,
    kills: 2,
    shortestLife: 300,
    longestLife: 600,
    callers: 2,
    betweenMillis: 400,
    retry,
    isShortRun: true,
    seed: testSeed,
    progress: () => {}
  })
})

type Spoil = (history: ShopHistory) => ShopHistory

const spoilArrivals =
  (by: (arrivals: ReadonlyArray<ShopArrival>) => ReadonlyArray<ShopArrival>): Spoil => (history) => ({
    ...history,
    arrivals: by(history.arrivals)
  })

/** Changes the first arrival that is so. */
const arrival = (which: (one: ShopArrival) => boolean, by: (one: ShopArrival) => ShopArrival): Spoil =>
  spoilArrivals((arrivals) => {
    const at = arrivals.findIndex(which)
    assert.isAtLeast(at, 0)
    return arrivals.with(at, by(arrivals[at]!))
  })

const textOf = ({ body }: ShopArrival) => body.toString("utf8")
const isSteady = ({ path }: ShopArrival) => path === "/steady"
const isAgain = (one: ShopArrival) => textOf(one).includes(`"isRedelivery":true`)
const rewrite = (from: string | RegExp, to: string) => (one: ShopArrival): ShopArrival => ({
  ...one,
  body: Buffer.from(textOf(one).replace(from, to))
})

/** The first two deliveries of the steady receiver change places. */
const swapped = spoilArrivals((arrivals) => {
  const [first, second] = arrivals.filter(isSteady)
  const { answeredAt, endedAt, startedAt } = first!
  const times = { answeredAt, endedAt, startedAt }
  return arrivals.map((one) =>
    one === first
      ? { ...one, startedAt: second!.startedAt, answeredAt: second!.answeredAt, endedAt: second!.endedAt }
      : one === second
      ? { ...one, ...times }
      : one
  )
})

const row = (by: Partial<ShopHistory["rows"][number]>): Spoil => (history) => ({
  ...history,
  rows: history.rows.with(0, { ...history.rows[0]!, ...by })
})

/** A history spoiled by hand, and the promise that has to notice. */
const spoiled: Readonly<Record<string, readonly [string, Spoil]>> = {
  "two that came in the other order": ["order", swapped],
  "one that came before the one before was taken": [
    "order",
    arrival(isSteady, (one) => ({ ...one, status: 500 }))
  ],
  "one that never came": ["order", spoilArrivals((all) => all.toSpliced(all.findIndex(isSteady), 1))],
  "one that nobody was to hear": ["webhooks", (history) => ({ ...history, invoices: history.invoices.slice(1) })],
  "an answer that took until the next began": [
    "one at a time",
    arrival(isSteady, (one) => ({ ...one, answeredAt: one.startedAt + 60_000 }))
  ],
  "a signature over other bytes": ["signature", arrival(isSteady, rewrite("InvoiceCreated", "InvoiceCreatee"))],
  "a header of the other format": [
    "signature",
    arrival(isSteady, (one) => ({ ...one, headers: { ...one.headers, "webhook-id": "evt_1-1" } }))
  ],
  "a redelivery that says it is none": [
    "redelivery",
    arrival(isAgain, rewrite(`"isRedelivery":true`, `"isRedelivery":false`))
  ],
  "an attempt without its number": ["ids", arrival(isAgain, rewrite(/("deliveryId":"whd_[^".]+)\.\d+"/, "$1.x\""))],
  "another delivery's id": [
    "order",
    arrival(isAgain, rewrite(/("originalDeliveryId":"whd_)[^"]+"/, "$100000000-0000-7000-8000-000000000000\""))
  ],
  "a webhook of another endpoint": ["ids", arrival(isSteady, rewrite(/"webhookId":"[^"]+"/, "\"webhookId\":\"we_x\""))],
  "metadata that changed meanwhile": ["frozen", arrival(isAgain, rewrite("é✓ changed", "é✓ changed again"))],
  "a retry before its time": [
    "pace",
    (history) => ({ ...history, baseMillis: 120_000 })
  ],
  "an attempt twice without a kill": [
    "attempts",
    spoilArrivals((all) => {
      const one = all.filter(isSteady).at(-1)!
      const later = (at: number | null) => at === null ? null : at + 60_000
      const next = { startedAt: one.startedAt + 60_000, answeredAt: later(one.answeredAt), endedAt: later(one.endedAt) }
      return [...all, { ...one, ...next }]
    })
  ],
  "a redirect that was followed": ["redirects", arrival(isSteady, (one) => ({ ...one, path: "/followed" }))],
  "a delivery that is not written down": ["outcomes", row({ status: "retrying" })],
  "attempts that were not counted": ["outcomes", row({ attempt: 3 })],
  "a text that its commit did not store": ["frozen", row({ data: "{}" })]
}

describe("the webhooks of a shop", () => {
  it.live(
    "come in order, one at a time, each until it is taken or given up, from two instances that are killed",
    () =>
      Effect.gen(function*() {
        const { faults, history, ...report } = yield* run
        assert.deepStrictEqual(faults.slice(0, 20), [], JSON.stringify(report))
        assert.isAbove(report.invoices, 6)
        assert.isAbove(report.redeliveries, 8)
        assert.isAbove(report.exhausted, 1, "given up after all attempts")
        assert.isAbove(report.interrupted, 0, "on their way when their sender was killed")
        assert.isAbove(report.repeats, 0, "sent again by the other instance")
        for (const [what, [promise, spoil]] of Object.entries(spoiled)) {
          const { faults } = checkShopDeliveries(spoil(history))
          assert.isTrue(faults.some((fault) => fault.startsWith(`${promise}:`)), `${what} was not noticed: ${faults}`)
        }
      }).pipe(Effect.scoped),
    limitMillis
  )
})
