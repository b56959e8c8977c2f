/**
 * Who asks for a page, and for what: sessions, cookies, forms and headers, as far as no clock and no database is
 * needed.
 */
import { createHash } from "node:crypto"
import { isLocalPage } from "../../../schemas/Web.ts"
import { acceptLanguage } from "../../../runtime/pages/Languages.ts"
import { negotiate } from "./Languages.ts"
import type { SimulatedPayment } from "../../payments/plugin.ts"
import { readClaimToken } from "../island/ClaimToken.ts"
import type { View } from "../rules.ts"
import type { ClaimAction } from "../rules/Claims.ts"
import { en } from "./texts/en.ts"
import type { Texts } from "./Texts.ts"

/** What opens an invoice's page: the pair of its `payment_url`. */
export interface SessionCredentials {
  readonly sessionToken: string
  readonly signature: string
}

/** The pair in a URL's query; null where it holds neither half. */
export const credentialsOfQuery = (query: URLSearchParams): SessionCredentials | null => {
  const [sessionToken, signature] = [query.get("session_token"), query.get("signature")]
  return sessionToken === null && signature === null
    ? null
    : { sessionToken: sessionToken ?? "", signature: signature ?? "" }
}

/** Tokens have no point, signatures have one. */
export const cookieOfCredentials = ({ sessionToken, signature }: SessionCredentials): string =>
  `${sessionToken}.${signature}`

/** The pair of a cookie's value; null where there is none. */
export const credentialsOfCookie = (value: string | undefined): SessionCredentials | null => {
  const point = value?.indexOf(".") ?? -1
  return value === undefined || point === -1
    ? null
    : { sessionToken: value.slice(0, point), signature: value.slice(point + 1) }
}

/** What a page's address carries beside the path where cookies do not come back; empty where they do. */
export const sessionQuery = (
  credentials: SessionCredentials,
  choices: { readonly lang: string | null; readonly tab: string | null }
): string => {
  const { lang, tab } = choices
  const query = new URLSearchParams({
    session_token: credentials.sessionToken,
    signature: credentials.signature,
    c: "1"
  })
  if (lang !== null) query.set("lang", lang)
  if (tab !== null) query.set("tab", tab)
  return `?${query}`
}

/** The tab that a query or a cookie names. */
export const readTab = (text: string | null | undefined): View["tab"] | null =>
  text === "link" || text === "address" ? text : null

/** Where a payor's language may be named, first one first (payment page, languages). */
export interface LanguageSources {
  readonly query: string | null
  readonly cookie: string | undefined
  readonly invoice: string | null
  readonly browser: string | undefined
  readonly merchant: string | null
}

/** The catalogue a payor gets: asked for, chosen before, the invoice's, the browser's, the merchant's, English. */
export const languageFor = ({ query, browser, cookie, invoice, merchant }: LanguageSources): Texts =>
  negotiate(query === null ? [] : [query]) ??
    negotiate(cookie === undefined ? [] : [cookie]) ??
    negotiate(invoice === null ? [] : [invoice]) ??
    negotiate(browser === undefined ? [] : acceptLanguage(browser)) ??
    negotiate(merchant === null ? [] : [merchant]) ??
    en

/** What a form of the page asks for. */
export type FormAction =
  | { readonly _tag: "Choose"; readonly tokenId: number }
  | { readonly _tag: "Refresh" }
  | { readonly _tag: "Restart" }
  | { readonly _tag: "Simulate"; readonly what: SimulatedPayment }
  | { readonly _tag: "Language"; readonly locale: string }
  | { readonly _tag: "Sent"; readonly txHash: string }
  | { readonly _tag: "Refund"; readonly network: string; readonly address: string }

/** Ids are PostgreSQL integers. */
const tokenIdPattern = /^[1-9]\d{0,8}$/

/** The token that a field names; null where it names none. */
export const readToken = (text: string | null): number | null =>
  text !== null && tokenIdPattern.test(text) ? Number(text) : null

/** Characters of a currency's symbol, at most; what is longer names none. */
const maximumSymbolLength = 32

/** The currency whose networks a query asks for; null: none. */
export const readCurrency = (text: string | null): string | null =>
  text !== null && text !== "" && text.length <= maximumSymbolLength ? text : null

const simulatedPayments: Readonly<Record<string, SimulatedPayment>> = {
  pay: "pay",
  partial: "partial",
  overpay: "overpay",
  late: "late"
}

/** Characters of an address, at most: those of Cardano have 103 and more. What is longer is none. */
export const maximumAddressLength = 200

/** The language that a form chooses: exactly one that a page can be had in; null: none. */
export const readLanguageChoice = (locale: string): string | null =>
  negotiate([locale])?.locale === locale ? locale : null

/** What a form's fields ask for; null where they are no form of ours, or a field stands twice. */
export const readFormAction = (form: URLSearchParams): FormAction | null => {
  const fields = new Map(form)
  if (fields.size !== form.size) return null
  const field = (name: string): string => fields.get(name) ?? ""
  switch (field("action")) {
    case "choose": {
      const tokenId = readToken(field("token"))
      return tokenId === null ? null : { _tag: "Choose", tokenId }
    }
    case "refresh":
      return { _tag: "Refresh" }
    case "restart":
      return { _tag: "Restart" }
    case "simulate": {
      const what = Object.hasOwn(simulatedPayments, field("what")) ? simulatedPayments[field("what")] : undefined
      return what === undefined ? null : { _tag: "Simulate", what }
    }
    case "language": {
      const locale = readLanguageChoice(field("lang"))
      return locale === null ? null : { _tag: "Language", locale }
    }
    case "sent": {
      const txHash = field("hash")
      return /^0x[0-9a-f]{64}$/i.test(txHash) ? { _tag: "Sent", txHash: txHash.toLowerCase() } : null
    }
    case "refund": {
      const address = field("address").trim()
      return address.length > maximumAddressLength ? null : { _tag: "Refund", network: field("network"), address }
    }
    default:
      return null
  }
}

