/**
 * Goal: totals over HTTP are exactly the documented body, of the caller's own invoices; pages say where they end.
 * Method: the real router and commit log; bodies written down here anew.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { callerOf, invoiceService, newMerchant, post } from "./InvoiceService.ts"

const path = "/api/v1/invoices"

const none = { count: 0, amount: 0, amount_decimal: "0.000", amount_paid: 0, amount_paid_decimal: "0.000" }

const unpaid = (count: number, amount: number) => ({
  ...none,
  count,
  amount,
  amount_decimal: `${Math.floor(amount / 1000)}.${String(amount % 1000).padStart(3, "0")}`
})

layer(invoiceService)("GET /api/v1/invoices/totals", (it) => {
  it.effect("answers exactly the documented body, every status and the keys in order, by every filter", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 hour")
      const id = yield* newMerchant
      const [devnet, commerce, mainnet] = [callerOf(id), callerOf(id, "commerce"), callerOf(id, "merchant", "mainnet")]
      const first = yield* devnet.ok(path, post({ amount: 10_500, customer_id: "a" }))
      const second = yield* devnet.ok(path, post({ amount: 20_000 }))
      yield* devnet.ok(`${path}/${second.invoice_id}/cancel`, post({}))
      yield* commerce.ok(path, post({ amount: 7 * 1000, customer_id: "a" }))
      yield* mainnet.ok(path, post({ amount: 99_000 }))
      const all = yield* devnet.ok(`${path}/totals`)
      assert.deepStrictEqual(all, {
        object: "invoice_totals",
        currency: "usd",
        amount_unit: "usd_millis",
        totals: {
          all: unpaid(3, 37_500),
          paid: none,
          unpaid: unpaid(2, 17_500),
          underpaid: none,
          expired: none,
          canceled: unpaid(1, 20_000)
        }
      })
      assert.deepStrictEqual(Object.keys(all.totals), ["all", "paid", "unpaid", "underpaid", "expired", "canceled"])
      const at = first.invoice.created_at
      const counted = (caller: typeof devnet, query: string) =>
        Effect.map(caller.ok(`${path}/totals?${query}`), ({ totals }) => [totals.all.count, totals.all.amount])
      assert.deepStrictEqual(yield* counted(commerce, ""), [1, 7_000])
      assert.deepStrictEqual(yield* counted(commerce, "invoice_type=standard"), [0, 0])
      assert.deepStrictEqual(yield* counted(devnet, "invoice_type=standard"), [2, 30_500])
      assert.deepStrictEqual(yield* counted(devnet, "customer_id=a"), [2, 17_500])
      assert.deepStrictEqual(yield* counted(devnet, "environment=mainnet"), [1, 99_000])
      assert.deepStrictEqual(yield* counted(devnet, `created_gte=${at}&created_lte=${at}`), [3, 37_500])
      assert.deepStrictEqual(yield* counted(devnet, `created_gte=${at + 1}`), [0, 0])
      assert.deepStrictEqual(yield* counted(devnet, `created_lte=${at - 1}`), [0, 0])
      assert.deepStrictEqual(yield* counted(callerOf(yield* newMerchant), ""), [0, 0])
    }))

  it.effect("is as exact in the list, whose pages end 10,000 invoices deep", () =>
    Effect.gen(function*() {
      const devnet = callerOf(yield* newMerchant)
      yield* devnet.ok(path, post({ amount: 10_000 }))
      assert.strictEqual((yield* devnet.ok(`${path}?page=1001&limit=10`)).total, 1)
      const beyond = yield* devnet.call(`${path}?page=1002&limit=10`)
      assert.deepStrictEqual([beyond.status, beyond.json.code], [400, "INVALID_PAGE"])
      assert.include(beyond.json.error, "starting_after")
    }))
})
