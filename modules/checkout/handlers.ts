/** The payment page between the wire and `Checkout`: the hand-over of the session, forms, screens and fragments. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Drawings, merchantCredentials, RequestInfo, Throttle } from "../../runtime/Http.ts"
import { immutable, makeAsset, serve } from "../../runtime/http/Asset.ts"
import { matchesEtag } from "../../runtime/http/Etags.ts"
import { queryOf } from "../../runtime/http/Query.ts"
import { readForm } from "../../runtime/http/Body.ts"
import { Settings } from "../../runtime/Settings.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { PayorSessions } from "../auth/plugin.ts"
import type { Aggregate, AsTold } from "../invoices/plugin.ts"
import { PayorDesk } from "../payments/plugin.ts"
import { Checkout, type Outcome } from "./actor.ts"
import { CheckoutApi } from "./api.ts"
import { css, drawRefusal, fragment, page, type Texts } from "./pages.ts"
import { type Answers, cookies, makeAnswers, packed } from "./pages/Answers.ts"
import { languages } from "./pages/Languages.ts"
import {
  carriedQuery,
  isForeign,
  isNavigation,
  languageFor,
  type Pair,
  pairOfCookie,
  pairOfQuery,
  readAct,
  readTab,
  readToken,
  stateTag
} from "./pages/Visit.ts"
import { island } from "./repo.ts"

const assetHeaders = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" }

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** A request whose session opens the invoice of its address. */
interface Visit {
  readonly request: Request
  readonly query: URLSearchParams
  readonly told: AsTold
  readonly current: Aggregate
  readonly pair: Pair
  /** Whether the address carries the pair, and whether the cookie does. */
  readonly carried: boolean
  readonly kept: boolean
}

const languageOf = ({ current, query, request }: Visit, merchant: string): Texts =>
  languageFor({
    asked: query.get("lang"),
    cookie: request.cookies[cookies.language],
    invoice: current.invoice.details.locale,
    browser: request.headers["accept-language"],
    merchant
  })

/** What the visit's address says of the screen; `opens` where a person asks for it, now. */
const askedOf = ({ current, query, request }: Visit) => {
  const refund = query.get("refund")
  const last = Number.parseInt(request.cookies[cookies.last(current.invoice.merchantId)] ?? "", 10)
  return {
    change: query.get("change") === "1",
    opens: request.method === "GET" && isNavigation(request.headers),
    tab: readTab(query.get("tab")) ?? readTab(request.cookies[cookies.tab]) ?? "link",
    refund: refund === "saved" || refund === "refused" ? refund : null,
    unpriced: readToken(query.get("token")),
    lastToken: Number.isSafeInteger(last) ? last : null
  } as const
}

/** Where a visit goes on, and what the browser keeps of it. */
const makeSteps = ({ pathOf, seeOther, withChoice, withSession }: Answers) => {
  /** Where a page goes on: its path, and what it must carry where the cookie did not come back. */
  const addressOf = ({ carried, current, pair, query }: Visit, lang = query.get("lang")) => ({
    path: pathOf(current.invoice.id),
    query: carried ? carriedQuery(pair, { lang, tab: readTab(query.get("tab")) }) : ""
  })

  return {
    addressOf,

    /** The next step of a session that its link brought, on its way into the cookie; null: here it stays. */
    handOver: (visit: Visit): Response | null => {
      const { carried, kept, pair, query } = visit
      if (!carried) return null
      const { path, query: carriedOn } = addressOf(visit)
      if (query.get("c") !== "1") return withSession(seeOther(`${path}${carriedOn}`), pair, path)
      if (!kept) return null
      const lang = query.get("lang")
      return seeOther(`${path}${lang === null ? "" : `?${new URLSearchParams({ lang })}`}`)
    },

    /** The choices that the address names, kept where cookies are. */
    remembering: ({ carried, query }: Visit, texts: Texts, response: Response): Response => {
      if (carried) return response
      const tab = readTab(query.get("tab"))
      const withTab = tab === null ? response : withChoice(response, cookies.tab, tab)
      return query.get("lang") === texts.locale ? withChoice(withTab, cookies.language, texts.locale) : withTab
    },

    /** After the choice of a language: to the page in it. */
    spoken: (visit: Visit, locale: string): Response => {
      const { path, query } = addressOf(visit, locale)
      const response = seeOther(`${path}${query}`)
      return visit.carried ? response : withChoice(response, cookies.language, locale)
    },

    /** After any other form: to the page, or to the invoice that was made. */
    afterwards: (visit: Visit, outcome: Outcome): Response => {
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
        : withChoice(response, cookies.last(visit.current.invoice.merchantId), String(outcome.chosen))
    }
  }
}

