/** Networks by name, and how deep a payment must be before it counts. The facts of each are in `networks/`. */
import { Schema } from "effect"
import { descriptors, evmDescriptors } from "./networks/all.ts"
import type { Family } from "./networks/Family.ts"
import type {
  Environment,
  EvmNetworkDescriptor,
  NetworkDescriptor,
  RequiredDepth
} from "./networks/NetworkDescriptor.ts"

export { families, Family, familyFacts } from "./networks/Family.ts"
export { Environment, type RequiredDepth } from "./networks/NetworkDescriptor.ts"

type NamesOf<Descriptors extends ReadonlyArray<NetworkDescriptor>> = {
  readonly [Place in keyof Descriptors]: Descriptors[Place]["name"]
}

/** Their names, in the order of modules/docs/reference/networks.md#the-networks. */
export const networks = descriptors.map(({ name }) => name) as unknown as NamesOf<typeof descriptors>
export const Network = Schema.Literals(networks)
export type Network = typeof Network.Type

const byName = <Descriptor extends NetworkDescriptor>(list: ReadonlyArray<Descriptor>) =>
  Object.fromEntries(list.map((descriptor) => [descriptor.name, descriptor])) as Readonly<
    Record<Descriptor["name"], Descriptor>
  >

const descriptorsByName: Readonly<Record<Network, NetworkDescriptor<Network>>> = byName(descriptors)

/** What there is to know of a network: a look into a table, so that hot paths may ask. */
export const descriptorOf = (network: Network): NetworkDescriptor<Network> => descriptorsByName[network]

export const familyOf = (network: Network): Family => descriptorsByName[network].family

/** Names of the networks of the family `evm`, in the order of {@link evmDescriptors}. */
export type EvmNetwork = (typeof evmDescriptors)[number]["name"]
export const evmNetworks: ReadonlyArray<EvmNetwork> = evmDescriptors.map(({ name }) => name)

const evmDescriptorsByName: Readonly<Record<EvmNetwork, EvmNetworkDescriptor<EvmNetwork>>> = byName(evmDescriptors)

export const evmDescriptorOf = (network: EvmNetwork): EvmNetworkDescriptor<EvmNetwork> => evmDescriptorsByName[network]

/** EIP-155 chain ids by environment; a network of another family has none. */
export const evmChainIds: Readonly<Record<Environment, Readonly<Partial<Record<Network, number>>>>> = {
  mainnet: Object.fromEntries(evmDescriptors.map(({ chainIds, name }) => [name, chainIds.mainnet])),
  devnet: Object.fromEntries(evmDescriptors.map(({ chainIds, name }) => [name, chainIds.devnet]))
}

/**
 * `fast` trusts one block for small invoices, `standard` is the depth that each network has in `networks/`, `final`
 * waits for finality.
 */
export const ConfirmationPolicy = Schema.Literals(["fast", "standard", "final"])
export type ConfirmationPolicy = typeof ConfirmationPolicy.Type

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
  const { finalBlocks, standardDepth } = descriptorsByName[network]
  return policy === "final" ? { blocks: finalBlocks, finalized: true } : standardDepth
}
