/** Wire to service and back. */
import { Effect } from "effect"
import { noCause } from "../../runtime/Commit.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { publicError } from "../../schemas/Errors.ts"
import { MerchantId, RefundId } from "../../schemas/Ids.ts"
import { formatUnits } from "../../schemas/Money.ts"
import type { Refund } from "../../schemas/Refund.ts"
import { Invoices } from "../invoices/plugin.ts"
import { Refunds } from "./service.ts"
import type { PayoutReport as Report } from "./service/Reports.ts"
import { defaultPageSize, type RefundCommand, refundObject, type RefundState } from "./machine.ts"
import { type PayoutReport, RefundsRpc } from "./rpc.ts"

export { handlers } from "./handlers/Calls.ts"

const reportOf = (report: typeof PayoutReport.Type): Report => {
  switch (report.status) {
    case "submitted":
      return { _tag: "Submitted", txHash: report.tx_hash }
    case "succeeded":
      return {
        _tag: "Succeeded",
        txHash: report.tx_hash,
        height: report.height === undefined ? null : BigInt(report.height),
        index: report.index ?? null
      }
    case "failed":
      return { _tag: "Failed", code: report.failure_code }
  }
}

/** The calls of `RefundsRpc`. */
export const rpcHandlers = Rpc.handlers(
  RefundsRpc,
  Effect.gen(function*() {
    const invoices = yield* Invoices
    const refunds = yield* Refunds

    const operatorRefund = Effect.fnUntraced(function*(refund: RefundState) {
      const current = yield* invoices.get(refund.merchantId, refund.invoiceId)
      if (current === null) return yield* publicError("INVOICE_NOT_FOUND")
      return {
        merchant_id: MerchantId.make(refund.merchantId),
        environment: refund.environment,
        destination_memo: refund.destination?.memo ?? null,
        payout: refund.token === null || refund.tokenAmount === null ? null : {
          token_id: refund.token.id,
          token_amount: formatUnits(refund.tokenAmount, refund.token.decimals),
          units: refund.tokenAmount.toString()
        },
        refund: refundObject(refund, current.invoice) as typeof Refund.Type
      }
    })

    const change = (refundId: string, command: RefundCommand, actor = "operator") =>
      refunds.change(refundId, command, noCause, `service:${actor}`).pipe(
        Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)),
        Effect.flatMap(operatorRefund)
      )

    return RefundsRpc.of({
      "refunds.get": Effect.fnUntraced(function*({ refund_id }) {
        const found = yield* refunds.find(refund_id)
        return found === null ? yield* publicError("REFUND_NOT_FOUND") : yield* operatorRefund(found)
      }),
      "refunds.list": Effect.fnUntraced(function*({ before, limit = defaultPageSize, merchant_id, status }) {
        const found = yield* refunds.list({
          merchantId: merchant_id ?? null,
          status: status ?? null,
          before: before ?? null,
          limit: limit + 1
        })
        const page = found.slice(0, limit)
        return {
          refunds: yield* Effect.forEach(page, operatorRefund),
          next: found.length > limit ? RefundId.make(page.at(-1)!.id) : null
        }
      }),
      "refunds.approve": ({ actor, refund_id }) => change(refund_id, { _tag: "Approve" }, actor),
      "refunds.retry": ({ actor, refund_id }) => change(refund_id, { _tag: "Retry" }, actor),
      "refunds.report": ({ actor = "operator", refund_id, report }) =>
        Effect.flatMap(refunds.report(refund_id, reportOf(report), `service:${actor}`), operatorRefund)
    })
  })
)
