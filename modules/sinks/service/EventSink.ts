/** What a driver of sinks promises. */
import { type Effect, Schema } from "effect"
import type { Environment } from "../../../schemas/Network.ts"

/** An event as it is stored outside. */
export interface SinkEvent {
  /** `<merchant id>/<event id>`: the same at every repeat, and no other event's. */
  readonly key: string
  readonly merchantId: number
  readonly environment: Environment
  readonly type: string
  /** The canonical event, as webhooks have it. */
  readonly text: string
}

/** The sink cannot store now; it is given the same events again. `reason` says what happened and where an operator looks. */
export class SinkUnavailable extends Schema.TaggedError<SinkUnavailable>()("SinkUnavailable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** A place outside that keeps events. */
export interface EventSink {
  /** Names its positions for ever: the name of the driver. */
  readonly name: string
  /** Where a sink begins that is new: at the oldest event that is stored, or at those of its first start. */
  readonly from: "start" | "now"
  /**
   * Stores events, those of a merchant in order, and ends when all of them would survive a crash of the place. The same
   * events may come again, also after others of the same merchant had come.
   */
  readonly store: (events: ReadonlyArray<SinkEvent>) => Effect.Effect<void, SinkUnavailable>
}
