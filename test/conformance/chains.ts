/**
 * Goal: a follower may trust any chain driver the same way.
 * Method: each driver's test gives a rig, a chain it can make things happen on; every promise of `ChainDriver.follow`
 * is tried on a chain of its own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope, Stream } from "effect"
import { blockHistoryOf, watching } from "../support/Drivers.ts"
import type {
  ChainDriver,
  ChainEvent,
  ChainPoint,
  ObservedTransfer,
  TransferIdentity,
  WatchSet
} from "../../runtime/Chains.ts"

export interface TestedChain {
  readonly driver: ChainDriver
  /** Pays in the native coin (null) or the rig's token; mined at once in a block of its own. */
  readonly pay: (to: string, token: string | null, amount: bigint) => Effect.Effect<{ readonly txHash: string }>
  /** Pays several receivers of the token in one transaction. */
  readonly payMany: (to: ReadonlyArray<string>, amount: bigint) => Effect.Effect<{ readonly txHash: string }>
  readonly mine: (blocks: number) => Effect.Effect<void>
  /** Replaces the newest blocks; transactions in them vanish. */
  readonly drop: (depth: number) => Effect.Effect<void>
  /** Replaces the newest blocks by others that hold the same transactions, one block later. */
  readonly reinclude: (depth: number) => Effect.Effect<void>
  readonly token: string
}

/** What a follower would know after some events: the points, and what each block brought. */
interface Journal {
  readonly points: ReadonlyArray<ChainPoint>
  readonly transfers: ReadonlyMap<string, ObservedTransfer & { readonly height: bigint }>
}

const empty: Journal = { points: [], transfers: new Map() }

const keyOf = ({ index, txHash }: TransferIdentity): string => `${txHash}:${index}`

/** Applies an event as the journal does, and insists on order: a height comes once, right after the one below. */
const apply = (journal: Journal, event: ChainEvent): Journal => {
  switch (event._tag) {
    case "Finality":
    case "Condition":
      return journal
    case "Forward": {
      const top = journal.points[0]
      if (top !== undefined) assert.strictEqual(event.point.height, top.height + 1n, "blocks come in order")
      const transfers = new Map(journal.transfers)
      for (const transfer of event.transfers) {
        assert.isFalse(transfers.has(keyOf(transfer)), "a transfer comes once")
        transfers.set(keyOf(transfer), { ...transfer, height: event.point.height })
      }
      return { points: [event.point, ...journal.points], transfers }
    }
    case "Gone": {
      const transfers = new Map(journal.transfers)
      for (const transfer of event.transfers) transfers.delete(keyOf(transfer))
      return { ...journal, transfers }
    }
    case "Rollback":
      return {
        points: journal.points.filter(({ height }) => height <= event.to.height),
        transfers: new Map([...journal.transfers].filter(([, { height }]) => height <= event.to.height))
      }
  }
}

/** Follows from `journal` until it satisfies `done`. */
const followUntil = (
  driver: ChainDriver,
  journal: Journal,
  watch: WatchSet,
  done: (journal: Journal) => boolean
) =>
  driver.follow(journal.points, watch).pipe(
    Stream.scan(() => journal, apply),
    Stream.filter(done),
    Stream.runHead,
    Effect.map((found) => found._tag === "Some" ? found.value : empty)
  )

const address = (digit: string): string => `0x${digit.repeat(40)}`
const amounts = (journal: Journal) => [...journal.transfers.values()].map(({ amount }) => amount).sort()

