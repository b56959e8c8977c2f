/**
 * Goal: money from a listed sender counts nowhere until an owner accepts it, by whatever way it comes to an invoice,
 * and a driver that does not answer credits nothing. Method: the real router, commit log, invoices, payments and
 * refunds; the list is what the test says.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { PayorDetails } from "../../../modules/payments/plugin.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { addressKey, Screenings, ScreeningUnavailable } from "../../../modules/screening/plugin.ts"
import type { JournalEntry } from "../../../runtime/Chains.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  type Caller,
  callerOf,
  eventsOf,
  handOverTransfer,
  invoiceServiceIn,
  newInvoice,
  newMerchant,
  openExceptions,
  post,
  runDue,
  transferTo,
  usualPrices,
  walletOf
} from "../invoices/InvoiceService.ts"

const listed = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
const ten = { amount: 10_000 }

/** How the driver answers now. */
let answers: "by the list" | "with an error" | "with a defect" | "never" = "by the list"

const screening = Layer.effectDiscard(Effect.gen(function*() {
  yield* (yield* Screenings).register({
    name: "test",
    isListed: ({ keys }) =>
      Effect.suspend(() => {
        if (answers === "never") return Effect.never
        if (answers === "with a defect") throw new Error("a bug of the driver")
        return answers === "with an error"
          ? Effect.fail(new ScreeningUnavailable({ reason: "no answer" }))
          : Effect.succeed(keys.includes(addressKey("ethereum", listed)!))
      })
  })
})).pipe(Layer.provide(Screenings.layer))

/** Ten dollars from the listed sender, as its network spells it. */
const transferFrom = Effect.fnUntraced(function*(
  invoice: Parameters<typeof transferTo>[0],
  status: "seen" | "confirmed" = "confirmed"
) {
  const entry: JournalEntry = { ...yield* transferTo(invoice, usdc, 10_000_000n, status), from: listed.toLowerCase() }
  return entry
})

const read = (caller: Caller, { id }: { readonly id: string }) =>
  caller.ok(`/api/v1/invoices/${id}?expand=latest_payment`)

const exceptionOf = (caller: Caller, { id }: { readonly id: string }) =>
  Effect.map(caller.ok(`/api/v1/exceptions?invoice_id=${id}`), ({ data }) => data.data[0])

const resolve = (caller: Caller, { id }: { readonly id: string }, body: object) =>
  caller.call(`/api/v1/exceptions/${id}/resolve`, post(body))

