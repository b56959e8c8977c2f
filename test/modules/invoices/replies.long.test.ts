/**
 * Goal: a repeat of a create gets the first answer byte for byte, although the answer itself is kept nowhere: whatever
 * became of the invoice, the keys, the address of the service, and wherever the repeat is sent.
 * Method: instances of the real router and commit log over one database, with masters and public URLs of their own.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { pruneEventsOnce } from "../../../runtime/commit/Retention.ts"
import { eventRetentionDays } from "../../../runtime/store/partitions/Tables.ts"
import { keptDays } from "../../../runtime/http/Replies.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"
import { versions } from "../../../schemas/Version.ts"
import { usdc } from "../../fixtures/tokens.ts"
import type { Answer } from "../../support/Api.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"
import {
  callerOf,
  choose,
  invoiceServiceIn,
  newMerchant,
  ok,
  post,
  receiveTransfer,
  refused,
  runDue
} from "./InvoiceService.ts"

const path = "/api/v1/invoices"

type Masters = readonly [Buffer, ...ReadonlyArray<Buffer>]

/** Constants, because of random keys one in 256 pairs has one id for both, which is refused. */
const firstMaster = Buffer.alloc(32, 1)
const secondMaster = Buffer.alloc(32, 2)

/** A function that starts one more instance over the same new database, and runs what it is given there. */
const deployment = Effect.map(
  migratedDatabase,
  (database) => (masters: Masters = [firstMaster], publicUrl?: string) =>
    Effect.map(
      Layer.build(Layer.fresh(invoiceServiceIn({
        database: Layer.fresh(connect(database)),
        secrets: Layer.effect(Secrets, Effect.orDie(fromMasters(masters))),
        ...(publicUrl === undefined ? {} : { publicUrl })
      }))),
      (services) => <A, E>(work: Effect.Effect<A, E, Layer.Success<ReturnType<typeof invoiceServiceIn>>>) =>
        Effect.provide(work, services)
    )
)

const replayed = (answer: Answer) => answer.headers.get("idempotent-replayed")

/** The first answer again, from the store. */
const assertRepeat = (first: Answer, repeat: Answer) => {
  ok(first)
  assert.strictEqual(repeat.text, first.text)
  assert.deepStrictEqual([repeat.status, replayed(repeat)], [first.status, "true"])
}

/** Bodies whose JSON is written in more than one way by those who are careless about it. */
const bodies: ReadonlyArray<object> = [
  { amount: 10 },
  { amount_usd: 49.99, customer_id: "customer-42", expires_in: 43_200_000, description: "Starter plan" },
  { amount: 4_999_999, customer_id: "\u2028 \u007f \" \\ \u0001 é 😀", locale: "de" },
  { amount: 10, metadata: { "1": 1e21, a: [-0, null, { "\u2029": "</script>" }], "": 0.1, object: "},{" } }
]

it.effect(
  "is the first answer for every body, environment, scope and version, on instances of any age",
  () =>
    Effect.gen(function*() {
      const start = yield* deployment
      const onFirst = yield* start([firstMaster], "https://pay.example.com")
      const merchant = yield* onFirst(newMerchant)
      const calls = bodies.flatMap((body) =>
        (["devnet", "mainnet"] as const).flatMap((environment) =>
          (["merchant", "commerce"] as const).flatMap((scope) =>
            versions.map(({ version }) => ({ body, caller: callerOf(merchant, scope, environment), version }))
          )
        )
      )
      const send = ({ body, caller, version }: typeof calls[number], n: number) => {
        const { headers, ...call } = post(body, `key-${n}`)
        return caller.call(path, { ...call, headers: { ...headers, "x-service-version": version } })
      }
      const firsts = yield* Effect.forEach(calls, (call, n) => onFirst(send(call, n)))
      // A repeat may come to a later release, so answers of this form have these fields in this order for good.
      for (const { json, text } of firsts) {
        const { invoice, payment_session_headers, ...rest } = json
        const fields = ["invoice_id", "payment_url", "session_token", "signature", "expires_at"]
        assert.deepStrictEqual(Object.keys(rest), fields)
        assert.strictEqual(JSON.stringify({ ...rest, payment_session_headers, invoice }), text)
      }
      const again = yield* start([firstMaster], "https://pay.example.com")
      const rotated = yield* start([secondMaster, firstMaster], "https://other.example.com/till")
      for (const instance of [onFirst, again, rotated]) {
        yield* Effect.forEach(
          calls,
          (call, n) => Effect.map(instance(send(call, n)), (repeat) => assertRepeat(firsts[n]!, repeat))
        )
      }
      // What the rotated one answers first is its own, and the older one still has the key it was made with.
      const fresh = yield* rotated(callerOf(merchant).call(path, post({ amount: 10 }, "fresh")))
      assert.include(fresh.json.payment_url, "https://other.example.com/till/pay/")
      assertRepeat(fresh, yield* rotated(callerOf(merchant).call(path, post({ amount: 10 }, "fresh"))))
    })
)

