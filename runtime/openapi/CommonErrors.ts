/**
 * What a call can be refused with whoever serves it: the global middleware, the limits and the middlewares of its
 * group.
 */
import type { HttpApiEndpoint } from "effect/http-api"
import type { ErrorCode } from "../../schemas/Errors.ts"
import { authenticationErrors, IdempotencyRequired, Idempotent, MerchantAuth } from "../Http.ts"

/** Whether a middleware stands before an endpoint. */
export const hasMiddleware = (endpoint: HttpApiEndpoint.Top, middleware: { readonly key: string }): boolean =>
  [...endpoint.middlewares].some(({ key }) => key === middleware.key)

const always: ReadonlyArray<ErrorCode> = [
  "VALIDATION_ERROR",
  "INVALID_VERSION",
  "RATE_LIMIT_EXCEEDED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE"
]

const withBody: ReadonlyArray<ErrorCode> = ["INVALID_JSON", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"]

const withIdempotencyKey: ReadonlyArray<ErrorCode> = [
  "IDEMPOTENCY_KEY_INVALID",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED"
]

/** The codes an endpoint can answer beside those it declares itself. */
export const commonCodes = (endpoint: HttpApiEndpoint.Top): ReadonlyArray<ErrorCode> => [
  ...always,
  ...endpoint.method !== "GET" ? withBody : [],
  ...hasMiddleware(endpoint, MerchantAuth) ? authenticationErrors : [],
  ...hasMiddleware(endpoint, IdempotencyRequired) ? ["IDEMPOTENCY_KEY_MISSING" as const] : [],
  ...hasMiddleware(endpoint, Idempotent) || hasMiddleware(endpoint, IdempotencyRequired) ? withIdempotencyKey : []
]
