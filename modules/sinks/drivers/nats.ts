/**
 * A stream of NATS JetStream (docs.nats.io). Each event is a message of the subject
 * `<subject>.<environment>.<merchant id>.<type>` with the event's key as its `Nats-Msg-Id`, so that the stream drops one
 * that comes again within its `duplicate_window`. The library is loaded at the first event.
 */
import type { NatsConnection } from "@nats-io/transport-node"
import { Effect, FileSystem, Layer, Redacted, Result, Schema, Scope } from "effect"
import { isAbsolute } from "node:path"
import { ConfigInvalid } from "../../../runtime/Config.ts"
import * as Plugin from "../../../runtime/Plugin.ts"
import { EventSinks, type SinkEvent, SinkUnavailable } from "../plugin.ts"

const name = "sinks/nats"

/** Messages that wait for the stream's answer at once. */
const concurrency = 256

/** The status of an answer that the server gives where no stream takes the subject (docs.nats.io, ADR-4). */
const nobodyListens = 503

/** Merchants whose events are sent at once, those of each one by one, while it is not known what the stream has. */
const merchantConcurrency = 32

/** Milliseconds for a connection, and for the stream's next answer. */
const connectTimeoutMillis = 5_000
const answerTimeoutMillis = 10_000

const filePath = Schema.String.check(Schema.makeFilter(isAbsolute, { expected: "an absolute path" }))

const Options = Schema.Struct({
  /** `nats://host:4222` or `tls://host:4222` of one cluster, 1 to 16. */
  servers: Schema.NonEmptyArray(
    Schema.String.check(Schema.isPattern(/^(?:nats|tls):\/\/[A-Za-z0-9.:[\]-]{1,253}$/, {
      message: "Expected nats://host:4222 or tls://host:4222, without a password"
    }))
  ).check(Schema.isMaxLength(16)),
  /** The stream that takes the subject, which an operator makes. A message that another stream would take is refused. */
  stream: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,32}$/)),
  /** What subjects begin with. Default `tillwire.events`. */
  subject: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){0,3}$/))),
  /** One of: nothing, `user` with `password`, `token`, or the file that `nsc` makes for a user. */
  user: Schema.optionalKey(Schema.NonEmptyString),
  password: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
  token: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
  credentialsFile: Schema.optionalKey(filePath),
  /** Certificates (PEM) of an authority of your own; absent: those that Node knows. */
  caFile: Schema.optionalKey(filePath),
  /** Begin at the oldest event that is stored, or at those of the first start. Default `start`. */
  from: Schema.optionalKey(Schema.Literals(["start", "now"]))
}).check(
  Schema.makeFilter(({ password, user }: { readonly password?: unknown; readonly user?: string }) =>
    (user === undefined) === (password === undefined) || "user and password go together: set both or none"
  ),
  Schema.makeFilter((
    options: { readonly user?: unknown; readonly token?: unknown; readonly credentialsFile?: unknown }
  ) =>
    [options.user, options.token, options.credentialsFile].filter((one) => one !== undefined).length <= 1 ||
    "user, token and credentialsFile are three ways to sign in: set one of them"
  )
)
export type NatsOptions = typeof Options.Type

/** What the stream answers to a message that it does not store. Source: docs.nats.io, JetStream wire API, `PubAck`. */
const Refusal = Schema.fromJsonString(Schema.Struct({
  error: Schema.Struct({ code: Schema.Int, description: Schema.String })
}))

/** An answer that says where the message is stored. It is told from others without parsing, for each event. */
const isStored = (answer: string): boolean => /^\{"stream":"[^"]{1,255}",\s?"seq":\d/.test(answer)

const library = Effect.tryPromise({
  try: () => import("@nats-io/transport-node"),
  catch: (cause) =>
    new SinkUnavailable({ reason: `the library of NATS did not load: install the service anew (${String(cause)})` })
})
type Library = Effect.Success<typeof library>

/** What the files of the options hold. */
export interface NatsFiles {
  readonly credentials?: Uint8Array
  readonly ca?: string
}

