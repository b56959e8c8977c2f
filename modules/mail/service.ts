/** Mail: the port of those who bring messages to a mail server (`modules/mail/drivers/`), and the outbox before it. */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { hmacUnder } from "../../runtime/Hmac.ts"
import { Mail, type MailMessage, type Outbox } from "../../runtime/Mail.ts"
import * as Registry from "../../runtime/Registry.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Timers } from "../../runtime/Timers.ts"
import { publicError } from "../../schemas/Errors.ts"
import type { LanguageTag } from "../../schemas/Language.ts"
import { mailWrite, makeRepo, type Repo } from "./repo.ts"
import { hourSeconds, isMailbox, maximumTextCharacters, recipientMessagesPerHour, subjectLine } from "./rules.ts"
import { sealContent } from "./service/Contents.ts"
import { makeSender } from "./service/Sender.ts"

/** A message as a driver gets it. */
export interface OutgoingMail {
  /** One that is the same for each attempt at it; without the part behind `@`, which is the driver's. */
  readonly key: { readonly merchantId: number; readonly id: string }
  readonly to: string
  readonly language: LanguageTag
  /** One line. */
  readonly subject: string
  readonly text: string
}

/** The server will never take this message to this address: it is not tried again. `reason` names no address. */
export class MailRejected extends Schema.TaggedError<MailRejected>()("MailRejected", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** It could not be sent now, or the server says to try later. `reason` names no address. */
export class MailUnavailable
  extends Schema.TaggedError<MailUnavailable>()("MailUnavailable", { reason: Schema.String })
{
  override get message() {
    return this.reason
  }
}

export interface MailDriver {
  /** Its config entry. */
  readonly name: string
  /**
   * Succeeds once a server has taken the message. Called again for the same one after a crash, with the same key. An
   * error, a defect and silence for 40 s all mean that it is tried again; only {@link MailRejected} ends it. Null: no
   * mail is sent, and no message is ever made.
   */
  readonly send: ((mail: OutgoingMail) => Effect.Effect<void, MailRejected | MailUnavailable>) | null
}

export class Mails extends Context.Service<Mails, {
  /** Adds the driver for as long as the scope lives. One per deployment. */
  readonly register: (driver: MailDriver) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/modules/mail/Mails") {
  static readonly layer = Layer.effect(
    Mails,
    Effect.gen(function*() {
      const mail = yield* Mail
      const repo = yield* makeRepo
      const secrets = yield* Secrets
      const timers = yield* Timers
      const slot = Registry.single<MailDriver>("two drivers of mail: remove one of them from the config")
      return Mails.of({
        register: (driver) =>
          Effect.gen(function*() {
            yield* slot.register(driver)
            const { name, send } = driver
            if (send === null) return
            yield* mail.register(outboxOf(repo, secrets))
            yield* timers.register(yield* makeSender({ name, repo, secrets, send }))
          })
      })
    })
  )
}

/** Addresses that differ in case only are one. */
const recipientHashes = (secrets: Secrets["Service"], { merchantId, to }: MailMessage): ReadonlyArray<string> =>
  secrets.keys("mail").map(({ key }) => hmacUnder(key)(`${merchantId} ${to.toLowerCase()}`, "utf8"))

const outboxOf = (repo: Repo, secrets: Secrets["Service"]): Outbox => ({
  has: repo.has,
  writesOf: Effect.fnUntraced(function*(message) {
    const { customerId, environment, id, kind, language, maximumPerHour, merchantId, subject, text, to } = message
    if (text.length > maximumTextCharacters) {
      return yield* Effect.die(new Error(`the text of the message ${kind} has ${text.length} characters`))
    }
    if (!isMailbox(to)) {
      return yield* publicError("VALIDATION_ERROR", {
        message: "email: no mail can be sent to this address: write it like ines@shop.example",
        param: "email"
      })
    }
    const now = yield* nowSeconds
    const hashes = recipientHashes(secrets, message)
    const limit = Math.max(maximumPerHour ?? 0, recipientMessagesPerHour)
    const counts = yield* repo.countAfter(merchantId, { kind, recipientHashes: hashes }, now - hourSeconds, limit)
    if (counts.ofRecipient >= recipientMessagesPerHour) {
      return yield* publicError("RATE_LIMIT_EXCEEDED", {
        message: `This address has had ${recipientMessagesPerHour} messages of yours within an hour: try again later`,
        retryAfterSeconds: hourSeconds
      })
    }
    if (maximumPerHour !== null && counts.ofKind >= maximumPerHour) {
      return yield* publicError("RATE_LIMIT_EXCEEDED", {
        message: `You have had ${maximumPerHour} such messages sent within an hour: try again later`,
        retryAfterSeconds: hourSeconds
      })
    }
    return [mailWrite({
      merchantId,
      id,
      environment,
      kind,
      sealedContent: sealContent(secrets, { to, language, subject: subjectLine(subject, environment), text }),
      recipientHash: hashes[0]!,
      customerId,
      createdAt: now
    })]
  })
})
