/** Mailboxes in this process: a key's mailbox exists while somebody is in it. */
import { Effect, Layer, Semaphore } from "effect"
import { Actors, mailboxCapacity } from "../Actors.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"

interface Mailbox {
  /** One permit, given in the order it was asked for. */
  readonly turn: Semaphore.Semaphore
  /** Messages inside, the one at work included. */
  size: number
}

const mailboxFull = Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 }))

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
      if (mailbox.size >= mailboxCapacity) return mailboxFull
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
