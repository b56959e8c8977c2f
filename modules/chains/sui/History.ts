/** What was passed, read again: `ChainDriver.history`. */
import { Effect } from "effect"
import { type AccountHistory, DriverError, type LocatedTransfer } from "../../../runtime/Chains.ts"
import { findAtAny, readUnlessPruned } from "../../../runtime/nodes/Absence.ts"
import { isDigest } from "./Identifiers.ts"
import { hasReached, type SuiChain } from "./SuiChain.ts"
import type { SuiNode } from "./Nodes.ts"
import { type CheckpointRange, scansOf, unfilteredSpan } from "./ScanPlan.ts"
import { withoutRepeats } from "./Scans.ts"
import { transfersOf } from "./Transfers.ts"

/** Every transfer of a range; an endpoint that has not indexed all of it is no help. */
const readRange = (
  chain: SuiChain,
  range: CheckpointRange,
  addresses: ReadonlyArray<string>,
  has: (key: string) => boolean
) =>
  readUnlessPruned(
    chain.endpoints,
    `checkpoint ${range.from}`,
    Effect.fnUntraced(function*(node: SuiNode) {
      yield* chain.readHead(node)
      const { scannedTo: covered, transfers } = yield* chain.scan(node, scansOf(addresses, range), range, has)
      if (covered >= range.to) return transfers
      return yield* node.fail(
        "ListTransactions",
        `it has listed up to checkpoint ${covered} of ${range.to}`,
        "unavailable"
      )
    })
  )

/** Parts of a range that are short enough to be read again where one fails. */
const partsOf = ({ from, to }: CheckpointRange): ReadonlyArray<CheckpointRange> =>
  Array.from({ length: Number((to - from) / unfilteredSpan) + 1 }, (_, place) => {
    const start = from + BigInt(place) * unfilteredSpan
    const end = start + unfilteredSpan - 1n
    return { from: start, to: end < to ? end : to }
  })

export const makeHistory = (chain: SuiChain): AccountHistory => ({
  _tag: "AccountHistory",
  readTransaction: Effect.fnUntraced(function*(txHash, watch, height) {
    if (!isDigest(txHash)) return []
    const transaction = yield* findAtAny(
      chain.endpoints,
      "the transaction",
      Effect.fnUntraced(function*(node) {
        // How far it has come is asked first: what it does not have after that is not there up to then.
        const isReached = yield* hasReached(chain, node, { height })
        const [found] = yield* node.transactions([txHash])
        if (found !== undefined && found !== "missing") return found
        return isReached
          ? null
          : yield* node.fail("BatchGetTransactions", `it has not come to checkpoint ${height}`, "not_found")
      })
    )
    yield* watch.refresh
    return transaction === null ? [] : transfersOf(transaction, watch.has)
  }),
  readTransfers: Effect.fnUntraced(function*(from, to, watch): Effect.fn.Return<
    ReadonlyArray<LocatedTransfer>,
    DriverError
  > {
    if (to < from) return []
    yield* watch.refresh
    const addresses = watch.accounts().map(({ key }) => key)
    if (addresses.length === 0) return []
    const range = { from, to }
    const parts = scansOf(addresses, range)[0]?.addresses === null ? partsOf(range) : [range]
    const found = yield* Effect.forEach(parts, (part) => readRange(chain, part, addresses, watch.has))
    return withoutRepeats(found.flat())
  }),
  timeOf: (height) =>
    findAtAny(
      chain.endpoints,
      `checkpoint ${height}`,
      Effect.fnUntraced(function*(node: SuiNode) {
        const { height: newest, lowestHeight, time } = yield* node.serviceInfo
        if (height >= newest) return time
        return height < (lowestHeight ?? 0n) ? null : yield* node.checkpointTime(height)
      })
    )
})
