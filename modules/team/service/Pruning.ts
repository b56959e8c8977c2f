/** What sign-ins leave behind goes: links, answers, tries and sessions that ended. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { Leases } from "../../../runtime/Leases.ts"
import { makeRepo, pruneBatch } from "../repo.ts"

/** What has ended is kept for a day more. */
const retentionSeconds = 86_400

const pauseWhileBehind = "100 millis"
const pauseWhenDone = "10 minutes"
const leaseMillis = 30_000

/** Deletes them in small batches, on one instance at a time. */
export const pruneTeamSignIns = Effect.gen(function*() {
  const repo = yield* makeRepo
  const leases = yield* Leases
  const round = Effect.gen(function*() {
    const deleted = yield* repo.prune((yield* nowSeconds) - retentionSeconds)
    yield* Effect.sleep(deleted < pruneBatch ? pauseWhenDone : pauseWhileBehind)
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(Effect.logWarning("sign-ins of people were not pruned", cause), Effect.sleep(pauseWhenDone))
    )
  )
  yield* Effect.forkScoped(leases.hold("team-prune", leaseMillis, () => Effect.forever(round)))
})
