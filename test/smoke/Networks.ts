/**
 * How each network is tried: the driver, its options for nodes of an operator's choice, and where a person without
 * nodes or coins begins. Public endpoints may refuse, lag or disappear: `--url` names another.
 */
import type { Environment, Network } from "../../schemas/Network.ts"
import type { WalletKind } from "../../schemas/Wallet.ts"

/** What a person may say about the nodes. */
export interface NodeChoice {
  readonly environment: Environment
  readonly urls: ReadonlyArray<string>
  /** Key of the provider; null: none. */
  readonly key: string | null
}

export interface SmokeNetwork {
  /** The driver, as a config names it. */
  readonly use: string
  readonly options: (choice: NodeChoice) => object
  /** A public node of the test network, and where it is named; null: none is known. */
  readonly testNode: { readonly url: string; readonly source: string } | null
  /** What the key is, where the public node needs one. */
  readonly keyHint: string | null
  /** Which wallet `--wallet` is where `--kind` does not say. */
  readonly walletKind: WalletKind
  /** Where play money comes from. */
  readonly faucet: string
}

/** The public nodes of EVM test networks are those that the chain list of viem (viem.sh) names. */
const evm = (network: Network, url: string | null, faucet: string): SmokeNetwork => ({
  use: "evm",
  options: ({ environment, urls }) => ({ network, environment, rpc: urls }),
  testNode: url === null ? null : { url, source: "viem.sh" },
  keyHint: null,
  walletKind: "xpub",
  faucet
})

const smokeNetworks: Readonly<Partial<Record<Network, SmokeNetwork>>> = {
  ethereum: evm(
    "ethereum",
    "https://11155111.rpc.thirdweb.com",
    "https://cloud.google.com/application/web3/faucet/ethereum/sepolia"
  ),
  base: evm("base", "https://sepolia.base.org", "https://docs.base.org (network faucets)"),
  optimism: evm("optimism", "https://sepolia.optimism.io", "https://console.optimism.io/faucet"),
  arbitrum: evm("arbitrum", "https://sepolia-rollup.arbitrum.io/rpc", "https://docs.arbitrum.io (faucets)"),
  avalanche: evm(
    "avalanche",
    "https://api.avax-test.network/ext/bc/C/rpc",
    "https://core.app/tools/testnet-faucet"
  ),
  bsc: evm(
    "bsc",
    "https://data-seed-prebsc-1-s1.bnbchain.org:8545",
    "https://www.bnbchain.org/en/testnet-faucet"
  ),
  solana: {
    use: "solana",
    options: ({ environment, urls }) => ({ environment, rpc: urls }),
    testNode: { url: "https://api.devnet.solana.com", source: "solana.com/docs/references/clusters" },
    keyHint: null,
    walletKind: "address",
    faucet: "https://faucet.solana.com"
  },
  ton: {
    use: "ton",
    options: ({ environment, key, urls }) => ({
      environment,
      api: urls.map((url) => ({ url, ...key === null ? {} : { apiKey: key } }))
    }),
    testNode: { url: "https://testnet.toncenter.com", source: "toncenter.com" },
    keyHint: null,
    walletKind: "address",
    faucet: "https://t.me/testgiver_ton_bot"
  },
  cardano: {
    use: "cardano",
    options: ({ environment, key, urls }) => ({
      environment,
      api: urls.map((url) => ({ url, ...key === null ? {} : { projectId: key } }))
    }),
    testNode: { url: "https://cardano-preprod.blockfrost.io/api/v0", source: "docs.blockfrost.io" },
    keyHint: "the id of a project for `preprod`, which blockfrost.io gives for nothing",
    walletKind: "xpub",
    faucet: "https://docs.cardano.org (testnet faucet, preprod)"
  },
  sui: {
    use: "sui",
    options: ({ environment, key, urls }) => ({
      environment,
      rpc: urls.map((url) => ({ url, ...key === null ? {} : { headers: { "x-api-key": key } } }))
    }),
    testNode: { url: "https://fullnode.testnet.sui.io:443", source: "docs.sui.io" },
    keyHint: null,
    walletKind: "pool",
    faucet: "https://faucet.sui.io (testnet)"
  }
}

/** A network that is not in the table is taken for one of the driver `evm`, whose nodes `--url` names. */
export const smokeNetworkOf = (network: Network): SmokeNetwork =>
  smokeNetworks[network] ?? evm(network, null, "a faucet of its test network")
