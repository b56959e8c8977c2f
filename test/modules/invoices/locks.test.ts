/**
 * Goal: where somebody holds a lock in the database, a merchant is told within 3 s to try again, and trying again does
 * it once. Method: the till; a session of the test's own locks the invoice's row, or the whole table.
 */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import type { Answer } from "../../support/Api.ts"
import { timed } from "../../support/Stopwatch.ts"
import { callerOf, invoiceService, newInvoice, newMerchant, ok, post, refused, usualPrices } from "./InvoiceService.ts"

const promisedMillis = 3_000

/** Holds what `statement` locks while `work` runs. */
const whileLocked = <A, E, R>(statement: string, work: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [holds, free] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const session = yield* Effect.forkChild(sql.withTransaction(Effect.gen(function*() {
      yield* sql.unsafe(statement)
      yield* Deferred.succeed(holds, undefined)
      yield* Deferred.await(free)
    })))
    yield* Deferred.await(holds)
    const { answer, millis } = yield* timed(work)
    yield* Deferred.succeed(free, undefined)
    yield* Fiber.await(session)
    assert.isBelow(millis, promisedMillis)
    return answer
  })

const toldToTryAgain = (answer: Answer) => {
  refused(answer, 503, "SERVICE_UNAVAILABLE")
  assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/)
}

layer(invoiceService)("a lock that somebody holds", (it) => {
  it.effect("on the table refuses a new invoice, and the repeat with its key makes one", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const call = post({ amount: 10_000 })
      toldToTryAgain(
        yield* whileLocked("LOCK TABLE invoices IN ACCESS EXCLUSIVE MODE", caller.call("/api/v1/invoices", call))
      )
      assert.strictEqual((yield* caller.ok("/api/v1/invoices")).data.length, 0)
      const [first, second] = [yield* caller.ok("/api/v1/invoices", call), yield* caller.ok("/api/v1/invoices", call)]
      assert.strictEqual(first.invoice.id, second.invoice.id)
      assert.strictEqual((yield* caller.ok("/api/v1/invoices")).data.length, 1)
    }))

  it.effect("on an invoice refuses its cancellation and nothing else", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const { id } = yield* newInvoice(caller, { amount: 10_000 })
      const cancel = caller.call(`/api/v1/invoices/${id}/cancel`, post({}, "cancel"))
      const [canceled, made] = yield* whileLocked(
        `SELECT * FROM invoices WHERE id = '${id}' FOR UPDATE`,
        Effect.all([cancel, caller.call("/api/v1/invoices", post({ amount: 10_000 }))], { concurrency: 2 })
      )
      toldToTryAgain(canceled)
      ok(made)
      assert.strictEqual((yield* caller.ok(`/api/v1/invoices/${id}`)).status, "unpaid")
      ok(yield* cancel)
      assert.strictEqual((yield* caller.ok(`/api/v1/invoices/${id}`)).status, "canceled")
    }))
})
