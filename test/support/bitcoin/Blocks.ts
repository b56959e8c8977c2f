/** Blocks of Bitcoin as Esplora tells them (github.com/Blockstream/esplora, "API.md"), and the transfers in them. */
import { Effect, Schema } from "effect"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import {
  type BlockReading,
  type ChainPoint,
  DriverError,
  type ObservedTransfer,
  type WatchSet
} from "../../../runtime/Chains.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import { largeCall } from "../../../runtime/nodes/NodeHttp.ts"
import type { RestClient } from "../../../runtime/nodes/Rest.ts"

export type Esplora = RestClient

/** The first blocks of Bitcoin and of testnet4 (Bitcoin Core, `chainparams.cpp`). */
export const genesisHashes: Readonly<Record<Environment, string>> = {
  mainnet: "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
  devnet: "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043"
}

/** Transactions on a page of a block. */
const pageSize = 25

/** Pages that are read side by side. */
const pagesAtOnce = 4

/** Transactions of a block, at most: the smallest takes 60 of the 4 MB that a block may have (BIP-141). */
const maximumTransactions = 70_000

const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
const WholeNumber = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const Header = Schema.Struct({
  id: Hash,
  height: WholeNumber,
  timestamp: WholeNumber,
  tx_count: WholeNumber.check(Schema.isLessThanOrEqualTo(maximumTransactions)),
  /** The first block has none. */
  previousblockhash: Schema.NullishOr(Hash)
})
export type Header = typeof Header.Type

const Transaction = Schema.Struct({
  txid: Hash,
  vin: Schema.Array(Schema.Struct({ is_coinbase: Schema.Boolean })),
  vout: Schema.Array(Schema.Struct({
    /** Absent where an output is of no known form. */
    scriptpubkey_address: Schema.optionalKey(Schema.String),
    value: WholeNumber
  }))
})
type Transaction = typeof Transaction.Type

const contradiction = ({ name, network }: Esplora, reason: string) =>
  new DriverError({ network, reason: `${name}: ${reason}`, kind: "contradiction" })

/** A page of the chain: blocks from a height downwards. */
const Headers = Schema.Array(Header)

/** The hash at a height of the endpoint's branch; null: it has no block there, and answers with others or with none. */
export const hashAt = (endpoint: Esplora, height: bigint): Effect.Effect<string | null, DriverError> =>
  Effect.map(
    endpoint.find(`/blocks/${height}`, Headers),
    (headers) => headers?.find((header) => BigInt(header.height) === height)?.id ?? null
  )

const readHeader = Effect.fnUntraced(function*(endpoint: Esplora, hash: string) {
  const header = yield* endpoint.get(`/block/${hash}`, Header)
  return header.id === hash ? header : yield* contradiction(endpoint, "it has another block than the one asked for")
})

export const readHead = Effect.fnUntraced(function*(endpoint: Esplora): Effect.fn.Return<EndpointHead, DriverError> {
  const [newest] = yield* endpoint.get("/blocks", Headers)
  if (newest === undefined) return yield* contradiction(endpoint, "it has no blocks")
  const { height, id, timestamp } = newest
  return { height: BigInt(height), hash: id, time: timestamp }
})

/** A block with its transactions: all of them, or a failure. */
export interface Block {
  readonly header: Header
  readonly transactions: ReadonlyArray<Transaction>
}

export const readBlock = Effect.fnUntraced(function*(
  endpoint: Esplora,
  hash: string
): Effect.fn.Return<Block, DriverError> {
  const header = yield* readHeader(endpoint, hash)
  const starts = Array.from({ length: Math.ceil(header.tx_count / pageSize) }, (_, page) => page * pageSize)
  const pages = yield* Effect.forEach(
    starts,
    (start) => endpoint.get(`/block/${hash}/txs/${start}`, Schema.Array(Transaction), largeCall),
    { concurrency: pagesAtOnce }
  )
  const transactions = pages.flat()
  return new Set(transactions.map(({ txid }) => txid)).size === header.tx_count
    ? { header, transactions }
    : yield* contradiction(endpoint, "the pages of a block do not have its transactions")
})

/**
 * Outputs to watched addresses, each a transfer of its own. What miners earn is left out: it cannot be spent for 100
 * blocks.
 */
export const transfersOf = ({ transactions }: Block, has: WatchSet["has"]): ReadonlyArray<ObservedTransfer> =>
  transactions.filter(({ vin }) => !vin.some((input) => input.is_coinbase)).flatMap(({ txid, vout }) =>
    vout.flatMap(({ scriptpubkey_address: address, value }, index): ReadonlyArray<ObservedTransfer> =>
      address === undefined || value === 0 || !has(address) ? [] : [{
        txHash: txid,
        index,
        kind: "direct",
        matchKey: address,
        tokenAddress: null,
        amount: baseUnits(BigInt(value)),
        from: null
      }]
    )
  )

/** See `BlockHistory.readBlock`: before and after, the endpoint must be on the branch of `anchor`. */
export const readBlockBelow = Effect.fnUntraced(function*(
  endpoint: Esplora,
  height: bigint,
  anchor: ChainPoint,
  watch: WatchSet
): Effect.fn.Return<BlockReading, DriverError> {
  const checkBranch = Effect.flatMap(hashAt(endpoint, anchor.height), (found) =>
    found === anchor.hash
      ? Effect.void
      : Effect.fail(contradiction(endpoint, `block ${anchor.height} is not the one that was followed`)))
  yield* checkBranch
  const hash = yield* hashAt(endpoint, height)
  if (hash === null) return yield* contradiction(endpoint, `it has no block ${height}`)
  const block = yield* readBlock(endpoint, hash)
  yield* checkBranch
  yield* watch.refresh
  return { point: { height, hash }, time: block.header.timestamp, transfers: transfersOf(block, watch.has) }
})
