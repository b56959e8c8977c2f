/**
 * Goal: whoever has the claim link of a refund says once where it goes, and nobody else ever does. Method: the real
 * router, commit log, invoices and payments; the page's own calls are made of the service.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { PayorDetails } from "../../../modules/payments/plugin.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  callerOf,
  choose,
  invoiceService,
  newInvoice,
  newMerchant,
  post,
  receiveTransfer,
  usualPrices,
  walletOf
} from "../invoices/InvoiceService.ts"

const path = "/api/v1/refunds"
const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const otherAddress = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
const wallet = { address, memo: null }

const tokenOf = (url: string): string => /\/claim\/re_[0-9a-f-]{36}#t=([A-Za-z0-9_-]{43})$/.exec(url)![1]!

/** A refund that waits for its payor, and the token of its link. */
const waiting = Effect.gen(function*() {
  usualPrices()
  const id = yield* newMerchant
  const caller = callerOf(id)
  const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 3_600_000 })
  yield* choose(invoice.id, usdc)
  yield* receiveTransfer(invoice, usdc, 10_000_000n)
  const body = { invoice_id: invoice.id, amount_mode: "full", reason: "other", fee_bearer: "merchant" }
  const answer = yield* caller.call(path, post(body, "open"))
  const { data } = answer.json
  return { answer, body, caller, invoice, refund: data, token: tokenOf(data.claim_url), signedIn: walletOf(id) }
})

const codeOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.match(self, { onSuccess: () => "done", onFailure: (error) => isPublicError(error) ? error.code : "other" })

