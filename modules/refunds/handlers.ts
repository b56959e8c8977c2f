/** Wire to service and back. */
import { Effect } from "effect"
import { dieOnReplay, noCause } from "../../runtime/Commit.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Settings } from "../../runtime/Settings.ts"
import { publicError } from "../../schemas/Errors.ts"
import { isUuid, MerchantId, RefundId } from "../../schemas/Ids.ts"
import { formatUnits } from "../../schemas/Money.ts"
import type { Refund } from "../../schemas/Refund.ts"
import { Invoices } from "../invoices/plugin.ts"
import { callOf, handlers } from "./handlers/Calls.ts"
import { Refunds } from "./service.ts"
import type { LinkedRefund, RefundCaller } from "./service/PaymentRefunds.ts"
import type { PayoutReport as Report } from "./service/Reports.ts"
import { defaultPageSize, linkedRefundObject, type RefundCommand, refundObject, type RefundState } from "./machine.ts"
import { type PayoutReport, RefundsRpc } from "./rpc.ts"

export { handlers }

const reportOf = (report: typeof PayoutReport.Type): Report => {
  switch (report.status) {
    case "submitted":
      return { _tag: "Submitted", txHash: report.tx_hash }
    case "succeeded":
      return {
        _tag: "Succeeded",
        txHash: report.tx_hash,
        height: report.height === undefined ? null : BigInt(report.height),
        index: report.index ?? null,
        from: report.from ?? null
      }
    case "failed":
      return { _tag: "Failed", code: report.failure_code }
  }
}

/** An internal service, which never approves. */
const programOf = (actor: string): RefundCaller => ({
  kind: "key",
  credential: `service:${actor}`,
  person: null,
  role: "owner"
})

/** A call of the internal port has no key by which it could be repeated. */
const unrepeated = { cause: noCause, reply: () => undefined }

/** The calls of `RefundsRpc`. */
export const rpcHandlers = Rpc.handlers(
  RefundsRpc,
  Effect.gen(function*() {
    const invoices = yield* Invoices
    const refunds = yield* Refunds
    const { publicUrl } = yield* Settings

    const operatorRefund = Effect.fnUntraced(function*(refund: RefundState) {
      const { invoiceId, merchantId } = refund
      const current = invoiceId === null ? null : yield* invoices.get(merchantId, invoiceId)
      if (current === null && invoiceId !== null) return yield* publicError("INVOICE_NOT_FOUND")
      return {
        merchant_id: MerchantId.make(refund.merchantId),
        environment: refund.environment,
        destination_memo: refund.destination?.memo ?? null,
        payout: refund.token === null || refund.tokenAmount === null ? null : {
          token_id: refund.token.id,
          token_amount: formatUnits(refund.tokenAmount, refund.token.decimals),
          units: refund.tokenAmount.toString()
        },
        refund: refundObject(refund, current?.invoice ?? { orderId: null }) as typeof Refund.Type
      }
    })

    /** With the claim link that it has just got. */
    const linkedRefund = ({ claimToken, refund }: LinkedRefund) =>
      Effect.map(operatorRefund(refund), (shown) => ({
        ...shown,
        refund: { ...shown.refund, claim_url: linkedRefundObject({ claimToken, refund }, publicUrl).claim_url }
      }))

    const change = (refundId: string, command: RefundCommand, actor = "operator") =>
      refunds.change(refundId, command, noCause, `service:${actor}`).pipe(
        dieOnReplay,
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
      "refunds.create": Effect.fnUntraced(function*({ actor = "operator", merchant_id, refund }) {
        const invoiceId = refund.invoice_id.toLowerCase()
        const found = isUuid(invoiceId) ? yield* invoices.get(merchant_id, invoiceId) : null
        if (found === null) return yield* publicError("INVOICE_NOT_FOUND")
        const request = yield* callOf(refund, programOf(actor))
        const opened = yield* refunds.openOfInvoice(invoiceId, request, unrepeated).pipe(dieOnReplay)
        return { refunds: yield* Effect.forEach(opened, linkedRefund) }
      }),
      "refunds.cancel": ({ actor = "operator", refund_id }) =>
        refunds.act(refund_id, "cancel", programOf(actor), unrepeated).pipe(
          dieOnReplay,
          Effect.flatMap(operatorRefund)
        ),
      "refunds.claims.create": ({ actor = "operator", refund_id }) =>
        refunds.renewClaim(refund_id, programOf(actor), unrepeated).pipe(dieOnReplay, Effect.flatMap(linkedRefund)),
      "refunds.approve": ({ actor, refund_id }) => change(refund_id, { _tag: "Approve" }, actor),
      "refunds.retry": ({ actor, refund_id }) => change(refund_id, { _tag: "Retry" }, actor),
      "refunds.report": ({ actor = "operator", refund_id, report }) =>
        Effect.flatMap(refunds.report(refund_id, reportOf(report), `service:${actor}`), operatorRefund)
    })
  })
)
