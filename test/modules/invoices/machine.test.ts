/**
 * Goal: the rules by which invoices and payments change hold for any history, not only for the ones we thought of.
 * Method: properties over generated transfers, orders and interleavings, and the documented examples word by word.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  type Aggregate,
  catchUpSeconds,
  type Command,
  creationEvents,
  decide,
  type Decision,
  exceptionObject,
  exceptionRecord,
  type IncomingTransfer,
  invoiceObject,
  type InvoiceState,
  isPayable,
  lockedRoute,
  newestFirst,
  nothingToScan,
  outageWaitSeconds,
  policyOf,
  type ScanProgress,
  toleranceOf
} from "../../../modules/invoices/machine.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { TokenId } from "../../../schemas/Ids.ts"
import { MerchantSettings } from "../../../schemas/MerchantSettings.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { requiredDepth } from "../../../schemas/Network.ts"
import { isCounted, type PaymentMetadata } from "../../../schemas/Payment.ts"
import { unpaidInvoice } from "../../fixtures/invoices.ts"

const now = 1_766_320_000
const expiresAt = now + 3_600

const invoice = (more: Partial<InvoiceState> = {}): InvoiceState => unpaidInvoice(now, expiresAt, more)

const fresh = (more: Partial<InvoiceState> = {}): Aggregate => ({
  invoice: invoice(more),
  payments: [],
  exceptions: []
})

const priced: PaymentMetadata["quote"] = {
  quote_id: null,
  exchange_rate: "1.000000",
  rate_source: "fixed",
  priced_at: now,
  pricing: "spot"
}

const arrival = (index: number, amount: bigint, more: Partial<IncomingTransfer> = {}): IncomingTransfer => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  network: "base",
  tokenId: 1,
  tokenDecimals: 6,
  txHash: `0x${index}`,
  sender: `0xpayer${index}`,
  units: amount * 1_000n,
  amount: usdMillis(amount),
  seenAt: now + index,
  metadata: {
    quote: priced,
    confirmations: 1,
    required_confirmations: 1,
    block_number: 100 + index,
    exception: null,
    token: null
  },
  ...more
})

const observe = (one: IncomingTransfer): Command => ({ _tag: "Observe", transfer: one })
const confirm = (one: IncomingTransfer): Command => ({ _tag: "Confirm", paymentId: one.id, confirmations: 1 })
const revert = (one: IncomingTransfer): Command => ({ _tag: "Revert", paymentId: one.id })

const decided = (state: Aggregate, commands: ReadonlyArray<Command>, at = now): Decision => {
  const decision = decide(state, commands, at)
  assert.isObject(decision)
  return decision as Decision
}

/** Each command in a commit of its own, as a chain would bring them. */
const replay = (state: Aggregate, commands: ReadonlyArray<Command>, at = now) =>
  commands.reduce(
    ({ state, events }, command) => {
      const step = decided(state, [command], at)
      return { state: step.next, events: [...events, ...step.events] }
    },
    { state, events: [] as ReadonlyArray<EventDraft> }
  )

const types = (events: ReadonlyArray<EventDraft>) => events.map(({ type }) => type)

/** What must not depend on the order of arrival: everything but versions, times of commit and the order of rows. */
const essence = ({ invoice, payments }: Aggregate) => ({
  invoice: { ...invoice, version: 0 },
  payments: payments.map((payment) => ({ ...payment, version: 0 })).sort((a, b) => (a.id < b.id ? -1 : 1))
})

const Amounts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40_000 })))
  .check(Schema.isMaxLength(6))

const Moves = Schema.Array(Schema.Struct({
  kind: Schema.Literals(["observe", "confirm", "revert", "giveUp", "tick"]),
  payment: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
  amount: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60_000 })),
  at: Schema.Int.check(Schema.isBetween({ minimum: -3_600, maximum: 100_000 }))
})).check(Schema.isMaxLength(30))

const commandOf = (move: typeof Moves.Type[number]): Command => {
  const one = arrival(move.payment, BigInt(move.amount), { seenAt: expiresAt + move.at })
  switch (move.kind) {
    case "observe":
      return observe(one)
    case "confirm":
      return confirm(one)
    case "revert":
      return revert(one)
    case "giveUp":
      return { _tag: "RequireManualRetry", paymentId: one.id }
    case "tick":
      return { _tag: "Tick", progress: nothingToScan }
  }
}

