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
import { defaultPageSize, type RefundCommand, refundObject, type RefundState } from "./machine.ts"
import { type PayoutReport, RefundsRpc } from "./rpc.ts"

export { handlers } from "./handlers/Calls.ts"

const commandOf = (report: typeof PayoutReport.Type): RefundCommand => {
  switch (report.status) {
    case "submitted":
      return { _tag: "Submit", txHash: report.tx_hash }
    case "succeeded":
      return { _tag: "Succeed", txHash: report.tx_hash }
    case "failed":
      return { _tag: "Fail", code: report.failure_code }
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

    /** A transaction that nobody looked at proves nothing: what a merchant asked for is not paid by a word. */
    const refuseUnproven = Effect.fnUntraced(function*(refundId: string, { _tag }: RefundCommand) {
      const found = _tag === "Succeed" ? yield* refunds.find(refundId) : null
      if (found !== null && found.terms !== null) {
        return yield* publicError("INVALID_TRANSITION", {
          message: "A refund of an invoice cannot be reported as succeeded yet: report it as submitted"
        })
      }
    })

    const change = (refundId: string, command: RefundCommand, actor = "operator") =>
      Effect.andThen(
        refuseUnproven(refundId, command),
        refunds.change(refundId, command, noCause, `service:${actor}`)
      ).pipe(
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
      "refunds.report": ({ actor, refund_id, report }) => change(refund_id, commandOf(report), actor)
    })
  })
)
