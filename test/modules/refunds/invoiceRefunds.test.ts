/**
 * Goal: a merchant gives back exactly what it asks for and never more than came, to an address that somebody said, and
 * only after a person approved. Method: the real router, commit log, invoices and payments; transfers come when the
 * test says.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { PayorDetails } from "../../../modules/payments/plugin.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { collector, keylessDeployer, payer } from "../../../modules/chains/evm/Contracts.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { type Member, Members, soleOwner } from "../../../runtime/Members.ts"
import { Refund } from "../../../schemas/Refund.ts"
import { usdc } from "../../fixtures/tokens.ts"
import type { Answer } from "../../support/Api.ts"
import {
  type Caller,
  callerOf,
  choose,
  ether,
  eventsOf,
  invoiceService,
  losePrice,
  newInvoice,
  newMerchant,
  passDays,
  post,
  receiveTransfer,
  reportAgain,
  runDue,
  usualPrices,
  walletOf
} from "../invoices/InvoiceService.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

/** Base units of a test dollar. */
const dollar = 1_000_000n
const path = "/api/v1/refunds"
const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const destination = { network: "base", address }
const all = { amount_mode: "remaining", reason: "requested_by_customer", fee_bearer: "merchant" }

/** A wrapped refusal with its code. */
const refused = ({ json, status, text }: Answer, expected: number, code: string, says = "") => {
  assert.deepStrictEqual([status, json?.success, json?.error?.code], [expected, false, code], text)
  assert.include(json.error.message, says)
  return json.error
}

/** A merchant's invoice of ten dollars that so many dollars came for, each a payment. */
const paid = Effect.fnUntraced(function*(...dollars: ReadonlyArray<bigint>) {
  usualPrices()
  const id = yield* newMerchant
  const caller = callerOf(id)
  const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 3_600_000 })
  yield* choose(invoice.id, usdc)
  const entries = yield* Effect.forEach(dollars, (each) => receiveTransfer(invoice, usdc, each * dollar))
  const ask = (body: object, by: Caller = caller) => by.call(path, post({ invoice_id: invoice.id, ...all, ...body }))
  const made = (body: object, by: Caller = caller) =>
    Effect.map(ask(body, by), (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.json
    })
  return { id, caller, wallet: walletOf(id), invoice, entries, ask, made }
})

