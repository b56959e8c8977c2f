/** Refunds between the wire and the service, for merchants. */
import { Effect } from "effect"
import { dieOnReplay, type IdempotentCall } from "../../../runtime/Commit.ts"
import {
  answerIdempotently,
  Idempotency,
  jsonText,
  readEnvironment,
  RequestInfo,
  requireMerchantScope
} from "../../../runtime/Http.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { isPublicError, publicError } from "../../../schemas/Errors.ts"
import { isExceptionId, isUuid } from "../../../schemas/Ids.ts"
import { invalidParameter } from "../../../schemas/InvalidInput.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { pageLimits, readPageCursor, unknownCursor } from "../../../schemas/Page.ts"
import { Invoices } from "../../invoices/plugin.ts"
import { type NewRefundBody, RefundsApi } from "../api.ts"
import { linkedRefundObject, refundObject, type RefundState, type RequestedAmount } from "../machine.ts"
import { Refunds } from "../service.ts"
import { Approvals } from "../service/Approvals.ts"
import { approvalPageOf, approvalsReply, challengeReply } from "./Approvals.ts"
import type { LinkedRefund, PaymentRefundCall, RefundCaller } from "../service/PaymentRefunds.ts"

type NewRefund = typeof NewRefundBody.Type

/** An id as it is kept; another text is nobody's. */
const idOf = (text: string | null | undefined): string | null => text?.toLowerCase() ?? null

/** How much is asked for. Errors: `VALIDATION_ERROR` for amounts that the mode has no use for, or lacks. */
const amountOf = Effect.fnUntraced(function*(
  { amount, amount_mode: mode, invoice_payment_id: paymentId, token_amount: tokenAmount }: NewRefund
) {
  const usd: UsdMillis | null = amount == null ? null : usdMillis(BigInt(amount))
  const isCustom = mode === "custom"
  if (isCustom && (usd === null) === (tokenAmount == null)) {
    return yield* publicError("VALIDATION_ERROR", {
      message: "amount: with amount_mode custom send amount, an integer of usd_millis, or token_amount, a text like " +
        "\"1.5\", and not both",
      param: "amount"
    })
  }
  const unused = isCustom ? undefined : usd !== null ? "amount" : tokenAmount == null ? undefined : "token_amount"
  if (unused !== undefined) {
    return yield* publicError("VALIDATION_ERROR", {
      message: `${unused}: only amount_mode custom takes an amount`,
      param: unused
    })
  }
  return { mode, usd, tokenAmount: tokenAmount ?? null, paymentId: idOf(paymentId) } satisfies RequestedAmount
})

export const callOf = Effect.fnUntraced(function*(body: NewRefund, caller: RefundCaller) {
  const { auto_approve, destination, fee_bearer: feeBearer, reason } = body
  return {
    amount: yield* amountOf(body),
    reason,
    feeBearer,
    destination: destination == null || destination === "claim"
      ? destination ?? null
      : { network: destination.network, address: destination.address, memo: destination.memo ?? null },
    isAutoApproved: auto_approve === true,
    caller,
    exceptionId: null
  } satisfies PaymentRefundCall
})

/** Refunds as the API shows them; the orders that they are of are known by their invoices. */
const makeRender = Effect.map(Invoices, (invoices) =>
  Effect.fnUntraced(function*(refund: RefundState) {
    const { invoiceId, merchantId, terms } = refund
    const found = terms === null && invoiceId !== null ? yield* invoices.get(merchantId, invoiceId) : null
    return refundObject(refund, { orderId: found?.invoice.orderId ?? null })
  }))

