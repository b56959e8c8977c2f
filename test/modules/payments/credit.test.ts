/**
 * Goal: a state that passes by itself never decides for good what becomes of a payor's money. Method: the real
 * invoices, quotes and payments; the journal hands over one transfer, before and after the state passed.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { usdc } from "../../fixtures/tokens.ts"
import { Payments } from "../../../modules/payments/service.ts"
import { pricingTries } from "../../../modules/payments/service/Credit.ts"
import { maximumDustPayments } from "../../../modules/payments/rules.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import {
  callerOf,
  eventsOf,
  handOverTransfer,
  invoiceService,
  losePrice,
  newInvoice,
  newMerchant,
  openExceptions,
  post,
  setAttested,
  transferTo,
  usualPrices
} from "../invoices/InvoiceService.ts"

layer(invoiceService)("a transfer that arrives before its token's contract was asked, as after a start", (it) => {
  it.effect("is put off, neither refused nor counted, and counted once the contract has answered", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { amount: 10_000 })
      const transfer = yield* transferTo(invoice, usdc, 10_000_000n)
      setAttested(usdc, false)
      assert.propertyVal(yield* Effect.flip(handOverTransfer(transfer)), "code", "NETWORK_DEGRADED")
      const payments = `/api/v1/invoices/${invoice.id}/payments`
      assert.deepStrictEqual((yield* caller.ok(payments)).data, [])
      setAttested(usdc, true)
      yield* handOverTransfer(transfer)
      assert.include((yield* caller.ok(payments)).data[0], { status: "confirmed", amount: 10_000 })
      assert.deepStrictEqual(yield* openExceptions(invoice.id), [])
    }).pipe(Effect.ensuring(Effect.sync(() => setAttested(usdc, true)))))
})

layer(invoiceService)("a payor who chooses a token before its contract was asked, as after a start", (it) => {
  it.effect("is asked to try again, and not told that the token is not accepted", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const { id } = yield* newInvoice(caller, { amount: 10_000 })
      const current = (yield* (yield* Invoices).find(id))!
      const payments = yield* Payments
      setAttested(usdc, false)
      assert.propertyVal(yield* Effect.flip(payments.route(current, "base", usdc.id)), "code", "NETWORK_DEGRADED")
    }).pipe(Effect.ensuring(Effect.sync(() => setAttested(usdc, true)))))
})

layer(invoiceService)("a payor who chooses a token before its contract was asked, as after a start", (it) => {
  it.effect("is asked to try again, and not told that the token is not accepted", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const { id } = yield* newInvoice(caller, { amount: 10_000 })
      const current = (yield* (yield* Invoices).find(id))!
      const payments = yield* Payments
      setAttested(usdc, false)
      assert.propertyVal(yield* Effect.flip(payments.route(current, "base", usdc.id)), "code", "NETWORK_DEGRADED")
    }).pipe(Effect.ensuring(Effect.sync(() => setAttested(usdc, true)))))
})

/** An invoice that ended before its money came, while the money's token has no price. */
const unpricedLate = Effect.gen(function*() {
  usualPrices()
  const caller = callerOf(yield* newMerchant)
  const invoice = yield* newInvoice(caller, { amount: 10_000 })
  const seen = yield* transferTo(invoice, usdc, 10_000_000n, "seen")
  yield* caller.ok(`/api/v1/invoices/${invoice.id}/cancel`, post({}))
  losePrice("usd-coin")
  yield* handOverTransfer(seen)
  const payment = Effect.map(caller.ok(`/api/v1/invoices/${invoice.id}/payments`), ({ data: [newest] }) => newest)
  assert.deepInclude(yield* payment, { status: "rejected", amount: 0 })
  assert.deepStrictEqual(yield* openExceptions(invoice.id), ["late_payment"])
  const confirmed = { ...seen, status: "confirmed", version: 2 } as const
  return { confirmed, invoiceId: invoice.id as string, payment }
})

/** usd_millis that a refund of all of an invoice's money comes to; null where there is nothing to give back. */
const refundOf = Effect.fnUntraced(function*(invoiceId: string) {
  const refunds = yield* Refunds
  const current = (yield* (yield* Invoices).find(invoiceId))!
  const ask = { amount: "remaining", reason: "late_payment", destination: null, feeFree: true } as const
  const opened = yield* Effect.orDie(refunds.open(current, ask, 1_766_320_000))
  return opened === null ? null : Number(opened.refund.amount)
})