/** A connection that is not made again when it breaks: what it had not sent must not come late. */
const open = ({ password, servers, token, user }: NatsOptions, { ca, credentials }: NatsFiles) =>
  Effect.flatMap(library, (nats) =>
    Effect.tryPromise({
      try: () =>
        nats.connect({
          servers: [...servers],
          name: "tillwire",
          reconnect: false,
          timeout: connectTimeoutMillis,
          ...(user === undefined || password === undefined ? {} : { user, pass: Redacted.value(password) }),
          ...(token === undefined ? {} : { token: Redacted.value(token) }),
          ...(credentials === undefined ? {} : { authenticator: nats.credsAuthenticator(credentials) }),
          ...(ca === undefined ? {} : { tls: { ca } })
        }),
      catch: (cause) =>
        new SinkUnavailable({
          reason: `no connection to ${servers.join(", ")}: ${reasonOf(cause)}. Check servers, sign-in and the way there`
        })
    }).pipe(Effect.map((connection) => ({ connection, nats }))))

interface Opened {
  readonly connection: NatsConnection
  readonly nats: Library
}

const reasonOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/** The subject and headers of an event's message; `previous`: the key of the message that must be the stream's last. */
const messageOf = (
  { nats }: Opened,
  { stream, subject = "tillwire.events" }: NatsOptions,
  { environment, key, merchantId, type }: SinkEvent,
  previous: string | undefined
) => {
  const headers = nats.headers()
  headers.set("Nats-Msg-Id", key)
  headers.set("Nats-Expected-Stream", stream)
  if (previous !== undefined) headers.set("Nats-Expected-Last-Msg-Id", previous)
  return { subject: `${subject}.${environment}.${merchantId}.${type}`, headers }
}

const notAnswered = ({ stream, subject = "tillwire.events" }: NatsOptions, key: string, reason: string) =>
  new SinkUnavailable({
    reason: `${key} was not answered: ${reason}. Is there a stream ${stream} that takes ${subject}.>?`
  })

/** Sends one message, and waits until it is stored. */
const publish = (opened: Opened, options: NatsOptions, event: SinkEvent): Effect.Effect<void, SinkUnavailable> =>
  Effect.tryPromise({
    try: () => {
      const { headers, subject } = messageOf(opened, options, event, undefined)
      return opened.connection.request(subject, event.text, { headers, timeout: answerTimeoutMillis })
    },
    catch: (cause) => notAnswered(options, event.key, reasonOf(cause))
  }).pipe(
    Effect.flatMap((message) => {
      const answer = message.string()
      return isStored(answer) ? Effect.void : refusal(event.key, answer)
    })
  )

/** Why the stream did not store an event. */
const refusal = (key: string, answer: string): Effect.Effect<never, SinkUnavailable> =>
  Schema.decodeUnknownEffect(Refusal)(answer).pipe(
    Effect.mapError(() =>
      new SinkUnavailable({
        reason: `${key} was answered by something that is no stream: is subject used by another program?`
      })
    ),
    Effect.flatMap(({ error: { code, description } }) =>
      Effect.fail(
        new SinkUnavailable({
          reason: `the stream refused ${key}: ${description} (${code}). See its limits and who else publishes to it`
        })
      )
    )
  )

/** How many of a round's messages were sent, and how many of them the stream has stored. */
interface Delivered {
  sent: number
  stored: number
}

/**
 * Sends a round with at most {@link concurrency} messages without an answer. One subscription hears all answers: a
 * request of the library makes two errors with their stack traces before anything has failed, a third of its time.
 */
const publishRound = (
  opened: Opened,
  options: NatsOptions,
  events: ReadonlyArray<SinkEvent>,
  delivered: Delivered
): Effect.Effect<void, SinkUnavailable> =>
  Effect.callback((resume) => {
    const { connection, nats } = opened
    const inbox = nats.createInbox()
    const end = (result: Effect.Effect<void, SinkUnavailable>) => {
      answers.unsubscribe()
      resume(result)
    }
    const fail = (key: string, reason: string) => end(Effect.fail(notAnswered(options, key, reason)))
    const sendMore = () => {
      while (delivered.sent < events.length && delivered.sent - delivered.stored < concurrency) {
        const place = delivered.sent++
        const event = events[place]!
        const { headers, subject } = messageOf(opened, options, event, events[place - 1]?.key)
        const sending = Result.try(() =>
          connection.publish(subject, event.text, { headers, reply: `${inbox}.${place}` })
        )
        if (Result.isFailure(sending)) return fail(event.key, reasonOf(sending.failure))
      }
    }
    const answers = connection.subscribe(`${inbox}.*`, {
      callback: (error, message) => {
        if (error !== null) return fail(events[delivered.stored]!.key, error.message)
        const { key } = events[Number(message.subject.slice(inbox.length + 1))]!
        if (message.headers?.code === nobodyListens) return fail(key, "nobody listens to its subject")
        const answer = message.string()
        if (!isStored(answer)) return end(refusal(key, answer))
        delivered.stored++
        if (delivered.stored === events.length) return end(Effect.void)
        sendMore()
      }
    })
    sendMore()
    return Effect.sync(() => answers.unsubscribe())
  })

