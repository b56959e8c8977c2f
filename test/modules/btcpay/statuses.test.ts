/**
 * Goal: shops are told the status of an invoice, and sent webhooks, exactly as the tables of
 * modules/docs/reference/btcpay.md say. Method: the real machine moves an invoice; every row of both tables is a case.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Aggregate, type Command, decide } from "../../../modules/invoices/machine.ts"
import {
  eventsOf,
  flagsAfter,
  noFlags,
  type ShopEvent,
  type ShopFlags,
  stateOf
} from "../../../modules/btcpay/rules/Statuses.ts"
import { acceptanceOf, markableAs } from "../../../modules/btcpay/rules/Marks.ts"
import { isRefundable } from "../../../modules/btcpay/rules/Refunds.ts"
import { paymentJson, webhookData } from "../../../modules/btcpay/rules/Wire.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { arrival, now, unpaid } from "../../fixtures/guides.ts"
import { seededRandom } from "../../support/Crash.ts"
import { testSeed } from "../../support/Seed.ts"

const seen = { networks: [], handling: "done" } as const
const due = now + 1_001
const graceOver = now + 1_000 + 86_401

/** An invoice after a commit, and the webhooks of that commit. */
interface Outcome {
  readonly current: Aggregate
  readonly flags: ShopFlags
  readonly events: ReadonlyArray<ShopEvent>
}

const initial: Outcome = { current: { invoice: unpaid, payments: [], exceptions: [] }, flags: noFlags, events: [] }

/** Commits commands. */
const commit = ({ current, flags }: Outcome, commands: ReadonlyArray<Command>, at = now + 10): Outcome => {
  const decision = decide(current, commands, at)
  assert.isObject(decision)
  if (typeof decision === "string") throw new Error(decision)
  const events = eventsOf({ before: current, after: decision.next, flags })
  // A commit that publishes nothing cannot send webhooks of a shop either (Append.messages in runtime/Commit.ts).
  if (events.length > 0) assert.isNotEmpty(decision.events, events.map(({ type }) => type).join())
  return { current: decision.next, flags: flagsAfter(flags, current, decision.next), events }
}

const observe = (index: number, amount: bigint, at = now + 10): Command => ({
  _tag: "Observe",
  transfer: arrival(index, amount, at)
})
const idOf = (index: number) => arrival(index, 1n, 0).id
const confirm = (index: number): Command => ({ _tag: "Confirm", paymentId: idOf(index), confirmations: 12 })
const revert = (index: number): Command => ({ _tag: "Revert", paymentId: idOf(index) })
const tick: Command = { _tag: "Tick", progress: seen }
const cancel: Command = { _tag: "Cancel" }
const acceptFirst = ({ current }: Outcome): Command => ({
  _tag: "Resolve",
  exceptionId: current.exceptions.find(({ status }) => status === "open")!.id,
  resolution: { action: "accept", note: "", actor: "key_1", invoiceId: null }
})

const pay = (outcome: Outcome, index: number, amount: bigint, at = now + 10) =>
  commit(commit(outcome, [observe(index, amount, at)], at), [confirm(index)], at)

const stateIn = ({ current, flags }: Outcome) => Object.values(stateOf(current, flags)).join(", ")
const types = ({ events }: Outcome) => events.map(({ type }) => type)

const refund = (index: number, amount: bigint): Command => ({
  _tag: "Refund",
  paymentId: idOf(index),
  amount: usdMillis(amount),
  isWhole: true
})

const expired = commit(initial, [tick], due)
const part = pay(initial, 1, 20_000n)
const partExpired = commit(part, [tick], graceOver)
const paid = pay(initial, 1, 50_000n)
const manual = { ...initial.current.invoice, policy: { ...unpaid.policy, latePayment: "manual" as const } }
const late = commit(
  commit({ ...initial, current: { ...initial.current, invoice: manual } }, [tick], due),
  [observe(1, 50_000n, due + 5)],
  due + 5
)

