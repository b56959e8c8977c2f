/**
 * Goal: the books tell of a refund from the moment it is opened until it is paid or over. Method: a whole devnet over
 * HTTP, where an operator reports payouts; after each step every balance is checked against entries and objects.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { until } from "../../support/Service.ts"
import { type DevnetMerchant, DevnetService, newDevnetMerchant, newOrder, okData } from "../simulator/DevnetService.ts"
import { assertBalanced, balanceOf, call, ledger, newInvoice, simulate, transactionsOf } from "./Books.ts"

/** What the simulator does to an order. */
const transition = Effect.fnUntraced(function*({ commerce }: DevnetMerchant, orderId: string, to: string) {
  const service = yield* DevnetService
  return okData(
    yield* service.call(`/api/commerce/devnet/orders/${orderId}/simulate`, {
      method: "POST",
      headers: { "x-api-key": commerce, "idempotency-key": randomUUID() },
      body: { transition_to: to, ...(to === "refunded" ? { wallet_address: destination.address } : {}) }
    })
  )
})

const destination = { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }
const all = { amount_mode: "remaining", reason: "requested_by_customer", fee_bearer: "merchant" }

layer(DevnetService.layer, { excludeTestServices: true })("the books of a refund", (it) => {
  it.effect("hold its money apart once it is opened, and give it back when it is canceled", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const invoice_id = yield* newInvoice(player, 50)
      yield* simulate(player, invoice_id, "pay")
      const opened = yield* call(player, "/api/v1/refunds", {
        invoice_id,
        ...all,
        amount_mode: "custom",
        amount: 20_000,
        destination
      })
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 30_000, refund_payable: 20_000 })
      const [refund] = yield* transactionsOf(player, "type=refund")
      assert.deepInclude(refund, {
        amount: -20_000,
        net: -20_000,
        status: "available",
        source: { object: "refund", id: opened.id }
      })
      assert.strictEqual(opened.balance_transaction_id, refund.id)
      yield* call(player, `/api/v1/refunds/${opened.id}/cancel`, {})
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 50_000, refund_payable: 0 })
      const [reversal] = yield* transactionsOf(player, "type=refund_reversal")
      assert.deepInclude(reversal, { net: 20_000, reverses: refund.id })
      const canceled = yield* call(player, `/api/v1/refunds/${opened.id}`)
      assert.deepInclude(canceled, { status: "canceled", balance_transaction_id: refund.id })
    }))

  it.effect("hold nothing for a refund that failed for good with its payment, before and after it is canceled", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const invoice_id = yield* newInvoice(player, 50)
      yield* simulate(player, invoice_id, "pay")
      const opened = yield* call(player, "/api/v1/refunds", { invoice_id, ...all, destination })
      assert.deepInclude(yield* balanceOf(player), { available: 0, refund_payable: 50_000 })
      yield* simulate(player, invoice_id, "drop")
      const failed = yield* call(player, `/api/v1/refunds/${opened.id}`)
      assert.deepInclude(failed, { status: "failed", failure_code: "payment_reverted" })
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 0, refund_payable: 0 })
      const [reversal] = yield* transactionsOf(player, "type=refund_reversal")
      assert.deepInclude(reversal, { net: 50_000, reverses: opened.balance_transaction_id })
      yield* call(player, `/api/v1/refunds/${opened.id}/cancel`, {})
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 0, refund_payable: 0 })
      assert.lengthOf(yield* transactionsOf(player, "type=refund_reversal"), 1)
    }))

  it.effect("of an order that ends with a part paid are booked by the clock that ends it", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const { invoiceId } = yield* newOrder(player)
      yield* simulate(player, invoiceId, "partial", { amount: 5_000 })
      yield* call(player, "/api/v1/devnet/clock/advance", { seconds: 604_800 })
      yield* until("a refund is opened", transactionsOf(player, "type=refund"), (found) => found.length > 0)
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 0, refund_payable: 5_000 })
    }))

  it.effect("of an order: what is paid out leaves the chain, its fee stays, another token is revalued", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const { orderId } = yield* newOrder(player)
      yield* transition(player, orderId, "payment_confirmed")
      yield* assertBalanced(player.id)
      const { available } = yield* balanceOf(player)
      assert.isAbove(available, 0)
      yield* transition(player, orderId, "failed")
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 0, refund_payable: available })
      yield* transition(player, orderId, "refunded")
      yield* assertBalanced(player.id)
      const [refund] = yield* transactionsOf(player, "type=refund")
      assert.deepInclude(refund, { amount: -available, net: -available, status: "available" })
      assert.sameMembers(refund.entries.map(({ kind }: any) => kind), ["booked", "posted", "posted"])
      const { data: [paid] } = yield* call(player, "/api/v1/refunds")
      assert.deepInclude(paid, { status: "succeeded", balance_transaction_id: refund.id })
      const fees = yield* transactionsOf(player, "type=fee")
      const fee = fees.reduce((sum: number, { net }: any) => sum + net, 0)
      assert.deepInclude(yield* balanceOf(player), { available: fee, refund_payable: 0 })
      const rows = yield* (yield* ledger).balances({ merchantId: player.id, environment: "devnet" })
      assert.strictEqual(rows.reduce((sum, { usdMillis }) => sum + usdMillis, 0n), 0n)
      const revalued = rows.filter(({ account }) => account === "revaluation")
      assert.strictEqual(revalued.reduce((sum, { usdMillis }) => sum + usdMillis, 0n), 0n)
    }))
})
