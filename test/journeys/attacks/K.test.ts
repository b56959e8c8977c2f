/**
 * Goal: the payment page shows a payor its own invoice and nothing else, runs nothing of anybody's, tells no secret, and
 * takes orders only from its own forms.
 * Method: attack group K, each case by its number, and the page's walks without a script, against a running service.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { connect, emptyDatabase } from "../../support/Database.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory } from "../../support/Service.ts"
import { makePayor, screenIn } from "../Payor.ts"
import { newInvoice, openShop, type Shop } from "../Shop.ts"

class Desk extends Context.Service<Desk, {
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/Desk") {
  static readonly layer = Layer.effect(Desk, Effect.gen(function*() {
    const database = yield* emptyDatabase
    const receiver = yield* makeReceiver()
    const service = yield* startService({
      directory: yield* temporaryDirectory,
      config: configOf({ database: database.url, receivers: [receiver.host], chains: [{ use: "simulated" }] })
    })
    const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
    const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
    return { service, shop, sql }
  }))
}

const invoiceFor = (fields: object = {}) =>
  Effect.flatMap(Desk, ({ shop }) => newInvoice(shop, { amount_usd: 25, ...fields }))

layer(Desk.layer, { excludeTestServices: true, timeout: "90 seconds" })("K. the payment page", (it) => {
  it.effect("is paid without a script: opened, chosen, paid with play money", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const invoice = yield* invoiceFor()
      const payor = makePayor(service.url)
      const opened = yield* payor.open(invoice.created.payment_url)
      assert.deepStrictEqual([opened.status, payor.at(), screenIn(opened)], [200, `/pay/${invoice.id}`, "choose"])
      const id = /name="token" value="(\d+)"/.exec(opened.text)?.[1] ?? ""
      const chosen = yield* payor.send(`/pay/${invoice.id}`, { action: "choose", token: id })
      assert.strictEqual(screenIn(chosen), "waiting")
      const paid = yield* payor.send(`/pay/${invoice.id}`, { action: "simulate", what: "pay" })
      assert.strictEqual(screenIn(paid), "paid")
      assert.notInclude(service.output(), "ExperimentalWarning")
    }))
})
