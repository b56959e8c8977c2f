/** Payment quotes over a real database and scripted prices, on virtual time. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { migrations } from "../../../modules/quotes/migrations.ts"
import { layer as quotesLayer } from "../../../modules/quotes/service.ts"
import { PaymentQuotes, plugin } from "../../../modules/quotes/plugin.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { insertQuote, invoiceId, type Market, marketLayer, start } from "../../fixtures/quotes.ts"
import { ether, usdc } from "../../fixtures/tokens.ts"
import { kernel } from "../../support/Api.ts"
import { migratedLayer } from "../../support/Database.ts"

const request = {
  merchantId: 7,
  invoiceId,
  environment: "devnet",
  token: usdc,
  amountRemaining: usdMillis(49_990n),
  isShown: true
} as const

const commit = insertQuote

const running = <A, E>(
  test: (
    quotes: PaymentQuotes["Service"],
    price: Market
  ) => Effect.Effect<A, E, SqlClient.SqlClient>
) => {
  const price: Market = { text: "1.000000", down: [] }
  const layer = quotesLayer.pipe(Layer.provide(marketLayer(price)), Layer.provideMerge(migratedLayer))
  const prepared = Effect.gen(function*() {
    return yield* test(yield* PaymentQuotes, price)
  }).pipe(Effect.provide(layer))
  // The clock is set before the pool is made: a pool would live through every second of such a jump.
  return Effect.andThen(TestClock.setTime(start * 1000 + 999), prepared)
}

describe("PaymentQuotes", () => {
  it.effect("hands the row to the caller: without a commit there is no quote, with it there is", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const issued = yield* quotes.issue(request)
        assert.isNull(yield* quotes.current(invoiceId))
        yield* commit(issued.write)
        assert.deepStrictEqual(yield* quotes.current(invoiceId), issued.quote)
        const [row] = yield* quotes.candidates(invoiceId, "base", usdc.id, start)
        assert.strictEqual(row?.id, issued.row?.id)
        assert.deepStrictEqual([row?.tokenAmount, row?.amountRemaining, row?.createdAt, row?.validUntil], [
          49_990_000n,
          49_990n,
          start,
          start + 300
        ])
      })
    ))

  it.effect("gives a quote again while it has more than 30 s, with its time left, then a new one", () =>
    running((quotes, price) =>
      Effect.gen(function*() {
        const first = yield* quotes.issue(request)
        yield* commit(first.write)
        price.text = "0.990000"
        yield* TestClock.adjust("269 seconds")
        const again = yield* quotes.issue(request)
        assert.deepStrictEqual([again.row?.id, again.write], [first.row?.id, null])
        assert.deepStrictEqual(again.quote, { ...first.quote, quote_expires_in_seconds: 31 })
        yield* TestClock.adjust("1 second")
        const next = yield* quotes.issue(request)
        assert.notStrictEqual(next.row?.id, first.row?.id)
        assert.deepStrictEqual([next.quote.exchange_rate, next.quote.quote_expires_in_seconds], ["0.990000", 300])
      })
    ))

  it.effect("gives a new quote for another amount, and each route its own", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const dollars = yield* quotes.issue(request)
        yield* commit(dollars.write)
        yield* TestClock.adjust("1 second")
        const coins = yield* quotes.issue({ ...request, token: ether })
        yield* commit(coins.write)
        assert.isNotNull((yield* quotes.issue({ ...request, amountRemaining: usdMillis(1n) })).write)
        const asked = { ...request, isShown: false }
        assert.strictEqual((yield* quotes.issue(asked)).row?.id, dollars.row?.id)
        assert.deepStrictEqual(
          (yield* quotes.candidates(invoiceId, "base", ether.id, start + 1)).map(({ id }) => id),
          [coins.row?.id]
        )
      })
    ))

  it.effect("shows a payor who goes back to a route the same promise, as the one shown last", () =>
    running((quotes, price) =>
      Effect.gen(function*() {
        const dollars = yield* quotes.issue(request)
        yield* commit(dollars.write)
        yield* commit((yield* quotes.issue({ ...request, token: ether })).write)
        assert.strictEqual((yield* quotes.current(invoiceId))?.supported_token_id, ether.id)
        price.text = "0.5"
        yield* TestClock.adjust("100 seconds")
        const back = yield* quotes.issue(request)
        yield* commit(back.write)
        assert.deepStrictEqual(back.quote, { ...dollars.quote, quote_expires_in_seconds: 200 })
        assert.deepStrictEqual(yield* quotes.current(invoiceId), back.quote)
        assert.isNull((yield* quotes.issue(request)).write, "it is shown last already")
      })
    ))

  it.effect("tells the payor of no quote that only the merchant asked for", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const asked = yield* quotes.issue({ ...request, isShown: false })
        yield* commit(asked.write)
        assert.isNull(yield* quotes.current(invoiceId))
        const shown = yield* quotes.issue(request)
        yield* commit(shown.write)
        assert.deepStrictEqual(shown.quote, asked.quote)
        assert.deepStrictEqual(yield* quotes.current(invoiceId), shown.quote)
      })
    ))

  it.effect("promises no price on a network that cannot be watched", () =>
    running((quotes, market) =>
      Effect.gen(function*() {
        market.down = ["base"]
        const { quote, row, write } = yield* quotes.issue(request)
        assert.deepStrictEqual([row, write], [null, null])
        assert.deepStrictEqual([quote.quote_status, quote.status_code, quote.retryable, quote.retry_after_seconds], [
          "unavailable",
          "network_degraded",
          true,
          15
        ])
      })
    ))

  it.effect("says unavailable, not an error, without a price; what is owed stands", () =>
    running((quotes, price) =>
      Effect.gen(function*() {
        price.text = null
        const { row, quote, write } = yield* quotes.issue(request)
        assert.deepStrictEqual([row, write], [null, null])
        assert.strictEqual(quote.amount_remaining_decimal, "49.990")
        assert.deepStrictEqual([quote.estimated_token_amount_remaining, quote.quote_status, quote.status_code], [
          null,
          "unavailable",
          "quote_unavailable"
        ])
        assert.deepStrictEqual([quote.message, quote.retryable, quote.retry_after_seconds], [
          "Rate data is stale",
          true,
          15
        ])
      })
    ))

  it.effect("holds a quote for transfers from its first second to 120 s after its end, newest first", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const first = yield* quotes.issue(request)
        yield* commit(first.write)
        yield* TestClock.adjust("271 seconds")
        const second = yield* quotes.issue(request)
        yield* commit(second.write)
        const held = (seconds: number) =>
          Effect.map(quotes.candidates(invoiceId, "base", usdc.id, start + seconds), (rows) => rows.map(({ id }) => id))
        assert.deepStrictEqual(yield* held(-1), [])
        assert.deepStrictEqual(yield* held(0), [first.row?.id])
        assert.deepStrictEqual(yield* held(270), [first.row?.id])
        assert.deepStrictEqual(yield* held(271), [second.row?.id, first.row?.id])
        assert.deepStrictEqual(yield* held(420), [second.row?.id, first.row?.id])
        assert.deepStrictEqual(yield* held(421), [second.row?.id])
        assert.deepStrictEqual(yield* held(691), [second.row?.id])
        assert.deepStrictEqual(yield* held(692), [])
      })
    ))

  it.effect("shows the last quote as expired past its end", () =>
    running((quotes) =>
      Effect.gen(function*() {
        yield* commit((yield* quotes.issue(request)).write)
        yield* TestClock.adjust("300 seconds")
        const last = yield* quotes.current(invoiceId)
        assert.deepStrictEqual([last?.quote_status, last?.quote_expires_in_seconds], ["expired", 0])
      })
    ))

  it.effect("asks for more tokens than a bigint column holds without loss", () =>
    running((quotes, price) =>
      Effect.gen(function*() {
        price.text = "0.000000000000000001"
        const issued = yield* quotes.issue({ ...request, token: ether, amountRemaining: usdMillis(1_000_000_000n) })
        yield* commit(issued.write)
        const [row] = yield* quotes.candidates(invoiceId, "base", ether.id, start)
        assert.strictEqual(row?.tokenAmount, 10n ** 42n)
        assert.strictEqual(
          issued.quote.estimated_token_amount_remaining,
          `1${"0".repeat(24)}.${"0".repeat(18)}`
        )
      })
    ))

  it.live("are written by the commit log as their row says", () =>
    Effect.gen(function*() {
      const quotes = yield* PaymentQuotes
      const commits = yield* Commit
      const issued = yield* quotes.issue({ ...request, token: ether, amountRemaining: usdMillis(1_000_000_000n) })
      const append = commits.append({
        merchantId: request.merchantId,
        environment: "devnet",
        cause: noCause,
        writes: issued.write === null ? [] : [issued.write],
        events: []
      })
      yield* append
      const again = yield* quotes.issue({ ...request, token: ether, amountRemaining: usdMillis(1_000_000_000n) })
      assert.deepStrictEqual([again.row?.id, again.write], [issued.row?.id, null])
      assert.strictEqual((yield* Effect.flip(append))._tag, "Conflict", "a quote is written once")
    }).pipe(Effect.provide(
      quotesLayer.pipe(
        Layer.provide(marketLayer({ text: "0.00000001", down: [] })),
        Layer.provideMerge(kernel([{ name: "quotes", migrations, tables: plugin.tables ?? [] }]))
      )
    )))
})
