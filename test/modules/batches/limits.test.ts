/**
 * Goal: nobody makes payouts beyond what a person of the merchant allowed. Method: a whole devnet over HTTP, with the
 * merchant's clock moved over the end of a day; the rule alone for prices that are missing.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { maximumOpenBatches } from "../../../modules/batches/machine.ts"
import { dayOf, limitRefusal } from "../../../modules/batches/rules.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { assertRefused, DevnetService, okData } from "../simulator/DevnetService.ts"
import { approve, ask, giveOut, newShop, payout, payoutsBatch, play, readUntil, type Shop } from "./BatchShop.ts"

const patch = Effect.fnUntraced(function*(by: Shop["key"], body: object) {
  return yield* (yield* DevnetService).call("/api/v1/merchant/settings", { method: "PATCH", headers: by, body })
})

const make = (shop: Shop, dollars: string, by = shop.key) =>
  Effect.flatMap(payout(dollars), (line) => payoutsBatch(by, [line]))

layer(DevnetService.layer, { excludeTestServices: true })("limits of payouts", (it) => {
  it.effect("are set by a person alone, and hold for one batch", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      assert.strictEqual((yield* patch(shop.key, { payout_limit_batch: 1 })).status, 403)
      assert.strictEqual((yield* patch(shop.person, { payout_limit_batch: 10_000 })).status, 200)
      okData(yield* make(shop, "10"))
      const { details, message } = assertRefused(yield* make(shop, "10.001"), 409, "PAYOUT_LIMIT_EXCEEDED")
      assert.deepStrictEqual(details, { limit: 10_000, requested: 10_001, used: 0 })
      assert.include(message, "payout_limit_batch")
      okData(yield* make(shop, "10"))
      const entries = yield* ask(shop.person, "/api/v1/audit-log?action=settings.update")
      assert.deepStrictEqual(entries.data[0].after, { payout_limit_batch: 10_000 })
    }))

  it.effect("count a day's batches that are not over, and begin anew on the merchant's next day", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      yield* patch(shop.person, { payout_limit_day: 30_000 })
      const first = okData(yield* make(shop, "20"))
      okData(yield* make(shop, "10"))
      assert.deepStrictEqual(
        assertRefused(yield* make(shop, "0.001"), 409, "PAYOUT_LIMIT_EXCEEDED").details,
        { limit: 30_000, requested: 1, used: 30_000 }
      )
      yield* ask(shop.key, `/api/v1/batches/${first.id}/cancel`, {})
      okData(yield* make(shop, "20"))
      assertRefused(yield* make(shop, "1"), 409, "PAYOUT_LIMIT_EXCEEDED")
      yield* ask(shop.key, "/api/v1/devnet/clock/advance", { seconds: 86_400 })
      okData(yield* make(shop, "30"))
      assertRefused(yield* make(shop, "1"), 409, "PAYOUT_LIMIT_EXCEEDED")
    }))

  it.effect("count what went to somebody else than was signed: it has left", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      yield* patch(shop.person, { payout_limit_day: 30_000 })
      const batch = okData(yield* make(shop, "30"))
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch))
      yield* play(shop, batch, "changed_destination")
      const over = yield* readUntil(shop, batch, "expired")
      assert.strictEqual(over.lines[0].status, "mismatch")
      assert.deepStrictEqual(
        assertRefused(yield* make(shop, "1"), 409, "PAYOUT_LIMIT_EXCEEDED").details,
        { limit: 30_000, requested: 1_000, used: 30_000 }
      )
    }))

  it.effect("let through no more when batches are made at once", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      yield* patch(shop.person, { payout_limit_day: 30_000 })
      const made = yield* Effect.all(Array.from({ length: 6 }, () => make(shop, "10")), { concurrency: "unbounded" })
      const passed = made.filter(({ status }) => status === 200).length
      assert.isAtMost(passed, 3)
      assert.isAtLeast(passed, 1)
      while ((yield* make(shop, "10")).status === 200);
      const { data } = yield* ask(shop.key, "/api/v1/batches?kind=payouts")
      assert.strictEqual(data.length, 3)
    }))

  it.effect("open no more than 20 batches, and refuse the others at once, when 40 are made at once", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const made = yield* Effect.all(Array.from({ length: 40 }, () => make(shop, "1")), { concurrency: "unbounded" })
      assert.strictEqual(made.filter(({ status }) => status === 200).length, maximumOpenBatches)
      for (const answer of made.filter(({ status }) => status !== 200)) {
        assertRefused(answer, 409, "BATCH_LIMIT_REACHED")
      }
    }))

  it.effect("refuse a line that is worth more than any payment", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      okData(yield* make(shop, "10000000000"))
      for (const dollars of ["10000000000.001", "999999999999999999999999"]) {
        const refused = yield* make(shop, dollars)
        assert.include(
          assertRefused(refused, 400, "VALIDATION_ERROR").message,
          "lines.0.token_amount: one line pays at most"
        )
      }
    }))
})

describe("a limit of payouts", () => {
  const limit = usdMillis(1_000n)

  it("refuses what has no price, and says why", () => {
    for (const limits of [{ batch: limit, day: null }, { batch: null, day: limit }]) {
      const refused = limitRefusal(limits, null, 0n)
      assert.strictEqual(refused?.code, "PAYOUT_LIMIT_EXCEEDED")
      assert.deepStrictEqual(refused?.details, { limit: 1_000, requested: null, used: 0 })
      assert.include(refused?.message, "no price")
    }
    assert.isNull(limitRefusal({ batch: null, day: null }, null, 0n))
  })

  it("is of a day of UTC", () => {
    assert.deepStrictEqual(dayOf(1_766_275_199), { from: 1_766_188_800, to: 1_766_275_200 })
    assert.deepStrictEqual(dayOf(1_766_275_200), { from: 1_766_275_200, to: 1_766_361_600 })
  })
})
