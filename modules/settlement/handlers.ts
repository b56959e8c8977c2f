/** Settlements between the internal port and the service. */
import { Effect } from "effect"
import { dieOnReplay, noCause } from "../../runtime/Commit.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { publicError } from "../../schemas/Errors.ts"
import { usdMillis } from "../../schemas/Money.ts"
import { Invoices, paymentObject } from "../invoices/plugin.ts"
import { Settlements } from "./service.ts"
import type { SettlementReport, SettlementState } from "./rules.ts"
import { maximumPageSize, type Report, SettlementsRpc } from "./rpc.ts"

const reportOf = (report: typeof Report.Type): SettlementReport => {
  switch (report.status) {
    case "submitted":
    case "confirming": {
      const { network, stage, status, tx_hash: txHash } = report
      const step = { stage, txHash, network }
      // Two objects: TypeScript tries at most 25 pairs of a tag and a network to tell what one object is.
      return status === "submitted" ? { _tag: "Submitted", ...step } : { _tag: "Confirming", ...step }
    }
    case "settled":
      return {
        _tag: "Settled",
        txHash: report.tx_hash,
        network: report.network,
        amount: report.amount === null ? null : usdMillis(BigInt(report.amount))
      }
    case "failed":
      return { _tag: "Failed", reason: report.reason }
    case "review":
      return { _tag: "Review", reason: report.reason }
    case "given_up":
      return { _tag: "GiveUp", reason: report.reason }
    case "retry":
      return { _tag: "Retry" }
  }
}

/** What operators are told of a settlement. */
export const rowBody = (state: SettlementState) => ({
  payment_id: state.paymentId,
  invoice_id: state.invoiceId,
  merchant_id: state.merchantId,
  environment: state.environment,
  driver: state.driver,
  settlement_status: state.status,
  retries: state.retries,
  reason: state.reason,
  is_open: state.isOpen,
  due_at: state.dueAt,
  created_at: state.createdAt,
  updated_at: state.updatedAt
})

export const rpcHandlers = Rpc.handlers(
  SettlementsRpc,
  Effect.gen(function*() {
    const invoices = yield* Invoices
    const settlements = yield* Settlements

    return SettlementsRpc.of({
      "settlements.report": Effect.fnUntraced(function*({ payment_id, report }) {
        const { aggregate: { invoice, payments } } = yield* settlements.report(payment_id, reportOf(report), noCause)
          .pipe(dieOnReplay)
        return { payment: paymentObject(invoice, payments.find(({ id }) => id === payment_id)!) as never }
      }),

      "settlements.get": Effect.fnUntraced(function*({ payment_id }) {
        const invoiceId = yield* invoices.invoiceOfPayment(payment_id)
        const current = invoiceId === null ? null : yield* invoices.find(invoiceId)
        const payment = current?.payments.find(({ id }) => id === payment_id)
        if (current === null || payment === undefined) return yield* publicError("NOT_FOUND")
        const row = yield* settlements.get(current, payment_id)
        return {
          payment: paymentObject(current.invoice, payment) as never,
          settlement: row === null ? null : rowBody(row) as never
        }
      }),

      "settlements.list": Effect.fnUntraced(function*({ after, environment, limit = maximumPageSize, statuses }) {
        const place = after === undefined ? null : { createdAt: after.created_at, paymentId: after.payment_id }
        const found = yield* settlements.open(environment, statuses ?? ["manual", "failed"], place, limit + 1)
        return { settlements: found.slice(0, limit).map(rowBody) as never, has_more: found.length > limit }
      })
    })
  })
)