layer(invoiceService)("refunds of invoices", (it) => {
  it.effect("have exactly the documented fields, wait for a person's approval, and are found again", () =>
    Effect.gen(function*() {
      const { caller, invoice, made } = yield* paid(10n)
      const { data, refunds } = yield* made({ destination, reason: "other" })
      assert.deepStrictEqual(refunds, [data])
      assert.deepStrictEqual(Object.keys(data), Object.keys(Refund.fields))
      yield* Effect.orDie(Schema.decodeUnknownEffect(Refund)(data))
      assert.deepInclude(data, {
        object: "refund",
        invoice_id: invoice.id,
        commerce_order_id: null,
        status: "pending_approval",
        amount: 10_000,
        token_amount: "10.000000",
        token_symbol: "USDC",
        token_id: usdc.id,
        token_address: usdc.address,
        network: "base",
        fee: 0,
        net_amount: 10_000,
        destination_address: address,
        reason: "other",
        balance_transaction_id: null,
        claim_url: null
      })
      assert.isString(data.invoice_payment_id)
      assert.deepStrictEqual((yield* caller.ok(`${path}/${data.id}`)).data, data)
      for (const query of ["", `?invoice_id=${invoice.id}`, "?status=pending_approval", "?created_gte=0"]) {
        assert.deepStrictEqual((yield* caller.ok(`${path}${query}`)).data.data, [data], query)
      }
      for (const query of ["?status=failed", "?created_gte=99999999999", `?invoice_id=${data.invoice_payment_id}`]) {
        assert.deepStrictEqual((yield* caller.ok(`${path}${query}`)).data.data, [], query)
      }
    }))

  it.effect("take what their mode says: all, what is left, what is too much, or a part, newest payment first", () =>
    Effect.gen(function*() {
      const { ask, caller, invoice, made } = yield* paid(4n, 6n, 5n)
      const over = yield* made({ amount_mode: "overpaid", reason: "overpayment" })
      const payments = (yield* caller.ok(`/api/v1/invoices/${invoice.id}?expand=payments`)).payments.data
      const byAmount = (amount: number) => payments.find((each: any) => each.amount === amount).id
      assert.deepInclude(over.data, { amount: 5_000, token_amount: "5.000000", invoice_payment_id: byAmount(5_000) })
      const nothing = refused(yield* ask({ amount_mode: "overpaid" }), 409, "REFUND_EXCEEDS_RECEIVED", "remaining")
      assert.include(nothing.message, "Nothing is too much now")
      const full = refused(yield* ask({ amount_mode: "full" }), 409, "REFUND_EXCEEDS_RECEIVED", "10.000")
      assert.include(full.message, "amount_mode remaining")
      const unnamed = refused(yield* ask({ amount_mode: "custom", token_amount: "1" }), 400, "VALIDATION_ERROR")
      assert.include(unnamed.message, byAmount(4_000))
      assert.deepStrictEqual(full.details, {
        refundable: 10_000,
        refundable_decimal: "10.000",
        refundable_token_amount: null
      })
      const part = yield* made({ amount_mode: "custom", amount: 7_000 })
      assert.deepStrictEqual(
        part.refunds.map((each: any) => [each.amount, each.invoice_payment_id]),
        [[6_000, byAmount(6_000)], [1_000, byAmount(4_000)]]
      )
      const named = { amount_mode: "custom", invoice_payment_id: byAmount(4_000) }
      const units = yield* made({ ...named, token_amount: "0.5" })
      assert.deepInclude(units.data, { amount: 500, token_amount: "0.500000" })
      const error = refused(yield* ask({ ...named, amount: 2_501 }), 409, "REFUND_EXCEEDS_RECEIVED", "2.500")
      assert.include(error.details, { refundable: 2_500, refundable_token_amount: "2.500000" })
      assert.include(error.message, byAmount(4_000))
      const rest = yield* made({})
      assert.deepStrictEqual(rest.refunds.map((each: any) => each.amount), [2_500])
      refused(
        yield* ask({ amount_mode: "full" }),
        409,
        "REFUND_EXCEEDS_RECEIVED",
        "Nothing of this invoice is left to refund"
      )
      refused(yield* ask({}), 409, "REFUND_EXCEEDS_RECEIVED", "left to refund")
    }))

  it.effect("of a coin of 18 decimals come to its last unit, whatever the parts", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { amount: 3_000, expires_in: 3_600_000 })
      const units = 1_666_666_666_666_667n
      yield* receiveTransfer(invoice, ether, units)
      const ask = (body: object) => caller.ok(path, post({ invoice_id: invoice.id, ...all, ...body }))
      const parts = [
        yield* ask({ amount_mode: "custom", amount: 1_000 }),
        yield* ask({ amount_mode: "custom", token_amount: "0.000000000000000001" }),
        yield* ask({ amount_mode: "custom", amount: 1 }),
        yield* ask({})
      ].map(({ data }) => data)
      const sum = parts.reduce((total, each) => total + BigInt(each.token_amount.replace(".", "")), 0n)
      assert.strictEqual(sum, units)
      assert.strictEqual(parts.reduce((total, each) => total + each.amount, 0), 3_333)
      assert.deepInclude(parts[1], { amount: 0, token_amount: "0.000000000000000001" })
    }))

  it.effect("name the field that was meant where a body has one that is none", () =>
    Effect.gen(function*() {
      const { ask } = yield* paid(10n)
      const answer = yield* ask({ fee_bearr: "payor", destination: { ...destination, adress: address } })
      const warning = answer.headers.get("x-service-warning") ?? ""
      assert.include(warning, `unknown body field "fee_bearr", nearest is "fee_bearer"`)
      assert.include(warning, `unknown body field "destination.adress", nearest is "destination.address"`)
    }))

  it.effect("keep the network's fee of the amount where the payor bears it, and never all of it", () =>
    Effect.gen(function*() {
      const { ask, made } = yield* paid(10n)
      const { data } = yield* made({ amount_mode: "custom", amount: 1_000, fee_bearer: "payor" })
      assert.deepInclude(data, { amount: 1_000, fee: 20, net_amount: 980, token_amount: "1.000000" })
      const tiny = yield* ask({ amount_mode: "custom", amount: 20, fee_bearer: "payor" })
      assert.strictEqual(refused(tiny, 400, "VALIDATION_ERROR", "0.020").param, "fee_bearer")
    }))

  it.effect("go where the merchant says, else where the payor said, else wait, and never to who paid", () =>
    Effect.gen(function*() {
      const { ask, invoice, made } = yield* paid(10n)
      const part = { amount_mode: "custom", amount: 1_000 }
      const waiting = (yield* made(part)).data
      assert.deepInclude(waiting, { status: "awaiting_destination", destination_address: null })
      const current = (yield* (yield* Invoices).find(invoice.id))!.invoice
      const own = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
      const forced = (yield* made({ ...part, destination: "claim" })).data
      yield* (yield* PayorDetails).saveRefundAddress(current, { network: "base", address: own, memo: null })
      const refunds = yield* Refunds
      assert.deepInclude({ ...yield* refunds.find(waiting.id) }, { status: "pending_approval" })
      assert.strictEqual((yield* refunds.find(waiting.id))!.destination?.address, own)
      assert.strictEqual((yield* refunds.find(forced.id))!.status, "awaiting_destination", "it waits for its link")
      assert.deepInclude((yield* made(part)).data, { status: "pending_approval", destination_address: own })
      assert.deepInclude((yield* made({ ...part, destination })).data, { destination_address: address })
      assert.deepInclude((yield* made({ ...part, destination: "claim" })).data, { status: "awaiting_destination" })
      for (
        const [wrong, code, param] of [
          [{ ...destination, address: `${address.slice(0, -1)}e` }, "WALLET_ADDRESS_INVALID", "destination.address"],
          [{ ...destination, address: usdc.address }, "WALLET_ADDRESS_INVALID", "destination.address"],
          [{ ...destination, address: `0x${"0".repeat(40)}` }, "WALLET_ADDRESS_INVALID", "destination.address"],
          [{ ...destination, memo: "7" }, "VALIDATION_ERROR", "destination.memo"],
          [{ ...destination, network: "ethereum" }, "VALIDATION_ERROR", "destination.network"]
        ] as const
      ) {
        assert.strictEqual(refused(yield* ask({ ...part, destination: wrong }), 400, code).param, param)
      }
      const reasonOf = (wrong: string) =>
        Effect.map(
          ask({ ...part, destination: { ...destination, address: wrong } }),
          (answer) => refused(answer, 400, "WALLET_ADDRESS_INVALID").details
        )
      assert.deepStrictEqual(yield* reasonOf(usdc.address!), { reason: "not_a_wallet" })
      assert.deepStrictEqual(yield* reasonOf("0x000000000000000000000000000000000000dEaD"), { reason: "not_a_wallet" })
      assert.isNull(yield* reasonOf(`0x${"0".repeat(40)}`))
      for (
        const [wrong, says] of [
          [`${address.slice(0, -1)}e`, "checksum"],
          [`0x${"0".repeat(40)}`, "zero address"],
          [usdc.address!, "contract of a token"],
          ["0x000000000000000000000000000000000000dEaD", "nobody has a key"],
          [`0x${"f".repeat(40)}`, "nobody has a key"],
          ["0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "nobody has a key"],
          [collector.address, "pays and collects with"],
          [payer.address, "pays and collects with"],
          [keylessDeployer, "pays and collects with"],
          [keylessDeployer.toLowerCase(), "pays and collects with"],
          ["0x0000000000000000000000000000000000000004", "another contract"],
          [`0x${invoice.id}`, "copy it again"]
        ] as const
      ) {
        const answer = yield* ask({ ...part, destination: { ...destination, address: wrong } })
        assert.match(refused(answer, 400, "WALLET_ADDRESS_INVALID", says).message, /^destination\.address: /u)
      }
    }))

  it.effect("are approved by a person only, at once where that is asked for, and never by a key", () =>
    Effect.gen(function*() {
      const { caller, made, wallet } = yield* paid(10n)
      const part = { amount_mode: "custom", amount: 1_000, destination, auto_approve: true }
      const byKey = (yield* made(part)).data
      assert.strictEqual(byKey.status, "pending_approval")
      refused(yield* caller.call(`${path}/${byKey.id}/approve`, post({})), 403, "CREDENTIAL_NOT_ALLOWED", "sign in")
      assert.deepInclude((yield* wallet.ok(`${path}/${byKey.id}/approve`, post({}))).data, { status: "processing" })
      refused(yield* wallet.call(`${path}/${byKey.id}/approve`, post({})), 409, "INVALID_TRANSITION", "processing")
      assert.strictEqual((yield* made(part, wallet)).data.status, "processing")
      assert.strictEqual((yield* made({ ...part, auto_approve: false }, wallet)).data.status, "pending_approval")
      const waiting = (yield* made({ ...part, destination: "claim" }, wallet)).data
      assert.strictEqual(waiting.status, "awaiting_destination", "nobody approves an unknown address")
      refused(yield* wallet.call(`${path}/${waiting.id}/approve`, post({})), 409, "INVALID_TRANSITION")
    }))

  it.effect("need as many people as when they were opened, whoever leaves and however the limit is raised", () =>
    Effect.gen(function*() {
      const { made, wallet } = yield* paid(10n)
      const team: Array<Member> = [soleOwner, { person: "per_ines", role: "admin" }]
      yield* (yield* Members).register({
        find: () => Effect.succeed(soleOwner),
        list: () => Effect.sync(() => [...team]),
        actorsOf: () => Effect.succeed([])
      })
      const setLimit = (limit: number) =>
        wallet.ok("/api/v1/merchant/settings", { method: "PATCH", body: { auto_approve_limit: limit } })
      const part = { amount_mode: "custom", amount: 1_000, destination }
      yield* setLimit(0)
      const twoPeople = (yield* made({ ...part, auto_approve: true }, wallet)).data
      assert.strictEqual(twoPeople.status, "pending_approval")
      team.pop()
      yield* setLimit(500_000)
      const approved = (id: string) =>
        Effect.map(wallet.ok(`${path}/${id}/approve`, post({})), ({ data }) => data.status)
      assert.strictEqual(yield* approved(twoPeople.id), "pending_approval")
      assert.strictEqual(yield* approved((yield* made(part, wallet)).data.id), "processing")
    }).pipe(Effect.scoped))

  it.effect("need one person up to the limit, two above it, and two where nobody knows what they are worth", () =>
    Effect.gen(function*() {
      const { made, wallet } = yield* paid(10n)
      yield* (yield* Members).register({
        find: () => Effect.succeed(soleOwner),
        list: () => Effect.succeed([soleOwner, { person: "per_ines", role: "admin" }]),
        actorsOf: () => Effect.succeed([])
      })
      yield* wallet.ok("/api/v1/merchant/settings", { method: "PATCH", body: { auto_approve_limit: 2_000 } })
      const statusOf = (amount: number) =>
        Effect.map(
          made({ amount_mode: "custom", amount, destination, auto_approve: true }, wallet),
          ({ data }) => data.status
        )
      assert.strictEqual(yield* statusOf(2_000), "processing")
      assert.strictEqual(yield* statusOf(2_010), "pending_approval")
      losePrice("usd-coin")
      assert.strictEqual(yield* statusOf(1_000), "pending_approval")
    }).pipe(Effect.scoped))

  it.effect("of many calls at once never come to more than was received", () =>
    Effect.gen(function*() {
      const { caller, id, invoice } = yield* paid(10n)
      const body = { invoice_id: invoice.id, ...all, amount_mode: "custom", amount: 3_000 }
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => callerOf(id, "merchant", "devnet", index)),
        (each) => each.call(path, post(body)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(answers.filter(({ status }) => status === 200).length, 3)
      for (const each of answers) if (each.status !== 200) refused(each, 409, "REFUND_EXCEEDS_RECEIVED", "1.000")
      assert.lengthOf((yield* caller.ok(path)).data.data, 3)
    }))

  it.effect("canceled by many calls at once are told as canceled by each of them", () =>
    Effect.gen(function*() {
      const { made } = yield* paid(10n)
      const { data } = yield* made({})
      const refunds = yield* Refunds
      const found = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () =>
          refunds.act(data.id, "cancel", { kind: "key", credential: "test", ...operatorKey }, {
            cause: noCause,
            reply: () => undefined
          }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(found.map(({ status }) => status), found.map(() => "canceled"))
    }))

  it.effect("asked for twice with one key are opened once, and need a key", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* paid(10n)
      const body = { invoice_id: invoice.id, ...all, amount_mode: "custom", amount: 3_000 }
      const first = yield* caller.call(path, post(body, "refund-1"))
      const again = yield* caller.call(path, post(body, "refund-1"))
      assert.strictEqual(again.text, first.text)
      refused(yield* caller.call(path, post({ ...body, amount: 1 }, "refund-1")), 422, "IDEMPOTENCY_KEY_REUSED")
      refused(yield* caller.call(path, { body }), 400, "IDEMPOTENCY_KEY_MISSING")
      assert.lengthOf((yield* caller.ok(path)).data.data, 1)
    }))

  it.effect("are unknown to every other merchant, environment and commerce key", () =>
    Effect.gen(function*() {
      const { caller, id, invoice, made } = yield* paid(10n)
      const data = { ...(yield* made({})).data, claim_url: null }
      const other = callerOf(yield* newMerchant)
      const mainnet = callerOf(id, "merchant", "mainnet")
      for (const stranger of [other, mainnet]) {
        refused(yield* stranger.call(`${path}/${data.id}`), 404, "REFUND_NOT_FOUND")
        for (const act of ["approve", "cancel", "retry", "claim-link"]) {
          refused(yield* stranger.call(`${path}/${data.id}/${act}`, post({})), 404, "REFUND_NOT_FOUND")
        }
        const body = { invoice_id: invoice.id, ...all }
        refused(yield* stranger.call(path, post(body)), 404, "INVOICE_NOT_FOUND")
        assert.deepStrictEqual((yield* stranger.ok(path)).data.data, [])
        refused(yield* stranger.call(`${path}?starting_after=${data.id}`), 400, "INVALID_CURSOR")
      }
      refused(yield* callerOf(id, "commerce").call(path), 403, "SCOPE_MISMATCH")
      assert.deepStrictEqual((yield* mainnet.ok(`${path}?environment=devnet`)).data.data, [data])
      assert.strictEqual((yield* caller.ok(`${path}/${data.id}`)).data.status, "awaiting_destination")
    }))

  it.effect("page by cursors in both directions", () =>
    Effect.gen(function*() {
      const { caller, made } = yield* paid(10n)
      const ids: Array<string> = []
      for (let each = 0; each < 5; each++) ids.unshift((yield* made({ amount_mode: "custom", amount: 100 })).data.id)
      const idsOf = ({ data }: any) => data.data.map((each: any) => each.id)
      assert.deepStrictEqual(idsOf(yield* caller.ok(`${path}?limit=2`)), ids.slice(0, 2))
      const older = yield* caller.ok(`${path}?limit=2&starting_after=${ids[1]}`)
      assert.deepStrictEqual([idsOf(older), older.data.has_more], [ids.slice(2, 4), true])
      const newer = yield* caller.ok(`${path}?limit=2&ending_before=${ids[2]}`)
      assert.deepStrictEqual([idsOf(newer), newer.data.has_more], [ids.slice(0, 2), false])
    }))

  it.effect("canceled or expired give their money back to be refunded; what failed keeps it", () =>
    Effect.gen(function*() {
      const { ask, caller, made, wallet } = yield* paid(10n)
      const first = (yield* made({})).data
      refused(yield* ask({}), 409, "REFUND_EXCEEDS_RECEIVED")
      const canceled = yield* caller.ok(`${path}/${first.id}/cancel`, post({}))
      assert.strictEqual(canceled.data.status, "canceled")
      assert.strictEqual((yield* caller.ok(`${path}/${first.id}/cancel`, post({}))).data.status, "canceled")
      const second = (yield* made({ destination, auto_approve: true }, wallet)).data
      const cancel = () => caller.call(`${path}/${second.id}/cancel`, post({}))
      refused(yield* cancel(), 409, "REFUND_NOT_CANCELABLE", "on its way")
      const refunds = yield* Refunds
      yield* refunds.change(second.id, { _tag: "Fail", code: "insufficient_funds" }, noCause, "service:test")
      refused(yield* ask({}), 409, "REFUND_EXCEEDS_RECEIVED", "left to refund")
      refused(yield* cancel(), 409, "REFUND_NOT_CANCELABLE", "/retry")
      assert.strictEqual((yield* caller.ok(`${path}/${second.id}/retry`, post({}))).data.status, "processing")

      const other = yield* paid(10n)
      const waiting = (yield* other.made({})).data
      yield* passDays(other.caller, 31)
      assert.strictEqual((yield* other.caller.ok(`${path}/${waiting.id}`)).data.status, "expired")
      const link = yield* other.caller.call(`${path}/${waiting.id}/claim-link`, post({}))
      refused(link, 409, "INVALID_TRANSITION", "has expired")
      yield* other.made({})
    }))

  it.effect("whose payment leaves the chain have failed for good, unless they are sent", () =>
    Effect.gen(function*() {
      const { ask, caller, entries, made, wallet } = yield* paid(10n)
      const part = { amount_mode: "custom", amount: 2_000 }
      const waiting = (yield* made(part)).data
      const approved = (yield* made({ ...part, destination, auto_approve: true }, wallet)).data
      const sent = (yield* made({ ...part, destination, auto_approve: true }, wallet)).data
      const refunds = yield* Refunds
      yield* refunds.change(sent.id, { _tag: "Submit", txHash: "0xsent" }, noCause, "service:test")
      const reverted = yield* reportAgain({ ...entries[0]!, status: "reverted" })
      for (const { id } of [waiting, approved]) {
        const { data } = yield* caller.ok(`${path}/${id}`)
        assert.deepInclude(data, { status: "failed", failure_code: "payment_reverted" })
        refused(yield* caller.call(`${path}/${id}/retry`, post({})), 409, "INVALID_TRANSITION", "left the chain")
      }
      // Nobody approved it, so nothing can have been sent for it.
      const unsent = yield* Effect.flip(
        refunds.change(waiting.id, { _tag: "Succeed", txHash: "0xnobody" }, noCause, "service:test")
      )
      assert.strictEqual((unsent as PublicError).code, "INVALID_TRANSITION")
      assert.strictEqual((yield* caller.ok(`${path}/${sent.id}`)).data.status, "processing")
      refused(yield* ask({}), 409, "REFUND_EXCEEDS_RECEIVED", "Nothing of this")
      // What comes back to the chain can be refunded once the failed refunds are given up.
      yield* reportAgain({ ...reverted, status: "confirmed" })
      const held = yield* ask({ amount_mode: "custom", amount: 6_000 })
      const says = refused(held, 409, "REFUND_EXCEEDS_RECEIVED", "4.000").message
      assert.include(says, `The refund ${waiting.id} failed for good and keeps its part until it is canceled`)
      for (const { id } of [waiting, approved]) yield* caller.ok(`${path}/${id}/cancel`, post({}))
      assert.strictEqual((yield* made({})).data.amount, 8_000)
    }))

  it.effect("are made of no money that may still go away", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 3_600_000 })
      const entry = yield* receiveTransfer(invoice, usdc, 10n * dollar, "seen")
      const body = { invoice_id: invoice.id, ...all }
      refused(yield* caller.call(path, post(body)), 409, "REFUND_EXCEEDS_RECEIVED", "can be refunded now")
      const [payment] = (yield* (yield* Invoices).find(invoice.id))!.payments
      const { confirmations, required_confirmations: required } = payment!.metadata
      const depth = `The payment ${payment!.id} has ${confirmations} of ${required} confirmations`
      for (const amount_mode of ["remaining", "overpaid"]) {
        refused(yield* caller.call(path, post({ ...body, amount_mode })), 409, "REFUND_EXCEEDS_RECEIVED", depth)
      }
      const named = { ...body, invoice_payment_id: payment!.id }
      refused(yield* caller.call(path, post(named)), 409, "REFUND_EXCEEDS_RECEIVED", depth)
      yield* reportAgain({ ...entry, status: "confirmed" })
      yield* caller.ok(path, post(body))
    }))

  it.effect("of a refused payment are made where it is named", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      yield* caller.ok("/api/v1/merchant/settings", { method: "PATCH", body: { late_payment_policy: "manual" } })
      const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 60_000 })
      yield* TestClock.adjust("120 seconds")
      yield* runDue
      yield* receiveTransfer(invoice, usdc, 10n * dollar)
      const { payments: { data: payments } } = yield* caller.ok(`/api/v1/invoices/${invoice.id}?expand=payments`)
      assert.strictEqual(payments[0].status, "rejected")
      const body = { invoice_id: invoice.id, ...all }
      refused(yield* caller.call(path, post(body)), 409, "REFUND_EXCEEDS_RECEIVED")
      const named = { ...body, invoice_payment_id: payments[0].id }
      const { error } = (yield* caller.call(path, post(named))).json
      assert.strictEqual(error.code, "INVALID_TRANSITION", "nobody accepts it while it goes back")
      const exception = error.details.exception_id
      yield* caller.ok(`/api/v1/exceptions/${exception}/resolve`, post({ action: "ignore" }))
      const { data } = yield* caller.ok(path, post(named))
      assert.deepInclude(data, { amount: 10_000, token_amount: "10.000000" })
      const foreign = { ...body, invoice_payment_id: invoice.id }
      refused(yield* caller.call(path, post(foreign)), 400, "VALIDATION_ERROR", "invoice_payment_id")
    }))

  it.effect("take no amount that their mode has no use for", () =>
    Effect.gen(function*() {
      const { ask } = yield* paid(10n)
      for (
        const [body, param] of [
          [{ amount_mode: "custom" }, "amount"],
          [{ amount_mode: "custom", amount: 1, token_amount: "1" }, "amount"],
          [{ amount_mode: "custom", amount: 0 }, "amount"],
          [{ amount_mode: "full", amount: 1 }, "amount"],
          [{ amount_mode: "full", token_amount: "1" }, "token_amount"],
          [{ amount_mode: "custom", token_amount: "0.0000001" }, "token_amount"],
          [{ amount_mode: "custom", token_amount: "-1" }, "token_amount"],
          [{ amount_mode: "some" }, "amount_mode"],
          [{ fee_bearer: "nobody" }, "fee_bearer"]
        ] as const
      ) {
        assert.strictEqual(refused(yield* ask(body), 400, "VALIDATION_ERROR").param, param, JSON.stringify(body))
      }
    }))

  it.effect("tell nothing before they are paid", () =>
    Effect.gen(function*() {
      const { invoice, made, wallet } = yield* paid(10n)
      const before = yield* eventsOf(invoice.id)
      yield* made({ destination, auto_approve: true }, wallet)
      assert.lengthOf(yield* eventsOf(invoice.id), before.length)
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* Effect.orDie(sql<{ refunded: bigint }>`
        SELECT refunded FROM invoice_payments WHERE invoice_id = ${invoice.id}::uuid`)
      assert.strictEqual(Number(row!.refunded), 0)
    }))
})
