/** Networks by name, and how deep a payment must be before it counts. The facts of each are in `networks/`. */
import { Schema } from "effect"
import { descriptors, evmDescriptors } from "./networks/all.ts"
import type { Environment } from "./networks/Environment.ts"
import type { EvmNetworkDescriptor, NetworkDescriptor, RequiredDepth } from "./networks/NetworkDescriptor.ts"
import type { NetworkFamily } from "./networks/NetworkFamily.ts"

export { Environment } from "./networks/Environment.ts"
export type { RequiredDepth } from "./networks/NetworkDescriptor.ts"
export type { NetworkFamily } from "./networks/NetworkFamily.ts"

type NamesOf<Descriptors extends ReadonlyArray<NetworkDescriptor>> = {
  readonly [Place in keyof Descriptors]: Descriptors[Place]["name"]
}

/** Their names, in the order of modules/docs/reference/networks.md#the-networks. */
export const networks = descriptors.map(({ name }) => name) as unknown as NamesOf<typeof descriptors>
/** A network that this build knows. */
export const Network = Schema.Literals(networks)
export type Network = typeof Network.Type

/**
 * The families of the networks, in the order in which tables and documents name them: that in which payors meet them
 * (`paymentListRank`).
 */
export const networkFamilies = [
  ...new Set(descriptors.toSorted((a, b) => a.paymentListRank - b.paymentListRank).map(({ family }) => family))
]
const familyNames = networkFamilies.map(({ name }) => name)

/** Names of families: one receive target per invoice serves every network of a family. */
export const Family = Schema.Literals(familyNames)
export type Family = typeof Family.Type

/** Maps: hot paths ask by a name that varies, for which an object is slower. */
const descriptorsByName = new Map<Network, NetworkDescriptor<Network>>(
  descriptors.map((descriptor) => [descriptor.name, descriptor])
)
const familiesByName = new Map<Network, Family>(descriptors.map(({ family, name }) => [name, family.name]))

/** What there is to know of a network. Hot paths may ask: every network has one. */
export const descriptorOf = (network: Network): NetworkDescriptor<Network> => descriptorsByName.get(network)!

/** The family of a network. */
export const familyOf = (network: Network): Family => familiesByName.get(network)!

const familyRecords = new Map<Family, NetworkFamily>(networkFamilies.map((family) => [family.name, family]))

/** What all networks of a family have in common. */
export const familyRecord = (family: Family): NetworkFamily => familyRecords.get(family)!

/** Names of the networks of the family `evm`, in the order of {@link evmDescriptors}. */
export type EvmNetwork = (typeof evmDescriptors)[number]["name"]
export const evmNetworks: ReadonlyArray<EvmNetwork> = evmDescriptors.map(({ name }) => name)

const evmDescriptorsByName = new Map<EvmNetwork, EvmNetworkDescriptor<EvmNetwork>>(
  evmDescriptors.map((descriptor) => [descriptor.name, descriptor])
)

export const evmDescriptorOf = (network: EvmNetwork): EvmNetworkDescriptor<EvmNetwork> =>
  evmDescriptorsByName.get(network)!

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
  const { finalBlocks, standardDepth } = descriptorOf(network)
  return policy === "final" ? { blocks: finalBlocks, finalized: true } : standardDepth
}
