/** Refusals of the calls of shops, in the bodies that clients of BTCPay Server read. */
import { Cause, Data, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { RequestInfo } from "../../../runtime/Http.ts"
import { publicErrorOf } from "../../../runtime/http/ErrorResponses.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import type { ShopPermission } from "../rules.ts"
import type { FieldError } from "../rules/Requests.ts"

/** A refusal with the body that is sent. Plugins show or log the body, so its message is for the owner of a shop. */
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
  "This store has no such invoice of a shop. An invoice of your old server is still there: look it up there."
)

const webhookNotFound = refusal(404, "webhook-not-found", "No such webhook: save the settings of the plugin again.")

export const unknownCall = refusal(
  404,
  "unsupported",
  "Tillwire's BTCPay mode has no such call. See /docs/guides/btcpay."
)

export const nulInUrl = refusal(400, "generic-error", "The URL must not contain the NUL character.")

const invalidJson = refusal(400, "invalid-json", "The body is not JSON: send one JSON object.")

/** A public error of the service as the code, status and body of BTCPay Server's API. */
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

/** The body of an error of the HTTP server, which refuses a request before a handler runs. */
export const renderRefusal = (error: PublicError) => ({ json: ofPublicError(error).body, headers: {} })

const internal = refusal(500, "internal-error", "The payment server has failed. Try again; its log has the reason.")

export const jsonReply = (body: unknown, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json" })

/** Answers every failure of a call, and logs those of the service itself (status 500 and above). */
export const answerFailure = (
  cause: Cause.Cause<unknown>
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
  const error = Cause.squash(cause)
  const publicFailure = publicErrorOf(cause)
  const { body, status } = error instanceof ShopRefusal
    ? error
    : publicFailure === undefined
    ? internal
    : ofPublicError(publicFailure)
  const reply = jsonReply(body, status)
  const retry = publicFailure?.retryAfterSeconds ?? null
  const answer = retry === null ? reply : HttpServerResponse.setHeader(reply, "retry-after", String(retry))
  if (status < 500) return Effect.succeed(answer)
  return Effect.flatMap(
    RequestInfo,
    ({ requestId }) =>
      Effect.as(Effect.annotateLogs(Effect.logError("a call of a shop failed", cause), { requestId }), answer)
  )
}
