/** Turns whatever a route fails with into one of the two error bodies or a page, and nothing of our insides with it. */
import { Cause, Effect, type SchemaIssue } from "effect"
import { Headers, HttpBody, HttpServerError, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { SqlError } from "effect/sql"
import { errorBody, type ErrorCode, type ErrorFamily, PublicError, publicError } from "../../schemas/Errors.ts"
import { invalidInput } from "../../schemas/InvalidInput.ts"
import { errorPageBody } from "./ErrorPages.ts"
import { databaseMessage, sqlStateOf } from "../store/StoreError.ts"
import { type ErrorForm, type ErrorPages, FlatErrors, listParameterCodes, RequestInfo } from "../Http.ts"

/** The family a group renders its errors in. */
export const familyOf = (endpoint: HttpApiEndpoint.Top): ErrorFamily => {
  for (const middleware of endpoint.middlewares) {
    if (middleware.key === FlatErrors.key) return "flat"
  }
  return "wrapped"
}

const keyChallenge = "ApiKey realm=\"tillwire\", header=\"x-api-key\""

/** How a caller may prove who it is, for every 401 (RFC 9110 asks for the header; RFC 6750 for the form of Bearer). */
const challenge = (code: ErrorCode): string => {
  if (code.startsWith("SESSION_")) return "PayorSession realm=\"tillwire\""
  if (code.startsWith("TOKEN_")) return "Bearer realm=\"tillwire\", error=\"invalid_token\""
  return code === "UNAUTHORIZED" ? `${keyChallenge}, Bearer realm="tillwire"` : keyChallenge
}

/** The response of an error: its body in `family`, `Retry-After` and `WWW-Authenticate` where they belong. */
export const errorResponse = (
  error: PublicError,
  family: ErrorFamily,
  requestId: string
): HttpServerResponse.HttpServerResponse => {
  const headers: Record<string, string> = {}
  if (error.retryAfterSeconds !== null) headers["retry-after"] = String(error.retryAfterSeconds)
  if (error.status === 401) headers["www-authenticate"] = challenge(error.code)
  return HttpServerResponse.text(JSON.stringify(errorBody(error, family, requestId)), {
    status: error.status,
    contentType: "application/json",
    headers: Headers.fromRecordUnsafe(headers)
  })
}

/** {@link errorResponse} to a request; with a page for its body where one is rendered for the request's address. */
export const refusalTo = (errorPages: typeof ErrorPages.Service, request: HttpServerRequest.HttpServerRequest) =>
(
  error: PublicError,
  family: ErrorFamily,
  requestId: string
): HttpServerResponse.HttpServerResponse => {
  const response = errorResponse(error, family, requestId)
  const { dependsOnAccept, render } = errorPages.choose(request)
  const page = render?.(error, request)
  const body = page === undefined ? undefined : errorPageBody(page)
  const answer = page === undefined || body === undefined
    ? response
    : HttpServerResponse.setHeaders(
      HttpServerResponse.setBody(response, HttpBody.text(body.text, body.contentType)),
      page.headers
    )
  return dependsOnAccept ? HttpServerResponse.setHeader(answer, "vary", "accept") : answer
}

/** What `HttpApiBuilder` says of a body that is no JSON at all. */
const isMalformedJson = (issue: SchemaIssue.Issue): boolean =>
  issue._tag === "InvalidValue" && issue.annotations?.["message"] === "Expected a valid JSON body"

/** What a schema refused, as the caller may see it. Schemas never report the value itself. */
const refused = (
  error: HttpApiError.HttpApiSchemaError,
  codes: Readonly<Record<string, ErrorCode>>
): PublicError | undefined => {
  if (error.kind === "Body" || error.kind === "ResponseHeaders") return undefined
  if (error.kind === "Payload" && isMalformedJson(error.cause.issue)) return publicError("INVALID_JSON")
  const { message, path } = invalidInput(error.cause.issue)
  const [field] = path
  const code = field === undefined
    ? undefined
    : codes[field] ?? (error.kind === "Query" ? listParameterCodes[field] : undefined)
  return publicError(code ?? "VALIDATION_ERROR", { message, param: field === undefined ? null : path.join(".") })
}

/** Reasons for which the database may answer again soon. */
const passing: ReadonlySet<string> = new Set([
  "ConnectionError",
  "DeadlockError",
  "SerializationError",
  "LockTimeoutError",
  "StatementTimeoutError"
])

/**
 * What PostgreSQL says while it cannot serve at all: no connection, memory or disk left (class 53), stopped, crashed or
 * starting (57P), its files fail (58). Source: PostgreSQL documentation, appendix A.
 */
const troubled = /^(?:53|57P|58)/

const isOutage = (error: SqlError.SqlError): boolean =>
  passing.has(error.reason._tag) || troubled.test(sqlStateOf(error) ?? "")

/**
 * The error a caller is told of; undefined when it is ours: a bug. Failures and defects are judged alike, because a
 * repository turns a lost database into a defect.
 */
export const publicErrorOf = (
  cause: Cause.Cause<unknown>,
  codes: Readonly<Record<string, ErrorCode>> = {}
): PublicError | undefined => {
  const error = Cause.squash(cause)
  if (error instanceof PublicError) return error
  if (HttpApiError.HttpApiSchemaError.is(error)) return refused(error, codes)
  if (SqlError.isSqlError(error) && isOutage(error)) {
    return publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1, reason: databaseMessage(error) })
  }
  return undefined
}

/**
 * `respond` to {@link publicErrorOf}; a bug is logged and answered with `INTERNAL_ERROR`. What the service cannot do is
 * logged with its `reason`, so that an operator can tell one 503 from another.
 */
export const failureResponse = (
  cause: Cause.Cause<unknown>,
  { family, parameterCodes }: ErrorForm,
  respond: ReturnType<typeof refusalTo>
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.withFiber((fiber) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
    const { requestId } = fiber.getRef(RequestInfo)
    const error = publicErrorOf(cause, parameterCodes)
    const response = respond(error ?? publicError("INTERNAL_ERROR"), family, requestId)
    if (error !== undefined && error.status < 500) return Effect.succeed(response)
    const log = error === undefined
      ? Effect.logError("request failed", cause)
      : Effect.logWarning("request refused", cause)
    const reason = error?.reason === undefined ? {} : { reason: error.reason }
    return Effect.as(
      Effect.annotateLogs(log, { requestId, code: error?.code ?? "INTERNAL_ERROR", ...reason }),
      response
    )
  })

/** Whether a failure is the router's "no such route". */
export const isRouteNotFound = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"
}
