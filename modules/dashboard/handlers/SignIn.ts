/** Sign-in and sign-out between the wire and `TeamSignIn`; and the dashboard's files. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { ErrorPages, jsonText, RateLimiter, type RefusedRequest } from "../../../runtime/Http.ts"
import { immutable, serve } from "../../../runtime/http/Asset.ts"
import { readForm } from "../../../runtime/http/Body.ts"
import { queryOf } from "../../../runtime/http/Query.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type PublicError, publicError, statusOf } from "../../../schemas/Errors.ts"
import { type Acceptor, type OpenedSession, TeamSessions, TeamSignIn } from "../../team/plugin.ts"
import { DashboardApi } from "../api.ts"
import { textsFor } from "../pages/Languages.ts"
import { plainPage, refusalPage } from "../pages/Shell.ts"
import type { Html } from "../../../runtime/pages/Html.ts"
import type { Texts } from "../pages/Texts.ts"
import { invitationBody, linkBody, proofBody, signInBody, type SignInView } from "../pages/SignIn.ts"
import { destinationOf, isFromOwnPage } from "../rules/SiteCheck.ts"
import { networkOfChain } from "../rules/WalletSignIn.ts"
import { Frames } from "./Frames.ts"
import { readAnswer } from "./Passkeys.ts"

const assetHeaders = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" }

type Request = HttpServerRequest.HttpServerRequest

/** Nobody has signed in who might have chosen a language. */
const textsOf = ({ headers }: Pick<RefusedRequest, "headers">) => textsFor(null, headers["accept-language"])

