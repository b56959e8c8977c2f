/** Searches every endpoint for the transactions that executed an exported part: `PayoutDriver.search`. */
import { Effect, Schema } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import { finalHeight } from "../../../runtime/chains/Confirmations.ts"
import type {
  CollectPart,
  PayoutExecution,
  PayoutPart,
  PayoutSearch,
  PayoutSearchRequest,
  PayoutTransfer
} from "../../../runtime/Payouts.ts"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import { type BaseUnits, baseUnits } from "../../../schemas/Money.ts"
import type { Environment, EvmNetwork } from "../../../schemas/Network.ts"
import { word } from "./AbiWords.ts"
import { type BlockHeader, hex, readHeader } from "./Blocks.ts"
import { collector, payer, selectors, topics } from "./Contracts.ts"
import { Data, type Endpoint, type JsonRpc, Quantity } from "./JsonRpc.ts"
import { locatedLog, type LogFilter, readLogs } from "./LogSearch.ts"
import { readPaidLines } from "./PayoutCalls.ts"
import { agreementOf, deniedPlaces, type EndpointView } from "./PayoutAgreement.ts"
import {
  directPaymentIndex,
  hasPaidLog,
  type LoggedTransfer,
  loggedTransfers,
  transfersBesidePayer,
  transfersOfChanged,
  transfersOfCollect,
  transfersOfList,
  transfersOfPaid,
  transferTopics
} from "./PayoutMatching.ts"

/** Stored with an export, so that a search finds its execution: the part's name in the Payer, and the hash it logs. */
export const PayoutTrace = Schema.Struct({
  ref: Schema.String,
  /** Null: the Payer does not pay this part. */
  contentHash: Schema.NullOr(Schema.String),
  chainId: Schema.Int,
  /** Of a list, what was on the chain before it was given out; absent: its `builtAt` is the newest block of then. */
  before: Schema.optionalKey(Schema.Struct({
    /** The newest block of then, a decimal. */
    newest: Schema.String,
    /** Transactions that had already moved such tokens, in blocks that could still change: they pay no line. */
    txHashes: Schema.Array(Schema.String)
  }))
})
export type PayoutTrace = typeof PayoutTrace.Type

export interface SearchContext {
  readonly network: EvmNetwork
  readonly environment: Environment
  readonly rpc: JsonRpc
  readonly chainId: number
  /** Whether to ask for the node's finality mark. */
  readonly finalizedTag: boolean
}

const Word = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{64}$/i))
const Address = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{40}$/i))
const FoundLog = Schema.Struct({ ...locatedLog, transactionHash: Word, blockHash: Word })
const ReceiptLog = Schema.Struct({ address: Address, topics: Schema.Array(Word), data: Data })
const Receipt = Schema.Struct({
  transactionIndex: Quantity,
  blockHash: Word,
  blockNumber: Quantity,
  status: Schema.optionalKey(Quantity),
  logs: Schema.Array(ReceiptLog),
  gasUsed: Quantity,
  effectiveGasPrice: Schema.optionalKey(Quantity),
  /** What a rollup of the OP Stack takes beside the gas, for its data on Ethereum. */
  l1Fee: Schema.optionalKey(Schema.NullOr(Quantity))
})
const Transaction = Schema.Struct({ from: Address, to: Schema.NullOr(Address), value: Quantity, input: Data })

/** Receipts read side by side. */
const receiptsAtOnce = 4

/** A part has 200 lines at most, so an endpoint that names more transactions than this is wrong or hostile. */
const maximumTransactions = 2_000

/** The newest block of an endpoint, and the height of its newest final one. */
interface EndpointHeights {
  readonly head: BlockHeader
  readonly final: bigint
}

const failure = ({ name, network }: Endpoint, reason: string) =>
  new DriverError({ network, reason: `${name} ${reason}`, kind: "contradiction" })

/** A node without a finality mark leaves the depth of the network to decide. */
const readFinalMark = (endpoint: Endpoint, { environment, finalizedTag }: SearchContext) =>
  environment === "devnet" || !finalizedTag ? Effect.succeed(null) : readHeader(endpoint, "finalized").pipe(
    Effect.catch((error) => Effect.as(Effect.logDebug("no finality mark", error.reason), null))
  )

