/**
 * Goal: a refund that a merchant asked for is paid when the chain says so, and by nobody's word: the right money, to
 * the right address, after it was approved, once. Method: the real router, commit log, invoices and payments; the chain
 * shows what the test says.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { type RefundCommand, Refunds } from "../../../modules/refunds/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import type { TransactionReading } from "../../../runtime/Chains.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { ether, usualPrices, walletOf } from "../invoices/InvoiceService.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  callerOf,
  choose,
  eventsOf,
  invoiceService,
  linkWallet,
  newInvoice,
  newMerchant,
  post,
  receiveTransfer,
  reportAgain,
  setReceiver,
  setTransaction,
  stranger
} from "../invoices/InvoiceService.ts"

const path = "/api/v1/refunds"
const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

/** The operator's wallet, from which it pays for every merchant. */
const paymaster = `0x${"7".repeat(40)}`

let hashes = 0
const newHash = () => `0x${(++hashes).toString(16).padStart(64, "a")}`

type Transfers = Extract<TransactionReading, { readonly _tag: "Transaction" }>["transfers"]

/** A transfer of dollars as the chain shows it, now. */
const transfer = (units: bigint, more: Partial<Transfers[number]> = {}): Transfers[number] => ({
  index: 0,
  tokenAddress: usdc.address,
  amount: baseUnits(units),
  from: paymaster,
  time: 100_000,
  memos: [],
  ...more
})

const onChain = (txHash: string, transfers: Transfers, isFinal = true) =>
  setTransaction(txHash, { _tag: "Transaction", isFinal, transfers })

/** An approved refund of four dollars of a paid invoice of ten. */
const approved = Effect.fnUntraced(function*(more: object = {}) {
  usualPrices()
  const id = yield* newMerchant
  const caller = callerOf(id)
  const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 3_600_000 })
  yield* choose(invoice.id, usdc)
  const entry = yield* receiveTransfer(invoice, usdc, 10_000_000n)
  const open = (body: object = {}) =>
    Effect.map(
      walletOf(id).ok(
        path,
        post({
          invoice_id: invoice.id,
          amount_mode: "custom",
          amount: 4_000,
          reason: "other",
          fee_bearer: "merchant",
          destination: { network: "base", address },
          auto_approve: true,
          ...body
        })
      ),
      ({ data }) => data
    )
  return { id, caller, entry, invoice, open, refund: yield* open(more) }
})

interface Naming {
  readonly index?: number
  readonly height?: bigint | null
  readonly from?: string | null
}

const report = (id: string, txHash: string, more: Naming = {}) =>
  Effect.flatMap(Refunds, (refunds) =>
    refunds.report(id, {
      _tag: "Succeeded",
      txHash,
      height: more.height === undefined ? 7n : more.height,
      index: more.index ?? null,
      from: more.from === undefined ? paymaster : more.from
    }, "service:test"))

const refusal = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.match(self, {
    onSuccess: () => "done",
    onFailure: (error) => isPublicError(error) ? `${error.code} ${error.message}` : "other"
  })

const change = (id: string, command: RefundCommand) =>
  Effect.flatMap(Refunds, (refunds) => refunds.change(id, command, noCause, "service:test"))

/** Indexes of transfers that lines of batches show as theirs, by transaction. */
const shownByBatches = new Map<string, ReadonlySet<number>>()
const batches = Layer.effectDiscard(
  Effect.flatMap(
    Refunds,
    ({ registerBatches }) => registerBatches(({ txHash }) => Effect.sync(() => shownByBatches.get(txHash) ?? new Set()))
  )
)

