/** What a refusal says to whoever looks, in their language. */
import { type Content, html } from "../../../runtime/pages/Html.ts"
import type { ErrorCode, PublicError } from "../../../schemas/Errors.ts"
import type { Refusals, Texts } from "./Texts.ts"

const kinds: Readonly<Partial<Record<ErrorCode, keyof Refusals>>> = {
  VALIDATION_ERROR: "wrongField",
  INVALID_AMOUNT_FORMAT: "wrongField",
  INVALID_AMOUNT_RANGE: "wrongField",
  WEBHOOK_URL_INVALID: "wrongField",
  WALLET_ADDRESS_INVALID: "wrongField",
  WALLET_INVALID: "wrongField",
  PERMISSION_DENIED: "notAllowed",
  CREDENTIAL_NOT_ALLOWED: "notAllowed",
  ENVIRONMENT_FORBIDDEN: "notAllowed",
  TOKEN_INVALID: "signIn",
  TOKEN_EXPIRED: "signIn",
  NONCE_INVALID: "signIn",
  SIGNATURE_INVALID: "signIn",
  APPROVAL_REQUIRED: "otherPerson",
  APPROVER_MUST_DIFFER: "otherPerson",
  INVALID_TRANSITION: "notNow",
  INVOICE_NOT_PAYABLE: "notNow",
  WEBHOOK_DISABLED: "notNow",
  EXCEPTION_ALREADY_RESOLVED: "decided",
  BATCH_NOT_CANCELABLE: "notCancelable",
  INVOICE_NOT_CANCELABLE: "notCancelable",
  REFUND_NOT_CANCELABLE: "notCancelable",
  REFUND_IN_BATCH: "inBatch",
  BATCH_PAID: "givenOut",
  EXPORT_LIVE: "givenOut",
  REFUND_EXCEEDS_RECEIVED: "tooMuchRefunded",
  PAYOUT_LIMIT_EXCEEDED: "overLimit",
  API_KEY_LIMIT_REACHED: "tooMany",
  BATCH_LIMIT_REACHED: "tooMany",
  BATCH_TOO_LARGE: "tooMany",
  WALLET_LIMIT_REACHED: "tooMany",
  WEBHOOK_LIMIT_REACHED: "tooMany",
  INSUFFICIENT_FUNDS: "tooLittleMoney",
  WALLET_LINKED_ELSEWHERE: "wallet",
  WALLET_NOT_LINKED: "wallet",
  WALLET_NOT_SPENDABLE: "wallet",
  IDEMPOTENCY_REQUEST_IN_PROGRESS: "wait",
  RATE_LIMIT_EXCEEDED: "wait",
  NETWORK_DEGRADED: "unavailable",
  QUOTE_UNAVAILABLE: "unavailable",
  SERVICE_UNAVAILABLE: "unavailable"
}

/** The words of a refusal in a language; null: what it says is in the visitor's words already. */
const meaningOf = ({ faults, refusals }: Texts, { code, message }: PublicError): string | null =>
  refusals === undefined || Object.values(faults).includes(message)
    ? null
    : refusals[code.endsWith("NOT_FOUND") ? "notFound" : kinds[code] ?? "other"]

/** What is said of one field: its own message, marked as English where it is. */
export const messageOf = (texts: Texts, error: PublicError): Content =>
  meaningOf(texts, error) === null ? error.message : html`<bdi lang="en" dir="ltr">${error.message}</bdi>`

/** What happened, and below it what the API says of it. */
export const explain = (texts: Texts, error: PublicError): Content => {
  const meaning = meaningOf(texts, error)
  return meaning === null ? error.message : html`${meaning}<br><bdi lang="en" dir="ltr">${error.message}</bdi>`
}