export const signInHandlers = Operations.group(
  DashboardApi,
  "sign-in-pages",
  // oxlint-disable-next-line max-lines-per-function -- the routes of one group, each a few lines
  Effect.fn(function*(group) {
    const frames = yield* Frames
    const sessions = yield* TeamSessions
    const signIn = yield* TeamSignIn
    const rateLimiter = yield* RateLimiter
    const { environments } = yield* Settings
    // Whatever refuses an address below this, a fault of ours included, is shown to a person.
    yield* (yield* ErrorPages).register("/dashboard", (error, request) => ({
      html: refusalPage(textsOf(request), frames.assets, error),
      headers: frames.headers
    }))
    const { base, cookies, nameAddressFor, origin } = frames

    const sessionOf = (request: Request) => {
      const token = request.cookies[cookies.read]
      return token === undefined || token === "" ? Effect.succeed(null) : sessions.find(token)
    }

    /** Shown in the language of whoever is signed in already, to prove it anew or to join one more shop. */
    const showWith = (
      titleOf: (texts: Texts) => string,
      bodyOf: (view: SignInView) => Html,
      signs: boolean
    ) =>
      Effect.fnUntraced(function*(request: Request, next: string | null, error: PublicError | null) {
        const session = yield* sessionOf(request)
        const texts = textsFor(session?.language ?? null, request.headers["accept-language"])
        const nameAddress = nameAddressFor(request)
        const body = bodyOf({ texts, base, next: destinationOf(next, base), error, nameAddress })
        return frames.send(
          request,
          plainPage(texts, titleOf(texts), frames.assets, body, signs),
          error === null ? 200 : statusOf(error.code)
        )
      })

    const showSignIn = showWith(({ signIn: words }) => words.title, signInBody, true)
    const showProof = showWith(({ signIn: words }) => words.againTitle, proofBody, true)
    const showLink = showWith(({ signIn: words }) => words.linkTitle, linkBody, false)
    const showInvitation = showWith(({ team }) => team.joinTitle, invitationBody, false)

    /** Makes a member; a new person is signed in by the link that the acceptance made. Null: they are signed in. */
    const joinBy = Effect.fnUntraced(function*(token: string, acceptor: Acceptor) {
      const { link } = yield* signIn.accept(token, acceptor)
      const linkToken = link === null ? null : new URLSearchParams(new URL(link.url).hash.slice(1)).get("t")
      return linkToken === null ? null : yield* signIn.byLink(linkToken)
    })

    /** A form of ours, counted for its address: whoever guesses is slow. */
    const formOf = Effect.fnUntraced(function*(request: Request) {
      yield* rateLimiter.address(request, "nonce")
      if (!isFromOwnPage(request.headers, origin)) {
        return yield* publicError("ORIGIN_NOT_ALLOWED", { message: textsOf(request).faults.foreignForm })
      }
      return yield* readForm(request)
    })

    /** The first place somebody gets to: the shop they were in, or their first one. */
    const homeOf = Effect.fnUntraced(function*(person: string) {
      const [first] = yield* sessions.memberships(person)
      return first === undefined ? null : `${base}/dashboard/${first.merchantId}/${environments[0]}`
    })

    /** To where the visitor wanted to go. */
    const signedIn = (opened: OpenedSession, next: string | null) =>
      frames.withSession(frames.seeOther(destinationOf(next, base)), opened)

    return group
      .handle(
        "entry",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "page")
          const session = yield* sessionOf(request)
          const home = session === null ? null : yield* homeOf(session.person)
          return frames.seeOther(home ?? `${base}/dashboard/signin`)
        })
      )
      .handle(
        "signIn",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "page")
          return yield* showSignIn(request, queryOf(request.url).get("next"), null)
        })
      )
      .handle(
        "link",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "page")
          return yield* showLink(request, queryOf(request.url).get("next"), null)
        })
      )
      .handle(
        "useLink",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          return yield* Effect.matchEffect(signIn.byLink((form.get("token") ?? "").trim()), {
            onSuccess: (opened) => Effect.succeed(signedIn(opened, form.get("next"))),
            onFailure: (error) => showLink(request, form.get("next"), error)
          })
        })
      )
      .handle(
        "invitation",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "page")
          return yield* showInvitation(request, null, null)
        })
      )
      .handle(
        "acceptInvitation",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          const name = (form.get("name") ?? "").trim()
          const session = yield* sessionOf(request)
          const acceptor = session === null ? { name } : { session }
          return yield* Effect.matchEffect(joinBy((form.get("token") ?? "").trim(), acceptor), {
            onSuccess: (opened) =>
              Effect.succeed(opened === null ? frames.seeOther(`${base}/dashboard`) : signedIn(opened, null)),
            onFailure: (error) => showInvitation(request, null, error)
          })
        })
      )
      .handle(
        "useRecovery",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          return yield* Effect.matchEffect(
            signIn.byRecovery((form.get("email") ?? "").trim(), (form.get("code") ?? "").trim()),
            {
              onSuccess: (opened) => Effect.succeed(signedIn(opened, form.get("next"))),
              onFailure: (error) => showSignIn(request, form.get("next"), error)
            }
          )
        })
      )
      .handle(
        "passkeyOptions",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "nonce")
          if (!isFromOwnPage(request.headers, origin)) {
            return yield* publicError("ORIGIN_NOT_ALLOWED", { message: textsOf(request).faults.foreignForm })
          }
          return jsonText(JSON.stringify(yield* signIn.passkeyOptions))
        })
      )
      .handle(
        "usePasskey",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          return yield* Effect.matchEffect(
            Effect.flatMap(readAnswer(form.get("answer"), textsOf(request)), signIn.byPasskey),
            {
              onSuccess: (opened) => Effect.succeed(signedIn(opened, form.get("next"))),
              onFailure: (error) => showSignIn(request, form.get("next"), error)
            }
          )
        })
      )
      .handle(
        "proof",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "page")
          return yield* showProof(request, queryOf(request.url).get("next"), null)
        })
      )
      .handle(
        "prove",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          const session = yield* sessionOf(request)
          if (session === null || !(yield* sessions.mayAct(session, request.cookies[cookies.act] ?? ""))) {
            return yield* showSignIn(request, form.get("next"), null)
          }
          const proof = Effect.flatMap(
            readAnswer(form.get("answer"), textsFor(session.language, request.headers["accept-language"])),
            (answer) => signIn.refresh(session, answer)
          )
          return yield* Effect.matchEffect(proof, {
            onSuccess: (opened) => Effect.succeed(signedIn(opened, form.get("next"))),
            onFailure: (error) => showProof(request, form.get("next"), error)
          })
        })
      )
      .handle(
        "walletNonce",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          const network = networkOfChain(form.get("chain") ?? "", environments)
          const { message } = yield* signIn.walletNonce(network, (form.get("address") ?? "").trim())
          return jsonText(JSON.stringify({ message }))
        })
      )
      .handle(
        "useWallet",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          const proof = {
            // A form sends each line break as two characters; the text that was signed has one.
            message: (form.get("message") ?? "").replaceAll("\r\n", "\n"),
            signature: form.get("signature") ?? "",
            publicKey: null,
            proof: null
          }
          return yield* Effect.matchEffect(signIn.byWallet(proof), {
            onSuccess: (opened) => Effect.succeed(signedIn(opened, form.get("next"))),
            onFailure: (error) => showSignIn(request, form.get("next"), error)
          })
        })
      )
      .handle(
        "signOut",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          if (!isFromOwnPage(request.headers, origin)) {
            return yield* publicError("ORIGIN_NOT_ALLOWED", { message: textsOf(request).faults.foreignForm })
          }
          const session = yield* sessionOf(request)
          if (session !== null) yield* sessions.end(session.id)
          return frames.withoutSession(frames.seeOther(`${base}/dashboard/signin`))
        })
      )
      .handle(
        "asset",
        Effect.fnUntraced(function*({ params: { name } }) {
          const asset = frames.files.get(name)
          if (asset === undefined) return yield* publicError("NOT_FOUND")
          const request = yield* HttpServerRequest.HttpServerRequest
          return yield* serve(asset, request, immutable, assetHeaders) as Effect.Effect<
            HttpServerResponse.HttpServerResponse
          >
        })
      )
  })
)
