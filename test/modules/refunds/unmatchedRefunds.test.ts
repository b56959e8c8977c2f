/**
 * Goal: money that names no invoice goes back to whoever sent it by the decision on its exception: all of it, once, and
 * only while it is on its chain. Method: the real router, commit log, invoices, payments and refunds; the journal hands
 * over transfers without an invoice, and the chain shows what the test says.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { holdWrite, Refunds, transactionWrite } from "../../../modules/refunds/plugin.ts"
import type { JournalEntry, TransactionReading } from "../../../runtime/Chains.ts"
import { noCause, systemMerchant, type Write } from "../../../runtime/Commit.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Answer } from "../../support/Api.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  type Caller,
  callerOf,
  handOverTransfer,
  invoiceService,
  losePrice,
  newInvoice,
  newMerchant,
  passDays,
  post,
  setTransaction,
  transferTo,
  usualPrices,
  walletOf
} from "../invoices/InvoiceService.ts"

const exceptions = "/api/v1/exceptions"
const refunds = "/api/v1/refunds"
const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const destination = { network: "base", address } as const
const units = 10_000_000n

let hashes = 0
const newHash = () => `0x${(++hashes).toString(16).padStart(64, "b")}`

/** A merchant, and money on its wallet that names no invoice. */
const unmatched = Effect.fnUntraced(function*(isPriced = true) {
  usualPrices()
  const id = yield* newMerchant
  const caller = callerOf(id)
  const invoice = yield* newInvoice(caller, { amount: 10_000 })
  const entry: JournalEntry = { ...yield* transferTo(invoice, usdc, units), invoiceId: null }
  if (!isPriced) losePrice("usd-coin")
  yield* handOverTransfer(entry)
  usualPrices()
  const { data: [exception] } = (yield* caller.ok(`${exceptions}?type=unmatched_payment&limit=1`)).data
  return { caller, entry, exception, invoice, wallet: walletOf(id) }
})

const resolve = (caller: Caller, { id }: { readonly id: string }, body: object, key?: string) =>
  caller.call(`${exceptions}/${id}/resolve`, post(body, key))

/** Its refund, approved where it says so. */
const refundOf = (caller: Caller, exception: { readonly id: string }, refund: object = {}) =>
  Effect.map(resolve(caller, exception, { action: "refund", refund }), ({ json, status, text }) => {
    assert.strictEqual(status, 200, text)
    assert.lengthOf(json.refunds, 1)
    return json.refunds[0]
  })

const approved = { destination, auto_approve: true }

const read = (caller: Caller, { id }: { readonly id: string }) =>
  Effect.map(caller.ok(`${refunds}/${id}`), ({ data }) => data)

const readException = (caller: Caller, { id }: { readonly id: string }) =>
  Effect.map(caller.ok(`${exceptions}/${id}`), ({ data }) => data)

const refused = ({ json, status, text }: Answer, expected: number, code: string) => {
  assert.deepStrictEqual([status, json?.error?.code], [expected, code], text)
  return json.error
}

const leave = (entry: JournalEntry) =>
  handOverTransfer({ ...entry, status: "reverted", handledStatus: "confirmed", version: entry.version + 1 })

const comeBack = (entry: JournalEntry) =>
  handOverTransfer({ ...entry, status: "confirmed", handledStatus: "reverted", version: entry.version + 2 })

/** The operator's wallet. */
const paymaster = `0x${"7".repeat(40)}`

type Transfers = Extract<TransactionReading, { readonly _tag: "Transaction" }>["transfers"]

/** A transaction that brings so much to the payor, now. */
const payOut = Effect.fnUntraced(function*(amount = units, isFinal = true) {
  const txHash = newHash()
  const now = yield* Effect.map(Effect.clockWith((clock) => clock.currentTimeMillis), (millis) => millis / 1_000)
  const transfers: Transfers = [
    {
      index: 0,
      tokenAddress: usdc.address,
      amount: baseUnits(amount),
      from: paymaster,
      time: Math.floor(now),
      memos: []
    }
  ]
  setTransaction(txHash, { _tag: "Transaction", isFinal, transfers })
  return txHash
})

const report = (id: string, txHash: string) =>
  Effect.flatMap(
    Refunds,
    (service) =>
      service.report(id, { _tag: "Succeeded", txHash, height: 7n, index: null, from: paymaster }, "service:test")
  )

const refusal = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.match(self, {
    onSuccess: () => "done",
    onFailure: (error) => isPublicError(error) ? `${error.code} ${error.message}` : "other"
  })

