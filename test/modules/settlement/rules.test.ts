/**
 * Goal: whatever the chain, the driver and the operator tell, in whatever order, a payment's settlement follows the
 * table of the contract, is told once with what moved it, and never says more than is true. Method: properties over
 * random facts through both machines, as the hook joins them; then the table word by word.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  type Aggregate,
  type Command,
  decide,
  type Decision,
  type IncomingTransfer,
  invoiceObject,
  type InvoiceState,
  paymentObject,
  type PaymentState
} from "../../../modules/invoices/machine.ts"
import {
  affectedPayments,
  applyDriverAnswer,
  applyReports,
  type DriverPolicy,
  maximumRetries,
  type ReportResult,
  retryAfterSeconds,
  type SettlementReport,
  type SettlementState,
  updateSettlement
} from "../../../modules/settlement/rules.ts"
import { type EventDraft, previousAttributes } from "../../../schemas/Event.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import { openExceptionKeys } from "../../support/OpenExceptions.ts"
import { unpaidInvoice } from "../../fixtures/invoices.ts"

const now = 1_766_320_000

const invoice: InvoiceState = unpaidInvoice(now, now + 3_600)

const drivers: Readonly<Record<"direct" | "auto" | "waiting" | "manual", DriverPolicy>> = {
  direct: {
    name: "direct",
    firstStage: "awaiting_confirmation",
    firstCheckSeconds: () => 0,
    nextCheckSeconds: () => 5,
    retriesFailures: true
  },
  auto: {
    name: "auto",
    firstStage: "sweep",
    firstCheckSeconds: () => 0,
    nextCheckSeconds: () => 5,
    retriesFailures: true
  },
  waiting: {
    name: "waiting",
    firstStage: "sweep",
    firstCheckSeconds: null,
    nextCheckSeconds: () => 5,
    retriesFailures: true
  },
  manual: {
    name: "manual",
    firstStage: "sweep",
    firstCheckSeconds: null,
    nextCheckSeconds: () => 5,
    retriesFailures: false
  }
}

const arrival = (index: number, amount = 50_000n): IncomingTransfer => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  network: "base",
  tokenId: 1,
  tokenDecimals: 6,
  txHash: `0x${index}`,
  sender: "0xpayer",
  units: amount * 1_000n,
  amount: usdMillis(amount),
  seenAt: now,
  metadata: {
    quote: { quote_id: null, exchange_rate: "1", rate_source: "fixed", priced_at: now, pricing: "spot" },
    confirmations: 1,
    required_confirmations: 1,
    block_number: 100,
    exception: null,
    token: null
  }
})

/** An invoice, its settlements' rows, and everything told so far. */
interface World {
  readonly state: Aggregate
  readonly rows: ReadonlyMap<string, SettlementState>
}

const start: World = { state: { invoice, payments: [], exceptions: [] }, rows: new Map() }

interface Turn extends World {
  readonly events: ReadonlyArray<EventDraft>
  readonly opens: ReadonlyArray<string>
  readonly wrote: ReadonlyArray<SettlementState>
}

/** One change, as the actor makes it: the decision, what settlement adds, all decided together. */
const turn = (world: World, driver: DriverPolicy, { commands, facts }: ReportResult, at = now): Turn => {
  const first = decide(world.state, commands, at) as Decision
  const beside = affectedPayments(world.state, first.next, facts).map((one) =>
    updateSettlement(
      { ...one, row: world.rows.get(one.after.id) },
      { merchantId: 123, environment: "devnet", invoiceId: invoice.id },
      driver,
      facts,
      at
    )
  )
  const all = [...commands, ...beside.flatMap((one) => one.commands)]
  const { changedExceptions, events, next } = decide(world.state, all, at) as Decision
  const wrote = beside.flatMap(({ rows }) => rows)
  for (const row of wrote) assert.strictEqual(row.version, (world.rows.get(row.paymentId)?.version ?? 0) + 1)
  return {
    state: next,
    rows: new Map([...world.rows, ...wrote.map((row) => [row.paymentId, row] as const)]),
    events,
    opens: changedExceptions.map(({ paymentId, type }) => `${type}:${paymentId}`),
    wrote
  }
}

const moves = (world: World, driver: DriverPolicy, commands: ReadonlyArray<Command>, at = now) =>
  turn(world, driver, { commands, facts: [] }, at)

