/** Origins of pages, as browsers write them (RFC 6454). Pure. */
import { ownOriginsOf } from "../../schemas/Web.ts"

const originOf = (text: string): string | null => URL.canParse(text) ? new URL(text).origin : null

/** Hosts whose pages come from the developer's own machine, and may be plain http. */
const localHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/** Whether an origin is of a page on this very machine without TLS: for play money only. */
export const isLocalOrigin = (origin: string): boolean =>
  origin.startsWith("http://") && URL.canParse(origin) && localHosts.has(new URL(origin).hostname)

/**
 * Whether a text is an origin as a browser writes it: https, or http on this very machine. A `*` stands for nothing.
 */
export const isOrigin = (text: string): boolean =>
  originOf(text) === text && !text.includes("*") && (text.startsWith("https://") || isLocalOrigin(text))

/**
 * Answers whether a page of an origin may open a merchant's stream: the service's own pages, and those of the settings.
 */
export const makeOriginCheck = (publicUrl: string, allowed: ReadonlyArray<string>): (origin: string) => boolean => {
  const known = new Set([...allowed, ...ownOriginsOf(publicUrl)])
  return (origin) => known.has(origin)
}
