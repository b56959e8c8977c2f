/** Goal: a stream of JetStream that holds each event once and in order, whatever dies between. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { makeStore, type NatsOptions, plugin } from "../../../../modules/sinks/drivers/nats.ts"
import { SinkUnavailable } from "../../../../modules/sinks/plugin.ts"
import { sinkConformance, sinkEvent, type SinkLayer, type StoredText } from "../../../conformance/sinks.ts"
import { hasNatsServer, makeNatsServer, type NatsServer } from "../../../fixtures/natsServer.ts"

const stream = "EVENTS"
const subject = "tillwire.events"

const optionsOf = ({ url }: NatsServer): NatsOptions => ({ servers: [url], stream })

const storedIn = ({ messages }: NatsServer): Effect.Effect<ReadonlyArray<StoredText>> =>
  Effect.map(
    messages(stream),
    (all) => all.map(({ subject: name, text }) => ({ merchantId: Number(name.split(".")[3]), text }))
  )

const server = Effect.tap(makeNatsServer, ({ makeStream }) => makeStream(stream, subject))

describe.skipIf(!hasNatsServer)("with nats-server", () => {
  sinkConformance(
    "nats",
    Effect.map(server, (nats) => ({
      layer: plugin.layer(optionsOf(nats)) as SinkLayer,
      stored: storedIn(nats),
      away: nats.stop,
      back: nats.start,
      dropsRepeats: true
    }))
  )

  it.live("subjects say environment, merchant and type", () =>
    Effect.gen(function*() {
      const nats = yield* server
      const store = yield* makeStore(optionsOf(nats), {})
      yield* store([sinkEvent(7, 0)])
      const [message] = yield* nats.messages(stream)
      assert.strictEqual(message?.subject, "tillwire.events.devnet.7.invoice.created")
    }).pipe(Effect.scoped))

  it.live("no stream, and a stream of another name, are told with what is missing", () =>
    Effect.gen(function*() {
      const nats = yield* makeNatsServer
      const store = yield* makeStore(optionsOf(nats), {})
      const missing = yield* Effect.flip(store([sinkEvent(1, 0)]))
      assert.instanceOf(missing, SinkUnavailable)
      assert.include(missing.reason, "Is there a stream EVENTS that takes tillwire.events.>?")
      yield* nats.makeStream("OTHER", subject)
      assert.include((yield* Effect.flip(store([sinkEvent(1, 0)]))).reason, "expected stream does not match")
    }).pipe(Effect.scoped))

  it.live("a server that is frozen is told with the first event that it did not answer", () =>
    Effect.gen(function*() {
      const nats = yield* server
      const store = yield* makeStore(optionsOf(nats), {})
      yield* store([sinkEvent(1, 0)])
      yield* nats.freeze
      const unanswered = yield* Effect.gen(function*() {
        const trying = yield* Effect.forkChild(Effect.flip(store([sinkEvent(1, 1), sinkEvent(1, 2)])))
        yield* TestClock.adjust("20 seconds")
        return yield* Fiber.join(trying)
      }).pipe(Effect.provide(TestClock.layer()))
      assert.include(unanswered.reason, `${sinkEvent(1, 1).key} was not answered: no answer for 10 s`)
    }).pipe(Effect.scoped))

  it.live("what follows an event that the stream does not take is not in the stream before it", () =>
    Effect.gen(function*() {
      const nats = yield* server
      const store = yield* makeStore(optionsOf(nats), {})
      yield* store([sinkEvent(1, 0)])
      // The server's own limit is 1 MiB.
      const large = { ...sinkEvent(1, 1), text: JSON.stringify("x".repeat(1_100_000)) }
      assert.instanceOf(yield* Effect.flip(store([large, sinkEvent(1, 2), sinkEvent(1, 3)])), SinkUnavailable)
      assert.deepStrictEqual((yield* storedIn(nats)).map(({ text }) => text), [sinkEvent(1, 0).text])
      yield* store([sinkEvent(1, 1), sinkEvent(1, 2)])
      assert.lengthOf(yield* storedIn(nats), 3)
    }).pipe(Effect.scoped))

  it.live(
    "a server that is restarted again and again in the middle leaves each event once and in order",
    () =>
      Effect.gen(function*() {
        const nats = yield* server
        const store = yield* makeStore(optionsOf(nats), {})
        const events = Array.from({ length: 6_000 }, (_, n) => sinkEvent(1 + n % 2, Math.floor(n / 2)))
        const size = 1_500
        let restarts = 0
        for (let at = 0; at < events.length;) {
          const part = events.slice(at, at + size)
          // The first tries of a part meet a restart while it is sent.
          const isRestarted = restarts <= at / size * 2 + 1
          const result = yield* Effect.result(
            isRestarted
              ? Effect.raceFirst(
                store(part),
                Effect.andThen(Effect.sleep(5 + restarts * 7 % 40), Effect.andThen(nats.stop, Effect.never))
              )
              : store(part)
          )
          if (isRestarted) {
            restarts++
            yield* nats.stop
            yield* nats.start
          }
          if (result._tag === "Success") at += size
        }
        const found = yield* storedIn(nats)
        for (const merchantId of [1, 2]) {
          const expected = events.filter((event) => event.merchantId === merchantId).map(({ text }) => text)
          assert.deepStrictEqual(found.filter((one) => one.merchantId === merchantId).map(({ text }) => text), expected)
        }
        assert.isAbove(restarts, 3)
      }).pipe(Effect.scoped)
  )
})

describe("the options of sinks/nats", () => {
  const decode = Schema.decodeUnknownExit(plugin.options!)
  it.each([
    [{ servers: ["nats://user:pass@host:4222"], stream: "S" }, "without a password"],
    [{ servers: ["nats://host:4222"], stream: "S", user: "a" }, "user and password go together"],
    [{ servers: ["nats://host:4222"], stream: "S", token: "a", credentialsFile: "/c" }, "set one of them"]
  ])("refuse %j with a sentence", (options, sentence) => {
    assert.include(String(decode(options)), sentence)
  })
})
