/** Refusals of the calls of shops, in the bodies that clients of BTCPay Server read. */
import { Cause, Data, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { RequestInfo } from "../../../runtime/Http.ts"
import { publicErrorOf } from "../../../runtime/http/ErrorResponses.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import type { ShopPermission } from "../rules.ts"
import type { FieldError } from "../rules/Requests.ts"

/** A refusal, its body as it is sent. Plugins show or log the body, so its words are for the owner of a shop. */
export class ShopRefusal extends Data.TaggedError("ShopRefusal")<{
  readonly status: number
  readonly body: object
}> {}

const refusal = (status: number, code: string, message: string): ShopRefusal =>
  new ShopRefusal({ status, body: { code, message } })

export const fieldErrors = (errors: ReadonlyArray<FieldError>): ShopRefusal =>
  new ShopRefusal({ status: 422, body: errors })

export const noCredential = refusal(
  401,
  "unauthenticated",
  "This API key is missing, unknown, expired or revoked: make a key for your shop and enter it in the plugin again."
)

export const missingPermission = (permission: ShopPermission, message: string): ShopRefusal =>
  new ShopRefusal({ status: 403, body: { code: "missing-permission", message, missingPermission: permission } })

export const invoiceNotFound = refusal(
  404,
  "invoice-not-found",
  "No such invoice was made by a shop with this key. Invoices of another server stay there."
)

const webhookNotFound = refusal(404, "webhook-not-found", "No such webhook: save the settings of the plugin again.")

export const unknownCall = refusal(
  404,
  "unsupported",
  "Tillwire's BTCPay mode has no such call. See /docs/guides/btcpay."
)

export const nulInUrl = refusal(400, "generic-error", "The URL must not contain the NUL character.")

const invalidJson = refusal(400, "invalid-json", "The body is not JSON.")

/** A refusal of the service in the words of this protocol. */
const ofPublicError = (error: PublicError): ShopRefusal => {
  switch (error.code) {
    case "RATE_LIMIT_EXCEEDED":
      return refusal(429, "rate-limited", error.message)
    case "INVALID_JSON":
      return invalidJson
    case "INVOICE_NOT_FOUND":
      return invoiceNotFound
    case "WEBHOOK_NOT_FOUND":
      return webhookNotFound
    case "WEBHOOK_URL_INVALID":
      return fieldErrors([{ path: "url", message: error.message }])
    case "WEBHOOK_LIMIT_REACHED":
      return refusal(400, "webhook-limit-reached", error.message)
    default:
      return error.status >= 500
        ? refusal(error.status, "internal-error", error.message)
        : refusal(error.status === 401 || error.status === 403 ? error.status : 400, "generic-error", error.message)
  }
}

/** A refusal of the runtime, before a call was looked at, in the bodies of this protocol. */
export const renderRefusal = (error: PublicError) => ({ json: ofPublicError(error).body, headers: {} })

const internal = refusal(500, "internal-error", "The payment server has failed. Try again; its log has the reason.")

export const jsonReply = (body: unknown, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json" })

/** Answers every failure of a call, and logs what is a fault of the service. */
export const answerFailure = (
  cause: Cause.Cause<unknown>
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
  const error = Cause.squash(cause)
  const known = publicErrorOf(cause)
  const { body, status } = error instanceof ShopRefusal ? error : known === undefined ? internal : ofPublicError(known)
  const reply = jsonReply(body, status)
  const retry = known?.retryAfterSeconds ?? null
  const answer = retry === null ? reply : HttpServerResponse.setHeader(reply, "retry-after", String(retry))
  if (status < 500) return Effect.succeed(answer)
  return Effect.flatMap(
    RequestInfo,
    ({ requestId }) =>
      Effect.as(Effect.annotateLogs(Effect.logError("a call of a shop failed", cause), { requestId }), answer)
  )
}