/** Fails once the stream has answered nothing for {@link answerTimeoutMillis}: it is looked at as often. */
const unanswered = (
  options: NatsOptions,
  events: ReadonlyArray<SinkEvent>,
  delivered: Delivered
): Effect.Effect<never, SinkUnavailable> =>
  Effect.suspend(() => {
    const { stored } = delivered
    return Effect.andThen(
      Effect.sleep(answerTimeoutMillis),
      Effect.suspend(() =>
        stored === delivered.stored
          ? Effect.fail(notAnswered(options, events[stored]!.key, `no answer for ${answerTimeoutMillis / 1_000} s`))
          : unanswered(options, events, delivered)
      )
    )
  })

/**
 * All at once, each only behind the one before it: where one is lost, those that follow are refused, so that the order
 * holds. For events that the stream has never been sent.
 */
const publishNew = (opened: Opened, options: NatsOptions, events: ReadonlyArray<SinkEvent>) =>
  Effect.suspend(() => {
    const delivered: Delivered = { sent: 0, stored: 0 }
    const broken = Effect.andThen(
      Effect.promise(() => opened.connection.closed()),
      Effect.suspend(() => Effect.fail(notAnswered(options, events[delivered.stored]!.key, "the connection broke")))
    )
    return publishRound(opened, options, events, delivered).pipe(
      Effect.raceFirst(broken),
      Effect.raceFirst(unanswered(options, events, delivered))
    )
  })

/** Those of a merchant one by one, each when the one before it is stored: the stream may have some of them. */
const publishAgain = (opened: Opened, options: NatsOptions, events: ReadonlyArray<SinkEvent>) =>
  Effect.forEach(
    Map.groupBy(events, ({ merchantId }) => merchantId).values(),
    (ofMerchant) => Effect.forEach(ofMerchant, (event) => publish(opened, options, event), { discard: true }),
    { concurrency: merchantConcurrency, discard: true }
  )

/** Stores by one connection, which is closed after a failure and with the scope. */
export const makeStore = (
  options: NatsOptions,
  files: NatsFiles
): Effect.Effect<(events: ReadonlyArray<SinkEvent>) => Effect.Effect<void, SinkUnavailable>, never, Scope.Scope> =>
  Effect.gen(function*() {
    let opened: Opened | undefined
    let mayHaveSome = true
    // Not waited for: the library may wait for a server that is gone. Nothing is sent by it from then on.
    const close = Effect.sync(() => {
      opened?.connection.close().catch(() => undefined)
      opened = undefined
      mayHaveSome = true
    })
    yield* Effect.addFinalizer(() => close)
    return (events) =>
      Effect.gen(function*() {
        if (opened?.connection.isClosed() === true) yield* close
        opened ??= yield* open(options, files)
        yield* (mayHaveSome ? publishAgain : publishNew)(opened, options, events)
        mayHaveSome = false
      }).pipe(Effect.onError(() => close))
  })

const readFile = (path: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFile(path)).pipe(
    Effect.mapError(() =>
      new ConfigInvalid({
        report: `${path}: it is not there, or may not be read: let the account of the service read it`,
        count: 1
      })
    )
  )

export const plugin = Plugin.make({
  name,
  slot: "modules",
  options: Options,
  needs: { sinks: EventSinks },
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const { caFile, credentialsFile, from = "start" } = options
      const files: NatsFiles = {
        ...(credentialsFile === undefined ? {} : { credentials: yield* readFile(credentialsFile) }),
        ...(caFile === undefined ? {} : { ca: Buffer.from(yield* readFile(caFile)).toString("utf8") })
      }
      yield* (yield* EventSinks).register({ name, from, store: yield* makeStore(options, files) })
    }))
})
