/** Mail: the port of those who bring messages to a mail server (`modules/mail/drivers/`), and the outbox before it. */
import { Context, Effect, Layer, type Scope } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { hmacUnder } from "../../runtime/Hmac.ts"
import { Mail, type MailMessage, type Outbox } from "../../runtime/Mail.ts"
import * as Registry from "../../runtime/Registry.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Timers } from "../../runtime/Timers.ts"
import { publicError } from "../../schemas/Errors.ts"
import { mailWrite, makeRepo, type Repo } from "./repo.ts"
import { hourSeconds, isMailbox, maximumTextCharacters, recipientMessagesPerHour, subjectLine } from "./rules.ts"
import { sealContent } from "./service/Contents.ts"
import type { MailDriver } from "./service/MailDriver.ts"
import { makeSender } from "./service/Sender.ts"

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
    const { customerId, environment, hasOwnLimit = false, id, kind, language, maximumPerHour, merchantId } = message
    const { subject, text, to } = message
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
    const from = now - hourSeconds
    const isFlooded = !hasOwnLimit &&
      (yield* repo.countOfRecipient(message, hashes, from, recipientMessagesPerHour)) >= recipientMessagesPerHour
    if (isFlooded) {
      return yield* publicError("RATE_LIMIT_EXCEEDED", {
        message: `This address has had ${recipientMessagesPerHour} messages of yours within an hour: try again later`,
        retryAfterSeconds: hourSeconds
      })
    }
    if (maximumPerHour !== null && (yield* repo.countOfKind(message, kind, from, maximumPerHour)) >= maximumPerHour) {
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