describe("invoice machine, any history", () => {
  it.effect.prop(
    "payments commute: no order of confirmation changes what an invoice ends as",
    [Amounts],
    ([amounts]) =>
      Effect.sync(() => {
        const arrivals = amounts.map((amount, index) => arrival(index, BigInt(amount)))
        const seen = replay(fresh(), arrivals.map(observe)).state
        const forwards = replay(seen, arrivals.map(confirm)).state
        const backwards = replay(seen, arrivals.map(confirm).toReversed()).state
        const atOnce = decided(fresh(), arrivals.flatMap((one) => [observe(one), confirm(one)])).next
        assert.deepStrictEqual(essence(forwards), essence(backwards))
        assert.deepStrictEqual(essence(forwards).invoice, essence(atOnce).invoice)
      })
  )

  it.effect.prop(
    "amount_paid is the sum of counted payments, and paid means enough",
    [Moves],
    ([moves]) =>
      Effect.sync(() => {
        let state = fresh()
        for (const move of moves) {
          state = decided(state, [commandOf(move)], expiresAt + move.at).next
          const { invoice, payments } = state
          const sum = payments.reduce((total, { status, amount }) => (isCounted(status) ? total + amount : total), 0n)
          assert.strictEqual(invoice.amountPaid, sum)
          assert.strictEqual(
            invoice.status === "paid",
            sum > 0n && sum >= invoice.amount - BigInt(invoice.policy.tolerance)
          )
          assert.strictEqual(invoice.paidAt !== null, invoice.status === "paid")
          const confirmed = payments.filter(({ status }) => status === "confirmed").length
          const underpaid = payments.filter(({ status }) => status === "underpaid").length
          assert.isTrue(invoice.status === "paid" ? underpaid === 0 : confirmed === 0)
        }
      })
  )

  it.effect.prop(
    "payments are numbered in the order they were first recorded, whatever becomes of them",
    [Moves],
    ([moves]) =>
      Effect.sync(() => {
        let state = fresh()
        const recorded: Array<string> = []
        for (const move of moves) {
          state = decided(state, [commandOf(move)], expiresAt + move.at).next
          for (const { id } of state.payments) if (!recorded.includes(id)) recorded.push(id)
          assert.deepStrictEqual(newestFirst(state.payments).map(({ id }) => id), recorded.toReversed())
          assert.deepStrictEqual(state.payments.map(({ ordinal }) => ordinal), recorded.map((_, index) => index + 1))
        }
      })
  )

  it.effect.prop(
    "previous_attributes applied over the object give the previous snapshot",
    [Moves],
    ([moves]) =>
      Effect.sync(() => {
        let state = fresh()
        const known = new Map<string, object>([[state.invoice.id, invoiceObject(state.invoice)]])
        for (const move of moves) {
          const decision = decided(state, [commandOf(move)], expiresAt + move.at)
          const before = new Map(known)
          for (const exception of state.exceptions) {
            before.set(exception.id, exceptionObject(exceptionRecord(state, exception)))
          }
          for (const { type, object, previousAttributes } of decision.events) {
            const id = object.id as string
            const previous = before.get(id) ?? known.get(id)
            const isNew = type === "invoice_payment.created" || type === "exception.opened"
            if (isNew) assert.deepStrictEqual(previousAttributes, {})
            else assert.deepStrictEqual({ ...object, ...previousAttributes }, previous)
            known.set(id, object)
          }
          state = decision.next
        }
      })
  )

  it.effect.prop(
    "the first event of a change is the payments', then invoice.updated, then the specific ones",
    [Moves],
    ([
      moves
    ]) =>
      Effect.sync(() => {
        let state = fresh()
        for (const move of moves) {
          const decision = decided(state, [commandOf(move)], expiresAt + move.at)
          const told = types(decision.events).filter((type) => type.startsWith("invoice."))
          if (told.length > 0) {
            assert.strictEqual(told[0], "invoice.updated")
            const [first, ...rest] = decision.events.filter(({ type }) => type.startsWith("invoice."))
            for (const event of rest) assert.deepStrictEqual(event.previousAttributes, first!.previousAttributes)
          }
          state = decision.next
        }
      })
  )

  it.effect.prop("every decision raises the invoice's version by one, and a payment's only if it changed", [Moves], ([
    moves
  ]) =>
    Effect.sync(() => {
      let state = fresh()
      for (const move of moves) {
        const { next, changedPayments } = decided(state, [commandOf(move)], expiresAt + move.at)
        assert.strictEqual(next.invoice.version, state.invoice.version + 1)
        for (const payment of next.payments) {
          const before = state.payments.find(({ id }) => id === payment.id)?.version ?? 0
          const touched = changedPayments.some(({ id }) => id === payment.id)
          assert.strictEqual(payment.version, before + (touched ? 1 : 0))
        }
        state = next
      }
    }))
})

/** Settings a merchant may have, but for the branding, which no invoice depends on. */
const {
  branding: _branding,
  default_environment: _default,
  domain_check: _check,
  pending_change: _pending,
  ...policySettings
} = MerchantSettings.fields
const Policy = Schema.Struct({
  ...policySettings,
  commerce: Schema.Boolean,
  toleranceBasisPoints: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })))
})