const readHeights = Effect.fnUntraced(function*(
  context: SearchContext,
  endpoint: Endpoint
): Effect.fn.Return<EndpointHeights, DriverError> {
  const head = yield* readHeader(endpoint, "latest")
  if (head === null) return yield* failure(endpoint, "has no blocks")
  const mark = yield* readFinalMark(endpoint, context)
  const final = finalHeight(context.network, context.environment, {
    head: head.height,
    finalized: mark === null ? null : mark.height
  })
  return { head, final: final > head.height ? head.height : final }
})

const feeOf = ({ effectiveGasPrice, gasUsed, l1Fee }: typeof Receipt.Type): BaseUnits | null =>
  effectiveGasPrice === undefined ? null : baseUnits(BigInt(gasUsed) * BigInt(effectiveGasPrice) + BigInt(l1Fee ?? 0))

interface ReadExecution {
  readonly execution: PayoutExecution
  readonly position: bigint
}

/** A transaction to look into. */
interface NamedTransaction {
  readonly txHash: string
  /** Its block, where a log named it; null: somebody names it, and it may not be there. */
  readonly blockHash: string | null
}

/** A transaction with what it did for the part; null: nothing, or it failed, or is not in blocks `from` to the head. */
const readExecution = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  { final, head }: EndpointHeights,
  { blockHash, txHash }: NamedTransaction,
  from: bigint,
  transfersIn: (receipt: typeof Receipt.Type) => Effect.Effect<ReadonlyArray<PayoutTransfer> | null, DriverError>
): Effect.fn.Return<ReadExecution | null, DriverError> {
  const receipt = yield* endpoint.call("eth_getTransactionReceipt", [txHash], Schema.NullOr(Receipt))
  if (blockHash !== null && receipt?.blockHash.toLowerCase() !== blockHash) {
    return yield* failure(endpoint, `has a log of the payout ${txHash}, and not its receipt in the same block`)
  }
  if (receipt === null) return null
  const height = BigInt(receipt.blockNumber)
  if (height < from || height > head.height || BigInt(receipt.status ?? 0) !== 1n) return null
  const transfers = yield* transfersIn(receipt)
  if (transfers === null) return null
  const header = yield* readHeader(endpoint, height)
  if (header?.hash !== receipt.blockHash.toLowerCase()) {
    return yield* failure(endpoint, `has another block ${height} than the one with the payout ${txHash}`)
  }
  const { hash, time } = header
  return {
    position: BigInt(receipt.transactionIndex),
    execution: {
      txHash: txHash.toLowerCase(),
      block: { height, hash, time },
      isFinal: height <= final,
      transfers,
      fee: feeOf(receipt)
    }
  }
})

const inOrder = (found: ReadonlyArray<ReadExecution | null>): ReadonlyArray<PayoutExecution> =>
  found.filter((each) => each !== null)
    .toSorted((one, other) =>
      Number(one.execution.block.height - other.execution.block.height || one.position - other.position)
    ).map(({ execution }) => execution)

/** The transactions with such logs, oldest first. */
const findTransactions = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  filter: LogFilter,
  from: bigint,
  to: bigint
): Effect.fn.Return<ReadonlyArray<NamedTransaction>, DriverError> {
  const logs = yield* readLogs(endpoint, filter, FoundLog, from, to)
  const blocks = new Map(logs.map((log) => [log.transactionHash.toLowerCase(), log.blockHash.toLowerCase()]))
  return blocks.size > maximumTransactions
    ? yield* failure(
      endpoint,
      `names ${blocks.size} transactions for a payout, and it has ${maximumTransactions} at most`
    )
    : [...blocks].map(([txHash, blockHash]) => ({ txHash, blockHash }))
})

const readTransaction = (endpoint: Endpoint, txHash: string) =>
  endpoint.call("eth_getTransactionByHash", [txHash], Schema.NullOr(Transaction))

