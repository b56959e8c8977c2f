/**
 * Goal: a key of idempotency makes one invoice and one answer, within its own scope, for seven days, and is not used up
 * by what never happened.
 * Method: the real router and commit log; age is given to rows, because their age is the database's.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { pruneOnce } from "../../../runtime/http/Replies.ts"
import { type Caller, callerOf, invoiceService, newMerchant, ok, post, refused } from "./InvoiceService.ts"

const path = "/api/v1/invoices"

const create = (caller: Caller, key: string, body: unknown = { amount: 10 }) => caller.call(path, post(body, key))

const count = (merchantId: number) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* Effect.orDie(sql<{ invoices: bigint; replies: bigint }>`SELECT
      (SELECT count(*) FROM invoices WHERE merchant_id = ${merchantId}) AS invoices,
      (SELECT count(*) FROM idempotency WHERE merchant_id = ${merchantId}) AS replies`)
    return { invoices: Number(row!.invoices), replies: Number(row!.replies) }
  })

/** Makes everything a merchant was ever answered that much older. */
const age = (merchantId: number, by: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* Effect.orDie(
      sql`UPDATE idempotency SET created_at = now() - ${by}::interval WHERE merchant_id = ${merchantId}`
    )
    return yield* pruneOnce
  })

layer(invoiceService)("a key of idempotency", (it) => {
  it.effect("belongs to one body, path, merchant and environment: another body is refused, the others are their own", () =>
    Effect.gen(function*() {
      const [mine, other] = [yield* newMerchant, yield* newMerchant]
      yield* Effect.forEach(Array.from({ length: 100 }, (_, n) => n), (n) =>
        Effect.gen(function*() {
          const key = `key-${n}`
          const caller = callerOf(mine, "merchant", "devnet", n)
          const first = yield* create(caller, key)
          ok(first)
          refused(yield* create(caller, key, { amount: 11 }), 422, "IDEMPOTENCY_KEY_REUSED")
          const elsewhere = [
            yield* create(callerOf(other, "merchant", "devnet", n), key),
            yield* create(callerOf(mine, "merchant", "mainnet", n), key),
            yield* caller.call(`${path}/${first.json.invoice_id}/cancel`, { ...post({ amount: 10 }, key) })
          ]
          for (const answer of elsewhere) {
            ok(answer)
            assert.isNull(answer.headers.get("idempotent-replayed"))
          }
          const again = yield* create(caller, key, "{ \"amount\" : 1e1 }")
          assert.deepStrictEqual([again.text, again.headers.get("idempotent-replayed")], [first.text, "true"])
        }), { concurrency: 8, discard: true })
      assert.deepStrictEqual(yield* count(mine), { invoices: 200, replies: 300 })
      assert.deepStrictEqual(yield* count(other), { invoices: 100, replies: 100 })
    }))

  it.effect("is answered for 6 days and 23 hours, forgotten after 8, and makes a new invoice then", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const caller = callerOf(merchant)
      const first = yield* create(caller, "k")
      assert.strictEqual(yield* age(merchant, "6 days 23 hours"), 0)
      assert.strictEqual((yield* create(caller, "k")).text, first.text)
      assert.strictEqual(yield* age(merchant, "8 days"), 1)
      assert.deepStrictEqual(yield* count(merchant), { invoices: 1, replies: 0 })
      const fresh = yield* create(caller, "k")
      ok(fresh)
      assert.notStrictEqual(fresh.json.invoice_id, first.json.invoice_id)
      assert.deepStrictEqual(yield* count(merchant), { invoices: 2, replies: 1 })
    }))

  it.effect("is not used up by what was refused or what failed: a mended body and a mended service get their answer", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const caller = callerOf(merchant)
      const sql = yield* SqlClient.SqlClient
      for (const body of ["{", "[]", {}, { amount: 1 }, { amount: 10, currency: "eur" }]) {
        assert.strictEqual((yield* create(caller, "k", body)).status, 400)
      }
      yield* Effect.orDie(sql`ALTER TABLE invoices RENAME TO invoices_away`)
      refused(yield* create(caller, "k"), 503, "SERVICE_UNAVAILABLE")
      yield* Effect.orDie(sql`ALTER TABLE invoices_away RENAME TO invoices`)
      yield* Effect.orDie(sql`ALTER TABLE invoices ADD CONSTRAINT broken CHECK (amount <> 10) NOT VALID`)
      refused(yield* create(caller, "k"), 500, "INVOICE_CREATE_FAILED")
      yield* Effect.orDie(sql`ALTER TABLE invoices DROP CONSTRAINT broken`)
      const made = yield* create(caller, "k")
      ok(made)
      assert.strictEqual((yield* create(caller, "k")).text, made.text)
      assert.deepStrictEqual(yield* count(merchant), { invoices: 1, replies: 1 })
    }))

  it.effect("100 requests at once with one key make one invoice and one answer, byte for byte", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const answers = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, n) => callerOf(merchant, "merchant", "devnet", n)),
        (caller) => create(caller, "k"),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.deepStrictEqual(yield* count(merchant), { invoices: 1, replies: 1 })
    }))
})
