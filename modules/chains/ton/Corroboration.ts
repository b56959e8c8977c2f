/** Reading transactions again from endpoints that they were not read from, before their transfers are confirmed. */
import { Effect } from "effect"
import type { ChainDriver, ChainPoint, DriverError, LocatedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import {
  type Answer,
  askAgain,
  attemptAnswer,
  type Readers,
  type ShownTransfers,
  toCorroboration
} from "../../../runtime/nodes/Corroboration.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { findReceiver, type Reader } from "./Reader.ts"
import { readByHashes, readMasterchain, type Toncenter } from "./Toncenter.ts"
import { type Transaction, transferOf } from "./Transactions.ts"

/**
 * Blocks of the masterchain after which an endpoint that does not show a transaction says that it is not there: a
 * minute and more, in which any of them shows what is final.
 */
export const maximumIndexLagBlocks = 200n

/** The transfers of transactions, as the endpoint shows them that they were read from. */
export const transfersOf = Effect.fnUntraced(function*(
  reader: Reader,
  client: Toncenter,
  transactions: ReadonlyArray<Transaction>,
  watch: WatchSet
): Effect.fn.Return<ReadonlyArray<LocatedTransfer>, DriverError> {
  const found: Array<LocatedTransfer> = []
  for (const transaction of transactions) {
    const receiver = yield* findReceiver(reader, client, transaction.account, watch)
    const transfer = receiver === null ? null : transferOf(transaction, receiver, watch, reader.environment)
    if (transfer !== null) found.push(transfer)
  }
  return found
})

/** Transactions that should lie in a block. */
interface TransactionsInBlock {
  readonly point: ChainPoint
  readonly watch: WatchSet
  readonly txHashes: ReadonlyArray<string>
}

const readAgain = Effect.fnUntraced(function*(
  reader: Reader,
  client: Toncenter,
  { point, txHashes, watch }: TransactionsInBlock
): Effect.fn.Return<Answer<ShownTransfers>, DriverError> {
  const transactions = yield* readByHashes(client, txHashes)
  if (transactions.some(({ block, height }) => block !== point.hash || height !== point.height)) {
    return { _tag: "Other" }
  }
  if (transactions.length < new Set(txHashes).size) {
    const { last } = yield* readMasterchain(client)
    return { _tag: last.height >= point.height + maximumIndexLagBlocks ? "Other" : "Nothing" }
  }
  const transfers = yield* transfersOf(reader, client, transactions, watch)
  return { _tag: "Whole", reading: { time: transactions[0]?.time ?? 0, transfers } }
})

/** See `ChainDriver.corroborate`. `readers`: by the shard's block. */
export const makeCorroborate = (
  reader: Reader,
  endpoints: Endpoints<Toncenter>,
  readers: Readers<string>
): NonNullable<ChainDriver["corroborate"]> =>
  Effect.fnUntraced(function*(point, watch, isThorough, txHashes) {
    yield* watch.refresh
    const ask = (client: Toncenter) =>
      attemptAnswer(endpoints, client, (each) => readAgain(reader, each, { point, watch, txHashes }))
    return toCorroboration(yield* askAgain(endpoints, readers.placeOf(point.hash), isThorough, ask))
  })