/** Opens the invoice of an address by the session that came with the request: in its query, else in its cookie. */
const makeOpen = Effect.gen(function*() {
  const desk = yield* PayorDesk
  const sessions = yield* PayorSessions
  const throttle = yield* Throttle

  return Effect.fnUntraced(function*(id: string): Effect.fn.Return<Visit, PublicError, Request> {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (merchantCredentials.some((name) => request.headers[name] !== undefined)) {
      yield* throttle.address(request, "page")
      return yield* publicError("CREDENTIAL_NOT_ALLOWED")
    }
    const query = queryOf(request.url)
    const sent = pairOfQuery(query)
    const held = pairOfCookie(request.cookies[cookies.session])
    const pair = sent ?? held ?? { sessionToken: "", signature: "" }
    const invoiceId = yield* sessions.check(pair.sessionToken, pair.signature).pipe(
      Effect.filterOrFail((opened) => opened === id, () => publicError("SESSION_INVALID")),
      // A session proves itself by its signature, so it is not counted for its address: many payors may share one.
      Effect.catch((error) => Effect.andThen(throttle.address(request, "page"), throttle.refused(request, error)))
    )
    yield* throttle.session(invoiceId)
    const told = yield* desk.asTold(invoiceId)
    return {
      request,
      query,
      pair,
      told,
      current: told.aggregate,
      carried: sent !== null,
      kept: held?.sessionToken === pair.sessionToken && held.signature === pair.signature
    }
  })
})

export const handlers = HttpApiBuilder.group(CheckoutApi, "checkout", Effect.fn(function*(group) {
  const checkout = yield* Checkout
  const drawings = yield* Drawings
  const open = yield* makeOpen
  const { publicUrl } = yield* Settings
  const script = yield* Effect.flatMap(island, (text) => makeAsset(text, "text/javascript; charset=utf-8"))
  const scriptName = `pay.${script.hash}.js`
  const answers = makeAnswers(publicUrl)
  const { addressOf, afterwards, handOver, remembering, spoken } = makeSteps(answers)
  const assets = { script: `${answers.base}/assets/${scriptName}`, style: { css }, languages }
  yield* drawings.register("/pay", drawRefusal(answers, assets))

  /** All that a screen is drawn from, and the headers it goes under. */
  const look = Effect.fnUntraced(function*(visit: Visit) {
    const { accent, default_locale, frame_ancestors } = yield* checkout.branding(visit.current)
    return {
      view: yield* checkout.view(visit.told, { ...addressOf(visit), ...askedOf(visit) }),
      texts: languageOf(visit, default_locale),
      headers: answers.headersFor(accent, frame_ancestors)
    }
  })

  return group
    .handle("page", Effect.fnUntraced(function*({ params: { id } }) {
      const visit = yield* open(id)
      const next = handOver(visit)
      if (next !== null) return next
      const { headers, texts, view } = yield* look(visit)
      return remembering(visit, texts, packed(visit.request, page(view, texts, assets), headers))
    }))
    .handle("state", Effect.fnUntraced(function*({ params: { id } }) {
      const visit = yield* open(id)
      const { headers, texts, view } = yield* look(visit)
      const tag = `"${stateTag(view, texts.locale)}"`
      const tagged = { ...headers, etag: `W/${tag}` }
      return matchesEtag(visit.request.headers["if-none-match"], tag)
        ? HttpServerResponse.empty({ status: 304, headers: tagged })
        : packed(visit.request, fragment(view, texts), tagged)
    }))
    .handle("act", Effect.fnUntraced(function*({ params: { id } }) {
      const visit = yield* open(id)
      const { current, request } = visit
      if (isForeign(request.headers, answers.origin)) return yield* publicError("ORIGIN_NOT_ALLOWED")
      const act = readAct(yield* readForm(request))
      if (act === null) return yield* publicError("VALIDATION_ERROR", { message: "This is not a form of the page" })
      if (act._tag === "Language") return spoken(visit, act.locale)
      const { requestId } = yield* RequestInfo
      return afterwards(visit, yield* checkout.act(current, act, { requestId, idempotencyKey: null }))
    }))
    .handle("asset", Effect.fnUntraced(function*({ params: { name } }) {
      if (name !== scriptName) return yield* publicError("NOT_FOUND")
      return yield* serve(script, yield* HttpServerRequest.HttpServerRequest, immutable, assetHeaders)
    }))
}))