const tells = (
  world: World,
  driver: DriverPolicy,
  paymentId: string,
  report: SettlementReport,
  at = now
): Turn | string => {
  const taken = applyReports(world.state, [{ paymentId, report }], at)
  return "code" in taken ? taken.code : turn(world, driver, taken, at)
}

/** The clock comes to a payment, and its driver says what it says. */
const clockComes = (
  world: World,
  driver: DriverPolicy,
  paymentId: string,
  said: SettlementReport | undefined,
  at: number
) => turn(world, driver, applyDriverAnswer(world.state, paymentId, said, at), at)

const told = (answer: Turn | string): Turn => {
  assert.isObject(answer, `refused: ${String(answer)}`)
  return answer as Turn
}

const one = arrival(1)
const observe: Command = { _tag: "Observe", transfer: one }
const confirm: Command = { _tag: "Confirm", paymentId: one.id, confirmations: 1 }
const revert: Command = { _tag: "Revert", paymentId: one.id }

const counted = (driver: DriverPolicy): World => moves(start, driver, [observe, confirm])

const settlementOf = ({ state }: World) => state.payments[0]!.settlement
const rowOf = ({ rows }: World) => rows.get(one.id)!

const settled: SettlementReport = { _tag: "Settled", txHash: "0xsettle", network: "base", amount: null }
const straight: SettlementReport = { _tag: "Settled", txHash: null, network: "base", amount: null }
const failed: SettlementReport = { _tag: "Failed", reason: "no gas" }

const Move = Schema.Struct({
  kind: Schema.Literals([
    "observe",
    "confirm",
    "revert",
    "giveUp",
    "refund",
    "clock",
    "clockSettles",
    "clockFails",
    "submitted",
    "confirming",
    "settled",
    "straight",
    "failed",
    "review",
    "abandon",
    "retry"
  ]),
  payment: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 })),
  stage: Schema.Literals(["sweep", "convert", "transfer"]),
  amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40_000 })),
  /** In one commit with the move before. */
  isTogether: Schema.Boolean
})
const Moves = Schema.Array(Move).check(Schema.isMaxLength(40))
const Driver = Schema.Literals(["direct", "auto", "waiting", "manual"])

const reportOf = ({ kind, stage }: typeof Move.Type): SettlementReport | undefined => {
  switch (kind) {
    case "submitted":
    case "confirming":
      return { _tag: kind === "submitted" ? "Submitted" : "Confirming", stage, txHash: `0x${stage}`, network: "base" }
    case "settled":
    case "clockSettles":
      return settled
    case "straight":
      return straight
    case "failed":
    case "clockFails":
      return failed
    case "review":
      return { _tag: "Review", reason: "look" }
    case "abandon":
      return { _tag: "GiveUp", reason: "lost" }
    case "retry":
      return { _tag: "Retry" }
    default:
      return undefined
  }
}

const commandOf = ({ amount, kind, payment }: typeof Move.Type): Command | undefined => {
  const its = arrival(payment, BigInt(20_000 * payment))
  switch (kind) {
    case "observe":
      return { _tag: "Observe", transfer: its }
    case "confirm":
      return { _tag: "Confirm", paymentId: its.id, confirmations: 1 }
    case "revert":
      return { _tag: "Revert", paymentId: its.id }
    case "giveUp":
      return { _tag: "RequireManualRetry", paymentId: its.id }
    case "refund":
      return { _tag: "Refund", paymentId: its.id, amount: usdMillis(BigInt(amount)) }
    default:
      return undefined
  }
}

/** Plays moves, those that belong together in one change, and shows every turn. */
const play = (
  driver: DriverPolicy,
  all: ReadonlyArray<typeof Move.Type>,
  see: (before: World, after: Turn) => void
) => {
  let world: World = start
  let commands: ReadonlyArray<Command> = []
  const flush = () => {
    if (commands.length === 0) return
    const after = moves(world, driver, commands)
    see(world, after)
    world = after
    commands = []
  }
  for (const move of all) {
    const command = commandOf(move)
    if (!move.isTogether) flush()
    if (command !== undefined) {
      commands = [...commands, command]
      continue
    }
    flush()
    const id = arrival(move.payment).id
    const report = reportOf(move)
    if (world.state.payments.every((payment) => payment.id !== id)) continue
    const after = move.kind.startsWith("clock")
      ? clockComes(world, driver, id, report, now)
      : tells(world, driver, id, report!)
    if (typeof after === "string") continue
    see(world, after)
    world = after
  }
  flush()
}

