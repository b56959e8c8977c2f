/** The public pages of payment links between the wire and `PaymentLinks`: a page, its form, its poster. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import {
  ErrorPages,
  merchantCredentials,
  RateLimiter,
  type RefusedRequest,
  RequestInfo
} from "../../../runtime/Http.ts"
import { callerBehind, prefixesOf } from "../../../runtime/http/Addresses.ts"
import { readForm } from "../../../runtime/http/Body.ts"
import { queryOf } from "../../../runtime/http/Query.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { htmlResponse } from "../../../runtime/pages/HtmlResponse.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import {
  isCrossSite,
  languageFor,
  makeResponses,
  pageHeaders,
  readLanguageChoice,
  type Responses,
  styleHash,
  type Texts
} from "../../checkout/plugin.ts"
import { type InvoiceState, makeSession } from "../../invoices/plugin.ts"
import { MerchantSettings } from "../../settings/plugin.ts"
import { ServedLinksApi } from "../api.ts"
import { linkPage, linkTextsOf, poster, posterStyles, readPaperSize, refusalPage } from "../pages.ts"
import { visitRetentionDays } from "../repo.ts"
import { isCode, payableAmount, readVisit, visitBytes } from "../rules.ts"
import { type LinkVisit, PaymentLinks } from "../service.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** Name of the cookie that holds a browser's random name, for the page of one link. */
const visitCookie = "till_link"

/** Characters of a typed amount that are looked at. */
const maximumTyped = 40

const languageOf = (url: string, headers: Readonly<Record<string, string | undefined>>, merchant: string | null) =>
  languageFor({
    query: queryOf(url).get("lang"),
    cookie: undefined,
    invoice: null,
    browser: headers["accept-language"],
    merchant
  })

/** What a form of the page asks for; null: it is none of ours, or a field stands twice. */
const readAction = (form: URLSearchParams) => {
  const fields = new Map(form)
  if (fields.size !== form.size) return null
  if (fields.get("action") === "pay") {
    const amount = fields.get("amount") ?? ""
    return { _tag: "Pay", amount: amount.slice(0, maximumTyped), visit: readVisit(fields.get("visit")) } as const
  }
  const locale = fields.get("action") === "language" ? readLanguageChoice(fields.get("lang") ?? "") : null
  return locale === null ? null : { _tag: "Language", locale } as const
}

