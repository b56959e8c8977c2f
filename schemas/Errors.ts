/**
 * Every public error in one table: code, HTTP status, meaning. Docs, handlers and tests share it. The rules in words:
 * modules/docs/reference/errors.md#codes. A code is never renamed; new ones may be added in any version.
 */
import { Schema } from "effect"

const table = {
  INVALID_AMOUNT_FORMAT: [
    400,
    "The amount cannot be read: send `amount` (integer usd_millis) or `amount_usd`, not both"
  ],
  INVALID_AMOUNT_RANGE: [400, "The amount must be 10 to 1,000,000,000 usd_millis, that is $0.01 to $1,000,000"],
  IDEMPOTENCY_KEY_MISSING: [400, "This call needs an Idempotency-Key header; a UUID v4 is a good value"],
  IDEMPOTENCY_KEY_INVALID: [400, "Idempotency-Key must be 1 to 255 visible ASCII characters, sent once"],
  VALIDATION_ERROR: [400, "A field of the request is wrong"],
  INVALID_JSON: [400, "The body is not valid JSON"],
  INVALID_LIMIT: [400, "`limit` is out of range"],
  INVALID_OFFSET: [400, "`offset` must be an integer of 0 or more"],
  INVALID_PAGE: [400, "`page` must be an integer of 1 or more"],
  INVALID_CURSOR: [400, "A cursor is malformed, or both cursors were sent"],
  INVALID_EVENT_ID: [400, "An event id looks like evt_<ms>-<seq>"],
  INVALID_EVENT_TYPE: [400, "`type` takes at most 20 event types, each exact, `prefix.*` or `*`"],
  INVALID_ENVIRONMENT: [400, "`environment` must be devnet or mainnet"],
  INVALID_VERSION: [400, "X-Service-Version is not a version of this API"],
  INVALID_FORMAT: [400, "`format` must be event_v1"],
  AMBIGUOUS_CREDENTIALS: [400, "Two different API keys were sent: send one"],
  WEBHOOK_URL_INVALID: [400, "The URL must be public https without credentials"],
  TOKEN_NOT_ACCEPTED: [400, "This token is not accepted for this invoice"],
  TOKEN_NETWORK_MISMATCH: [400, "This token is not on that network"],
  UNSUPPORTED_NETWORK: [400, "This network is not offered here: `network` is one of those that the token list has"],
  NETWORK_REQUIRED: [400, "mode=network needs `network`"],
  ADDRESS_INVALID: [400, "This is not an address that can be delivered to: see details.fields"],
  NO_VALID_ITEMS: [400, "None of these items can be bought: see details.invalid_items"],
  ORDER_VALUE_EXCEEDED: [400, "An order may come to at most 2500.000 dollars"],
  CUSTOMER_IDENTITY_REQUIRED: [400, "Name the customer: `customer_id`, or `wallet_address` with `wallet_network`"],
  REFUND_DESTINATION_REQUIRED: [400, "The refund has no address to go to: set a refund destination first"],
  WALLET_ADDRESS_INVALID: [400, "This is not an address of that network"],
  BATCH_EMPTY: [400, "The batch would pay nothing: name refunds that are processing, lines, or tokens to collect"],
  BATCH_TOO_LARGE: [400, "The batch has more lines than one may have: see details.maximum, and make several"],
  AMOUNT_BELOW_MINIMUM: [400, "The network cannot carry so small an amount: see details.minimum"],
  WALLET_INVALID: [400, "This is not a receiving wallet of that family: send its public part only"],
  UNAUTHORIZED: [401, "Send an API key in x-api-key, or a token as Authorization: Bearer"],
  API_KEY_INVALID: [401, "This API key is unknown, revoked or expired"],
  TOKEN_INVALID: [401, "This token cannot be used here"],
  TOKEN_EXPIRED: [401, "This token has expired: get a new one"],
  SESSION_INVALID: [401, "x-session-token and x-signature do not open a payment session"],
  SESSION_EXPIRED: [401, "This payment session has ended"],
  NONCE_INVALID: [
    401,
    "This sign-in message was not issued here, was used already or has expired: ask for a new nonce"
  ],
  SIGNATURE_INVALID: [
    401,
    "The signature does not prove the wallet of this sign-in message, or the sender of this call"
  ],
  REFRESH_REUSED: [401, "This refresh token was used before, so its whole session has ended: sign in again"],
  SCOPE_MISMATCH: [
    403,
    "This key's scope does not allow the call: commerce routes take a commerce key (ck_…), account routes a merchant key (mk_…)"
  ],
  PERMISSION_DENIED: [
    403,
    "Your role at this merchant, or this key's permissions, do not include this: see details.right and details.roles"
  ],
  FRESH_PROOF_REQUIRED: [
    403,
    "Prove anew who you are, it holds for 5 minutes: by a passkey in the dashboard, or sign in again by your wallet"
  ],
  APPROVAL_PROOF_REQUIRED: [
    403,
    "Real money is approved by a signature: ask for a challenge, read its text, sign it by your passkey or wallet"
  ],
  CREDENTIAL_NOT_ALLOWED: [403, "Payment pages take x-session-token and x-signature only: never send an API key here"],
  ENVIRONMENT_FORBIDDEN: [403, "This key belongs to another environment"],
  DEVNET_ONLY: [403, "This call works on devnet only"],
  SIGNUP_CLOSED: [403, "This wallet belongs to no merchant, and this deployment takes no new ones"],
  ORIGIN_NOT_ALLOWED: [403, "Pages of this origin may not open this stream: see http.allowedOrigins"],
  IP_NOT_ALLOWED: [403, "This key may not be used from your address: see its ip_allowlist"],
  MAINNET_NOT_ENABLED: [403, "This deployment does not serve mainnet"],
  DEVNET_NOT_ENABLED: [403, "This deployment does not serve devnet"],
  APPROVAL_REQUIRED: [403, "People must approve this first: see its approvals"],
  APPROVER_MUST_DIFFER: [
    403,
    "Somebody else must approve this: whoever made it, or has approved it, does not count twice"
  ],
  NOT_FOUND: [404, "No such resource"],
  BATCH_NOT_FOUND: [404, "No such batch"],
  INVOICE_NOT_FOUND: [404, "No such invoice"],
  EVENT_NOT_FOUND: [404, "No such event"],
  ORDER_NOT_FOUND: [404, "No such order"],
  ESTIMATE_NOT_FOUND: [404, "No such estimate"],
  ADDRESS_NOT_FOUND: [404, "No such address of this estimate"],
  CART_ITEM_NOT_FOUND: [404, "No such item in this cart"],
  EXCEPTION_NOT_FOUND: [404, "No such exception"],
  REFUND_NOT_FOUND: [404, "No such refund"],
  PAYMENT_LINK_NOT_FOUND: [404, "No such payment link"],
  TOKEN_NOT_FOUND: [404, "No such token"],
  QUOTE_NOT_FOUND: [404, "No such quote"],
  WEBHOOK_NOT_FOUND: [404, "No such webhook endpoint"],
  DELIVERY_NOT_FOUND: [404, "No such webhook delivery"],
  METHOD_NOT_ALLOWED: [405, "This path does not take that method: see the Allow header"],
  PAYLOAD_TOO_LARGE: [413, "The body may have at most 256 KiB"],
  HOST_NOT_ALLOWED: [
    421,
    "The internal port may not be called by this host name: use localhost or an IP address, or add the name to rpc.allowedHosts"
  ],
  UNSUPPORTED_MEDIA_TYPE: [415, "Send the body as application/json"],
  IDEMPOTENCY_REQUEST_IN_PROGRESS: [409, "The first request with this Idempotency-Key is still running: try again"],
  ORDER_NOT_CANCELABLE: [409, "The order has gone too far to be canceled: see its actions"],
  ESTIMATE_ALREADY_USED: [409, "This estimate has become an order already: make a new one"],
  ESTIMATE_CHANGED: [
    409,
    "Not all of what was shown can be bought at that price now: show details.estimate, and go on from the address"
  ],
  CART_LIMIT_REACHED: [409, "A cart holds at most 50 items"],
  EXCEPTION_ALREADY_RESOLVED: [409, "This exception was decided on before: see its resolution"],
  REFUND_EXCEEDS_RECEIVED: [409, "Refunds may not come to more than was received and not refunded yet"],
  REFUND_NOT_CANCELABLE: [409, "This refund is on its way or done"],
  INVOICE_NOT_CANCELABLE: [409, "Only an unpaid or expired invoice without a payment under way can be canceled"],
  INVOICE_NOT_PAYABLE: [409, "This invoice takes no payment any more"],
  ROUTE_LOCKED: [409, "A part was paid: the rest is paid with the same token on the same network"],
  INVALID_TRANSITION: [409, "The resource is not in a state that allows this"],
  REFUND_IN_BATCH: [409, "A batch pays this refund: see details.batch_id, and cancel that batch first"],
  EXPORT_LIVE: [409, "This part was given out in another format and can still be signed: see details.valid_until"],
  LINES_AMBIGUOUS: [
    409,
    "Two lines look alike on the chain, so a list could not tell which was paid: see details.lines"
  ],
  BATCH_NOT_CANCELABLE: [409, "This batch is over"],
  BATCH_LIMIT_REACHED: [409, "A merchant may have 20 open batches: finish or cancel one first"],
  BATCH_PAID: [409, "The chain has paid this part already: wait until it is seen"],
  PAYOUT_LIMIT_EXCEEDED: [409, "More than the merchant's limit for payouts: see details"],
  PAYOUT_LINE_REFUSED: [409, "The network refuses a line: see details.line, and make the batch anew without it"],
  NOTHING_TO_COLLECT: [409, "Nothing lies on these addresses any more"],
  COLLECTOR_MISSING: [409, "The contract that collects is not on this network: anybody can deploy it"],
  PAYER_MISSING: [409, "The contract that pays batches is not on this network: anybody can deploy it"],
  INSUFFICIENT_FUNDS: [409, "The wallet that should pay has not enough: see details"],
  WALLET_NOT_SPENDABLE: [409, "The wallet's money is not in a form that a batch can spend"],
  WALLET_NOT_LINKED: [409, "Nobody has shown that this wallet is the merchant's: sign in with it once"],
  API_KEY_LIMIT_REACHED: [409, "A merchant may have 100 keys in use: revoke one first"],
  WALLET_LINKED_ELSEWHERE: [409, "This wallet signs in for another merchant: unlink it there first"],
  WALLET_LIMIT_REACHED: [409, "A merchant may have 20 wallets that sign in: unlink one first"],
  WEBHOOK_LIMIT_REACHED: [409, "A merchant may have 16 webhook endpoints: delete one first"],
  WEBHOOK_DISABLED: [409, "This webhook endpoint is disabled: enable it first"],
  QUOTE_EXPIRED: [410, "This quote has ended: ask for a new one"],
  ESTIMATE_EXPIRED: [410, "This estimate has ended: make a new one"],
  IDEMPOTENCY_KEY_REUSED: [422, "This Idempotency-Key was used with another body: use a new key"],
  RATE_LIMIT_EXCEEDED: [429, "Too many requests"],
  INVOICE_CREATE_FAILED: [500, "The invoice could not be created: the same Idempotency-Key may be tried again"],
  INTERNAL_ERROR: [500, "Something went wrong on our side"],
  NETWORK_DEGRADED: [503, "This network cannot be watched right now: try again"],
  QUOTE_UNAVAILABLE: [503, "There is no fresh price right now: try again"],
  SERVICE_UNAVAILABLE: [503, "The service is not able to answer right now: try again"]
} as const satisfies Record<string, readonly [status: number, meaning: string]>

