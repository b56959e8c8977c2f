/** Pages of a merchant between the wire and `pages.ts`: who looks, what was asked for, what a form leads to. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { nowSeconds } from "../../runtime/Clock.ts"
import { jsonText, RateLimiter, RequestInfo } from "../../runtime/Http.ts"
import { readForm, responseText } from "../../runtime/http/Body.ts"
import { queryOf } from "../../runtime/http/Query.ts"
import { LocalCalls } from "../../runtime/LocalCalls.ts"
import { PagePreviews } from "../../runtime/PagePreviews.ts"
import { pathUrl } from "../../runtime/pages/Html.ts"
import { Mail } from "../../runtime/Mail.ts"
import { Notices } from "../../runtime/Notices.ts"
import { htmlResponse } from "../../runtime/pages/HtmlResponse.ts"
import * as Operations from "../../runtime/Operations.ts"
import { Settings } from "../../runtime/Settings.ts"
import { type PublicError, publicError, statusOf } from "../../schemas/Errors.ts"
import type { Language } from "../../schemas/Languages.ts"
import { Environment } from "../../schemas/Network.ts"
import { mayDo } from "../../schemas/Roles.ts"
import { type SessionAt, TeamSessions, TeamSignIn } from "../team/plugin.ts"
import { DashboardApi } from "./api.ts"
import { Frames } from "./handlers/Frames.ts"
import { newPasskeys } from "./handlers/Passkeys.ts"
import { findPage, type FoundPage, pages } from "./pages.ts"
import { textsFor } from "./pages/Languages.ts"
import type { Page, Screen, Visit } from "./pages/Page.ts"
import { fragment, page as renderPage } from "./pages/Shell.ts"
import type { Texts } from "./pages/Texts.ts"
import { isFromOwnPage } from "./rules/SiteCheck.ts"
import { sectionsFor } from "./rules.ts"
import { errorOf, makeMerchantApi, withQuery } from "./service.ts"

type Response = HttpServerResponse.HttpServerResponse

/** What an address names: a merchant, an environment, and the path below. */
interface Address {
  /** 0 where it names none: no merchant has that id. */
  readonly merchantId: number
  readonly environment: string
  readonly parts: ReadonlyArray<string>
}

interface Opened {
  readonly visit: Visit
  readonly found: FoundPage
}

const isThere = (page: Page, environment: Environment): boolean => (page.environment ?? environment) === environment

const builtPaths = (environment: Environment): ReadonlySet<string> =>
  new Set(pages.filter((page) => isThere(page, environment)).map(({ path }) => path))

const isEnvironment = (text: string): text is Environment =>
  (Environment.literals as ReadonlyArray<string>).includes(text)

const addressOf = ({ environment, merchant, ...parts }: Readonly<Record<string, string>>): Address => ({
  merchantId: /^[1-9]\d{0,9}$/.test(merchant ?? "") ? Number(merchant) : 0,
  environment: environment ?? "",
  parts: ["a", "b", "c"].flatMap((name) => parts[name] === undefined ? [] : [parts[name]])
})

const languageOf = ({ headers }: HttpServerRequest.HttpServerRequest, chosen: Language | null): Texts =>
  textsFor(chosen, headers["accept-language"])

