/** The payment page between the wire and `Checkout`: the hand-over of the session, forms, screens and fragments. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { ErrorPages, merchantCredentials, RateLimiter, RequestInfo } from "../../runtime/Http.ts"
import { immutable, makeAsset, serve } from "../../runtime/http/Asset.ts"
import { matchesEtag } from "../../runtime/http/Etags.ts"
import { queryOf } from "../../runtime/http/Query.ts"
import { readForm } from "../../runtime/http/Body.ts"
import { PagePreviews } from "../../runtime/PagePreviews.ts"
import { Settings } from "../../runtime/Settings.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { PayorSessions } from "../auth/plugin.ts"
import type { Aggregate, WithLastEvent } from "../invoices/plugin.ts"
import { PayorApi } from "../payments/plugin.ts"
import { Checkout, type Outcome } from "./service.ts"
import { CheckoutApi } from "./api.ts"
import { css, fragment, page, renderErrorPage, type Texts } from "./pages.ts"
import { htmlResponse } from "../../runtime/pages/HtmlResponse.ts"
import { makePreview } from "./pages/Preview.ts"
import { cookies, makeResponses, type Responses } from "./pages/Responses.ts"
import { languages } from "./pages/Languages.ts"
import {
  credentialsOfCookie,
  credentialsOfQuery,
  isCrossSite,
  isNavigation,
  languageFor,
  readCurrency,
  readFormAction,
  readTab,
  readToken,
  type SessionCredentials,
  sessionQuery,
  stateTag
} from "./pages/PageRequest.ts"
import { makeClaimScript } from "./handlers/Claims.ts"
import { makeReceipt } from "./handlers/Receipts.ts"
import { island } from "./repo.ts"
import * as Operations from "../../runtime/Operations.ts"

const assetHeaders = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" }

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** A request whose session opens the invoice of its address. */
interface PageRequest {
  readonly request: Request
  readonly query: URLSearchParams
  readonly snapshot: WithLastEvent
  readonly current: Aggregate
  readonly credentials: SessionCredentials
  /** Whether the address carries the pair, and whether the cookie does. */
  readonly hasQuerySession: boolean
  readonly hasCookieSession: boolean
}

const languageOf = ({ current, query, request }: PageRequest, merchant: string): Texts =>
  languageFor({
    query: query.get("lang"),
    cookie: request.cookies[cookies.language],
    invoice: current.invoice.details.locale,
    browser: request.headers["accept-language"],
    merchant
  })

/** What the address and the cookies say of the screen; `isNavigation`: a person opens the page by this request. */
const viewRequestOf = ({ current, query, request }: PageRequest) => {
  const refund = query.get("refund")
  const last = Number.parseInt(request.cookies[cookies.last(current.invoice.merchantId)] ?? "", 10)
  return {
    change: query.get("change") === "1",
    currency: readCurrency(query.get("currency")),
    isNavigation: request.method === "GET" && isNavigation(request.headers),
    tab: readTab(query.get("tab")) ?? readTab(request.cookies[cookies.tab]) ?? "link",
    isPhone: request.headers["sec-ch-ua-mobile"] === "?1",
    refund: refund === "saved" || refund === "refused" ? refund : null,
    unpricedToken: readToken(query.get("token")),
    lastToken: Number.isSafeInteger(last) ? last : null
  } as const
}

