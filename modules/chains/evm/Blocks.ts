/** One EVM block: what is asked of a node, whether the answers belong together, and the transfers in it. */
import { Effect, Schema, SchemaTransformation } from "effect"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { type ChainPoint, DriverError, type FoundTransfer, type ObservedTransfer } from "../../../runtime/Chains.ts"
import type { Network } from "../../../schemas/Network.ts"
import { hashedFields, isProvenHeader } from "./HeaderHash.ts"
import { type Endpoint, Quantity } from "./JsonRpc.ts"
import { isLogMissing } from "./LogsBloom.ts"

/** keccak256("Transfer(address,address,uint256)"). */
export const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

const Hex = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]*$/i))
/** What is compared and stored has one spelling: a node may write its digits in upper case. */
const Hash = Hex.pipe(Schema.decode(SchemaTransformation.toLowerCase()))
const headerFields = { number: Quantity, hash: Hash, parentHash: Hash, timestamp: Quantity }
const Header = Schema.Struct(headerFields)
const Transaction = Schema.Struct({ hash: Hash, from: Hex, to: Schema.NullOr(Hex), value: Quantity })
const Block = Schema.Struct({
  ...headerFields,
  logsBloom: Schema.optionalKey(Hex),
  transactions: Schema.Array(Transaction)
})
/** As {@link Block}, with all that its hash may be of: fields that nobody reads may have any form. */
const HashedBlock = Schema.Struct({
  ...Object.fromEntries(hashedFields.map((name) => [name, Schema.optionalKey(Schema.Unknown)])),
  ...Block.fields
})
/** Of whole bytes, because they are hashed. */
const Address = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{40}$/i))
const Topic = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{64}$/i)).pipe(
  Schema.decode(SchemaTransformation.toLowerCase())
)
const Log = Schema.Struct({ address: Address, topics: Schema.Array(Topic), data: Hex, logIndex: Quantity })
const Receipt = Schema.Struct({
  transactionHash: Hash,
  transactionIndex: Quantity,
  blockHash: Hash,
  status: Schema.optionalKey(Quantity),
  logs: Schema.Array(Log)
})
const FoundLog = Schema.Struct({
  address: Hex,
  topics: Schema.Array(Hash),
  data: Hex,
  blockNumber: Quantity,
  blockHash: Hash,
  transactionHash: Hash
})

export interface BlockHeader extends ChainPoint {
  readonly parentHash: string
  /** Epoch seconds. */
  readonly time: number
}

export interface FullBlock extends BlockHeader {
  readonly transactions: ReadonlyArray<typeof Transaction.Type>
  readonly receipts: ReadonlyArray<typeof Receipt.Type>
  /** What the block's header says of its logs; null where the node does not tell. */
  readonly logsBloom: string | null
  /** Whether the header hashes to the block's hash: true proves it, false proves nothing. */
  readonly isProven: () => boolean
}

const headerOf = (raw: typeof Header.Type): BlockHeader => ({
  height: BigInt(raw.number),
  hash: raw.hash,
  parentHash: raw.parentHash,
  time: Number(raw.timestamp)
})

export const hex = (height: bigint): string => `0x${height.toString(16)}`

/** The header at a height or tag; null where the node has none. */
export const readHeader = (endpoint: Endpoint, at: bigint | "latest" | "finalized") =>
  Effect.map(
    endpoint.call("eth_getBlockByNumber", [typeof at === "bigint" ? hex(at) : at, false], Schema.NullOr(Header)),
    (raw) => raw === null ? null : headerOf(raw)
  )

/** Receipts read side by side where all of a block's at once are too large. */
const singleReceipts = 8

/** Every receipt of a block by itself: slower, and none of them can be larger than what one transaction may hold. */
const readReceiptsSingly = Effect.fnUntraced(function*(endpoint: Endpoint, height: bigint) {
  const block = yield* endpoint.call("eth_getBlockByNumber", [hex(height), true], Schema.NullOr(Block))
  if (block === null) return null
  const receipts = yield* Effect.forEach(
    block.transactions,
    ({ hash }) => endpoint.call("eth_getTransactionReceipt", [hash], Schema.NullOr(Receipt)),
    { concurrency: singleReceipts }
  )
  return receipts.includes(null) ? null : receipts as ReadonlyArray<typeof Receipt.Type>
})

/**
 * A block with its receipts, or null when the node does not have both, or not of the same block: a reorg between the
 * two calls. The caller looks again. Fails when the answers are of one block and contradict themselves: also where
 * logs are missing that the header names.
 */
export const readBlock = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  height: bigint
): Effect.fn.Return<FullBlock | null, DriverError> {
  const [block, receipts] = yield* Effect.all([
    endpoint.call("eth_getBlockByNumber", [hex(height), true], Schema.NullOr(HashedBlock)),
    endpoint.call("eth_getBlockReceipts", [hex(height)], Schema.NullOr(Schema.Array(Receipt))).pipe(
      Effect.catch((error) => error.kind === "too_large" ? readReceiptsSingly(endpoint, height) : Effect.fail(error))
    )
  ], { concurrency: 2 })
  if (block === null || receipts === null || !receipts.every(({ blockHash }) => blockHash === block.hash)) return null
  const { logsBloom = null, transactions } = block
  const contradiction = contradictionOf(transactions.map(({ hash }) => hash), receipts) ??
    (isLogMissing(logsBloom, receipts) ? "logs that its header names are missing (logsBloom)" : null)
  if (contradiction !== null) {
    return yield* new DriverError({
      network: endpoint.network,
      reason: `rpc ${endpoint.place + 1} contradicts itself in block ${height}: ${contradiction}`,
      kind: "contradiction"
    })
  }
  return { ...headerOf(block), transactions, receipts, logsBloom, isProven: () => isProvenHeader(block) }
})

