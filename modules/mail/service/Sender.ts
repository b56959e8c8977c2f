/**
 * Sends what is due, a batch at a time, on the one instance that holds the timer's lease. A row is taken for an attempt
 * before it is sent, so that two instances of a moment in which the lease passes on do not send it twice.
 */
import { Cause, Effect, Metric } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Secrets } from "../../../runtime/Secrets.ts"
import { initializeSeries } from "../../../runtime/Telemetry.ts"
import type { DueSource } from "../../../runtime/Timers.ts"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import type { DueMail, MailEnd, Repo } from "../repo.ts"
import { attemptSeconds, attemptTimeoutMillis, maximumAgeSeconds, nextAttemptAt } from "../rules.ts"
import { openContent } from "./Contents.ts"
import type { MailDriver } from "./MailDriver.ts"

/** Messages of one batch: few, because all of them must be sent while the attempt has them. */
const batchSize = 10

/** Connections at once: what a mail server gives one client. */
const concurrency = 5

const messages = Metric.counter("mail_messages_total", {
  description: "Messages that a mail server took, refused for good (bounced), or that are not tried any more",
  incremental: true
})

const failures = Metric.counter("mail_failures_total", {
  description: "Attempts at a message that are made again later",
  incremental: true
})

export interface SenderContext {
  readonly name: string
  readonly repo: Repo
  readonly secrets: Secrets["Service"]
  readonly send: NonNullable<MailDriver["send"]>
}

/** The timer's source. */
export const makeSender = ({ name, repo, secrets, send }: SenderContext): Effect.Effect<DueSource> =>
  Effect.gen(function*() {
    yield* initializeSeries(failures)
    yield* initializeSeries(messages, [{ outcome: "sent" }, { outcome: "bounced" }, { outcome: "given_up" }])

    const end = (mail: DueMail, token: string, outcome: MailEnd) =>
      Effect.andThen(
        repo.end(mail, token, outcome),
        Metric.update(Metric.withAttributes(messages, { outcome }), 1)
      )

    const giveUp = (mail: DueMail, token: string, why: string) =>
      Effect.andThen(
        end(mail, token, "given_up"),
        Effect.logError(`a message is given up: ${why}`)
      )

    const tryLater = Effect.fnUntraced(function*(mail: DueMail, token: string, cause: Cause.Cause<unknown>) {
      const now = yield* nowSeconds
      const dueAt = nextAttemptAt(mail.attempts, Number(mail.created_at), now)
      yield* Metric.update(failures, 1)
      if (dueAt === null) return yield* giveUp(mail, token, "it could not be sent in all its attempts")
      yield* repo.postpone(mail, token, dueAt)
      yield* Effect.logWarning("a message could not be sent and is tried again", cause).pipe(
        Effect.annotateLogs({ attempt: mail.attempts, afterSeconds: dueAt - now })
      )
    })

    const attempt = (token: string) => (mail: DueMail): Effect.Effect<void> =>
      Effect.gen(function*() {
        const { id, merchant_id: merchantId } = mail
        if ((yield* nowSeconds) > Number(mail.created_at) + maximumAgeSeconds) {
          return yield* giveUp(mail, token, "it is older than two days")
        }
        const content = openContent(secrets, mail.sealed_content)
        if (content === null) {
          return yield* giveUp(mail, token, "the master key that it was sealed with is not in secrets.master")
        }
        return yield* Effect.suspend(() => send({ key: { merchantId, id }, ...content })).pipe(
          Effect.timeout(attemptTimeoutMillis),
          Effect.andThen(end(mail, token, "sent")),
          Effect.catchTag("MailRejected", (rejection) =>
            Effect.andThen(
              end(mail, token, "bounced"),
              Effect.logWarning("a message bounced: the mail server will never take it", Cause.fail(rejection))
            )),
          Effect.catchCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.interrupt : tryLater(mail, token, cause))
        )
      }).pipe(
        Effect.annotateLogs({ merchantId: mail.merchant_id, mail: mail.id, kind: mail.kind, driver: name })
      )

    return {
      name: "mail",
      batchSize,
      nextDueMillis: Effect.map(repo.nextDue, (due) => due === null ? null : due * 1_000),
      run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
        const now = Math.floor(nowMillis / 1_000)
        const token = yield* uuidV4
        const taken = yield* repo.take({ token, now, until: now + attemptSeconds, limit })
        yield* Effect.forEach(taken, attempt(token), { concurrency, discard: true })
        return taken.length
      })
    }
  })
