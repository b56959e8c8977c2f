/** How the page answers: in the best encoding, under its headers, with its cookies and redirects. */
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { acceptsEncoding } from "../../../runtime/http/Asset.ts"
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

/**
 * Brotli's effort for a page that is made for one payor. Measured on pages of 16 and 17 KB: 0.14 and 0.23 ms of
 * processor time; 4 takes 0.11 and 0.13 for 9 % more bytes, 6 the same for nothing. zlib's threads take 1.4 times as
 * much or more.
 */
const pageQuality = 5

/**
 * The base-2 logarithm of Brotli's window: 64 KB, which no page exceeds. For windows of this size it has tables of half
 * a megabyte, not more than one: an eighth less processor time for pages that are no larger.
 */
const windowBits = 16

const brotliOf = (text: string): Uint8Array => {
  const bytes = Buffer.from(text)
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: pageQuality,
      [constants.BROTLI_PARAM_LGWIN]: windowBits,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length
    }
  })
}

/** Looks of merchants whose headers are kept, at most; the oldest is forgotten first. */
const looksCapacity = 1_000

/** HTML in the best encoding that the caller takes. */
export const htmlResponse = (
  { headers: requestHeaders }: HttpServerRequest.HttpServerRequest,
  text: string,
  headers: Readonly<Record<string, string>>
): Response => {
  const accepted = requestHeaders["accept-encoding"] ?? ""
  const respond = (body: Uint8Array, encoding: Readonly<Record<string, string>> = {}) =>
    HttpServerResponse.uint8Array(body, {
      contentType: "text/html; charset=utf-8",
      headers: { ...headers, vary: "accept-encoding", ...encoding }
    })
  if (acceptsEncoding(accepted, "br")) return respond(brotliOf(text), { "content-encoding": "br" })
  return acceptsEncoding(accepted, "gzip")
    ? respond(gzipSync(text), { "content-encoding": "gzip" })
    : respond(Buffer.from(text))
}

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
