/** What all handlers of the dashboard share: its files, its headers, its cookies, and how a page is sent. */
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { isIP } from "node:net"
import { type Asset, makeAsset } from "../../../runtime/http/Asset.ts"
import { htmlResponse } from "../../../runtime/pages/HtmlResponse.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type PublicError, statusOf } from "../../../schemas/Errors.ts"
import type { OpenedSession } from "../../team/plugin.ts"
import { type Assets, refusalPage } from "../pages/Shell.ts"
import type { Texts } from "../pages/Texts.ts"
import { island, sign, stylesheet } from "../repo.ts"
import { sessionCookies } from "../rules/SiteCheck.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Seconds a browser keeps the cookies: as long as a session lives at most (modules/docs/reference/team.md#sessions). */
const cookieSeconds = 604_800

/**
 * Scripts and styles of this origin only, and no page of another may frame or open these. `same-origin` as referrer:
 * with `no-referrer` browsers would name no origin for forms.
 */
const headersOf = (origin: string): Readonly<Record<string, string>> => ({
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${origin.replace(/^http/, "ws")}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types dashboard dashboard-sign"
  ].join("; "),
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
  "permissions-policy": "publickey-credentials-get=(self), publickey-credentials-create=(self)"
})

/** Passkeys are of a name: where the page was opened by a number, the same address by the name `localhost`. */
const nameAddressOf = (publicUrl: string): string | null => {
  const url = new URL(publicUrl)
  const host = url.hostname.replace(/^\[|\]$/g, "")
  if (isIP(host) === 0) return null
  url.hostname = "localhost"
  return `${url.href.replace(/\/$/, "")}/dashboard`
}

const make = Effect.gen(function*() {
  const { publicUrl } = yield* Settings
  const { origin, pathname } = new URL(publicUrl)
  const base = pathname === "/" ? "" : pathname
  const headers = headersOf(origin)
  /** Of the few pages that show another page of ours in a frame. */
  const framingHeaders = {
    ...headers,
    "content-security-policy": `${headers["content-security-policy"]}; frame-src 'self'`
  }
  const nameAddress = nameAddressOf(publicUrl)
  const cookies = sessionCookies(origin)
  const style = yield* Effect.flatMap(stylesheet, (text) => makeAsset(text, "text/css; charset=utf-8"))
  const script = yield* Effect.flatMap(island, (text) => makeAsset(text, "text/javascript; charset=utf-8"))
  const signScript = yield* Effect.flatMap(sign, (text) => makeAsset(text, "text/javascript; charset=utf-8"))
  const files: ReadonlyMap<string, Asset> = new Map([
    [`dashboard-${style.hash}.css`, style],
    [`dashboard-${script.hash}.js`, script],
    [`sign-${signScript.hash}.js`, signScript]
  ])
  const [styleName, scriptName, signName] = [...files.keys()] as [string, string, string]
  const assets: Assets = {
    style: `${base}/dashboard/assets/${styleName}`,
    script: `${base}/dashboard/assets/${scriptName}`,
    sign: `${base}/dashboard/assets/${signName}`
  }

  const withCookie = (response: Response, name: string, value: string, sameSite: "lax" | "strict", seconds: number) =>
    HttpServerResponse.setCookieUnsafe(response, name, value, {
      path: "/",
      httpOnly: true,
      secure: cookies.secure,
      sameSite,
      maxAge: `${seconds} seconds`
    })

  const withTokens = (response: Response, read: string, act: string, seconds: number): Response =>
    withCookie(withCookie(response, cookies.read, read, "lax", seconds), cookies.act, act, "strict", seconds)

  return {
    origin,
    base,
    /** The address where browsers know passkeys; null: the page is open there, or the service has a name. */
    nameAddressFor: ({ headers: sent }: HttpServerRequest.HttpServerRequest): string | null =>
      nameAddress === null || sent["host"] === new URL(nameAddress).host ? null : nameAddress,
    assets,
    files,
    headers,
    cookies,
    send: (
      request: HttpServerRequest.HttpServerRequest,
      text: string,
      status = 200,
      hasFrames = false
    ): Response => {
      const response = htmlResponse(request, text, hasFrames ? framingHeaders : headers)
      return status === 200 ? response : HttpServerResponse.setStatus(response, status)
    },
    /** A refusal as a page, in the words of whoever asked. */
    refuse: (request: HttpServerRequest.HttpServerRequest, texts: Texts, error: PublicError): Response => {
      const response = HttpServerResponse.setStatus(
        htmlResponse(request, refusalPage(texts, assets, error), headers),
        statusOf(error.code)
      )
      return error.retryAfterSeconds === null
        ? response
        : HttpServerResponse.setHeader(response, "retry-after", String(error.retryAfterSeconds))
    },
    seeOther: (location: string): Response =>
      HttpServerResponse.empty({ status: 303, headers: { ...headers, location } }),
    withSession: (response: Response, { actToken, readToken }: OpenedSession): Response =>
      withTokens(response, readToken, actToken, cookieSeconds),
    /** What browsers keep of the pages goes with the cookies. */
    withoutSession: (response: Response): Response =>
      HttpServerResponse.setHeader(withTokens(response, "", "", 0), "clear-site-data", "\"cache\", \"storage\"")
  }
})

/** Made once for all handlers: the files are read and compressed at the start. */
export class Frames
  extends Context.Service<Frames, Effect.Success<typeof make>>()("tillwire/modules/dashboard/Frames")
{
  static readonly layer = Layer.effect(Frames, make)
}
