/**
 * Goal: events tell of exactly those balance transactions that the list shows, each once, and to those alone who name
 * them. Method: a devnet where all that is booked happens; a service with receivers and streams that ask differently.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { assertStatus } from "../../journeys/Shop.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import { configOf, startService, temporaryDirectory, until } from "../../support/Service.ts"
import { connectTo } from "../../support/Sockets.ts"
import { type DevnetMerchant, DevnetService, newDevnetMerchant, okData } from "../simulator/DevnetService.ts"
import { adjust, assertBalanced, balanceOf, call, newInvoice, settle, simulate, transactionsOf } from "./Books.ts"

/** All of a list, newest first. */
const allOf = Effect.fnUntraced(function*(player: DevnetMerchant, path: string) {
  const found: Array<any> = []
  for (let hasMore = true; hasMore;) {
    const after = found.length === 0 ? "" : `&starting_after=${found.at(-1).id}`
    const page = yield* call(player, `${path}limit=100${after}`)
    found.push(...page.data)
    hasMore = page.has_more
  }
  return found as ReadonlyArray<any>
})

const eventsOf = (player: DevnetMerchant) => allOf(player, "/api/v1/events?type=balance_transaction.*&")

/** What is the merchant's own time of a transaction's life: it goes on after the event. */
const withoutLater = ({ available_at: _at, entries: _entries, status: _status, ...rest }: any) => rest

const assertTold = Effect.fnUntraced(function*(player: DevnetMerchant) {
  const events = yield* eventsOf(player)
  const objects = new Map(events.map(({ data }) => [data.object.id, data.object]))
  const booked = yield* allOf(player, "/api/v1/balance-transactions?")
  assert.strictEqual(objects.size, events.length, "each is told once")
  assert.sameMembers([...objects.keys()], booked.map(({ id }) => id))
  for (const transaction of booked) {
    const object = objects.get(transaction.id)
    assert.deepStrictEqual(withoutLater(object), withoutLater(transaction))
    assert.deepStrictEqual(object.entries, transaction.entries.slice(0, object.entries.length))
    if (object.status !== "pending") assert.deepStrictEqual(object, transaction)
  }
  return booked
})

