/**
 * Sends notices that are due: those of one merchant, environment and kind that wait together are one message to each
 * who may act on them. That they were sent and the messages themselves are one commit, so a crash leaves both or none.
 */
import { Cause, Effect, Schema } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { Commit, noCause, systemMerchant } from "../../../runtime/Commit.ts"
import { Mail, type MailMessage } from "../../../runtime/Mail.ts"
import { Settings } from "../../../runtime/Settings.ts"
import type { DueSource } from "../../../runtime/Timers.ts"
import { type Language, negotiateLanguage } from "../../../schemas/Languages.ts"
import { descriptorOf, Network } from "../../../schemas/Network.ts"
import { MerchantSettings } from "../../settings/plugin.ts"
import { TeamContacts } from "../../team/plugin.ts"
import {
  lastSentWrite,
  type NoticeGroup,
  type Repo,
  rowsPerCall,
  sentNoticeWrite,
  type WaitingNotice
} from "../repo.ts"
import { quietSeconds, rightOf } from "../rules.ts"
import { merchantNotice, networkNotice, unownedNotice } from "../rules/NoticeMail.ts"

/** Groups of one run: each is a few statements and one commit. */
const batchSize = 100

/** Seconds until a group is tried again whose messages could not be made. */
const retrySeconds = 300

/** Who runs the service, and hears of what no merchant can mend. */
export interface Operator {
  readonly email: string
  readonly language: Language
}

const isNetwork = Schema.is(Network)

/** The timer's source. */
export const makeDigests = Effect.fnUntraced(function*(repo: Repo, operator: Operator | null) {
  const commit = yield* Commit
  const contacts = yield* TeamContacts
  const mail = yield* Mail
  const { publicUrl } = yield* Settings
  const settings = yield* MerchantSettings

  const operatorMessages = (
    { environment, subject, ...notice }: WaitingNotice,
    { email, language }: Operator
  ): ReadonlyArray<Pick<MailMessage, "language" | "subject" | "text" | "to">> => {
    const facts = { ...notice, link: `${publicUrl}/api/v1/networks/status?environment=${environment}` }
    const message = notice.kind === "network"
      ? networkNotice(language, isNetwork(subject) ? descriptorOf(subject).label : subject, facts)
      : unownedNotice(language, facts)
    return [{ to: email, language, ...message }]
  }

  const merchantMessages = Effect.fnUntraced(function*(
    { environment, merchantId, subject, ...notice }: WaitingNotice,
    kind: "endpoint" | "exception"
  ) {
    const { branding } = yield* settings.get(merchantId, environment)
    const home = `${publicUrl}/dashboard/${merchantId}/${environment}`
    const one = kind === "exception" ? `todo?open=${subject}` : `webhooks/${subject}`
    const link = `${home}/${notice.count === 1 ? one : kind === "exception" ? "todo" : "webhooks"}`
    const people = yield* contacts.find(merchantId, rightOf[kind], environment)
    return people.map(({ email, language: chosen }) => {
      const language = chosen ?? negotiateLanguage([branding.default_locale]) ?? "en"
      return { to: email, language, ...merchantNotice(language, kind, branding.name, { ...notice, link }) }
    })
  })

  const messagesOf = (notice: WaitingNotice) => {
    if (notice.merchantId !== systemMerchant && notice.kind !== "network") return merchantMessages(notice, notice.kind)
    return Effect.succeed(operator === null ? [] : operatorMessages(notice, operator))
  }

  const sendGroup = Effect.fnUntraced(function*(group: NoticeGroup) {
    // Read first: a notice that was sent since is no longer the oldest, and then the commit must conflict.
    const last = yield* repo.lastSent(group)
    while ((yield* repo.addUp(group)) >= rowsPerCall - 1) { /* the next ones */ }
    const notice = yield* repo.oldest(group)
    const now = yield* nowSeconds
    if (notice === null || notice.dueAt > now) return
    if (last.sentAt + quietSeconds > now) return yield* repo.postpone(group, last.sentAt + quietSeconds)
    const { environment, id, merchantId } = notice
    const messages = yield* messagesOf(notice)
    const writes = yield* Effect.forEach(messages, (message, index) =>
      mail.draftOnce({
        ...message,
        id: `notice_${id}_${index}`,
        merchantId,
        environment,
        kind: "notice",
        customerId: null,
        maximumPerHour: null,
        hasOwnLimit: true
      }))
    // A conflict: another one was added to it, or another instance was first. What is left is looked at again.
    yield* commit.append({
      merchantId,
      environment,
      cause: noCause,
      writes: [
        sentNoticeWrite(notice),
        lastSentWrite(group, { version: last.version + 1, sentAt: now }),
        ...writes.flat()
      ],
      events: []
    }).pipe(Effect.catchTag("Conflict", () => Effect.void))
  })

  /** A group that cannot be sent holds up no other merchant's. */
  const trySend = (group: NoticeGroup) =>
    sendGroup(group).pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Effect.gen(function*() {
          yield* Effect.logError("notices could not be sent and are tried again", group, cause)
          yield* repo.postpone(group, (yield* nowSeconds) + retrySeconds)
        })
      )
    )

  const source: DueSource = {
    name: "notices",
    batchSize,
    nextDueMillis: Effect.suspend(() =>
      mail.isEnabled()
        ? Effect.map(repo.nextDue, (due) => due === null ? null : due * 1_000)
        : Effect.succeed(null)
    ),
    run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
      if (!mail.isEnabled()) return 0
      const groups = yield* repo.dueGroups(Math.floor(nowMillis / 1_000), limit)
      yield* Effect.forEach(groups, trySend, { discard: true })
      return groups.length
    }, Effect.catch((error) => Effect.die(error)))
  }
  return source
})
