/** What sign-ins leave behind goes: messages, tokens and sessions that ended. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { Leases } from "../../../runtime/Leases.ts"
import * as Repo from "../repo.ts"

/** What has ended is kept for a day more, so that whoever comes late is told why it is refused. */
const retentionSeconds = 86_400

const pauseWhileBehind = "100 millis"
const pauseWhenDone = "10 minutes"
const leaseMillis = 30_000

/** Deletes messages, tokens and sessions that ended, in small batches, on one instance at a time. */
export const pruneSignIns = Effect.gen(function*() {
  const repo = yield* Repo.make
  const leases = yield* Leases
  const round = Effect.gen(function*() {
    const deleted = yield* repo.prune((yield* nowSeconds) - retentionSeconds)
    yield* Effect.sleep(deleted < Repo.pruneBatch ? pauseWhenDone : pauseWhileBehind)
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(Effect.logWarning("sign-ins were not pruned", cause), Effect.sleep(pauseWhenDone))
    )
  )
  yield* Effect.forkScoped(leases.hold("identity-prune", leaseMillis, () => Effect.forever(round)))
})