export const handlers = Operations.group(
  RefundsApi,
  "refunds",
  // oxlint-disable-next-line max-lines-per-function -- the routes of one group, each a few lines
  Effect.fn(function*(group) {
    const invoices = yield* Invoices
    const refunds = yield* Refunds
    const approvals = yield* Approvals
    const render = yield* makeRender
    const { publicUrl } = yield* Settings

    const linkedObject = (refund: LinkedRefund) => linkedRefundObject(refund, publicUrl)

    /** A refund that this caller may see: any other is as unknown as none. */
    const find = Effect.fnUntraced(function*(id: string, requested: Environment | undefined) {
      const principal = yield* requireMerchantScope
      const environment = yield* readEnvironment(principal, requested)
      const found = yield* refunds.find(id.toLowerCase())
      return found?.merchantId === principal.merchantId && found.environment === environment
        ? { found, principal }
        : yield* publicError("REFUND_NOT_FOUND")
    })

    const withReads = group
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* requireMerchantScope
          const environment = yield* readEnvironment(principal, query.environment)
          if (query.invoice_id !== undefined && !isUuid(query.invoice_id.toLowerCase())) {
            return yield* invalidParameter("invoice_id", "the id of an invoice")
          }
          if (query.exception_id !== undefined && !isExceptionId(query.exception_id.toLowerCase())) {
            return yield* invalidParameter("exception_id", "the id of an exception, like exc_ and a UUID")
          }
          const cursor = readPageCursor(query)
          if (isPublicError(cursor)) return yield* cursor
          const page = yield* refunds.page({
            merchantId: principal.merchantId,
            environment,
            ...(query.status === undefined ? {} : { status: query.status }),
            ...(query.invoice_id === undefined ? {} : { invoiceId: query.invoice_id.toLowerCase() }),
            ...(query.exception_id === undefined ? {} : { exceptionId: query.exception_id.toLowerCase() }),
            ...(query.created_gte === undefined ? {} : { createdFrom: query.created_gte }),
            ...(query.created_lte === undefined ? {} : { createdTo: query.created_lte })
          }, { cursor, limit: query.limit ?? pageLimits.default })
          if (page === null) return yield* unknownCursor(query, "the id of a refund of this environment")
          const data = yield* Effect.forEach(page.refunds, render, { concurrency: 4 })
          return jsonText(JSON.stringify({ success: true, data: { object: "list", data, has_more: page.hasMore } }))
        })
      )
      .handle(
        "retrieve",
        Effect.fnUntraced(function*({ params, query }) {
          const { found } = yield* find(params.id, query.environment)
          return jsonText(JSON.stringify({ success: true, data: yield* render(found) }))
        })
      )
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const principal = yield* requireMerchantScope
          const { requestId } = yield* RequestInfo
          const idempotency = yield* Idempotency
          const invoiceId = payload.invoice_id.toLowerCase()
          const found = isUuid(invoiceId) ? yield* invoices.get(principal.merchantId, invoiceId) : null
          if (found?.invoice.environment !== principal.environment) return yield* publicError("INVOICE_NOT_FOUND")
          const text = (opened: ReadonlyArray<LinkedRefund>) => {
            const all = opened.map(linkedObject)
            return JSON.stringify({ success: true, data: all[0], refunds: all })
          }
          const opened = yield* refunds.openOfInvoice(invoiceId, yield* callOf(payload, principal), {
            cause: { requestId, idempotencyKey: idempotency.key },
            reply: (made) => idempotency.reply(200, text(made))
          }).pipe(dieOnReplay)
          return jsonText(text(opened))
        })
      )

    const actBy = (act: "cancel" | "retry") =>
      Effect.fnUntraced(function*({ params }: { readonly params: { readonly id: string } }) {
        const { found, principal } = yield* find(params.id, undefined)
        return yield* answerIdempotently(
          (call: IdempotentCall<RefundState>) => refunds.act(found.id, act, principal, call).pipe(dieOnReplay),
          (refund) => refundObject(refund, { orderId: null })
        )
      })

    return withReads
      .handle(
        "challengeApproval",
        Effect.fnUntraced(function*({ params }) {
          const { found, principal } = yield* find(params.id, undefined)
          return challengeReply(yield* refunds.issueApproval(found.id, principal))
        })
      )
      .handle(
        "approve",
        Effect.fnUntraced(function*({ params, payload }) {
          const { found, principal } = yield* find(params.id, undefined)
          return yield* answerIdempotently(
            (call: IdempotentCall<RefundState>) =>
              refunds.act(found.id, "approve", principal, call, payload?.proof ?? null).pipe(dieOnReplay),
            (refund) => refundObject(refund, { orderId: null })
          )
        })
      )
      .handle(
        "approvals",
        Effect.fnUntraced(function*({ params, query }) {
          const asked = yield* approvalPageOf(query)
          const { found: { id, merchantId, terms } } = yield* find(params.id, query.environment)
          const filter = { merchantId, object: "refund", objectId: id } as const
          return yield* approvalsReply(approvals, filter, asked, terms?.approvals ?? [])
        })
      )
      .handle("cancel", actBy("cancel"))
      .handle("retry", actBy("retry"))
      .handle(
        "claimLink",
        Effect.fnUntraced(function*({ params }) {
          const { found, principal } = yield* find(params.id, undefined)
          return yield* answerIdempotently(
            (call: IdempotentCall<LinkedRefund>) => refunds.renewClaim(found.id, principal, call).pipe(dieOnReplay),
            linkedObject
          )
        })
      )
      .handle(
        "emailClaimLink",
        Effect.fnUntraced(function*({ params, payload: { email, locale = null } }) {
          const { found, principal } = yield* find(params.id, undefined)
          return yield* answerIdempotently(
            (call: IdempotentCall<LinkedRefund>) =>
              refunds.renewClaim(found.id, principal, call, { email, locale }).pipe(dieOnReplay),
            linkedObject
          )
        })
      )
  })
)
