/** Which URLs of nodes may be used on mainnet: whoever can change what a node answers decides what counts as paid. */
import { Option, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/**
 * Loopback (RFC 1122, RFC 4291), private use (RFC 1918), shared space of a provider (RFC 6598), unique local (RFC
 * 4193).
 */
const localNetworks = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "::1/128",
  "fc00::/7",
  "fe80::/10"
].map((cidr) => IpNetwork.fromStringUnsafe(cidr))

/** Names that never leave the machine or the local network: RFC 6761, RFC 6762, RFC 8375, and ICANN's `internal`. */
const localSuffixes = ["localhost", "local", "internal", "home.arpa"]

const isLocal = (host: string): boolean =>
  Result.match(NetAddress.ipFromString(host.replace(/^\[|\]$/g, "")), {
    onSuccess: (address) => localNetworks.some((network) => IpNetwork.contains(network, address)),
    // A name without a dot is found by the local resolver alone, as the services of a compose file are.
    onFailure: () => {
      const name = host.toLowerCase().replace(/\.$/, "")
      return !name.includes(".") || localSuffixes.some((suffix) => name.endsWith(`.${suffix}`))
    }
  })

const notHttp = "it is no http or https URL"

const httpUrl = (text: string): URL | null => {
  const url = Option.getOrNull(Option.liftThrowable((value: string) => new URL(value))(text))
  return url !== null && (url.protocol === "https:" || url.protocol === "http:") ? url : null
}

/** Why a node's URL cannot be used anywhere; null: it can. Never repeats the URL, which may hold a key. */
export const urlRefusal = (text: string): string | null => httpUrl(text) === null ? notHttp : null

/**
 * Why a node's URL cannot be used on mainnet, and what to do; null: it can. Never repeats the URL, which may hold a
 * key.
 */
export const plainHttpRefusal = (text: string): string | null => {
  const url = httpUrl(text)
  if (url === null) return notHttp
  if (url.protocol === "https:" || isLocal(url.hostname)) return null
  return "plain http to a host that is neither this machine nor private lets anyone on the way change what counts as " +
    "paid: use https, or reach the node over a private address or a tunnel"
}
