/** Sinks: the port of places outside that keep every event (`modules/sinks/drivers/`). */
import { Context, Effect, Layer, type Scope } from "effect"
import { Commit } from "../../runtime/Commit.ts"
import { EventBus } from "../../runtime/EventBus.ts"
import { Leases } from "../../runtime/Leases.ts"
import { Health } from "../../runtime/Telemetry.ts"
import { makeRepo } from "./repo.ts"
import type { EventSink } from "./service/EventSink.ts"
import { exportTo } from "./service/Export.ts"

export class EventSinks extends Context.Service<EventSinks, {
  /**
   * Gives the sink every event of every merchant and environment, for as long as the scope lives: at least once, those
   * of a merchant in order, but for the types that come only to those who name them.
   */
  readonly register: (sink: EventSink) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/modules/sinks/EventSinks") {
  static readonly layer = Layer.effect(
    EventSinks,
    Effect.gen(function*() {
      const services = {
        repo: yield* makeRepo,
        commit: yield* Commit,
        bus: yield* EventBus,
        leases: yield* Leases,
        health: yield* Health
      }
      return EventSinks.of({ register: (sink) => exportTo({ sink, ...services }) })
    })
  )
}
