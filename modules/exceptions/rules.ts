/** Exceptions on the wire, and why a decision on one is refused. Pure. */
import type { AuditAct } from "../../runtime/AuditLog.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Exception, ExceptionResolution } from "../../schemas/Exception.ts"
import { formatUnits, usdDecimal, usdWire } from "../../schemas/Money.ts"
import { allowedActions, type ExceptionRecord, requiresNote } from "../invoices/plugin.ts"

/**
 * Why the action cannot be decided; null where it can. `isOwner`: a person of the merchant with the role owner decides.
 * Keys and internal services are none, because a program that accepts by itself would undo the screening.
 */
export const rejectionReason = (
  { exception, ...subject }: ExceptionRecord,
  { action, invoiceId, note }: Pick<ExceptionResolution, "action" | "invoiceId" | "note">,
  isOwner: boolean
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
        "wallet and decide with that token. API keys and internal services may only ignore it"
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
  return requiresNote(exception.type, action) && note.trim() === ""
    ? publicError("VALIDATION_ERROR", {
      message: `note: say what you found: ${exception.type} is ignored only with a note`,
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

/** The single transfer that an exception is about: of its payment, or of the evidence where no invoice has it. */
const transferOf = ({ exception: { evidence }, payment }: ExceptionRecord) => {
  if (payment !== null) {
    const { metadata, network, tokenDecimals, txHash, units } = payment
    return {
      network,
      token: metadata.token,
      token_amount: tokenDecimals === null ? units.toString() : formatUnits(units, tokenDecimals),
      tx_hash: txHash
    }
  }
  const isTransfer = evidence.token_amount_unit !== undefined
  return {
    network: isTransfer ? evidence.network ?? null : null,
    token: isTransfer
      ? {
        id: evidence.token_id ?? null,
        symbol: evidence.token_symbol ?? null,
        decimals: evidence.token_decimals ?? null,
        address: evidence.token ?? null
      }
      : null,
    token_amount: isTransfer ? evidence.token_amount ?? null : null,
    tx_hash: isTransfer ? evidence.tx_hash ?? null : null
  }
}

/** The exception on the wire: exactly the fields of modules/docs/reference/exceptions.md#fields, in their order. */
export const exceptionObject = (record: ExceptionRecord): typeof Exception.Encoded => {
  const { environment, exception, invoice } = record
  const { network, ...transfer } = transferOf(record)
  return {
    id: exception.id,
    object: "exception",
    type: exception.type,
    status: exception.status,
    environment,
    invoice_id: invoice?.id ?? null,
    invoice_payment_id: exception.paymentId,
    customer_id: invoice?.customerId ?? null,
    amount: usdWire(exception.amount),
    amount_decimal: usdDecimal(exception.amount),
    amount_unit: "usd_millis",
    currency: "usd",
    network,
    ...transfer,
    evidence: exception.evidence,
    allowed_actions: allowedActions(exception, record),
    resolution: exception.resolution === null ? null : {
      action: exception.resolution.action,
      note: exception.resolution.note,
      actor: exception.resolution.actor,
      refund_id: null,
      invoice_id: exception.resolution.invoiceId,
      at: exception.resolvedAt!
    },
    created_at: exception.createdAt,
    resolved_at: exception.resolvedAt
  } as typeof Exception.Encoded
}
