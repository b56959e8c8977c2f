/** The nodes of Sui as the parts of the driver share them: heads, what was read where, and what is read by digest. */
import { Effect } from "effect"
import type { ChainPoint, DriverError, LocatedTransfer } from "../../../runtime/Chains.ts"
import { makeReaders } from "../../../runtime/nodes/Corroboration.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { CheckpointedTransaction, ServiceInfo } from "./Messages.ts"
import { digestsPerCall, type SuiNode } from "./Nodes.ts"
import { type CheckpointRange, overlap, type Scan } from "./ScanPlan.ts"
import { runScans, type ScanResult } from "./Scans.ts"
import { checkpointName } from "./Transfers.ts"

export interface SuiChain {
  readonly endpoints: Endpoints<SuiNode>
  /** What an endpoint says of itself. It must be of the network that was configured, whatever was proven before. */
  readonly readInfo: (node: SuiNode) => Effect.Effect<ServiceInfo, DriverError>
  /** An endpoint's newest checkpoint, by {@link SuiChain.readInfo}. */
  readonly readHead: (node: SuiNode) => Effect.Effect<EndpointHead, DriverError>
  /** Runs scans at a node that still has the range. */
  readonly scan: (
    node: SuiNode,
    scans: ReadonlyArray<Scan>,
    range: CheckpointRange,
    has: (matchKey: string) => boolean
  ) => Effect.Effect<ScanResult, DriverError>
  /** Where a transaction was read first; another endpoint is asked before it counts. */
  readonly readerOf: (txHash: string) => number | undefined
  readonly setReader: (transfers: ReadonlyArray<LocatedTransfer>, place: number) => void
}

/**
 * Scans that begin no lower than a node's oldest checkpoint, or the checkpoint below it that one of them needs: an
 * overlap may be cut short, and nothing else.
 */
export const withoutForgotten = (
  scans: ReadonlyArray<Scan>,
  range: CheckpointRange,
  oldest: bigint
): ReadonlyArray<Scan> | bigint => {
  const cut = scans.map((scan) =>
    scan.from < oldest && range.from >= oldest && scan.from >= range.from - overlap ? { ...scan, from: oldest } : scan
  )
  return cut.find(({ from }) => from < oldest)?.from ?? cut
}

export const makeSuiChain = (endpoints: Endpoints<SuiNode>, chainId: string): SuiChain => {
  const readers = makeReaders()
  const oldest = new Map<number, bigint>()
  const readInfo: SuiChain["readInfo"] = Effect.fnUntraced(function*(node) {
    const info = yield* node.serviceInfo
    if (info.chainId === chainId) return info
    return yield* node.fail("GetServiceInfo", `it is on the network ${info.chainId} now`, "contradiction")
  })
  const readHead: SuiChain["readHead"] = Effect.fnUntraced(function*(node) {
    const { height, lowestHeight, time } = yield* readInfo(node)
    oldest.set(node.place, lowestHeight ?? 0n)
    return { height, hash: checkpointName(height), time }
  })
  return {
    endpoints,
    readInfo,
    readHead,
    scan: Effect.fnUntraced(function*(node, scans, range, has) {
      const possible = withoutForgotten(scans, range, oldest.get(node.place) ?? 0n)
      if (typeof possible !== "bigint") return yield* runScans(node, possible, range.to, has)
      const reason = `it does not have checkpoint ${possible} any more: add an endpoint with older transactions`
      return yield* node.fail("ListTransactions", reason, "pruned")
    }),
    readerOf: readers.placeOf,
    setReader: (transfers, place) => {
      for (const { txHash } of transfers) {
        if (readers.placeOf(txHash) === undefined) readers.remember(txHash, place)
      }
    }
  }
}

/** Transactions by digest, whatever their number. */
export const readTransactions = (
  node: SuiNode,
  digests: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<CheckpointedTransaction | "missing">, DriverError> =>
  Effect.map(
    Effect.forEach(
      Array.from({ length: Math.ceil(digests.length / digestsPerCall) }, (_, place) =>
        digests.slice(place * digestsPerCall, (place + 1) * digestsPerCall)),
      (part) =>
        node.transactions(part)
    ),
    (parts) => parts.flat()
  )

/** Whether a node has executed everything up to a point, so that what it does not have is not there. */
export const hasReached = ({ readHead }: SuiChain, node: SuiNode, { height }: Pick<ChainPoint, "height">) =>
  Effect.map(readHead(node), (head) => head.height >= height)
