/** What a transaction brought to an address that is none of ours: the proof that money went out. */
import { Effect } from "effect"
import { familyOf, familyRecord } from "../../schemas/Network.ts"
import { tokenAddress as tokenAddressOf } from "../../schemas/Token.ts"
import type {
  BlockPoint,
  ChainDriver,
  Chains,
  Corroboration,
  DriverError,
  ObservedTransfer,
  TransactionReading,
  WatchSet
} from "../Chains.ts"
import type { RingPoint } from "./ChainsRepo.ts"
import { anchorOf, finalHeight } from "./Confirmations.ts"
import { driverOf, type JournalContext } from "./JournalContext.ts"
import { transferKey } from "./TransferIdentity.ts"

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

/** A transaction's transfers, and the block they lie in; null: an account's chain that does not have them. */
interface ShownTransaction {
  readonly block: BlockPoint | null
  readonly transfers: ReadonlyArray<ObservedTransfer>
}

const readFirst = Effect.fnUntraced(function*(
  { history }: ChainDriver,
  txHash: string,
  height: bigint,
  anchor: RingPoint,
  watch: WatchSet
): Effect.fn.Return<ShownTransaction, DriverError> {
  if (history._tag === "AccountHistory") {
    const transfers = yield* history.readTransaction(txHash, watch, height)
    return { block: transfers[0]?.at ?? null, transfers }
  }
  const { point, time, transfers } = yield* history.readBlock(height, anchor, watch)
  return { block: { ...point, time }, transfers: transfers.filter((each) => each.txHash === txHash) }
})

/** A transfer with all that a reader of it is told: endpoints that name different amounts show different transfers. */
const shownKey = (transfer: ObservedTransfer): string =>
  [transferKey(transfer), transfer.tokenAddress, transfer.amount, transfer.from, JSON.stringify(transfer.memos ?? [])]
    .join(":")

/**
 * The transfers that more than half of the endpoints show; null where they have different blocks, as many show one as
 * do not, or none of several could be asked beside the one that was read: one of them alone must not prove that money
 * went out.
 */
const agreedTransfers = (
  corroboration: Corroboration,
  txHash: string
): ReadonlyArray<ObservedTransfer> | null => {
  if (corroboration._tag === "Disagreed" || corroboration._tag === "Unavailable") return null
  // Of two that agree about the block, one may have shown less of it than its header names.
  const isOfOne = corroboration.readings.length === 1
  if (isOfOne && (corroboration._tag === "Agreed" || !corroboration.hasAllAnswers)) return null
  const readings = corroboration.readings.map((reading) =>
    new Map(reading.filter((each) => each.txHash === txHash).map((each) => [shownKey(each), each]))
  )
  const transfersByKey = new Map(readings.flatMap((reading) => [...reading]))
  const countOf = (key: string) => readings.filter((reading) => reading.has(key)).length
  if ([...transfersByKey.keys()].some((key) => countOf(key) * 2 === readings.length)) return null
  return [...transfersByKey].filter(([key]) => countOf(key) * 2 > readings.length).map(([, transfer]) => transfer)
}

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
    const watch = watchOf(key, token)
    const { block, transfers } = yield* readFirst(driver, txHash, height, anchor, watch)
    if (block === null) return { _tag: "Transaction", isFinal: false, transfers: [] }
    const agreed = driver.corroborate === null
      ? transfers
      : agreedTransfers(yield* driver.corroborate(block, watch, true, [txHash]), txHash)
    if (agreed === null) return { _tag: "Unreadable", reason: "not_agreed" }
    const final = finalHeight(network, environment, { head: head.height, finalized: cursor.finalized })
    return {
      _tag: "Transaction",
      isFinal: block.height <= final,
      transfers: agreed.map(({ amount, from, index, memos = [], tokenAddress: moved }) => ({
        amount,
        from,
        index,
        tokenAddress: moved,
        time: block.time,
        memos
      }))
    }
  })