const claimActions: ReadonlyMap<string, ClaimAction["name"]> = new Map(
  (["open", "check", "edit", "claim"] as const).map((name) => [name, name])
)

/** A form of the claim page; `locale`: it chooses a language, and the token's refund is to be seen in it. */
export interface ClaimForm {
  readonly token: string | null
  readonly action: ClaimAction
  readonly locale: string | null
}

/** What a form of the claim page asks for; null where it is none of ours, or a field stands twice. */
export const readClaimForm = (form: URLSearchParams): ClaimForm | null => {
  const fields = new Map(form)
  if (fields.size !== form.size) return null
  const field = (name: string): string => (fields.get(name) ?? "").trim()
  const [address, memo] = [field("address"), field("memo")]
  const locale = field("action") === "language" ? field("lang") : null
  if (locale !== null && readLanguageChoice(locale) === null) return null
  const name = locale === null ? claimActions.get(field("action")) : "open"
  if (name === undefined || address.length > maximumAddressLength || memo.length > maximumAddressLength) return null
  return {
    token: readClaimToken(field("token")) ?? null,
    action: { name, wallet: { address, memo: memo === "" ? null : memo } },
    locale
  }
}

/**
 * Whether a form was sent by a page of another site. `no-referrer` makes browsers say `Origin: null` for forms of our
 * own page; what says it elsewhere is told by `Sec-Fetch-Site`, and has no cookie of ours, which is `SameSite=Lax`.
 */
export const isCrossSite = (headers: Readonly<Record<string, string | undefined>>, origin: string): boolean => {
  const { origin: sent, "sec-fetch-site": site } = headers
  return site === "cross-site" || site === "same-site" || (sent !== undefined && sent !== "null" && sent !== origin)
}

/**
 * Whether a person's browser opens this address, now: not what reads ahead, and not what draws previews of links, which
 * send no such headers (Fetch Metadata).
 */
export const isNavigation = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  headers["sec-fetch-mode"] === "navigate" && headers["sec-purpose"] === undefined

/** Where a payor returns to: the merchant's address with `invoice_id` and `status`, its own query as it was. */
export const returnUrlOf = (url: string | null, invoiceId: string, status: string): string | null => {
  if (url === null || !URL.canParse(url)) return null
  const target = new URL(url)
  if (target.protocol !== "https:" && !isLocalPage(url)) return null
  target.search = `${target.search === "" ? "?" : `${target.search}&`}invoice_id=${invoiceId}&status=${status}`
  return target.href
}

/** As a Content-Security-Policy names an inline style. */
export const styleHash = (css: string): string => `sha256-${createHash("sha256").update(css).digest("base64")}`

/** What a page's headers depend on. */
export interface HeaderOptions {
  readonly publicUrl: string
  /** {@link styleHash} of each style element. */
  readonly styles: ReadonlyArray<string>
  readonly frameAncestors: ReadonlyArray<string>
}

/** Seconds for which a browser asks this host by https only: a year. Only where the public URL is https. */
const strictTransportSeconds = 31_536_000

/**
 * Headers of a page and of its fragments (payment page, "CSP"): nothing of another origin, no inline script, frames
 * only for those the merchant named, no trace in caches and referrers. The socket's origin is named for browsers in
 * which `'self'` is not the origin of sockets.
 */
export const pageHeaders = ({ frameAncestors, publicUrl, styles }: HeaderOptions): Readonly<Record<string, string>> => {
  const { origin } = new URL(publicUrl)
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    styles.length === 0 ? "style-src 'none'" : `style-src ${styles.map((hash) => `'${hash}'`).join(" ")}`,
    "img-src 'self' data:",
    `connect-src 'self' ${origin.replace(/^http/, "ws")}`,
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${frameAncestors.length === 0 ? "'none'" : frameAncestors.join(" ")}`,
    "require-trusted-types-for 'script'",
    "trusted-types pay"
  ]
  return {
    "content-security-policy": policy.join("; "),
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex, nofollow",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ...(origin.startsWith("https:") ? { "strict-transport-security": `max-age=${strictTransportSeconds}` } : {})
  }
}

/**
 * Seconds after which a fragment counts as changed, so that its ticket for the socket is renewed: half of what one
 * lives.
 */
const ticketSeconds = 1_800

/** What passes with every second or call, and says nothing new. */
const volatileFields: ReadonlySet<string> = new Set([
  "remaining_time",
  "quote_expires_in_seconds",
  "ws_connection",
  "socketUrl",
  "since",
  "now"
])

/** Names a fragment by what it is drawn from: the same while a payor would see nothing new. Without quotes. */
export const stateTag = (view: View, locale: string): string => {
  const bucket = Math.floor(view.now / ticketSeconds)
  const text = JSON.stringify(
    [locale, bucket, [...view.estimates], view],
    (key, value: unknown) => volatileFields.has(key) ? undefined : typeof value === "bigint" ? `${value}` : value
  )
  return createHash("sha256").update(text).digest("base64url").slice(0, 22)
}
