/**
 * Goal: a price is the exact median of what is fresh, or there is none; sources cannot harm each other.
 * Method: the pure rule against a model in plain integers; the service with scripted sources on virtual time.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer, Logger, Metric, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { type PricePoint, Prices, type PriceSource, PriceSourceError, type Spot } from "../../../runtime/Prices.ts"
import { layer, layerWith } from "../../../runtime/prices/Oracle.ts"
import { askAgainMillis } from "../../../runtime/prices/PriceBook.ts"
import {
  accept,
  type AcceptedPrice,
  agree,
  applyPeg,
  decidePrice,
  isRefusal,
  maximumAheadSeconds,
  type Refusal
} from "../../../runtime/prices/PriceRules.ts"
import { pollMillis, sourceTimeoutMillis } from "../../../runtime/prices/SourcePolling.ts"
import { compareRates, rateText, readRate } from "../../../schemas/Money.ts"
import { catalogOf, ether, mainnetEther, token, usdc } from "../../fixtures/tokens.ts"

const start = 1_766_320_000

/** Rates as hundredths, so that the model can use plain integers. */
const Cents = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))
const price = (cents: number, index = 0, at = start): AcceptedPrice => ({
  source: `source${index}`,
  rate: { numerator: BigInt(cents), denominator: 100n },
  at
})

/** The price of an agreement, or the words of its refusal. */
const outcome = (result: Spot | Refusal) => (isRefusal(result) ? result.reason : result.text)

