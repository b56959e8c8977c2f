/**
 * Goal: who decides that money goes back has opened its refund in the same moment, of exactly what the exception is
 * about; a refund that is given up asks again. Method: the real router, commit log, invoices, payments and refunds.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import type { Answer } from "../../support/Api.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  type Caller,
  callerOf,
  ether,
  eventsOf,
  invoiceService,
  newInvoice,
  newMerchant,
  openExceptions,
  passDays,
  post,
  receiveTransfer,
  runDue,
  usualPrices,
  walletOf
} from "../invoices/InvoiceService.ts"

const dollar = 1_000_000n
const list = "/api/v1/exceptions"
const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const refused = ({ json, status, text }: Answer, expected: number, code: string, says = "") => {
  assert.deepStrictEqual([status, json?.success, json?.error?.code], [expected, false, code], text)
  assert.include(json.error.message, says)
  return json.error
}

/** An invoice of ten dollars that expires in a minute, and what came for it. */
const invoiceWith = Effect.fnUntraced(function*(...dollars: ReadonlyArray<bigint>) {
  usualPrices()
  const id = yield* newMerchant
  const caller = callerOf(id)
  yield* caller.ok("/api/v1/merchant/settings", {
    method: "PATCH",
    body: { underpaid_grace_seconds: 300, late_payment_policy: "manual" }
  })
  const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 60_000 })
  for (const each of dollars) yield* receiveTransfer(invoice, usdc, each * dollar)
  return { caller, invoice, wallet: walletOf(id) }
})

const openOf = (caller: Caller) =>
  Effect.map(caller.ok(`${list}?status=open`), ({ data }) => data.data as ReadonlyArray<any>)

const resolve = (caller: Caller, { id }: { readonly id: string }, body: object, key?: string) =>
  caller.call(`${list}/${id}/resolve`, post(body, key))

const amounts = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.json.refunds.map((each: any) => [each.amount, each.reason])
}

