/** Following Sui by looks: what came to the watched addresses since the checkpoint that was emitted last. */
import { Effect } from "effect"
import type { ChainDriver, ChainPoint, DriverError, WatchSet } from "../../../runtime/Chains.ts"
import { type AccountReading, pollAccounts } from "../../../runtime/nodes/AccountPoll.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { SuiChain } from "./SuiChain.ts"
import type { SuiNode } from "./Nodes.ts"
import { planLook } from "./ScanPlan.ts"
import { checkpointName } from "./Transfers.ts"

export interface FollowOptions {
  readonly environment: Environment
  readonly chain: SuiChain
  readonly pollMillis: number
}

/** A head at or below what was emitted: a node that is behind, or a chain that makes nothing. */
const nothingNew = (passed: bigint | null): AccountReading => ({
  upTo: null,
  transfers: [],
  gone: [],
  finalized: passed,
  isBehind: false
})

/**
 * What one endpoint has after the checkpoint that was emitted last. A node whose index lies behind its own head is
 * followed as far as the index goes; where that stands still another endpoint is asked.
 */
const readNew = Effect.fnUntraced(function*(
  { chain }: FollowOptions,
  watch: WatchSet,
  node: SuiNode,
  head: EndpointHead,
  from: ChainPoint | null
): Effect.fn.Return<AccountReading, DriverError> {
  const passed = from?.height ?? null
  if (passed !== null && head.height <= passed) return nothingNew(passed)
  const { range, scans } = planLook(watch.accounts(), passed, head.height)
  const { scannedTo: covered, transfers } = yield* chain.scan(node, scans, range, watch.has)
  const time = covered === head.height ? head.time : yield* node.checkpointTime(covered)
  chain.setReader(transfers, node.place)
  if (covered < range.from) {
    if ((head.time - time) * 1000 < chain.endpoints.pool().lagMillis) return { ...nothingNew(passed), transfers }
    return yield* node.fail("ListTransactions", `its index stands still at checkpoint ${covered}`, "unavailable")
  }
  return {
    upTo: { height: covered, hash: checkpointName(covered), time },
    transfers,
    gone: [],
    finalized: covered,
    isBehind: covered === range.to && range.to < head.height
  }
})

/** See `ChainDriver.follow`. */
export const follow = (options: FollowOptions): ChainDriver["follow"] => (recent, watch) =>
  pollAccounts({
    endpoints: options.chain.endpoints,
    environment: options.environment,
    pollMillis: options.pollMillis,
    recent,
    watch,
    readHead: options.chain.readHead,
    read: (node, head, from) => readNew(options, watch, node, head, from)
  })