/** Runs the suite; `rig` is made anew for every test. */
export const chainConformance = (name: string, rig: Effect.Effect<TestedChain, never, Scope.Scope>) => {
  const promise = (
    title: string,
    work: (rig: TestedChain, start: Journal) => Effect.Effect<void, unknown, Scope.Scope>
  ) =>
    it.live(title, () =>
      Effect.gen(function*() {
        const made = yield* rig
        const start = yield* followUntil(made.driver, empty, watching([]), ({ points }) => points.length === 1)
        yield* work(made, start)
      }).pipe(Effect.scoped))

  describe(`chain driver ${name}`, () => {
    promise(
      "starts at the head, and yields every block after a cursor in order",
      ({ driver, mine }, start) =>
        Effect.gen(function*() {
          yield* mine(30)
          const journal = yield* followUntil(driver, start, watching([]), ({ points }) => points.length === 31)
          assert.strictEqual(journal.points[0]!.height, start.points[0]!.height + 30n)
        })
    )

    promise("finds transfers to watched addresses once, with what they are", (rig, start) =>
      Effect.gen(function*() {
        const native = yield* rig.pay(address("a"), null, 5n)
        const token = yield* rig.pay(address("b"), rig.token, 6n)
        yield* rig.pay(address("c"), null, 7n)
        const many = yield* rig.payMany([address("a"), address("a"), address("b")], 8n)
        const watch = watching([address("a"), address("b")])
        const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 5)
        const one = (txHash: string) => [...journal.transfers.values()].filter((found) => found.txHash === txHash)
        assert.deepStrictEqual(
          [native, token].map(({ txHash }) =>
            one(txHash).map(({ amount, index, matchKey, tokenAddress }) => ({
              amount: BigInt(amount),
              first: index === 0,
              matchKey,
              tokenAddress
            }))
          ),
          [
            [{ amount: 5n, first: true, matchKey: address("a"), tokenAddress: null }],
            [{ amount: 6n, first: false, matchKey: address("b"), tokenAddress: rig.token }]
          ]
        )
        assert.strictEqual(new Set(one(many.txHash).map(({ index }) => index)).size, 3)
      }))

    promise("gives the same journal from any cursor", (rig, start) =>
      Effect.gen(function*() {
        yield* rig.pay(address("a"), rig.token, 1n)
        yield* rig.mine(2)
        yield* rig.pay(address("a"), null, 2n)
        yield* rig.pay(address("a"), rig.token, 3n)
        const watch = watching([address("a")])
        const whole = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 3)
        for (const [skip] of whole.points.entries()) {
          const points = whole.points.slice(skip)
          const known = [...whole.transfers].filter(([, { height }]) => height <= points[0]!.height)
          const resumed = yield* followUntil(rig.driver, { points, transfers: new Map(known) }, watch, (journal) =>
            journal.points[0]!.height === whole.points[0]!.height)
          assert.deepStrictEqual([...resumed.transfers].sort(), [...whole.transfers].sort())
        }
      }))

    promise("takes back what a reorg dropped, also while nobody was following", (rig, start) =>
      Effect.gen(function*() {
        const watch = watching([address("a")])
        yield* rig.pay(address("a"), rig.token, 1n)
        yield* rig.pay(address("a"), rig.token, 2n)
        const before = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 2)
        yield* rig.drop(1)
        const after = yield* followUntil(rig.driver, before, watch, ({ points, transfers }) =>
          transfers.size === 1 && points.length === before.points.length)
        assert.deepStrictEqual(amounts(after), amounts(before).slice(0, 1))
        assert.notStrictEqual(after.points[0]!.hash, before.points[0]!.hash)
      }))

    promise(
      "takes a reorg of the same height while following, and finds the transfer under its old key",
      (rig, start) =>
        Effect.gen(function*() {
          const watch = watching([address("a")])
          yield* rig.pay(address("a"), rig.token, 4n)
          const before = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 1)
          const [key, seen] = [...before.transfers][0]!
          const moved = yield* Effect.forkChild(followUntil(rig.driver, before, watch, ({ transfers }) => {
            const again = transfers.get(key)
            return again !== undefined && again.height > seen.height
          }))
          yield* rig.reinclude(1)
          const after = yield* Fiber.join(moved)
          assert.strictEqual(after.transfers.size, 1)
          assert.strictEqual(after.transfers.get(key)!.amount, seen.amount)
        })
    )

    promise(
      "reads a block again by its height, and none on a branch that was left",
      (rig, start) =>
        Effect.gen(function*() {
          const watch = watching([address("a")])
          yield* rig.pay(address("a"), rig.token, 3n)
          yield* rig.pay(address("c"), rig.token, 4n)
          const before = yield* followUntil(rig.driver, start, watch, ({ points }) => points.length === 3)
          const [top, middle] = before.points as [ChainPoint, ChainPoint]
          const own = yield* blockHistoryOf(rig.driver).readBlock(middle.height, middle, watch)
          assert.deepStrictEqual(yield* blockHistoryOf(rig.driver).readBlock(middle.height, top, watch), own)
          assert.deepStrictEqual([own.point, own.transfers.map(({ amount }) => BigInt(amount))], [middle, [3n]])
          yield* rig.drop(1)
          yield* followUntil(
            rig.driver,
            before,
            watch,
            ({ points }) => points.length === 3 && points[0]!.hash !== top.hash
          )
          assert.strictEqual(
            (yield* Effect.flip(blockHistoryOf(rig.driver).readBlock(middle.height, top, watch)))._tag,
            "DriverError"
          )
          assert.deepStrictEqual(yield* blockHistoryOf(rig.driver).readBlock(middle.height, middle, watch), own)
        })
    )

    promise("flips between forks as often as the chain does", (rig, start) =>
      Effect.gen(function*() {
        const watch = watching([address("a")])
        let journal = yield* followUntil(rig.driver, start, watch, ({ points }) => points.length > 0)
        for (let round = 0; round < 4; round++) {
          yield* rig.pay(address("a"), rig.token, 1n)
          journal = yield* followUntil(rig.driver, journal, watch, ({ transfers }) => transfers.size === 1)
          yield* rig.drop(1)
          journal = yield* followUntil(rig.driver, journal, watch, ({ transfers }) => transfers.size === 0)
        }
      }))
  })
}
