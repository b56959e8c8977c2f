/**
 * Goal: money leaves only as people approved it, once, and counts as paid only when the chain says so. Method: a whole
 * devnet over HTTP; a wallet of play money signs what was given out, and the chain does what the test says.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Ledger } from "../../../modules/ledger/plugin.ts"
import { Batch, ReadBatch } from "../../../schemas/Batch.ts"
import { assertRefused, DevnetService, okData } from "../simulator/DevnetService.ts"
import {
  approve,
  ask,
  decodes,
  giveOut,
  newRefund,
  newShop,
  play,
  read,
  readUntil,
  refundsBatch,
  send,
  wallet
} from "./BatchShop.ts"

layer(DevnetService.layer, { excludeTestServices: true, timeout: "90 seconds" })("batches", (it) => {
  it.effect("of refunds are made by a key, approved by a person, given out, and paid when the chain is final", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const [first, second] = [yield* newRefund(shop), yield* newRefund(shop, 7)]
      const batch = yield* refundsBatch(shop.key, [first.id, second.id])
      yield* decodes(Batch, batch)
      assert.deepStrictEqual(
        [batch.status, batch.lines_total, batch.amount, batch.totals.map(({ token_amount }: any) => token_amount)],
        ["pending_approval", 2, 12_000, ["12.000000"]]
      )
      assertRefused(yield* giveOut(shop.person, batch), 403, "APPROVAL_REQUIRED")
      assertRefused(yield* send(shop.key, `/api/v1/batches/${batch.id}/approve`, {}), 403, "CREDENTIAL_NOT_ALLOWED")
      assert.strictEqual((yield* approve(shop, batch)).status, "ready")
      const given = okData(yield* giveOut(shop.key, batch))
      assert.strictEqual(okData(yield* giveOut(shop.person, batch)).payload, given.payload)
      assertRefused(yield* giveOut(shop.key, batch, "safe"), 409, "EXPORT_LIVE")
      assert.strictEqual((yield* read(shop, batch)).status, "open")
      assert.isNotNull((yield* play(shop, batch)).tx_hash)
      assert.isNull((yield* play(shop, batch)).tx_hash)
      const paid = yield* readUntil(shop, batch, "paid")
      yield* decodes(ReadBatch, paid)
      assert.deepStrictEqual(paid.lines.map(({ status }: any) => status), ["paid", "paid"])
      assert.deepStrictEqual(paid.parts.map(({ status, tx_hash }: any) => [status, tx_hash === null]), [[
        "paid",
        false
      ]])
      for (const { id } of [first, second]) {
        const refund = yield* ask(shop.key, `/api/v1/refunds/${id}`)
        assert.deepStrictEqual([refund.status, refund.tx_hash], ["succeeded", paid.parts[0].tx_hash])
      }
      const { services } = yield* DevnetService
      const check = yield* Context.get(services as unknown as Context.Context<Ledger>, Ledger).check(null)
      assert.deepStrictEqual(check.differences, [])
    }))

  it.effect("keep their refunds from everybody else until they are over", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop)
      const batch = yield* refundsBatch(shop.person, "all")
      assert.strictEqual(batch.lines_total, 1)
      const again = yield* send(shop.key, "/api/v1/batches", {
        kind: "refunds",
        network: "base",
        from: wallet,
        refund_ids: [refund.id]
      })
      assert.strictEqual(assertRefused(again, 409, "REFUND_IN_BATCH").details.batch_id, batch.id)
      assertRefused(yield* send(shop.key, `/api/v1/refunds/${refund.id}/cancel`, {}), 409, "REFUND_IN_BATCH")
      assertRefused(
        yield* send(shop.key, `/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome: "failed" }),
        409,
        "REFUND_IN_BATCH"
      )
      const canceled = yield* ask(shop.key, `/api/v1/batches/${batch.id}/cancel`, {})
      assert.strictEqual(canceled.status, "canceled")
      assert.deepStrictEqual(yield* ask(shop.key, `/api/v1/batches/${batch.id}/cancel`, {}), canceled)
      assert.strictEqual((yield* refundsBatch(shop.key, [refund.id])).lines_total, 1)
    }))

  it.effect("whose first line went to somebody else fail that refund, and say so", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop)
      const batch = yield* refundsBatch(shop.person, [refund.id])
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.person, batch))
      yield* play(shop, batch, "changed_destination")
      const over = yield* readUntil(shop, batch, "expired")
      assert.deepStrictEqual([over.parts[0].status, over.lines[0].status], ["mismatch", "mismatch"])
      const failed = yield* ask(shop.key, `/api/v1/refunds/${refund.id}`)
      assert.deepStrictEqual([failed.status, failed.failure_code], ["failed", "payout_mismatch"])
    }))
})