const under = ({ commerce, toleranceBasisPoints, ...settings }: typeof Policy.Type) => {
  const asked = { amount: usdMillis(50_000n), commerce, toleranceBasisPoints, acceptedNetworks: null }
  return fresh({ type: commerce ? "commerce" : "standard", policy: policyOf(settings as MerchantSettings, asked) })
}

describe("invoice machine, any settings", () => {
  it.effect.prop("amount_paid is the sum of counted payments, paid means enough, and paid funds never expire", [
    Policy,
    Moves
  ], ([policy, moves]) =>
    Effect.sync(() => {
      let state = under(policy)
      assert.isAtMost(state.invoice.policy.tolerance, 5_000)
      for (const move of moves) {
        const before = state.invoice
        const { events, next } = decided(state, [commandOf(move)], expiresAt + move.at)
        state = next
        const sum = state.payments.reduce(
          (total, { amount, status }) => (isCounted(status) ? total + amount : total),
          0n
        )
        assert.strictEqual(state.invoice.amountPaid, sum)
        assert.strictEqual(
          state.invoice.status === "paid",
          sum > 0n && sum >= 50_000n - BigInt(before.policy.tolerance)
        )
        assert.isFalse(state.invoice.status === "expired" && sum > 0n)
        assert.isFalse(before.status === "underpaid" && state.invoice.status === "expired" && sum > 0n)
        assert.deepStrictEqual(state.invoice.policy, before.policy)
        for (const { object, previousAttributes, type } of events) {
          if (type.startsWith("invoice.")) {
            assert.deepStrictEqual({ ...object, ...previousAttributes }, invoiceObject(before))
          }
        }
      }
    }))

  it.effect.prop(
    "funds that come after every window and grace change nothing but open an exception",
    [Policy],
    ([policy]) =>
      Effect.sync(() => {
        const state = under(policy)
        const last = expiresAt + Math.max(policy.late_window_seconds, policy.underpaid_grace_seconds)
        const late = arrival(1, 50_000n, { seenAt: last + 1 })
        const { changedExceptions, next } = decided(state, [observe(late), confirm(late)], last + 1)
        assert.deepStrictEqual(changedExceptions.map(({ type }) => type), ["late_payment"])
        assert.strictEqual(next.invoice.amountPaid, 0n)
        assert.strictEqual(next.payments[0]!.status, "rejected")
      })
  )
})