describe("agreement of prices", () => {
  it.effect.prop(
    "is the exact median of those within 2 % of the median, in whatever order the sources answered",
    [Schema.Array(Cents)],
    ([cents]) =>
      Effect.sync(() => {
        const prices = cents.map((each, index) => price(each, index))
        const spot = agree(prices, 1)
        assert.deepStrictEqual(agree(prices.toReversed(), 1), spot)
        /** Twice the median, so that it is an integer. */
        const twiceMedian = (all: ReadonlyArray<number>) => {
          const sorted = all.toSorted((a, b) => a - b)
          return sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!
        }
        const kept = cents.filter((each) => Math.abs(each * 2 - twiceMedian(cents)) * 100 <= twiceMedian(cents) * 2)
        if (kept.length === 0) return assert.isTrue(isRefusal(spot))
        if (isRefusal(spot)) return assert.fail(spot.reason)
        // Twice the median in cents, over 200: at most 14 digits, so the text is exact.
        assert.strictEqual(compareRates(spot.rate, { numerator: BigInt(twiceMedian(kept)), denominator: 200n }), 0)
        assert.deepStrictEqual(readRate(spot.text), spot.rate)
        assert.strictEqual(spot.source === "median", kept.length > 1)
      })
  )

  it.effect.prop(
    "of two is close to at least two of the prices",
    [Schema.Array(Cents)],
    ([cents]) =>
      Effect.sync(() => {
        const spot = agree(cents.map((each, index) => price(each, index)), 2)
        if (isRefusal(spot)) return
        assert.isAtLeast(cents.length, 2)
        // Each kept price and the result lie within 2 % of the first median: within 1/24 of each other.
        const close = cents.filter((each) => {
          const difference = BigInt(each) * spot.rate.denominator - spot.rate.numerator * 100n
          return (difference < 0n ? -difference : difference) * 24n <= spot.rate.numerator * 100n
        })
        assert.isAtLeast(close.length, 2)
      })
  )

  it("leaves out a source that is far off, and gives no price when two disagree", () => {
    assert.strictEqual(
      outcome(agree([price(350_000, 1), price(350_100, 2), price(3_500_000, 3)], 2)),
      "3500.500000"
    )
    assert.strictEqual(outcome(agree([price(350_000, 1), price(3_500_000, 2)], 1)), "Price sources disagree")
    assert.strictEqual(outcome(agree([price(350_000, 1)], 2)), "Too few price sources answered")
  })

  it("is as old as its oldest price", () => {
    const spot = agree([price(100, 1, start - 50), price(100, 2, start)], 2)
    assert.strictEqual(isRefusal(spot) ? spot : spot.at, start - 50)
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
    answer: (assets: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<PricePoint>, PriceSourceError>
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
  Effect.map(Clock.currentTimeMillis, (now) => assets.map((asset) => ({ asset, rate, at: Math.floor(now / 1000) })))

const failing = (name: string) => () => Effect.fail(new PriceSourceError({ source: name, reason: "down" }))

/** Prices on a clock that stands at `start`, with every log line kept. */
const running = <A, E>(
  test: (quotes: Prices["Service"], logs: Array<string>) => Effect.Effect<A, E, Scope.Scope>
) => {
  const logs: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void logs.push(String(message)))
  return Effect.gen(function*() {
    yield* TestClock.setTime(start * 1000)
    return yield* Effect.flatMap(Prices, (quotes) => test(quotes, logs)).pipe(
      Effect.provide(layer.pipe(Layer.provide(catalogOf(usdc, ether, mainnetEther))))
    )
  }).pipe(Effect.provide(Logger.layer([logger])), Effect.scoped)
}

describe("Prices", () => {
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

  it.effect("holds the last price for 5 min of silence, then gives none, but shows it for ever", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = always("3500")
        yield* quotes.register(source.source)
        yield* quotes.spot(ether)
        source.answer = failing("one")
        yield* TestClock.adjust("300 seconds")
        assert.strictEqual((yield* quotes.spot(ether)).at, start, "a held price says how old it is")
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

  it.effect("isolates a source that throws, or fails or answers as no source may, and logs it", () =>
    running((quotes, logs) =>
      Effect.gen(function*() {
        const good = scripted("good")
        good.answer = always("3500")
        const throws = scripted("throws")
        throws.answer = () => {
          throw new Error("thrown at once")
        }
        const fails = scripted("fails")
        fails.answer = () => Effect.fail("a failure of its own" as never)
        const answers = scripted("answers")
        answers.answer = () => Effect.succeed({ ethereum: 3500 } as never)
        for (const { source } of [throws, fails, answers, good]) yield* quotes.register(source)
        assert.strictEqual((yield* quotes.spot(ether)).source, "good")
        for (const text of ["thrown at once", "a failure of its own", "not iterable"]) {
          assert.isTrue(logs.some((line) => line.includes(text)), text)
        }
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

  it.effect("gives no price at all when a lone source jumps tenfold, until it is back", () =>
    running((quotes, logs) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = always("3500")
        yield* quotes.register(source.source)
        yield* TestClock.adjust(0)
        yield* quotes.spot(ether)
        source.answer = always("35000")
        yield* TestClock.adjust(pollMillis)
        const error = yield* Effect.flip(quotes.spot(ether))
        assert.deepStrictEqual([error.reason, error.retryAfterSeconds], [
          "The price jumped, and no second source confirms it",
          15
        ])
        assert.strictEqual(quotes.latest(ether)?.text, "3500.000000", "what is shown is the last good one")
        assert.strictEqual(logs.filter((line) => line.includes("ethereum: The price jumped")).length, 1)
        const second = scripted("two")
        second.answer = always("35010")
        yield* quotes.register(second.source)
        yield* TestClock.adjust(pollMillis)
        assert.strictEqual((yield* quotes.spot(ether)).source, "median", "two agree: the market moved")
      })
    ))

  it.effect("prices a dollar stablecoin at one dollar while it holds its peg, and at the market's price after", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = always("0.9985")
        yield* quotes.register(source.source)
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(yield* Effect.map(quotes.spot(usdc), ({ text }) => text), "1.000000")
        source.answer = always("0.93")
        yield* TestClock.adjust(pollMillis)
        assert.deepStrictEqual(yield* Effect.map(quotes.spot(usdc), ({ text }) => text), "0.930000")
      })
    ))

  it.effect("does not quote a stablecoin off its peg where the config blocks it", () =>
    Effect.scoped(Effect.gen(function*() {
      const quotes = yield* Prices
      const source = scripted("one")
      source.answer = always("0.93")
      yield* quotes.register(source.source)
      const error = yield* Effect.flip(quotes.spot(usdc))
      assert.strictEqual(error.reason, "This stablecoin is off its dollar")
    })).pipe(Effect.provide(layerWith({ depeg: "block" }).pipe(Layer.provide(catalogOf(usdc))))))

  it.effect("asks a source that needs another's price after that one, and never a devnet one for mainnet", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const seen: Array<string | null> = []
        const reader: PriceSource = {
          name: "reader",
          environments: ["devnet", "mainnet"],
          requiredAssets: ["tether"],
          prices: (_, peers) => Effect.sync(() => (seen.push(peers("tether")?.text ?? null), []))
        }
        const devnetOnly = scripted("fixed", ["devnet"])
        devnetOnly.answer = always("2")
        yield* quotes.register(reader)
        yield* quotes.register(devnetOnly.source)
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(seen, [null])
        const other = scripted("other")
        other.answer = always("1.0001")
        yield* quotes.register(other.source)
        yield* TestClock.adjust(pollMillis)
        yield* TestClock.adjust(0)
        assert.include(other.asked[0] ?? [], "tether", "no token is a tether here, and it is asked for all the same")
        assert.strictEqual(seen.at(-1), "1.000100")
      })
    ))

  it.effect("tells how old each asset's price is", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const source = scripted("one")
        source.answer = always("3500")
        yield* quotes.register(source.source)
        yield* TestClock.adjust(0)
        source.answer = failing("one")
        yield* TestClock.adjust(3 * pollMillis)
        const ages = (yield* Metric.snapshot).filter(({ id }) => id === "quote_staleness_seconds")
          .map(({ attributes, state }) => [attributes?.["token"], (state as { value: number }).value])
        assert.sameDeepMembers(ages, [["ethereum", 90], ["usd-coin", 90]])
      })
      // Of its own: other tests of the process count assets too.
    ).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))

  it.effect("has no price for a token without an asset", () =>
    running((quotes) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(quotes.spot(token(9, { ...ether, asset: null })))
        assert.strictEqual(error.reason, "This token has no price")
      })
    ))

  it("stores the price it computes with: the text and the rate are one number", () => {
    const third: AcceptedPrice = { source: "s", rate: { numerator: 1n, denominator: 3n }, at: start }
    const spot = agree([third], 1)
    if (isRefusal(spot)) return assert.fail(spot.reason)
    assert.strictEqual(spot.text, rateText(third.rate))
    assert.isBelow(compareRates(spot.rate, third.rate), 0)
  })
})

