/** The payment page between the wire and `Checkout`: the hand-over of the session, forms, headers, pages of refusal. */
import { type Cause, Effect } from "effect"
import { HttpBody, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { merchantCredentials, RequestInfo, Throttle } from "../../runtime/Http.ts"
import { immutable, makeAsset, serve, takes } from "../../runtime/http/Asset.ts"
import { readForm } from "../../runtime/http/Body.ts"
import { failureResponse, publicErrorOf } from "../../runtime/http/Families.ts"
import { Settings } from "../../runtime/Settings.ts"
import { defaultAccent } from "../../schemas/Colour.ts"
import { type ErrorCode, type PublicError, publicError } from "../../schemas/Errors.ts"
import { PayorSessions } from "../auth/plugin.ts"
import type { Aggregate } from "../invoices/plugin.ts"
import { matchesEtag, PayorDesk, sessionAfterlifeSeconds } from "../payments/plugin.ts"
import { Checkout, type Outcome } from "./actor.ts"
import { CheckoutApi } from "./api.ts"
import type { View } from "./machine.ts"
import { accentCss, css, fragment, page, type Problem, problemFragment, problemPage } from "./pages.ts"
import { languages } from "./pages/Languages.ts"
import type { Texts } from "./pages/Texts.ts"
import {
  carriedQuery,
  cookieOfPair,
  isForeign,
  isNavigation,
  languageFor,
  pageHeaders,
  type Pair,
  pairOfCookie,
  pairOfQuery,
  readAct,
  readTab,
  readToken,
  stateTag,
  styleHash
} from "./pages/Visit.ts"
import { island } from "./repo.ts"

const html = "text/html; charset=utf-8"

const sessionCookie = "till_pay"
const languageCookie = "till_lang"
const tabCookie = "till_tab"
const lastCookie = (merchantId: number): string => `till_last_${merchantId}`

/** Seconds for which a browser keeps what the payor chose: a year. */
const choiceSeconds = 31_536_000

/**
 * Brotli's effort for a page that is made for one payor. Measured on pages of 16 and 17 KB: 0.14 and 0.23 ms of processor
 * time; 4 takes 0.11 and 0.13 for 9 % more bytes, 6 the same for nothing. zlib's threads take 1.4 times as much or more.
 */
const pageQuality = 5

const brotliOf = (text: string): Uint8Array => {
  const bytes = Buffer.from(text)
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: pageQuality,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length
    }
  })
}

/** Colours of merchants whose hashes are remembered, at most. */
const maximumAccents = 1_000

const assetHeaders = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" }

const scriptName = (hash: string): string => `pay.${hash}.js`

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** The body in the best encoding that the caller takes. */
const packed = ({ headers }: Request, text: string, more: Readonly<Record<string, string>>): Response => {
  const accepted = headers["accept-encoding"] ?? ""
  const answer = (body: Uint8Array, encoding: Readonly<Record<string, string>> = {}) =>
    HttpServerResponse.uint8Array(body, { contentType: html, headers: { ...more, vary: "accept-encoding", ...encoding } })
  if (takes(accepted, "br")) return answer(brotliOf(text), { "content-encoding": "br" })
  return takes(accepted, "gzip")
    ? answer(gzipSync(text), { "content-encoding": "gzip" })
    : answer(Buffer.from(text))
}

const queryOf = ({ url }: Request): URLSearchParams => {
  const start = url.indexOf("?")
  return new URLSearchParams(start === -1 ? "" : url.slice(start + 1))
}

/** A request whose session opens the invoice of its address. */
interface Visit {
  readonly request: Request
  readonly query: URLSearchParams
  readonly current: Aggregate
  readonly pair: Pair
  /** Whether the address carries the pair, and whether the cookie does. */
  readonly carried: boolean
  readonly kept: boolean
}

const problemOf = (code: ErrorCode | undefined): Problem => {
  if (code === "NOT_FOUND") return "not_found"
  if (code === "RATE_LIMIT_EXCEEDED") return "too_many"
  return code?.startsWith("SESSION_") === true ? "session_ended" : "failed"
}