layer(invoiceServiceIn({ screening }))("money from a listed sender", (it) => {
  it.effect("is rejected when it is first seen, and its invoice stays unpaid and expires as ever", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { ...ten, expires_in: 60_000 })
      const entry = yield* transferFrom(invoice, "seen")
      yield* handOverTransfer(entry)
      const seen = yield* read(caller, invoice)
      assert.include(seen, { status: "unpaid", amount_paid: 0 })
      assert.deepInclude(seen.latest_payment, { status: "rejected", amount: 0 })
      assert.deepInclude(seen.latest_payment.metadata.exception, { type: "screened", status: "open" })
      assert.deepStrictEqual(yield* openExceptions(invoice.id), ["screened"])
      yield* handOverTransfer({ ...entry, status: "confirmed", handledStatus: "seen", version: 2 })
      assert.deepStrictEqual(yield* openExceptions(invoice.id), ["screened"], "it opens once")
      yield* TestClock.adjust("2 minutes")
      yield* runDue
      assert.include(yield* read(caller, invoice), { status: "expired", amount_paid: 0 })
      const types = (yield* eventsOf(invoice.id)).map(({ type }) => type)
      assert.notInclude(types, "invoice.paid")
      assert.includeMembers(types, ["invoice_payment.created", "invoice.expired"])
    }))

  it.effect("is counted once an owner accepts it and by nobody else, also after it left its chain and came back", () =>
    Effect.gen(function*() {
      usualPrices()
      const merchant = yield* newMerchant
      const caller = callerOf(merchant)
      const invoice = yield* newInvoice(caller, ten)
      const entry = yield* transferFrom(invoice)
      yield* handOverTransfer(entry)
      const exception = yield* exceptionOf(caller, invoice)
      assert.deepInclude(exception, {
        type: "screened",
        status: "open",
        amount: 10_000,
        allowed_actions: ["accept", "refund", "ignore"]
      })
      const refused = yield* resolve(caller, exception, { action: "accept", note: "let it in" })
      assert.deepStrictEqual([refused.status, refused.json.error?.code], [403, "CREDENTIAL_NOT_ALLOWED"], refused.text)
      assert.include(refused.json.error.message, "Only an owner of the merchant may accept it")
      assert.include(yield* read(caller, invoice), { status: "unpaid", amount_paid: 0 })
      const accepted = yield* resolve(walletOf(merchant), exception, { action: "accept", note: "checked" })
      assert.strictEqual(accepted.status, 200, accepted.text)
      assert.include(yield* read(caller, invoice), { status: "paid", amount_paid: 10_000 })
      yield* handOverTransfer({ ...entry, status: "reverted", handledStatus: "confirmed", version: 2 })
      assert.include(yield* read(caller, invoice), { amount_paid: 0 })
      yield* handOverTransfer({ ...entry, status: "confirmed", handledStatus: "reverted", version: 3 })
      assert.include(yield* read(caller, invoice), { status: "paid", amount_paid: 10_000 })
    }))

  it.effect("stays rejected where a key ignores it", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, ten)
      yield* handOverTransfer(yield* transferFrom(invoice))
      const exception = yield* exceptionOf(caller, invoice)
      assert.strictEqual((yield* resolve(caller, exception, { action: "ignore" })).status, 200)
      const after = yield* read(caller, invoice)
      assert.include(after, { status: "unpaid", amount_paid: 0 })
      assert.include(after.latest_payment, { status: "rejected" })
      assert.deepStrictEqual(yield* openExceptions(invoice.id), [])
    }))

  it.effect("that names no invoice is screened too when it is assigned to one", () =>
    Effect.gen(function*() {
      usualPrices()
      const merchant = yield* newMerchant
      const caller = callerOf(merchant)
      const invoice = yield* newInvoice(caller, ten)
      const entry: JournalEntry = { ...yield* transferFrom(invoice), invoiceId: null }
      yield* handOverTransfer(entry)
      const { data: [unmatched] } = (yield* caller.ok("/api/v1/exceptions?type=unmatched_payment&limit=1")).data
      const assigned = yield* resolve(caller, unmatched, { action: "assign", invoice_id: invoice.id })
      assert.strictEqual(assigned.status, 200, assigned.text)
      assert.include(yield* read(caller, invoice), { status: "unpaid", amount_paid: 0 })
      assert.deepStrictEqual(yield* openExceptions(invoice.id), ["screened"])
      const exception = yield* exceptionOf(caller, invoice)
      assert.strictEqual((yield* resolve(walletOf(merchant), exception, { action: "accept" })).status, 200)
      assert.include(yield* read(caller, invoice), { status: "paid", amount_paid: 10_000 })
    }))

  it.effect("is the exception of a transfer that is wrong in other ways too, so that a key cannot accept those", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, ten)
      const unknown = "0x000000000000000000000000000000000000dEaD"
      yield* handOverTransfer({ ...yield* transferFrom(invoice), tokenAddress: unknown })
      assert.deepStrictEqual(yield* openExceptions(invoice.id), ["screened"])
    }))

  for (const failure of ["with an error", "with a defect", "never"] as const) {
    it.effect(`is not credited while the driver answers ${failure}, and is handled when it answers again`, () =>
      Effect.gen(function*() {
        usualPrices()
        const caller = callerOf(yield* newMerchant)
        const invoice = yield* newInvoice(caller, ten)
        const entry = yield* transferTo(invoice, usdc, 10_000_000n)
        answers = failure
        const handling = yield* Effect.forkChild(Effect.flip(Effect.suspend(() => handOverTransfer(entry))))
        const ended = yield* waitFor(handling)
        answers = "by the list"
        assert.propertyVal(ended, "code", "SERVICE_UNAVAILABLE")
        const before = yield* read(caller, invoice)
        assert.include(before, { status: "unpaid", amount_paid: 0, latest_payment: null })
        yield* handOverTransfer(entry)
        assert.include(yield* read(caller, invoice), { status: "paid", amount_paid: 10_000 })
      }))
  }

  it.effect("is given back to no listed address, and who enters one learns nothing of a list", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const { id } = yield* newInvoice(caller, ten)
      const { invoice } = (yield* (yield* Invoices).find(id))!
      const payors = yield* PayorDetails
      const refunds = yield* Refunds
      const address = listed.toLowerCase()
      const byPayor = payors.saveRefundAddress(invoice, { network: "ethereum", address, memo: null })
      const byMerchant = refunds.check({ network: "base", address, memo: null }, "devnet")
      for (const attempt of [byPayor, byMerchant]) {
        const refusal = yield* Effect.flip(attempt as Effect.Effect<unknown, unknown>) as Effect.Effect<any>
        assert.include(refusal, { code: "WALLET_ADDRESS_INVALID", param: "address" })
        assert.notMatch(refusal.message, /list|screen|sanction/i)
      }
      assert.isNull(yield* payors.refundDestination({ merchantId: invoice.merchantId, invoiceId: id }, "ethereum"))
      answers = "with an error"
      const unknown = yield* Effect.flip(byPayor) as Effect.Effect<any>
      answers = "by the list"
      assert.propertyVal(unknown, "code", "SERVICE_UNAVAILABLE")
      const fine = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
      yield* payors.saveRefundAddress(invoice, { network: "ethereum", address: fine, memo: null })
    }))
})

/** Lets a driver that is silent run into its limit; other answers come without any time. */
const waitFor = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.gen(function*() {
    while (fiber.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((resume) => setImmediate(resume)))
      if (answers === "never") yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  })