describe("invoice machine, what each policy decides", () => {
  const withPolicy = (more: Partial<InvoiceState["policy"]>, rest: Partial<InvoiceState> = {}) =>
    fresh({ ...rest, policy: { ...invoice().policy, ...more } })
  const expired = (more: Partial<InvoiceState["policy"]>) => withPolicy(more, { status: "expired", dueAt: null })
  const late = arrival(1, 50_000n, { seenAt: expiresAt + 1 })
  const came = (state: Aggregate, ...arrivals: ReadonlyArray<IncomingTransfer>) =>
    replay(state, arrivals.flatMap((one) => [observe(one), confirm(one)])).state

  it("spot_rate and locked_rate take late funds, manual leaves them to a person", () => {
    for (const latePayment of ["spot_rate", "locked_rate"] as const) {
      assert.strictEqual(came(expired({ latePayment }), late).invoice.status, "paid")
    }
    const { changedExceptions, next } = decided(expired({ latePayment: "manual" }), [observe(late), confirm(late)])
    assert.strictEqual(next.invoice.status, "expired")
    assert.deepStrictEqual(changedExceptions.map(({ type }) => type), ["late_payment"])
  })

  it("a late window of its own ends when it says", () => {
    const at = (seconds: number) => arrival(1, 50_000n, { seenAt: expiresAt + seconds })
    assert.strictEqual(came(expired({ lateWindowSeconds: 60 }), at(60)).invoice.status, "paid")
    assert.strictEqual(came(expired({ lateWindowSeconds: 60 }), at(61)).invoice.status, "expired")
    assert.strictEqual(came(expired({ lateWindowSeconds: 0 }), at(1)).invoice.status, "expired")
  })

  it("funds that complete a part in its grace are not late, whatever the policy on late ones", () => {
    const part = arrival(1, 20_000n)
    const rest = (seconds: number) => arrival(2, 30_000n, { seenAt: expiresAt + seconds })
    const strict = { latePayment: "manual", lateWindowSeconds: 0, underpaidGraceSeconds: 600 } as const
    assert.strictEqual(came(withPolicy(strict), part, rest(600)).invoice.status, "paid")
    assert.strictEqual(came(withPolicy(strict), part, rest(601)).invoice.status, "underpaid")
    assert.strictEqual(
      came(withPolicy({ ...strict, underpaidGraceSeconds: 0 }), part, rest(1)).invoice.status,
      "underpaid"
    )
    assert.strictEqual(came(withPolicy(strict, { type: "commerce" }), part, rest(601)).invoice.status, "underpaid")
  })

  it("a grace of its own ends when it says", () => {
    const part = arrival(1, 20_000n)
    const { next } = decided(withPolicy({ underpaidGraceSeconds: 600 }), [observe(part), confirm(part)])
    assert.strictEqual(next.invoice.dueAt, expiresAt + 600)
    const tick: Command = { _tag: "Tick", progress: nothingToScan }
    assert.deepStrictEqual(decided(next, [tick], expiresAt + 599).changedExceptions, [])
    assert.deepStrictEqual(decided(next, [tick], expiresAt + 600).changedExceptions.map(({ type }) => type), [
      "underpaid_expired"
    ])
    assert.isFalse(isPayable(next.invoice, expiresAt + 600))
  })

  it("any_route leaves the rest of a part payment free, lock_route does not", () => {
    const part = arrival(1, 20_000n)
    assert.isNull(lockedRoute(came(withPolicy({ partialPayment: "any_route" }), part)))
    assert.deepStrictEqual(lockedRoute(came(withPolicy({ partialPayment: "lock_route" }), part)), {
      network: "base",
      tokenId: 1
    })
  })

  it("fast takes one block below $100, standard and final what the network's table says", () => {
    const depth = (policy: "fast" | "standard" | "final", amount: bigint) =>
      requiredDepth("base", "mainnet", policy, amount)
    assert.deepStrictEqual(depth("fast", 99_999n), { blocks: 1, finalized: false })
    assert.deepStrictEqual(depth("fast", 100_000n), depth("standard", 1n))
    assert.isTrue(depth("final", 1n).finalized)
    assert.isAbove(depth("final", 1n).blocks, depth("standard", 1n).blocks)
  })

  it("a commerce invoice has no grace, and its own tolerance weighs more than the merchant's", () => {
    const settings = {
      payment_tolerance_bps: 100,
      payment_tolerance_amount: 0,
      underpaid_grace_seconds: 600
    } as MerchantSettings
    const asked = { amount: usdMillis(50_000n), acceptedNetworks: null }
    const standard = policyOf(settings, { ...asked, commerce: false, toleranceBasisPoints: null })
    const commerce = policyOf(settings, { ...asked, commerce: true, toleranceBasisPoints: 50 })
    assert.deepStrictEqual([standard.tolerance, standard.underpaidGraceSeconds], [500, 600])
    assert.deepStrictEqual([commerce.tolerance, commerce.underpaidGraceSeconds], [250, 0])
  })
})

