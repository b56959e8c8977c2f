/** Where a request comes from: addresses and ranges of them, and the caller behind proxies that are trusted. */
import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { BlockList, isIP, isIPv6 } from "node:net"

/** Whether a text is an IPv4 or IPv6 address, or a range of them in CIDR form (`10.0.0.0/8`, `2001:db8::/32`). */
export const isAddressRange = (text: string): boolean => {
  const [address = "", bits, ...rest] = text.split("/")
  const family = isIP(address)
  if (family === 0 || address.includes("%") || rest.length > 0) return false
  return bits === undefined || /^\d{1,3}$/.test(bits) && Number.parseInt(bits, 10) <= (family === 4 ? 32 : 128)
}

/** `::ffff:192.0.2.1` is 192.0.2.1, which is how a socket that serves both families spells it. */
const plain = (address: string): string => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address

/** Answers whether an address is in one of `ranges`, each an {@link isAddressRange}. What is no address is in none. */
export const inRanges = (ranges: ReadonlyArray<string>): (address: string) => boolean => {
  const list = new BlockList()
  for (const range of ranges) {
    const [written = "", bits] = range.split("/")
    const address = bits === undefined ? plain(written) : written
    const family = isIP(address) === 4 ? "ipv4" : "ipv6"
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number.parseInt(bits, 10), family)
  }
  return (text) => {
    const address = plain(text)
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 4 ? "ipv4" : "ipv6")
  }
}

/** This machine itself. A proxy on it calls from here, so these addresses stand for many callers. */
export const loopbackRanges: ReadonlyArray<string> = ["127.0.0.0/8", "::1/128"]

/** A range of addresses that share a limit; an address counts in each range it belongs to. */
export interface AddressPrefix {
  /** The address itself, or an IPv6 prefix such as `2001:db8:1:2::/64`. */
  readonly name: string
  /** How many times the limit of one address the whole range may use. */
  readonly limitFactor: number
}

/** The first four groups of an IPv6 address, as numbers. */
const groupsOf = (address: string): ReadonlyArray<number> => {
  const [head = "", tail] = address.toLowerCase().split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array.from({ length: zeros }, () => "0"), ...right]
  return groups.slice(0, 4).map((group) => Number.parseInt(group, 16))
}

const prefixName = (groups: ReadonlyArray<number>, bits: number): string =>
  `${groups.map((group) => group.toString(16)).join(":")}::/${bits}`

/**
 * The ranges that an address counts in, the narrowest first. An IPv4 address counts alone: its neighbours are other
 * subscribers. An IPv6 subscriber picks any address below a /64, so that is the narrowest range; a home may have a
 * whole /56 and a company a /48 (RFC 6177), which may use 4 and 16 times the limit because several people share them.
 */
export const prefixesOf = (written: string): ReadonlyArray<AddressPrefix> => {
  const address = plain(written)
  if (!isIPv6(address)) return [{ name: address, limitFactor: 1 }]
  const [a = 0, b = 0, c = 0, d = 0] = groupsOf(address)
  return [
    { name: prefixName([a, b, c, d], 64), limitFactor: 1 },
    { name: prefixName([a, b, c, d & 0xff00], 56), limitFactor: 4 },
    { name: prefixName([a, b, c], 48), limitFactor: 16 }
  ]
}

/** Addresses of `X-Forwarded-For` that are looked at, from the nearest: longer chains are not of ours. */
const maximumHops = 16

/**
 * A function that names a request's caller, or null where there is none to name. Only what a proxy of `trusted` wrote
 * into `X-Forwarded-For` counts: the chain is read from the nearest hop, past every trusted one, so that what the
 * caller itself put there names nobody.
 */
export const callerBehind = (trusted: ReadonlyArray<string>) => {
  const isTrusted = inRanges(trusted)
  return ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest): string | null => {
    const peer = Option.getOrNull(remoteAddress)
    if (peer === null || trusted.length === 0 || !isTrusted(peer)) return peer === null ? null : plain(peer)
    const hops = (headers["x-forwarded-for"] ?? "").split(",").map((hop) => hop.trim()).slice(-maximumHops)
    let caller = peer
    while (hops.length > 0 && isTrusted(caller)) {
      const hop = hops.pop() ?? ""
      if (isIP(hop) === 0) break
      caller = hop
    }
    return plain(caller)
  }
}