layer(invoiceService)("exceptions that are refunded", (it) => {
  it.effect("open the refund in the same moment, tell of it, and show the claim link once", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* invoiceWith(15n)
      const [exception] = yield* openOf(caller)
      const answer = yield* resolve(caller, exception, { action: "refund", note: "agreed" }, "decision")
      assert.deepStrictEqual(amounts(answer), [[5_000, "overpayment"]])
      const { data, refunds: [refund] } = answer.json
      assert.deepInclude(data.resolution, { action: "refund", note: "agreed", refund_id: refund.id })
      assert.deepInclude(refund, { status: "awaiting_destination", invoice_id: invoice.id, fee: 0 })
      assert.match(refund.claim_url, /\/claim\/re_.*#t=/)
      assert.strictEqual(
        (yield* resolve(caller, exception, { action: "refund", note: "agreed" }, "decision")).text,
        answer.text
      )
      assert.strictEqual((yield* caller.ok(`/api/v1/refunds/${refund.id}`)).data.claim_url, null)
      assert.deepStrictEqual(yield* openExceptions(invoice.id), [])
      const told = (yield* eventsOf(invoice.id)).findLast(({ type }) => type === "exception.resolved")!
      assert.deepInclude(told.data.object.resolution, { refund_id: refund.id })
      refused(yield* resolve(caller, exception, { action: "refund" }), 409, "EXCEPTION_ALREADY_RESOLVED")
    }))

  it.effect("give back what the exception is about: the excess, the second payment, the part, what was refused", () =>
    Effect.gen(function*() {
      const both = yield* invoiceWith(10n, 12n, 3n)
      const found = yield* openOf(both.caller)
      const ofType = (type: string) => found.find((each) => each.type === type)
      assert.deepStrictEqual(amounts(yield* resolve(both.caller, ofType("overpaid"), { action: "refund" })), [
        [3_000, "overpayment"]
      ])
      assert.deepStrictEqual(amounts(yield* resolve(both.caller, ofType("duplicate_payment"), { action: "refund" })), [
        [12_000, "duplicate"]
      ])

      for (
        const [body, expected] of [[{}, [[4_000, "underpayment"]]], [{ refund: { amount: 1_500 } }, [[
          1_500,
          "underpayment"
        ]]]]
      ) {
        const part = yield* invoiceWith(4n)
        yield* TestClock.adjust("10 minutes")
        yield* runDue
        const [exception] = yield* openOf(part.caller)
        assert.strictEqual(exception.type, "underpaid_expired")
        assert.deepStrictEqual(amounts(yield* resolve(part.caller, exception, { action: "refund", ...body })), expected)
      }

      const late = yield* invoiceWith()
      yield* TestClock.adjust("2 minutes")
      yield* runDue
      yield* receiveTransfer(late.invoice, ether, 10n ** 15n)
      const [exception] = yield* openOf(late.caller)
      const answer = yield* resolve(late.caller, exception, {
        action: "refund",
        refund: {
          destination: { network: ether.network, address },
          fee_bearer: "payor",
          reason: "requested_by_customer"
        }
      })
      assert.deepStrictEqual(amounts(answer), [[2_000, "requested_by_customer"]])
      assert.deepInclude(answer.json.refunds[0], {
        token_amount: "0.001000000000000000",
        status: "pending_approval",
        destination_address: address
      })
      assert.isAbove(answer.json.refunds[0].fee, 0)
    }))

  it.effect("are refused as a whole where the refund is: nothing is decided then", () =>
    Effect.gen(function*() {
      const { caller } = yield* invoiceWith(15n)
      const [exception] = yield* openOf(caller)
      const bad = { network: "base", address: `${address.slice(0, -1)}e` }
      for (
        const [body, status, code, param] of [
          [
            { action: "refund", refund: { destination: bad } },
            400,
            "WALLET_ADDRESS_INVALID",
            "refund.destination.address"
          ],
          [{ action: "refund", refund: { amount: 1 } }, 400, "VALIDATION_ERROR", "refund.amount"],
          [{ action: "credit", refund: {} }, 400, "VALIDATION_ERROR", "refund"],
          [{ action: "refund", refund: { fee_bearer: "nobody" } }, 400, "VALIDATION_ERROR", "refund.fee_bearer"]
        ] as const
      ) {
        assert.strictEqual(refused(yield* resolve(caller, exception, body), status, code).param, param)
      }
      assert.deepInclude((yield* openOf(caller))[0], { id: exception.id, status: "open" })
      yield* Effect.map(resolve(caller, exception, { action: "refund" }), amounts)
    }))

  it.effect("are approved by a wallet's own decision, and by no key's", () =>
    Effect.gen(function*() {
      for (const by of ["caller", "wallet"] as const) {
        const merchant = yield* invoiceWith(15n)
        const [exception] = yield* openOf(merchant.caller)
        const { json } = yield* resolve(merchant[by], exception, {
          action: "refund",
          refund: { destination: { network: "base", address }, auto_approve: true }
        })
        assert.strictEqual(json.refunds[0].status, by === "wallet" ? "processing" : "pending_approval")
      }
    }))

  it.effect("open again where the refund is canceled or nobody said where it goes, and then take another decision", () =>
    Effect.gen(function*() {
      for (const isCanceled of [true, false]) {
        const { caller, invoice } = yield* invoiceWith(15n)
        const [exception] = yield* openOf(caller)
        const { json: { refunds: [refund] } } = yield* resolve(caller, exception, { action: "refund" })
        if (isCanceled) yield* caller.ok(`/api/v1/refunds/${refund.id}/cancel`, post({}))
        else {
          yield* passDays(caller, 31)
          assert.strictEqual((yield* (yield* Refunds).find(refund.id))!.status, "expired")
        }
        const [again, ...others] = yield* openOf(caller)
        assert.deepStrictEqual(others, [])
        assert.deepInclude(again, {
          id: exception.id,
          amount: 5_000,
          resolution: null,
          allowed_actions: ["refund", "credit", "ignore"]
        })
        assert.strictEqual((yield* eventsOf(invoice.id)).at(-1)!.type, "exception.opened")
        assert.strictEqual((yield* resolve(caller, again, { action: "credit" })).status, 200)
        assert.deepStrictEqual(yield* openOf(caller), [])
      }
    }))

  it.effect("join what came since where the refund is canceled", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* invoiceWith(15n)
      const [exception] = yield* openOf(caller)
      const { json: { refunds: [refund] } } = yield* resolve(caller, exception, { action: "refund" })
      yield* receiveTransfer(invoice, usdc, 2n * dollar)
      assert.deepStrictEqual((yield* openOf(caller)).map(({ amount }) => amount), [2_000])
      yield* caller.ok(`/api/v1/refunds/${refund.id}/cancel`, post({}))
      const [whole, ...others] = yield* openOf(caller)
      assert.deepStrictEqual([whole.amount, others], [7_000, []])
      assert.deepStrictEqual(amounts(yield* resolve(caller, whole, { action: "refund" })), [
        [2_000, "overpayment"],
        [5_000, "overpayment"]
      ])
    }))
  /** A refund as `POST /api/v1/refunds` takes it. */
  const refundBy = (caller: Caller, { id }: { readonly id: string }, body: object) =>
    Effect.map(
      caller.ok("/api/v1/refunds", post({ invoice_id: id, reason: "other", fee_bearer: "merchant", ...body })),
      ({ refunds }) => refunds as ReadonlyArray<any>
    )

  const amountsOf = (refunds: ReadonlyArray<any>) => refunds.map(({ amount }) => amount)

  it.effect("are decided by any refund of their money, and asked again where that is given up", () =>
    Effect.gen(function*() {
      for (
        const mode of [{ amount_mode: "overpaid" }, { amount_mode: "full" }, { amount_mode: "custom", amount: 5_000 }]
      ) {
        const { caller, invoice } = yield* invoiceWith(15n)
        const [exception] = yield* openOf(caller)
        const [refund] = yield* refundBy(caller, invoice, mode)
        const { data } = yield* caller.ok(`${list}/${exception.id}`)
        assert.deepInclude(data, { status: "resolved", allowed_actions: [], amount: 5_000 })
        assert.deepInclude(data.resolution, { action: "refund", refund_id: refund.id, invoice_id: null })
        assert.isAbove(data.resolution.actor.length, 0)
        assert.strictEqual((yield* eventsOf(invoice.id)).at(-1)!.type, "exception.resolved")
        refused(yield* resolve(caller, exception, { action: "credit" }), 409, "EXCEPTION_ALREADY_RESOLVED")
        yield* caller.ok(`/api/v1/refunds/${refund.id}/cancel`, post({}))
        assert.deepInclude((yield* openOf(caller))[0], { id: exception.id, amount: 5_000, resolution: null })
      }
      const { caller, invoice } = yield* invoiceWith(10n, 12n)
      const [exception] = yield* openOf(caller)
      const [refund] = yield* refundBy(caller, invoice, {
        amount_mode: "remaining",
        invoice_payment_id: exception.invoice_payment_id
      })
      assert.deepStrictEqual([refund.amount, yield* openOf(caller)], [12_000, []])
      yield* passDays(caller, 31)
      assert.deepInclude((yield* openOf(caller))[0], { id: exception.id, type: "duplicate_payment", amount: 12_000 })
    }))

  it.effect("are about the rest where only a part goes back", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* invoiceWith(15n)
      const [exception] = yield* openOf(caller)
      const [part] = yield* refundBy(caller, invoice, { amount_mode: "custom", amount: 2_000 })
      assert.deepStrictEqual((yield* openOf(caller)).map(({ amount, id }) => [id, amount]), [[exception.id, 3_000]])
      const all = (yield* caller.ok(`${list}?invoice_id=${invoice.id}`)).data.data as ReadonlyArray<any>
      const [decided] = all.filter(({ status }) => status === "resolved")
      assert.deepInclude(decided, { type: "overpaid", amount: 2_000 })
      assert.deepInclude(decided.resolution, { action: "refund", refund_id: part.id })
      assert.deepStrictEqual(amounts(yield* resolve(caller, exception, { action: "refund" })), [[3_000, "overpayment"]])
      yield* caller.ok(`/api/v1/refunds/${part.id}/cancel`, post({}))
      assert.deepStrictEqual((yield* openOf(caller)).map(({ amount }) => amount), [2_000])

      const other = yield* invoiceWith(15n)
      const [open] = yield* openOf(other.caller)
      const [one] = yield* refundBy(other.caller, other.invoice, { amount_mode: "custom", amount: 2_000 })
      yield* other.caller.ok(`/api/v1/refunds/${one.id}/cancel`, post({}))
      assert.deepStrictEqual((yield* openOf(other.caller)).map(({ amount, id }) => [id, amount]), [[open.id, 5_000]])
      yield* refundBy(other.caller, other.invoice, { amount_mode: "custom", amount: 2_000 })
      const kept = yield* resolve(other.caller, open, { action: "credit" })
      assert.deepInclude(kept.json.data, { status: "resolved", amount: 3_000 })
    }))

  it.effect("hold for what still goes back where one of several refunds is given up", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* invoiceWith(15n, 2n)
      const [exception] = yield* openOf(caller)
      const refunds = yield* refundBy(caller, invoice, { amount_mode: "overpaid" })
      assert.deepStrictEqual([amountsOf(refunds), yield* openOf(caller)], [[2_000, 5_000], []])
      yield* caller.ok(`/api/v1/refunds/${refunds[1].id}/cancel`, post({}))
      const [rest, ...others] = yield* openOf(caller)
      assert.deepStrictEqual([rest.amount, others], [5_000, []])
      assert.deepInclude((yield* caller.ok(`${list}/${exception.id}`)).data, { status: "resolved", amount: 2_000 })
      yield* caller.ok(`/api/v1/refunds/${refunds[0].id}/cancel`, post({}))
      assert.deepStrictEqual((yield* openOf(caller)).map(({ amount }) => amount), [7_000])
    }))

  it.effect("of a second payment are decided before those of the rest, each by the refund of its money", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* invoiceWith(10n, 12n, 3n)
      const refunds = yield* refundBy(caller, invoice, { amount_mode: "overpaid" })
      assert.deepStrictEqual([amountsOf(refunds), yield* openOf(caller)], [[3_000, 12_000], []])
      for (const { id } of refunds) yield* caller.ok(`/api/v1/refunds/${id}/cancel`, post({}))
      assert.sameDeepMembers((yield* openOf(caller)).map(({ amount, type }) => [type, amount]), [
        ["duplicate_payment", 12_000],
        ["overpaid", 3_000]
      ])
      const first = (yield* caller.ok(`/api/v1/invoices/${invoice.id}?expand=payments`)).payments.data
        .find(({ amount }: any) => amount === 10_000)
      yield* refundBy(caller, invoice, {
        amount_mode: "custom",
        amount: 2_000,
        invoice_payment_id: (yield* openOf(caller)).find(({ type }) => type === "duplicate_payment").invoice_payment_id
      })
      assert.sameDeepMembers((yield* openOf(caller)).map(({ amount, type }) => [type, amount]), [
        ["duplicate_payment", 10_000],
        ["overpaid", 3_000]
      ])
      yield* refundBy(caller, invoice, { amount_mode: "custom", amount: 3_000, invoice_payment_id: first.id })
      assert.deepStrictEqual((yield* openOf(caller)).map(({ amount, type }) => [type, amount]), [
        ["duplicate_payment", 10_000]
      ])
    }))

  it.effect("is no more than is beyond the amount, also where another payment gave back a part of that", () =>
    Effect.gen(function*() {
      const { caller, invoice, wallet } = yield* invoiceWith(100n, 12n)
      const large = (yield* caller.ok(`/api/v1/invoices/${invoice.id}?expand=payments`)).payments.data
        .find(({ amount }: any) => amount === 100_000)
      yield* refundBy(caller, invoice, { amount_mode: "overpaid", invoice_payment_id: large.id })
      const [duplicate, ...others] = yield* openOf(caller)
      assert.deepStrictEqual([duplicate.type, duplicate.amount, others], ["duplicate_payment", 2_000, []])
      assert.deepStrictEqual(amounts(yield* resolve(wallet, duplicate, { action: "refund" })), [[2_000, "duplicate"]])
    }))
})
