/** One mailbox per key: commands for a key run one at a time, in order; keys run side by side. */
import { Context, type Effect } from "effect"

/** Messages one key may hold before its senders are refused with `SERVICE_UNAVAILABLE`. */
export const mailboxCapacity = 256

export class Actors extends Context.Service<Actors, {
  /**
   * Runs `work` after everything sent to the same (kind, key) before it. Holds no state: what is lost with the process
   * is only work whose caller was never answered. Interrupting the caller before its turn withdraws the work;
   * after, the work is finished.
   */
  readonly send: <A, E, R>(
    kind: string,
    key: string,
    work: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | import("../schemas/Errors.ts").PublicError, R>
}>()("tillwire/runtime/Actors") {}
