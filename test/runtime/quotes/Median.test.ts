/**
 * Goal: a price is the exact median of what is fresh, or there is none; sources cannot harm each other.
 * Method: the pure rule against a model in plain integers; the service with scripted sources on virtual time.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer, Logger, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { type PricePoint, type PriceSource, PriceSourceFailed, Quotes } from "../../../runtime/Quotes.ts"
import {
  accept,
  agree,
  askAgainMillis,
  type KnownPrice,
  layer,
  maximumAheadSeconds,
  pollMillis,
  sourceTimeoutMillis
} from "../../../runtime/quotes/Median.ts"
import { compareRates, rateText, readRate } from "../../../schemas/Money.ts"
import { catalogOf, ether, mainnetEther, token, usdc } from "../../fixtures/tokens.ts"

const start = 1_766_320_000

/** Rates as hundredths, so that the model can use plain integers. */
const Cents = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))
const price = (cents: number, index = 0, at = start): KnownPrice => ({
  source: `source${index}`,
  rate: { numerator: BigInt(cents), denominator: 100n },
  at
})

describe("agreement of prices", () => {
  it.effect.prop("is the exact median, in whatever order the sources answered", [Schema.Array(Cents)], ([cents]) =>
    Effect.sync(() => {
      const prices = cents.map((each, index) => price(each, index))
      const spot = agree(prices, "devnet")
      if (cents.length === 0) return assert.isString(spot)
      const sorted = cents.toSorted((a, b) => a - b)
      const twice = sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!
      assert.isObject(spot)
      if (typeof spot === "string") return
      // Twice the median in cents, over 200: at most 14 digits, so the text is exact.
      assert.strictEqual(compareRates(spot.rate, { numerator: BigInt(twice), denominator: 200n }), 0)
      assert.deepStrictEqual(agree(prices.toReversed(), "devnet"), spot)
      assert.deepStrictEqual(readRate(spot.text), spot.rate)
      assert.strictEqual(spot.source, cents.length === 1 ? "source0" : "median")
    }))

  it.effect.prop(
    "on mainnet is close to at least two of the prices",
    [Schema.Array(Cents)],
    ([cents]) =>
      Effect.sync(() => {
        const spot = agree(cents.map((each, index) => price(each, index)), "mainnet")
        if (typeof spot === "string") return
        assert.isAtLeast(cents.length, 2)
        // Each kept price and the result lie within 2 % of the first median: within 1/24 of each other.
        const close = cents.filter((each) => {
          const difference = BigInt(each) * spot.rate.denominator - spot.rate.numerator * 100n
          return (difference < 0n ? -difference : difference) * 24n <= spot.rate.numerator * 100n
        })
        assert.isAtLeast(close.length, 2)
      })
  )

  it("on mainnet leaves out a source that is far off, and gives no price when two disagree", () => {
    const far = agree([price(350_000, 1), price(350_100, 2), price(3_500_000, 3)], "mainnet")
    assert.strictEqual(typeof far === "string" ? far : far.text, "3500.500000")
    assert.strictEqual(agree([price(350_000, 1), price(3_500_000, 2)], "mainnet"), "Price sources disagree")
    assert.strictEqual(agree([price(350_000, 1)], "mainnet"), "Too few price sources answered")
  })

  it("is as old as its oldest price", () => {
    const spot = agree([price(100, 1, start - 50), price(100, 2, start)], "mainnet")
    assert.strictEqual(typeof spot === "string" ? spot : spot.at, start - 50)
  })

  it("takes no point that is unreadable, not positive, or more than a minute ahead", () => {
    const point = (changes: Partial<PricePoint>): PricePoint => ({ asset: "a", rate: "1.5", at: start, ...changes })
    for (const rate of ["0", "-1", "1e3", "NaN", "", "1.", ".5", " 1", "1,5", "Infinity", "0.000"]) {
      assert.isString(accept("s", point({ rate }), start), rate)
    }
    for (const at of [start + maximumAheadSeconds + 1, Number.NaN, Number.POSITIVE_INFINITY, 1.5]) {
      assert.isString(accept("s", point({ at }), start), String(at))
    }
    const ahead = accept("s", point({ at: start + maximumAheadSeconds }), start)
    assert.strictEqual(typeof ahead === "string" ? ahead : ahead.at, start, "age counts from receipt at the latest")
  })
})

