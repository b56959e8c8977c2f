/** Why a decision on an exception is refused, and what the audit log keeps of one. Pure. */
import type { AuditAct } from "../../runtime/AuditLog.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { ExceptionResolution } from "../../schemas/Exception.ts"
import { isPayoutException } from "../../schemas/Payment.ts"
import { usdWire } from "../../schemas/Money.ts"
import { allowedActions, type ExceptionRecord, requiresNote } from "../invoices/plugin.ts"

/**
 * Why the action cannot be decided; null where it can. `isOwner`: a person of the merchant with the role owner decides.
 * Keys and internal services are none, because a program that accepts by itself would undo the screening. `hasRefund`:
 * it is said how the money goes back.
 */
export const rejectionReason = (
  { exception, ...subject }: ExceptionRecord,
  { action, invoiceId, note }: Pick<ExceptionResolution, "action" | "invoiceId" | "note">,
  isOwner: boolean,
  hasRefund: boolean
): PublicError | null => {
  if (exception.status === "resolved") return publicError("EXCEPTION_ALREADY_RESOLVED")
  const allowed = allowedActions(exception, subject)
  if (!allowed.includes(action)) {
    return publicError("VALIDATION_ERROR", {
      message: `action: this exception allows ${allowed.join(", ")}`,
      param: "action",
      details: { allowed_actions: [...allowed] }
    })
  }
  if (exception.type === "screened" && action === "accept" && !isOwner) {
    return publicError("CREDENTIAL_NOT_ALLOWED", {
      message:
        "The sender of this payment is on a screening list. Only an owner of the merchant may accept it: sign in with a " +
        "wallet and decide with that token. API keys and internal services may only refund or ignore it"
    })
  }
  if (isPayoutException(exception.type) && action === "accept" && !isOwner) {
    return publicError("CREDENTIAL_NOT_ALLOWED", {
      message:
        "Only an owner of the merchant says that it bears this loss: sign in with a wallet and decide with that token. " +
        "A program that could would hide it"
    })
  }
  if ((action === "assign") !== (invoiceId !== null)) {
    return publicError("VALIDATION_ERROR", {
      message: action === "assign"
        ? "invoice_id: name the invoice that the money counts for"
        : "invoice_id: only `assign` takes an invoice",
      param: "invoice_id"
    })
  }
  if (hasRefund && action !== "refund") {
    return publicError("VALIDATION_ERROR", {
      message: "refund: only the action `refund` says how the money goes back",
      param: "refund"
    })
  }
  return requiresNote(exception.type, action) && note.trim() === ""
    ? publicError("VALIDATION_ERROR", {
      message: `note: say what you found: ${action} of ${exception.type} takes a note`,
      param: "note"
    })
    : null
}

/** The decision as the audit log keeps it. */
export const auditActOf = (
  { environment, exception, merchantId }: ExceptionRecord,
  { action, actor, invoiceId, note }: ExceptionResolution,
  requestId: string | null
): AuditAct => ({
  merchantId,
  environment,
  actor,
  action: "exception.resolve",
  subject: { object: "exception", id: exception.id },
  before: { status: exception.status, type: exception.type, amount: usdWire(exception.amount) },
  after: { status: "resolved", action, note, invoice_id: invoiceId },
  requestId
})
