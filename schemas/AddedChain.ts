/** A network as wallets of a browser are told of it. Pure. */
import { evmChainIds, evmDescriptorOf, evmNetworks, type Network } from "./Network.ts"
import type { Environment } from "./networks/Environment.ts"

/** A network as `wallet_addEthereumChain` takes it, beside its id (EIP-3085). */
export interface AddedChain {
  readonly chainName: string
  readonly rpcUrls: ReadonlyArray<string>
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number }
}

/** Null for a private network: nobody else can reach it. */
export const addedChainOf = (network: Network, environment: Environment, chainId: number): AddedChain | null => {
  const name = evmNetworks.find((each) => each === network)
  if (name === undefined || evmChainIds[environment][name] !== chainId) return null
  const { coin, label, publicRpcUrls } = evmDescriptorOf(name)
  return {
    chainName: environment === "devnet" ? coin.names.devnet.replace(/^.*\((.*)\)$/, "$1") : label,
    rpcUrls: publicRpcUrls[environment],
    nativeCurrency: { name: coin.symbol, symbol: coin.symbol, decimals: coin.decimals }
  }
}
