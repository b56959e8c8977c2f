/**
 * Goal: a refund whose payment left the chain while a wallet could pay its batch is not paid by another batch, nor by
 * another export of the same one. Method: a whole devnet over HTTP; payments are dropped from the simulated chain. An
 * export is valid for longer than a test may take, so SQL sets the validity in `batches.parts` to a time in the past.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../modules/ledger/plugin.ts"
import { until } from "../../support/Service.ts"
import { assertRefused, DevnetService, okData } from "../simulator/DevnetService.ts"
import {
  approve,
  ask,
  giveOut,
  look,
  newRefund,
  newShop,
  play,
  read,
  readUntil,
  refundsBatch,
  send,
  type Shop,
  wallet
} from "./BatchShop.ts"

const week = 7 * 86_400

const drop = (shop: Shop, { invoice_id: id }: { readonly invoice_id: string }) =>
  ask(shop.key, `/api/v1/devnet/invoices/${id}/simulate`, { action: "drop" })

const release = (shop: Shop, { id }: { readonly id: string }) =>
  ask(shop.person, `/api/v1/batches/${id}/release`, { part: 1, note: "the file was deleted" })

const stateOf = (shop: Shop, { id }: { readonly id: string }) =>
  Effect.map(ask(shop.key, `/api/v1/refunds/${id}`), ({ failure_code: code, status }) => [status, code])

const untilFailed = (shop: Shop, refund: { readonly id: string }) =>
  until(
    "the refund has failed",
    stateOf(shop, refund) as Effect.Effect<ReadonlyArray<string>, never, DevnetService>,
    ([status]) => status === "failed"
  )

const newBatch = Effect.fnUntraced(function*(shop: Shop, refund: { readonly id: string }, format: string) {
  const batch = yield* refundsBatch(shop.key, [refund.id])
  yield* approve(shop, batch)
  okData(yield* giveOut(shop.key, batch, format))
  return batch
})

const tryBatch = (shop: Shop, { id }: { readonly id: string }) =>
  send(shop.key, "/api/v1/batches", { kind: "refunds", network: "base", from: wallet, refund_ids: [id] })

/** Ends the validity of what was exported: every block of the test is later than the time that this SQL writes. */
const endValidity = Effect.fnUntraced(function*({ id }: { readonly id: string }) {
  const { services } = yield* DevnetService
  const sql = Context.get(services, SqlClient.SqlClient)
  yield* Effect.orDie(sql`UPDATE batches SET version = version + 1, parts =
    regexp_replace(parts::text, '"validUntil": ?[0-9]+', '"validUntil": 1')::json WHERE id = ${id}`)
})

const lapse = Effect.fnUntraced(function*(shop: Shop, batch: { readonly id: string }) {
  yield* endValidity(batch)
  yield* until(
    "the part has lapsed",
    Effect.andThen(look(shop, batch), read(shop, batch)) as Effect.Effect<any, never, DevnetService>,
    ({ parts }) => parts[0].status === "lapsed"
  )
})

const assertBooks = Effect.gen(function*() {
  const { services } = yield* DevnetService
  const check = yield* Context.get(services as unknown as Context.Context<Ledger>, Ledger).check(null)
  assert.deepStrictEqual(check.differences, [])
})

layer(DevnetService.layer, { excludeTestServices: true })(
  "a payment that leaves the chain while its refund is in a batch",
  (it) => {
    it.effect("fails the refund once people have released its list, so that no other batch pays it", () =>
      Effect.gen(function*() {
        const shop = yield* newShop
        const refund = yield* newRefund(shop, 43)
        const batch = yield* newBatch(shop, refund, "csv")
        yield* drop(shop, refund)
        assert.deepStrictEqual(yield* stateOf(shop, refund), ["processing", null])
        yield* ask(shop.key, "/api/v1/devnet/clock/advance", { seconds: week })
        yield* release(shop, batch)
        assertRefused(yield* tryBatch(shop, refund), 409, "INVALID_TRANSITION")
        assert.deepStrictEqual(yield* stateOf(shop, refund), ["failed", "payment_reverted"])
        yield* ask(shop.key, `/api/v1/refunds/${refund.id}/cancel`, {})
        yield* assertBooks
      }))

    it.effect("fails the refund when its part has lapsed, and the part is not exported again", () =>
      Effect.gen(function*() {
        const shop = yield* newShop
        const refund = yield* newRefund(shop, 47)
        const batch = yield* newBatch(shop, refund, "eip5792")
        yield* drop(shop, refund)
        yield* lapse(shop, batch)
        assert.deepStrictEqual(yield* untilFailed(shop, refund), ["failed", "payment_reverted"])
        assertRefused(yield* giveOut(shop.key, batch), 409, "PAYOUT_LINE_REFUSED")
        yield* ask(shop.key, `/api/v1/batches/${batch.id}/cancel`, {})
        yield* ask(shop.key, `/api/v1/refunds/${refund.id}/cancel`, {})
        yield* assertBooks
      }))

    it.effect("fails the refund immediately where it leaves the chain after the part has lapsed", () =>
      Effect.gen(function*() {
        const shop = yield* newShop
        const refund = yield* newRefund(shop, 53)
        const batch = yield* newBatch(shop, refund, "eip5792")
        yield* lapse(shop, batch)
        assert.deepStrictEqual(yield* stateOf(shop, refund), ["processing", null])
        yield* drop(shop, refund)
        assert.deepStrictEqual(yield* stateOf(shop, refund), ["failed", "payment_reverted"])
        assertRefused(yield* giveOut(shop.key, batch), 409, "PAYOUT_LINE_REFUSED")
      }))

    it.effect("fails no refund where the payment stays on the chain: the part is exported again and paid", () =>
      Effect.gen(function*() {
        const shop = yield* newShop
        const refund = yield* newRefund(shop, 59)
        const batch = yield* newBatch(shop, refund, "eip5792")
        yield* lapse(shop, batch)
        okData(yield* giveOut(shop.key, batch))
        yield* play(shop, batch)
        yield* readUntil(shop, batch, "paid")
        assert.deepStrictEqual(yield* stateOf(shop, refund), ["succeeded", null])
        yield* assertBooks
      }))
  }
)