/** A code of a public error. */
export type ErrorCode = keyof typeof table

export const errorCodes = Object.keys(table) as ReadonlyArray<ErrorCode>

/** The HTTP status of a code. */
export const statusOf = (code: ErrorCode): number => table[code][0]

/** What a code means, as a sentence to the caller; the message where a handler has nothing more exact to say. */
export const meaningOf = (code: ErrorCode): string => table[code][1]

/**
 * `flat` is `{error, code}`: tokens, wallets, invoices, payor, merchant settings. `wrapped` is
 * `{success:false, error:{code, message, param, details, request_id}}`: everything else, unknown paths included.
 */
export const ErrorFamily = Schema.Literals(["flat", "wrapped"])
export type ErrorFamily = typeof ErrorFamily.Type

/** The one error that reaches a caller. Rendered by the family of the route it leaves through. */
export class PublicError extends Schema.TaggedError<PublicError>()("PublicError", {
  code: Schema.Literals(errorCodes as ReadonlyArray<ErrorCode>),
  message: Schema.String,
  /** The field at fault, dotted, or null. */
  param: Schema.NullOr(Schema.String),
  details: Schema.NullOr(Schema.Record(Schema.String, Schema.Json)),
  /** Seconds for `Retry-After`, at least 1, where trying again helps. */
  retryAfterSeconds: Schema.NullOr(Schema.Int),
  /** For operators, in the log: no caller of HTTP is told, only those of the rpc port, which are services of the operator. */
  reason: Schema.optionalKey(Schema.String)
}) {
  get status(): number {
    return statusOf(this.code)
  }
}