/** A source whose answers a test writes, and which counts how often it is asked. */
const scripted = (name: string, environments: PriceSource["environments"] = ["devnet", "mainnet"]) => {
  const script: {
    asked: Array<ReadonlyArray<string>>
    answer: (assets: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<PricePoint>, PriceSourceFailed>
  } = { asked: [], answer: () => Effect.succeed([]) }
  const source: PriceSource = {
    name,
    environments,
    prices: (assets) =>
      Effect.suspend(() => {
        script.asked.push(assets)
        return script.answer(assets)
      })
  }
  return Object.assign(script, { source })
}

const always = (rate: string) => (assets: ReadonlyArray<string>) =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    assets.map((asset) => ({ asset, rate, at: Math.floor(now / 1000) })))

const failing = (name: string) => () => Effect.fail(new PriceSourceFailed({ source: name, reason: "down" }))

/** Quotes on a clock that stands at `start`, with every log line kept. */
const running = <A, E>(
  test: (quotes: Quotes["Service"], logs: Array<string>) => Effect.Effect<A, E, Scope.Scope>
) => {
  const logs: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void logs.push(String(message)))
  return Effect.gen(function*() {
    yield* TestClock.setTime(start * 1000)
    return yield* Effect.flatMap(Quotes, (quotes) => test(quotes, logs)).pipe(
      Effect.provide(layer.pipe(Layer.provide(catalogOf(usdc, ether, mainnetEther))))
    )
  }).pipe(Effect.provide(Logger.layer([logger])), Effect.scoped)
}