layer(invoiceService)("claim links", (it) => {
  it.effect("are shown once to the merchant, the same to a repeat, and kept as a hash", () =>
    Effect.gen(function*() {
      const { answer, body, caller, refund, token } = yield* waiting
      assert.strictEqual((yield* caller.call(path, post(body, "open"))).text, answer.text)
      assert.strictEqual((yield* caller.ok(`${path}/${refund.id}`)).data.claim_url, null)
      assert.strictEqual((yield* caller.ok(path)).data.data[0].claim_url, null)
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* Effect.orDie(sql<{ text: string }>`
        SELECT row_to_json(r)::text AS text FROM refunds r WHERE id = ${refund.id}`)
      assert.notInclude(row!.text, token)
    }))

  it.effect("say once where the refund goes, which then waits for approval; afterwards they only show it", () =>
    Effect.gen(function*() {
      const { caller, refund, signedIn, token } = yield* waiting
      const refunds = yield* Refunds
      const opened = yield* refunds.findClaim(refund.id, token)
      assert.deepInclude({ ...opened }, { canClaim: true })
      const claimed = yield* refunds.claim(refund.id, token, { address: address.toLowerCase(), memo: null })
      assert.deepInclude({ ...claimed }, { status: "pending_approval", destination: { network: "base", ...wallet } })
      assert.strictEqual((yield* refunds.findClaim(refund.id, token))?.canClaim, false)
      assert.strictEqual(
        yield* codeOf(refunds.claim(refund.id, token, { ...wallet, address: otherAddress })),
        "INVALID_TRANSITION"
      )
      assert.deepInclude((yield* caller.ok(`${path}/${refund.id}`)).data, {
        status: "pending_approval",
        destination_address: address,
        network: "base"
      })
      yield* signedIn.ok(`${path}/${refund.id}/approve`, post({}))
      assert.strictEqual((yield* refunds.findClaim(refund.id, token))?.refund.status, "processing")
    }))

  it.effect("take no address that cannot be paid to, and stay open for a right one", () =>
    Effect.gen(function*() {
      const { refund, token } = yield* waiting
      const refunds = yield* Refunds
      for (
        const [wrong, code] of [
          [{ ...wallet, address: `${address.slice(0, -1)}e` }, "WALLET_ADDRESS_INVALID"],
          [{ ...wallet, address: usdc.address! }, "WALLET_ADDRESS_INVALID"],
          [{ ...wallet, memo: "7" }, "VALIDATION_ERROR"]
        ] as const
      ) {
        assert.strictEqual(yield* codeOf(refunds.claim(refund.id, token, wrong)), code)
      }
      assert.strictEqual(yield* codeOf(refunds.claim(refund.id, token, wallet)), "done")
    }))

  it.effect("end after ten wrong tokens, and not before; another refund's token is a wrong one", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* waiting, yield* waiting]
      const refunds = yield* Refunds
      for (let tries = 0; tries < 9; tries++) {
        assert.strictEqual(yield* refunds.findClaim(one.refund.id, two.token), null)
      }
      assert.isNotNull(yield* refunds.findClaim(one.refund.id, one.token))
      assert.strictEqual(yield* codeOf(refunds.claim(one.refund.id, "wrong", wallet)), "REFUND_NOT_FOUND")
      assert.strictEqual(yield* refunds.findClaim(one.refund.id, one.token), null)
      assert.strictEqual(yield* codeOf(refunds.claim(one.refund.id, one.token, wallet)), "REFUND_NOT_FOUND")
      assert.isNotNull(yield* refunds.findClaim(two.refund.id, two.token))
      assert.strictEqual(yield* refunds.findClaim("re_nothing", two.token), null)
      assert.strictEqual((yield* refunds.find(one.refund.id))!.status, "awaiting_destination")
    }))

  it.effect("are made anew by the merchant, which ends the one before", () =>
    Effect.gen(function*() {
      const { caller, refund, token } = yield* waiting
      const refunds = yield* Refunds
      const { data } = yield* caller.ok(`${path}/${refund.id}/claim-link`, post({}, "renew"))
      const renewed = tokenOf(data.claim_url)
      assert.notStrictEqual(renewed, token)
      assert.strictEqual(yield* refunds.findClaim(refund.id, token), null)
      assert.strictEqual(yield* codeOf(refunds.claim(refund.id, token, wallet)), "REFUND_NOT_FOUND")
      assert.strictEqual(
        (yield* caller.ok(`${path}/${refund.id}/claim-link`, post({}, "renew"))).data.claim_url,
        data.claim_url,
        "a repeat makes no second one"
      )
      assert.strictEqual(yield* codeOf(refunds.claim(refund.id, renewed, wallet)), "done")
    }))

  it.effect("change an address only with the approvals of the one before gone", () =>
    Effect.gen(function*() {
      const { caller, refund, signedIn, token } = yield* waiting
      const refunds = yield* Refunds
      yield* refunds.claim(refund.id, token, wallet)
      yield* signedIn.ok(`${path}/${refund.id}/approve`, post({}))
      const sent = yield* caller.call(`${path}/${refund.id}/claim-link`, post({}))
      assert.deepStrictEqual([sent.status, sent.json.error.code], [409, "INVALID_TRANSITION"], "it may be on its way")
      yield* refunds.change(refund.id, { _tag: "Fail", code: "account_closed" }, noCause, "service:test")
      const { data } = yield* caller.ok(`${path}/${refund.id}/claim-link`, post({}))
      assert.strictEqual(data.status, "failed")
      const tooEarly = yield* caller.call(`${path}/${refund.id}/retry`, post({}))
      assert.strictEqual(
        tooEarly.json.error.code,
        "INVALID_TRANSITION",
        "the open link says that the address was wrong"
      )
      yield* refunds.claim(refund.id, tokenOf(data.claim_url), { ...wallet, address: otherAddress })
      const redirected = (yield* caller.ok(`${path}/${refund.id}`)).data
      assert.deepInclude(redirected, { status: "pending_approval", destination_address: otherAddress })
      const retried = yield* caller.call(`${path}/${refund.id}/retry`, post({}))
      assert.deepStrictEqual([retried.status, retried.json.error.code], [409, "INVALID_TRANSITION"])
      assert.strictEqual((yield* signedIn.ok(`${path}/${refund.id}/approve`, post({}))).data.status, "processing")
    }))

  it.effect("of many who use one at once give the address to one", () =>
    Effect.gen(function*() {
      const { refund, token } = yield* waiting
      const refunds = yield* Refunds
      const codes = yield* Effect.forEach(
        [address, otherAddress, address, otherAddress],
        (each) => codeOf(refunds.claim(refund.id, token, { address: each, memo: null })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(codes.filter((code) => code === "done").length, 1, codes.join())
    }))

  it.effect("end where the payor says it on the payment page, and with the refund", () =>
    Effect.gen(function*() {
      const { invoice, refund, token } = yield* waiting
      const refunds = yield* Refunds
      const current = (yield* (yield* Invoices).find(invoice.id))!.invoice
      yield* (yield* PayorDetails).saveRefundAddress(current, { network: "base", ...wallet })
      assert.strictEqual((yield* refunds.findClaim(refund.id, token))?.canClaim, false)

      const other = yield* waiting
      yield* other.caller.ok(`${path}/${other.refund.id}/cancel`, post({}))
      assert.deepInclude({ ...yield* refunds.findClaim(other.refund.id, other.token) }, { canClaim: false })
      assert.strictEqual(yield* codeOf(refunds.claim(other.refund.id, other.token, wallet)), "INVALID_TRANSITION")
      const ended = yield* other.caller.call(`${path}/${other.refund.id}/claim-link`, post({}))
      assert.strictEqual(ended.json.error.code, "INVALID_TRANSITION")
    }))
})
