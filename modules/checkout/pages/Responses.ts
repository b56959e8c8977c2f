/** How the page answers: in the best encoding, under its headers, with its cookies and redirects. */
import { HttpServerResponse } from "effect/http"
import { defaultAccent } from "../../../schemas/Colour.ts"
import { sessionGraceSeconds } from "../../payments/plugin.ts"
import { accentCss } from "./Accent.ts"
import { css } from "./Style.ts"
import { cookieOfCredentials, pageHeaders, type SessionCredentials, styleHash } from "./PageRequest.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Names of the page's cookies. */
export const cookies = {
  session: "till_pay",
  language: "till_lang",
  tab: "till_tab",
  /** The token chosen last at a merchant. */
  last: (merchantId: number): string => `till_last_${merchantId}`
}

/** Seconds for which a browser keeps what the payor chose: a year. */
const choiceSeconds = 31_536_000

/** Looks of merchants whose headers are kept, at most; the oldest is forgotten first. */
const looksCapacity = 1_000

/** Answers of the deployment at `publicUrl`. */
export const makeResponses = (publicUrl: string) => {
  const { origin, pathname } = new URL(publicUrl)
  const base = pathname === "/" ? "" : pathname
  const secure = origin.startsWith("https:")
  const fixedHash = styleHash(css)
  const looks = new Map<string, Readonly<Record<string, string>>>()

  const headersFor = (colour: string, frameAncestors: ReadonlyArray<string>) => {
    const look = [colour, ...frameAncestors].join(" ")
    const cached = looks.get(look)
    if (cached !== undefined) return cached
    const headers = pageHeaders({ publicUrl, frameAncestors, styles: [fixedHash, styleHash(accentCss(colour))] })
    if (looks.size >= looksCapacity) looks.delete(looks.keys().next().value!)
    looks.set(look, headers)
    return headers
  }

  /** Of what shows no merchant's page. */
  const plainHeaders = headersFor(defaultAccent, [])

  const withCookie = (response: Response, name: string, value: string, path: string, maxAge: number): Response =>
    HttpServerResponse.setCookieUnsafe(response, name, value, {
      path,
      httpOnly: true,
      secure,
      sameSite: "lax",
      maxAge: `${maxAge} seconds`
    })

  return {
    origin,
    /** Path of the public URL, without a slash at its end. */
    base,
    headersFor,
    plainHeaders,
    pathOf: (invoiceId: string): string => `${base}/pay/${invoiceId}`,
    /** A redirect that no cache keeps and no referrer tells of; `location` is a path of ours. */
    seeOther: (location: string): Response =>
      HttpServerResponse.empty({ status: 303, headers: { ...plainHeaders, location } }),
    /** With the session of the page at `path`, for that page only, and for as long as any can be good. */
    withSession: (response: Response, credentials: SessionCredentials, path: string): Response =>
      withCookie(response, cookies.session, cookieOfCredentials(credentials), path, sessionGraceSeconds),
    /** With what the payor chose, for every invoice. */
    withChoice: (response: Response, name: string, value: string): Response =>
      withCookie(response, name, value, `${base}/pay`, choiceSeconds)
  }
}

export type Responses = ReturnType<typeof makeResponses>