describe("Quotes", () => {
  it.effect("polls every source for the assets in use, every 30 s, and answers from memory", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = always("3500")
        yield* quotes.register(source.source)
        yield* TestClock.adjust(0)
        yield* TestClock.adjust(2 * pollMillis)
        assert.strictEqual(source.asked.length, 3)
        assert.deepStrictEqual(source.asked[0]?.toSorted(), ["ethereum", "usd-coin"])
        yield* quotes.spot(ether)
        assert.strictEqual(source.asked.length, 3, "nothing was asked for a fresh price")
        assert.strictEqual(quotes.latest(ether)?.text, "3500.000000")
      })
    ))

  it.effect("asks once for many callers at the same time, and all get the answer", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        const answered = yield* Deferred.make<void>()
        source.answer = (assets) => Effect.andThen(Deferred.await(answered), always("3500")(assets))
        yield* quotes.register(source.source)
        // The poll after registering has had its turn and is in flight: callers join it, they do not give up.
        yield* TestClock.adjust(0)
        const callers = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? ether : usdc)),
          (token) => Effect.forkChild(quotes.spot(token), { startImmediately: true })
        )
        yield* TestClock.adjust(0)
        yield* Fiber.interrupt(callers[0]!)
        assert.isTrue(callers.slice(1).every((caller) => caller.pollUnsafe() === undefined), "all wait")
        yield* Deferred.succeed(answered, undefined)
        const spots = yield* Effect.forEach(callers.slice(1), Fiber.join)
        assert.strictEqual(source.asked.length, 1)
        assert.isTrue(spots.every(({ text }) => text === "3500.000000"))
      })
    ))

  it.effect("gives no price older than 120 s, but shows the last one for ever", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = always("3500")
        yield* quotes.register(source.source)
        yield* quotes.spot(ether)
        source.answer = failing("one")
        yield* TestClock.adjust("120 seconds")
        assert.strictEqual((yield* quotes.spot(ether)).at, start)
        yield* TestClock.adjust("1 second")
        const error = yield* Effect.flip(quotes.spot(ether))
        assert.deepStrictEqual([error.reason, error.retryAfterSeconds], ["Rate data is stale", 15])
        assert.strictEqual(quotes.latest(ether)?.at, start)
      })
    ))

  it.effect("needs two sources that agree on mainnet", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const one = scripted("one")
        const two = scripted("two")
        const devnetOnly = scripted("three", ["devnet"])
        for (const [source, rate] of [[one, "3500"], [devnetOnly, "3500"]] as const) {
          source.answer = always(rate)
          yield* quotes.register(source.source)
        }
        assert.strictEqual((yield* Effect.flip(quotes.spot(mainnetEther))).reason, "Too few price sources answered")
        assert.strictEqual(quotes.latest(mainnetEther)?.source, "one", "what is known is shown")
        two.answer = always("3501")
        yield* quotes.register(two.source)
        const spot = yield* quotes.spot(mainnetEther)
        assert.deepStrictEqual([spot.text, spot.source], ["3500.500000", "median"])
      })
    ))

  it.effect("isolates a source that fails, dies or hangs, and logs it once a minute", () =>
    running((quotes, logs) =>
      Effect.gen(function*() {
        const good = scripted("good")
        good.answer = always("3500")
        const fails = scripted("fails")
        fails.answer = failing("fails")
        const dies = scripted("dies")
        dies.answer = () => Effect.die(new Error("a bug"))
        const hangs = scripted("hangs")
        hangs.answer = () => Effect.never
        for (const { source } of [hangs, dies, fails, good]) yield* quotes.register(source)
        const asking = yield* Effect.forkChild(quotes.spot(ether), { startImmediately: true })
        yield* TestClock.adjust(sourceTimeoutMillis)
        assert.strictEqual((yield* Fiber.join(asking)).source, "good")
        yield* TestClock.adjust("40 seconds")
        const about = (text: string) => logs.filter((line) => line.includes(text)).length
        assert.deepStrictEqual([about("down"), about("a bug"), about("no answer")], [1, 1, 1])
        yield* TestClock.adjust("60 seconds")
        assert.deepStrictEqual([about("down"), about("a bug"), about("no answer")], [2, 2, 2])
        assert.isAtLeast(good.asked.length, 3)
      })
    ))

  it.effect("does not hammer a source that has nothing: 100 callers in a row ask it once in 5 s", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = failing("one")
        yield* quotes.register(source.source)
        for (let call = 0; call < 100; call++) yield* Effect.flip(quotes.spot(ether))
        assert.strictEqual(source.asked.length, 1)
        yield* TestClock.adjust(askAgainMillis)
        yield* Effect.flip(quotes.spot(ether))
        assert.strictEqual(source.asked.length, 2)
      })
    ))

  it.effect("keeps the newest point of a source, and none it was not asked for", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = () =>
          Effect.succeed([
            { asset: "ethereum", rate: "3500", at: start - 10 },
            { asset: "ethereum", rate: "1", at: start - 60 },
            { asset: "bitcoin", rate: "90000", at: start }
          ])
        yield* quotes.register(source.source)
        assert.strictEqual((yield* quotes.spot(ether)).text, "3500.000000")
        assert.isNull(quotes.latest(token(9, { ...ether, asset: "bitcoin" })))
      })
    ))

  it.effect("does not take an old price for a fresh one when the clock is set back", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = always("3500")
        yield* quotes.register(source.source)
        yield* quotes.spot(ether)
        yield* TestClock.setTime((start - 3600) * 1000)
        source.answer = always("3600")
        assert.strictEqual((yield* quotes.spot(ether)).text, "3600.000000")
      })
    ))

  it.effect("forgets a source whose scope has closed, and refuses two of one name", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = always("3500")
        yield* Effect.scoped(Effect.gen(function*() {
          yield* quotes.register(source.source)
          yield* quotes.spot(ether)
          const twice = yield* Effect.exit(Effect.scoped(quotes.register(source.source)))
          assert.strictEqual(twice._tag, "Failure")
        }))
        assert.isNull(quotes.latest(ether))
        assert.strictEqual((yield* Effect.flip(quotes.spot(ether)))._tag, "PriceUnavailable")
      })
    ))

  it.effect("has no price for a token without an asset", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(quotes.spot(token(9, { ...ether, asset: null })))
        assert.strictEqual(error.reason, "This token has no price")
      })
    ))

  it("stores the price it computes with: the text and the rate are one number", () => {
    const third: KnownPrice = { source: "s", rate: { numerator: 1n, denominator: 3n }, at: start }
    const spot = agree([third], "devnet")
    assert.isObject(spot)
    if (typeof spot === "string") return
    assert.strictEqual(spot.text, rateText(third.rate))
    assert.isBelow(compareRates(spot.rate, third.rate), 0)
  })
})
