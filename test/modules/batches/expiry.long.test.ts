/**
 * Goal: what nobody pays does not hold refunds for ever, and nothing ends while a wallet may be paying it. Method: the
 * pure machine, and a whole devnet over HTTP whose merchant's clock is moved.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { expiresAt } from "../../../modules/batches/machine/Expiry.ts"
import { statusOf } from "../../../modules/batches/machine.ts"
import { assertRefused, DevnetService, okData } from "../simulator/DevnetService.ts"
import { until } from "../../support/Service.ts"
import {
  approve,
  ask,
  giveOut,
  mine,
  newRefund,
  newShop,
  payout,
  payoutsBatch,
  play,
  readUntil,
  refundsBatch
} from "./BatchShop.ts"
import { after, approval, batchOf, exportOf } from "./MachineBatches.ts"

const day = 86_400

describe("a batch that nobody gives out", () => {
  it("waits 7 days for people, and a day for a wallet", () => {
    const batch = batchOf(2, 2)
    assert.deepStrictEqual([batch.dueAt, expiresAt(batch, statusOf(batch))], [7 * day, 7 * day])
    const once = after(batch, { _tag: "Approve", approval: { ...approval("ada"), at: day } }, day)
    assert.strictEqual(once.dueAt, 8 * day)
    const ready = after(once, { _tag: "Approve", approval: { ...approval("grace"), at: 2 * day } }, 2 * day)
    assert.strictEqual(ready.dueAt, 3 * day)
    assert.strictEqual(after(ready, { _tag: "Expire" }, 3 * day - 1), ready)
    const ended = after(ready, { _tag: "Expire" }, 3 * day)
    assert.deepStrictEqual(
      [statusOf(ended), ended.lines.map(({ status }) => status), ended.closedAt, ended.dueAt],
      ["expired", ["released", "released"], 3 * day, null]
    )
  })

  it("is not over while a wallet has a part of it, and is a day after that has lapsed", () => {
    const ready = after(batchOf(2), { _tag: "Approve", approval: approval("ada") })
    const out = after(ready, { _tag: "Export", part: 1, export: exportOf("eip5792", 300, 1n) }, 60)
    assert.isNull(expiresAt(out, statusOf(out)))
    assert.strictEqual(after(out, { _tag: "Expire" }, 9 * day), out)
    const search = { executions: [], searchedTo: 9n, isOver: true }
    const lapsed = after(out, { _tag: "Observe", part: 1, search }, 400)
    assert.strictEqual(lapsed.dueAt, 60 + 300 + day)
    assert.strictEqual(statusOf(after(lapsed, { _tag: "Expire" }, 2 * day)), "expired")
  })
})

layer(DevnetService.layer, { excludeTestServices: true })("a batch left alone", (it) => {
  it.effect("expires, tells it, and its refund can be paid by another one", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop, 47)
      const batch = yield* refundsBatch(shop.key, [refund.id])
      const { expires_at: end } = yield* approve(shop, batch)
      yield* ask(shop.key, "/api/v1/devnet/clock/advance", { seconds: day })
      const ended = yield* readUntil(shop, batch, "expired")
      assert.isAtLeast(ended.closed_at, end)
      assert.deepStrictEqual([ended.expires_at, ended.lines[0].status], [null, "released"])
      assertRefused(yield* giveOut(shop.key, batch), 409, "INVALID_TRANSITION")
      const next = yield* refundsBatch(shop.key, [refund.id])
      yield* approve(shop, next)
      okData(yield* giveOut(shop.key, next))
      yield* play(shop, next)
      yield* readUntil(shop, next, "paid")
    }))

  it.effect("is looked for again and again, and a look that finds nothing is no version of it", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const batch = okData(yield* payoutsBatch(shop.key, [yield* payout("3")]))
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch))
      const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
      const stored = Effect.map(
        Effect.orDie(
          sql<{ version: bigint; due_at: bigint; searched_to: string }>`SELECT version, due_at,
            parts -> 0 ->> 'searchedTo' AS searched_to FROM batches WHERE id = ${batch.id}`
        ),
        ([row]) => row!
      )
      const before = yield* stored
      yield* mine("base", 1_000)
      const after = yield* until("the timer has looked twice", stored, ({ due_at }) => due_at > before.due_at + 5n)
      assert.strictEqual(after.version, before.version)
      assert.isAbove(Number(after.searched_to), Number(before.searched_to))
      yield* play(shop, batch)
      assert.strictEqual((yield* readUntil(shop, batch, "paid")).status, "paid")
    }))
})