describe("judging a price by the last one", () => {
  const last = (cents: number, at = start): Spot => {
    const rate = { numerator: BigInt(cents), denominator: 100n }
    return { rate, text: rateText(rate), source: "median", at }
  }

  it.effect.prop(
    "never takes a price of a lone source that is ten times, or a tenth of, the last one of the hour",
    [Cents, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3_600 }))],
    ([cents, age]) =>
      Effect.sync(() => {
        for (const [before, now] of [[cents, cents * 10], [cents * 10, cents]] as const) {
          const judged = decidePrice([price(now, 1, start)], last(before, start - age), 1, start)
          assert.isTrue(isRefusal(judged) && judged.kind === "contradiction", `${before} -> ${now}`)
          // A second source that says the same is believed, whatever was before.
          const confirmed = decidePrice([price(now, 1), price(now, 2)], last(before, start - age), 1, start)
          assert.isFalse(isRefusal(confirmed))
        }
      })
  )

  it.effect.prop(
    "is the last price or agrees with what is fresh: nothing else is ever made up",
    [Schema.Array(Cents), Cents, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))],
    ([cents, before, age]) =>
      Effect.sync(() => {
        const fresh = cents.map((each, index) => price(each, index))
        const remembered = last(before, start - age)
        const judged = decidePrice(fresh, remembered, 2, start)
        if (isRefusal(judged)) return
        if (judged !== remembered) return assert.deepStrictEqual(judged, agree(fresh, 2))
        assert.isTrue(age <= 300 && fresh.length < 2, "it holds for 5 min of silence only")
        // What still speaks is within 2 % of it.
        assert.isTrue(cents.every((each) => Math.abs(each - before) * 100 <= before * 2))
      })
  )

  it("takes a move of a quarter from a lone source, and any move an hour later", () => {
    assert.strictEqual(outcome(decidePrice([price(12_500)], last(10_000), 1, start)), "125.000000")
    assert.include(outcome(decidePrice([price(12_501)], last(10_000), 1, start)), "jumped")
    assert.include(outcome(decidePrice([price(100_000)], last(10_000, start - 3_600), 1, start)), "jumped")
    assert.strictEqual(outcome(decidePrice([price(100_000)], last(10_000, start - 3_601), 1, start)), "1000.000000")
  })
})

describe("the peg of a dollar stablecoin", () => {
  const market = (text: string): Spot => ({ text, rate: readRate(text)!, source: "median", at: start })

  it("is one dollar from 0.99 to 1.01, and the market's price outside", () => {
    for (const text of ["0.99", "0.9985", "1", "1.01"]) {
      const spot = applyPeg(usdc, market(text), "market")
      assert.deepStrictEqual(spot, { ...market("1"), text: "1.000000", rate: { numerator: 1n, denominator: 1n } })
    }
    for (const text of ["0.989999", "1.010001", "0.88", "10"]) {
      assert.deepStrictEqual(applyPeg(usdc, market(text), "market"), market(text))
      assert.isTrue(isRefusal(applyPeg(usdc, market(text), "block")), "or nothing, where the config says so")
    }
    assert.deepStrictEqual(applyPeg(ether, market("1.005"), "block"), market("1.005"), "others are what they are worth")
  })
})
