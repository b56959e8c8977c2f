/** Does what the follower's state decided. */
import { Effect, Queue } from "effect"
import type { Fence, Write } from "../Commit.ts"
import { confirmEntry } from "./Confirmations.ts"
import {
  dispatch,
  type FollowerContext,
  measureLag,
  nowMillis,
  nowSeconds,
  rowsPerCommit,
  stateOf,
  write,
  writeEntries
} from "./FollowerContext.ts"
import { cursorOf, type FollowerAction, type FollowerEvent, type FollowerState, heightsOf } from "./FollowerState.ts"
import { cursorWrite } from "./ChainsRepo.ts"

/** Writes rows and then the cursor with these points, in as many commits as needed, the cursor in the last. */
const storeCursor = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  writes: ReadonlyArray<Write>,
  points: Pick<FollowerState, "ring" | "seenUntil">
) {
  for (let done = 0; writes.length - done > rowsPerCommit; done += rowsPerCommit) {
    yield* write(follower, fence, writes.slice(done, done + rowsPerCommit))
  }
  const rest = writes.slice(Math.max(0, Math.ceil(writes.length / rowsPerCommit) - 1) * rowsPerCommit)
  const now = nowMillis(follower)
  const cursor = cursorOf(stateOf(follower), points, now)
  yield* write(follower, fence, [...rest, cursorWrite(follower.network, follower.environment, cursor)])
  dispatch(follower, { _tag: "CursorStored", ring: points.ring, seenUntil: points.seenUntil, nowMillis: now })
})

/** Confirms what is deep enough, and has the blocks read of what only a report told of. */
const checkDepths = Effect.fnUntraced(function*(follower: FollowerContext, fence: Fence) {
  const { driver, environment, lookRequests, network, repo, verifyRequests, wakeHandler } = follower
  const state = stateOf(follower)
  const heights = heightsOf(state)
  if (heights === null || !state.mayHaveUnconfirmed) return
  const hasUnconfirmed = yield* repo.hasSeenEntries(network, environment)
  dispatch(follower, { _tag: "UnconfirmedCounted", hasUnconfirmed })
  if (!hasUnconfirmed) return
  while (driver.corroborate === null) {
    const found = yield* repo.entriesDeepEnough(network, environment, heights, rowsPerCommit)
    if (found.length === 0) break
    yield* writeEntries(follower, fence, found.map((entry) => confirmEntry(entry, heights.head)))
    yield* wakeHandler
  }
  yield* Queue.offer(verifyRequests, undefined)
  yield* Queue.offer(lookRequests, undefined)
})

const perform = (
  follower: FollowerContext,
  fence: Fence,
  action: FollowerAction,
  writes: ReadonlyArray<Write>
) => {
  switch (action._tag) {
    case "StoreCursor":
      return storeCursor(follower, fence, writes, action)
    case "WakeHandler":
      return follower.wakeHandler
    case "MeasureLag":
      return measureLag(follower, Math.max(0, nowSeconds(follower) - action.blockTime))
    case "CheckDepths":
      return checkDepths(follower, fence)
    case "LogCondition":
      return Effect.logWarning("the condition of a network's nodes changed", {
        network: follower.network,
        from: action.from,
        to: action.to
      })
  }
}

/** Takes an event into the state and does what that asks for. `writes` go into the cursor's commit, if there is one. */
export const apply = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  event: FollowerEvent,
  writes: ReadonlyArray<Write> = []
) {
  for (const action of dispatch(follower, event)) yield* perform(follower, fence, action, writes)
})