layer(invoiceService)("refunds of money that names no invoice", (it) => {
  it.effect("are opened by the decision, of all that came, and name the exception and the money", () =>
    Effect.gen(function*() {
      const { caller, entry, exception } = yield* unmatched()
      assert.deepStrictEqual(exception.allowed_actions, ["refund", "credit", "assign", "ignore"])
      const answer = yield* resolve(caller, exception, { action: "refund", note: "agreed" }, "decision")
      assert.strictEqual(answer.status, 200, answer.text)
      const { data, refunds: [refund, ...others] } = answer.json
      assert.deepStrictEqual(others, [])
      assert.deepInclude(data, { id: exception.id, status: "resolved", allowed_actions: [], invoice_id: null })
      assert.deepInclude(data.resolution, { action: "refund", note: "agreed", refund_id: refund.id })
      assert.match(refund.claim_url, /\/claim\/re_.*#t=/)
      const shown = yield* read(caller, refund)
      assert.deepInclude(shown, {
        invoice_id: null,
        invoice_payment_id: null,
        commerce_order_id: null,
        exception_id: exception.id,
        status: "awaiting_destination",
        amount: 10_000,
        token_amount: "10.000000",
        token_symbol: "USDC",
        network: "base",
        received_tx_hash: entry.txHash,
        tx_hash: null,
        fee: 0,
        claim_url: null,
        reason: "other"
      })
      const again = yield* resolve(caller, exception, { action: "refund", note: "agreed" }, "decision")
      assert.strictEqual(again.text, answer.text, "a repeat is answered as the first, and opens nothing")
      refused(yield* resolve(caller, exception, { action: "refund" }), 409, "EXCEPTION_ALREADY_RESOLVED")
      for (const query of ["", `?exception_id=${exception.id}`, "?status=awaiting_destination"]) {
        assert.deepStrictEqual((yield* caller.ok(`${refunds}${query}`)).data.data, [shown], query)
      }
      assert.deepStrictEqual((yield* caller.ok(`${refunds}?status=failed`)).data.data, [])
      const unknown = yield* caller.call(`${refunds}?exception_id=exc_1`)
      assert.include(refused(unknown, 400, "VALIDATION_ERROR").message, "exc_ and a UUID")
    }))

  it.effect("are paid when the chain shows it, and once: by no other transfer, amount or word", () =>
    Effect.gen(function*() {
      const { caller, exception, wallet } = yield* unmatched()
      const refund = yield* refundOf(wallet, exception, approved)
      assert.deepInclude(refund, { status: "processing", destination_address: address, claim_url: null })
      assert.include(yield* refusal(report(refund.id, yield* payOut(units - 1n))), "exactly 10.000000 are to be sent")
      assert.include(yield* refusal(report(refund.id, yield* payOut(units, false))), "not final yet")
      const txHash = yield* payOut()
      assert.strictEqual((yield* report(refund.id, txHash)).status, "succeeded")
      assert.strictEqual((yield* report(refund.id, txHash)).status, "succeeded", "told twice, it is the same")
      assert.include(yield* refusal(report(refund.id, yield* payOut())), "INVALID_TRANSITION")
      assert.deepInclude(yield* read(caller, refund), { status: "succeeded", tx_hash: txHash })
      assert.deepInclude(yield* readException(caller, exception), { status: "resolved" })
      refused(yield* caller.call(`${refunds}/${refund.id}/cancel`, post({})), 409, "REFUND_NOT_CANCELABLE")

      const other = yield* unmatched()
      const second = yield* refundOf(other.wallet, other.exception, approved)
      assert.include(yield* refusal(report(second.id, txHash)), "has paid another refund")
    }))

  it.effect("wait for a person's approval of the address, as every refund that a merchant asks for", () =>
    Effect.gen(function*() {
      const { caller, exception, wallet } = yield* unmatched()
      const refund = yield* refundOf(caller, exception, approved)
      assert.strictEqual(refund.status, "pending_approval", "a key approves nothing")
      refused(yield* caller.call(`${refunds}/${refund.id}/approve`, post({})), 403, "CREDENTIAL_NOT_ALLOWED")
      assert.include(yield* refusal(report(refund.id, yield* payOut())), "INVALID_TRANSITION")
      const { data } = yield* wallet.ok(`${refunds}/${refund.id}/approve`, post({}))
      assert.strictEqual(data.status, "processing")
      const service = yield* Refunds
      yield* service.report(refund.id, { _tag: "Failed", code: "no_gas" }, "service:test")
      assert.deepInclude(yield* read(caller, refund), { status: "failed", failure_code: "no_gas" })
      assert.strictEqual((yield* caller.ok(`${refunds}/${refund.id}/retry`, post({}))).data.status, "processing")
      assert.strictEqual((yield* report(refund.id, yield* payOut())).status, "succeeded")
    }))

  it.effect("go where their claim link says, once", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* unmatched()
      const refund = yield* refundOf(caller, exception, { destination: "claim" })
      const service = yield* Refunds
      const [, token] = refund.claim_url.split("#t=")
      assert.isTrue((yield* service.findClaim(refund.id, token))!.canClaim)
      assert.isNull(yield* service.findClaim(refund.id, "wrong"))
      const claimed = yield* service.claim(refund.id, token, { address, memo: null })
      assert.deepInclude(claimed, { status: "pending_approval", destination: { ...destination, memo: null } })
      assert.include(yield* refusal(service.claim(refund.id, token, { address, memo: null })), "INVALID_TRANSITION")
      const { data } = yield* caller.ok(`${refunds}/${refund.id}/claim-link`, post({}))
      assert.match(data.claim_url, /#t=/)
      assert.isNull(yield* service.findClaim(refund.id, token), "the link before has ended")
    }))

  it.effect("open their exception again where they are canceled or expire, and any decision is made anew, once", () =>
    Effect.gen(function*() {
      const actions = ["refund", "credit", "assign"] as const
      const begin = Effect.flatMap(
        unmatched(),
        (money) => Effect.map(refundOf(money.caller, money.exception), (refund) => ({ ...money, refund }))
      )
      const expired = yield* Effect.forEach(actions, () => begin)
      for (const { caller } of expired) yield* passDays(caller, 31)
      const canceled = yield* Effect.forEach(actions, () => begin)
      for (const { caller, refund } of canceled) yield* caller.ok(`${refunds}/${refund.id}/cancel`, post({}))
      for (const [given, over] of [["expired", expired], ["canceled", canceled]] as const) {
        for (const [place, { caller, exception, invoice, refund }] of over.entries()) {
          const action = actions[place]!
          assert.strictEqual((yield* read(caller, refund)).status, given)
          assert.deepStrictEqual(yield* readException(caller, exception), exception, "as it was before")
          const body = action === "assign" ? { action, invoice_id: invoice.id } : { action }
          const { json, status, text } = yield* resolve(caller, exception, body)
          assert.strictEqual(status, 200, text)
          assert.strictEqual(json.data.resolution.action, action)
          if (action === "refund") assert.notStrictEqual(json.refunds[0].id, refund.id)
          refused(yield* resolve(caller, exception, body), 409, "EXCEPTION_ALREADY_RESOLVED")
          const events = yield* Effect.orDie((yield* SqlClient.SqlClient)<{ type: string }>`
            SELECT type FROM events WHERE merchant_id = ${caller.id} AND type LIKE 'exception.%' ORDER BY ms, seq`)
          assert.deepStrictEqual(events.map(({ type }) => type), [
            "exception.opened",
            "exception.resolved",
            "exception.opened",
            "exception.resolved"
          ])
        }
      }
    }))

  it.effect("fail for good where the money leaves its chain before they are sent, and hold it until they are canceled", () =>
    Effect.gen(function*() {
      for (const wish of [{}, { destination }, approved]) {
        const { caller, entry, exception, wallet } = yield* unmatched()
        const refund = yield* refundOf(wallet, exception, wish)
        yield* leave(entry)
        assert.deepInclude(yield* read(caller, refund), { status: "failed", failure_code: "payment_reverted" })
        for (const [act, by] of [["approve", wallet], ["retry", caller], ["claim-link", caller]] as const) {
          refused(yield* by.call(`${refunds}/${refund.id}/${act}`, post({})), 409, "INVALID_TRANSITION")
        }
        yield* comeBack(entry)
        assert.deepInclude(yield* read(caller, refund), { status: "failed" }, "it is final")
        assert.deepInclude(yield* readException(caller, exception), { status: "resolved" })
        yield* caller.ok(`${refunds}/${refund.id}/cancel`, post({}))
        assert.deepInclude(yield* readException(caller, exception), { status: "open", resolution: null })
        assert.strictEqual((yield* refundOf(wallet, exception, approved)).status, "processing")
      }
    }))

  it.effect("that are canceled while the money is gone leave nothing to decide until it comes back", () =>
    Effect.gen(function*() {
      const { caller, entry, exception } = yield* unmatched()
      const refund = yield* refundOf(caller, exception)
      yield* leave(entry)
      yield* caller.ok(`${refunds}/${refund.id}/cancel`, post({}))
      assert.deepInclude(yield* readException(caller, exception), { status: "resolved", resolution: null })
      refused(yield* resolve(caller, exception, { action: "refund" }), 409, "EXCEPTION_ALREADY_RESOLVED")
      yield* comeBack(entry)
      assert.deepInclude(yield* readException(caller, exception), { status: "open" })
      const rows = yield* Effect.orDie((yield* SqlClient.SqlClient)<{ type: string; data: string }>`
        SELECT type, data FROM events WHERE merchant_id = ${caller.id} AND type LIKE 'exception.%' ORDER BY ms, seq`)
      const events = rows.map(({ data, type }) => ({ type, ...JSON.parse(data) }))
      assert.deepStrictEqual(events.map(({ object, type }) => [type, object.resolution?.action ?? null]), [
        ["exception.opened", null],
        ["exception.resolved", "refund"],
        ["exception.resolved", null],
        ["exception.opened", null]
      ])
      for (const [place, { object, previous_attributes: previous }] of events.entries()) {
        if (place > 0) {
          assert.deepStrictEqual({ ...object, ...previous }, events[place - 1]!.object, "undone it is before")
        }
      }
    }))

  it.effect("that a batch gives up after the money has left fail before anything else pays them", () =>
    Effect.gen(function*() {
      const service = yield* Refunds
      const { caller, entry, exception, wallet } = yield* unmatched()
      const { id } = yield* refundOf(wallet, exception, approved)
      const write = Effect.fnUntraced(function*(row: Write) {
        const { changeUnmatched } = yield* Invoices
        yield* changeUnmatched(
          caller.id,
          exception.id,
          noCause,
          () => Effect.succeed({ event: { _tag: "Touch" as const }, writes: [row] })
        )
      })
      yield* write(holdWrite((yield* service.find(id))!, { id: "batch_1", isOut: true }))
      yield* leave(entry)
      assert.deepInclude(yield* read(caller, { id }), { status: "processing" }, "a wallet may have paid it")
      const held = (yield* service.find(id))!
      yield* write(transactionWrite(held, null, null, held.updatedAt))
      const [failed] = yield* service.recheckMoney(service.findAll([id]))
      assert.strictEqual(failed?.status, "failed", "it is read again")
      assert.deepInclude(yield* read(caller, { id }), { status: "failed", failure_code: "payment_reverted" })
    }))

  it.effect("that are sent are a fact whatever becomes of the money, and fail for good where nothing was sent", () =>
    Effect.gen(function*() {
      const service = yield* Refunds
      const { caller, entry, exception, wallet } = yield* unmatched()
      const refund = yield* refundOf(wallet, exception, approved)
      const txHash = yield* payOut()
      yield* service.report(refund.id, { _tag: "Submitted", txHash }, "service:test")
      yield* leave(entry)
      assert.deepInclude(yield* read(caller, refund), { status: "processing", tx_hash: txHash })
      assert.strictEqual((yield* report(refund.id, txHash)).status, "succeeded")

      const other = yield* unmatched()
      const lost = yield* refundOf(other.wallet, other.exception, approved)
      yield* service.report(lost.id, { _tag: "Submitted", txHash: newHash() }, "service:test")
      yield* leave(other.entry)
      yield* service.report(lost.id, { _tag: "Failed", code: "dropped" }, "service:test")
      assert.deepInclude(yield* read(other.caller, lost), { status: "failed", failure_code: "payment_reverted" })
      yield* other.caller.ok(`${refunds}/${lost.id}/cancel`, post({}))
    }))

  it.effect("of money without a price are of its tokens alone, at no fee that could be worked out", () =>
    Effect.gen(function*() {
      const { exception, wallet } = yield* unmatched(false)
      assert.deepStrictEqual([exception.amount, exception.allowed_actions], [0, ["refund", "credit", "ignore"]])
      const refund = yield* refundOf(wallet, exception, { ...approved, fee_bearer: "payor" })
      assert.deepInclude(refund, { amount: 0, fee: 0, token_amount: "10.000000", status: "processing" })
      assert.strictEqual((yield* report(refund.id, yield* payOut())).status, "succeeded")
    }))

  it.effect("keep the network's fee of what is sent where the payor bears it", () =>
    Effect.gen(function*() {
      const { exception, wallet } = yield* unmatched()
      const refund = yield* refundOf(wallet, exception, { ...approved, fee_bearer: "payor" })
      assert.deepInclude(refund, { amount: 10_000, fee: 20, net_amount: 9_980, token_amount: "10.000000" })
      assert.include(yield* refusal(report(refund.id, yield* payOut())), "exactly 9.980000 are to be sent")
      assert.strictEqual((yield* report(refund.id, yield* payOut(9_980_000n))).status, "succeeded")
    }))

  it.effect("are refused whole where a field is wrong, and say which", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* unmatched()
      for (
        const [refund, code, param] of [
          [
            { destination: { network: "base", address: "0x12" } },
            "WALLET_ADDRESS_INVALID",
            "refund.destination.address"
          ],
          [{ destination: { network: "bsc", address } }, "VALIDATION_ERROR", "refund.destination.network"],
          [{ amount: 4_000 }, "VALIDATION_ERROR", "refund.amount"]
        ] as const
      ) {
        const { json, status, text } = yield* resolve(caller, exception, { action: "refund", refund })
        assert.deepStrictEqual([status, json.error?.code, json.error?.param], [400, code, param], text)
      }
      assert.deepInclude(yield* readException(caller, exception), { status: "open" })
      assert.deepStrictEqual((yield* caller.ok(refunds)).data.data, [])
    }))

  it.effect("are opened once, however many decide at the same time, and canceled once", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* unmatched()
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => callerOf(caller.id, "merchant", "devnet", index)),
        (each, index) => resolve(each, exception, { action: index % 2 === 0 ? "refund" : "credit" }),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(answers.filter(({ status }) => status === 200), 1)
      for (const { json, status } of answers) {
        if (status !== 200) assert.include(["EXCEPTION_ALREADY_RESOLVED", "SERVICE_UNAVAILABLE"], json.error.code)
      }
      const { data } = (yield* caller.ok(refunds)).data
      assert.isAtMost(data.length, 1)
      const { resolution } = yield* readException(caller, exception)
      assert.strictEqual(resolution.refund_id, data[0]?.id ?? null)
    }))

  it.effect("canceled by many calls at once are told as canceled by each of them", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* unmatched()
      const refund = yield* refundOf(caller, exception)
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => callerOf(caller.id, "merchant", "devnet", index)),
        (each) => each.call(`${refunds}/${refund.id}/cancel`, post({})),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([...new Set(answers.map(({ json, status }) => `${status} ${json.data?.status}`))], [
        "200 canceled"
      ])
      assert.deepStrictEqual(yield* readException(caller, exception), exception, "asked again, once")
    }))

  it.effect("have a link that many wrong tokens at once end, and none of them is refused for another", () =>
    Effect.gen(function*() {
      const { caller, exception } = yield* unmatched()
      const refund = yield* refundOf(caller, exception)
      const service = yield* Refunds
      const found = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => `wrong ${index}`),
        (token) => Effect.option(service.findClaim(refund.id, token)),
        { concurrency: "unbounded" }
      )
      assert.isTrue(found.every((each) => each._tag === "Some" && each.value === null), "each of them is counted")
      assert.isNull(yield* service.findClaim(refund.id, refund.claim_url.split("#t=")[1]), "ten ended it")
    }))

  it.effect("are nobody else's: not another merchant's, nor of the operator's own exceptions", () =>
    Effect.gen(function*() {
      const { caller, exception, invoice } = yield* unmatched()
      const refund = yield* refundOf(caller, exception)
      const other = callerOf(yield* newMerchant)
      refused(yield* other.call(`${refunds}/${refund.id}`), 404, "REFUND_NOT_FOUND")
      refused(yield* other.call(`${refunds}/${refund.id}/cancel`, post({})), 404, "REFUND_NOT_FOUND")
      refused(yield* resolve(other, exception, { action: "refund" }), 404, "EXCEPTION_NOT_FOUND")
      assert.deepStrictEqual((yield* other.ok(`${refunds}?exception_id=${exception.id}`)).data.data, [])

      const shared: JournalEntry = {
        ...yield* transferTo(invoice, usdc, units),
        invoiceId: null,
        merchantId: systemMerchant
      }
      yield* handOverTransfer(shared)
      const [row] = yield* Effect.orDie((yield* SqlClient.SqlClient)<{ id: string }>`
        SELECT id FROM exceptions WHERE merchant_id = ${systemMerchant} AND evidence ->> 'transfer_id' = ${shared.id}`)
      assert.isDefined(row)
      refused(yield* resolve(caller, row!, { action: "refund" }), 404, "EXCEPTION_NOT_FOUND")
      yield* (yield* Refunds).change(refund.id, { _tag: "Cancel" }, noCause, "service:test")
    }))
})