describe("the status that a shop is told of an invoice", () => {
  const rows: ReadonlyArray<readonly [string, Outcome, string]> = [
    ["canceled", commit(initial, [cancel]), "Invalid, Marked"],
    ["a part that was given back", commit(part, [refund(1, 20_000n)]), "Invalid, Marked"],
    ["paid, and given back later", commit(paid, [refund(1, 50_000n)]), "Settled, None"],
    [
      "paid because the merchant accepted a part",
      commit(partExpired, [acceptFirst(partExpired)], graceOver),
      "Settled, Marked"
    ],
    ["paid after the shop was told that it has expired", pay(expired, 1, 50_000n, due + 5), "Expired, PaidLate"],
    ["paid with more than was asked for", pay(initial, 1, 60_000n), "Settled, PaidOver"],
    ["paid", paid, "Settled, None"],
    ["paid within the tolerance", pay(initial, 1, 49_995n), "Settled, None"],
    ["no longer paid, because its payment left the chain", commit(paid, [revert(1)]), "Invalid, None"],
    ["paid again, after its payment came back", pay(commit(paid, [revert(1)]), 1, 50_000n), "Settled, None"],
    ["expired", expired, "Expired, None"],
    ["underpaid past its grace", partExpired, "Expired, PaidPartial"],
    ["all of it on its way", commit(initial, [observe(1, 50_000n)]), "Processing, None"],
    ["more than all of it on its way", commit(initial, [observe(1, 51_000n)]), "Processing, PaidOver"],
    ["the rest of a part payment on its way", commit(part, [observe(2, 30_000n)]), "Processing, None"],
    ["a part on its way", commit(initial, [observe(1, 20_000n)]), "New, PaidPartial"],
    ["underpaid within its grace", part, "New, PaidPartial"],
    ["underpaid past its end and within its grace", commit(part, [tick], due), "New, PaidPartial"],
    ["nothing seen", initial, "New, None"],
    ["only money that is refused", late, "Expired, None"]
  ]
  for (const [name, outcome, expected] of rows) {
    it(`is ${expected} where it is ${name}`, () => assert.strictEqual(stateIn(outcome), expected))
  }
})

describe("the webhooks of a change", () => {
  const rows: ReadonlyArray<readonly [string, Outcome, ReadonlyArray<string>]> = [
    ["a transfer of all of it is seen", commit(initial, [observe(1, 50_000n)]), [
      "InvoiceReceivedPayment",
      "InvoiceProcessing"
    ]],
    ["a transfer of a part is seen", commit(initial, [observe(1, 20_000n)]), ["InvoiceReceivedPayment"]],
    ["it is confirmed", paid, ["InvoicePaymentSettled", "InvoiceSettled"]],
    ["a part is confirmed", part, ["InvoicePaymentSettled"]],
    [
      "a chain confirms at first sight",
      commit(initial, [observe(1, 50_000n), confirm(1)]),
      ["InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled", "InvoiceSettled"]
    ],
    ["money comes after the end and counts", pay(expired, 1, 50_000n, due + 5), [
      "InvoicePaymentSettled",
      "InvoicePaidAfterExpiration"
    ]],
    ["its time ends unpaid", expired, ["InvoiceExpired"]],
    ["its grace ends", partExpired, ["InvoiceExpired"]],
    ["a part is accepted", commit(partExpired, [acceptFirst(partExpired)], graceOver), [
      "InvoiceProcessing",
      "InvoiceSettled"
    ]],
    ["money is seen after the end", commit(expired, [observe(1, 50_000n, due + 5)], due + 5), [
      "InvoiceReceivedPayment"
    ]],
    [
      "an operator must look after its payment",
      commit(commit(initial, [observe(1, 50_000n)]), [{
        _tag: "RequireManualRetry",
        paymentId: idOf(1)
      }]),
      []
    ],
    ["its money is booked", commit(paid, [{ _tag: "Book", paymentId: idOf(1), balanceTransactionId: "txn_1" }]), []],
    ["a part of it is given back", commit(paid, [{ ...refund(1, 10_000n), isWhole: false } as Command]), []],
    ["all of it is given back", commit(paid, [refund(1, 50_000n)]), []],
    ["a part payment is given back", commit(part, [refund(1, 20_000n)]), ["InvoiceInvalid"]],
    ["its payment leaves the chain", commit(paid, [revert(1)]), ["InvoiceInvalid"]],
    ["it is canceled", commit(initial, [cancel]), ["InvoiceInvalid"]],
    ["a payment under way is dropped", commit(commit(initial, [observe(1, 50_000n)]), [revert(1)]), []],
    ["more comes after it was paid", commit(paid, [observe(2, 5_000n)]), ["InvoiceReceivedPayment"]],
    ["only its notes change", commit(initial, [{ _tag: "Amend", metadata: { orderId: "2" } }]), []],
    ["refused money is seen", late, []]
  ]
  for (const [name, outcome, expected] of rows) {
    it(`are ${expected.join(", ") || "none"} when ${name}`, () => assert.deepStrictEqual(types(outcome), expected))
  }

  it("say what the change was: manually, too much, a part, after the end", () => {
    assert.deepInclude(pay(initial, 1, 60_000n).events.at(-1), { manuallyMarked: false, overPaid: true })
    assert.deepInclude(commit(partExpired, [acceptFirst(partExpired)], graceOver).events.at(-1), {
      manuallyMarked: true
    })
    assert.deepInclude(expired.events.at(-1), { partiallyPaid: false })
    assert.deepInclude(partExpired.events.at(-1), { partiallyPaid: true })
    assert.deepInclude(commit(initial, [cancel]).events.at(-1), { manuallyMarked: true })
    assert.deepInclude(commit(paid, [revert(1)]).events.at(-1), { manuallyMarked: false })
    assert.deepInclude(commit(expired, [observe(1, 50_000n, due + 5)], due + 5).events[0], { afterExpiration: true })
  })
})