it.effect("is the answer of then, whatever became of the invoice", () =>
  Effect.gen(function*() {
    const on = yield* (yield* deployment)()
    yield* on(Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const create = (key: string) => caller.call(path, post({ amount: 10_000, expires_in: 3_600_000 }, key))
      const [paid, canceled, expired] = [yield* create("paid"), yield* create("canceled"), yield* create("expired")]
      yield* choose(paid.json.invoice_id, usdc)
      yield* receiveTransfer(paid.json.invoice, usdc, 10_000_000n)
      const cancel = caller.call(`${path}/${canceled.json.invoice_id}/cancel`, {
        method: "POST",
        headers: { "idempotency-key": "canceled" }
      })
      const cancelAnswer = yield* cancel
      ok(cancelAnswer)
      yield* TestClock.adjust("2 hours")
      yield* runDue
      const statuses = yield* Effect.forEach([paid, canceled, expired], ({ json }) =>
        Effect.map(caller.ok(`${path}/${json.invoice_id}`), ({ status }) => status))
      assert.deepStrictEqual(statuses, ["paid", "canceled", "expired"])
      assertRepeat(paid, yield* create("paid"))
      assertRepeat(canceled, yield* create("canceled"))
      assertRepeat(expired, yield* create("expired"))
      assertRepeat(cancelAnswer, yield* cancel)
    }))
  }))

it.effect(
  "is one for two instances that are asked at once; another body is refused by both",
  () =>
    Effect.gen(function*() {
      const start = yield* deployment
      const instances = [yield* start([firstMaster, secondMaster]), yield* start([secondMaster, firstMaster])]
      const merchant = yield* instances[0]!(newMerchant)
      for (let n = 0; n < 20; n++) {
        const answers = yield* Effect.forEach(
          instances,
          (on, which) => on(callerOf(merchant, "merchant", "devnet", which).call(path, post({ amount: 10 }, `k${n}`))),
          { concurrency: "unbounded" }
        )
        for (const answer of answers) ok(answer)
        assert.deepStrictEqual([answers[0]!.text, answers.filter((one) => replayed(one) === null).length], [
          answers[1]!.text,
          1
        ])
        for (const on of instances) {
          const other = yield* on(callerOf(merchant).call(path, post({ amount: 11 }, `k${n}`)))
          refused(other, 422, "IDEMPOTENCY_KEY_REUSED")
        }
      }
    })
)

it.effect(
  "cannot be made without the key of then: the repeat fails, and makes no second invoice",
  () =>
    Effect.gen(function*() {
      const start = yield* deployment
      const on = yield* start()
      const caller = callerOf(yield* on(newMerchant))
      const create = caller.call(path, post({ amount: 10 }, "k"))
      const first = yield* on(create)
      const stranger = yield* start([secondMaster])
      assert.strictEqual((yield* stranger(create)).status, 500)
      assertRepeat(first, yield* on(create))
      assert.strictEqual((yield* on(caller.ok(path))).total, 1)
    })
)

it.effect(
  "is in no backup in the clear: no session, and a few words where there were two kilobytes",
  () =>
    Effect.gen(function*() {
      const on = yield* (yield* deployment)()
      yield* on(Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const caller = callerOf(yield* newMerchant)
        const { json } = yield* caller.call(path, post({ amount: 10, metadata: { note: "n".repeat(1_000) } }, "k"))
        const rows = yield* sql<{ text: string; size: number }>`
        SELECT i::text AS text, pg_column_size(i.*) AS size FROM idempotency i`
        assert.strictEqual(rows.length, 1)
        for (const secret of [json.session_token, json.signature, json.signature.split(".")[0]]) {
          assert.notInclude(rows[0]!.text, secret)
        }
        assert.isBelow(rows[0]!.size, 350)
      }))
    })
)

it.effect("ends before its event does, and the key is free then", () =>
  Effect.gen(function*() {
    assert.isBelow(keptDays, eventRetentionDays)
    const on = yield* (yield* deployment)()
    yield* on(Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const caller = callerOf(yield* newMerchant)
      const create = caller.call(path, post({ amount: 10 }, "k"))
      const first = yield* create
      const age = Effect.fnUntraced(function*(days: number) {
        yield* sql`UPDATE events SET ms = ms - ${days}::integer * 86400000::bigint`
        yield* sql`UPDATE idempotency SET created_at = created_at - ${days}::integer * interval '1 day'`
      })
      yield* age(keptDays - 1)
      assert.strictEqual(yield* pruneEventsOnce, 0)
      assertRepeat(first, yield* create)
      // Nobody pruned replies for a year: those of the events that go now go with them.
      yield* age(eventRetentionDays)
      assert.strictEqual(yield* pruneEventsOnce, 1)
      const fresh = yield* create
      ok(fresh)
      assert.deepStrictEqual([replayed(fresh), fresh.json.invoice_id === first.json.invoice_id], [null, false])
    }))
  }))
