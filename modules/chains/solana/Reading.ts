/** Transactions as one endpoint shows them, and the transfers in them. */
import { Effect } from "effect"
import {
  type AccountHistory,
  type BlockPoint,
  DriverError,
  type PlacedTransfer,
  type WatchSet
} from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { makeReceivingAccounts, type ReceivingAccounts } from "./Accounts.ts"
import { contradiction, readTime, readTransaction } from "./Node.ts"
import { listSince } from "./Signatures.ts"
import { hashOfSlot, transfersOf } from "./Transactions.ts"

/** Calls side by side, of one endpoint: within the pace of public ones, and 8 times as fast as one after another. */
export const concurrentCalls = 8

/** A transaction that an endpoint has shown. */
export interface ShownTransaction {
  readonly at: BlockPoint
  readonly transfers: ReadonlyArray<PlacedTransfer>
}

/** Reads a transaction; null: the endpoint does not have it. Failed ones have no transfers. */
export const showTransaction = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  signature: string,
  watch: Pick<WatchSet, "has">
): Effect.fn.Return<ShownTransaction | null, DriverError> {
  const transaction = yield* readTransaction(node, signature)
  if (transaction === null) return null
  const height = BigInt(transaction.slot)
  const time = transaction.blockTime ?? (yield* readTime(node, height))
  if (time === null) return yield* contradiction(node, "getTransaction", "it does not know the time of a block it has")
  return { at: { height, hash: hashOfSlot(height), time }, transfers: transfersOf(transaction, time, watch) }
})

/** What was passed, read again: for reports, rescans and restored backups. */
export const makeHistory = (endpoints: Endpoints<JsonRpcClient>): AccountHistory => {
  const receiving: ReceivingAccounts = makeReceivingAccounts()
  const network = endpoints.endpoints[0]!.network

  const readAll = Effect.fnUntraced(function*(node: JsonRpcClient, from: bigint, to: bigint, watch: WatchSet) {
    if ((yield* readTime(node, from)) === null) {
      const reason = `${node.name}: it has no transactions so old as slot ${from}`
      return yield* new DriverError({ network, reason, kind: "pruned", condition: "block_pruned" })
    }
    const keys = yield* receiving.keys(node, watch, true)
    const listed = yield* Effect.forEach(keys, (key) => listSince(node, key, from), { concurrency: concurrentCalls })
    const wanted = new Map(
      listed.flat().filter(({ hasFailed, slot }) => !hasFailed && slot <= to).map((each) => [each.signature, each])
    )
    const shown = yield* Effect.forEach(wanted.keys(), (signature) =>
      Effect.filterOrFail(
        showTransaction(node, signature, watch),
        (transaction) => transaction !== null,
        () => contradiction(node, "getTransaction", "it does not show a transaction that it has listed")
      ), { concurrency: concurrentCalls })
    return shown.flatMap(({ transfers }) => transfers).filter(({ at: { height } }) => height >= from && height <= to)
  })

  return {
    _tag: "AccountHistory",
    readTransaction: (txHash, watch) =>
      /^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(txHash)
        ? Effect.andThen(
          watch.refresh,
          Effect.map(
            endpoints.withFailover((node) => showTransaction(node, txHash, watch)),
            (shown) => shown?.transfers ?? []
          )
        )
        : Effect.succeed([]),
    readTransfers: (from, to, watch) =>
      Effect.andThen(watch.refresh, endpoints.withFailover((node) => readAll(node, from, to, watch))),
    timeOf: (height) => endpoints.withFailover((node) => readTime(node, height))
  }
}