layer(invoiceService)("money that came too late, while its token had no price", (it) => {
  it.effect("is worth what its price says as soon as there is one, so that it can be given back", () =>
    Effect.gen(function*() {
      const { confirmed, invoiceId, payment } = yield* unpricedLate
      assert.propertyVal(yield* Effect.flip(handOverTransfer(confirmed)), "code", "QUOTE_UNAVAILABLE")
      assert.isNull(yield* refundOf(invoiceId))
      usualPrices()
      yield* handOverTransfer({ ...confirmed, attempts: 1 })
      const priced = yield* payment
      assert.deepInclude(priced, { status: "rejected", amount: 10_000 })
      assert.deepInclude(priced.metadata.exception, { type: "late_payment", status: "open" })
      assert.isNotNull(priced.confirmed_at)
      assert.deepStrictEqual(yield* openExceptions(invoiceId), ["late_payment"])
      assert.strictEqual(yield* refundOf(invoiceId), 10_000)
    }).pipe(Effect.ensuring(Effect.sync(usualPrices))))

  it.effect("is priced by an operator where its price stayed away for too long, and counted by nobody", () =>
    Effect.gen(function*() {
      const { confirmed, invoiceId, payment } = yield* unpricedLate
      const { retry } = yield* Payments
      yield* handOverTransfer({ ...confirmed, attempts: pricingTries - 1 })
      const waiting = yield* payment
      assert.deepInclude(waiting, { status: "rejected", amount: 0 })
      assert.isNotNull(waiting.confirmed_at)
      assert.propertyVal(yield* Effect.flip(retry(waiting.id)), "code", "QUOTE_UNAVAILABLE")
      usualPrices()
      yield* retry(waiting.id)
      assert.deepInclude(yield* payment, { status: "rejected", amount: 10_000, confirmed_at: waiting.confirmed_at })
      assert.strictEqual(yield* refundOf(invoiceId), 10_000)
      assert.propertyVal(yield* Effect.flip(retry(waiting.id)), "code", "INVALID_TRANSITION")
    }).pipe(Effect.ensuring(Effect.sync(usualPrices))))
})

layer(invoiceService)("transfers worth less than a thousandth of a dollar", (it) => {
  it.effect("are told to the merchant up to a limit for each invoice, and the payment after them is counted", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { amount: 10_000 })
      for (let sent = 0; sent < maximumDustPayments + 3; sent++) {
        const dust = yield* transferTo(invoice, usdc, 1n, "seen")
        yield* handOverTransfer(dust)
        yield* handOverTransfer({ ...dust, status: "confirmed", version: 2 })
      }
      assert.lengthOf(yield* openExceptions(invoice.id), maximumDustPayments)
      assert.lengthOf(
        (yield* eventsOf(invoice.id)).filter(({ type }) => type === "invoice_payment.created"),
        maximumDustPayments
      )
      yield* handOverTransfer(yield* transferTo(invoice, usdc, 10_000_000n))
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

layer(invoiceService)("a transfer that belongs to no invoice", (it) => {
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
      yield* handOverTransfer(seen)
      assert.deepStrictEqual(yield* unmatched(merchantId), [])
      const confirmed = { ...seen, status: "confirmed", version: 2 } as const
      yield* handOverTransfer(confirmed)
      const evidence = {
        transfer_id: seen.id,
        network: usdc.network,
        tx_hash: seen.txHash,
        address,
        token: usdc.address,
        token_id: usdc.id,
        token_decimals: 6,
        token_symbol: "USDC",
        token_amount: "10.000000",
        token_amount_unit: "token",
        exchange_rate: "1",
        rate_source: "test",
        priced_at: 0,
        wallet: "wallet"
      }
      assert.deepStrictEqual(yield* unmatched(merchantId), [{ status: "open", invoice_id: null, evidence }])
      yield* handOverTransfer({ ...confirmed, version: 3 })
      assert.lengthOf(yield* unmatched(merchantId), 1)
      yield* handOverTransfer({ ...confirmed, status: "reverted", version: 4 })
      assert.deepStrictEqual((yield* unmatched(merchantId)).map(({ status }) => status), ["resolved"])
      yield* handOverTransfer({ ...confirmed, version: 5 })
      assert.deepStrictEqual((yield* unmatched(merchantId)).map(({ status }) => status), ["open"])
      assert.deepStrictEqual(yield* openExceptions(invoice.id), [])
    }))
})
