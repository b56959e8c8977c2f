/**
 * Where deliveries may go. Three gates: the URL as written ({@link checkUrl}), every address its name resolves to
 * (`NameResolver.ts`, which lets a socket connect to the checked address only), and no redirects. A look-up is never
 * asked about IP literals, so the first gate judges those.
 */
import { isIP } from "node:net"
import { Result, Schema } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import type { Settings } from "../../../runtime/Settings.ts"

/** Characters of a webhook URL, at most: what proxies and servers commonly take. */
export const maximumUrlLength = 2_048

const networks = (...cidrs: ReadonlyArray<string>) => cidrs.map((cidr) => IpNetwork.fromStringUnsafe(cidr))

/** IPv4 that is not the public internet: IANA's special-purpose registry, multicast, and one cloud's metadata host. */
const refusedV4 = networks(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "168.63.129.16/32"
)

/** The only IPv6 block in which global unicast is given out; everything outside is refused. */
const globalV6 = IpNetwork.fromStringUnsafe("2000::/3")

/** Inside {@link globalV6}: protocol assignments with Teredo, documentation, 6to4, direct delegation AS112. */
const refusedV6 = networks("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")

/** The one spelling of an address; other text comes back as it is. */
export const canonicalAddress = (text: string): string =>
  Result.match(NetAddress.ipFromString(text), { onFailure: () => text, onSuccess: NetAddress.formatIp })

/** Whether an address, as a resolver or a URL spells it, belongs to the public internet. */
export const isPublicAddress = (text: string): boolean =>
  Result.match(NetAddress.ipFromString(text), {
    onFailure: () => false,
    onSuccess: (address) =>
      NetAddress.isIpv4Address(address)
        ? !refusedV4.some((network) => IpNetwork.contains(network, address))
        : IpNetwork.contains(globalV6, address) && !refusedV6.some((network) => IpNetwork.contains(network, address))
  })

/** Names that never leave the machine or the local network. */
const localSuffixes = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "private",
  "onion",
  "arpa",
  "invalid"
]

/** Ports from 1024 that speak something else than HTTP; below 1024 only 443 is taken. */
const refusedPorts: ReadonlySet<number> = new Set([
  1433,
  1521,
  2049,
  2375,
  2376,
  2379,
  2380,
  3306,
  3389,
  5432,
  5433,
  5672,
  5900,
  5984,
  6379,
  6443,
  6667,
  7000,
  7001,
  8500,
  9042,
  9092,
  9200,
  9300,
  10250,
  11211,
  15672,
  27017,
  27018
])

/** The deployment's settings contradict what the guard promises. */
export class GuardRefused extends Schema.TaggedError<GuardRefused>()("GuardRefused", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** What the first gate judges by. */
export interface EgressPolicy {
  /** Names of this very machine of which every port may be called, by plain http too. Empty on mainnet. */
  readonly localHosts: ReadonlySet<string>
  /** Ports of the service itself, which are not among them. */
  readonly ownPorts: ReadonlySet<string>
  /** `host:port` that may be local and plain http. Empty on mainnet. */
  readonly devnetReceivers: ReadonlySet<string>
  /** Host names of this deployment itself. */
  readonly ownHosts: ReadonlySet<string>
  /** Its addresses, each in its canonical spelling, as far as known. */
  readonly ownAddresses: ReadonlySet<string>
}

/** `host:port` of a URL or of a configured receiver, with the port written out. */
const hostAndPort = (url: URL): string => `${url.hostname}:${url.port || (url.protocol === "https:" ? "443" : "80")}`

/** Hosts of the entries of `webhooks.devnetReceivers` that name every port: `localhost:*`. */
const hostsOfAnyPort = (entries: ReadonlyArray<string>): ReadonlyArray<string> =>
  entries.flatMap((entry) => entry.endsWith(":*") ? [entry.slice(0, -2).toLowerCase()] : [])

/** Reads `webhooks.devnetReceivers`: entries without a port stand for both default ports. */
export const receiverSet = (entries: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) =>
    ["http:", "https:"].flatMap((scheme) =>
      URL.canParse(`${scheme}//${entry}`)
        ? [hostAndPort(new URL(`${scheme}//${entry}`))]
        : []
    )
  ))

/** Names and addresses of this very machine, as a URL spells them. */
const loopbackHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/**
 * Whether nobody but this machine's own users reaches a deployment: it listens and is published on loopback, and no
 * proxy stands before it. Only then may they have any port of the machine called: strangers would read what answers
 * there.
 */
const isPrivateToMachine = (
  { http, publicUrl }: Pick<Settings["Service"], "http" | "publicUrl">
): boolean =>
  loopbackHosts.has(http.host === "::1" ? "[::1]" : http.host)
  && http.trustProxy.length === 0 && URL.canParse(publicUrl) && loopbackHosts.has(new URL(publicUrl).hostname)

