/**
 * Goal: a driver that asks for accounts loses no transfer and tells none too early, whatever its nodes show in which
 * order. Method: any history of readings over the real rules, a model of what was found; then the stream over a real
 * HTTP server.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, MutableRef, Redacted, Schema, Stream } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { ChainEvent, LocatedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import {
  type AccountPollState,
  type AccountReading,
  initialState,
  onReading,
  pollAccounts
} from "../../../runtime/nodes/AccountPoll.ts"
import * as Endpoints from "../../../runtime/nodes/Endpoints.ts"
import { restClient } from "../../../runtime/nodes/Rest.ts"
import { baseUnits } from "../../../schemas/Money.ts"

const point = (height: number) => ({ height: BigInt(height), hash: `h${height}`, time: height * 10 })

const transfer = (id: number, height: number): LocatedTransfer => ({
  txHash: `t${id}`,
  index: 0,
  kind: "direct",
  matchKey: "us",
  tokenAddress: null,
  amount: baseUnits(1n),
  from: null,
  at: point(height)
})

const reading = (upTo: number | null, transfers: ReadonlyArray<LocatedTransfer> = []): AccountReading => ({
  upTo: upTo === null ? null : point(upTo),
  transfers,
  gone: [],
  finalized: null,
  isBehind: false
})

type Forward = Extract<ChainEvent, { _tag: "Forward" }>
const forwardsOf = (events: ReadonlyArray<ChainEvent>) =>
  events.filter((event): event is Forward => event._tag === "Forward")

/** All that a history of readings tells. */
const tell = (readings: ReadonlyArray<AccountReading>, start = initialState([])) => {
  let state: AccountPollState = start
  const looks = readings.map((each) => {
    const [next, events] = onReading(state, each, "ok")
    state = next
    return events
  })
  return { looks, state, events: looks.flat() }
}

const Steps = Schema.Array(Schema.Struct({
  /** How the head moves; null: only a part of the accounts was read. */
  moved: Schema.NullOr(Schema.Literals([-2, 0, 1, 3])),
  /** Transfers shown, from 2 below to 2 above the head. */
  shown: Schema.Array(Schema.Struct({ id: Schema.Literals([0, 1, 2, 3]), offset: Schema.Literals([-2, -1, 0, 1, 2]) }))
    .check(Schema.isMaxLength(4))
})).check(Schema.isMaxLength(40))

