/** On which network a wallet of a browser signs in. Pure. */
import { evmChainIds, evmNetworks, type Network } from "../../../schemas/Network.ts"
import type { Environment } from "../../../schemas/networks/Environment.ts"

/**
 * The network of the chain that a wallet is on, as it names it. A key signs alike on all of them; an account that is a
 * contract is asked on its own chain. A chain that nobody knows counts as the first network.
 */
export const networkOfChain = (chain: string, environments: ReadonlyArray<Environment>): Network => {
  const chainId = /^(?:0x[0-9a-f]{1,12}|\d{1,15})$/i.test(chain) ? Number(chain) : 0
  return evmNetworks.find((network) => environments.some((each) => evmChainIds[each][network] === chainId))
    ?? evmNetworks[0]!
}