export const handlers = HttpApiBuilder.group(CheckoutApi, "checkout", Effect.fn(function*(group) {
  const checkout = yield* Checkout
  const desk = yield* PayorDesk
  const sessions = yield* PayorSessions
  const throttle = yield* Throttle
  const { publicUrl } = yield* Settings
  const script = yield* Effect.flatMap(island, (text) => makeAsset(text, "text/javascript; charset=utf-8"))
  const { origin, pathname } = new URL(publicUrl)
  const base = pathname === "/" ? "" : pathname
  const secure = origin.startsWith("https:")

  const assets = { script: `${base}/assets/${scriptName(script.hash)}`, style: { css }, languages }
  const fixedHash = styleHash(css)
  const accents = new Map<string, string>()
  const accentHash = (colour: string): string => {
    const hash = accents.get(colour) ?? styleHash(accentCss(colour))
    if (accents.size < maximumAccents) accents.set(colour, hash)
    return hash
  }

  const headersFor = (colour: string, frameAncestors: ReadonlyArray<string>) =>
    pageHeaders({ publicUrl, frameAncestors, styles: [fixedHash, accentHash(colour)] })

  const withCookie = (response: Response, name: string, value: string, path: string, maxAge: number): Response =>
    HttpServerResponse.setCookieUnsafe(response, name, value, { path, httpOnly: true, secure, sameSite: "lax", maxAge: `${maxAge} seconds` })
  const withChoice = (response: Response, name: string, value: string): Response =>
    withCookie(response, name, value, `${base}/pay`, choiceSeconds)

  const pathOf = (invoiceId: string): string => `${base}/pay/${invoiceId}`

  /** A redirect that no cache keeps and no referrer tells of; the target is a path of ours. */
  const seeOther = (location: string): Response =>
    HttpServerResponse.empty({ status: 303, headers: { ...headersFor(defaultAccent, []), location } })

  const open = Effect.fnUntraced(function*(id: string): Effect.fn.Return<Visit, PublicError, Request> {
    const request = yield* HttpServerRequest.HttpServerRequest
    yield* throttle.address(request, "page")
    if (merchantCredentials.some((name) => request.headers[name] !== undefined)) {
      return yield* publicError("CREDENTIAL_NOT_ALLOWED")
    }
    const query = queryOf(request)
    const sent = pairOfQuery(query)
    const held = pairOfCookie(request.cookies[sessionCookie])
    const pair = sent ?? held ?? { sessionToken: "", signature: "" }
    const invoiceId = yield* sessions.check(pair.sessionToken, pair.signature).pipe(
      Effect.filterOrFail((opened) => opened === id, () => publicError("SESSION_INVALID")),
      Effect.catch((error) => throttle.refused(request, error))
    )
    yield* throttle.session(invoiceId)
    return {
      request,
      query,
      pair,
      current: yield* desk.current(invoiceId),
      carried: sent !== null,
      kept: held?.sessionToken === pair.sessionToken && held.signature === pair.signature
    }
  })

  /** The language of a page that belongs to no invoice. */
  const languageOfStranger = (request: Request): Texts =>
    languageFor({
      asked: queryOf(request).get("lang"),
      cookie: request.cookies[languageCookie],
      invoice: null,
      browser: request.headers["accept-language"],
      merchant: null
    })

  const languageOf = ({ current, query, request }: Visit, merchant: string): Texts =>
    languageFor({
      asked: query.get("lang"),
      cookie: request.cookies[languageCookie],
      invoice: current.invoice.details.locale,
      browser: request.headers["accept-language"],
      merchant
    })

  /** Where a page goes on: its path, and what it must carry where the cookie did not come back. */
  const addressOf = ({ carried, current, pair, query }: Visit, lang = query.get("lang")) => ({
    path: pathOf(current.invoice.id),
    query: carried ? carriedQuery(pair, { lang, tab: readTab(query.get("tab")) }) : ""
  })

  const viewOf = (visit: Visit): Effect.Effect<View, PublicError> => {
    const { current, query, request } = visit
    const refund = query.get("refund")
    const last = Number.parseInt(request.cookies[lastCookie(current.invoice.merchantId)] ?? "", 10)
    return checkout.view(current, {
      ...addressOf(visit),
      change: query.get("change") === "1",
      opens: request.method === "GET" && isNavigation(request.headers),
      tab: readTab(query.get("tab")) ?? readTab(request.cookies[tabCookie]) ?? "link",
      refund: refund === "saved" || refund === "refused" ? refund : null,
      unpriced: readToken(query.get("token")),
      lastToken: Number.isSafeInteger(last) ? last : null
    })
  }

  /** The choices that the address names, kept where cookies are. */
  const remembering = ({ carried, query }: Visit, texts: Texts, response: Response): Response => {
    if (carried) return response
    const tab = readTab(query.get("tab"))
    const withTab = tab === null ? response : withChoice(response, tabCookie, tab)
    return query.get("lang") === texts.locale ? withChoice(withTab, languageCookie, texts.locale) : withTab
  }

  /** Says what went wrong as a page: its status, its headers, and no more than the payor can act upon. */
  const refuse = (id: string, part: "document" | "fragment") => (cause: Cause.Cause<unknown>) =>
    Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const plain = yield* failureResponse(cause, "wrapped")
      const problem = problemOf(publicErrorOf(cause)?.code)
      const sent = pairOfQuery(queryOf(request))
      const again = `${pathOf(id)}${sent === null ? "" : carriedQuery(sent, { lang: null, tab: null })}`
      const retry = problem === "failed" ? again : null
      const texts = languageOfStranger(request)
      const text = part === "document" ? problemPage(problem, texts, assets, retry) : problemFragment(problem, texts, retry)
      return HttpServerResponse.setHeaders(
        HttpServerResponse.setBody(plain, HttpBody.text(text, html)),
        headersFor(defaultAccent, [])
      )
    })

  const asPage = <E, R>(id: string, answer: Effect.Effect<Response, E, R>) =>
    Effect.catchCause(answer, refuse(id, "document"))
  const asFragment = <E, R>(id: string, answer: Effect.Effect<Response, E, R>) =>
    Effect.catchCause(answer, refuse(id, "fragment"))

  /** After a form: to the page, or to the invoice that was made. */
  const afterwards = (visit: Visit, outcome: Outcome): Response => {
    if (outcome._tag === "OtherInvoice") {
      const { sessionToken, signature } = outcome.pair
      return seeOther(`${pathOf(outcome.id)}?${new URLSearchParams({ session_token: sessionToken, signature })}`)
    }
    const { path, query } = addressOf(visit)
    const more = new URLSearchParams({
      ...(outcome.refund === undefined ? {} : { refund: outcome.refund }),
      ...(outcome.change === undefined ? {} : { change: "1" }),
      ...(outcome.unpriced === undefined ? {} : { token: String(outcome.unpriced) })
    })
    const response = seeOther(more.size === 0 ? `${path}${query}` : `${path}${query === "" ? "?" : `${query}&`}${more}`)
    return outcome.chosen === undefined || visit.carried
      ? response
      : withChoice(response, lastCookie(visit.current.invoice.merchantId), String(outcome.chosen))
  }

  const show = Effect.fnUntraced(function*(visit: Visit) {
    const { current, request } = visit
    const { accent, default_locale, frame_ancestors } = yield* checkout.branding(current)
    const texts = languageOf(visit, default_locale)
    const text = page(yield* viewOf(visit), texts, assets)
    return remembering(visit, texts, packed(request, text, headersFor(accent, frame_ancestors)))
  })

  return group
    .handle("page", ({ params: { id } }) =>
      asPage(id, Effect.flatMap(open(id), (visit) => {
        const { carried, kept, pair, query } = visit
        if (!carried) return show(visit)
        if (query.get("c") !== "1") {
          const { path, query: carriedOn } = addressOf(visit)
          return Effect.succeed(
            withCookie(seeOther(`${path}${carriedOn}`), sessionCookie, cookieOfPair(pair), path, sessionAfterlifeSeconds)
          )
        }
        if (!kept) return show(visit)
        const lang = query.get("lang")
        return Effect.succeed(seeOther(`${pathOf(id)}${lang === null ? "" : `?${new URLSearchParams({ lang })}`}`))
      })))
    .handle("state", ({ params: { id } }) =>
      asFragment(id, Effect.gen(function*() {
        const visit = yield* open(id)
        const { accent, default_locale, frame_ancestors } = yield* checkout.branding(visit.current)
        const texts = languageOf(visit, default_locale)
        const view = yield* viewOf(visit)
        const tag = `"${stateTag(view, texts.locale)}"`
        const headers = { ...headersFor(accent, frame_ancestors), etag: `W/${tag}` }
        return matchesEtag(visit.request.headers["if-none-match"], tag)
          ? HttpServerResponse.empty({ status: 304, headers })
          : packed(visit.request, fragment(view, texts), headers)
      })))
    .handle("act", ({ params: { id } }) =>
      asPage(id, Effect.gen(function*() {
        const visit = yield* open(id)
        const { current, request } = visit
        if (isForeign(request.headers, origin)) return yield* publicError("ORIGIN_NOT_ALLOWED")
        const act = readAct(yield* readForm(request))
        if (act === null) return yield* publicError("VALIDATION_ERROR", { message: "This is not a form of the page" })
        if (act._tag === "Language") {
          const { path, query } = addressOf(visit, act.locale)
          const response = seeOther(`${path}${query}`)
          return visit.carried ? response : withChoice(response, languageCookie, act.locale)
        }
        const { requestId } = yield* RequestInfo
        const outcome = yield* checkout.act(current, act, { requestId, idempotencyKey: null })
        return afterwards(visit, outcome)
      })))
    .handle("asset", ({ params: { name } }) =>
      name === scriptName(script.hash)
        ? Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => serve(script, request, immutable, assetHeaders))
        : Effect.fail(publicError("NOT_FOUND")))
}))