/** Where a visit goes on, and what the browser keeps of it. */
const makeNavigation = ({ pathOf, seeOther, withChoice, withSession }: Responses) => {
  /** Where a page goes on: its path, and what it must carry where the cookie did not come back. */
  const locationOf = ({ hasQuerySession, current, credentials, query }: PageRequest, lang = query.get("lang")) => ({
    path: pathOf(current.invoice.id),
    query: hasQuerySession ? sessionQuery(credentials, { lang, tab: readTab(query.get("tab")) }) : ""
  })

  return {
    locationOf,

    /** The next step of a session that its link brought, on its way into the cookie; null: here it stays. */
    handOver: (pageRequest: PageRequest): Response | null => {
      const { hasQuerySession, hasCookieSession, credentials, query } = pageRequest
      if (!hasQuerySession) return null
      const { path, query: carriedOn } = locationOf(pageRequest)
      if (query.get("c") !== "1") return withSession(seeOther(`${path}${carriedOn}`), credentials, path)
      if (!hasCookieSession) return null
      const lang = query.get("lang")
      return seeOther(`${path}${lang === null ? "" : `?${new URLSearchParams({ lang })}`}`)
    },

    /** The choices that the address names, kept where cookies are. */
    remembering: ({ hasQuerySession, query }: PageRequest, texts: Texts, response: Response): Response => {
      if (hasQuerySession) return response
      const tab = readTab(query.get("tab"))
      const withTab = tab === null ? response : withChoice(response, cookies.tab, tab)
      return query.get("lang") === texts.locale ? withChoice(withTab, cookies.language, texts.locale) : withTab
    },

    /** After the choice of a language: to the page in it. */
    spoken: (pageRequest: PageRequest, locale: string): Response => {
      const { path, query } = locationOf(pageRequest, locale)
      const response = seeOther(`${path}${query}`)
      return pageRequest.hasQuerySession ? response : withChoice(response, cookies.language, locale)
    },

    /** After any other form: to the page, or to the invoice that was made. */
    afterwards: (pageRequest: PageRequest, outcome: Outcome): Response => {
      if (outcome._tag === "OtherInvoice") {
        const { sessionToken, signature } = outcome.credentials
        return seeOther(`${pathOf(outcome.id)}?${new URLSearchParams({ session_token: sessionToken, signature })}`)
      }
      const { path, query } = locationOf(pageRequest)
      const more = new URLSearchParams({
        ...(outcome.refund === undefined ? {} : { refund: outcome.refund }),
        ...(outcome.change === undefined ? {} : { change: "1" }),
        ...(outcome.unpricedToken === undefined ? {} : { token: String(outcome.unpricedToken) })
      })
      const response = seeOther(
        more.size === 0 ? `${path}${query}` : `${path}${query === "" ? "?" : `${query}&`}${more}`
      )
      return outcome.chosenToken === undefined || pageRequest.hasQuerySession
        ? response
        : withChoice(response, cookies.last(pageRequest.current.invoice.merchantId), String(outcome.chosenToken))
    }
  }
}

/** Opens the invoice of an address by the session that came with the request: in its query, else in its cookie. */
const makeOpen = Effect.gen(function*() {
  const payorApi = yield* PayorApi
  const sessions = yield* PayorSessions
  const rateLimiter = yield* RateLimiter

  return Effect.fnUntraced(function*(id: string): Effect.fn.Return<PageRequest, PublicError, Request> {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (merchantCredentials.some((name) => request.headers[name] !== undefined)) {
      yield* rateLimiter.address(request, "page")
      return yield* publicError("CREDENTIAL_NOT_ALLOWED")
    }
    const query = queryOf(request.url)
    const queryCredentials = credentialsOfQuery(query)
    const cookieCredentials = credentialsOfCookie(request.cookies[cookies.session])
    const credentials = queryCredentials ?? cookieCredentials ?? { sessionToken: "", signature: "" }
    const invoiceId = yield* sessions.check(credentials.sessionToken, credentials.signature).pipe(
      Effect.filterOrFail((openedId) => openedId === id, () => publicError("SESSION_INVALID")),
      // A session proves itself by its signature, so it is not counted for its address: many payors may share one.
      Effect.catch((error) => Effect.andThen(rateLimiter.address(request, "page"), rateLimiter.refuse(request, error)))
    )
    yield* rateLimiter.session(invoiceId)
    const snapshot = yield* payorApi.withLastEvent(invoiceId)
    return {
      request,
      query,
      credentials,
      snapshot,
      current: snapshot.aggregate,
      hasQuerySession: queryCredentials !== null,
      hasCookieSession: cookieCredentials?.sessionToken === credentials.sessionToken &&
        cookieCredentials.signature === credentials.signature
    }
  })
})

