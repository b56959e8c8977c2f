/**
 * Goal: the guide on settlement says what the program does, row by row.
 * Method: the guide's Markdown is read as data; each report and refund is made to a payment in each status.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  type Aggregate,
  type Command,
  decide,
  type Decision,
  type PaymentState
} from "../../../modules/invoices/machine.ts"
import {
  applyReports,
  maximumRetries,
  retryAfterSeconds,
  type SettlementReport
} from "../../../modules/settlement/rules.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { SettlementProgress, SettlementStage, SettlementStatus } from "../../../schemas/Payment.ts"
import { arrival, guide, now, rowsOf, unpaid } from "../../fixtures/guides.ts"

describe("the guide on settlement", () => {
  const rows = rowsOf("`settlement_status`", "`settlement.stage`")
  const list = (cell: string | undefined) => (cell ?? "").split(", ").filter((name) => name !== "")

  it("lists every status, stage and progress", () => {
    assert.sameMembers(rows.map(([status]) => status as string), [...SettlementStatus.literals])
    const named = (column: number) => new Set(rows.flatMap((row) => list(row[column])).filter((name) => name !== "any"))
    assert.deepStrictEqual(named(1), new Set(SettlementStage.literals))
    assert.deepStrictEqual(named(2), new Set(SettlementProgress.literals))
  })

  it("lists what follows each status by a report or a refund, and nothing else", () => {
    const one = arrival(1, 50_000n, now)
    const paid = decide({ invoice: unpaid, payments: [], exceptions: [] }, [
      { _tag: "Observe", transfer: one },
      { _tag: "Confirm", paymentId: one.id, confirmations: 1 }
    ], now) as Decision
    const [payment] = paid.next.payments as [PaymentState]
    const inStatus = (status: SettlementStatus): Aggregate => {
      const progress = status === "pending" ? "queued" : status === "processing" ?
        "submitted"
        : status === "failed" || status === "manual"
        ? "failed"
        : "settled"
      const refunded = usdMillis(status === "refunded" ? 50_000n : status === "partially_refunded" ? 1n : 0n)
      const settledAmount = progress === "settled" ? usdMillis(50_000n - refunded) : null
      const settlement = {
        status,
        progress,
        settledAmount,
        stage: progress === "settled" ? "final" : "sweep",
        settledAt: null,
        id: null,
        txHash: null,
        network: null
      } as const
      return { ...paid.next, payments: [{ ...payment, settlement, refunded }] }
    }
    const reports: ReadonlyArray<SettlementReport> = [
      { _tag: "Submitted", stage: "transfer", txHash: "0x1", network: "base" },
      { _tag: "Settled", txHash: "0x1", network: "base", amount: null },
      { _tag: "Failed", reason: "" },
      { _tag: "Review", reason: "" },
      { _tag: "Retry" }
    ]
    for (const [status, , , next] of rows) {
      const before = inStatus(status as SettlementStatus)
      const made = reports.flatMap((report) => {
        const taken = applyReports(before, [{ paymentId: one.id, report }], now)
        return "code" in taken ? [] : [taken.commands]
      })
      const refunds: ReadonlyArray<ReadonlyArray<Command>> = ["settled", "partially_refunded"].includes(status!)
        ? [1_000n, 50_000n].map((amount) => [{ _tag: "Refund", paymentId: one.id, amount: usdMillis(amount) }])
        : []
      const after = [...made, ...refunds].map((commands) =>
        (decide(before, commands, now) as Decision).next.payments[0]!.settlement!.status
      )
      assert.sameMembers([...new Set(after)].filter((each) => each !== status), list(next), status)
    }
  })

  it("names the pauses between automatic retries", () => {
    const minutes = Array.from({ length: maximumRetries }, (_, made) => retryAfterSeconds(made) / 60)
    assert.deepStrictEqual(minutes, [0.5, 2, 8, 32, 128])
    assert.include(guide.replaceAll(/\s+/g, " "), "five times, after 30 seconds, 2, 8, 32 and 128 minutes")
  })
})