describe("the body of a webhook", () => {
  const common = ["type", "timestamp", "storeId", "invoiceId", "metadata"]
  const ofPayment = ["afterExpiration", "paymentMethodId", "paymentMethod", "payment"]
  const payment = paid.current.payments[0]!
  const rows: ReadonlyArray<readonly [ShopEvent, ReadonlyArray<string>]> = [
    [{ type: "InvoiceCreated" }, []],
    [{ type: "InvoiceReceivedPayment", afterExpiration: false, payment }, ofPayment],
    [{ type: "InvoiceProcessing", overPaid: false }, ["overPaid"]],
    [{ type: "InvoicePaymentSettled", afterExpiration: true, payment }, ofPayment],
    [{ type: "InvoiceSettled", manuallyMarked: false, overPaid: false }, ["manuallyMarked", "overPaid"]],
    [{ type: "InvoicePaidAfterExpiration" }, []],
    [{ type: "InvoiceExpired", partiallyPaid: false }, ["partiallyPaid"]],
    [{ type: "InvoiceInvalid", manuallyMarked: false }, ["manuallyMarked"]]
  ]
  for (const [event, own] of rows) {
    it(`has ${own.join(", ") || "nothing"} beside what all have where it is ${event.type}`, () => {
      const method = { methodId: "USDC-BASE", destination: "0xabc" }
      const body = JSON.parse(webhookData(event, paid.current, "123-devnet", 7, method))
      assert.deepStrictEqual(Object.keys(body), [...common, ...own])
    })
  }

  it("calls a payment what clients know, by its hash and its place", () => {
    const rows = [
      ["pending", "Processing"],
      ["manual_retry", "Processing"],
      ["underpaid", "Settled"],
      ["confirmed", "Settled"],
      ["reverted", "Invalid"]
    ] as const
    for (const [status, outcome] of rows) {
      assert.strictEqual(paymentJson({ ...payment, status }, "0xabc").status, outcome, status)
    }
    assert.strictEqual(paymentJson({ ...payment, txHash: "0x9f", ordinal: 2 }, "").id, "0x9f-1")
    assert.notInclude(paymentJson({ ...payment, txHash: null }, "").id, "-")
  })
})