export const handlers = Operations.group(
  CheckoutApi,
  "checkout",
  Effect.fn(function*(group) {
    const checkout = yield* Checkout
    const errorPages = yield* ErrorPages
    const open = yield* makeOpen
    const sessions = yield* PayorSessions
    const { publicUrl } = yield* Settings
    const script = yield* Effect.flatMap(island, (text) => makeAsset(text, "text/javascript; charset=utf-8"))
    const scriptName = `pay.${script.hash}.js`
    const claimScript = yield* makeClaimScript
    const scripts = new Map([[scriptName, script], [claimScript.name, claimScript.asset]])
    const responses = makeResponses(publicUrl)
    const {
      locationOf,
      afterwards: afterForm,
      handOver: handOverSession,
      remembering: rememberChoices,
      spoken: afterLanguageChoice
    } = makeNavigation(responses)
    const assets = { script: `${responses.base}/assets/${scriptName}`, style: { css }, languages }
    yield* errorPages.register("/pay", renderErrorPage(responses, assets))
    yield* (yield* PagePreviews).register(makePreview(publicUrl))

    const receipt = yield* makeReceipt(responses)

    /** All that a screen is drawn from, and the headers it goes under. */
    const loadView = Effect.fnUntraced(function*(pageRequest: PageRequest) {
      const { accent, default_locale, frame_ancestors } = yield* checkout.branding(pageRequest.current)
      const canSetRefundAddress = yield* Effect.isSuccess(sessions.requireFull(pageRequest.credentials.signature))
      return {
        view: yield* checkout.view(pageRequest.snapshot, {
          ...locationOf(pageRequest),
          ...viewRequestOf(pageRequest),
          canSetRefundAddress
        }),
        texts: languageOf(pageRequest, default_locale),
        headers: responses.headersFor(accent, frame_ancestors)
      }
    })

    return group
      .handle(
        "page",
        Effect.fnUntraced(function*({ params: { id } }) {
          const pageRequest = yield* open(id)
          const next = handOverSession(pageRequest)
          if (next !== null) return next
          const { headers, texts, view } = yield* loadView(pageRequest)
          return rememberChoices(
            pageRequest,
            texts,
            htmlResponse(pageRequest.request, page(view, texts, assets), headers)
          )
        })
      )
      .handle(
        "state",
        Effect.fnUntraced(function*({ params: { id } }) {
          const visit = yield* open(id)
          const { headers, texts, view } = yield* loadView(visit)
          const tag = `"${stateTag(view, texts.locale)}"`
          const taggedHeaders = { ...headers, etag: `W/${tag}` }
          return matchesEtag(visit.request.headers["if-none-match"], tag)
            ? HttpServerResponse.empty({ status: 304, headers: taggedHeaders })
            : htmlResponse(visit.request, fragment(view, texts), taggedHeaders)
        })
      )
      .handle("receipt", ({ params: { id } }) => receipt(id))
      .handle(
        "act",
        Effect.fnUntraced(function*({ params: { id } }) {
          const visit = yield* open(id)
          const { current, request } = visit
          if (isCrossSite(request.headers, responses.origin)) return yield* publicError("ORIGIN_NOT_ALLOWED")
          const action = readFormAction(yield* readForm(request))
          if (action === null) {
            return yield* publicError("VALIDATION_ERROR", { message: "This is not a form of the page" })
          }
          if (action._tag === "Language") return afterLanguageChoice(visit, action.locale)
          if (action._tag === "Refund") yield* sessions.requireFull(visit.credentials.signature)
          const { requestId } = yield* RequestInfo
          return afterForm(visit, yield* checkout.act(current, action, { requestId, idempotencyKey: null }))
        })
      )
      .handle(
        "asset",
        Effect.fnUntraced(function*({ params: { name } }) {
          const asset = scripts.get(name)
          if (asset === undefined) return yield* publicError("NOT_FOUND")
          return yield* serve(asset, yield* HttpServerRequest.HttpServerRequest, immutable, assetHeaders)
        })
      )
  })
)
