/**
 * Goal: a merchant's devnet clock moves the times of its invoices, quotes and payments, and nobody else's.
 * Method: two merchants on one till; one of them moves its clock, the time of the test stands still.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { PayorApi } from "../../../modules/payments/plugin.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  type Caller,
  callerOf,
  choose,
  invoiceService,
  newInvoice,
  newMerchant,
  openExceptions,
  receiveTransfer,
  runDue,
  usualPrices
} from "./InvoiceService.ts"

const hour = 3_600

const read = (caller: Caller, { id }: { readonly id: string }) =>
  caller.ok(`/api/v1/invoices/${id}?expand=latest_payment`)

/** Moves a merchant's clock, and lets what is due come to pass. */
const advance = Effect.fnUntraced(function*({ id }: Caller, seconds: number) {
  yield* (yield* MerchantClock).advance(id, seconds)
  yield* runDue
})

const dollars = { amount: 10_000, expires_in: 12 * hour * 1000 }

/** Base units of a test dollar. */
const dollar = 1_000_000n

/** A merchant of today. */
const someone = Effect.suspend(() => (usualPrices(), Effect.map(newMerchant, (id) => callerOf(id))))

layer(invoiceService)("a merchant's devnet clock", (it) => {
  it.effect("expires its invoices and nobody else's, and none on mainnet; what comes then is late", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* someone, yield* someone]
      const mine = yield* newInvoice(one, dollars)
      const theirs = yield* newInvoice(other, dollars)
      const mainnet = yield* newInvoice(callerOf(one.id, "merchant", "mainnet"), dollars)
      yield* advance(one, 12 * hour - 1)
      assert.include(yield* read(one, mine), { status: "unpaid" })
      yield* advance(one, 1)
      assert.include(yield* read(one, mine), { status: "expired" })
      assert.include(yield* read(other, theirs), { status: "unpaid" })
      assert.include(yield* read(callerOf(one.id, "merchant", "mainnet"), mainnet), { status: "unpaid" })

      yield* advance(one, hour)
      yield* receiveTransfer(mine, usdc, 4n * dollar)
      const { latest_payment, ...part } = yield* read(one, mine)
      assert.include(part, { status: "underpaid", last_payment_at: mine.created_at + 13 * hour })
      assert.include(latest_payment, { status: "underpaid", confirmed_at: mine.created_at + 13 * hour })
      const unpaid = yield* newInvoice(one, { ...dollars, expires_in: 60_000 })
      yield* advance(one, 61 + 7 * 24 * hour)
      yield* receiveTransfer(unpaid, usdc, 10n * dollar)
      assert.include(yield* read(one, unpaid), { status: "expired", amount_paid: 0 })
      assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(unpaid.id), ["late_payment"])
    }))

  it.effect("ends what may be paid, and how long a payor is told it may", () =>
    Effect.gen(function*() {
      const one = yield* someone
      const invoice = yield* newInvoice(one, dollars)
      const left = Effect.gen(function*() {
        const current = (yield* (yield* Invoices).find(invoice.id))!
        return (yield* (yield* PayorApi).details(current)).remaining_time
      })
      assert.strictEqual(yield* left, 12 * hour * 1000)
      yield* (yield* MerchantClock).advance(one.id, 11 * hour)
      assert.strictEqual(yield* left, hour * 1000)
      yield* (yield* MerchantClock).advance(one.id, 60 * hour)
      assert.strictEqual(yield* left, 0)
      assert.strictEqual((yield* Effect.flip(choose(invoice.id, usdc))).code, "INVOICE_NOT_PAYABLE")
    }))

  it.effect("ends quotes, and a transfer that is seen after the grace of one is worth the new price", () =>
    Effect.gen(function*() {
      const one = yield* someone
      const invoice = yield* newInvoice(one, dollars)
      const first = yield* choose(invoice.id, usdc)
      yield* advance(one, 299)
      assert.strictEqual(
        (yield* one.ok("/api/v1/quotes", {
          body: {
            invoice_id: invoice.id,
            network: usdc.network,
            token_id: usdc.id
          }
        })).data.quote_expires_in_seconds,
        300
      )
      yield* advance(one, 1_000)
      const next = yield* choose(invoice.id, usdc)
      assert.strictEqual(next.quote.quote_valid_until, first.quote.quote_valid_until! + 1_299)
      assert.include(next.quote, { quote_status: "available", quote_expires_in_seconds: 300 })
      yield* receiveTransfer(invoice, usdc, 10n * dollar)
      const { latest_payment } = yield* read(one, invoice)
      assert.include(latest_payment.metadata.quote, { pricing: "locked", priced_at: next.quote.quote_last_updated_at })
      assert.strictEqual(next.quote.quote_last_updated_at, invoice.created_at + 1_299)
    }))

  it.effect("ends the grace of what was paid in part", () =>
    Effect.gen(function*() {
      const one = yield* someone
      yield* one.ok("/api/v1/merchant/settings", { method: "PATCH", body: { underpaid_grace_seconds: hour } })
      const invoice = yield* newInvoice(one, { ...dollars, expires_in: 60_000 })
      yield* receiveTransfer(invoice, usdc, 4n * dollar)
      yield* advance(one, 61)
      assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(invoice.id), [])
      yield* advance(one, hour)
      assert.include(yield* read(one, invoice), { status: "underpaid" })
      assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(invoice.id), ["underpaid_expired"])
    }))

  it.effect("dates new invoices, which are listed by that date, and moves no event", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const one = yield* someone
      const before = yield* newInvoice(one, dollars)
      yield* advance(one, 1_000 * hour)
      const after = yield* newInvoice(one, dollars)
      assert.strictEqual(after.created_at, before.created_at + 1_000 * hour)
      assert.strictEqual(after.expires_at, after.created_at + 12 * hour)
      const listed = (query: string) =>
        Effect.map(one.ok(`/api/v1/invoices?${query}`), ({ data }) => data.map(({ id }: any) => id))
      assert.deepStrictEqual(yield* listed("limit=10"), [after.id, before.id])
      assert.deepStrictEqual(yield* listed(`created_gte=${after.created_at}`), [after.id])
      assert.deepStrictEqual(yield* listed(`created_lte=${before.created_at}`), [before.id])
      const [row] = yield* sql<{ readonly span: bigint }>`
        SELECT max(ms) - min(ms) AS span FROM events WHERE merchant_id = ${one.id}`
      assert.isBelow(Number(row!.span), 60_000)
    }))
})
