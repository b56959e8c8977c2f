/**
 * How the paths of requests are compared: one resource has one spelling, for routes and idempotency keys alike. Pure.
 */
import { Result } from "effect"

/** Nothing in the path needs an escape, nothing is escaped and no segment is empty; the query is not looked at. */
const isPlain = /^(?:\/[\w.~-]+)+(?:\?|$)/

const withEmptySegment = /^[^?]*\/(?:\/|\?|$)/

/**
 * Whether a path has doubled slashes or one at its end, which the router would take for an empty parameter. `/` has
 * none.
 */
export const hasEmptySegment = (url: string): boolean =>
  !isPlain.test(url) && splitQuery(url)[0] !== "/" && withEmptySegment.test(url)

const splitQuery = (url: string): readonly [path: string, query: string] => {
  const end = url.indexOf("?")
  return end === -1 ? [url, ""] : [url.slice(0, end), url.slice(end)]
}

/**
 * One spelling of a segment: unreserved characters as they are (RFC 3986, section 2.3), all others escaped. Fails where
 * it is no percent-encoding of UTF-8, the only thing that `decodeURIComponent` throws for.
 */
const canonicalSegment = (segment: string): Result.Result<string, unknown> =>
  Result.try(() => encodeURIComponent(decodeURIComponent(segment)))

/**
 * The URL with its path in the one spelling that routes and idempotency keys see: `%69nvoices` is `invoices`, an
 * escaped slash stays escaped. Undefined where the path is no percent-encoding of UTF-8. The query, and a target that
 * is no path, stay as they are.
 */
export const canonicalUrl = (url: string): string | undefined => {
  if (isPlain.test(url) || !url.startsWith("/")) return url
  const [path, query] = splitQuery(url)
  return Result.match(Result.all(path.split("/").map(canonicalSegment)), {
    onFailure: () => undefined,
    onSuccess: (segments) => segments.join("/") + query
  })
}

/** Whether the query of a URL is percent-encoded UTF-8, as every client library writes it. */
export const hasDecodableQuery = (url: string): boolean => {
  const [, query] = splitQuery(url)
  return !query.includes("%") || Result.isSuccess(Result.try(() => decodeURIComponent(query)))
}

/**
 * A path that may be misspelt, for finding the route that was meant: what cannot be decoded stands for itself.
 */
export const decodablePath = (url: string): string =>
  splitQuery(url)[0].split("/")
    .map((segment) => Result.getOrElse(canonicalSegment(segment), () => encodeURIComponent(segment)))
    .join("/")

const uuidInPath = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\/|$)/gi

/**
 * The path of a canonical URL as idempotency keys are bound to it. Ids are in lower case, because routes take them in
 * either; a path of a write that holds an id that a merchant chose is a `PersonalPath` (`runtime/Http.ts`).
 */
export const boundPath = (url: string): string => splitQuery(url)[0].replaceAll(uuidInPath, (id) => id.toLowerCase())
