/** Networks, their families and environments, and how deep a payment must be on each before it counts. */
import { Schema } from "effect"

/** The ten networks, in the order of modules/docs/reference/networks.md#the-ten-networks. */
export const networks = [
  "ethereum",
  "base",
  "solana",
  "avalanche",
  "ton",
  "bsc",
  "arbitrum",
  "optimism",
  "cardano",
  "sui"
] as const
export const Network = Schema.Literals(networks)
export type Network = typeof Network.Type

/** Networks whose addresses are the same thing: one receive target per invoice serves a whole family. */
export const Family = Schema.Literals(["evm", "solana", "ton", "sui", "cardano"])
export type Family = typeof Family.Type

export const familyOf = (network: Network): Family =>
  network === "solana" || network === "ton" || network === "sui" || network === "cardano" ? network : "evm"

/**
 * `devnet` is play money on test networks; `mainnet` is real
 * (modules/docs/reference/environments.md#devnet-and-mainnet).
 */
export const Environment = Schema.Literals(["devnet", "mainnet"])
export type Environment = typeof Environment.Type

/** EIP-155 chain ids of the EVM networks, by environment. Source: each network's own documentation. */
export const evmChainIds: Readonly<Record<Environment, Readonly<Partial<Record<Network, number>>>>> = {
  mainnet: { ethereum: 1, base: 8453, optimism: 10, arbitrum: 42161, avalanche: 43114, bsc: 56 },
  devnet: { ethereum: 11155111, base: 84532, optimism: 11155420, arbitrum: 421614, avalanche: 43113, bsc: 97 }
}

/** `fast` trusts one block for small invoices, `standard` is the table below, `final` waits for finality. */
export const ConfirmationPolicy = Schema.Literals(["fast", "standard", "final"])
export type ConfirmationPolicy = typeof ConfirmationPolicy.Type

/**
 * How deep a transfer must be: `blocks` counts the block it is in as 1; `finalized` waits for the network's own
 * finality mark, and for `blocks` where the node does not know the mark.
 */
export interface RequiredDepth {
  readonly blocks: number
  readonly finalized: boolean
  /** Whether two endpoints must show its block; absent or false: one is enough while no other contradicts it. */
  readonly agreement?: boolean
}

/** Policy `standard` on mainnet (modules/docs/reference/payments.md#confirmations). */
const standardDepth: Readonly<Record<Network, RequiredDepth>> = {
  ethereum: { blocks: 12, finalized: false },
  base: { blocks: 10, finalized: false },
  optimism: { blocks: 10, finalized: false },
  arbitrum: { blocks: 40, finalized: false },
  bsc: { blocks: 15, finalized: true },
  avalanche: { blocks: 1, finalized: false },
  solana: { blocks: 1, finalized: false },
  ton: { blocks: 1, finalized: false },
  cardano: { blocks: 15, finalized: false },
  sui: { blocks: 1, finalized: false }
}

/** Blocks that stand in for finality where a node has no `finalized` mark. */
const finalDepth: Readonly<Record<Network, number>> = {
  ethereum: 64,
  base: 900,
  optimism: 900,
  arbitrum: 4800,
  bsc: 15,
  avalanche: 1,
  solana: 32,
  ton: 1,
  cardano: 2160,
  sui: 1
}

/**
 * Invoices (not payments) below this many usd_millis may be `fast` (modules/docs/reference/payments.md#confirmations):
 * $100.
 */
export const fastPolicyBelow = 100_000n

/**
 * The depth a payment of an invoice must reach. On devnet one block, whatever the policy.
 *
 * @example
 * requiredDepth("base", "mainnet", "standard", 50_000n) // => { blocks: 10, finalized: false }
 */
export const requiredDepth = (
  network: Network,
  environment: Environment,
  policy: ConfirmationPolicy,
  invoiceAmount: bigint
): RequiredDepth => {
  if (environment === "devnet") return { blocks: 1, finalized: false }
  if (policy === "fast" && invoiceAmount < fastPolicyBelow) return { blocks: 1, finalized: false }
  return policy === "final" ? { blocks: finalDepth[network], finalized: true } : standardDepth[network]
}
