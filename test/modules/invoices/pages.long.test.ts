/**
 * Goal: whoever walks a list of invoices sees everything that was there when the walk began, each exactly once, in
 * order, however many others are created meanwhile.
 * Method: writers that never pause beside a reader, for generated page sizes, filters and directions; the database is
 * asked, not the list, what there was.
 */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { callerOf, invoiceService, newInvoice, newMerchant } from "./InvoiceService.ts"

/** Invoices there are when a walk begins, and those that each writer makes during it. */
const before = 25
const writers = 4
const perWriter = 15

const customers = ["ann", "bob"]

const Walk = Schema.Struct({
  direction: Schema.Literals(["older", "newer", "page"]),
  limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
  customer: Schema.NullOr(Schema.Literals(customers)),
  expand: Schema.Boolean
})

let walks = 0

layer(invoiceService)("a walk of the invoices", (it) => {
  it.effect.prop("never skips and never repeats, while others create", [Walk], ([walk]) =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const make = (which: string, n: number) =>
        newInvoice(callerOf(merchant, "merchant", "devnet", which), { amount: 10, customer_id: customers[n % 2] })
      yield* Effect.forEach(Array.from({ length: before }, (_, n) => n), (n) => make("seed", n), { concurrency: 5 })
      const sql = yield* SqlClient.SqlClient
      const cut: ReadonlyArray<string> = (yield* sql<{ id: string; created_at: bigint }>`
        SELECT id FROM invoices WHERE merchant_id = ${merchant}
          AND customer_id = ANY (${walk.customer === null ? customers : [walk.customer]}) ORDER BY id DESC`).map((
        { id }
      ) => id)
      const until = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      yield* TestClock.adjust("1 second")

      const writing = yield* Effect.forkChild(Effect.forEach(
        Array.from({ length: writers }, (_, writer) => `writer ${writer}`),
        (writer) => Effect.forEach(Array.from({ length: perWriter }, (_, n) => n), (n) => make(writer, n)),
        { concurrency: "unbounded" }
      ))

      const reader = callerOf(merchant, "merchant", "devnet", `reader ${++walks}`)
      const filters = `limit=${walk.limit}${walk.customer === null ? "" : `&customer_id=${walk.customer}`}${
        walk.expand ? "&expand=payments" : ""
      }`
      const seen: Array<string> = []
      const oldest = cut.at(-1)!
      for (let page = 1;; page++) {
        const last = seen.at(-1)
        const where = {
          older: last === undefined ? "" : `&starting_after=${last}`,
          newer: `&ending_before=${last ?? oldest}`,
          page: `&page=${page}&created_lte=${until}`
        }[walk.direction]
        const { data, has_more, total } = yield* reader.ok(`/api/v1/invoices?${filters}${where}`)
        const ids: ReadonlyArray<string> = data.map(({ id }: { id: string }) => id)
        if (walk.direction === "page") assert.strictEqual(total, cut.length)
        seen.push(...(walk.direction === "newer" ? ids.toReversed() : ids))
        if (!has_more) break
        assert.lengthOf(ids, walk.limit)
      }
      yield* Fiber.join(writing)

      assert.strictEqual(new Set(seen).size, seen.length, "nothing twice")
      assert.deepStrictEqual(seen, walk.direction === "newer" ? seen.toSorted() : seen.toSorted().toReversed())
      const expected = walk.direction === "newer" ? cut.filter((id) => id !== oldest).toReversed() : cut
      const inCut = new Set(cut)
      assert.deepStrictEqual(seen.filter((id) => inCut.has(id)), expected, "everything once, in order")
      if (walk.direction === "page") assert.deepStrictEqual(seen, cut)
    }), { arbitrary: { runs: 25 } })
})
