/**
 * Goal: sums that commits keep equal those counted anew over everything, whoever writes, whatever is refused.
 * Method: a sum over the events' snapshots of things, on databases of the test's own; the oracle adds up the things.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Append } from "../../../runtime/Commit.ts"
import { deltasOf, groupRollups } from "../../../runtime/commit/RollupDeltas.ts"
import { bucketOf, type Contribution, cover, type Rollup, width } from "../../../runtime/Rollups.ts"
import { type EventDraft, type EventType, previousAttributes } from "../../../schemas/Event.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import { commitDatabase, commitOf, instance, thing } from "./CommitFixture.ts"

const range = (n: number) => Array.from({ length: n }, (_, index) => index)
const together = { concurrency: "unbounded" } as const

const snapshot = (id: string, status: string, amount: number, at: number): WireObject => ({
  object: "invoice",
  id,
  status,
  amount,
  at,
  invoice_type: "standard",
  customer_id: null,
  metadata: {}
})

const byStatus = (object: WireObject): ReadonlyArray<Contribution> => [{
  at: object.at as number,
  key: object.status as string,
  count: 1,
  amount: BigInt(object.amount as number),
  amountPaid: object.status === "paid" ? BigInt(object.amount as number) : 0n
}]

const things: Rollup = {
  sum: "things.states",
  version: 1,
  object: "invoice",
  widths: [width.ever, width.quarter],
  contributions: byStatus
}

const created = (object: WireObject): EventDraft => ({ type: "invoice.created", object, previousAttributes: {} })
const updated = (before: WireObject, after: WireObject, ...more: ReadonlyArray<EventType>): ReadonlyArray<EventDraft> =>
  (["invoice.updated", ...more] as const).map((type) => ({
    type,
    object: after,
    previousAttributes: previousAttributes(before, after)
  }))

const born = (merchant: number, object: WireObject): Append =>
  commitOf(merchant, { writes: [thing(merchant, object.id as string, 1)], events: [created(object)] })

const rowsOf = (database: Effect.Success<ReturnType<typeof instance>>) =>
  Effect.map(
    database.sql<
      Record<string, unknown>
    >`select merchant_id, width, bucket, key, count, amount, amount_paid from rollups
      where count <> 0 or amount <> 0 or amount_paid <> 0 order by 1, 2, 3, 4`,
    (rows) => rows.map((row) => Object.values(row).map(String).join(" "))
  )

/** The same rows, added up from the objects as they stand. */
const counted = (objects: ReadonlyArray<readonly [merchant: number, object: WireObject]>) => {
  const rows = new Map<string, [bigint, bigint, bigint]>()
  for (const [merchant, object] of objects) {
    for (const wide of things.widths) {
      const [{ amount, amountPaid, at, key }] = byStatus(object) as [Contribution]
      const id = `${merchant} ${wide} ${bucketOf(at, wide)} ${key}`
      const [n, a, p] = rows.get(id) ?? [0n, 0n, 0n]
      rows.set(id, [n + 1n, a + amount, p + amountPaid])
    }
  }
  return [...rows].map(([id, sums]) => [id, ...sums].join(" ")).toSorted()
}

describe("a change", () => {
  const kept = groupRollups([things])
  const [one, two, three] = [
    snapshot("a", "unpaid", 5, 0),
    snapshot("a", "underpaid", 5, 0),
    snapshot("a", "paid", 5, 0)
  ]
  const net = (events: ReadonlyArray<EventDraft>) => deltasOf(kept, events).map(({ count, key }) => `${key} ${count}`)

  it("counts once, however many events tell of it", () => {
    assert.deepStrictEqual(net(updated(one, three, "invoice.paid", "invoice.overpaid")), ["unpaid -1", "paid 1"])
  })

  it("of a new object takes nothing away, and what happens to it in the same commit moves it on", () => {
    assert.deepStrictEqual(net([created(one)]), ["unpaid 1"])
    assert.deepStrictEqual(net([created(one), ...updated(one, three, "invoice.paid")]), ["paid 1"])
  })

  it("in several steps is what lies between its ends", () => {
    const steps = [...updated(one, two, "invoice.partial_payment"), ...updated(two, three, "invoice.paid")]
    assert.deepStrictEqual(net(steps), ["unpaid -1", "paid 1"])
    assert.deepStrictEqual(net([...steps, ...updated(three, one)]), [])
  })

  it("of one object is not one of another, nor of another kind", () => {
    const other = { ...one, id: "b" }
    const payment = { ...one, object: "invoice_payment" }
    assert.deepStrictEqual(net([created(one), created(other), created(payment)]), ["unpaid 2"])
  })
})

