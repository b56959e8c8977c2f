/**
 * Goal: however live events fall between the reads of a replay, each is told once and in order. Method: a bus in memory
 * whose reads are surrounded by commits that are told live, their numbers drawn from a list; the real connection over a
 * socket that keeps what is written.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { CommittedEvent } from "../../../runtime/Commit.ts"
import type { EventBus } from "../../../runtime/EventBus.ts"
import { Connection, maximumFramesBehind } from "../../../runtime/sockets/Connection.ts"
import { textFrame } from "../../../runtime/sockets/Frames.ts"
import { replay, type ReplayQuery } from "../../../runtime/sockets/Replay.ts"

/** Keeps the texts of the frames written to it; `waiting` bytes never leave it. */
const sink = (waiting = () => 0) => {
  const texts: Array<string> = []
  let closedWith: number | undefined
  const tcp = {
    writable: true,
    bytesRead: 0,
    bytesWritten: 0,
    get writableLength() {
      return waiting()
    },
    write: (frame: Buffer, flushed?: () => void) => {
      const head = frame[1]! < 126 ? 2 : frame[1] === 126 ? 4 : 10
      texts.push(frame.subarray(head).toString())
      if (flushed !== undefined) queueMicrotask(flushed)
    }
  }
  const connection = new Connection(
    { close: (code: number) => void (closedWith = code) } as never,
    tcp as never,
    {
      audience: { stream: "payment", invoiceId: "i" },
      holder: "h",
      revocableAs: null,
      apiVersion: "v",
      expiresAtMillis: Infinity
    },
    { open: 0, slow: 0 },
    true,
    0
  )
  return { connection, texts, closedWith: () => closedWith }
}

/** A merchant's stream in memory: events are numbered from 1, and told to the connection as they are committed. */
const makeLog = (connection: Connection, bursts: ReadonlyArray<number>) => {
  const events: Array<CommittedEvent> = []
  let call = 0
  const commit = (n: number) => {
    for (let left = n; left > 0; left--) {
      const position = { ms: 1n, seq: BigInt(events.length + 1) }
      events.push({ id: `evt_1-${position.seq}`, position } as never)
      connection.send(textFrame(String(position.seq)), position)
    }
  }
  const burst = () => Effect.sync(() => commit(bursts[call++] ?? 0))
  const bus = {
    readAfter: ({ limit, position }: { readonly position: { readonly seq: bigint }; readonly limit: number }) =>
      Effect.gen(function*() {
        yield* burst()
        const found = events.slice(Number(position.seq), Number(position.seq) + limit)
        yield* burst()
        return found
      }),
    countAfter: ({ position }: { readonly position: { readonly seq: bigint } }) =>
      Effect.succeed(events.length - Number(position.seq)),
    prunedPosition: () => Effect.succeed({ ms: 0n, seq: 0n })
  }
  return { bus: bus as unknown as EventBus["Service"], commit, events }
}

const missed = (since: number, maximumEvents: number): ReplayQuery => ({
  since: `evt_1-${since}`,
  position: { ms: 1n, seq: BigInt(since) },
  of: { merchantId: 1 },
  maximumEvents,
  maximumMillis: null,
  textOf: ({ position }) => String(position.seq),
  onShown: () => {}
})

const numbersIn = (texts: ReadonlyArray<string>) => texts.filter((text) => /^\d+$/.test(text)).map(Number)

const Burst = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 450 }))

describe("a replay", () => {
  it.effect.prop("tells every event once and in order, whatever is committed while it reads", [
    Schema.Array(Burst),
    Burst,
    Burst
  ], ([bursts, before, after]) =>
    Effect.gen(function*() {
      const { connection, texts } = sink()
      const log = makeLog(connection, bursts)
      log.commit(before)
      const since = Math.floor(before / 2)
      yield* replay(log.bus, connection, missed(since, 1_000_000))
      log.commit(3)
      connection.finishOpening()
      log.commit(after)
      assert.deepStrictEqual(numbersIn(texts), log.events.slice(since).map((_, at) => since + at + 1))
    }))

  it.effect("reads from the table again what would be too much to keep, and is not slow for it", () =>
    Effect.gen(function*() {
      const { closedWith, connection, texts } = sink()
      const log = makeLog(connection, [0, 0, 0, maximumFramesBehind + 1, 0, 0])
      log.commit(10)
      yield* replay(log.bus, connection, missed(0, 1_000_000))
      connection.finishOpening()
      assert.isUndefined(closedWith())
      assert.deepStrictEqual(numbersIn(texts), log.events.map((_, at) => at + 1))
    }))

  it.effect("that the live events outrun ends the stream, rather than last for ever", () =>
    Effect.gen(function*() {
      const { closedWith, connection } = sink()
      const log = makeLog(connection, Array.from({ length: 10_000 }, () => 200))
      log.commit(10)
      yield* replay(log.bus, connection, missed(0, 1_000))
      assert.strictEqual(closedWith(), 4409)
    }))

  it.effect("that is too long or too old is refused, and what comes afterwards is told", () =>
    Effect.gen(function*() {
      const { connection, texts } = sink()
      const log = makeLog(connection, [])
      log.commit(11)
      yield* replay(log.bus, connection, missed(0, 10))
      connection.finishOpening()
      log.commit(1)
      assert.deepStrictEqual(texts.map((text) => JSON.parse(text).reason ?? JSON.parse(text)), ["too_many_events", 12])
    }))
})

describe("a reader", () => {
  it("that keeps up, but always has something waiting, is not slow; one with 1,000 frames or 1 MB waiting is", () => {
    const frame = textFrame("x".repeat(98))
    const busy = sink(() => 3 * frame.length)
    for (let sent = 0; sent < 5_000; sent++) busy.connection.send(frame, null)
    busy.connection.finishOpening()
    for (let sent = 0; sent < 5_000; sent++) busy.connection.send(frame, null)
    assert.isUndefined(busy.closedWith())
    let stuck = 0
    const slow = sink(() => stuck)
    slow.connection.bufferLive()
    slow.connection.finishOpening()
    for (let sent = 0; sent < 1_000; sent++) {
      stuck += frame.length
      slow.connection.send(frame, null)
    }
    assert.isUndefined(slow.closedWith())
    stuck += frame.length
    slow.connection.send(frame, null)
    assert.strictEqual(slow.closedWith(), 4409)
    const full = sink(() => 1_048_577)
    full.connection.bufferLive()
    full.connection.finishOpening()
    full.connection.send(frame, null)
    assert.strictEqual(full.closedWith(), 4409)
  })

  it("that takes nothing for 10 s is slow, and one that takes a little is not", () => {
    const stuck = sink(() => 10)
    for (let second = 1; second < 11; second++) stuck.connection.tick(second * 1_000, () => Buffer.alloc(0))
    assert.isUndefined(stuck.closedWith())
    stuck.connection.tick(11_001, () => Buffer.alloc(0))
    assert.strictEqual(stuck.closedWith(), 4409)
    let left = 10_000
    const slow = sink(() => left--)
    for (let second = 1; second < 24; second++) slow.connection.tick(second * 1_000, () => Buffer.alloc(0))
    assert.isUndefined(slow.closedWith())
  })
})
