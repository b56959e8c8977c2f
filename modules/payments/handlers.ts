/** The payor's view between the wire and the actors: what a payment page reads, and the address it shows. */
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { EventBus } from "../../runtime/EventBus.ts"
import { jsonText, merchantCredentials, RateLimiter } from "../../runtime/Http.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { matchesEtag } from "../../runtime/http/Etags.ts"
import { Sockets } from "../../runtime/Sockets.ts"
import { paymentSocketPath, paymentSocketRoute } from "../../runtime/sockets/PaymentRoute.ts"
import { publicError } from "../../schemas/Errors.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { paymentObject } from "../invoices/plugin.ts"
import { quoteEventText, QuoteRenewal } from "../quotes/plugin.ts"
import { PayorDetails } from "./actor.ts"
import { CurrentSession, PaymentsApi, PayorSession } from "./api.ts"
import { PaymentsRpc } from "./rpc.ts"
import { Payments } from "./service.ts"
import { PayorApi } from "./service/PayorApi.ts"
import * as Operations from "../../runtime/Operations.ts"

/** Opens the session of a request, or refuses it. */
export const sessionLayer = Layer.effect(
  PayorSession,
  Effect.gen(function*() {
    const sessions = yield* PayorSessions
    const rateLimiter = yield* RateLimiter

    const sessionOf = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const { headers } = request
      if (merchantCredentials.some((name) => headers[name] !== undefined)) {
        yield* rateLimiter.address(request, "payor")
        return yield* publicError("CREDENTIAL_NOT_ALLOWED")
      }
      // A session proves itself by its signature, so it is not counted for its address: many payors may share one.
      const invoiceId = yield* sessions.check(headers["x-session-token"] ?? "", headers["x-signature"] ?? "").pipe(
        Effect.catch((error) =>
          Effect.andThen(rateLimiter.address(request, "payor"), rateLimiter.refuse(request, error))
        )
      )
      yield* rateLimiter.session(invoiceId)
      return { invoiceId }
    })

    // Both headers of the reference are one credential.
    const open: PayorSession["Service"]["sessionToken"] = (handler) =>
      Effect.provideServiceEffect(
        handler,
        CurrentSession,
        Effect.flatMap(HttpServerRequest.HttpServerRequest, sessionOf) as Effect.Effect<CurrentSession["Service"]>
      )
    return PayorSession.of({ sessionToken: open, signature: open })
  })
)

const successBody = JSON.stringify({ success: true })

export const handlers = Operations.group(
  PaymentsApi,
  "payments",
  Effect.fn(function*(group) {
    const payorApi = yield* PayorApi
    const details = yield* PayorDetails
    const sessions = yield* PayorSessions
    const session = Effect.flatMap(CurrentSession, ({ invoiceId }) => payorApi.current(invoiceId))
    /** The same for what only the payor says: a session that may only view and pay is refused. */
    const payorsOwn = Effect.gen(function*() {
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      yield* sessions.requireFull(headers["x-signature"] ?? "")
      return yield* session
    })

    return group
      .handle(
        "sessionDetails",
        () => Effect.map(Effect.flatMap(session, payorApi.details), (body) => jsonText(JSON.stringify(body)))
      )
      .handle("availableTokens", ({ query }) =>
        Effect.gen(function*() {
          const aggregate = yield* session
          const tokens = yield* payorApi.tokens(aggregate, query)
          return jsonText(JSON.stringify(yield* payorApi.withNetworkFees(aggregate.invoice.environment, tokens)))
        }))
      .handle(
        "paymentAddress",
        Effect.fnUntraced(function*({ payload }) {
          const tokenId = payload.token_id ?? payload.tokenId
          if (tokenId === undefined) {
            return yield* publicError("VALIDATION_ERROR", {
              message: "token_id is missing: it must be the integer `id` of a token, as available-tokens lists it",
              param: "token_id"
            })
          }
          return jsonText(JSON.stringify(yield* payorApi.address(yield* session, payload.network, tokenId)))
        })
      )
      .handle(
        "paymentStatus",
        Effect.fnUntraced(function*() {
          const text = JSON.stringify(payorApi.status(yield* session))
          const etag = `"${createHash("sha256").update(text).digest("base64url")}"`
          const { headers } = yield* HttpServerRequest.HttpServerRequest
          const response = matchesEtag(headers["if-none-match"], etag)
            ? HttpServerResponse.empty({ status: 304 })
            : jsonText(text)
          return HttpServerResponse.setHeader(response, "etag", etag)
        })
      )
      .handle(
        "customerEmail",
        Effect.fnUntraced(function*({ payload }) {
          const { invoice } = yield* payorsOwn
          yield* details.saveEmail(invoice, payload.email)
          return jsonText(successBody)
        })
      )
      .handle(
        "refundAddress",
        Effect.fnUntraced(function*({ payload }) {
          const { invoice } = yield* payorsOwn
          yield* details.saveRefundAddress(invoice, { ...payload, memo: payload.memo ?? null })
          return jsonText(successBody)
        })
      )
  })
)

/**
 * `/ws/payment`: greeted by the current quote of the route shown last, as an event that is told but not stored; by
 * nothing where nothing can be paid.
 */
export const socketRoute = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const bus = yield* EventBus
  const renewal = yield* QuoteRenewal

  const firstEvents = Effect.fnUntraced(function*(invoiceId: string, merchantId: number, version: string) {
    const current = yield* renewal.startWatch(invoiceId)
    if (current === null) return []
    const position = yield* bus.nextPosition(merchantId)
    return [quoteEventText(position, current.environment, current.quote, {}, version)]
  })

  const secrets = yield* Secrets
  const sockets = yield* Sockets
  const rateLimit = yield* RateLimiter
  yield* router.add(
    "GET",
    paymentSocketPath,
    paymentSocketRoute(firstEvents).pipe(
      Effect.provideService(Sockets, sockets),
      Effect.provideService(Secrets, secrets),
      Effect.provideService(RateLimiter, rateLimit)
    )
  )
}))

export const rpcHandlers = Rpc.handlers(
  PaymentsRpc,
  Effect.gen(function*() {
    const payments = yield* Payments
    return PaymentsRpc.of({
      "payments.retry": Effect.fnUntraced(function*({ payment_id }) {
        const { invoice, payments: all } = yield* payments.retry(payment_id)
        return { payment: paymentObject(invoice, all.find(({ id }) => id === payment_id)!) as never }
      })
    })
  })
)
