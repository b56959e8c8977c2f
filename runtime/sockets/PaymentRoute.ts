/** The route `/ws/payment`: who may listen, and to which invoice (modules/docs/reference/websockets.md#streams). */
import { Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { merchantCredentials, RateLimiter, RequestInfo } from "../Http.ts"
import type { Secrets } from "../Secrets.ts"
import { queryOf } from "../http/Query.ts"
import { Sockets } from "../Sockets.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { PayorTickets } from "./PayorTicket.ts"
import { objectionToHandshake, refuseUpgrade } from "./Upgrade.ts"

export const paymentSocketPath = "/ws/payment"

/** The token of the query, or of the subprotocol `bearer.<jwt>` for clients that keep URLs out of logs. */
const tokenOf = (query: URLSearchParams, protocols: string | undefined): string | undefined =>
  query.get("token") ??
    protocols?.split(",").map((each) => each.trim()).find((each) => each.startsWith("bearer."))?.slice("bearer.".length)

/** Why a request cannot be served, before anything is looked at that costs. */
const objectionTo = (query: URLSearchParams, headers: Readonly<Record<string, string | undefined>>) =>
  merchantCredentials.some((name) => headers[name] !== undefined)
    ? publicError("CREDENTIAL_NOT_ALLOWED")
    : (query.get("format") ?? "event_v1") !== "event_v1"
    ? publicError("INVALID_FORMAT", { param: "format" })
    : undefined

/**
 * What to mount at {@link paymentSocketPath}. Refuses before the upgrade with 400 `INVALID_FORMAT`, 401
 * `TOKEN_INVALID` or `TOKEN_EXPIRED`, 403 `CREDENTIAL_NOT_ALLOWED`, 429 `RATE_LIMIT_EXCEEDED`, as wrapped errors; any
 * `Origin` is served, because the token is the credential. `greeting` gives the event texts sent once after `ready` and
 * the replay.
 *
 * @example
 * HttpRouter.add("GET", paymentSocketPath, paymentSocketRoute((invoiceId, merchantId) => quoteTexts(invoiceId)))
 */
export const paymentSocketRoute = <R = never>(
  greeting: (invoiceId: string, merchantId: number, version: string) => Effect.Effect<ReadonlyArray<string>, never, R>
): Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  never,
  HttpServerRequest.HttpServerRequest | Sockets | Secrets | RateLimiter | R
> =>
  Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const rateLimiter = yield* RateLimiter
    const query = queryOf(request.url)
    const objection = objectionTo(query, request.headers) ?? objectionToHandshake(request)
    if (objection !== undefined) return yield* Effect.andThen(rateLimiter.address(request, "payor"), objection)
    const token = tokenOf(query, request.headers["sec-websocket-protocol"])
    const check = token === undefined
      ? Effect.fail(publicError("TOKEN_INVALID", { message: "This stream needs `token`" }))
      : PayorTickets.check(token)
    // A ticket proves itself by its signature, so it is not counted for its address: many payors may share one.
    const { expiresAt, invoiceId, merchantId } = yield* Effect.catch(check, (error) =>
      Effect.andThen(rateLimiter.address(request, "payor"), rateLimiter.refuse(request, error)))
    yield* rateLimiter.session(invoiceId)
    const { apiVersion } = yield* RequestInfo
    const context = yield* Effect.context<R>()
    return yield* (yield* Sockets).serveInvoice({
      invoiceId,
      merchantId,
      sessionKey: invoiceId,
      expiresAt,
      apiVersion,
      since: query.get("since"),
      greeting: Effect.provideContext(greeting(invoiceId, merchantId, apiVersion), context)
    })
  }).pipe(Effect.catch((error: PublicError) =>
    refuseUpgrade(error)
  ))