describe("any history of an invoice", () => {
  const act = (random: () => number, at: number): Command => {
    const index = 1 + Math.floor(random() * 3)
    const acts: ReadonlyArray<Command> = [
      observe(index, [20_000n, 50_000n, 60_000n][Math.floor(random() * 3)]!, at),
      confirm(index),
      revert(index),
      tick,
      cancel,
      refund(index, 50_000n),
      { _tag: "RequireManualRetry", paymentId: idOf(index) }
    ]
    return acts[Math.floor(random() * acts.length)]!
  }

  it("tells of each status once, in commits that publish something, and never settles without a payment", () => {
    const random = seededRandom(testSeed)
    for (let history = 0; history < 400; history++) {
      let outcome = initial
      let at = now
      const heard: Array<string> = []
      for (let step = 0; step < 12; step++) {
        at += [5, 60, 1_001, 90_000][Math.floor(random() * 4)]!
        const commands = [act(random, at), act(random, at)].slice(0, 1 + Math.floor(random() * 2))
        if (decide(outcome.current, commands, at) === "not_cancelable") continue
        const from = stateIn(outcome)
        outcome = commit(outcome, commands, at)
        const to = stateIn(outcome)
        const own = types(outcome)
        heard.push(...own)
        const line = `${from} -> ${to} by ${JSON.stringify(commands.map(({ _tag }) => _tag))}: ${own.join()}`
        assert.strictEqual(
          new Set(own.filter((type) => !type.includes("Payment"))).size,
          own.filter((type) => !type.includes("Payment")).length,
          line
        )
        const isNow = (status: string) => to.startsWith(status) && !from.startsWith(status)
        assert.strictEqual(own.includes("InvoiceSettled"), isNow("Settled"), line)
        assert.strictEqual(own.includes("InvoicePaidAfterExpiration"), isNow("Expired, PaidLate"), line)
        if (isNow("Processing")) assert.include(own, "InvoiceProcessing", line)
        if (own.includes("InvoiceSettled")) assert.include(heard, "InvoiceReceivedPayment", line)
      }
    }
  })
})

describe("the marks that an invoice offers", () => {
  const rows: ReadonlyArray<readonly [string, Outcome, ReadonlyArray<string>]> = [
    ["is new", initial, ["Invalid"]],
    ["is expired with nothing seen", expired, ["Invalid"]],
    ["has money under way", commit(initial, [observe(1, 20_000n)]), []],
    ["is underpaid within its grace", part, []],
    ["is underpaid past its grace", partExpired, ["Settled"]],
    ["is paid", paid, []],
    ["is canceled", commit(initial, [cancel]), []]
  ]
  for (const [name, { current, flags }, expected] of rows) {
    it(`are ${expected.join(" and ") || "none"} where it ${name}`, () =>
      assert.deepStrictEqual(markableAs(current, flags), expected))
  }

  it("accept late money that a person has to decide on", () => {
    assert.isNotNull(acceptanceOf(late.current))
    assert.include(markableAs(late.current, late.flags), "Settled")
  })

  it("do not accept a late part that would not pay the invoice, and of several the one that does", () => {
    const lateExpired = commit({ ...initial, current: { ...initial.current, invoice: manual } }, [tick], due)
    const latePart = commit(lateExpired, [observe(1, 20_000n, due + 5)], due + 5)
    assert.isNull(acceptanceOf(latePart.current))
    assert.notInclude(markableAs(latePart.current, latePart.flags), "Settled")
    const both = commit(latePart, [observe(2, 50_000n, due + 6)], due + 6)
    const accepted = acceptanceOf(both.current)
    assert.strictEqual(both.current.exceptions.find(({ id }) => id === accepted)?.paymentId, idOf(2))
  })
})

describe("the refund of an order", () => {
  const rows: ReadonlyArray<readonly [string, Outcome, boolean]> = [
    ["nothing came", initial, false],
    ["a part came and the rest is waited for", part, false],
    ["a part came and its grace is over", partExpired, true],
    ["it is paid", paid, true],
    ["all of it went back", commit(paid, [refund(1, 50_000n)]), false]
  ]
  for (const [name, { current }, expected] of rows) {
    it(`is ${expected ? "made" : "refused"} where ${name}`, () => assert.strictEqual(isRefundable(current), expected))
  }
})
