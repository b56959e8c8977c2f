/**
 * Goal: a state that passes by itself never decides for good what becomes of a payor's money.
 * Method: the real invoices, quotes and payments; the journal hands over one transfer, before and after the state passed.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { usdc } from "../../fixtures/tokens.ts"
import { maximumDustPayments } from "../../../modules/payments/machine.ts"
import {
  callerOf, eventsOf, handOver, newInvoice, newMerchant, openExceptions, setAsked, till, transferTo, usualPrices
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

layer(till)("transfers worth less than a thousandth of a dollar", (it) => {
  it.effect("are told to the merchant up to a limit for each invoice, and the payment after them is counted", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { amount: 10_000 })
      for (let sent = 0; sent < maximumDustPayments + 3; sent++) {
        const dust = yield* transferTo(invoice, usdc, 1n, "seen")
        yield* handOver(dust)
        yield* handOver({ ...dust, status: "confirmed", version: 2 })
      }
      assert.lengthOf(yield* openExceptions(invoice.id), maximumDustPayments)
      assert.lengthOf((yield* eventsOf(invoice.id)).filter(({ type }) => type === "invoice_payment.created"), maximumDustPayments)
      yield* handOver(yield* transferTo(invoice, usdc, 10_000_000n))
      const { data } = yield* caller.ok(`/api/v1/invoices/${invoice.id}/payments?limit=100`)
      assert.lengthOf(data, maximumDustPayments + 1)
      assert.include(data[0], { status: "confirmed", amount: 10_000 })
    }))
})

const unmatched = (merchantId: number) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return yield* sql<{ status: string; invoice_id: string | null; evidence: unknown }>`
      SELECT status, invoice_id, evidence FROM exceptions
      WHERE merchant_id = ${merchantId} AND type = 'unmatched_payment'`
  })

layer(till)("a transfer that belongs to no invoice", (it) => {
  it.effect("opens one exception of the wallet's merchant, which ends and comes back with the transfer", () =>
    Effect.gen(function*() {
      usualPrices()
      const merchantId = yield* newMerchant
      const invoice = yield* newInvoice(callerOf(merchantId), { amount: 10_000 })
      const address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
      const seen = {
        ...yield* transferTo(invoice, usdc, 10_000_000n, "seen"),
        invoiceId: null,
        matchKey: address.toLowerCase()
      }
      yield* handOver(seen)
      assert.deepStrictEqual(yield* unmatched(merchantId), [])
      const confirmed = { ...seen, status: "confirmed", version: 2 } as const
      yield* handOver(confirmed)
      const evidence = {
        network: usdc.network,
        tx_hash: seen.txHash,
        address,
        token: usdc.address,
        token_symbol: "USDC",
        token_amount: "10.000000",
        token_amount_unit: "token"
      }
      assert.deepStrictEqual(yield* unmatched(merchantId), [{ status: "open", invoice_id: null, evidence }])
      yield* handOver({ ...confirmed, version: 3 })
      assert.lengthOf(yield* unmatched(merchantId), 1)
      yield* handOver({ ...confirmed, status: "reverted", version: 4 })
      assert.deepStrictEqual((yield* unmatched(merchantId)).map(({ status }) => status), ["resolved"])
      yield* handOver({ ...confirmed, version: 5 })
      assert.deepStrictEqual((yield* unmatched(merchantId)).map(({ status }) => status), ["open"])
      assert.deepStrictEqual(yield* openExceptions(invoice.id), [])
    }))
})
