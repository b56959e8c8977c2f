/** When a key was last used: gathered in memory and written together, so that a call costs no write. */
import { Effect, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { Settings } from "../../../runtime/Settings.ts"
import * as Repo from "../repo.ts"
import type { KeyState } from "../rules.ts"

/** Seconds between two writes of what was used. */
const recordSeconds = 60

/** Keys that wait for the next write; the use of one more is dropped and is recorded at its next use. */
const maximumPendingUses = 10_000

/** Takes the use of a key at a second. A stop of the process loses at most a minute of uses. */
export const makeUseRecorder: Effect.Effect<
  (key: KeyState, at: number) => void,
  never,
  SqlClient.SqlClient | Settings | Scope.Scope
> = Effect.gen(function*() {
  const repo = yield* Repo.make
  const uses = new Map<string, Repo.KeyUse>()
  const flushUses = Effect.suspend(() => {
    const pending = [...uses.values()]
    uses.clear()
    return pending.length === 0 ? Effect.void : repo.recordUses(pending)
  })
  yield* flushUses.pipe(
    Effect.catchCause((cause) => Effect.logWarning("uses of keys were not noted", cause)),
    Effect.delay(`${recordSeconds} seconds`),
    Effect.forever,
    Effect.forkScoped
  )
  return ({ id, merchantId }, at) => {
    if (uses.size < maximumPendingUses || uses.has(id)) uses.set(id, { merchantId, keyId: id, at })
  }
})
