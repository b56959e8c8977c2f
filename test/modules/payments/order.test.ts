/**
 * Goal: of the payments of one invoice everybody is told which came last, also where several come within one second.
 * Method: any number of transfers within one second of a clock that stands still, read back by every route that lists
 * payments.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { JournalEntry } from "../../../runtime/Chains.ts"
import { usdc } from "../../fixtures/tokens.ts"
import { Api } from "../../support/Api.ts"
import {
  callerOf,
  invoiceService,
  newMerchant,
  ok,
  post,
  receiveTransfer,
  reportAgain,
  usualPrices
} from "../invoices/InvoiceService.ts"

/**
 * Whether each transfer is deep enough at first sight, and which earlier one leaves its chain and comes back after it.
 */
const Transfers = Schema.Array(Schema.Struct({
  isDeep: Schema.Boolean,
  returns: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })))
})).check(Schema.isMinLength(2), Schema.isMaxLength(6))

layer(invoiceService)("payments of one invoice within one second", (it) => {
  it.effect.prop(
    "are listed newest first everywhere, and the last one that came is the latest",
    [Transfers],
    ([transfers]) =>
      Effect.gen(function*() {
        usualPrices()
        const caller = callerOf(yield* newMerchant)
        const made = yield* caller.ok("/api/v1/invoices", post({ amount: 10_000_000 }))
        const { invoice, payment_session_headers: session } = made
        const sent: Array<JournalEntry> = []
        for (const [index, { isDeep, returns }] of transfers.entries()) {
          sent.push(
            yield* receiveTransfer(invoice, usdc, BigInt(index + 1) * 1_000_000n, isDeep ? "confirmed" : "seen")
          )
          const again = returns === null ? undefined : sent[returns]
          if (again === undefined) continue
          const gone: JournalEntry = yield* reportAgain({ ...again, status: "reverted" })
          sent[returns!] = yield* reportAgain({ ...gone, status: "seen" })
        }
        const newestFirst = transfers.map((_, index) => (index + 1) * 1_000).toReversed()
        const amountsOf = (payments: ReadonlyArray<{ readonly amount: number }>) => payments.map(({ amount }) => amount)
        const asPayor = (what: string) =>
          Effect.flatMap(Api, (api) => api.call(`/api/v1/payments/${what}`, { headers: session })).pipe(
            Effect.tap((answer) => Effect.sync(() => ok(answer))),
            Effect.map(({ json }) => json)
          )
        const path = `/api/v1/invoices/${invoice.id}`
        const read = yield* caller.ok(`${path}?expand=payments,latest_payment`)
        assert.deepStrictEqual(amountsOf(read.payments.data), newestFirst)
        assert.strictEqual(read.latest_payment.amount, newestFirst[0])
        const { data: [listed] } = yield* caller.ok("/api/v1/invoices?expand=payments,latest_payment")
        assert.deepStrictEqual(amountsOf(listed.payments.data), newestFirst)
        assert.strictEqual(listed.latest_payment.amount, newestFirst[0])
        assert.deepStrictEqual(amountsOf((yield* caller.ok(`${path}/payments`)).data), newestFirst)
        assert.strictEqual((yield* caller.ok(`${path}/status`)).latest_payment.amount, newestFirst[0])
        const [newest] = read.payments.data
        const older = yield* caller.ok(`${path}/payments?starting_after=${newest.id}`)
        assert.deepStrictEqual(amountsOf(older.data), newestFirst.slice(1))
        assert.deepStrictEqual(amountsOf((yield* asPayor("session-details")).payments), newestFirst)
        assert.strictEqual((yield* asPayor("payment-status")).latest_payment.amount, newestFirst[0])
      }),
    { arbitrary: { runs: 25 } }
  )
})