/** Tells what a pure rule refused from what it decided. */
export const isPublicError = (value: unknown): value is PublicError => value instanceof PublicError

/** Makes a {@link PublicError}; the table's meaning is the message unless a better one is given. */
export const publicError = (code: ErrorCode, more: {
  readonly message?: string
  readonly param?: string | null
  readonly details?: Readonly<Record<string, Schema.Json>> | null
  readonly retryAfterSeconds?: number | null
  readonly reason?: string | undefined
} = {}): PublicError =>
  new PublicError({
    code,
    message: more.message ?? meaningOf(code),
    param: more.param ?? null,
    details: more.details ?? null,
    retryAfterSeconds: more.retryAfterSeconds ?? null,
    ...(more.reason === undefined ? {} : { reason: more.reason })
  })

/** The body of a flat error: exactly two keys. */
export const FlatErrorBody = Schema.Struct({ error: Schema.String, code: Schema.String }).annotate({
  identifier: "FlatError"
})

/** The body of a wrapped error: always these five keys inside `error`. */
export const WrappedErrorBody = Schema.Struct({
  success: Schema.Literal(false),
  error: Schema.Struct({
    code: Schema.String,
    message: Schema.String,
    param: Schema.NullOr(Schema.String),
    details: Schema.NullOr(Schema.Record(Schema.String, Schema.Json)),
    request_id: Schema.String
  })
}).annotate({ identifier: "WrappedError" })

/** The exact body of `error` in `family`. */
export const errorBody = (
  error: PublicError,
  family: ErrorFamily,
  requestId: string
): typeof FlatErrorBody.Encoded | typeof WrappedErrorBody.Encoded =>
  family === "flat"
    ? { error: error.message, code: error.code }
    : {
      success: false,
      error: {
        code: error.code,
        message: error.message,
        param: error.param,
        details: error.details,
        request_id: requestId
      }
    }
