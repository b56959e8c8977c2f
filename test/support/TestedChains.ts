/** The rig of each family, by a name for people. */
import type { Effect, Scope } from "effect"
import type { TestedChain } from "../conformance/chains.ts"
import { anvilChain } from "./AnvilChain.ts"
import { cardanoChain } from "./cardano/TestedChain.ts"
import { solanaChain } from "./SolanaChain.ts"
import { tonChain } from "./ton/TestedChain.ts"
import { simulatedChain, triedNetworks } from "./SimulatedChain.ts"
import { suiChain } from "./SuiChain.ts"

export const testedChains: Readonly<Record<string, Effect.Effect<TestedChain, never, Scope.Scope>>> = {
  ...Object.fromEntries(triedNetworks.map((network) => [`simulated_${network}`, simulatedChain(network)])),
  evm: anvilChain,
  cardano: cardanoChain,
  solana: solanaChain,
  ton: tonChain("address"),
  ton_addresses: tonChain("pool"),
  sui: suiChain
}