describe("invoice machine, the documented transitions", () => {
  it("tells a new invoice as invoice.created with nothing before it", () => {
    const [event] = creationEvents(invoice())
    assert.strictEqual(event!.type, "invoice.created")
    assert.deepStrictEqual(event!.previousAttributes, {})
  })

  it("takes a $50 invoice through $20 and $35 exactly as the reference's worked example", () => {
    const first = arrival(1, 20_000n)
    const second = arrival(2, 35_000n)
    const part = replay(fresh(), [observe(first), confirm(first)])
    assert.deepStrictEqual(types(part.events), [
      "invoice_payment.created",
      "invoice_payment.updated",
      "invoice.updated",
      "invoice.partial_payment"
    ])
    assert.deepStrictEqual(part.events.at(-1)!.previousAttributes, {
      status: "unpaid",
      amount_paid: 0,
      amount_paid_decimal: "0.000",
      amount_remaining: 50_000,
      amount_remaining_decimal: "50.000",
      payer_wallet_address: null,
      payer_wallet_network: null,
      last_payment_at: null
    })
    const rest = replay(part.state, [observe(second), confirm(second)])
    assert.deepStrictEqual(types(rest.events), [
      "invoice_payment.created",
      "invoice_payment.updated",
      "invoice_payment.updated",
      "invoice.updated",
      "invoice.paid",
      "invoice.overpaid",
      "exception.opened"
    ])
    const [, triggered, lifted] = rest.events
    assert.strictEqual(triggered!.object.id, second.id)
    assert.strictEqual(lifted!.object.id, first.id)
    assert.strictEqual(rest.events.at(-2)!.object.amount_paid, 55_000)
    assert.strictEqual(rest.events.at(-2)!.object.amount_remaining, 0)
    assert.deepInclude(rest.events.at(-1)!.object, { type: "overpaid", amount: 5_000, status: "open" })
  })

  it("opens an overpaid exception only above the tolerance", () => {
    const within = arrival(1, 51_000n)
    const above = arrival(2, 51_001n)
    assert.deepStrictEqual(decided(fresh(), [observe(within), confirm(within)]).changedExceptions, [])
    assert.strictEqual(decided(fresh(), [observe(above), confirm(above)]).changedExceptions[0]?.type, "overpaid")
  })

  it("counts an invoice short by its tolerance as paid, and one short by more as underpaid", () => {
    const enough = arrival(1, 49_990n)
    const short = arrival(1, 49_989n)
    assert.strictEqual(decided(fresh(), [observe(enough), confirm(enough)]).next.invoice.status, "paid")
    assert.strictEqual(decided(fresh(), [observe(short), confirm(short)]).next.invoice.status, "underpaid")
  })

  it("expires an unpaid invoice at expires_at, not a second before, and tells it once", () => {
    const tick: Command = { _tag: "Tick", progress: nothingToScan }
    assert.deepStrictEqual(decided(fresh(), [tick], expiresAt - 1).events, [])
    const expired = decided(fresh(), [tick], expiresAt)
    assert.deepStrictEqual(types(expired.events), ["invoice.updated", "invoice.expired"])
    assert.deepStrictEqual(expired.events[1]!.previousAttributes, { status: "unpaid" })
    assert.deepStrictEqual(decided(expired.next, [tick], expiresAt + 1).events, [])
    assert.isNull(expired.next.invoice.dueAt)
  })

  it("holds expiry while a payment is pending, and lets it go when the payment is dropped", () => {
    const one = arrival(1, 50_000n)
    const held = replay(fresh(), [observe(one), { _tag: "Tick", progress: nothingToScan }], expiresAt + 5)
    assert.strictEqual(held.state.invoice.status, "unpaid")
    assert.isNull(held.state.invoice.dueAt)
    const dropped = decided(held.state, [revert(one)], expiresAt + 9).next
    const after = decided(dropped, [{ _tag: "Tick", progress: nothingToScan }], dropped.invoice.dueAt!).next
    assert.strictEqual(after.invoice.status, "expired")
  })

  const sight = (
    seenUntil: number | null,
    more: Partial<ScanProgress & { readonly isAdvancing: boolean }> = {}
  ): ScanProgress => ({
    networks: [{ network: "base", seenUntil, isAdvancing: more.isAdvancing ?? true }],
    handling: more.handling ?? "done"
  })
  const tickWith = (seen: ScanProgress): ReadonlyArray<Command> => [{ _tag: "Tick", progress: seen }]

  it("expires only when its network was seen up to expires_at, that second included", () => {
    const early = decided(fresh(), tickWith(sight(expiresAt - 1)), expiresAt + 1)
    assert.strictEqual(early.next.invoice.status, "unpaid")
    assert.deepStrictEqual([early.events, early.changedExceptions], [[], []])
    assert.strictEqual(decided(fresh(), tickWith(sight(expiresAt)), expiresAt + 1).next.invoice.status, "expired")
    assert.deepStrictEqual(decided(fresh(), tickWith(sight(expiresAt)), expiresAt + 1).changedExceptions, [])
    const unhandled = sight(expiresAt, { handling: "under_way" })
    assert.strictEqual(decided(fresh(), tickWith(unhandled), expiresAt + 1).next.invoice.status, "unpaid")
  })

  it("waits for no network on which it cannot be paid", () => {
    const elsewhere = fresh({ policy: { ...fresh().invoice.policy, acceptedNetworks: ["ethereum"] } })
    assert.strictEqual(decided(elsewhere, tickWith(sight(null)), expiresAt).next.invoice.status, "expired")
    assert.strictEqual(decided(fresh(), tickWith(nothingToScan), expiresAt).next.invoice.status, "expired")
  })

  it("waits a day for a network that cannot be seen, and then expires with an exception", () => {
    const down = sight(expiresAt - 30, { isAdvancing: false })
    const failing = sight(expiresAt, { handling: "failing" })
    for (const [seen, networks] of [[down, "base"], [failing, ""]] as const) {
      const paused = decided(fresh(), tickWith(seen), expiresAt + outageWaitSeconds - 1)
      assert.strictEqual(paused.next.invoice.status, "unpaid")
      const over = decided(fresh(), tickWith(seen), expiresAt + outageWaitSeconds)
      assert.strictEqual(over.next.invoice.status, "expired")
      assert.deepStrictEqual(over.changedExceptions.map(({ amount, paymentId, type }) => [type, paymentId, amount]), [
        ["expiry_unseen", null, 50_000n]
      ])
      assert.deepInclude(over.changedExceptions[0]!.evidence, { networks })
    }
  })

  it("waits a week for a network that is being read after a long stop", () => {
    const behind = sight(expiresAt - 90_000)
    assert.strictEqual(decided(fresh(), tickWith(behind), expiresAt + catchUpSeconds - 1).next.invoice.status, "unpaid")
    const over = decided(fresh(), tickWith(behind), expiresAt + catchUpSeconds)
    assert.deepStrictEqual([over.next.invoice.status, over.changedExceptions[0]?.type], ["expired", "expiry_unseen"])
  })

  it("looks again when one more block may have come, at least each second and at most each minute", () => {
    const dueAfter = (seen: ScanProgress, at = expiresAt + 4) =>
      decided(fresh(), tickWith(seen), at).next.invoice.dueAt! - at
    assert.strictEqual(dueAfter(sight(expiresAt - 1)), 5)
    assert.strictEqual(dueAfter(sight(expiresAt - 1), expiresAt), 1)
    assert.strictEqual(dueAfter(sight(expiresAt - 3_000)), 60)
    assert.strictEqual(dueAfter(sight(null)), 60)
    assert.strictEqual(dueAfter(sight(expiresAt, { handling: "under_way" })), 4)
    assert.strictEqual(dueAfter(sight(expiresAt, { handling: "under_way" }), expiresAt), 1)
  })

  it("ends the grace of a part payment only when its network was seen up to it and nothing more is pending", () => {
    const [part, rest] = [arrival(1, 20_000n), arrival(2, 5_000n)]
    const { next } = decided(fresh(), [observe(part), confirm(part)])
    const graceEnd = expiresAt + 86_400
    const held = decided(next, tickWith(sight(graceEnd - 1)), graceEnd)
    assert.deepStrictEqual([held.changedExceptions, held.next.invoice.graceEnded, held.next.invoice.dueAt], [
      [],
      false,
      graceEnd + 1
    ])
    const pending = decided(next, [observe(rest)], graceEnd - 1)
    assert.isNull(pending.next.invoice.dueAt)
    assert.deepStrictEqual(decided(pending.next, tickWith(sight(graceEnd)), graceEnd).changedExceptions, [])
    const short = decided(pending.next, [confirm(rest)], graceEnd + 9)
    assert.strictEqual(short.next.invoice.dueAt, graceEnd)
    const over = decided(short.next, tickWith(sight(graceEnd)), graceEnd + 9)
    assert.deepStrictEqual(over.changedExceptions.map(({ type }) => type), ["underpaid_expired"])
    const blind = decided(next, tickWith(sight(null, { isAdvancing: false })), graceEnd + outageWaitSeconds)
    assert.deepStrictEqual(blind.changedExceptions.map(({ type }) => type), ["expiry_unseen", "underpaid_expired"])
  })

  it("never expires an underpaid invoice: after its grace an exception opens, once", () => {
    const part = arrival(1, 20_000n)
    const { next } = decided(fresh(), [observe(part), confirm(part)])
    assert.strictEqual(next.invoice.dueAt, expiresAt + 86_400)
    const over = decided(next, [{ _tag: "Tick", progress: nothingToScan }], expiresAt + 86_400)
    assert.strictEqual(over.next.invoice.status, "underpaid")
    assert.strictEqual(over.changedExceptions[0]?.type, "underpaid_expired")
    assert.deepStrictEqual(
      decided(over.next, [{ _tag: "Tick", progress: nothingToScan }], expiresAt + 90_000).changedExceptions,
      []
    )
  })

  it("accepts late money inside the window, and refuses it after, on a canceled or on a commerce invoice", () => {
    const late = (seconds: number) => arrival(1, 50_000n, { seenAt: expiresAt + seconds })
    const expired = fresh({ status: "expired", dueAt: null })
    const inside = late(604_800)
    assert.strictEqual(decided(expired, [observe(inside), confirm(inside)]).next.invoice.status, "paid")
    const refused: ReadonlyArray<[Aggregate, IncomingTransfer]> = [
      [expired, late(604_801)],
      [fresh({ status: "canceled" }), arrival(1, 50_000n)],
      [fresh({ status: "expired", type: "commerce" }), late(1)]
    ]
    for (const [state, one] of refused) {
      const decision = decided(state, [observe(one), confirm(one)])
      assert.strictEqual(decision.next.invoice.status, state.invoice.status)
      assert.strictEqual(decision.next.payments[0]!.status, "rejected")
      assert.strictEqual(decision.changedExceptions[0]?.type, "late_payment")
    }
  })

  it("takes a paid invoice back when its payment is reorged out, and restores it when it is included again", () => {
    const one = arrival(1, 50_000n)
    const paid = replay(fresh(), [observe(one), confirm(one)]).state
    const back = decided(paid, [revert(one)])
    assert.deepStrictEqual(types(back.events), ["invoice_payment.updated", "invoice.updated", "exception.opened"])
    assert.strictEqual(back.next.invoice.status, "unpaid")
    assert.isNull(back.next.invoice.paidAt)
    assert.strictEqual(back.changedExceptions[0]?.type, "reorged")
    const again = replay(back.next, [observe(one), confirm(one)])
    assert.strictEqual(again.state.invoice.status, "paid")
    assert.strictEqual(again.state.payments.length, 1)
  })

  it("values what is included again as before, unless it is another amount or was never priced", () => {
    const one = arrival(1, 50_000n)
    const gone = replay(fresh(), [observe(one), confirm(one), revert(one)]).state
    const dearer = { ...one, amount: usdMillis(60_000n) }
    assert.strictEqual(replay(gone, [observe(dearer), confirm(one)]).state.invoice.amountPaid, 50_000n)
    const larger = { ...dearer, units: one.units + 1n }
    assert.strictEqual(replay(gone, [observe(larger), confirm(one)]).state.invoice.amountPaid, 60_000n)
    const unpriced = { ...one, amount: usdMillis(0n), metadata: { ...one.metadata, quote: null } }
    const late = replay(fresh(), [observe(unpriced), revert(one), observe(one), confirm(one)]).state
    assert.strictEqual(late.invoice.amountPaid, 50_000n)
  })

  it("keeps an unpriced payment pending however deep it is, and counts it once it is priced", () => {
    const bare = arrival(1, 0n, {
      metadata: {
        quote: null,
        confirmations: 1,
        required_confirmations: 1,
        block_number: 1,
        exception: null,
        token: null
      }
    })
    const deep = replay(fresh(), [observe(bare), confirm(bare)]).state
    assert.strictEqual(deep.payments[0]!.status, "pending")
    const value: Command = { _tag: "Value", paymentId: bare.id, amount: usdMillis(50_000n), quote: priced }
    assert.strictEqual(decided(deep, [value, confirm(bare)]).next.invoice.status, "paid")
    const stuck = decided(deep, [{ _tag: "RequireManualRetry", paymentId: bare.id }]).next
    assert.strictEqual(stuck.payments[0]!.status, "manual_retry")
    assert.strictEqual(decided(stuck, [value, confirm(bare)]).next.invoice.status, "paid")
  })

  it("records wrong tokens, wrong networks and dust as rejected, with an exception each", () => {
    const wrong = arrival(1, 0n, { metadata: { ...arrival(1, 0n).metadata, quote: null, exception: "wrong_token" } })
    const dust = arrival(2, 0n)
    for (const [one, type] of [[wrong, "wrong_token"], [dust, "below_dust"]] as const) {
      const decision = decided(fresh(), [observe(one), confirm(one)])
      assert.deepStrictEqual(types(decision.events), [
        "invoice_payment.created",
        "invoice_payment.updated",
        "exception.opened"
      ])
      assert.strictEqual(decision.next.payments[0]!.confirmedAt, now, "how deep it is decides when it may be accepted")
      assert.strictEqual(decision.next.payments[0]!.status, "rejected")
      assert.strictEqual(decision.changedExceptions[0]?.type, type)
    }
  })

  it("names an unlisted token once, by what its contract says, and counts it no more for that", () => {
    const token = { id: null, symbol: null, address: "0xfa4e", decimals: null }
    const bare = arrival(1, 0n)
    const fake = {
      ...bare,
      tokenId: null,
      tokenDecimals: null,
      units: 1_500_000n,
      metadata: { ...bare.metadata, quote: null, exception: "wrong_token", token }
    } as const
    const name = (symbol: string | null, decimals: number | null): Command => ({
      _tag: "NameToken",
      paymentId: fake.id,
      symbol,
      decimals
    })
    const seen = replay(fresh(), [observe(fake)]).state
    assert.deepStrictEqual(decided(seen, [name(null, null)]).events, [])
    const { events, next } = decided(seen, [name("<b>USDC</b>", 6)])
    assert.deepStrictEqual(types(events), ["invoice_payment.updated"])
    assert.deepInclude(events[0]!.object, { payer_amount_token: "1.500000", status: "rejected", amount: 0 })
    assert.deepStrictEqual((events[0]!.object["metadata"] as PaymentMetadata).token, {
      ...token,
      symbol: "<b>USDC</b>",
      decimals: 6
    })
    assert.strictEqual(events[0]!.previousAttributes["payer_amount_token"], null)
    assert.deepStrictEqual(decided(next, [name("OTHER", 18)]).events, [], "it cannot change its name")
    const listed = {
      ...arrival(2, 1n),
      metadata: { ...arrival(2, 1n).metadata, token: { ...token, id: TokenId.make(1) } }
    }
    const known = replay(fresh(), [observe(listed)]).state
    assert.deepStrictEqual(decided(known, [{ ...name("OTHER", 18), paymentId: listed.id } as Command]).events, [])
  })

  it("sees a transfer that is told twice once", () => {
    const one = arrival(1, 20_000n)
    const twice = replay(fresh(), [observe(one), observe(one), confirm(one), confirm(one), observe(one)])
    assert.strictEqual(twice.state.invoice.amountPaid, 20_000n)
    assert.strictEqual(twice.events.length, 4)
  })

  it("cancels unpaid and expired invoices only, and never one with a payment under way", () => {
    for (const status of ["unpaid", "expired"] as const) {
      const decision = decided(fresh({ status }), [{ _tag: "Cancel" }])
      assert.deepStrictEqual(types(decision.events), ["invoice.updated", "invoice.canceled"])
    }
    for (const status of ["underpaid", "paid", "canceled"] as const) {
      assert.strictEqual(decide(fresh({ status }), [{ _tag: "Cancel" }], now), "not_cancelable")
    }
    const pending = decided(fresh(), [observe(arrival(1, 50_000n))]).next
    assert.strictEqual(decide(pending, [{ _tag: "Cancel" }], now), "not_cancelable")
  })

  it("ends before its time on devnet only, and then as the clock would have ended it", () => {
    const commands: ReadonlyArray<Command> = [{ _tag: "End" }, { _tag: "Tick", progress: nothingToScan }]
    const ended = decided(fresh(), commands)
    assert.deepStrictEqual(types(ended.events), ["invoice.updated", "invoice.updated", "invoice.expired"])
    assert.include(ended.next.invoice, { status: "expired", expiresAt: now, dueAt: null })
    const pending = decided(fresh(), [observe(arrival(1, 50_000n))]).next
    assert.strictEqual(decided(pending, commands).next.invoice.status, "unpaid")
    const part = replay(fresh(), [observe(arrival(1, 20_000n)), confirm(arrival(1, 20_000n))]).state
    const cut = decided(part, commands).next
    assert.include(cut.invoice, { status: "underpaid", expiresAt: now, graceEnded: false, dueAt: now + 86_400 })
    assert.deepStrictEqual(cut.invoice.policy, part.invoice.policy, "a part payment has its grace, as by the clock")
    assert.isTrue(isPayable(cut.invoice, now + 86_399))
    const over = decided(cut, [{ _tag: "Tick", progress: nothingToScan }], now + 86_400)
    assert.deepStrictEqual(over.changedExceptions.map(({ type }) => type), ["underpaid_expired"])
    const rest = arrival(2, 30_000n, { seenAt: now + 10 })
    assert.strictEqual(replay(cut, [observe(rest), confirm(rest)], now + 10).state.invoice.status, "paid")
    for (const other of [{ environment: "mainnet" }, { status: "paid" }, { status: "canceled" }] as const) {
      assert.deepStrictEqual(decided(fresh(other), [{ _tag: "End" }]).events, [])
    }
  })

  it("locks the route of the first counted payment while underpaid, and takes no payment past the grace", () => {
    const first = arrival(1, 10_000n, { network: "base", tokenId: 7 })
    const second = arrival(2, 10_000n, { network: "ethereum", tokenId: 9 })
    const { next } = decided(fresh(), [observe(first), observe(second), confirm(second), confirm(first)])
    assert.deepStrictEqual(lockedRoute(next), { network: "base", tokenId: 7 })
    assert.isTrue(isPayable(next.invoice, expiresAt + 86_399))
    assert.isFalse(isPayable(next.invoice, expiresAt + 86_400))
    assert.isFalse(isPayable(invoice(), expiresAt))
  })

  it("shows as payer who paid last, and locks the route of who paid first, also within one second", () => {
    for (const ids of [[1, 2], [2, 1]] as const) {
      const [first, second] = ids.map((index) =>
        arrival(index, 10_000n, { seenAt: now, tokenId: index, network: index === 1 ? "base" : "bsc" })
      ) as [IncomingTransfer, IncomingTransfer]
      const { next } = decided(fresh(), [observe(first), observe(second), confirm(second), confirm(first)])
      assert.strictEqual(next.invoice.payerWalletAddress, second.sender)
      assert.deepStrictEqual(lockedRoute(next), { network: first.network, tokenId: first.tokenId })
    }
  })

  it("caps the tolerance at a tenth of the amount and at $100", () => {
    assert.strictEqual(toleranceOf(usdMillis(50_000n), 50, 10), 250)
    assert.strictEqual(toleranceOf(usdMillis(50n), 0, 10), 5)
    assert.strictEqual(toleranceOf(usdMillis(1_000_000_000n), 10_000, 10), 100_000)
  })
})
