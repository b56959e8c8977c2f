/** Worlds for histories of batches: a chain, and the service before it. */
import { Effect, type Scope } from "effect"
import { HDKey } from "@scure/bip32"
import { chaosDeployment } from "../chaos/Run.ts"
import type { MoneyDeployment } from "../money/Shop.ts"
import { type EvmPayingChain, evmPayingChain } from "./EvmChain.ts"
import { type BatchDeployment, type InstanceStart, startInstances } from "./Instances.ts"
import type { PayingChain } from "./PayingChain.ts"

export interface BatchWorld {
  readonly deployment: BatchDeployment
  readonly chain: PayingChain
}

/** Where its processes keep what they know. */
export interface WorldDatabase {
  readonly url: string
  readonly query: MoneyDeployment["query"]
}

/** Milliseconds between looks for a new block. */
const pollMillis = 300

/** The wallet of the deployment, to which invoices are paid. */
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(0x5d)).derive("m/44'/60'/0'").publicExtendedKey

/** Mainnet's rules, as config and environment of one process; a wallet that signs in opens a merchant. */
const evmDeployment = (database: string, { urls }: EvmPayingChain, program: string | undefined): InstanceStart => {
  const [first, second, third] = urls as readonly [string, string, string]
  const { config, environment } = chaosDeployment(database, { rpc: [first, second], xpub, pollMillis })
  const [{ options, use }] = config.chains as [typeof config.chains[number]]
  return {
    config: {
      ...config,
      chains: [{ use, options: { ...options, rpc: [...options.rpc, "${env:BASE_RPC_3}"] } }],
      modules: config.modules.map((module) =>
        module.use === "identity" ? { use: "identity", options: { signup: "open" } } : module
      )
    },
    environment: { ...environment, BASE_RPC_3: third },
    ...(program === undefined ? {} : { program })
  }
}

/** So many processes before an EVM node; `program`: as in {@link Start}. */
export const evmWorld = (
  { query, url }: WorldDatabase,
  instances: number,
  program?: string
): Effect.Effect<BatchWorld, never, Scope.Scope> =>
  Effect.gen(function*() {
    const chain = yield* evmPayingChain
    return { chain, deployment: yield* startInstances(instances, evmDeployment(url, chain, program), query) }
  })
