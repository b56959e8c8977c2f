/** What a transaction brought to an address that is none of ours: the proof that money went out. */
import { Effect } from "effect"
import { familyOf, familyRecord } from "../../schemas/Network.ts"
import { tokenAddress as tokenAddressOf } from "../../schemas/Token.ts"
import type { ChainDriver, Chains, DriverError, ObservedTransfer, TransactionReading, WatchSet } from "../Chains.ts"
import type { RingPoint } from "./ChainsRepo.ts"
import { anchorOf, finalHeight } from "./Confirmations.ts"
import { driverOf, type JournalContext } from "./JournalContext.ts"

/** One account, and the token that it should have got. */
const watchOf = (accountKey: string, token: string | null): WatchSet => {
  const accounts = [{ key: accountKey, isOpen: true }]
  const tokens = token === null ? [] : [token]
  return {
    has: (key) => key === accountKey,
    showsMemos: true,
    accounts: () => accounts,
    tokens: () => tokens,
    transfersAbove: () => Effect.succeed([]),
    refresh: Effect.void
  }
}

type TimedTransfer = ObservedTransfer & { readonly time: number; readonly height: bigint }

const readTransfers = Effect.fnUntraced(function*(
  { history }: ChainDriver,
  txHash: string,
  height: bigint,
  anchor: RingPoint,
  watch: WatchSet
): Effect.fn.Return<ReadonlyArray<TimedTransfer>, DriverError> {
  if (history._tag === "AccountHistory") {
    const found = yield* history.readTransaction(txHash, watch, height)
    return found.map((transfer) => ({ ...transfer, time: transfer.at.time, height: transfer.at.height }))
  }
  const { time, transfers } = yield* history.readBlock(height, anchor, watch)
  return transfers.filter((each) => each.txHash === txHash).map((transfer) => ({ ...transfer, time, height }))
})

/** `Chains.readTransaction`. */
export const readTransaction = (journal: JournalContext): Chains["Service"]["readTransaction"] =>
  Effect.fn("Chains.readTransaction")(function*(
    { address, environment, height, network, tokenAddress, txHash }
  ): Effect.fn.Return<TransactionReading, DriverError> {
    const driver = driverOf(journal, network, environment)
    const cursor = yield* journal.repo.cursor(network, environment)
    const head = cursor?.recent[0]
    if (driver === undefined || cursor === null || head === undefined) {
      return { _tag: "Unreadable", reason: "not_followed" }
    }
    const anchor = anchorOf(cursor.recent, height)
    if (anchor === undefined) return { _tag: "Unreadable", reason: "not_reached" }
    const key = familyRecord(familyOf(network)).accountKey(address)
    const token = tokenAddress === null ? null : tokenAddressOf(network, tokenAddress) ?? tokenAddress
    const transfers = yield* readTransfers(driver, txHash, height, anchor, watchOf(key, token))
    const final = finalHeight(network, environment, { head: head.height, finalized: cursor.finalized })
    return {
      _tag: "Transaction",
      isFinal: transfers.every((each) => each.height <= final),
      transfers: transfers.map(({ amount, index, memos = [], time, tokenAddress: moved }) => ({
        amount,
        index,
        tokenAddress: moved,
        time,
        memos
      }))
    }
  })
