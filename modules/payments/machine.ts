/** What a payor is shown and how a transfer is judged: pure rules over invoice, token and time. */
import { usdDecimal, type UsdMillis, usdWire } from "../../schemas/Money.ts"
import { type Environment, type Family, familyOf, type Network, networks } from "../../schemas/Network.ts"
import type { ExceptionType } from "../../schemas/Payment.ts"
import type { Token } from "../../schemas/Token.ts"

/** A session ends this many seconds after its invoice did: 30 d (API reference, "Payor session endpoints"). */
export const sessionAfterlifeSeconds = 2_592_000

/** Seconds a payor's page waits between two polls. */
export const nextPollSeconds = 3

/** How far before our own first sight of it a transfer may claim to be, in seconds: 2 h. */
const oldestSightSeconds = 7_200

/** Seconds after which a rate is shown as stale (API reference, "Payor session endpoints"). */
const staleRateSeconds = 300

/**
 * When a transfer counts as seen: its block's time, but never after we saw it and at most 2 h before. Decides expiry,
 * lateness and the quote (API reference, "Invoice payment").
 */
export const seenAtOf = (blockTime: number, observedAt: number): number =>
  Math.min(observedAt, Math.max(blockTime, observedAt - oldestSightSeconds))

/**
 * Why a transfer of `token` (undefined: not in the catalogue) on `network` is not accepted; null when it is.
 * `refusedTokens` are those that were blocked when the address was given out: what was blocked since is accepted. A
 * network the invoice does not take weighs more than the token.
 */
export const verdict = (
  token: Token | undefined,
  network: Network,
  acceptedNetworks: ReadonlyArray<Network> | null,
  refusedTokens: ReadonlyArray<number>
): ExceptionType | null => {
  if (acceptedNetworks !== null && !acceptedNetworks.includes(network)) return "wrong_network"
  return token === undefined || !token.active || refusedTokens.includes(token.id) ? "wrong_token" : null
}

/** Epoch seconds at which the payor's session ends; null while the invoice is open. */
export const sessionEnd = (invoice: {
  readonly status: string
  readonly paidAt: number | null
  readonly expiresAt: number
}): number | null => {
  switch (invoice.status) {
    case "paid":
      return (invoice.paidAt ?? invoice.expiresAt) + sessionAfterlifeSeconds
    case "expired":
    case "canceled":
      return invoice.expiresAt + sessionAfterlifeSeconds
    default:
      return null
  }
}

/** US dollars as a JSON number, for display beside the integer and its decimal; nothing is computed from it. */
export const usdNumber = (amount: UsdMillis): number => usdWire(amount) / 1000

export const isNetwork = (text: string): text is Network => (networks as ReadonlyArray<string>).includes(text)

/** What a route can do now. */
export type Availability =
  | "DEVNET"
  | "AVAILABLE"
  | "STALE"
  | "NO_LIQUIDITY"
  | "QUOTE_REQUIRED"
  | "NETWORK_DEGRADED"

/** Facts a token's availability follows from. */
export interface RouteFacts {
  readonly environment: Environment
  /** A driver runs for the network. */
  readonly monitored: boolean
  /** A wallet can receive there. */
  readonly hasWallet: boolean
  readonly healthy: boolean
  /** Epoch seconds of the last price; null: none. */
  readonly priceAt: number | null
  readonly now: number
}

/** The state shown for a token, and why it cannot be paid if it cannot. */
export const availabilityOf = (facts: RouteFacts): { status: Availability; reason: string | null } => {
  if (!facts.monitored) return { status: "NO_LIQUIDITY", reason: "NOT_MONITORED" }
  if (!facts.hasWallet) return { status: "NO_LIQUIDITY", reason: "NO_WALLET" }
  if (!facts.healthy) return { status: "NETWORK_DEGRADED", reason: "NETWORK_DEGRADED" }
  if (facts.priceAt === null) return { status: "QUOTE_REQUIRED", reason: null }
  if (facts.now - facts.priceAt > staleRateSeconds) return { status: "STALE", reason: "RATE_STALE" }
  return { status: facts.environment === "devnet" ? "DEVNET" : "AVAILABLE", reason: null }
}

/** Block explorers by network and environment, for links to a transaction; absent: no link. */
const explorers: Readonly<Record<Environment, Readonly<Partial<Record<Network, string>>>>> = {
  mainnet: {
    ethereum: "https://etherscan.io/tx/",
    base: "https://basescan.org/tx/",
    optimism: "https://optimistic.etherscan.io/tx/",
    arbitrum: "https://arbiscan.io/tx/",
    avalanche: "https://snowtrace.io/tx/",
    bsc: "https://bscscan.com/tx/",
    solana: "https://explorer.solana.com/tx/",
    ton: "https://tonviewer.com/transaction/",
    cardano: "https://cardanoscan.io/transaction/",
    sui: "https://suiscan.xyz/mainnet/tx/"
  },
  devnet: {
    ethereum: "https://sepolia.etherscan.io/tx/",
    base: "https://sepolia.basescan.org/tx/",
    optimism: "https://sepolia-optimism.etherscan.io/tx/",
    arbitrum: "https://sepolia.arbiscan.io/tx/",
    avalanche: "https://testnet.snowtrace.io/tx/",
    bsc: "https://testnet.bscscan.com/tx/"
  }
}

export const explorerUrl = (network: Network, environment: Environment, txHash: string | null): string | null => {
  const base = explorers[environment][network]
  return base === undefined || txHash === null ? null : `${base}${txHash}`
}

/** Families whose transfers carry a text for the receiver, in which exchanges expect an account's number. */
const memoFamilies: ReadonlySet<Family> = new Set(["ton", "solana"])

/** Visible ASCII: what is copied by hand must not look like something else. 120 fit into one TON comment. */
const memoPattern = /^[\x20-\x7e]{1,120}$/

/** Whether `memo` can go with a transfer on `network`. */
export const isMemo = (network: Network, memo: string): boolean =>
  memoFamilies.has(familyOf(network)) && memoPattern.test(memo)

/** Whether an `If-None-Match` header names `etag`; compared weakly, as RFC 9110 says for it. */
export const matchesEtag = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === "*" || header.split(",").some((each) => each.trim().replace(/^W\//, "") === etag))

/** Amounts as every payor body carries them. */
export const amounts = (invoice: { amount: UsdMillis; amountPaid: UsdMillis }, left: UsdMillis) => ({
  amount_paid: usdWire(invoice.amountPaid),
  amount_paid_decimal: usdDecimal(invoice.amountPaid),
  amount_remaining: usdWire(left),
  amount_remaining_decimal: usdDecimal(left),
  amount_unit: "usd_millis" as const
})
