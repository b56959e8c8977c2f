/** Every network there is. A new one is a file beside this one and a line in the list below. */
import { arbitrum } from "./arbitrum.ts"
import { avalanche } from "./avalanche.ts"
import { base } from "./base.ts"
import { bsc } from "./bsc.ts"
import { cardano } from "./cardano.ts"
import { ethereum } from "./ethereum.ts"
import type { evmFamily } from "./families/evm.ts"
import type { EvmNetworkDescriptor, NetworkDescriptor } from "./NetworkDescriptor.ts"
import { optimism } from "./optimism.ts"
import { solana } from "./solana.ts"
import { sui } from "./sui.ts"
import { ton } from "./ton.ts"

/** In the order of modules/docs/reference/networks.md#the-networks, which is that of the API. A new one is last. */
export const descriptors = [
  ethereum,
  base,
  solana,
  avalanche,
  ton,
  bsc,
  arbitrum,
  optimism,
  cardano,
  sui
] as const satisfies ReadonlyArray<NetworkDescriptor>

type Descriptor = (typeof descriptors)[number]
type EvmDescriptor = Extract<Descriptor, { readonly family: typeof evmFamily }>

/**
 * The networks of the family `evm`, in the order in which the config schema names them: Ethereum, its rollups, and then
 * the others.
 */
export const evmDescriptors: ReadonlyArray<EvmDescriptor & EvmNetworkDescriptor> = [
  ...new Set<EvmDescriptor>([
    ethereum,
    base,
    optimism,
    arbitrum,
    ...descriptors.filter((descriptor): descriptor is EvmDescriptor => descriptor.family.name === "evm")
  ])
]
