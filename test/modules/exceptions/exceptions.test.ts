/**
 * Goal: whatever money came otherwise than an invoice expects, its merchant finds it and decides on it, once, and
 * nobody else sees it. Method: the real router, commit log, invoices and payments; transfers come when the test says.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { Exception } from "../../../schemas/Exception.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  callerOf,
  eventsOf,
  invoiceService,
  newInvoice,
  newMerchant,
  post,
  receiveTransfer,
  runDue,
  walletOf
} from "../invoices/InvoiceService.ts"
import type { Answer } from "../../support/Api.ts"

const dollar = 1_000_000n
const ten = { amount: 10_000, expires_in: 60_000 }

const list = "/api/v1/exceptions"

/** A wrapped refusal with its code. */
const refused = ({ json, status, text }: Answer, expected: number, code: string) => {
  assert.deepStrictEqual([status, json?.success, json?.error?.code], [expected, false, code], text)
  return json.error
}

/** A merchant whose invoice was paid by `dollars` too much. */
const overpaid = Effect.fnUntraced(function*(dollars: bigint) {
  const caller = callerOf(yield* newMerchant)
  const invoice = yield* newInvoice(caller, { ...ten, customer_id: "cust_1" })
  yield* receiveTransfer(invoice, usdc, (10n + dollars) * dollar)
  const { data: [exception] } = (yield* caller.ok(list)).data
  return { caller, exception, invoice }
})

/** The exception of money that came to a wallet of the merchant and pays no invoice. */
const unmatched = Effect.fnUntraced(function*(merchantId: number, isOpen = true) {
  const id = `exc_019b40e7-dd80-4cfc-9208-${String(merchantId).padStart(12, "0")}`
  yield* Effect.orDie((yield* Invoices).recordUnmatched({
    id,
    type: "unmatched_payment",
    merchantId,
    environment: "devnet",
    isOpen,
    amount: usdMillis(12_500n),
    evidence: {
      network: "base",
      tx_hash: "0xab",
      address: "0x1",
      token: "0x2",
      token_symbol: "USDC",
      token_amount: "12.5",
      token_amount_unit: "token"
    }
  }, []))
  return id
})

