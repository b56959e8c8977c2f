/**
 * Goal: a sink has every event once it works again, begins where its option says, and is told of events that were
 * deleted before it had them. Method: the real commit log, bus and leases; a sink in memory at the far end.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import * as sinkTables from "../../../modules/sinks/migrations.ts"
import { type EventSink, EventSinks, type SinkEvent, SinkUnavailable } from "../../../modules/sinks/plugin.ts"
import {
  hasMissed,
  merchantEvents,
  merchantsWithMore,
  oldestMillis,
  pauseAfter,
  sinkEventsOf,
  sinkFindings
} from "../../../modules/sinks/rules.ts"
import { Commit, type CommittedEvent, noCause } from "../../../runtime/Commit.ts"
import type { EventType } from "../../../schemas/Event.ts"
import { kernel } from "../../support/Api.ts"
import { until } from "../../support/Service.ts"

const service = EventSinks.layer.pipe(Layer.provideMerge(kernel([{ name: "sinks", ...sinkTables }])))

const append = (merchantId: number, ...types: ReadonlyArray<EventType>) =>
  Effect.flatMap(Commit, (commit) =>
    commit.append({
      merchantId,
      environment: "devnet",
      cause: noCause,
      writes: [],
      events: types.map((type) => ({ type, object: { object: "invoice", id: "i1" }, previousAttributes: {} }))
    })).pipe(Effect.map(({ events }) => events.map(({ id }) => `${merchantId}/${id}`)))

/** A sink that keeps keys; while `isAway` it takes nothing. */
const memorySink = (from: EventSink["from"] = "start") => {
  const keys: Array<string> = []
  const state = { isAway: false, tries: 0 }
  const sink: EventSink = {
    name: "sinks/memory",
    from,
    store: (events: ReadonlyArray<SinkEvent>) =>
      Effect.suspend(() => {
        state.tries++
        if (state.isAway) return Effect.fail(new SinkUnavailable({ reason: "away" }))
        keys.push(...events.map(({ key }) => key))
        return Effect.void
      })
  }
  return { keys, sink, state }
}

const register = (sink: EventSink) => Effect.flatMap(EventSinks, (sinks) => sinks.register(sink))

const has = (keys: ReadonlyArray<string>, count: number) =>
  until(`${count} events`, Effect.sync(() => keys.length), (length) => length >= count)

describe("a sink", () => {
  it.live("has what was committed before it came and after, once, without the types that are named only", () =>
    Effect.gen(function*() {
      const { keys, sink } = memorySink()
      const before = [
        ...yield* append(1, "invoice.created", "exception.opened"),
        ...yield* append(2, "invoice.created")
      ]
      yield* register(sink)
      yield* has(keys, 2)
      const after = yield* append(1, "invoice.paid")
      yield* has(keys, 3)
      assert.sameMembers(keys, [before[0]!, before[2]!, after[0]!])
    }).pipe(Effect.scoped, Effect.provide(service)))

  it.live("goes on after what it had stored, and begins now where it is to begin now", () =>
    Effect.gen(function*() {
      yield* append(1, "invoice.created")
      const late = memorySink("now")
      yield* Effect.sleep(2)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* register(late.sink)
        const sql = yield* SqlClient.SqlClient
        yield* until("it has begun", Effect.orDie(sql`SELECT 1 FROM event_sinks`), (rows) => rows.length > 0)
        const first = yield* append(1, "invoice.updated")
        yield* has(late.keys, 1)
        assert.deepStrictEqual(late.keys, first)
        // A sink that ends before its place is stored gets the event again.
        yield* until(
          "its place is stored",
          Effect.orDie(sql`SELECT 1 FROM event_sink_positions`),
          (rows) => rows.length > 0
        )
      }))
      const meanwhile = yield* append(1, "invoice.paid")
      yield* register(late.sink)
      yield* has(late.keys, 2)
      assert.deepStrictEqual(late.keys.slice(1), meanwhile)
    }).pipe(Effect.scoped, Effect.provide(service)))

  it.live("that was away gets everything when it is back, and is told what was deleted meanwhile", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
      yield* Effect.gen(function*() {
        const { keys, sink, state } = memorySink()
        const first = yield* append(1, "invoice.created")
        yield* register(sink)
        yield* has(keys, 1)
        state.isAway = true
        const tries = state.tries
        const [lost] = [yield* append(1, "invoice.updated")]
        yield* until("it was tried", Effect.sync(() => state.tries), (count) => count > tries)
        const sql = yield* SqlClient.SqlClient
        const [, ms, seq] = /evt_(\d+)-(\d+)/.exec(lost[0]!)!
        yield* sql`DELETE FROM events WHERE merchant_id = 1 AND ms = ${ms}::bigint AND seq = ${seq}::bigint`
        yield* sql`UPDATE merchant_streams SET pruned_ms = ${ms}::bigint, pruned_seq = ${seq}::bigint`
        const kept = yield* append(1, "invoice.paid")
        state.isAway = false
        yield* has(keys, 2)
        assert.deepStrictEqual(keys, [...first, ...kept])
        assert.isTrue(said.some((line) => line.includes("events were deleted before a sink had them")))
      }).pipe(Effect.provide(logger))
    }).pipe(Effect.scoped, Effect.provide(service)))
})

describe("the rules of a round", () => {
  const position = (seq: bigint) => ({ ms: 1n, seq })
  const at = (merchantId: number) => ({ merchantId, version: 1, position: position(5n), pruned: position(0n) })

  it("keep a merchant who may have more, or whose turn did not come", () => {
    const event = { type: "invoice.paid" } as CommittedEvent
    const full = Array.from({ length: merchantEvents }, () => event)
    const positions = [at(1), at(2), at(3)]
    assert.deepStrictEqual(
      merchantsWithMore(positions, [{ at: at(1), events: [event] }, { at: at(2), events: full }]),
      [2, 3]
    )
  })

  it("miss nothing for a merchant who is new to the sink, or whose deleted events it has", () => {
    assert.isFalse(hasMissed({ ...at(1), version: 0, pruned: position(9n) }))
    assert.isFalse(hasMissed({ ...at(1), pruned: position(5n) }))
    assert.isTrue(hasMissed({ ...at(1), pruned: position(6n) }))
  })

  it("leave out the types that are given only to who names them", () => {
    assert.deepStrictEqual(sinkEventsOf([{ type: "batch.paid" } as CommittedEvent]), [])
  })

  it("pause twice as long after each failure, half a minute at most", () => {
    assert.deepStrictEqual([1, 2, 3, 7, 100].map(pauseAfter), [500, 1_000, 2_000, 30_000, 30_000])
  })

  it("tell the age of what waits by the oldest event, whoever tried it", () => {
    const read = (ms: bigint) => ({ at: at(1), events: [{ position: { ms, seq: 1n } } as CommittedEvent] })
    assert.strictEqual(oldestMillis([read(9n), read(7n), { at: at(2), events: [] }]), 7)
    assert.isUndefined(oldestMillis([{ at: at(1), events: [] }]))
  })

  it("degrade health by name when an event waits for a minute", () => {
    assert.isEmpty(sinkFindings("sinks/nats", 60_000))
    assert.include(sinkFindings("sinks/nats", 61_000)[0]!.message, "\"sinks/nats\"")
  })
})