/** Reads what the address of somebody who is signed in names. */
const makeOpen = Effect.gen(function*() {
  const { base, nameAddressFor } = yield* Frames
  const signIn = yield* TeamSignIn
  const localCalls = yield* LocalCalls
  const mail = yield* Mail
  const notices = yield* Notices
  const { environments } = yield* Settings
  const previews = yield* PagePreviews
  return Effect.fnUntraced(function*(
    request: HttpServerRequest.HttpServerRequest,
    { grant, memberships, session }: SessionAt,
    texts: Texts,
    { environment, merchantId, parts }: Address
  ): Effect.fn.Return<Opened, PublicError> {
    const membership = memberships.find((one) => one.merchantId === merchantId)
    const found = findPage(parts)
    if (
      membership === undefined || grant === null || found === null || !isEnvironment(environment)
      || !environments.includes(environment) || !isThere(found.page, environment)
      || !localCalls.serves(found.page.route)
    ) return yield* publicError("NOT_FOUND")
    const caller = { ...grant, environment }
    const { requestId } = yield* RequestInfo
    const home = `${base}/dashboard/${membership.merchantId}/${environment}`
    const visit: Visit = {
      caller,
      session,
      membership,
      memberships,
      environment,
      environments,
      page: found.page.path,
      params: found.params,
      query: queryOf(request.url),
      api: makeMerchantApi(localCalls, caller, requestId),
      texts,
      now: yield* nowSeconds,
      may: (right) => mayDo(caller, right, environment),
      sendsMail: mail.isEnabled(),
      sendsNotices: notices.isEnabled(),
      serves: localCalls.serves,
      passkeys: newPasskeys(signIn, session, texts),
      preview: previews.current(),
      nameAddress: nameAddressFor(request),
      at: (path, query) => pathUrl(withQuery(path === "" ? home : `${home}/${path}`, query)),
      formKey: randomUUID(),
      refusal: null
    }
    return { visit, found }
  })
})

/** The address by which the script of a page hears of events, as whoever looks at it may. */
const ticketOf = ({ api, environment }: Visit) =>
  Effect.map(
    api.send<{ readonly ws_url: string; readonly token: string }>(
      "POST",
      `/api/v1/ws/token?environment=${environment}`,
      { scope: "merchant" },
      null
    ),
    ({ token, ws_url: url }) => jsonText(JSON.stringify({ url: `${url}&environment=${environment}&token=${token}` }))
  )

/** How a page is answered: as itself, its part that changes, a document or a file. */
const makeResponses = Effect.gen(function*() {
  const frames = yield* Frames
  const localCalls = yield* LocalCalls
  const { base } = frames

  const send = (request: HttpServerRequest.HttpServerRequest, visit: Visit, screen: Screen): Response => {
    const text = request.headers["accept"] === "text/html+fragment"
      ? fragment(visit, screen)
      : renderPage(visit, screen, {
        assets: frames.assets,
        sections: sectionsFor(builtPaths(visit.environment), visit.may, visit.serves),
        elsewhere: (environment) => pathUrl(`${base}/dashboard/${visit.membership.merchantId}/${environment}`),
        signOut: pathUrl(`${base}/dashboard/signout`)
      })
    const status = visit.refusal === null ? 200 : statusOf(visit.refusal.error.code)
    return frames.send(request, text, status, screen.frames === true)
  }

  const show = (request: HttpServerRequest.HttpServerRequest, { found, visit }: Opened) =>
    Effect.map(found.page.render(visit), (screen) =>
      screen.goTo === undefined
        ? send(request, visit, screen)
        : frames.seeOther(visit.at(screen.goTo.path, screen.goTo.query).toString()))

  /** What stands in a frame of another page goes under headers of its own. */
  const sendDocument = (
    request: HttpServerRequest.HttpServerRequest,
    visit: Visit,
    document: NonNullable<Page["document"]>
  ) => Effect.map(document(visit), ({ headers, html }) => htmlResponse(request, html, headers))

  const respond = (
    request: HttpServerRequest.HttpServerRequest,
    opened: { readonly visit: Visit; readonly found: FoundPage }
  ) => {
    const { found: { page }, visit } = opened
    if (page.document !== undefined) return sendDocument(request, visit, page.document)
    return page.file === undefined ? show(request, opened) : sendFile(visit, page.file(visit))
  }

  /** A file passes as the API answers it; what it refuses becomes a page. */
  const sendFile = Effect.fnUntraced(function*(
    { caller, environment }: Visit,
    { path, query }: ReturnType<NonNullable<Page["file"]>>
  ) {
    const { requestId } = yield* RequestInfo
    const response = yield* localCalls.respond(caller, {
      method: "GET",
      path: withQuery(path, { ...query, environment }),
      requestId
    })
    if (response.status < 300) {
      return HttpServerResponse.setHeaders(response, {
        "cache-control": "no-store",
        "x-content-type-options": "nosniff"
      })
    }
    return yield* errorOf({ body: JSON.parse(responseText(response) ?? "{}"), headers: response.headers })
  })

  return { respond, send, show }
})