describe("what readings of accounts tell", () => {
  it("a transfer that is found again is told again after a minute: the follower may have taken it back", () => {
    const shown = [transfer(1, 100)]
    const { looks } = tell([reading(100, shown), reading(105, shown), reading(107, shown), reading(108, shown)])
    assert.deepStrictEqual(looks.map((events) => forwardsOf(events)[0]!.transfers.length), [1, 0, 0, 1])
  })

  it.prop("every transfer once in its place and not before its height; heights rise; each look ends in finality", [
    Steps
  ], ([steps]) => {
    let head = 100
    const found = new Map<string, LocatedTransfer>()
    const readings = steps.map(({ moved, shown }) => {
      head += moved ?? 0
      const transfers = shown.map(({ id, offset }) => transfer(id, head + offset))
      for (const each of transfers) found.set(`${each.txHash} ${each.at.hash}`, each)
      return reading(moved === null ? null : head, transfers)
    })
    // Every transfer is shown in one place only, as a chain without reorganisations does.
    const placed = new Map<string, LocatedTransfer>()
    for (const each of found.values()) if (!placed.has(each.txHash)) placed.set(each.txHash, each)
    const consistent = readings.map((each) => ({
      ...each,
      transfers: each.transfers.filter(({ at, txHash }) => placed.get(txHash)!.at.hash === at.hash)
    }))
    const { events, looks, state } = tell([...consistent, reading(1_000)])
    const forwards = forwardsOf(events)
    for (const [place, { point: { height } }] of forwards.entries()) {
      assert.isTrue(place === 0 || height > forwards[place - 1]!.point.height)
    }
    for (const look of looks) assert.strictEqual(look.at(-1)!._tag, "Finality")
    const told = forwards.flatMap((forward) => forward.transfers.map((each) => ({ each, forward })))
    assert.deepStrictEqual(
      told.map(({ each }) => each.txHash).toSorted(),
      [...placed.keys()].toSorted()
    )
    for (const { each, forward } of told) assert.isTrue(each.at!.height <= forward.point.height)
    assert.strictEqual(state.waiting.size, 0)
  })

  it("vouches for no second of a transfer that it keeps", () => {
    const [forward] = forwardsOf(tell([reading(5, [transfer(1, 7)])]).events)
    assert.deepStrictEqual(forward!.transfers, [])
    assert.strictEqual(forward!.seenUntil, 49)
    const [early] = forwardsOf(tell([{ ...reading(5, [transfer(1, 7)]), seenUntil: 200 }]).events)
    assert.strictEqual(early!.seenUntil, 69)
  })

  it("takes back what has left the chain, and tells it again where it comes back", () => {
    const gone: AccountReading = { ...reading(6), gone: [{ txHash: "t1", index: 0, matchKey: "us" }] }
    const { events } = tell([reading(5, [transfer(1, 4)]), gone, reading(7, [transfer(1, 4)])])
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
      "Forward",
      "Condition",
      "Finality",
      "Gone",
      "Forward",
      "Finality",
      "Forward",
      "Finality"
    ])
    assert.deepStrictEqual(forwardsOf(events).map(({ transfers }) => transfers.length), [1, 0, 1])
  })

  it("tells a transfer again that was moved to another block, and goes on above where it was before a restart", () => {
    const moved = { ...transfer(1, 6), at: { ...point(6), hash: "other" } }
    const { events } = tell([reading(5, [transfer(1, 4)]), reading(8, [moved])])
    assert.deepStrictEqual(forwardsOf(events).map(({ transfers }) => transfers[0]!.at!.hash), ["h4", "other"])
    assert.deepStrictEqual(forwardsOf(tell([reading(5), reading(9)], initialState([point(5)])).events).length, 1)
  })
})

describe("the loop", () => {
  it.live("reads the head, learns new targets, then asks, and looks again at once where there is more", () =>
    Effect.gen(function*() {
      const steps = MutableRef.make<ReadonlyArray<string>>([])
      const note = (step: string) => MutableRef.update(steps, (before) => [...before, step])
      const height = MutableRef.make(0)
      const server = createServer((_, response) => {
        note("head")
        response.end(JSON.stringify({ height: MutableRef.updateAndGet(height, (before) => before + 1) }))
      })
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => server.close())
      )
      const { port } = server.address() as AddressInfo
      const endpoints = yield* Endpoints.make({
        network: "ton",
        environment: "devnet",
        addresses: [{ url: Redacted.make(`http://127.0.0.1:${port}`) }],
        limits: { lagMillis: 30_000, standstillMillis: null },
        client: (connection) => restClient(connection),
        prove: () => Effect.succeed(null)
      })
      const watch: WatchSet = {
        has: () => true,
        accounts: () => [],
        tokens: () => [],
        transfersAbove: () => Effect.succeed([]),
        refresh: Effect.sync(() => void note("refresh"))
      }
      const events = yield* pollAccounts({
        endpoints,
        environment: "devnet",
        // Longer than the test may last: only a look that is behind is followed by another.
        pollMillis: 3_600_000,
        recent: [],
        watch,
        readHead: (client) =>
          Effect.map(client.get("/", Schema.Struct({ height: Schema.Int })), (head) => point(head.height)),
        read: (_, head, from) =>
          Effect.sync((): AccountReading => {
            note(`ask from ${from?.height ?? "the head"}`)
            return { ...reading(Number(head.height)), isBehind: true }
          })
      }).pipe(Stream.take(5), Stream.runCollect)
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
        "Forward",
        "Condition",
        "Finality",
        "Forward",
        "Finality"
      ])
      assert.deepStrictEqual(MutableRef.get(steps).slice(0, 6), [
        "head",
        "refresh",
        "ask from the head",
        "head",
        "refresh",
        "ask from 1"
      ])
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))
})