describe("a cover", () => {
  it("is every second of its span once, with less than a quarter of an hour left at each end", () => {
    for (const n of range(2_000)) {
      const from = (n * 7_919) % 500_000
      const to = from + ((n * 104_729) % 400_000)
      const { edges, pieces } = cover({ from, to })
      const parts = [...pieces, ...edges].toSorted((a, b) => a.from - b.from)
      parts.forEach((part, at) => assert.strictEqual(part.from, at === 0 ? from : parts[at - 1]!.to))
      if (from < to) assert.strictEqual(parts.at(-1)!.to, to)
      else assert.deepStrictEqual(parts, [])
      pieces.forEach((piece) => assert.strictEqual((piece.from % piece.width) + (piece.to % piece.width), 0))
      if (pieces.length > 0) edges.forEach((edge) => assert.isBelow(edge.to - edge.from, width.quarter))
    }
  })
})

describe("sums", () => {
  it.effect("of many writers on two instances equal those of the objects, and lost races leave no trace", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const logs = [yield* instance(database, [things]), yield* instance(database, [things])] as const
      const states = ["unpaid", "underpaid", "paid", "expired"]
      const last = new Map<string, readonly [number, WireObject]>()
      yield* Effect.forEach(range(40), (n) =>
        Effect.gen(function*() {
          const merchant = 1 + (n % 3)
          let now = snapshot(`t${n}`, "unpaid", 10 + n, n * 700)
          yield* logs[n % 2]!.append(born(merchant, now))
          for (const version of range(6).map((step) => step + 2)) {
            const next = { ...now, status: states[(n + version) % 4]!, amount: (now.amount as number) + 1 }
            const change = commitOf(merchant, {
              writes: [thing(merchant, `t${n}`, version)],
              events: updated(now, next, "invoice.paid")
            })
            // Two instances decide the same at once: one of them has lost.
            const won = yield* Effect.all(logs.map(({ append }) => Effect.exit(append(change))), together)
            assert.strictEqual(won.filter(({ _tag }) => _tag === "Success").length, 1)
            now = next
          }
          last.set(`t${n}`, [merchant, now])
        }), together)
      assert.deepStrictEqual((yield* rowsOf(logs[0])).toSorted(), counted([...last.values()]))
    }))

  it.effect("are counted from the events when they are new, changed or back, and by nobody twice", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const before = yield* instance(database)
      const old = range(30).map((n) => snapshot(`t${n}`, "unpaid", n, n * 100))
      yield* Effect.forEach(old, (object, n) => before.append(born(1 + (n % 2), object)), together)
      const paid = old.map((object) => ({ ...object, status: "paid" }))
      yield* Effect.forEach(paid, (object, n) =>
        before.append(commitOf(1 + (n % 2), {
          writes: [thing(1 + (n % 2), `t${n}`, 2)],
          events: updated(old[n]!, object, "invoice.paid")
        })), together)
      const all = paid.map((object, n) => [1 + (n % 2), object] as const)

      const logs = yield* Effect.forEach(range(4), () => instance(database, [things]), together)
      assert.deepStrictEqual((yield* rowsOf(logs[0]!)).toSorted(), counted(all))
      const next = snapshot("next", "unpaid", 7, 0)
      yield* logs[1]!.append(born(2, next))
      assert.deepStrictEqual((yield* rowsOf(logs[0]!)).toSorted(), counted([...all, [2, next]]))

      // Kept no more, told on, and back.
      const without = yield* instance(database)
      const missed = snapshot("missed", "unpaid", 9, 0)
      yield* without.append(born(1, missed))
      const back = yield* instance(database, [things])
      assert.deepStrictEqual((yield* rowsOf(back)).toSorted(), counted([...all, [2, next], [1, missed]]))

      const doubled: Rollup = {
        ...things,
        version: 2,
        contributions: (object) => byStatus(object).map((each) => ({ ...each, count: 2 }))
      }
      const changed = yield* instance(database, [doubled])
      const [twice] = yield* changed.sql`select sum(count)::integer n from rollups where width = 0`
      assert.deepStrictEqual(twice, { n: 2 * 32 })
    }))

  it.effect("cannot be written past by an instance that does not keep them", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const old = yield* instance(database)
      yield* old.append(born(1, snapshot("a", "unpaid", 1, 0)))
      const log = yield* instance(database, [things])
      const refused = yield* Effect.flip(old.append(born(1, snapshot("b", "unpaid", 1, 0))))
      assert.strictEqual(refused._tag === "PublicError" && refused.code, "SERVICE_UNAVAILABLE")
      yield* log.append(born(1, snapshot("c", "unpaid", 1, 0)))
      assert.deepStrictEqual(yield* rowsOf(log), ["1 0 0 unpaid 2 2 0", "1 900 0 unpaid 2 2 0"])
    }))
})
