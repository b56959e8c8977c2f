/** A decision on an exception, with what it does besides: an invoice gets the money, or refunds give it back. */
import { Effect, MutableRef } from "effect"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { type CommitCause, type IdempotentReplay, type ReplyWrite, systemMerchant } from "../../runtime/Commit.ts"
import { PersonalData } from "../../runtime/PersonalData.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { ExceptionResolution } from "../../schemas/Exception.ts"
import { isUuid } from "../../schemas/Ids.ts"
import { type ExceptionDecision, type ExceptionRecord, Invoices } from "../invoices/plugin.ts"
import { Payments } from "../payments/plugin.ts"
import { type ExceptionRefundCall, type LinkedRefund, Refunds } from "../refunds/plugin.ts"
import { auditActOf, rejectionReason } from "./rules.ts"

/** What somebody decides. */
export interface Decision {
  readonly resolution: ExceptionResolution
  /** For `refund`, how the money goes back; null for every other action. */
  readonly refund: ExceptionRefundCall | null
  readonly isOwner: boolean
  readonly cause: CommitCause
  readonly reply: (decided: DecidedException) => ReplyWrite | undefined
}

/** The exception afterwards, and the refunds that the decision opened. */
export interface DecidedException {
  readonly record: ExceptionRecord
  readonly refunds: ReadonlyArray<LinkedRefund>
}

export const makeDecide = Effect.gen(function*() {
  const auditLog = yield* AuditLog
  const invoices = yield* Invoices
  const payments = yield* Payments
  const personalData = yield* PersonalData
  const refunds = yield* Refunds

  /** What a refund adds to the decision; the refunds that it opens are left in `opened`. */
  const refundOf = Effect.fnUntraced(function*(
    record: ExceptionRecord,
    wish: ExceptionRefundCall,
    cause: CommitCause,
    opened: MutableRef.MutableRef<ReadonlyArray<LinkedRefund>>
  ) {
    const ofInvoice = record.invoice === null ? null : yield* refunds.ofException(record, wish, cause)
    const ofUnmatched = record.invoice === null ? yield* refunds.ofUnmatched(record, wish, cause) : null
    const refund: NonNullable<ExceptionDecision["refund"]> = (decided, current, now) =>
      Effect.map(
        current === null ? ofUnmatched!(decided, now) : ofInvoice!(current, now),
        ({ commands, facts, opened: made, writes }) => {
          MutableRef.set(opened, made)
          return { refundId: made[0]!.refund.id, commands, facts, writes }
        }
      )
    return { refund }
  })

  return Effect.fnUntraced(function*(
    merchantId: number,
    id: string,
    { cause, isOwner, refund, reply, resolution }: Decision
  ): Effect.fn.Return<DecidedException, PublicError | IdempotentReplay> {
    const found = yield* invoices.findException(merchantId, id)
    if (found === null) return yield* publicError("EXCEPTION_NOT_FOUND")
    const { action, invoiceId } = resolution
    const check = (record: ExceptionRecord) => rejectionReason(record, resolution, isOwner, refund !== null)
    const opened = MutableRef.make<ReadonlyArray<LinkedRefund>>([])
    const refusal = action === "refund" ? check(found) : null
    if (refusal !== null) return yield* refusal
    // The log is never changed, and a note may name a person: it keeps a proof of what was written.
    const proof = resolution.note === "" ? "" : personalData.proofOf(merchantId, resolution.note)
    const decision: ExceptionDecision = {
      resolution,
      cause,
      check,
      reply: (record) => reply({ record, refunds: MutableRef.get(opened) }),
      writes: (record) => auditLog.writesOf(auditActOf(record, { ...resolution, note: proof }, cause.requestId)),
      ...(action === "refund" && refund !== null ? yield* refundOf(found, refund, cause, opened) : {})
    }
    if (action === "assign" && invoiceId !== null && !isUuid(invoiceId)) return yield* publicError("INVOICE_NOT_FOUND")
    const record = action !== "assign" || invoiceId === null
      ? yield* invoices.resolveException(merchantId, id, decision)
      : yield* invoices.assignException(merchantId, id, {
        merchantId: merchantId === systemMerchant ? null : merchantId,
        environment: found.environment,
        invoiceId,
        plan: payments.assignmentOf
      }, decision)
    return { record, refunds: MutableRef.get(opened) }
  })
})
