/** Stuck payments between the operator API and the service. */
import { Effect } from "effect"
import { AuditLog } from "../../../runtime/AuditLog.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { operatorWrites, requireServed } from "../../../runtime/OperatorRoutes.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { InvoiceId, isUuid, MerchantId, PaymentId } from "../../../schemas/Ids.ts"
import { pageLimits, unknownCursor } from "../../../schemas/Page.ts"
import { type HeldPayment, Invoices } from "../../invoices/plugin.ts"
import { OperatorPaymentsApi } from "../operator.ts"
import { Payments } from "../service.ts"

/** Why a payment is `manual_retry`: `modules/payments/service/Credit.ts` gives up for no other reason. */
const unpriced = "no price of the token was known when it was deep enough"

const stuckPayment = (held: HeldPayment) => ({
  object: "stuck_payment" as const,
  payment_id: PaymentId.make(held.paymentId),
  invoice_id: InvoiceId.make(held.invoiceId),
  merchant_id: MerchantId.make(held.merchantId),
  environment: held.environment,
  status: "manual_retry" as const,
  reason: unpriced,
  network: held.network,
  token_id: held.tokenId,
  units: held.units,
  tx_hash: held.txHash,
  seen_at: held.seenAt
})

export const operatorHandlers = Operations.group(
  OperatorPaymentsApi,
  "operatorPayments",
  Effect.fn(function*(group) {
    const auditLog = yield* AuditLog
    const invoices = yield* Invoices
    const payments = yield* Payments
    const settings = yield* Settings

    return group
      .handle(
        "stuck",
        Effect.fnUntraced(function*({ query }) {
          const { environment, limit = pageLimits.default, starting_after: after } = query
          if (environment !== undefined) yield* requireServed(settings, environment)
          const cursor = after?.toLowerCase()
          const isCursor = cursor === undefined || isUuid(cursor)
          const found = isCursor
            ? yield* invoices.heldPayments({ environment: environment ?? null, after: cursor ?? null }, limit + 1)
            : null
          if (found === null) return yield* unknownCursor(query, "the id of a payment")
          return {
            success: true as const,
            data: {
              object: "list" as const,
              data: found.slice(0, limit).map(stuckPayment),
              has_more: found.length > limit
            }
          }
        })
      )
      .handle(
        "retry",
        Effect.fnUntraced(function*({ params: { payment_id: paymentId } }) {
          const invoiceId = yield* invoices.invoiceOfPayment(paymentId)
          const current = invoiceId === null ? null : yield* invoices.find(invoiceId)
          const before = current?.payments.find(({ id }) => id === paymentId)
          if (current === null || before === undefined) {
            return yield* publicError("INVOICE_NOT_FOUND", { message: "No payment has this id", param: "payment_id" })
          }
          const { environment, merchantId } = current.invoice
          const writes = yield* operatorWrites(auditLog, {
            merchantId,
            environment,
            action: "payment.retry",
            subject: { object: "payment", id: paymentId },
            before: { status: before.status },
            after: { invoice_id: current.invoice.id }
          })
          const { invoice, payments: all } = yield* payments.retry(paymentId, writes)
          return {
            success: true as const,
            data: {
              object: "payment" as const,
              payment_id: paymentId,
              invoice_id: InvoiceId.make(invoice.id),
              merchant_id: MerchantId.make(merchantId),
              environment,
              status: all.find(({ id }) => id === paymentId)!.status
            }
          }
        })
      )
  })
)