layer(invoiceService)("exceptions", (it) => {
  it.effect("tell what came, of which invoice, and what can be decided, in exactly the documented fields", () =>
    Effect.gen(function*() {
      const { caller, exception, invoice } = yield* overpaid(5n)
      assert.deepInclude(exception, {
        object: "exception",
        type: "overpaid",
        status: "open",
        environment: "devnet",
        invoice_id: invoice.id,
        invoice_payment_id: null,
        customer_id: "cust_1",
        amount: 5_000,
        amount_decimal: "5.000",
        network: null,
        token: null,
        evidence: { amount: 10_000, amount_paid: 15_000 },
        allowed_actions: ["refund", "credit", "ignore"],
        resolution: null,
        resolved_at: null
      })
      assert.deepStrictEqual(Object.keys(exception), Object.keys(Exception.fields))
      yield* Effect.orDie(Schema.decodeUnknownEffect(Exception)(exception))
      assert.deepStrictEqual((yield* caller.ok(`${list}/${exception.id}`)).data, exception)
    }))

  it.effect("of one payment show its network, token, amount and transaction", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, ten)
      yield* receiveTransfer(invoice, usdc, 10n * dollar)
      const second = yield* receiveTransfer(invoice, usdc, 10n * dollar)
      const { data: [exception] } = (yield* caller.ok(list)).data
      assert.deepInclude(exception, {
        type: "duplicate_payment",
        network: usdc.network,
        token: { id: usdc.id, symbol: "USDC", decimals: 6, address: usdc.address },
        token_amount: "10.000000",
        tx_hash: second.txHash
      })
      assert.isString(exception.invoice_payment_id)
    }))

  it.effect("accepted, pay their invoice: a part whose grace is over, and money that came too late", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      yield* caller.ok("/api/v1/merchant/settings", {
        method: "PATCH",
        body: { underpaid_grace_seconds: 300, late_payment_policy: "manual" }
      })
      const [part, late] = [yield* newInvoice(caller, ten), yield* newInvoice(caller, ten)]
      yield* receiveTransfer(part, usdc, 4n * dollar)
      yield* TestClock.adjust("360 seconds")
      yield* runDue
      yield* receiveTransfer(late, usdc, 10n * dollar)
      const { data: found } = (yield* caller.ok(`${list}?status=open`)).data
      assert.sameMembers(found.map(({ type }: { type: string }) => type), ["underpaid_expired", "late_payment"])
      for (const { id } of found) {
        const { data } = yield* caller.ok(`${list}/${id}/resolve`, post({ action: "accept", note: "agreed" }))
        assert.deepInclude(data, { status: "resolved", allowed_actions: [] })
        assert.deepInclude(data.resolution, {
          action: "accept",
          note: "agreed",
          actor: `${caller.id} merchant devnet 0`
        })
        assert.strictEqual(data.resolution.at, data.resolved_at)
      }
      assert.deepInclude(yield* caller.ok(`/api/v1/invoices/${part.id}`), { status: "paid", amount_paid: 4_000 })
      assert.deepInclude(yield* caller.ok(`/api/v1/invoices/${late.id}`), { status: "paid", amount_paid: 10_000 })
      assert.include((yield* eventsOf(part.id)).map(({ type }) => type), "invoice.paid")
      assert.deepStrictEqual((yield* caller.ok(`${list}?status=open`)).data.data, [])
    }))

  it.effect("are decided once, however many callers decide at once, and a repeated key gets the first answer", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* overpaid(5n)
      const path = `${list}/${exception.id}/resolve`
      const callers = Array.from({ length: 100 }, (_, index) => callerOf(caller.id, "merchant", "devnet", index))
      const answers = yield* Effect.forEach(
        callers,
        (each, index) =>
          Effect.map(each.call(path, post({ action: "credit" }, `decision-${index}`)), (answer) => ({ answer, index })),
        { concurrency: "unbounded" }
      )
      const [first, ...others] = answers.filter(({ answer }) => answer.status === 200)
      assert.deepStrictEqual(others, [])
      for (const { answer } of answers) if (answer.status !== 200) refused(answer, 409, "EXCEPTION_ALREADY_RESOLVED")
      const again = yield* callers[first!.index]!.call(path, post({ action: "credit" }, `decision-${first!.index}`))
      assert.deepStrictEqual([again.status, again.text], [200, first!.answer.text])
      assert.strictEqual(first!.answer.json.data.resolution.actor, `${caller.id} merchant devnet ${first!.index}`)
    }))

  it.effect("refuse what they do not allow by naming what they do, and what was found must be said where it must", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* overpaid(5n)
      const path = `${list}/${exception.id}/resolve`
      const error = refused(yield* caller.call(path, post({ action: "accept" })), 400, "VALIDATION_ERROR")
      assert.deepStrictEqual([error.param, error.details], ["action", {
        allowed_actions: ["refund", "credit", "ignore"]
      }])
      refused(yield* caller.call(path, post({ action: "give" })), 400, "VALIDATION_ERROR")
      refused(yield* caller.call(path, post({ action: "ignore", note: "x".repeat(501) })), 400, "VALIDATION_ERROR")
      assert.strictEqual((yield* caller.ok(`${list}/${exception.id}`)).data.status, "open")
    }))

  it.effect("belong to one merchant and environment, and to no commerce key", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* overpaid(5n)
      const stranger = callerOf(yield* newMerchant)
      const commerce = callerOf(caller.id, "commerce")
      const mainnet = callerOf(caller.id, "merchant", "mainnet")
      const decision = () => post({ action: "credit" })
      for (const other of [stranger, mainnet]) {
        refused(yield* other.call(`${list}/${exception.id}`), 404, "EXCEPTION_NOT_FOUND")
        refused(yield* other.call(`${list}/${exception.id}/resolve`, decision()), 404, "EXCEPTION_NOT_FOUND")
        assert.deepStrictEqual((yield* other.ok(list)).data.data, [])
        refused(yield* other.call(`${list}?starting_after=${exception.id}`), 400, "INVALID_CURSOR")
      }
      refused(yield* commerce.call(list), 403, "SCOPE_MISMATCH")
      refused(yield* commerce.call(`${list}/${exception.id}`), 403, "SCOPE_MISMATCH")
      refused(yield* commerce.call(`${list}/${exception.id}/resolve`, decision()), 403, "SCOPE_MISMATCH")
      const wallet = walletOf(caller.id)
      const { data } = yield* wallet.ok(`${list}/${exception.id}/resolve`, decision())
      assert.strictEqual(data.resolution.actor, `wallet-${caller.id}`)
    }))

  it.effect("of money that pays no invoice are decided too, and the decision stays when its transfer is handled again", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const id = yield* unmatched(caller.id)
      const { data } = yield* caller.ok(`${list}/${id}`)
      assert.deepInclude(data, {
        invoice_id: null,
        network: "base",
        token: { id: null, symbol: "USDC", decimals: null, address: "0x2" },
        token_amount: "12.5",
        tx_hash: "0xab",
        allowed_actions: ["credit", "ignore"]
      })
      const resolved = yield* caller.ok(`${list}/${id}/resolve`, post({ action: "credit", note: "a gift" }))
      assert.deepInclude(resolved.data, { status: "resolved" })
      refused(
        yield* caller.call(`${list}/${id}/resolve`, post({ action: "ignore" })),
        409,
        "EXCEPTION_ALREADY_RESOLVED"
      )
      yield* unmatched(caller.id)
      yield* unmatched(caller.id, false)
      yield* unmatched(caller.id)
      assert.deepStrictEqual((yield* caller.ok(`${list}/${id}`)).data, resolved.data)
    }))

  it.effect("whose money left its chain by itself are resolved without a decision, and open again when it comes back", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const id = yield* unmatched(caller.id)
      yield* unmatched(caller.id, false)
      assert.deepInclude((yield* caller.ok(`${list}/${id}`)).data, { status: "resolved", resolution: null })
      yield* unmatched(caller.id)
      assert.deepInclude((yield* caller.ok(`${list}/${id}`)).data, { status: "open", resolved_at: null })
    }))

  it.effect("are listed newest first by every filter, and a walk in either direction meets each of them once", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const invoices: Array<{ id: string }> = []
      for (let index = 0; index < 5; index++) {
        const invoice = yield* newInvoice(caller, ten)
        yield* receiveTransfer(invoice, usdc, 15n * dollar)
        invoices.push(invoice)
        if (index % 2 === 0) yield* TestClock.adjust("1 second")
      }
      yield* unmatched(caller.id)
      const all = (yield* caller.ok(`${list}?limit=100`)).data.data as ReadonlyArray<any>
      assert.lengthOf(all, 6)
      assert.deepStrictEqual(
        all,
        all.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1))
      )
      yield* caller.ok(`${list}/${all[2].id}/resolve`, post({ action: "ignore" }))
      const ids = (query: string) =>
        Effect.map(caller.ok(`${list}?${query}`), ({ data }) => data.data.map(({ id }: { id: string }) => id))
      assert.deepStrictEqual(yield* ids("status=resolved"), [all[2].id])
      assert.lengthOf(yield* ids("status=open"), 5)
      assert.lengthOf(yield* ids("type=overpaid"), 5)
      assert.lengthOf(yield* ids(`invoice_id=${invoices[0]!.id}`), 1)
      assert.lengthOf(yield* ids("network=base"), 1)
      assert.lengthOf(
        yield* ids(`created_gte=${all[0].created_at}&type=overpaid`),
        all.filter((each) => each.type === "overpaid" && each.created_at >= all[0].created_at).length
      )
      const forwards: Array<string> = []
      for (let after: string | undefined;;) {
        const { data } = yield* caller.ok(`${list}?limit=2${after === undefined ? "" : `&starting_after=${after}`}`)
        forwards.push(...data.data.map(({ id }: { id: string }) => id))
        after = forwards.at(-1)
        if (!data.has_more) break
      }
      assert.deepStrictEqual(forwards, all.map(({ id }) => id))
      const backwards: Array<string> = [forwards.at(-1)!]
      for (;;) {
        const { data } = yield* caller.ok(`${list}?limit=2&ending_before=${backwards[0]}`)
        backwards.unshift(...data.data.map(({ id }: { id: string }) => id))
        if (!data.has_more) break
      }
      assert.deepStrictEqual(backwards, forwards)
    }))

  it.effect("refuse a list that means nothing by the parameter at fault", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* overpaid(5n)
      const both = `starting_after=${exception.id}&ending_before=${exception.id}`
      for (
        const [query, code] of [
          ["status=done", "VALIDATION_ERROR"],
          ["type=odd", "VALIDATION_ERROR"],
          ["invoice_id=1", "VALIDATION_ERROR"],
          ["limit=0", "INVALID_LIMIT"],
          ["starting_after=exc_1", "INVALID_CURSOR"],
          [both, "INVALID_CURSOR"],
          ["colour=red", "VALIDATION_ERROR"],
          ["environment=moon", "INVALID_ENVIRONMENT"]
        ] as const
      ) refused(yield* caller.call(`${list}?${query}`), 400, code)
      refused(yield* caller.call(`${list}/exc_nothing`), 404, "EXCEPTION_NOT_FOUND")
    }))
})
