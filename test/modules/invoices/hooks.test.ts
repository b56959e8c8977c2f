/**
 * Goal: what a hook of an invoice adds is in the invoice's own commit, or nothing of the change is.
 * Method: hooks that a test registers, over the real commit log; changes by request and by the clock.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import {
  type HookInput,
  type HookResult,
  type InvoiceHook,
  InvoiceHooks,
  Invoices
} from "../../../modules/invoices/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { callerOf, invoiceService, newInvoice, newMerchant, runDue } from "./InvoiceService.ts"

/** Registers a hook of one invoice for the scope; others it leaves alone. */
const beside = (id: string, name: string, follow: InvoiceHook["run"]) =>
  Effect.flatMap(
    InvoiceHooks,
    (companions) =>
      companions.register({ name, run: (seen) => seen.before.invoice.id === id ? follow(seen) : Effect.succeed({}) })
  )

const fresh = Effect.fnUntraced(function*() {
  const caller = callerOf(yield* newMerchant)
  return { caller, invoice: yield* newInvoice(caller, { amount: 10_000, expires_in: 60_000 }) }
})

const eventsOf = Effect.fnUntraced(function*(id: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ readonly type: string; readonly data: string }>`
    SELECT type, data FROM events WHERE invoice_id = ${id} ORDER BY ms, seq`.pipe(Effect.orDie)
})

const note = (text: string) => ({ _tag: "Note", text }) as const

layer(invoiceService)("a hook of an invoice", (it) => {
  it.effect("is asked in the order it registered, hears what came before it, and answers whoever asked", () =>
    Effect.gen(function*() {
      const { invoice } = yield* fresh()
      const invoices = yield* Invoices
      const heard: Array<ReadonlyArray<unknown>> = []
      const says = (text: string) => ({ facts }: HookInput) =>
        Effect.sync((): HookResult => {
          heard.push(facts)
          return { facts: [note(text)] }
        })
      yield* beside(invoice.id, "first", says("first"))
      yield* beside(invoice.id, "second", says("second"))
      const changed = yield* invoices.change(
        invoice.id,
        noCause,
        () => Effect.succeed({ commands: [{ _tag: "Amend", description: "Tea" }], facts: [note("asked")] })
      )
      assert.deepStrictEqual(heard, [[note("asked")], [note("asked"), note("first")]])
      assert.deepStrictEqual(changed.facts, [note("asked"), note("first"), note("second")])
    }).pipe(Effect.scoped))

  it.effect("commands the invoice in the same commit, and is asked for changes by the clock too", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* fresh()
      let ran = 0
      yield* beside(invoice.id, "marks the end", ({ decision }) =>
        Effect.succeed({
          commands: [{ _tag: "Amend", metadata: { ended: decision.next.invoice.status } }],
          afterCommit: Effect.sync(() => {
            ran += 1
          })
        }))
      yield* TestClock.adjust("2 minutes")
      yield* runDue
      assert.include((yield* eventsOf(invoice.id)).at(-1)!.data, `"metadata":{"ended":"expired"}`)
      assert.deepInclude(yield* caller.ok(`/api/v1/invoices/${invoice.id}`), {
        status: "expired",
        metadata: { ended: "expired" }
      })
      assert.strictEqual(ran, 1)
    }).pipe(Effect.scoped))

  it.effect("is heard by the endpoints of a format, whether a request changes the invoice or the clock", () =>
    Effect.gen(function*() {
      const merchantId = yield* newMerchant
      const canceled = yield* newInvoice(callerOf(merchantId), { amount: 10_000 })
      const expired = yield* newInvoice(callerOf(merchantId), { amount: 10_000, expires_in: 60_000 })
      const invoices = yield* Invoices
      const sql = yield* SqlClient.SqlClient
      yield* Effect.orDie(
        sql`INSERT INTO webhook_endpoints (id, merchant_id, version, commerce_only, url, status, filters,
          api_version, sealed_secret, created_at, updated_at, format)
        VALUES ('we_format', ${merchantId}, 1, false, 'https://shop.example/', 'enabled', '{all}', '', '', 0, 0, 'test')`
      )
      for (const { id } of [canceled, expired]) {
        yield* beside(id, "tells", ({ decision }) =>
          Effect.succeed({
            messages: [{ format: "test", type: "Changed", filters: ["all"], data: decision.next.invoice.status }]
          }))
      }
      yield* invoices.change(canceled.id, noCause, () => Effect.succeed({ commands: [{ _tag: "Cancel" }] }))
      yield* TestClock.adjust("2 minutes")
      yield* runDue
      const told = yield* Effect.orDie(sql`SELECT data FROM webhook_messages
        WHERE merchant_id = ${merchantId} ORDER BY ms, seq`)
      assert.deepStrictEqual(told, [{ data: "canceled" }, { data: "expired" }])
    }).pipe(Effect.scoped))

  it.effect("refuses the whole change by its error: nothing of it is written or told", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* fresh()
      const before = yield* eventsOf(invoice.id)
      yield* beside(invoice.id, "refuses", () => Effect.fail(publicError("INVALID_TRANSITION")))
      const answer = yield* caller.call(`/api/v1/invoices/${invoice.id}/cancel`, { method: "POST" })
      assert.strictEqual(answer.status, 409)
      assert.deepStrictEqual(yield* eventsOf(invoice.id), before)
      assert.include(yield* caller.ok(`/api/v1/invoices/${invoice.id}`), { status: "unpaid" })
    }).pipe(Effect.scoped))

  it.effect("is not asked where nothing happens, and no more once its scope has ended", () =>
    Effect.gen(function*() {
      const { invoice } = yield* fresh()
      const invoices = yield* Invoices
      let asked = 0
      const counts = beside(invoice.id, "counts", () =>
        Effect.sync(() => {
          asked += 1
          return {}
        }))
      const amend = (description: string) =>
        invoices.change(invoice.id, noCause, () => Effect.succeed({ commands: [{ _tag: "Amend", description }] }))
      yield* Effect.scoped(Effect.gen(function*() {
        yield* counts
        yield* amend("one")
        yield* amend("one")
      }))
      yield* amend("two")
      assert.strictEqual(asked, 1)
    }))
})