/** The page of a link by its address; null: the address is none of a link's. */
const codeIn = (url: string): string | null => {
  const code = /^\/+l\/+([^/?#;]+)/i.exec(url)?.[1]?.toLowerCase()
  return code !== undefined && isCode(code) ? code : null
}

/** Draws refusals for every address below `/l`; nothing of what was sent comes back. */
const renderError = ({ base, plainHeaders }: Responses) => (error: PublicError, request: RefusedRequest) => {
  const texts = languageOf(request.url, request.headers, null)
  const words = linkTextsOf(texts)
  const code = codeIn(request.url)
  const retry = code === null ? null : `${base}/l/${code}?lang=${texts.locale}`
  const page = error.code === "NOT_FOUND"
    ? refusalPage(texts, { title: words.notFoundTitle, text: words.notFound }, null)
    : error.code === "RATE_LIMIT_EXCEEDED"
    ? refusalPage(texts, { title: texts.tooManyTitle, text: texts.tooMany }, retry)
    : error.status >= 500
    ? refusalPage(texts, { title: texts.unavailableTitle, text: texts.unavailable }, retry)
    : refusalPage(texts, { title: texts.failedTitle, text: texts.failed }, retry)
  return { html: page, headers: plainHeaders }
}

const makePages = Effect.gen(function*() {
  const links = yield* PaymentLinks
  const rateLimiter = yield* RateLimiter
  const merchantSettings = yield* MerchantSettings
  const sessionOf = yield* makeSession
  const { http: { trustProxy }, publicUrl } = yield* Settings
  const callerOf = callerBehind(trustProxy)
  const responses = makeResponses(publicUrl)
  const pathOf = (code: string): string => `${responses.base}/l/${code}`
  yield* (yield* ErrorPages).register("/l", renderError(responses))

  const open = Effect.fnUntraced(function*(code: string) {
    const request = yield* HttpServerRequest.HttpServerRequest
    yield* rateLimiter.address(request, "link")
    if (merchantCredentials.some((name) => request.headers[name] !== undefined)) {
      return yield* publicError("CREDENTIAL_NOT_ALLOWED")
    }
    const visit = readVisit(request.cookies[visitCookie])
    return { request, code: code.toLowerCase(), visit }
  })

  const brandingOf = ({ link }: LinkVisit) =>
    Effect.map(merchantSettings.get(link.merchantId, link.environment), ({ branding }) => branding)

  const withVisit = (response: Response, code: string, visit: string): Response =>
    HttpServerResponse.setCookieUnsafe(response, visitCookie, visit, {
      path: pathOf(code),
      httpOnly: true,
      secure: publicUrl.startsWith("https:"),
      sameSite: "lax",
      maxAge: `${visitRetentionDays} days`
    })

  /** The page as this browser sees it now. */
  const show = Effect.fnUntraced(function*(
    request: Request,
    found: LinkVisit,
    visit: string,
    wrongAmount: string | null
  ) {
    const branding = yield* brandingOf(found)
    const texts = languageOf(request.url, request.headers, branding.default_locale)
    const { code } = found.link
    const page = linkPage({ found, branding, path: pathOf(code), visit, wrongAmount }, texts)
    return withVisit(htmlResponse(request, page, responses.headersFor(branding.accent, [])), code, visit)
  })

  const newVisit = Effect.sync(() => randomBytes(visitBytes).toString("base64url"))

  /** To the payment page of an invoice, in the language in which the payor was. */
  const toPayment = (invoice: InvoiceState, { locale }: Texts): Response => {
    const { searchParams } = new URL(sessionOf(invoice).url)
    searchParams.set("lang", locale)
    return responses.seeOther(`${responses.pathOf(invoice.id)}?${searchParams}`)
  }

  return { callerOf, links, newVisit, open, pathOf, publicUrl, brandingOf, responses, show, toPayment, withVisit }
})

export const pageHandlers = Operations.group(
  ServedLinksApi,
  "link-pages",
  Effect.fn(function*(group) {
    const pages = yield* makePages
    const { links, open, responses, show } = pages

    return group
      .handle(
        "page",
        Effect.fnUntraced(function*({ params }) {
          const { code, request, visit } = yield* open(params.code)
          const found = yield* links.visit(code, visit)
          return yield* show(request, found, visit ?? (yield* pages.newVisit), null)
        })
      )
      .handle(
        "act",
        Effect.fnUntraced(function*({ params }) {
          const { code, request, visit: cookieVisit } = yield* open(params.code)
          if (isCrossSite(request.headers, responses.origin)) return yield* publicError("ORIGIN_NOT_ALLOWED")
          const action = readAction(yield* readForm(request))
          if (action === null) {
            return yield* publicError("VALIDATION_ERROR", { message: "This is not a form of the page" })
          }
          const visit = cookieVisit ?? (action._tag === "Pay" ? action.visit : null) ?? (yield* pages.newVisit)
          const found = yield* links.visit(code, visit)
          if (action._tag === "Language") return responses.seeOther(`${pages.pathOf(code)}?lang=${action.locale}`)
          const amount = payableAmount(found.link, action.amount)
          if (amount === null) return yield* show(request, found, visit, action.amount)
          const texts = languageOf(request.url, request.headers, (yield* pages.brandingOf(found)).default_locale)
          const ranges = prefixesOf(pages.callerOf(request) ?? "unknown")
          const { requestId } = yield* RequestInfo
          const cause = { requestId, idempotencyKey: null }
          const begun = yield* links.begin(code, { visit, ranges }, amount, texts.locale, cause)
          return begun._tag === "Invoice"
            ? pages.withVisit(pages.toPayment(begun.invoice, texts), code, visit)
            // The page says why.
            : responses.seeOther(`${pages.pathOf(code)}?lang=${texts.locale}`)
        })
      )
      .handle(
        "poster",
        Effect.fnUntraced(function*({ params }) {
          const { code, request } = yield* open(params.code)
          const found = yield* links.visit(code, null)
          const branding = yield* pages.brandingOf(found)
          const texts = languageOf(request.url, request.headers, branding.default_locale)
          const size = readPaperSize(queryOf(request.url).get("size"))
          const url = `${pages.publicUrl}/l/${code}`
          const headers = pageHeaders({
            publicUrl: pages.publicUrl,
            frameAncestors: [],
            styles: [styleHash(posterStyles[size])]
          })
          return htmlResponse(request, poster({ link: found.link, branding, url, size }, texts), headers)
        })
      )
  })
)