/** What the table lets follow what, where nothing was refunded; a report may skip what lies between. */
const reachable: Readonly<Record<string, ReadonlyArray<string>>> = {
  pending: ["processing", "failed", "manual", "settled"],
  processing: ["failed", "manual", "settled"],
  failed: ["processing", "manual", "settled"],
  manual: ["processing", "failed", "settled"],
  settled: []
}

/** Stage and progress that belong to a status. */
const belongs = ({ settlement }: PaymentState): boolean => {
  if (settlement === null) return true
  const { progress, stage, status } = settlement
  switch (status) {
    case "pending":
      return progress === "queued" && (stage === "awaiting_confirmation" || stage === "sweep")
    case "processing":
      return (progress === "submitted" || progress === "confirming") && ["sweep", "convert", "transfer"].includes(stage)
    case "failed":
    case "manual":
      return progress === "failed"
    case "settled":
      return progress === "settled" && stage === "final"
    case "partially_refunded":
    case "refunded":
      return true
  }
}

describe("settlement, any history", () => {
  it.effect.prop("status, stage and progress are those of the table, and one follows the other as it says", [
    Driver,
    Moves
  ], ([
    name,
    all
  ]) =>
    Effect.sync(() =>
      play(drivers[name], all, (before, after) => {
        const was = new Map(before.state.payments.map((payment) => [payment.id, payment]))
        for (const payment of after.state.payments) {
          assert.isTrue(belongs(payment), `${payment.settlement?.status} ${payment.settlement?.progress}`)
          if (isCounted(payment.status)) assert.isNotNull(payment.settlement)
          const from = was.get(payment.id)?.settlement?.status
          const to = payment.settlement?.status
          const isRefund = payment.refunded > 0n || to === undefined || from === undefined
          if (!isRefund && from !== to && isCounted(was.get(payment.id)!.status)) {
            assert.include(reachable[from]!, to)
          }
        }
      })
    ))

  it.effect.prop("a payment that is not on its chain has settled nothing, so sums over payments are right", [
    Driver,
    Moves
  ], ([
    name,
    all
  ]) =>
    Effect.sync(() =>
      play(drivers[name], all, (before, { state }) => {
        for (const payment of state.payments) {
          const { settled_amount, settled_at, settlement, settlement_status } = paymentObject(
            state.invoice,
            payment
          ) as any
          if (payment.status === "reverted") {
            assert.include([null, 0], settled_amount)
            assert.isNull(settled_at)
            assert.include([null, "failed", "partially_refunded", "refunded"], settlement_status)
            assert.notStrictEqual(settlement?.status, "settled")
          }
          const was = before.state.payments.find(({ id }) => id === payment.id)
          const comesBack = was !== undefined && !isCounted(was.status) && isCounted(payment.status)
          // What came straight is final no more; what was forwarded is the merchant's as before.
          if (comesBack && was.settlement?.progress === "settled" && payment.refunded === 0n) {
            assert.isNotNull(was.settlement.txHash)
            assert.strictEqual(settled_amount, Number(was.settlement.settledAmount))
          }
        }
      })
    ))

  it.effect.prop(
    "previous attributes lead back from every event to the one before it",
    [Driver, Moves],
    ([name, all]) =>
      Effect.sync(() => {
        const known = new Map<string, object>([[invoice.id, invoiceObject(invoice)]])
        play(drivers[name], all, (_, { events, state }) => {
          const before = new Map(known)
          for (const { object, previousAttributes: previous, type } of events) {
            const id = object.id as string
            // The specific events of an invoice share the previous attributes of their `invoice.updated`.
            if (type === "invoice.updated") before.set(id, known.get(id)!)
            if (type === "invoice_payment.created" || type === "exception.opened") assert.deepStrictEqual(previous, {})
            else {assert.deepStrictEqual(
                { ...object, ...previous },
                type.startsWith("invoice.") ? before.get(id) : known.get(id)
              )}
            if (type === "invoice_payment.updated") assert.isNotEmpty(previous)
            known.set(id, object)
          }
          for (const payment of state.payments) {
            assert.deepStrictEqual(known.get(payment.id), paymentObject(state.invoice, payment))
          }
        })
      })
  )

  it.effect.prop(
    "what is settled never exceeds what came, less what was given back",
    [Driver, Moves],
    ([name, all]) =>
      Effect.sync(() =>
        play(drivers[name], all, (_, { state }) => {
          for (const { amount, refunded, settlement } of state.payments) {
            assert.isTrue(refunded <= amount)
            if (settlement?.settledAmount != null) assert.isTrue(settlement.settledAmount <= amount - refunded)
          }
        })
      )
  )

  it.effect.prop("no more than 5 automatic retries are made, and what waits for nobody is over or an operator's", [
    Driver,
    Moves
  ], ([name, all]) =>
    Effect.sync(() => {
      const driver = drivers[name]
      play(driver, all, (_, { rows, state }) => {
        for (const [id, row] of rows) {
          const { settlement, status } = state.payments.find((payment) => payment.id === id)!
          assert.isAtMost(row.retries, maximumRetries)
          assert.strictEqual(
            row.isOpen,
            isCounted(status) || status === "manual_retry"
              ? settlement?.progress !== "settled" && settlement?.status !== "refunded" && settlement !== null
              : false
          )
          if (!row.isOpen) assert.isNull(row.dueAt)
          if (settlement?.status === "manual") {
            assert.include(openExceptionKeys(state), `settlement_failed:${id}`)
          }
        }
      })
    }))
})

