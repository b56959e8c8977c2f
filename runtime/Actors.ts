/**
 * One mailbox per key: commands for a key run one at a time, in order; keys run side by side. Mailboxes are in this
 * process: a key's mailbox exists while somebody is in it.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import { type PublicError, publicError } from "../schemas/Errors.ts"

/** Messages one key may hold before its senders are refused with `SERVICE_UNAVAILABLE`. */
export const mailboxCapacity = 256

/** Puts the work on one object in order. */
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

interface Mailbox {
  /** One permit, given in the order it was asked for. */
  readonly turn: Semaphore.Semaphore
  /** Messages inside, the one at work included. */
  size: number
}

const mailboxFull = (kind: string) =>
  Effect.fail(publicError("SERVICE_UNAVAILABLE", {
    retryAfterSeconds: 1,
    reason: `${mailboxCapacity} calls wait for the same ${kind} already`
  }))

const make = Effect.sync(() => {
  const mailboxes = new Map<string, Mailbox>()

  const send = <A, E, R>(
    kind: string,
    key: string,
    work: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | PublicError, R> =>
    Effect.suspend((): Effect.Effect<A, E | PublicError, R> => {
      const name = `${kind}\n${key}`
      const mailbox = mailboxes.get(name) ?? { turn: Semaphore.makeUnsafe(1), size: 0 }
      if (mailbox.size >= mailboxCapacity) return mailboxFull(kind)
      if (mailbox.size++ === 0) mailboxes.set(name, mailbox)
      return Effect.ensuring(
        mailbox.turn.withPermit(Effect.uninterruptible(work)),
        Effect.sync(() => {
          if (--mailbox.size === 0) mailboxes.delete(name)
        })
      )
    })

  return Actors.of({ send })
})

/** Mailboxes of one process. Several processes may work on one key: the rows' versions settle that. */
export const layer: Layer.Layer<Actors> = Layer.effect(Actors, make)
