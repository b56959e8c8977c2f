/** Lists what came to addresses over a range of checkpoints: page by page, in smaller parts where a node asks for that. */
import { Effect } from "effect"
import type { DriverError, DriverErrorKind, LocatedTransfer } from "../../../runtime/Chains.ts"
import type { CheckpointedTransaction } from "./Messages.ts"
import type { SuiNode } from "./Nodes.ts"
import { type CheckpointRange, filteredPageSize, type Scan, unfilteredPageSize } from "./ScanPlan.ts"
import { startScan, stepScan } from "./ScanState.ts"
import { transfersOf } from "./Transfers.ts"

/** What a scan found, and the checkpoint up to which that is everything. */
export interface ScanResult {
  readonly scannedTo: bigint
  readonly transfers: ReadonlyArray<LocatedTransfer>
}

/** Calls to one node at a time. */
const concurrentCalls = 4

/** Failures after which one call is sent once more, so that a long look is not begun anew for it. */
const passingKinds: ReadonlySet<DriverErrorKind | undefined> = new Set(["unanswered", "unavailable"])

const lowest = (one: bigint, other: bigint): bigint => one < other ? one : other

/** The transfers, each once: an overlap or two filters give the same one twice. */
export const withoutRepeats = (transfers: ReadonlyArray<LocatedTransfer>): ReadonlyArray<LocatedTransfer> => [
  ...new Map(transfers.map((transfer) => [`${transfer.txHash}:${transfer.index}`, transfer])).values()
]

/** One page after the other, `limit` transactions each; of every transaction what is picked. */
const listPages = Effect.fnUntraced(function*<A>(
  node: SuiNode,
  scan: Scan,
  limit: number,
  pick: (transaction: CheckpointedTransaction) => ReadonlyArray<A>
): Effect.fn.Return<{ readonly scannedTo: bigint; readonly found: ReadonlyArray<A> }, DriverError> {
  const found: Array<A> = []
  let state = startScan(scan)
  while (!state.isDone) {
    const page = yield* node.listTransactions(scan, scan.addresses, { limit, after: state.cursor }).pipe(
      Effect.retry({ times: 1, while: ({ kind }) => passingKinds.has(kind) })
    )
    const next = stepScan(state, page)
    if (typeof next === "string") return yield* node.fail("ListTransactions", next, "contradiction")
    found.push(...page.transactions.flatMap(pick))
    state = next
  }
  return { scannedTo: state.scannedTo, found }
})

/** What moved an address, and the checkpoint up to which that is everything. */
export const listTransactionsOf = (
  node: SuiNode,
  address: string,
  range: CheckpointRange
): Effect.Effect<
  { readonly scannedTo: bigint; readonly found: ReadonlyArray<CheckpointedTransaction> },
  DriverError
> => {
  const ask = (limit: number): ReturnType<typeof listTransactionsOf> =>
    Effect.catchIf(
      listPages(node, { ...range, addresses: [address] }, limit, (transaction) => [transaction]),
      ({ kind }) => kind === "too_large" && limit > 1,
      () => ask(Math.ceil(limit / 2))
    )
  return ask(filteredPageSize)
}

const transfersIn = (
  node: SuiNode,
  scan: Scan,
  limit: number,
  has: (matchKey: string) => boolean
): Effect.Effect<ScanResult, DriverError> =>
  Effect.map(
    listPages(node, scan, limit, (transaction) => transfersOf(transaction, has)),
    ({ found, scannedTo }) => ({ scannedTo, transfers: found })
  )

const halves = (addresses: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const middle = Math.ceil(addresses.length / 2)
  return [addresses.slice(0, middle), addresses.slice(middle)]
}

/** Where an answer is too large, half the addresses are asked for, and where there is one, half the page. */
const runScan = (
  node: SuiNode,
  scan: Scan,
  limit: number,
  has: (matchKey: string) => boolean
): Effect.Effect<ScanResult, DriverError> =>
  Effect.catch(transfersIn(node, scan, limit, has), (error) => {
    if (error.kind !== "too_large") return Effect.fail(error)
    if (scan.addresses !== null && scan.addresses.length > 1) {
      const parts = halves(scan.addresses).map((addresses) => runScan(node, { ...scan, addresses }, limit, has))
      return Effect.map(Effect.all(parts), joinResults(scan.to))
    }
    return limit > 1 ? runScan(node, scan, Math.ceil(limit / 2), has) : Effect.fail(error)
  })

const joinResults = (to: bigint) => (results: ReadonlyArray<ScanResult>): ScanResult => ({
  scannedTo: results.reduce((least, { scannedTo: covered }) => lowest(least, covered), to),
  transfers: results.flatMap(({ transfers }) => transfers)
})

/** Runs all scans at one node. `to`: how far it is scanned where there are none. */
export const runScans = (
  node: SuiNode,
  scans: ReadonlyArray<Scan>,
  to: bigint,
  has: (matchKey: string) => boolean
): Effect.Effect<ScanResult, DriverError> =>
  Effect.map(
    Effect.forEach(
      scans,
      (scan) => runScan(node, scan, scan.addresses === null ? unfilteredPageSize : filteredPageSize, has),
      { concurrency: concurrentCalls }
    ),
    joinResults(to)
  )