/** The coin that a transaction brought to its receiver. */
const paymentOf = (transaction: typeof Transaction.Type | null): ReadonlyArray<LoggedTransfer> =>
  transaction === null || transaction.to === null || BigInt(transaction.value) === 0n ? [] : [{
    index: directPaymentIndex,
    tokenAddress: null,
    from: toChecksumAddress(transaction.from),
    to: toChecksumAddress(transaction.to),
    amount: baseUnits(BigInt(transaction.value))
  }]

/** A transaction without a transfer for the part does not execute a list or a collect. */
const nullIfEmpty = (transfers: ReadonlyArray<PayoutTransfer>) => transfers.length === 0 ? null : transfers

/** What the Payer says of a part at a height: whether the wallet has paid it. */
const readIsPaid = Effect.fnUntraced(function*(endpoint: Endpoint, from: string, ref: string, height: bigint) {
  const answer = yield* endpoint.ethCall(payer.address, selectors.isPaid + word(from) + word(ref), hex(height))
  if (!/^0x[0-9a-f]{64}$/i.test(answer)) return yield* failure(endpoint, "does not have the contract Payer")
  return BigInt(answer) === 1n
})

/** What a transaction did that has the log `Paid` of a part. */
const readPaid = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  part: PayoutPart,
  { contentHash, ref }: PayoutTrace,
  txHash: string,
  { logs }: typeof Receipt.Type
) {
  const names = paidTopics(part, ref)
  const paidAt = logs.findIndex((log) =>
    toChecksumAddress(log.address) === payer.address &&
    log.topics.length === names.length && log.topics.every((topic, place) => topic.toLowerCase() === names[place])
  )
  if (paidAt === -1) {
    return yield* failure(endpoint, `has a log of the payout ${txHash} that its receipt does not have`)
  }
  const content = logs[paidAt]!.data.toLowerCase()
  if (content === contentHash) return transfersOfPaid(part, logs, paidAt)
  const transaction = yield* readTransaction(endpoint, txHash)
  const paidLines = transaction === null ? null : readPaidLines(transaction.input, content)
  return transfersOfChanged(part, logs, paidLines ?? [])
})

const paidTopics = ({ from }: PayoutPart, ref: string) => [topics.paid, `0x${word(from)}`, ref]

/**
 * A part that the Payer pays: its log names it, and the contract itself says whether it is paid. An endpoint that says
 * one thing by its logs and another by the contract is a failure. `isPaidBefore`: an earlier block executed it.
 */
const searchPayerPart = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  heights: EndpointHeights,
  part: PayoutPart,
  trace: PayoutTrace,
  request: PayoutSearchRequest
) {
  const { head } = heights
  const { ref } = trace
  const filter = { address: payer.address, topics: paidTopics(part, ref) }
  const named = yield* findTransactions(endpoint, filter, request.from, head.height)
  const found = yield* Effect.forEach(
    named,
    (each) =>
      readExecution(
        endpoint,
        heights,
        each,
        request.from,
        (receipt) => readPaid(endpoint, part, trace, each.txHash, receipt)
      )
  )
  const executions = inOrder(found)
  const isPaid = yield* readIsPaid(endpoint, part.from, ref, head.height)
  if (isPaid === executions.length > 0) return { executions, isPaidBefore: false }
  const isLater = request.from > request.export.builtAt
  if (isPaid && isLater && (yield* readIsPaid(endpoint, part.from, ref, request.from - 1n))) {
    return { executions, isPaidBefore: true }
  }
  return yield* failure(
    endpoint,
    isPaid
      ? `says that ${part.batchId}, part ${part.part}, is paid, and shows no log of it since block ${request.from}`
      : `shows a log that ${part.batchId}, part ${part.part}, is paid, and the contract says that it is not`
  )
})

/** Transactions in which the wallet sent tokens of a list to receivers of its, in the blocks `from` to `to`. */
const findListed = (endpoint: Endpoint, { from: wallet, lines }: PayoutPart, from: bigint, to: bigint) => {
  const address = [...new Set(lines.map(({ tokenAddress }) => tokenAddress))].filter((token) => token !== null)
  const destinations = [...new Set(lines.map(({ destination }) => destination))]
  const filter = { address, topics: transferTopics([wallet], destinations) }
  return address.length === 0 ? Effect.succeed([]) : findTransactions(endpoint, filter, from, to)
}