const makeVisits = Effect.gen(function*() {
  const frames = yield* Frames
  const open = yield* makeOpen
  const { respond, send, show } = yield* makeResponses
  const sessions = yield* TeamSessions
  const rateLimiter = yield* RateLimiter
  const { base, cookies, origin } = frames

  /** Leads to who asks for a proof, and from there back. */
  const toPage = (path: "signin" | "signin/again", url: string): Response =>
    frames.seeOther(withQuery(`${base}/dashboard/${path}`, { next: `${base}${url}` }))

  /** Answers whoever is signed in, refusals too in the person's language; who is not, is led to the sign-in. */
  const answerTo = Effect.fnUntraced(function*<Needs>(
    request: HttpServerRequest.HttpServerRequest,
    params: Readonly<Record<string, string>>,
    answer: (opened: Opened) => Effect.Effect<Response, PublicError, Needs>
  ) {
    const token = request.cookies[cookies.read]
    const address = addressOf(params)
    const visitor = token === undefined || token === "" ? null : yield* sessions.findAt(token, address.merchantId)
    if (visitor === null) {
      yield* rateLimiter.address(request, "page")
      return toPage("signin", request.url)
    }
    const texts = languageOf(request, visitor.session.language)
    return yield* open(request, visitor, texts, address).pipe(
      Effect.flatMap(answer),
      Effect.catch((error) => Effect.succeed(frames.refuse(request, texts, error)))
    )
  })

  const act = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, { found, visit }: Opened) {
    const { faults } = visit.texts
    if (!(yield* sessions.mayAct(visit.session, request.cookies[cookies.act] ?? ""))) {
      return yield* publicError("TOKEN_INVALID", { message: faults.signInAgain })
    }
    const form = yield* readForm(request)
    const { actions = {} } = found.page
    const name = form.get("action") ?? ""
    if (name === "ticket") return yield* rateLimiter.credential(visit.caller, ticketOf(visit))
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined
    if (action === undefined) return yield* publicError("VALIDATION_ERROR", { message: faults.unknownForm })
    const answer = Effect.matchEffect(action(visit, form), {
      onSuccess: (after) =>
        Effect.succeed(
          "json" in after
            ? jsonText(JSON.stringify(after.json))
            : "screen" in after
            ? send(request, visit, after.screen)
            : frames.seeOther(visit.at(after.path, { ...after.query, notice: after.notice }).toString())
        ),
      // What the form said is asked for again: nothing of it is kept on the way there and back.
      onFailure: (error) =>
        error.code === "FRESH_PROOF_REQUIRED"
          ? Effect.succeed(toPage("signin/again", request.url))
          // A page that is not theirs would be refused once more, with a second entry of the audit log.
          : !visit.may(found.page.right)
          ? Effect.fail(error)
          : show(request, { found, visit: { ...visit, refusal: { error, form } } })
    })
    return yield* rateLimiter.credential(visit.caller, answer)
  })

  return {
    page: (params: Readonly<Record<string, string>>) =>
      Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        return yield* answerTo(request, params, (opened) =>
          rateLimiter.credential(opened.visit.caller, respond(request, opened)))
      }),

    act: (params: Readonly<Record<string, string>>) =>
      Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (!isFromOwnPage(request.headers, origin)) {
          return yield* publicError("ORIGIN_NOT_ALLOWED", { message: languageOf(request, null).faults.foreignForm })
        }
        return yield* answerTo(request, params, (opened) => act(request, opened))
      })
  }
})

export const pageHandlers = Operations.group(
  DashboardApi,
  "dashboard-pages",
  Effect.fn(function*(group) {
    const { act, page } = yield* makeVisits
    return group
      .handle("page0", ({ params }) => page(params))
      .handle("page1", ({ params }) => page(params))
      .handle("page2", ({ params }) => page(params))
      .handle("page3", ({ params }) => page(params))
      .handle("act0", ({ params }) => act(params))
      .handle("act1", ({ params }) => act(params))
      .handle("act2", ({ params }) => act(params))
      .handle("act3", ({ params }) => act(params))
  })
)
