/** Sign-in and sign-out between the wire and `TeamSignIn`; and the dashboard's files. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { ErrorPages, jsonText, RateLimiter } from "../../../runtime/Http.ts"
import { immutable, serve } from "../../../runtime/http/Asset.ts"
import { readForm } from "../../../runtime/http/Body.ts"
import { queryOf } from "../../../runtime/http/Query.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type PublicError, publicError, statusOf } from "../../../schemas/Errors.ts"
import { type Acceptor, type OpenedSession, TeamSessions, TeamSignIn } from "../../team/plugin.ts"
import { DashboardApi } from "../api.ts"
import { plainPage, refusalOf } from "../pages/Shell.ts"
import { invitationBody, linkBody, proofBody, signInBody, type SignInView } from "../pages/SignIn.ts"
import { en } from "../pages/texts/en.ts"
import { destinationOf, isFromOwnPage } from "../rules/SiteCheck.ts"
import { networkOfChain } from "../rules/WalletSignIn.ts"
import { Frames } from "./Frames.ts"
import { readAnswer } from "./Passkeys.ts"

const assetHeaders = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" }

type Request = HttpServerRequest.HttpServerRequest

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
    yield* (yield* ErrorPages).register("/dashboard", (error) => ({
      html: plainPage(
        en,
        error.code === "NOT_FOUND" ? en.errors.notFoundTitle : en.errors.title,
        frames.assets,
        refusalOf(error)
      ),
      headers: frames.headers
    }))
    const { base, cookies, nameAddressFor, origin } = frames

    const sessionOf = (request: Request) => {
      const token = request.cookies[cookies.read]
      return token === undefined || token === "" ? Effect.succeed(null) : sessions.find(token)
    }

    const viewOf = (request: Request, next: string | null, error: PublicError | null): SignInView => ({
      texts: en,
      base,
      next: destinationOf(next, base),
      error,
      nameAddress: nameAddressFor(request)
    })

    const showSignIn = (request: Request, next: string | null, error: PublicError | null) =>
      frames.send(
        request,
        plainPage(en, en.signIn.title, frames.assets, signInBody(viewOf(request, next, error)), true),
        error === null ? 200 : statusOf(error.code)
      )

    const showProof = (request: Request, next: string | null, error: PublicError | null) =>
      frames.send(
        request,
        plainPage(en, en.signIn.againTitle, frames.assets, proofBody(viewOf(request, next, error)), true),
        error === null ? 200 : statusOf(error.code)
      )

    const showLink = (request: Request, next: string | null, error: PublicError | null) =>
      frames.send(
        request,
        plainPage(en, en.signIn.linkTitle, frames.assets, linkBody(viewOf(request, next, error))),
        error === null ? 200 : statusOf(error.code)
      )

    const showInvitation = (request: Request, error: PublicError | null) =>
      frames.send(
        request,
        plainPage(en, en.team.joinTitle, frames.assets, invitationBody(viewOf(request, null, error))),
        error === null ? 200 : statusOf(error.code)
      )

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
        return yield* publicError("ORIGIN_NOT_ALLOWED", { message: en.errors.foreignForm })
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
          return showSignIn(request, queryOf(request.url).get("next"), null)
        })
      )
      .handle(
        "link",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "page")
          return showLink(request, queryOf(request.url).get("next"), null)
        })
      )
      .handle(
        "useLink",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          return yield* Effect.match(signIn.byLink((form.get("token") ?? "").trim()), {
            onSuccess: (opened) => signedIn(opened, form.get("next")),
            onFailure: (error) => showLink(request, form.get("next"), error)
          })
        })
      )
      .handle(
        "invitation",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "page")
          return showInvitation(request, null)
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
          return yield* Effect.match(joinBy((form.get("token") ?? "").trim(), acceptor), {
            onSuccess: (opened) => opened === null ? frames.seeOther(`${base}/dashboard`) : signedIn(opened, null),
            onFailure: (error) => showInvitation(request, error)
          })
        })
      )
      .handle(
        "useRecovery",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          return yield* Effect.match(
            signIn.byRecovery((form.get("email") ?? "").trim(), (form.get("code") ?? "").trim()),
            {
              onSuccess: (opened) => signedIn(opened, form.get("next")),
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
            return yield* publicError("ORIGIN_NOT_ALLOWED", { message: en.errors.foreignForm })
          }
          return jsonText(JSON.stringify(yield* signIn.passkeyOptions))
        })
      )
      .handle(
        "usePasskey",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          return yield* Effect.match(Effect.flatMap(readAnswer(form.get("answer")), signIn.byPasskey), {
            onSuccess: (opened) => signedIn(opened, form.get("next")),
            onFailure: (error) => showSignIn(request, form.get("next"), error)
          })
        })
      )
      .handle(
        "proof",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          yield* rateLimiter.address(request, "page")
          return showProof(request, queryOf(request.url).get("next"), null)
        })
      )
      .handle(
        "prove",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          const form = yield* formOf(request)
          const session = yield* sessionOf(request)
          if (session === null || !(yield* sessions.mayAct(session, request.cookies[cookies.act] ?? ""))) {
            return showSignIn(request, form.get("next"), null)
          }
          const proof = Effect.flatMap(readAnswer(form.get("answer")), (answer) => signIn.refresh(session, answer))
          return yield* Effect.match(proof, {
            onSuccess: (opened) => signedIn(opened, form.get("next")),
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
          return yield* Effect.match(signIn.byWallet(proof), {
            onSuccess: (opened) => signedIn(opened, form.get("next")),
            onFailure: (error) => showSignIn(request, form.get("next"), error)
          })
        })
      )
      .handle(
        "signOut",
        Effect.fnUntraced(function*() {
          const request = yield* HttpServerRequest.HttpServerRequest
          if (!isFromOwnPage(request.headers, origin)) {
            return yield* publicError("ORIGIN_NOT_ALLOWED", { message: en.errors.foreignForm })
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
