/**
 * `tillwire listen`: events of the merchant sent on to a program on this machine, signed as webhooks are. It asks for
 * them, so nothing of this machine need be reachable, and it remembers its place: an event is done when the receiver
 * answered 2xx, or refused it often enough.
 */
import { Clock, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { createHmac, randomUUID } from "node:crypto"
import { deliveryHeaders, secretOf, secretPrefix, signingKey } from "../../../runtime/webhooks/Signature.ts"
import { connect, type Connection } from "../Connection.ts"
import { type Cursor, openCursor } from "../Cursor.ts"
import { sinceForms, sinceSeconds } from "../Duration.ts"
import { environment } from "../Environment.ts"
import { eventsAfter, eventsFrom, type FeedEvent, type FeedFilter, newestId } from "../EventFeed.ts"
import { type CommandFailed, wrongUse } from "../Failure.ts"
import { forward, type ForwardResult, type Receiver } from "../Forward.ts"
import { say, streamLine } from "../Output.ts"
import { clockText } from "../TimeText.ts"

/** Milliseconds between two looks for events: 30 of the 100 calls that a key has a minute. */
const pollMillis = 2_000

/** Pauses before an event is sent again that was refused or not answered in time; after the last one it is given up. */
const refusalPausesMillis = [5_000, 10_000, 20_000]

/** The same while nobody listens at the URL: it is waited for without end, because the program is just restarted. */
const absencePauseMillis = 1_000

/** A place before the first event of a merchant who has none yet: an id is a position. */
const beforeAll = "evt_0-0"

/** What a line tells of one delivery. Pure. */
export const outcomeText = (result: ForwardResult): string =>
  result._tag === "Answered"
    ? `${result.status}  ${result.millis} ms`
    : `${result.reason}  ${result.millis} ms`

export const isAccepted = (result: ForwardResult): boolean =>
  result._tag === "Answered" && result.status >= 200 && result.status < 300

interface Listener {
  readonly connection: Connection
  readonly cursor: Cursor
  readonly receiver: Receiver
  readonly secret: string
  readonly filter: FeedFilter
  readonly isBodyPrinted: boolean
}

const attempt = ({ receiver, secret }: Listener, event: FeedEvent, number: number, deliveryId: string) =>
  Effect.gen(function*() {
    const body = JSON.stringify(event)
    return yield* forward(
      receiver,
      deliveryHeaders({
        deliveryId,
        eventId: event.id,
        eventType: event.type,
        environment: event.livemode ? "mainnet" : "devnet",
        attempt: number,
        millis: yield* Clock.currentTimeMillis,
        body,
        key: signingKey(secret),
        previousKey: null
      }),
      body
    )
  })

const printAttempt = (listener: Listener, event: FeedEvent, result: ForwardResult, next: string | null) =>
  Effect.gen(function*() {
    const millis = yield* Clock.currentTimeMillis
    const line = {
      at: millis,
      type: event.type,
      id: event.id,
      status: result._tag === "Answered" ? result.status : null,
      error: result._tag === "Answered" ? null : result.reason,
      latency_ms: result.millis,
      next,
      ...(listener.isBodyPrinted ? { event } : {})
    }
    yield* streamLine(line, (paint) =>
      [
        `${clockText(millis)}  ${event.type.padEnd(26)}  ${event.id}  -> ` +
        `${paint(isAccepted(result) ? "good" : "bad", outcomeText(result))}${
          next === null ? "" : `   ${paint("warning", next)}`
        }`,
        ...(listener.isBodyPrinted ? [JSON.stringify(event, null, 2)] : [])
      ].join("\n"))
  })

/** Sends one event until the receiver has it, or has refused it for good. */
const deliver = Effect.fnUntraced(function*(listener: Listener, event: FeedEvent) {
  const deliveryId = `whd_${randomUUID()}`
  let refusals = 0
  let isAbsent = false
  for (let number = 1;; number++) {
    const result = yield* attempt(listener, event, number, deliveryId)
    if (isAccepted(result)) return yield* printAttempt(listener, event, result, null)
    if (result._tag === "Unreachable") {
      // One line is enough for a program that is being restarted.
      if (!isAbsent) yield* printAttempt(listener, event, result, "waiting for the receiver")
      isAbsent = true
      yield* Effect.sleep(absencePauseMillis)
      continue
    }
    isAbsent = false
    const pause = refusalPausesMillis[refusals]
    refusals++
    if (pause === undefined) {
      return yield* printAttempt(listener, event, result, `given up: tillwire events resend ${event.id}`)
    }
    yield* printAttempt(
      listener,
      event,
      result,
      `retry ${refusals}/${refusalPausesMillis.length} in ${pause / 1000} s`
    )
    yield* Effect.sleep(pause)
  }
})

const deliverAll = Effect.fnUntraced(function*(listener: Listener, events: ReadonlyArray<FeedEvent>) {
  for (const event of events) {
    yield* deliver(listener, event)
    yield* listener.cursor.write(event.id)
  }
})

/** Waits for a service that does not answer, or has no time for this key; anything else ends the command. */
const untilAnswered = <A>(effect: Effect.Effect<A, CommandFailed>) =>
  Effect.gen(function*() {
    for (let misses = 0;; misses++) {
      const result = yield* Effect.result(effect)
      if (result._tag === "Success") {
        if (misses > 0) yield* say("the service answers again")
        return result.success
      }
      const { code, kind, reason } = result.failure
      const isTransient = kind === "failed" &&
        (code === undefined || /^(?:HTTP_5|SERVICE_|INTERNAL_|RATE_LIMIT)/.test(code))
      if (!isTransient) return yield* result.failure
      if (misses === 0) yield* say(`${reason}; trying again until it does`)
      yield* Effect.sleep(pollMillis)
    }
  })

/** The id to go on after, when all that is late was delivered. */
const catchUp = Effect.fnUntraced(function*(listener: Listener, from: number | undefined) {
  const remembered = yield* listener.cursor.read
  if (from !== undefined) {
    const newest = yield* untilAnswered(newestId(listener.connection))
    const events = yield* untilAnswered(eventsFrom(listener.connection, from, listener.filter))
    yield* say(`catching up: ${events.length} events`)
    yield* deliverAll(listener, events)
    return events.at(-1)?.id ?? newest ?? beforeAll
  }
  if (remembered !== undefined) {
    yield* say(`going on after ${remembered}`)
    return remembered
  }
  const newest = (yield* untilAnswered(newestId(listener.connection))) ?? beforeAll
  yield* listener.cursor.write(newest)
  return newest
})

const run = Effect.fnUntraced(function*(listener: Listener, from: number | undefined) {
  let after = yield* catchUp(listener, from)
  for (;;) {
    const { events, hasMore } = yield* untilAnswered(eventsAfter(listener.connection, after, listener.filter))
    yield* deliverAll(listener, events)
    after = events.at(-1)?.id ?? after
    if (!hasMore) yield* Effect.sleep(pollMillis)
  }
})

/** A secret that stays the same for a key, and that nobody can come to the key by. */
const secretFor = (apiKey: string): string => secretOf(createHmac("sha256", apiKey).update("tillwire listen").digest())

const readSecret = Effect.fnUntraced(function*(apiKey: string) {
  const own = (yield* environment)["TILLWIRE_WEBHOOK_SECRET"]
  if (own === undefined) return secretFor(apiKey)
  return own.startsWith(secretPrefix)
    ? own
    : yield* wrongUse("TILLWIRE_WEBHOOK_SECRET is not a webhook secret", "Those start with whsec_")
})

export const command = Command.make("listen", {
  forwardTo: Flag.String("forward-to").pipe(
    Flag.withAlias("f"),
    Flag.withDescription("The receiver's exact URL, such as http://localhost:3000/hooks")
  ),
  events: Flag.String("events").pipe(
    Flag.withDescription("Types, comma-separated, such as invoice.*,invoice_payment.*"),
    Flag.optional
  ),
  since: Flag.String("since").pipe(
    Flag.withDescription(`From then on, ${sinceForms}; else where it was`),
    Flag.optional
  ),
  printJson: Flag.Boolean("print-json").pipe(Flag.withDescription("Print each event as well"), Flag.withDefault(false)),
  insecureTls: Flag.Boolean("insecure-tls").pipe(
    Flag.withDescription("Take a certificate of the receiver that nobody vouches for"),
    Flag.withDefault(false)
  )
}, ({ events, forwardTo, insecureTls, printJson, since }) =>
  Effect.gen(function*() {
    if (!URL.canParse(forwardTo) || !/^https?:/.test(forwardTo)) {
      return yield* wrongUse(`--forward-to is not a URL: ${forwardTo}`, "Write it as http://localhost:3000/hooks")
    }
    const now = (yield* Clock.currentTimeMillis) / 1000
    const from = Option.isSome(since) ? sinceSeconds(since.value, now) : undefined
    if (Option.isSome(since) && from === undefined) {
      return yield* wrongUse(`--since takes a time or how long ago, ${sinceForms}`)
    }
    const connection = yield* connect
    const secret = yield* readSecret(connection.apiKey)
    const listener: Listener = {
      connection,
      cursor: yield* openCursor(connection.url, { apiKey: connection.apiKey, receiver: forwardTo }),
      receiver: { url: forwardTo, isTlsUnchecked: insecureTls },
      secret,
      filter: { types: Option.getOrUndefined(events) },
      isBodyPrinted: printJson
    }
    const isOwn = (yield* environment)["TILLWIRE_WEBHOOK_SECRET"] !== undefined
    yield* say(`  ${connection.url} -> ${forwardTo}`)
    yield* say(isOwn ? "  signed with TILLWIRE_WEBHOOK_SECRET" : `  secret ${secret}  (copy it into your program)`)
    return yield* run(listener, from)
  })).pipe(Command.withExamples([
    { command: "tillwire listen -f http://localhost:3000/hooks", description: "All events, from now on" },
    { command: "tillwire listen -f http://localhost:3000/hooks --since 1h", description: "And those of the last hour" }
  ]))
