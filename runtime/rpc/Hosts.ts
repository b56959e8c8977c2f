/** Host names by which the internal port may be called. Pure. */
import { isIP } from "node:net"

/** Characters of a host name, at most (RFC 1035, section 2.3.4). */
const maximumNameLength = 253

/** Whether a text is a host name without port; underscores are allowed, because container names have them. */
export const isHostName = (text: string): boolean =>
  text.length <= maximumNameLength && /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i.test(text)

/** `Host` is a name, an IPv4 address or an IPv6 address in brackets, and perhaps a port (RFC 9110, section 7.2). */
const hostPattern = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i

/** Names are compared in lower case and without the dot that ends an absolute one. */
const comparable = (name: string): string => name.toLowerCase().replace(/\.$/, "")

/**
 * Answers whether a `Host` header may be served: `localhost`, one of `names`, or any IP address.
 *
 * A web page can make its own domain name resolve to this machine (DNS rebinding). Its browser then treats the internal
 * port as the page's own origin, but the `Host` header still carries the page's domain. An IP address cannot be
 * redirected this way: a browser sends it only for a page of that address, or across origins, where the same-origin
 * policy keeps the answer from the page. A call without the header comes from no browser.
 */
export const makeHostCheck = (names: ReadonlyArray<string>): (host: string | undefined) => boolean => {
  const allowed = new Set(["localhost", ...names.map(comparable)])
  return (host) => {
    if (host === undefined) return true
    const [, bracketed, plain] = hostPattern.exec(host) ?? []
    if (bracketed !== undefined) return isIP(bracketed) === 6
    return plain !== undefined && (isIP(plain) === 4 || allowed.has(comparable(plain)))
  }
}
