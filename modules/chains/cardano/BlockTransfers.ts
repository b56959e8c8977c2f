/**
 * The transfers of a block to watched addresses. A transaction that cannot be read never holds up the chain: the server
 * is asked for its own reading, and one that it cannot show either is logged and counted, because what nobody can read
 * cannot be credited.
 */
import { Effect } from "effect"
import type { DriverError, ObservedTransfer } from "../../../runtime/Chains.ts"
import { findAtAny } from "../../../runtime/nodes/Absence.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { countUnreadable } from "../../../runtime/nodes/UnreadableTransactions.ts"
import { type Api, type BlockTransaction, type FullBlock, readOutputs, readSources } from "./Api.ts"
import { paysWatched, type TransactionOutputs, transfersOf } from "./Transactions.ts"

/** Addresses that payments came from, by the hash of the transaction. */
export type PaymentSources = Map<string, ReadonlyArray<string>>

/** Payments whose sources are remembered until their block is read whole: more than a block of 90 KB holds. */
const rememberedSources = 1_000

/** How a reading goes on where a server does not answer, or does not have what it showed a moment ago. */
export interface RetryState {
  /** It has been looked for in vain for long: what is missing is given up now. */
  readonly isExhausted: boolean
  /** What readings before this one found, so that a block whose reading broke off is not begun anew. */
  readonly sources: PaymentSources
  /** Asks every server for the addresses that a transaction spends from; null: none of them tells. */
  readonly findSources: (outputs: TransactionOutputs) => Effect.Effect<ReadonlyArray<string> | null>
}

/** See {@link RetryState}. */
export const findSourcesAt =
  (endpoints: Pick<Endpoints<Api>, "endpoints" | "withFailover">): RetryState["findSources"] => (outputs) =>
    Effect.catch(
      findAtAny(endpoints, "what a transaction spends", (api) => readSources(api, outputs)),
      (error) => Effect.as(Effect.logDebug("no server tells where a payment came from", error.reason), null)
    )

/** Something that the server showed a moment ago and does not have now: the caller looks again. */
const missing = "missing"
type Missing = typeof missing

/** The server's own reading of what a transaction spends is of no known form. */
const unreadableSources = "unreadable" as const

const giveUp = Effect.fnUntraced(function*(api: Api, { txHash }: BlockTransaction, block: FullBlock, reason: string) {
  yield* countUnreadable(api.network)
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
  { isExhausted }: RetryState
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

/**
 * Addresses that a payment came from. A server that does not tell is asked again in later looks, then the others are;
 * null: none of them tells, which is no reason to leave the payment out.
 */
const sourcesOf = Effect.fnUntraced(function*(
  api: Api,
  outputs: TransactionOutputs,
  { findSources, isExhausted, sources }: RetryState
): Effect.fn.Return<ReadonlyArray<string> | Missing | null, DriverError> {
  const { txHash } = outputs
  const remembered = sources.get(txHash)
  if (remembered !== undefined) return remembered
  const own = yield* Effect.catchIf(
    readSources(api, outputs),
    ({ kind }) => kind === "contradiction",
    ({ reason }) =>
      Effect.as(Effect.logDebug("where a payment came from cannot be read", { reason }), unreadableSources)
  )
  if (own === null && !isExhausted) return missing
  const found = own === null || own === unreadableSources ? yield* findSources(outputs) : own
  if (found === null) {
    yield* Effect.logWarning(
      "no server shows where a payment came from: its sender is not known, and if it is change of your own wallet take " +
        "it for no payment",
      { network: api.network, txHash }
    )
    return null
  }
  if (sources.size >= rememberedSources) sources.delete(sources.keys().next().value!)
  sources.set(txHash, found)
  return found
})

/**
 * Null where the server does not have now what it showed a moment ago. Costs a call for each transaction that pays a
 * watched address, and two more for each that cannot be read.
 */
export const transfersOfBlock = Effect.fnUntraced(function*(
  api: Api,
  block: FullBlock,
  isWatched: (address: string) => boolean,
  retry: RetryState
): Effect.fn.Return<ReadonlyArray<ObservedTransfer> | null, DriverError> {
  const transfers: Array<ObservedTransfer> = []
  for (const transaction of block.transactions) {
    const outputs = yield* outputsOf(api, block, transaction, retry)
    if (outputs === missing) return null
    if (outputs === null || !paysWatched(outputs, isWatched)) continue
    const sources = yield* sourcesOf(api, outputs, retry)
    if (sources === missing) return null
    transfers.push(...transfersOf(outputs, isWatched, sources))
  }
  return transfers
})
