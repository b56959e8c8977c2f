/**
 * Work that changes state without a request: due rows, transfers that are handed over. It runs only while every plugin
 * has started and none has stopped: else a change would miss what a plugin adds to it, such as its booking.
 */
import { Context, Effect, FiberSet, Latch, Layer, type Scope } from "effect"

export interface BackgroundWorkService {
  /** Runs `work` once all plugins have started, until the caller's scope closes or the service begins to stop. */
  readonly run: (work: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  /** Every plugin has started: all work begins. It has ended when the caller's scope is closed. */
  readonly begin: Effect.Effect<void, never, Scope.Scope>
}

/** Where no kernel provides it, each work begins at once. */
export const BackgroundWork = Context.Reference<BackgroundWorkService>("tillwire/runtime/BackgroundWork", {
  defaultValue: () => ({ run: (work) => Effect.asVoid(Effect.forkScoped(work)), begin: Effect.void })
})

export const layer: Layer.Layer<never> = Layer.effect(
  BackgroundWork,
  Effect.gen(function*() {
    const fibers = yield* FiberSet.make<void>()
    const allStarted = Latch.makeUnsafe(false)
    return {
      run: (work) =>
        Effect.flatMap(
          Effect.forkScoped(Effect.andThen(allStarted.await, work)),
          (fiber) => FiberSet.add(fibers, fiber)
        ),
      begin: Effect.acquireRelease(
        allStarted.open,
        () => Effect.andThen(allStarted.close, FiberSet.clear(fibers))
      )
    }
  })
)