layer(Layer.provideMerge(batches, invoiceService))("reports of payouts", (it) => {
  it.effect("are believed where the chain has the transfer, and tell each payment that gave some of it", () =>
    Effect.gen(function*() {
      const { caller, invoice, open, refund } = yield* approved()
      assert.strictEqual(refund.status, "processing")
      const txHash = newHash()
      onChain(txHash, [transfer(4_000_000n)])
      assert.strictEqual((yield* report(refund.id, txHash)).status, "succeeded")
      const told = (yield* eventsOf(invoice.id)).at(-1)!
      assert.strictEqual(told.type, "invoice_payment.refunded")
      assert.include(told.data.object, { settlement_status: "partially_refunded", settled_amount: 6_000 })
      assert.deepInclude((yield* caller.ok(`${path}/${refund.id}`)).data, { status: "succeeded", tx_hash: txHash })

      const count = (yield* eventsOf(invoice.id)).length
      assert.strictEqual((yield* report(refund.id, txHash)).status, "succeeded", "told twice, it is the same")
      assert.lengthOf(yield* eventsOf(invoice.id), count)

      const rest = yield* open({ amount_mode: "remaining", amount: null })
      const second = newHash()
      onChain(second, [transfer(6_000_000n)])
      yield* report(rest.id, second)
      const last = (yield* eventsOf(invoice.id)).at(-1)!
      assert.include(last.data.object, { settlement_status: "refunded", settled_amount: 0 })
    }))

  it.effect("keep which wallet of the merchant sent the money, and that none did", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (const [from, wallet] of [[paymaster, "wallet"], [stranger, "unknown"], [null, null]] as const) {
        const { refund } = yield* approved()
        const txHash = newHash()
        onChain(txHash, [transfer(4_000_000n, { from })])
        yield* report(refund.id, txHash, { from: from ?? paymaster })
        const rows = yield* sql`SELECT wallet FROM payout_proofs WHERE refund_id = ${refund.id}`.pipe(Effect.orDie)
        assert.deepStrictEqual(rows, [{ wallet }])
      }
    }))

  it.effect("of a wallet that is linked to the merchant need no name, and those of any other do", () =>
    Effect.gen(function*() {
      const { refund, id } = yield* approved()
      const { id: other } = yield* approved()
      const own = `0x${"1".repeat(40)}`
      const unknown = `0x${"2".repeat(40)}`
      linkWallet(own, id, other)
      const says = Effect.fnUntraced(function*(from: string | null, named: string | null) {
        const txHash = newHash()
        onChain(txHash, [transfer(4_000_000n, { from })])
        return yield* refusal(report(refund.id, txHash, { from: named }))
      })
      assert.include(yield* says(unknown, null), `VALIDATION_ERROR report.from: the money came from ${unknown}`)
      assert.include(yield* says(unknown, own), `the money came from ${unknown}, and not from ${own}`)
      assert.include(yield* says(null, null), "report.from: the network does not say who sent the money")
      assert.include(yield* says(unknown, "0xnothing"), "VALIDATION_ERROR report.from: this is no address of base")
      // Anybody can name any address as the wallet they receive in.
      setReceiver(unknown, id)
      assert.include(yield* says(unknown, null), "which is not linked to this merchant")
      assert.strictEqual(yield* says(own, null), "done")
    }))

  it.effect("never take what another merchant has sent, whatever the operator says", () =>
    Effect.gen(function*() {
      const mine = yield* approved()
      const theirs = yield* approved()
      const linked = `0x${"3".repeat(40)}`
      const receiving = `0x${"4".repeat(40)}`
      linkWallet(linked, theirs.id)
      setReceiver(receiving, theirs.id)
      const [one, two] = [newHash(), newHash()]
      onChain(one, [transfer(4_000_000n, { from: linked })])
      onChain(two, [transfer(4_000_000n, { from: receiving })])
      assert.include(yield* refusal(report(mine.refund.id, one, { from: linked })), "is linked to another merchant")
      assert.include(yield* refusal(report(mine.refund.id, two, { from: receiving })), "receiving wallet of another")
      assert.strictEqual((yield* (yield* Refunds).find(mine.refund.id))!.status, "processing")
      assert.strictEqual((yield* report(theirs.refund.id, one, { from: null })).status, "succeeded")
      // Whoever names another's wallet as the one they receive in holds up nothing of those who have linked it.
      linkWallet(receiving, mine.id)
      assert.strictEqual((yield* report(mine.refund.id, two, { from: null })).status, "succeeded")

      const both = newHash()
      const [first, second] = [yield* approved(), yield* approved()]
      onChain(both, [transfer(4_000_000n, { from: linked }), transfer(4_000_000n, { index: 1 })])
      assert.include(yield* refusal(report(first.refund.id, both, { index: 0 })), "is linked to another merchant")
      assert.strictEqual((yield* report(first.refund.id, both)).status, "succeeded", "of two that fit, the one it may")
      assert.include(yield* refusal(report(second.refund.id, both)), "is linked to another merchant")
    }))

  it.effect("never take what a line of a batch shows as its own, of whichever merchant", () =>
    Effect.gen(function*() {
      const { refund } = yield* approved()
      const txHash = newHash()
      onChain(txHash, [transfer(4_000_000n, { index: 5 })])
      shownByBatches.set(txHash, new Set([5]))
      assert.include(yield* refusal(report(refund.id, txHash)), "has paid another refund or payout")
      shownByBatches.delete(txHash)
      assert.strictEqual((yield* report(refund.id, txHash)).status, "succeeded", "the line has lost it by a rollback")
    }))

  it.effect("of any other transaction are refused, and say what is wrong with it", () =>
    Effect.gen(function*() {
      const { refund } = yield* approved()
      for (
        const [transfers, says] of [
          [[], "brought nothing to the destination"],
          [[transfer(4_000_000n, { tokenAddress: null })], "brought another token: the refund is in USDC"],
          [[transfer(3_999_999n)], "brought 3.999999 USDC, and exactly 4.000000 are to be sent"],
          [[transfer(4_000_001n)], "brought 4.000001 USDC"],
          [[transfer(4_000_000n, { time: -1_000 })], "before the refund was approved"]
        ] as const
      ) {
        const txHash = newHash()
        onChain(txHash, transfers)
        const answer = yield* refusal(report(refund.id, txHash))
        assert.include(answer, "VALIDATION_ERROR")
        assert.include(answer, says)
      }
      const early = newHash()
      onChain(early, [transfer(4_000_000n)], false)
      assert.include(yield* refusal(report(refund.id, early)), "INVALID_TRANSITION The transaction is not final yet")
      setTransaction(early, { _tag: "Unreadable", reason: "not_reached" })
      assert.include(yield* refusal(report(refund.id, early)), "INVALID_TRANSITION Block 7 was not read yet")
      setTransaction(early, { _tag: "Unreadable", reason: "not_agreed" })
      assert.include(yield* refusal(report(refund.id, early)), "NETWORK_DEGRADED The configured nodes of base")
      assert.include(yield* refusal(report(refund.id, "0xnothing")), "VALIDATION_ERROR report.tx_hash: write 0x and")
      assert.include(yield* refusal(report(refund.id, early, { height: null })), "VALIDATION_ERROR report.height")
      assert.strictEqual((yield* (yield* Refunds).find(refund.id))!.status, "processing")
    }))

  it.effect("prove one refund each: a transfer of another refund pays nothing twice", () =>
    Effect.gen(function*() {
      const { open, refund } = yield* approved()
      const twin = yield* open()
      const txHash = newHash()
      onChain(txHash, [transfer(4_000_000n, { index: 3 })])
      const both = yield* Effect.forEach(
        [refund.id, twin.id],
        (id) => refusal(report(id, txHash)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(both.filter((each) => each === "done").length, 1, both.join())
      assert.strictEqual(both.filter((each) => each.includes("has paid another refund")).length, 1, both.join())

      const batch = newHash()
      onChain(batch, [transfer(4_000_000n, { index: 0 }), transfer(4_000_000n, { index: 1 })])
      const one = yield* approved()
      const two = yield* approved()
      assert.strictEqual((yield* report(one.refund.id, batch)).status, "succeeded")
      assert.include(yield* refusal(report(two.refund.id, batch, { index: 0 })), "VALIDATION_ERROR")
      assert.strictEqual((yield* report(two.refund.id, batch)).status, "succeeded", "of another merchant, too")
    }))

  it.effect("of a refund whose payor bears the fee are of what is left of it", () =>
    Effect.gen(function*() {
      const { refund } = yield* approved({ fee_bearer: "payor" })
      const txHash = newHash()
      onChain(txHash, [transfer(4_000_000n)])
      assert.include(yield* refusal(report(refund.id, txHash)), "exactly 3.980000 are to be sent")
      onChain(txHash, [transfer(3_980_000n)])
      assert.strictEqual((yield* report(refund.id, txHash)).status, "succeeded")
    }))

  it.effect("that come late are believed where the transfer is there, and nothing else is", () =>
    Effect.gen(function*() {
      const { entry, open, refund } = yield* approved()
      const txHash = newHash()
      onChain(txHash, [transfer(4_000_000n)])
      yield* change(refund.id, { _tag: "Fail", code: "timeout" })
      assert.strictEqual((yield* report(refund.id, txHash)).status, "succeeded", "it went through all the same")

      const waiting = yield* open({ auto_approve: false })
      assert.include(yield* refusal(report(waiting.id, txHash)), "INVALID_TRANSITION")
      yield* change(waiting.id, { _tag: "Cancel" })
      assert.include(yield* refusal(report(waiting.id, txHash)), "INVALID_TRANSITION")

      const sent = yield* open()
      const sentHash = newHash()
      yield* change(sent.id, { _tag: "Submit", txHash: sentHash })
      yield* reportAgain({ ...entry, status: "reverted" })
      onChain(sentHash, [transfer(4_000_000n)])
      assert.strictEqual((yield* report(sent.id, sentHash)).status, "succeeded", "what is sent is a fact")
    }))

  it.effect("that nothing was sent end a refund whose payment is gone: it can be canceled then", () =>
    Effect.gen(function*() {
      const { caller, entry, refund } = yield* approved()
      yield* change(refund.id, { _tag: "Submit", txHash: newHash() })
      yield* reportAgain({ ...entry, status: "reverted" })
      yield* change(refund.id, { _tag: "Fail", code: "dropped" })
      assert.deepInclude((yield* caller.ok(`${path}/${refund.id}`)).data, {
        status: "failed",
        failure_code: "payment_reverted",
        tx_hash: null
      })
      assert.strictEqual((yield* caller.ok(`${path}/${refund.id}/cancel`, post({}))).data.status, "canceled")
    }))

  it.effect("of a payment that is gone take their money from the others of its token: no more goes out than came in", () =>
    Effect.gen(function*() {
      const { caller, entry, invoice, open, refund: part } = yield* approved()
      const rest = yield* open({ amount: 6_000 })
      for (const { id, units } of [{ id: part.id, units: 4_000_000n }, { id: rest.id, units: 6_000_000n }]) {
        const txHash = newHash()
        onChain(txHash, [transfer(units)])
        assert.strictEqual((yield* report(id, txHash)).status, "succeeded")
      }
      yield* receiveTransfer(invoice, usdc, 7_000_000n)
      const approvedBefore = yield* open({ amount: 5_000 })
      assert.strictEqual(approvedBefore.status, "processing")
      const gone = yield* reportAgain({ ...entry, status: "reverted" })
      assert.deepInclude((yield* caller.ok(`${path}/${approvedBefore.id}`)).data, {
        status: "failed",
        failure_code: "payment_reverted"
      })
      const wish = { invoice_id: invoice.id, amount_mode: "remaining", reason: "other", fee_bearer: "merchant" }
      const answer = yield* caller.call(path, post(wish))
      assert.deepStrictEqual([answer.status, answer.json.error.code], [409, "REFUND_EXCEEDS_RECEIVED"])
      assert.deepInclude(answer.json.error.details, { refundable: 0 })
      // Another token is other money, and what comes beyond what went out can go back.
      yield* receiveTransfer(invoice, ether, 10n ** 15n)
      yield* receiveTransfer(invoice, usdc, 5_000_000n)
      yield* caller.ok(`${path}/${approvedBefore.id}/cancel`, post({}))
      const { refunds } = yield* caller.ok(path, post(wish))
      assert.deepStrictEqual(refunds.map(({ amount }: { readonly amount: number }) => amount), [2_000, 2_000])
      yield* reportAgain({ ...gone, status: "confirmed" })
      const back = yield* caller.ok(path, post(wish))
      assert.strictEqual(back.refunds.reduce((sum: number, { amount }: any) => sum + amount, 0), 10_000)
    }))

  it.effect("of a coin without a contract are of the coin", () =>
    Effect.gen(function*() {
      usualPrices()
      const id = yield* newMerchant
      const caller = callerOf(id)
      const invoice = yield* newInvoice(caller, { amount: 2_000, expires_in: 3_600_000 })
      yield* receiveTransfer(invoice, ether, 10n ** 15n)
      const { data } = yield* walletOf(id).ok(
        path,
        post({
          invoice_id: invoice.id,
          amount_mode: "full",
          reason: "other",
          fee_bearer: "merchant",
          destination: { network: ether.network, address },
          auto_approve: true
        })
      )
      yield* TestClock.adjust("1 minute")
      const txHash = newHash()
      onChain(txHash, [transfer(10n ** 15n, { tokenAddress: null })])
      assert.strictEqual((yield* report(data.id, txHash)).status, "succeeded")
      assert.include((yield* eventsOf(invoice.id)).at(-1)!.data.object, { settlement_status: "refunded" })
    }))
})
