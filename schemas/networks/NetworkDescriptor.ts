/** What one network is: the facts from which every table by network is taken. A network's own are in its own file. */
import type { Environment } from "./Environment.ts"
import type { evmFamily } from "./families/evm.ts"
import type { NetworkFamily } from "./NetworkFamily.ts"

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

/** The coin that a network's fees are paid in. It is in the catalogue of tokens without a line in any list. */
export interface NativeCoin {
  readonly symbol: string
  /** Its name in the catalogue, where the play money of a test network says which one it is. */
  readonly names: Readonly<Record<Environment, string>>
  /** Decimal places of a whole coin. Source: the network's documentation. */
  readonly decimals: number
  /** What it is priced as: the asset id of price sources (CoinGecko's ids). Each source names it in its own table. */
  readonly asset: string
  /** Whether an address alone does not tell who is paid. */
  readonly requiresMemo: boolean
}

/**
 * What a transfer of the coin, and one of a token, takes: units of gas, whose price changes with every block, or base
 * units of the coin where that is the same for months. For payors to compare networks by; nothing is charged by it.
 */
export interface TransferFee {
  readonly unit: "gas" | "coin"
  readonly coin: bigint
  readonly token: bigint
}

/**
 * Gas of an EVM transfer: of the coin to an account (Ethereum Yellow Paper, appendix G), and an allowance for an ERC-20
 * token to an address that held none of it. What rollups take for the data they write to Ethereum is not in it.
 */
export const evmTransferFee: TransferFee = { unit: "gas", coin: 21_000n, token: 65_000n }

/** {@link EvmNetworkDescriptor.dataFeeOracle} of every rollup of the OP Stack. */
export const opStackDataFeeOracle = "0x420000000000000000000000000000000000000F"

export interface NetworkDescriptor<Name extends string = string, Family extends NetworkFamily = NetworkFamily> {
  /** What calls, events, the config and the database call it. Never changed once it is released. */
  readonly name: Name
  readonly family: Family
  /** What payors read: the name that its own people use. */
  readonly label: string
  /**
   * Its place in the payor's list of ways to pay, lowest first; no two are equal. Networks where a transfer usually
   * costs cents come first, Ethereum last: a judgement and no measurement.
   */
  readonly paymentListRank: number
  readonly coin: NativeCoin
  /** Policy `standard` on mainnet (modules/docs/reference/networks.md#the-networks). */
  readonly standardDepth: RequiredDepth
  /** Blocks that stand in for finality on mainnet where a node has no `finalized` mark. */
  readonly finalBlocks: number
  /**
   * Milliseconds between looks for something new where the driver's options do not say: a fraction of the time between
   * blocks where they are slow, and never so often that a provider minds.
   */
  readonly pollMillis: number
  /**
   * Seconds its head may stand still on mainnet before an endpoint counts as frozen: ten blocks, at least 30 s, and
   * 60 s where blocks come at no fixed pace.
   */
  readonly standstillSeconds: number
  /** Milliseconds from one block to the next, about: what payors are told to wait is counted in them. */
  readonly blockMillis: number
  /** About what a transfer takes of its payor (modules/docs/reference/payor-sessions.md#available-tokens). */
  readonly transferFee: TransferFee
  /** The page of a block explorer about a transaction; null: no public explorer is linked. */
  readonly transactionUrl: Readonly<Record<Environment, ((txHash: string) => string) | null>>
  /**
   * usd_millis kept of a refund for its payout where the operator sets nothing: about what a token transfer costs there
   * in a busy hour (modules/docs/reference/refunds.md#fees).
   */
  readonly refundFeeUsdMillis: number
  /**
   * Symbols of dollar stablecoins in the order in which a refund is paid out in them: the one first in which most
   * dollars are held there (modules/docs/reference/refunds.md#what-is-paid-out). Empty: there are none, and it is paid
   * out in the coin.
   */
  readonly payoutStablecoins: ReadonlyArray<string>
}

/** A network that the driver `evm` can follow, and `simulated` can play. */
export interface EvmNetworkDescriptor<Name extends string = string> extends NetworkDescriptor<Name, typeof evmFamily> {
  /**
   * Endpoints that the network's own people offer to everybody. Wallets of payors who do not know the network are given
   * them; the service itself asks none, and an operator's endpoints are told to nobody.
   */
  readonly publicRpcUrls: Readonly<Record<Environment, ReadonlyArray<string>>>
  /** EIP-155 chain ids. Source: the network's documentation. */
  readonly chainIds: Readonly<Record<Environment, number>>
  /**
   * The contract that says what a transaction's bytes cost beside its gas; absent: all that is taken is in the gas.
   * Source: the predeploys of the OP Stack's specification, GasPriceOracle.
   */
  readonly dataFeeOracle?: string
}
