/**
 * Goal: a state that passes by itself never decides for good what becomes of a payor's money.
 * Method: the real invoices, quotes and payments; the journal hands over one transfer, before and after the state passed.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { usdc } from "../../fixtures/tokens.ts"
import {
  callerOf, handOver, newInvoice, newMerchant, openExceptions, setAsked, till, transferTo, usualPrices
} from "../invoices/Till.ts"

layer(till)("a transfer that arrives before its token's contract was asked, as after a start", (it) => {
  it.effect("is put off, neither refused nor counted, and counted once the contract has answered", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { amount: 10_000 })
      const transfer = yield* transferTo(invoice, usdc, 10_000_000n)
      setAsked(usdc, false)
      assert.propertyVal(yield* Effect.flip(handOver(transfer)), "code", "NETWORK_DEGRADED")
      const payments = `/api/v1/invoices/${invoice.id}/payments`
      assert.deepStrictEqual((yield* caller.ok(payments)).data, [])
      setAsked(usdc, true)
      yield* handOver(transfer)
      assert.include((yield* caller.ok(payments)).data[0], { status: "confirmed", amount: 10_000 })
      assert.deepStrictEqual(yield* openExceptions(invoice.id), [])
    }).pipe(Effect.ensuring(Effect.sync(() => setAsked(usdc, true)))))
})