/**
 * The whole block at a height that the endpoint has below `anchor`. Fails where it has another block, or none, in the
 * place of `anchor`: what it says of older blocks is then not about the branch that is followed. An endpoint that has
 * `anchor` is not behind, so a block that it does not have below is one that it does not have any more (`pruned`).
 */
export const readBlockBelow = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  network: Network,
  height: bigint,
  anchor: ChainPoint
): Effect.fn.Return<FullBlock, DriverError> {
  const block = yield* readBlock(endpoint, height).pipe(
    Effect.catch((error) => error.kind === "pruned" ? Effect.succeed(null) : Effect.fail(error))
  )
  const above = block !== null && anchor.height === height ? block : yield* readHeader(endpoint, anchor.height)
  if (above?.hash !== anchor.hash) {
    return yield* new DriverError({ network, reason: `block ${anchor.height} is not the one that was followed` })
  }
  if (block !== null) return block
  return yield* new DriverError({
    network,
    reason: `rpc ${endpoint.place + 1} has block ${anchor.height}, and block ${height} cannot be read whole`,
    kind: "pruned"
  })
})

/**
 * What is wrong with the receipts of a block, else null: there is one for each transaction, in order, and their logs
 * are numbered through the block from 0, so that one that was left out or doubled shows.
 */
export const contradictionOf = (
  transactions: ReadonlyArray<string>,
  receipts: ReadonlyArray<{
    readonly transactionHash: string
    readonly transactionIndex: string
    readonly logs: ReadonlyArray<{ readonly logIndex: string }>
  }>
): string | null => {
  if (receipts.length !== transactions.length) {
    return `${receipts.length} receipts of ${transactions.length} transactions`
  }
  let logs = 0n
  for (const [place, receipt] of receipts.entries()) {
    if (receipt.transactionHash !== transactions[place] || BigInt(receipt.transactionIndex) !== BigInt(place)) {
      return `receipt ${place} is not of transaction ${place}`
    }
    for (const { logIndex } of receipt.logs) {
      if (BigInt(logIndex) !== logs) return `log ${logs} has the number ${BigInt(logIndex)}`
      logs += 1n
    }
  }
  return null
}

/**
 * Token transfers to watched addresses in a range of blocks, by the node's index of logs. Null where the node does not
 * have the last block of the range, or another one than `hash` (null: any) in its place: it is asked first, because
 * nodes answer a search of blocks that they do not have yet as if those were empty.
 */
export const findTransfers = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  from: bigint,
  to: bigint,
  hash: string | null,
  isWatched: (matchKey: string) => boolean
): Effect.fn.Return<ReadonlyArray<FoundTransfer> | null, DriverError> {
  const last = yield* readHeader(endpoint, to)
  if (last === null || (hash !== null && last.hash !== hash)) return null
  const logs = yield* endpoint.call(
    "eth_getLogs",
    [{ fromBlock: hex(from), toBlock: hex(to), topics: [transferTopic] }],
    Schema.Array(FoundLog)
  )
  return logs.flatMap((log) => {
    const transfer = tokenTransfer(log, isWatched)
    const height = BigInt(log.blockNumber)
    return transfer === undefined || height < from || height > to ? [] : [{
      point: { height, hash: log.blockHash },
      txHash: log.transactionHash,
      matchKey: transfer.matchKey,
      tokenAddress: transfer.tokenAddress,
      amount: transfer.amount
    }]
  })
})

/**
 * The transfers of a block to watched addresses. Failed transactions move nothing. Every token is reported under its
 * own contract's address: which ones count is not decided here. Zero amounts are dropped (address poisoning), and what
 * an address sends to itself: it has no more than before.
 *
 * `index`: 0 for the native coin, 1 + position of the log inside its own receipt for tokens; neither changes when the
 * transaction is included in another block with the same outcome.
 */
export const transfersOf = (block: FullBlock, isWatched: (matchKey: string) => boolean): Array<ObservedTransfer> => {
  const found: Array<ObservedTransfer> = []
  for (const [place, receipt] of block.receipts.entries()) {
    if (receipt.status === undefined || BigInt(receipt.status) !== 1n) continue
    const transaction = block.transactions[place]!
    const to = transaction.to?.toLowerCase()
    const value = BigInt(transaction.value)
    if (to !== undefined && value > 0n && isWatched(to) && transaction.from.toLowerCase() !== to) {
      found.push({
        txHash: receipt.transactionHash,
        index: 0,
        kind: "direct",
        matchKey: to,
        tokenAddress: null,
        amount: baseUnits(value),
        from: toChecksumAddress(transaction.from)
      })
    }
    for (const [position, log] of receipt.logs.entries()) {
      const transfer = tokenTransfer(log, isWatched)
      if (transfer !== undefined) found.push({ ...transfer, txHash: receipt.transactionHash, index: position + 1 })
    }
  }
  return found
}

/** An ERC-20 `Transfer`: three topics (an NFT's has four) and one word of data. */
const tokenTransfer = (
  log: Pick<typeof Log.Type, "address" | "data" | "topics">,
  isWatched: (matchKey: string) => boolean
) => {
  const { address, data, topics } = log
  if (topics.length !== 3 || topics[0] !== transferTopic || data.length !== 66) return undefined
  const matchKey = `0x${topics[2]!.slice(26).toLowerCase()}`
  if (!isWatched(matchKey) || topics[1] === topics[2]) return undefined
  const amount = BigInt(data)
  if (amount === 0n) return undefined
  return {
    kind: "direct" as const,
    matchKey,
    tokenAddress: toChecksumAddress(address),
    amount: baseUnits(amount),
    from: toChecksumAddress(`0x${topics[1]!.slice(26)}`)
  }
}
