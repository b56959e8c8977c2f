/**
 * E-mail: what the service writes to payors and members. A module that has something to say drafts a message and stores
 * it in the commit of what it tells of; who sends mail registers here. Where nobody does, nothing is drafted, and
 * nothing else is different.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { PublicError } from "../schemas/Errors.ts"
import type { Language } from "../schemas/Languages.ts"
import type { Environment } from "../schemas/Network.ts"
import type { Write } from "./Commit.ts"
import { single } from "./Registry.ts"

/** A message to one address. */
export interface MailMessage {
  /** Unique for the merchant: of two commits with the same id one conflicts. A receipt has its invoice's id in it. */
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  /** What it tells, for logs and limits: `claim_link`. */
  readonly kind: string
  /** A valid `EmailAddress` of schemas/Web.ts. */
  readonly to: string
  readonly language: Language
  readonly subject: string
  /** Plain text; a link stands on a line of its own. */
  readonly text: string
  /** The merchant's customer who reads it: an erasure of the customer deletes the message. Null: nobody's. */
  readonly customerId: string | null
  /** Messages of this kind that a merchant may have sent in an hour in one environment; null: no limit of their own. */
  readonly maximumPerHour: number | null
  /**
   * Whoever drafts it limits how many an address gets. Absent: the outbox does, over all messages, so that others may
   * use the limit up.
   */
  readonly hasOwnLimit?: boolean
}

/** Who sends mail. */
export interface Outbox {
  /**
   * What stores a message, to be put into a commit. Errors: `RATE_LIMIT_EXCEEDED` where its address or its kind has had
   * too many, `VALIDATION_ERROR` with `param` `email` for an address that no mail is sent to.
   */
  readonly writesOf: (message: MailMessage) => Effect.Effect<ReadonlyArray<Write>, PublicError>
  /** Whether a message of this id was stored before. */
  readonly has: (merchantId: number, id: string) => Effect.Effect<boolean>
}

/** Messages to people. */
export class Mail extends Context.Service<Mail, {
  /** For as long as the scope lives. One per deployment. */
  readonly register: (outbox: Outbox) => Effect.Effect<void, never, Scope.Scope>
  /** Whether messages are sent. */
  readonly isEnabled: () => boolean
  /** What stores a message; nothing where no mail is sent. Errors: those of {@link Outbox}. */
  readonly draft: (message: MailMessage) => Effect.Effect<ReadonlyArray<Write>, PublicError>
  /** The same of what is told once: nothing where it was told before, and a line in the log in place of an error. */
  readonly draftOnce: (message: MailMessage) => Effect.Effect<ReadonlyArray<Write>>
}>()("tillwire/runtime/Mail") {}

export const layer: Layer.Layer<Mail> = Layer.sync(Mail, () => {
  const slot = single<Outbox>("two drivers of mail: remove one of them from the config")
  const draft = (message: MailMessage): Effect.Effect<ReadonlyArray<Write>, PublicError> =>
    slot.current()?.writesOf(message) ?? Effect.succeed([])
  return Mail.of({
    register: slot.register,
    isEnabled: () => slot.current() !== undefined,
    draft,
    draftOnce: (message) =>
      Effect.gen(function*() {
        const outbox = slot.current()
        if (outbox === undefined || (yield* outbox.has(message.merchantId, message.id))) return []
        return yield* outbox.writesOf(message)
      }).pipe(Effect.catch(({ code }) =>
        Effect.as(
          Effect.logWarning("a message is not sent: its address cannot be used, or has had too many").pipe(
            Effect.annotateLogs({ merchantId: message.merchantId, kind: message.kind, mail: message.id, code })
          ),
          []
        )
      ))
  })
})
