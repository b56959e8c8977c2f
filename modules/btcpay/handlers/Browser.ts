/** Pages for browsers: the link to pay, the script that plugins load, and the page that a plugin's wizard opens. */
import { type Cause, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ErrorPages, RateLimiter, RequestInfo } from "../../../runtime/Http.ts"
import { publicErrorOf, refusalTo } from "../../../runtime/http/ErrorResponses.ts"
import { queryOf } from "../../../runtime/http/Query.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { PayorSessions } from "../../auth/plugin.ts"
import { css, makeResponses, renderErrorPage } from "../../checkout/plugin.ts"
import { sessionWith } from "../../invoices/plugin.ts"
import { prefixes } from "../rules.ts"
import { ShopInvoices } from "../service.ts"
import { accountPage, authorizePage, modalScript, plainPageHeaders } from "../pages.ts"
import { answerFailure, jsonReply } from "./Refusals.ts"

const html = (text: string) =>
  HttpServerResponse.text(text, { contentType: "text/html; charset=utf-8", headers: plainPageHeaders })

/** Mounts the pages below each server URL that a shop may have: `path`, and `path` with the prefix of its plugin. */
export const browserRoutes = (path: string) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const invoices = yield* ShopInvoices
    const rateLimiter = yield* RateLimiter
    const sessions = yield* PayorSessions
    const { publicUrl } = yield* Settings

    const errorPages = yield* ErrorPages
    const renderError = renderErrorPage(makeResponses(publicUrl), { style: { css } })
    /** A refusal as the page of the service that says so in the payor's language. */
    const showFailure = (cause: Cause.Cause<unknown>) =>
      Effect.gen(function*() {
        const { requestId } = yield* RequestInfo
        const request = yield* HttpServerRequest.HttpServerRequest
        const error = publicErrorOf(cause)
        return error === undefined
          ? yield* answerFailure(cause)
          : refusalTo(errorPages, request)(error, "wrapped", requestId)
      })

    /** Counts a request of a page for its address, and refuses it above the rate limit. */
    const withRateLimit = <A, E, R>(act: Effect.Effect<A, E, R>) =>
      Effect.gen(function*() {
        yield* rateLimiter.address(yield* HttpServerRequest.HttpServerRequest, "page")
        return yield* act
      })

    /**
     * Redirects to the payment page with a new session that may view and pay. The link itself holds no session, so it
     * may be sent by e-mail.
     */
    const openPaymentPage = Effect.fnUntraced(function*(id: string) {
      const found = yield* invoices.find(id.toLowerCase())
      if (found === null) return yield* publicError("NOT_FOUND")
      const { invoice } = found.current
      const { url } = sessionWith(publicUrl, invoice.id, sessions.mintViewOnly(invoice.id, invoice.createdAt * 1_000))
      return HttpServerResponse.empty({ status: 303, headers: { location: url, "referrer-policy": "no-referrer" } })
    })

    const paramOf = (name: string) =>
      Effect.map(HttpRouter.RouteContext, ({ params }) => (params as Record<string, string | undefined>)[name] ?? "")
    const urlQuery = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => queryOf(url))

    for (const prefix of Object.values(prefixes)) {
      const base = `${path}${prefix}`
      const add = <E, R>(subpath: string, act: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
        router.add("GET", `${base}${subpath}` as `/${string}`, Effect.catchCause(withRateLimit(act), showFailure))
      for (const subpath of ["/i", "/invoice", "/invoices"]) {
        yield* errorPages.register(`${base}${subpath}` as `/${string}`, renderError)
      }
      yield* add("/i/:id", Effect.flatMap(paramOf("id"), openPaymentPage))
      yield* add("/invoice", Effect.flatMap(urlQuery, (query) => openPaymentPage(query.get("id") ?? "")))
      yield* add("/invoices/:id", Effect.succeed(html(accountPage)))
      yield* add("/api-keys/authorize", Effect.succeed(html(authorizePage)))
      yield* add(
        "/modal/btcpay.js",
        Effect.succeed(HttpServerResponse.text(modalScript(base), { contentType: "text/javascript; charset=utf-8" }))
      )
      yield* add("/api/v1/health", Effect.succeed(jsonReply({ synchronized: true })))
    }
  }))