/**
 * What an endpoint has of such transfers before a list is given out: a reorganisation may put what pays the list into a
 * block below the newest one of now, so these are told from it by their hashes.
 */
export const findBefore = Effect.fnUntraced(function*(endpoint: Endpoint, part: PayoutPart, from: bigint) {
  const head = yield* readHeader(endpoint, "latest")
  if (head === null) return yield* failure(endpoint, "has no blocks")
  return (yield* findListed(endpoint, part, from, head.height)).map(({ txHash }) => txHash)
})

/** A part that was given out as a list: transfers of its tokens, and the one transaction that somebody has named. */
const searchList = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  heights: EndpointHeights,
  part: PayoutPart,
  { before }: PayoutTrace,
  request: PayoutSearchRequest
) {
  const { from } = request
  const paysCoin = part.lines.some(({ tokenAddress }) => tokenAddress === null)
  const hint = paysCoin && request.hint !== null ? request.hint.toLowerCase() : null
  const logged = yield* findListed(endpoint, part, from, heights.head.height)
  const isLogged = logged.some(({ txHash }) => txHash === hint)
  const named = hint === null || isLogged ? logged : [...logged, { txHash: hint, blockHash: null }]
  const earlier = new Set(before?.txHashes)
  // Payments of the coin leave no logs, so that none of those of before is known by its hash.
  const coinFrom = before === undefined ? request.export.builtAt : BigInt(before.newest)
  const found = yield* Effect.forEach(named.filter(({ txHash }) => !earlier.has(txHash)), (each) =>
    readExecution(
      endpoint,
      heights,
      each,
      each.txHash === hint && !isLogged ? coinFrom : from,
      Effect.fnUntraced(function*({ logs }) {
        const isAskedFor = each.txHash === hint || hasPaidLog(part.from, logs)
        const transaction = isAskedFor ? yield* readTransaction(endpoint, each.txHash) : null
        const ofCoin = each.txHash === hint ? paymentOf(transaction) : []
        const ofTokens = transfersBesidePayer(
          part.from,
          logs,
          (content) => transaction === null ? null : readPaidLines(transaction.input, content)
        )
        return nullIfEmpty(transfersOfList(part, [...ofCoin, ...ofTokens]))
      })
    ), { concurrency: receiptsAtOnce })
  return inOrder(found)
})

/** Transfers from the addresses to their payee. Whoever sent them counts, because anybody may collect. */
const searchCollect = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  heights: EndpointHeights,
  part: CollectPart,
  from: bigint
) {
  const tokens = new Set(part.lines.map(({ tokenAddress }) => tokenAddress ?? collector.address))
  const addresses = [...new Set(part.lines.map(({ address }) => address))]
  const [transfer, ...sides] = transferTopics(addresses, [part.payee])
  const filter = { address: [...tokens], topics: [[transfer as string, topics.nativeCollected], ...sides] }
  const named = yield* findTransactions(endpoint, filter, from, heights.head.height)
  const found = yield* Effect.forEach(
    named,
    (each) =>
      readExecution(
        endpoint,
        heights,
        each,
        from,
        ({ logs }) => Effect.succeed(nullIfEmpty(transfersOfCollect(part, loggedTransfers(logs))))
      ),
    { concurrency: receiptsAtOnce }
  )
  return inOrder(found)
})

/** Whether no block after the endpoint's final one can hold an execution. */
const isTimeOver = (endpoint: Endpoint, { final, head }: EndpointHeights, validUntil: number | null) => {
  if (validUntil === null || final < 0n) return Effect.succeed(false)
  const header = final === head.height ? Effect.succeed(head) : readHeader(endpoint, final)
  return Effect.map(header, (block) => block !== null && block.time > validUntil)
}

