/**
 * The transfers of a block to watched addresses. A transaction that cannot be read never holds up the chain: the server
 * is asked for its own reading, and one that it cannot show either is logged and counted, because what nobody can read
 * cannot be credited.
 */
import { Effect, Metric } from "effect"
import type { DriverError, ObservedTransfer } from "../../../runtime/Chains.ts"
import { type Api, type BlockTransaction, type FullBlock, readOutputs, readSources } from "./Api.ts"
import { paysWatched, type TransactionOutputs, transfersOf } from "./Transactions.ts"

const unreadable = Metric.counter("chain_transactions_unreadable_total", {
  description: "Transactions of which neither the bytes nor the server's own reading could be read",
  incremental: true
})

/** How patient a reading is with a server that does not have what it showed a moment ago. */
export interface Patience {
  /** It has been looked for in vain for long: what is missing is given up now. */
  readonly isExhausted: boolean
}

/** Something that the server showed a moment ago and does not have now: the caller looks again. */
const missing = "missing"
type Missing = typeof missing

const giveUp = Effect.fnUntraced(function*(api: Api, { txHash }: BlockTransaction, block: FullBlock, reason: string) {
  yield* Metric.update(Metric.withAttributes(unreadable, { network: api.network }), 1)
  yield* Effect.logError(
    "a transaction cannot be read, so nothing that it pays is credited: look at it in an explorer, and report its hash "
      + "to the makers of this software",
    { network: api.network, height: block.height, txHash, reason }
  )
  return null
})

/** Its outputs, by its bytes or else by the server; null: nobody can read it. */
const outputsOf = (
  api: Api,
  block: FullBlock,
  transaction: BlockTransaction,
  { isExhausted }: Patience
): Effect.Effect<TransactionOutputs | Missing | null, DriverError> =>
  transaction.outputs !== null
    ? Effect.succeed(transaction.outputs)
    : readOutputs(api, transaction.txHash).pipe(
      Effect.flatMap((outputs): Effect.Effect<TransactionOutputs | Missing | null> =>
        outputs === null
          ? isExhausted
            ? giveUp(api, transaction, block, "the server does not have it")
            : Effect.succeed(missing)
          : Effect.succeed(outputs)
      ),
      Effect.catch((error) =>
        error.kind === "contradiction" ? giveUp(api, transaction, block, error.reason) : Effect.fail(error)
      )
    )

/** Where a payment came from: not known is no reason to leave it out. */
const sourcesOf = (
  api: Api,
  outputs: TransactionOutputs,
  { isExhausted }: Patience
): Effect.Effect<ReadonlyArray<string> | Missing, DriverError> =>
  readSources(api, outputs).pipe(
    Effect.map((sources) => sources ?? (isExhausted ? [] : missing)),
    Effect.catch((error) =>
      error.kind === "contradiction"
        ? Effect.as(Effect.logWarning("where a payment came from cannot be read", { reason: error.reason }), [])
        : Effect.fail(error)
    )
  )

/**
 * Null where the server does not have now what it showed a moment ago. Costs a call for each transaction that pays a
 * watched address, and two more for each that cannot be read.
 */
export const transfersOfBlock = Effect.fnUntraced(function*(
  api: Api,
  block: FullBlock,
  isWatched: (address: string) => boolean,
  patience: Patience
): Effect.fn.Return<ReadonlyArray<ObservedTransfer> | null, DriverError> {
  const transfers: Array<ObservedTransfer> = []
  for (const transaction of block.transactions) {
    const outputs = yield* outputsOf(api, block, transaction, patience)
    if (outputs === missing) return null
    if (outputs === null || !paysWatched(outputs, isWatched)) continue
    const sources = yield* sourcesOf(api, outputs, patience)
    if (sources === missing) return null
    transfers.push(...transfersOf(outputs, isWatched, sources))
  }
  return transfers
})
