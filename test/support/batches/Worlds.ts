/** Worlds for histories of batches: a chain, and the service before it. */
import { Effect, type Scope } from "effect"
import { HDKey } from "@scure/bip32"
import { chaosDeployment } from "../chaos/Run.ts"
import type { MoneyDeployment } from "../money/Shop.ts"
import { projectId } from "../cardano/Blockfrost.ts"
import { type CardanoPayingChain, cardanoPayingChain } from "./CardanoChain.ts"
import { type EvmPayingChain, evmPayingChain } from "./EvmChain.ts"
import { type BatchDeployment, type InstanceStart, startInstances } from "./Instances.ts"
import type { PayingChain } from "./PayingChain.ts"
import { type SolanaPayingChain, solanaPayingChain } from "./SolanaChain.ts"
import { type SuiPayingChain, suiPayingChain } from "./SuiChain.ts"
import { type TonPayingChain, tonPayingChain } from "./TonChain.ts"

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

type ChaosConfig = ReturnType<typeof chaosDeployment>["config"]

/** A wallet that signs in opens a merchant. */
const withSignup = ({ modules }: ChaosConfig) =>
  modules.map((module) => module.use === "identity" ? { use: "identity", options: { signup: "open" } } : module)

/** Mainnet's rules, as config and environment of one process. */
const evmDeployment = (database: string, { urls }: EvmPayingChain, program: string | undefined): InstanceStart => {
  const [first, second, third] = urls as readonly [string, string, string]
  const { config, environment } = chaosDeployment(database, { rpc: [first, second], xpub, pollMillis })
  const [{ options, use }] = config.chains as [typeof config.chains[number]]
  return {
    config: {
      ...config,
      chains: [{ use, options: { ...options, rpc: [...options.rpc, "${env:BASE_RPC_3}"] } }],
      modules: withSignup(config)
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

const solanaDeployment = (
  database: string,
  { receiver, urls }: SolanaPayingChain,
  program: string | undefined
): InstanceStart => {
  const [first, second, third] = urls as readonly [string, string, string]
  const { config, environment } = chaosDeployment(database, { rpc: [first, second], xpub, pollMillis })
  const [{ use }] = config.prices as [typeof config.prices[number]]
  return {
    config: {
      ...config,
      chains: [{
        use: "solana",
        options: {
          environment: "mainnet",
          rpc: ["${env:SOLANA_RPC_1}", "${env:SOLANA_RPC_2}", "${env:SOLANA_RPC_3}"],
          address: receiver,
          pollMillis
        }
      }],
      prices: [{ use, options: { prices: { "usd-coin": "1", solana: "200" } } }],
      modules: withSignup(config)
    },
    environment: { ...environment, SOLANA_RPC_1: first, SOLANA_RPC_2: second, SOLANA_RPC_3: third },
    ...(program === undefined ? {} : { program })
  }
}

/** So many processes before nodes of Solana; `program`: as in {@link Start}. */
export const solanaWorld: typeof evmWorld = ({ query, url }, instances, program) =>
  Effect.gen(function*() {
    const chain = yield* solanaPayingChain
    return { chain, deployment: yield* startInstances(instances, solanaDeployment(url, chain, program), query) }
  })

const suiDeployment = (
  database: string,
  { pool, urls }: SuiPayingChain,
  program: string | undefined
): InstanceStart => {
  const [first, second, third] = urls as readonly [string, string, string]
  const { config, environment } = chaosDeployment(database, { rpc: [first, second], xpub, pollMillis })
  const [{ use }] = config.prices as [typeof config.prices[number]]
  return {
    config: {
      ...config,
      chains: [{
        use: "sui",
        options: {
          environment: "mainnet",
          rpc: [1, 2, 3].map((place) => ({ url: `\${env:SUI_RPC_${place}}` })),
          wallet: { kind: "pool", value: "${env:SUI_POOL}" },
          startIndex: 0,
          pollMillis
        }
      }],
      prices: [{ use, options: { prices: { "usd-coin": "1", sui: "4" } } }],
      modules: withSignup(config)
    },
    environment: { ...environment, SUI_RPC_1: first, SUI_RPC_2: second, SUI_RPC_3: third, SUI_POOL: pool.join(" ") },
    ...(program === undefined ? {} : { program })
  }
}

/** So many processes before nodes of Sui; `program`: as in {@link Start}. */
export const suiWorld: typeof evmWorld = ({ query, url }, instances, program) =>
  Effect.gen(function*() {
    const chain = yield* suiPayingChain
    return { chain, deployment: yield* startInstances(instances, suiDeployment(url, chain, program), query) }
  })

const cardanoDeployment = (
  database: string,
  { urls, xpub: account }: CardanoPayingChain,
  program: string | undefined
): InstanceStart => {
  const [first, second] = urls as readonly [string, string, string]
  const { config, environment } = chaosDeployment(database, { rpc: [first, second], xpub, pollMillis })
  return {
    config: {
      ...config,
      environments: ["devnet"],
      chains: [{
        use: "cardano",
        options: {
          environment: "devnet",
          api: urls.map((url) => ({ url, projectId })),
          xpub: account,
          pollMillis,
          blocksPerSecond: 1_000
        }
      }],
      prices: [{ use: "fixed", options: { prices: { cardano: "1" } } }],
      modules: withSignup(config)
    },
    environment,
    ...(program === undefined ? {} : { program })
  }
}

/** So many processes before servers of Cardano; `program`: as in {@link Start}. */
export const cardanoWorld: typeof evmWorld = ({ query, url }, instances, program) =>
  Effect.gen(function*() {
    const chain = yield* cardanoPayingChain
    return { chain, deployment: yield* startInstances(instances, cardanoDeployment(url, chain, program), query) }
  })

const tonDeployment = (
  database: string,
  { receiver, urls }: TonPayingChain,
  program: string | undefined
): InstanceStart => {
  const [first, second, third] = urls as readonly [string, string, string]
  const { config, environment } = chaosDeployment(database, { rpc: [first, second], xpub, pollMillis })
  const [{ use }] = config.prices as [typeof config.prices[number]]
  return {
    config: {
      ...config,
      chains: [{
        use: "ton",
        options: {
          environment: "mainnet",
          api: [1, 2, 3].map((place) => ({ url: `\${env:TON_API_${place}}` })),
          wallet: { kind: "address", value: "${env:TON_WALLET}" },
          pollMillis
        }
      }],
      prices: [{ use, options: { prices: { tether: "1", "the-open-network": "3" } } }],
      modules: withSignup(config)
    },
    environment: { ...environment, TON_API_1: first, TON_API_2: second, TON_API_3: third, TON_WALLET: receiver },
    ...(program === undefined ? {} : { program })
  }
}

/** So many processes before endpoints of TON; `program`: as in {@link Start}. */
export const tonWorld: typeof evmWorld = ({ query, url }, instances, program) =>
  Effect.gen(function*() {
    const chain = yield* tonPayingChain
    return { chain, deployment: yield* startInstances(instances, tonDeployment(url, chain, program), query) }
  })
