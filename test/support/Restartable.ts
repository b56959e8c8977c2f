/** A service that a test ends and starts again, in any order of both: one process at a time. */
import { Effect, Exit, Scope } from "effect"
import type { Service } from "./Service.ts"

/** Starts `start` in the current scope, which ends what runs then. */
export const makeRestartable = Effect.fnUntraced(function*(start: Effect.Effect<Service, never, Scope.Scope>) {
  let running: { readonly service: Service; readonly scope: Scope.Closeable } | null = null
  const boot = Effect.gen(function*() {
    const scope = yield* Scope.make()
    const service = yield* Scope.provide(start, scope)
    running = { service, scope }
  })
  const end = (signal: "SIGTERM" | "SIGKILL") =>
    Effect.suspend(() => {
      const ending = running
      running = null
      return ending === null
        ? Effect.void
        : Effect.andThen(ending.service.stop(signal), Scope.close(ending.scope, Exit.void))
    })
  yield* Effect.acquireRelease(boot, () => end("SIGTERM"))
  /** What runs now; null between two processes. */
  const current = (): Service | null => running?.service ?? null
  return { boot, current, end }
})
