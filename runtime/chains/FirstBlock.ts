/**
 * A network's first block ever is its head, and addresses may have been given out before it was read: its nodes did not
 * answer at first. What was paid to them meanwhile lies in blocks that nobody has read, so these are read as well.
 */
import { Effect } from "effect"
import { familyOf } from "../../schemas/Network.ts"
import { type Cursor, cursorId, repairWrite, type RingPoint } from "./ChainsRepo.ts"
import { type FollowerContext, nowSeconds, stateOf } from "./FollowerContext.ts"
import { awaitsBlocksSince, newRepair, requestedRestore } from "./Repairs.ts"
import { restoreMarginSeconds } from "./Restores.ts"

/**
 * Oldest target that blocks are read for: 24 h, the longest outage provided for. A network that is added to a
 * deployment years later is not read from its beginning.
 */
const oldestTargetSeconds = 86_400

/** Whether no block of the network was ever read, here or by another instance: its first cursor has this version. */
const isFirst = ({ version }: Pick<Cursor, "version">): boolean => version === 0

/** The request to read the blocks before `head` in which a target may have been paid; none where there is no target. */
export const requestMissedBlocks = Effect.fnUntraced(function*(follower: FollowerContext, head: RingPoint) {
  if (!isFirst(stateOf(follower))) return []
  const { environment, network, repo } = follower
  const now = nowSeconds(follower)
  const earliest = yield* repo.earliestTarget(
    familyOf(network),
    environment,
    cursorId(network, environment),
    now - oldestTargetSeconds
  )
  if (earliest === null || earliest >= head.time) return []
  const since = Math.max(0, earliest - restoreMarginSeconds)
  // A backup may have been declared before, and a first block whose entries fill several commits may have been cut off
  // after the one with its request: either's request is kept where it reads as far back.
  const last = (yield* repo.repairs(network, environment)).find(({ kind }) => kind === "restore")
  if (awaitsBlocksSince(since, last)) return []
  yield* Effect.logWarning("addresses were given out before the network was read: its blocks since then are read", {
    network,
    environment,
    since: earliest
  })
  return [repairWrite(newRepair({ network, environment }, requestedRestore(since, last), last, now))]
})