layer(DevnetService.layer, { excludeTestServices: true })("the events of the books", (it) => {
  it.effect("tell of each balance transaction that the list shows, as it was booked, once", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const seen = yield* newInvoice(player)
      yield* simulate(player, seen, "pay", { confirmations: 0 })
      yield* assertTold(player)
      yield* simulate(player, seen, "confirm")
      const dropped = yield* newInvoice(player)
      yield* simulate(player, dropped, "pay", { confirmations: 0 })
      yield* simulate(player, dropped, "drop")
      const reversed = yield* newInvoice(player)
      yield* simulate(player, reversed, "pay")
      yield* simulate(player, reversed, "drop")
      for (const action of ["credit", "ignore"]) {
        const id = yield* newInvoice(player)
        yield* simulate(player, id, "wrong_token")
        const [exception] = (yield* call(player, `/api/v1/exceptions?status=open&invoice_id=${id}`)).data
        yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action })
      }
      const tolerated = yield* newInvoice(player, 50)
      yield* simulate(player, tolerated, "partial", { amount: 30_000 })
      yield* simulate(player, tolerated, "expire")
      yield* call(player, "/api/v1/devnet/clock/advance", { seconds: 604_800 })
      const open = `/api/v1/exceptions?status=open&type=underpaid_expired&invoice_id=${tolerated}`
      const { data: [short] } = yield* until("the exception", call(player, open), ({ data }) => data.length > 0)
      yield* call(player, `/api/v1/exceptions/${short.id}/resolve`, { action: "accept" })
      const refund = yield* call(player, "/api/v1/refunds", {
        invoice_id: seen,
        amount_mode: "custom",
        amount: 20_000,
        reason: "requested_by_customer",
        fee_bearer: "merchant",
        destination: { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }
      })
      yield* call(player, `/api/v1/refunds/${refund.id}/cancel`, {})
      const [{ asset }] = (yield* balanceOf(player)).assets
      yield* adjust(player, asset)
      yield* settle(seen, 1_795_478_401)
      yield* assertBalanced(player.id)
      const booked = yield* assertTold(player)
      assert.sameMembers([...new Set(booked.map(({ type }) => type))], [
        "payment",
        "payment_reversal",
        "suspense",
        "adjustment",
        "credit",
        "tolerance_writeoff",
        "refund",
        "refund_reversal",
        "settlement"
      ])
    }))

  it.effect("are told to no key of commerce, and not without their name", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const service = yield* DevnetService
      yield* simulate(player, yield* newInvoice(player), "pay")
      assert.isNotEmpty(yield* eventsOf(player))
      const unnamed = yield* allOf(player, "/api/v1/events?type=*&")
      assert.deepStrictEqual(unnamed.filter(({ type }) => type.startsWith("balance_transaction")), [])
      const commerce = yield* service.call("/api/v1/events?type=balance_transaction.*", {
        headers: { "x-api-key": player.commerce }
      })
      assert.deepStrictEqual(okData(commerce).data, [])
      const { data } = yield* call(player, "/api/v1/events?type=balance_transaction.created&limit=1")
      const told = yield* call(player, `/api/v1/events/${data[0].id}`)
      assert.strictEqual(told.data.object.id, (yield* transactionsOf(player, "limit=1"))[0].id)
    }))

  it.effect("come by webhook and stream to those alone who name them", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({ database: database.url, receivers: [receiver.host], chains: [{ use: "simulated" }] })
      })
      const { merchant_key } = yield* service.keys
      const headers = { "x-api-key": merchant_key }
      const request = (path: string, body?: object) =>
        Effect.map(
          service.call(path, {
            headers: { ...headers, "idempotency-key": randomUUID() },
            ...(body === undefined ? {} : { body })
          }),
          (answer) => assertStatus(200, answer)
        )
      const filters = ["*", "balance_transaction.created", "balance_transaction.*", "invoice.paid"]
      for (const [at, filter] of filters.entries()) {
        yield* request("/api/v1/webhooks", { url: receiver.url(`/${at}`), enabled_events: [filter] })
      }
      const dial = (query: string) =>
        connectTo(`${service.url.replace("http", "ws")}/ws/merchant/events${query}`, { headers })
      const silent = yield* dial("")
      const named = yield* dial("?types=balance_transaction.*")
      const invoice = yield* request("/api/v1/invoices", { amount_usd: 50 })
      yield* request(`/api/v1/devnet/invoices/${invoice.invoice_id}/simulate`, { action: "pay" })
      const list = Effect.map(request("/api/v1/events?type=*,balance_transaction.*"), ({ data }) => data.data)
      const events: ReadonlyArray<any> = yield* until(
        "everything is delivered",
        list,
        (all) => all.every(({ pending_webhooks }: any) => pending_webhooks === 0)
      )
      const booked = events.filter(({ type }) => type === "balance_transaction.created").map(({ id }) => id)
      assert.isNotEmpty(booked)
      const idsAt = (at: number) => [
        ...new Set(receiver.arrivals(`/${at}`).map(({ body }) => JSON.parse(body.toString()).id))
      ]
      assert.sameMembers(idsAt(1), booked)
      assert.sameMembers(idsAt(2), booked)
      const others = events.map(({ id }) => id).filter((id) => !booked.includes(id))
      assert.sameMembers(idsAt(0), others)
      const idsOf = ({ frames }: typeof silent) =>
        frames.filter(({ object }) => object === "event").map(({ id }: any) => id)
      yield* until("the streams have all", Effect.sync(() => [idsOf(silent).length, idsOf(named).length]), ([a, b]) =>
        a! >= others.length && b! >= booked.length)
      assert.sameMembers(idsOf(silent), others)
      assert.sameMembers(idsOf(named), booked)
    }))
})
