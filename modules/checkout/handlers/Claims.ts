/** The claim page between the wire and `Claims`: an empty page, and what its token opens, whole or in part. */
import { Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { ErrorPages, merchantCredentials, RateLimiter, RequestInfo } from "../../../runtime/Http.ts"
import { makeAsset } from "../../../runtime/http/Asset.ts"
import { readForm } from "../../../runtime/http/Body.ts"
import { queryOf } from "../../../runtime/http/Query.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { CheckoutApi } from "../api.ts"
import { claimScript } from "../repo.ts"
import { claimEntry, claimFragment, claimPage, renderClaimError } from "../pages/ClaimPage.ts"
import { languages } from "../pages/Languages.ts"
import { isCrossSite, languageFor, readClaimForm } from "../pages/PageRequest.ts"
import { htmlResponse } from "../../../runtime/pages/HtmlResponse.ts"
import { makeResponses } from "../pages/Responses.ts"
import { css } from "../pages/Style.ts"
import type { Texts } from "../pages/Texts.ts"
import { Claims } from "../service/Claims.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Ids of refunds; every other path is nobody's. */
const refundIdPattern = /^re_[0-9a-f-]{36}$/

/** A request for the page of a refund, whose token is not looked at yet. */
interface ClaimRequest {
  readonly request: Request
  readonly refundId: string
  readonly texts: Texts
}

const languageOf = ({ headers }: Request, locale: string | null): Texts =>
  languageFor({
    query: locale,
    cookie: undefined,
    invoice: null,
    browser: headers["accept-language"],
    merchant: null
  })

/** The page's script, and its name below `/assets`. */
export const makeClaimScript = Effect.map(
  Effect.flatMap(claimScript, (text) => makeAsset(text, "text/javascript; charset=utf-8")),
  (asset) => ({ asset, name: `claim.${asset.hash}.js` })
)

export const claimHandlers = Operations.group(
  CheckoutApi,
  "claims",
  Effect.fn(function*(group) {
    const claims = yield* Claims
    const rateLimiter = yield* RateLimiter
    const { publicUrl } = yield* Settings
    const responses = makeResponses(publicUrl)
    const { name } = yield* makeClaimScript
    const assets = { script: `${responses.base}/assets/${name}`, style: { css }, languages }
    yield* (yield* ErrorPages).register("/claim", renderClaimError(responses, assets))

    const pathOf = (refundId: string): string => `${responses.base}/claim/${refundId}`

    const open = Effect.fnUntraced(function*(id: string): Effect.fn.Return<ClaimRequest, PublicError, Request> {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* rateLimiter.address(request, "claim")
      if (merchantCredentials.some((header) => request.headers[header] !== undefined)) {
        return yield* publicError("CREDENTIAL_NOT_ALLOWED")
      }
      const refundId = id.toLowerCase()
      if (!claims.isServed() || !refundIdPattern.test(refundId)) return yield* publicError("NOT_FOUND")
      return { request, refundId, texts: languageOf(request, queryOf(request.url).get("lang")) }
    })

    const readAction = Effect.fnUntraced(function*(request: Request) {
      if (isCrossSite(request.headers, responses.origin)) return yield* publicError("ORIGIN_NOT_ALLOWED")
      return readClaimForm(yield* readForm(request)) ?? (yield* publicError("VALIDATION_ERROR", {
        message: "This is not a form of the page"
      }))
    })

    /** Its frame has no look of a merchant's, whoever's refund it is: it may stand in nobody's. */
    const entry = ({ refundId, request, texts }: ClaimRequest): HttpServerResponse.HttpServerResponse =>
      htmlResponse(request, claimEntry(pathOf(refundId), texts, assets), responses.plainHeaders)

    return group
      .handle(
        "page",
        Effect.fnUntraced(function*({ params: { id } }) {
          return entry(yield* open(id))
        })
      )
      .handle(
        "state",
        Effect.fnUntraced(function*({ params: { id } }) {
          const { refundId, request, texts } = yield* open(id)
          const { action, token } = yield* readAction(request)
          if (token === null) return yield* publicError("REFUND_NOT_FOUND")
          const view = yield* claims.act(refundId, token, action, (yield* RequestInfo).requestId)
          return htmlResponse(request, claimFragment(view, texts, pathOf(refundId)), responses.plainHeaders)
        })
      )
      .handle(
        "act",
        Effect.fnUntraced(function*({ params: { id } }) {
          const opened = yield* open(id)
          const { refundId, request } = opened
          const { action, locale, token } = yield* readAction(request)
          const texts = locale === null ? opened.texts : languageOf(request, locale)
          if (locale !== null && token === null) return entry({ ...opened, texts })
          if (token === null) return yield* publicError("REFUND_NOT_FOUND")
          const view = yield* claims.act(refundId, token, action, (yield* RequestInfo).requestId)
          return htmlResponse(
            request,
            claimPage(view, texts, pathOf(refundId), token, assets),
            responses.headersFor(view.branding.accent, [])
          )
        })
      )
  })
)