/** The host of a URL, as gates compare it; undefined where there is none. */
export const hostOf = (url: string): string | undefined =>
  URL.canParse(url) ? withoutDot(new URL(url).hostname) : undefined

const withoutDot = (host: string) => host.replace(/\.$/, "")

/**
 * The policy of a deployment. Local receivers are for devnet alone: no mainnet may share its process.
 */
export const egressPolicy = (
  { environments, http, publicUrl, rpc, webhooks }: Pick<
    Settings["Service"],
    "environments" | "http" | "publicUrl" | "rpc" | "webhooks"
  >
): Result.Result<EgressPolicy, GuardRefused> => {
  const receivers = webhooks.devnetReceivers ?? []
  if (receivers.length > 0 && environments.includes("mainnet")) {
    return Result.fail(
      new GuardRefused({ reason: "webhooks.devnetReceivers works on devnet only: remove it, or serve devnet alone" })
    )
  }
  const localHosts = hostsOfAnyPort(receivers)
  const elsewhere = localHosts.find((host) => !loopbackHosts.has(host))
  if (elsewhere !== undefined) {
    return Result.fail(
      new GuardRefused({
        reason: `webhooks.devnetReceivers: "${elsewhere}:*" is not this machine: every port may be named for `
          + `${[...loopbackHosts].join(", ")} only, so name the port`
      })
    )
  }
  const own = hostOf(publicUrl)
  return Result.succeed({
    localHosts: new Set(isPrivateToMachine({ http, publicUrl }) ? localHosts : []),
    ownPorts: new Set([http.port, rpc.port].map(String)),
    devnetReceivers: receiverSet(receivers),
    ownHosts: new Set([...own === undefined ? [] : [own], http.host]),
    ownAddresses: new Set()
  })
}

/** What the first gate says of a URL. `local` receivers skip the address checks of the transport. */
export type UrlCheck =
  | { readonly _tag: "Allowed"; readonly url: URL; readonly local: boolean }
  | { readonly _tag: "Refused"; readonly reason: string }

const refuse = (reason: string): UrlCheck => ({ _tag: "Refused", reason })

const isOnMachine = (url: URL, { localHosts, ownPorts }: EgressPolicy): boolean =>
  localHosts.has(url.hostname) && url.port !== "0" &&
  !ownPorts.has(url.port || (url.protocol === "https:" ? "443" : "80"))

/** The first gate: judges the URL as written, without looking anything up. */
export const checkUrl = (text: string, policy: EgressPolicy): UrlCheck => {
  if (text.length > maximumUrlLength) return refuse(`The URL may have at most ${maximumUrlLength} characters`)
  if (!/^[\x21-\x7e]+$/.test(text) || /[\\#]/.test(text)) {
    return refuse("The URL must be plain ASCII without spaces, backslashes or a fragment")
  }
  if (!URL.canParse(text)) return refuse("The URL cannot be read")
  const url = new URL(text)
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/*[^/?]*@/i.test(text)) {
    return refuse("The URL must not contain credentials")
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return refuse("The URL must start with https://")
  if (policy.devnetReceivers.has(hostAndPort(url))) return { _tag: "Allowed", url, local: true }
  if (isOnMachine(url, policy)) return { _tag: "Allowed", url, local: true }
  if (policy.localHosts.has(url.hostname)) {
    return refuse("The port is 0 or the service's own: name the port of your receiver")
  }
  if (url.protocol !== "https:") return refuse("The URL must start with https://")
  const reason = hostReason(text, url) ?? portReason(url)
  if (reason !== undefined) return refuse(reason)
  const name = withoutDot(url.hostname)
  return policy.ownHosts.has(name) || policy.ownAddresses.has(name.replace(/^\[|\]$/g, ""))
    ? refuse("The URL must not point at this service")
    : { _tag: "Allowed", url, local: false }
}

/** Whether a name, without a dot at its end, is one of the public DNS. */
export const isPublicName = (name: string): boolean => {
  const labels = name.split(".")
  return labels.length >= 2 && !localSuffixes.includes(labels.at(-1)!) && !labels.includes("")
}

const hostReason = (text: string, url: URL): string | undefined => {
  const host = url.hostname
  const bare = host.startsWith("[") ? host.slice(1, -1) : host
  if (isIP(bare) !== 0) {
    const hostText = /^https:\/\/([^/?:]+|\[[^\]]*\])/i.exec(text)?.[1]?.toLowerCase()
    return isPublicAddress(bare) && (isIP(bare) === 6 || hostText === host) ? undefined : "The address is not public"
  }
  return isPublicName(withoutDot(host)) ? undefined : "The host is not a public name"
}

const portReason = (url: URL): string | undefined => {
  const port = url.port === "" ? 443 : Number.parseInt(url.port, 10)
  return port === 443 || (port >= 1024 && !refusedPorts.has(port)) ? undefined : "The port is not allowed"
}
