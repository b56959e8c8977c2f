/** What merchants send that browsers and mail programs will read: addresses that are safe to show and to link. */
import { Schema } from "effect"

/** Characters of a URL, at most: what every browser and proxy still takes. */
const maximumUrl = 2_000

/**
 * Whether a URL is written out as `scheme://`, in either case, and holds nothing that a page, a log or a reader could
 * take for its end or for something else: spaces, quotes, invisible or bidirectional marks.
 */
const isPlainUrl = (text: string, scheme: "http" | "https"): boolean =>
  text.slice(0, scheme.length + 3).toLowerCase() === `${scheme}://` && /^[^\s\p{C}"'<>\\^`{|}]+$/u.test(text)

const isHttpsUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { password, protocol, username } = new URL(text)
  return protocol === "https:" && username === "" && password === "" && isPlainUrl(text, "https")
}

/** An https URL without credentials, spaces, quotes, invisible or bidirectional marks, as it is put into a page. */
export const HttpsUrl = Schema.String.annotate({
  description: "An https URL without credentials, at most 2,000 characters.",
  format: "uri"
}).check(
  Schema.isMaxLength(maximumUrl),
  Schema.makeFilter((text: string) => isHttpsUrl(text) || "Expected an https URL without credentials")
)

/** Hosts of pages that come from the developer's own machine. */
const localHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/**
 * Whether a URL is of a page on this very machine without TLS, on any port, without credentials: for play money only.
 */
export const isLocalPage = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hostname, password, protocol, username } = new URL(text)
  return protocol === "http:" && localHosts.has(hostname) && username === "" && password === ""
    && isPlainUrl(text, "http")
}

/**
 * Where people open pages of a public address, without `/` at its end. Browsers refuse passkeys on IP addresses, so a
 * service that only its own machine reaches is `localhost`.
 */
export const pageUrlOf = (publicUrl: string): string =>
  publicUrl.replace(/^(https?:\/\/)(?:127\.0\.0\.1|\[::1\])(?=[:/]|$)/, "$1localhost")

/** The origins of a service's own pages: of its public address, and of {@link pageUrlOf}. */
export const ownOriginsOf = (publicUrl: string): ReadonlySet<string> =>
  new Set([publicUrl, pageUrlOf(publicUrl)].map((url) => new URL(url).origin))

/** Where a payor's browser returns to: {@link HttpsUrl}, or what {@link isLocalPage} is, which only devnet may have. */
export const ReturnUrl = Schema.String.check(
  Schema.isMaxLength(maximumUrl),
  Schema.makeFilter((text: string) =>
    isHttpsUrl(text) || isLocalPage(text) || "Expected an https URL without credentials, or on devnet http://localhost"
  )
).annotate({
  description:
    "An https URL without credentials, at most 2,000 characters. On devnet also `http://localhost`, `http://127.0.0.1` "
    + "and `http://[::1]`, on any port.",
  format: "uri"
})

/** Characters of a picture that is sent as a data URI, at most: 16 KiB; it travels with every page. */
const maximumPicture = 16_384

/** By its first bytes too, so that the name of the type is no lie. Never SVG: it can carry scripts and links. */
const picturePattern =
  /^data:image\/(?:png;base64,iVBORw0KGgo|jpeg;base64,\/9j\/|webp;base64,UklGR)[A-Za-z0-9+/]*={0,2}$/

const isPicture = (text: string): boolean =>
  picturePattern.test(text) && text.slice(text.indexOf(",") + 1).length % 4 === 0

/** A picture of a merchant: somewhere else on the web, or in the text itself. */
export const PictureUri = Schema.String.check(
  Schema.makeFilter((text: string) =>
    isPicture(text) || (text.length <= maximumUrl && isHttpsUrl(text)) ||
    "Expected an https URL without credentials, or a png, jpeg or webp as a base64 data URI of at most 16 KiB"
  ),
  Schema.isMaxLength(maximumPicture)
).annotate({
  description: "An https URL without credentials, at most 2,000 characters, or a picture as " +
    "`data:image/png|jpeg|webp;base64,…`, at most 16 KiB.",
  format: "uri"
})

/** Letters of DNS only: an origin goes into a header, where `;` and `*` would mean something else. */
const originPattern = /^https:\/\/[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?$/

/** An https origin as browsers write it: scheme and host in lower case, a port only where it is not 443, no path. */
export const HttpsOrigin = Schema.String.annotate({
  description: "An https origin as browsers write it: no path, no wildcard.",
  format: "uri"
}).check(
  Schema.makeFilter((text: string) =>
    (originPattern.test(text) && URL.canParse(text) && new URL(text).origin === text) ||
    "Expected an origin as browsers write it, like https://shop.example"
  )
)

const domainPattern = /^(?=.{4,243}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/

/**
 * A host name of the public DNS, in lower case: at most 243 characters, so that `_tillwire.` fits before it (253 in all,
 * RFC 1035, 2.3.4). Letters beyond ASCII are written as `xn--…` and shown so: two names that look alike to a reader do
 * not look alike then.
 */
export const DomainName = Schema.String.check(
  Schema.makeFilter((text: string) =>
    (domainPattern.test(text) && URL.canParse(`https://${text}`) && new URL(`https://${text}`).hostname === text) ||
    "Expected a host name like shop.example: lower case, no https://, no port, no path, other letters as xn--…"
  )
).annotate({
  description: "A host name, lower case, at most 243 characters; letters beyond ASCII as `xn--…`.",
  format: "hostname"
})

/**
 * An e-mail address as far as its form can tell; at most 254 characters, the longest that can be delivered (RFC 5321).
 */
export const EmailAddress = Schema.String.check(
  Schema.isMaxLength(254),
  Schema.isPattern(/^[^\s\p{C}@<>"]+@[^\s\p{C}@<>"]+\.[^\s\p{C}@<>"]+$/u, { message: "Expected an e-mail address" })
).annotate({ format: "email" })

/** A language tag (BCP 47), like `en` or `pt-BR`, at most 35 characters. */
export const Locale = Schema.String.check(
  Schema.isMaxLength(35),
  Schema.isPattern(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, { message: "Expected a language tag like en or pt-BR" })
).annotate({ description: "A language tag (BCP 47), like `en` or `pt-BR`." })