/**
 * An endpoint's address may lead to several nodes, and one that lags shows fewer logs. For a part that the Payer pays,
 * the contract says whether a log is missing. For lists and collects so many final blocks are searched again.
 */
const repeatedBlocks = 32n

const searchEndpoint = Effect.fnUntraced(function*(
  context: SearchContext,
  endpoint: Endpoint,
  trace: PayoutTrace,
  request: PayoutSearchRequest
): Effect.fn.Return<EndpointView, DriverError> {
  const { part } = request
  const heights = yield* readHeights(context, endpoint)
  const { final, head } = heights
  const searchedTo = trace.contentHash === null ? final - repeatedBlocks : final
  const view = { place: endpoint.place, head: head.height, final, searchedTo, isOver: false, isPaidBefore: false }
  if (part._tag === "Collect") {
    return { ...view, executions: yield* searchCollect(endpoint, heights, part, request.from) }
  }
  if (trace.contentHash === null) {
    return { ...view, executions: yield* searchList(endpoint, heights, part, trace, request) }
  }
  const { executions, isPaidBefore } = yield* searchPayerPart(endpoint, heights, part, trace, request)
  return { ...view, executions, isPaidBefore, isOver: yield* isTimeOver(endpoint, heights, request.export.validUntil) }
})

/** One endpoint's view, or why it has none. */
const viewOf = (context: SearchContext, endpoint: Endpoint, trace: PayoutTrace, request: PayoutSearchRequest) =>
  Effect.result(context.rpc.attempt(endpoint, (each) => searchEndpoint(context, each, trace, request)))

/** What the endpoints agree about. `isPaidBefore`: one of them says that an earlier block executed the part. */
const searchFrom = Effect.fnUntraced(function*(
  context: SearchContext,
  trace: PayoutTrace,
  request: PayoutSearchRequest
): Effect.fn.Return<{ readonly found: PayoutSearch; readonly isPaidBefore: boolean }, DriverError> {
  const { network, rpc } = context
  const { batchId, part } = request.part
  const results = yield* Effect.forEach(rpc.endpoints, (endpoint) => viewOf(context, endpoint, trace, request), {
    concurrency: "unbounded"
  })
  const views = results.flatMap((result) => result._tag === "Success" ? [result.success] : [])
  const found = agreementOf(views, rpc.endpoints.length, request.from)
  if (typeof found === "string") {
    const reasons = results.flatMap((result) => result._tag === "Failure" ? [result.failure.reason] : [])
    return yield* partFailure(context, request, [found, ...reasons].join("; "))
  }
  const denied = deniedPlaces(views, found)
  if (denied.length > 0) {
    yield* Effect.logWarning("an endpoint shows a payout that most do not have", {
      network,
      batch: batchId,
      part,
      rpc: denied.map((place) => place + 1)
    })
  }
  return { found, isPaidBefore: views.some((view) => view.isPaidBefore) }
})

const partFailure = (
  { network }: SearchContext,
  { part: { batchId, part } }: PayoutSearchRequest,
  reason: string
): DriverError => new DriverError({ network, reason: `${batchId}, part ${part}: ${reason}` })

/**
 * See `PayoutDriver.search`. Where a part is over and an earlier block than those of the request executed it, that
 * execution is answered again: a caller that missed it must not believe that the part was never executed.
 */
export const searchPayout = (context: SearchContext) =>
  Effect.fnUntraced(function*(request: PayoutSearchRequest): Effect.fn.Return<PayoutSearch, DriverError> {
    const { chainId, network } = context
    const trace = yield* Effect.mapError(
      Schema.decodeUnknownEffect(PayoutTrace)(request.export.trace),
      () => partFailure(context, request, "its trace cannot be read")
    )
    if (trace.chainId !== chainId) {
      const reason = `it was exported for chain ${trace.chainId}, and ${network} is chain ${chainId} here`
      return yield* partFailure(context, request, reason)
    }
    const { found, isPaidBefore } = yield* searchFrom(context, trace, request)
    if (!found.isOver || !isPaidBefore) return found
    return (yield* searchFrom(context, trace, { ...request, from: request.export.builtAt })).found
  })