describe("settlement, the contract word by word", () => {
  it("a payment that comes to count is told as confirmed and pending by one event", () => {
    for (const driver of [drivers.direct, drivers.manual]) {
      const { events } = moves(moves(start, driver, [observe]), driver, [confirm])
      assert.deepStrictEqual(events.map(({ type }) => type), [
        "invoice_payment.updated",
        "invoice.updated",
        "invoice.paid"
      ])
      const [{ object, previousAttributes: previous }] = events as [EventDraft]
      assert.include(object, { status: "confirmed", settlement_status: "pending", settled_amount: null })
      assert.deepInclude(object["settlement"], { stage: driver.firstStage, status: "queued", settlement_tx_hash: null })
      assert.deepInclude(previous, { status: "pending", settlement_status: null, settlement: null })
    }
  })

  it("steps sweep, convert, transfer, final; each step is one event and nothing is told twice", () => {
    let world: World = counted(drivers.waiting)
    for (const stage of ["sweep", "convert", "transfer"] as const) {
      for (const _tag of ["Submitted", "Confirming"] as const) {
        const report: SettlementReport = { _tag, stage, txHash: `0x${stage}`, network: "base" }
        const next = told(tells(world, drivers.waiting, one.id, report))
        assert.deepStrictEqual(next.events.map(({ type }) => type), ["invoice_payment.updated"])
        assert.include(settlementOf(next) as object, {
          status: "processing",
          stage,
          progress: _tag.toLowerCase(),
          txHash: `0x${stage}`
        })
        const again = told(tells(next, drivers.waiting, one.id, report))
        assert.deepStrictEqual(again.events, [])
        world = again
      }
    }
    assert.strictEqual(
      tells(world, drivers.waiting, one.id, { _tag: "Submitted", stage: "sweep", txHash: "0xother", network: null }),
      "INVALID_TRANSITION"
    )
    const late = told(
      tells(world, drivers.waiting, one.id, {
        _tag: "Submitted",
        stage: "transfer",
        txHash: "0xtransfer",
        network: "base"
      })
    )
    assert.deepStrictEqual(late.events, [])
    const end = told(tells(world, drivers.waiting, one.id, settled, now + 9))
    assert.include(settlementOf(end) as object, {
      status: "settled",
      stage: "final",
      progress: "settled",
      settledAmount: 50_000n,
      settledAt: now + 9,
      txHash: "0xsettle"
    })
    assert.include(rowOf(end), { isOpen: false, dueAt: null })
    assert.deepStrictEqual(told(tells(end, drivers.waiting, one.id, settled)).events, [])
    for (
      const report of [failed, { _tag: "Retry" }, { ...settled, txHash: "0xtwice" }] as ReadonlyArray<SettlementReport>
    ) {
      assert.strictEqual(tells(end, drivers.waiting, one.id, report), "INVALID_TRANSITION")
    }
  })

  it("tries again 5 times with growing pauses, then asks an operator, by one exception", () => {
    let world: World = told(tells(counted(drivers.waiting), drivers.waiting, one.id, failed))
    for (let retries = 0; retries < maximumRetries; retries++) {
      assert.strictEqual(settlementOf(world)?.status, "failed")
      assert.include(rowOf(world), { retries, dueAt: now + retryAfterSeconds(retries), reason: "no gas" })
      const retried = clockComes(world, drivers.waiting, one.id, undefined, now)
      assert.include(settlementOf(retried), { status: "processing", progress: "submitted" })
      world = told(tells(retried, drivers.waiting, one.id, failed))
    }
    const last = world as Turn
    assert.deepStrictEqual(last.opens, [`settlement_failed:${one.id}`])
    assert.include(settlementOf(last), { status: "manual", progress: "failed" })
    assert.include(rowOf(last), { retries: maximumRetries, dueAt: null, isOpen: true })
    assert.strictEqual((last.events[0]!.object as any).settlement_status, "manual")
    assert.deepStrictEqual(last.events.map(({ type }) => type), ["invoice_payment.updated", "exception.opened"])
    const again = told(tells(last, drivers.waiting, one.id, { _tag: "Retry" }))
    assert.strictEqual(settlementOf(again)?.status, "processing")
    assert.include(rowOf(again), { retries: 0 })
    assert.strictEqual(settlementOf(told(tells(again, drivers.waiting, one.id, settled)))?.status, "settled")
    assert.deepStrictEqual([1, 2, 3, 4, 5].map((made) => retryAfterSeconds(made - 1)), [30, 120, 480, 1_920, 7_680])
  })

  it("a driver that is asked fails and retries within one event each", () => {
    const first = clockComes(counted(drivers.auto), drivers.auto, one.id, failed, now)
    assert.strictEqual(settlementOf(first)?.status, "failed")
    const second = clockComes(first, drivers.auto, one.id, failed, now)
    assert.deepStrictEqual(second.events, [])
    assert.include(rowOf(second), { retries: 1, dueAt: now + retryAfterSeconds(1) })
    const third = clockComes(second, drivers.auto, one.id, settled, now)
    assert.deepStrictEqual(third.events.map(({ object }) => object["settlement_status"]), ["settled"])
  })

  it("where nobody here can try again, a failure is an operator's at once", () => {
    const turn = told(tells(counted(drivers.manual), drivers.manual, one.id, failed))
    assert.strictEqual(settlementOf(turn)?.status, "manual")
    assert.deepStrictEqual(turn.opens, [`settlement_failed:${one.id}`])
  })

  it("giving up keeps what is shown, opens an exception, stops the retries and is told to whoever waits", () => {
    for (
      const [report, status] of [[failed, "failed"], [{ _tag: "Review", reason: "?" }, "manual"], [
        null,
        "failed"
      ]] as const
    ) {
      const before = report === null
        ? counted(drivers.waiting)
        : told(tells(counted(drivers.waiting), drivers.waiting, one.id, report))
      const taken = applyReports(before.state, [{ paymentId: one.id, report: { _tag: "GiveUp", reason: "lost" } }], now)
      assert.isFalse("code" in taken)
      assert.deepInclude((taken as ReportResult).facts, { _tag: "SettlementAbandoned", paymentId: one.id })
      const after = turn(before, drivers.waiting, taken as ReportResult)
      assert.strictEqual(settlementOf(after)?.status, status)
      assert.include(openExceptionKeys(after.state), `settlement_failed:${one.id}`)
      assert.include(rowOf(after), { dueAt: null, reason: "lost" })
    }
  })

  it("a reverted payment that had not reached the merchant has no settlement, and begins anew when it comes again", () => {
    const gone = moves(counted(drivers.direct), drivers.direct, [revert])
    assert.isNull(settlementOf(gone))
    assert.include(rowOf(gone), { isOpen: false, dueAt: null, status: null })
    assert.strictEqual(tells(gone, drivers.direct, one.id, straight), "INVALID_TRANSITION")
    const again = moves(gone, drivers.direct, [observe, confirm], now + 5)
    assert.include(settlementOf(again), { status: "pending", progress: "queued" })
    assert.include(rowOf(again), { isOpen: true, dueAt: now + 5, createdAt: now + 5 })
  })

  it("what was settled is told as failed when the payor's transfer is taken back, and what was forwarded as settled when it returns", () => {
    const shown = ({ state }: Parameters<typeof settlementOf>[0]) => paymentObject(state.invoice, state.payments[0]!)
    const lost = { settlement_status: "failed", settled_amount: 0, settled_amount_decimal: "0.000", settled_at: null }
    const forwarded = told(
      tells(counted(drivers.manual), drivers.manual, one.id, { ...settled, amount: usdMillis(49_000n) })
    )
    const gone = moves(forwarded, drivers.manual, [revert])
    assert.deepInclude(shown(gone), lost)
    assert.deepInclude(shown(gone)["settlement"], {
      summary_status: "failed",
      status: "failed",
      settlement_tx_hash: settled.txHash
    })
    const back = moves(gone, drivers.manual, [observe, confirm])
    assert.deepInclude(shown(back), { settlement_status: "settled", settled_amount: 49_000 })
    const direct = told(tells(counted(drivers.direct), drivers.direct, one.id, straight))
    const taken = moves(direct, drivers.direct, [revert])
    assert.deepInclude(shown(taken), lost)
    assert.deepInclude(shown(moves(taken, drivers.direct, [observe])), {
      settlement_status: null,
      settled_amount: null
    })
    assert.deepInclude(shown(moves(taken, drivers.direct, [observe, confirm])), {
      settlement_status: "pending",
      settled_amount: null
    })
  })

  it("a refund of a part leaves the rest to be settled, one of all of it ends the settlement", () => {
    const refund = (amount: bigint): Command => ({ _tag: "Refund", paymentId: one.id, amount: usdMillis(amount) })
    const part = moves(counted(drivers.manual), drivers.manual, [refund(20_000n)])
    assert.strictEqual(settlementOf(part)?.status, "partially_refunded")
    const end = told(tells(part, drivers.manual, one.id, settled))
    assert.include(settlementOf(end) as object, {
      status: "partially_refunded",
      stage: "final",
      progress: "settled",
      settledAmount: 30_000n
    })
    const whole = moves(counted(drivers.manual), drivers.manual, [refund(50_000n)])
    assert.strictEqual(settlementOf(whole)?.status, "refunded")
    assert.include(rowOf(whole), { isOpen: false })
    assert.strictEqual(tells(whole, drivers.manual, one.id, settled), "INVALID_TRANSITION")
    const dear = told(
      tells(counted(drivers.manual), drivers.manual, one.id, { ...settled, amount: usdMillis(49_000n) })
    )
    assert.strictEqual(settlementOf(moves(dear, drivers.manual, [refund(1_000n)]))?.settledAmount, 48_000n)
  })

  it("refuses an amount that cannot be, a payment of another invoice, and one that does not count", () => {
    const world = counted(drivers.manual)
    for (const amount of [0n, 50_001n]) {
      assert.strictEqual(
        tells(world, drivers.manual, one.id, { ...settled, amount: usdMillis(amount) }),
        "VALIDATION_ERROR"
      )
    }
    assert.strictEqual(tells(world, drivers.manual, arrival(9).id, settled), "NOT_FOUND")
    assert.strictEqual(
      tells(moves(start, drivers.manual, [observe]), drivers.manual, one.id, settled),
      "INVALID_TRANSITION"
    )
  })

  it("several reports of one change are one event, from the state before all of them", () => {
    const world = counted(drivers.waiting)
    const taken = applyReports(world.state, [
      { paymentId: one.id, report: { _tag: "Submitted", stage: "transfer", txHash: "0xa", network: "base" } },
      { paymentId: one.id, report: settled }
    ], now)
    const { events } = turn(world, drivers.waiting, taken as ReportResult)
    assert.strictEqual(events.length, 1)
    const before = paymentObject(world.state.invoice, world.state.payments[0]!)
    assert.deepStrictEqual(events[0]!.previousAttributes, previousAttributes(before, events[0]!.object))
    assert.strictEqual(events[0]!.previousAttributes["settlement_status"], "pending")
  })
})
