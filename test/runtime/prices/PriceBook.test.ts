/** Goal: the book forgets no price, believes no source that left, and asks and logs no more often than it may. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { freshSeconds, type PricePoint, type PriceSource } from "../../../runtime/Prices.ts"
import {
  askAgainMillis,
  assetsDue,
  emptyBook,
  freshPrices,
  lastSpot,
  logEveryMillis,
  marketPrice,
  newestPrices,
  peerPrice,
  priceAll,
  type PriceBook,
  recordAsked,
  recordContradictions,
  recordFault,
  recordPoints,
  withLastSpot,
  withoutSource,
  withSource
} from "../../../runtime/prices/PriceBook.ts"
import { isRefusal } from "../../../runtime/prices/PriceRules.ts"

const nowMillis = 1_766_320_000_000
const now = nowMillis / 1000
const sourceOf = (name: string, environments: PriceSource["environments"] = ["mainnet"]): PriceSource => ({
  name,
  environments,
  prices: () => Effect.succeed([])
})
const a = sourceOf("a")
const b = sourceOf("b")
const point = (rate: string, at = now): PricePoint => ({ asset: "ether", rate, at })
const ether = new Set(["ether"])
const answer = (book: PriceBook, source: PriceSource, ...points: ReadonlyArray<PricePoint>): PriceBook =>
  recordPoints(book, source, ether, points, nowMillis)[0]
const texts = (book: PriceBook) => newestPrices(book, "ether", "mainnet").map(({ rate }) => rate.numerator)
const registered = withSource(withSource(emptyBook, a), b)

describe("the book of prices", () => {
  it.prop(
    "keeps of each source the newest price, in whatever order prices come",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -500, maximum: 0 })))],
    ([ages]) => {
      const book = ages.reduce((each, age) => answer(each, a, point("3500", now + age)), registered)
      const [newest] = newestPrices(book, "ether", "mainnet")
      assert.strictEqual(newest?.at, ages.length === 0 ? undefined : now + Math.max(...ages))
      const isExpected = ages.some((age) => -age <= freshSeconds)
      assert.strictEqual(freshPrices(book, "ether", "mainnet", now).length === 1, isExpected)
    }
  )

  it("takes only what it asked for, and names what it refuses", () => {
    const [book, fault] = recordPoints(
      registered,
      a,
      ether,
      [point("nonsense"), { ...point("1"), asset: "other" }, point("2")],
      nowMillis
    )
    assert.deepStrictEqual(texts(book), [2n])
    assert.strictEqual(fault, "Refused prices: ether: \"nonsense\" is no positive decimal")
  })

  it("changes nothing for the answer of a source that has left, even where another has its name", () => {
    const without = withoutSource(answer(registered, b, point("2")), a)
    assert.strictEqual(answer(without, a, point("1")), without)
    const another = withSource(without, sourceOf("a"))
    assert.strictEqual(answer(another, a, point("1")), another)
    assert.strictEqual(assetsDue(another, a, ["ether"], nowMillis).size, 0)
    assert.strictEqual(recordAsked(another, a, ["ether"], nowMillis), another)
    assert.deepStrictEqual(texts(another), [2n])
  })

  it("forgets the last prices when a source leaves", () => {
    const before = answer(answer(registered, a, point("2")), b, point("2"))
    const [book] = priceAll(before, [{ asset: "ether", environment: "mainnet" }], () => 2, now)
    assert.strictEqual(lastSpot(book, "ether", "mainnet")?.text, "2.000000")
    assert.isUndefined(lastSpot(withoutSource(book, b), "ether", "mainnet"))
  })

  it("is the same value while prices do not change, and keeps the last one through a refusal", () => {
    const book = answer(answer(registered, a, point("2")), b, point("2"))
    const assets = [{ asset: "ether", environment: "mainnet" as const }]
    const [first] = priceAll(book, assets, () => 2, now)
    const [second] = priceAll(first, assets, () => 2, now + 1)
    assert.strictEqual(second, first)
    const price = marketPrice(first, "ether", "mainnet", 2, now)
    assert.strictEqual(withLastSpot(first, assets[0]!, price), first)
    const [refused, [result]] = priceAll(first, assets, () => 3, now + 1_000)
    assert.isTrue(isRefusal(result!.price))
    assert.strictEqual(refused, first)
  })

  it("gives a source no peers that serve less than it does", () => {
    const devnet = sourceOf("c", ["devnet"])
    const both = sourceOf("d", ["devnet", "mainnet"])
    const book = answer(answer(withSource(withSource(registered, devnet), both), a, point("2")), devnet, point("9"))
    assert.isNull(peerPrice(book, both, "ether", now))
    assert.strictEqual(peerPrice(book, b, "ether", now)?.text, "2.000000")
    assert.isNull(peerPrice(book, a, "ether", now))
  })
})

describe("asking and logging", () => {
  it("asks a source for an asset once in five seconds, or after the clock was set back", () => {
    const book = recordAsked(registered, a, ["ether"], nowMillis)
    const due = (millis: number) => [...assetsDue(book, a, ["ether", "usd-coin"], nowMillis + millis)]
    assert.deepStrictEqual(due(askAgainMillis - 1), ["usd-coin"])
    assert.deepStrictEqual(due(askAgainMillis), ["ether", "usd-coin"])
    assert.deepStrictEqual(due(-1), ["ether", "usd-coin"])
  })

  it("logs a source's faults once a minute, and says how many it left out", () => {
    const [first, none] = recordFault(registered, a, nowMillis)
    const [second, silent] = recordFault(first, a, nowMillis + logEveryMillis - 1)
    const [third, one] = recordFault(second, a, nowMillis + logEveryMillis)
    assert.deepStrictEqual([none, silent, one], [0, null, 1])
    assert.strictEqual(recordFault(third, b, nowMillis + logEveryMillis)[1], 0)
  })

  it("logs contradictions once a minute, and silence never", () => {
    const book = answer(answer(registered, a, point("2")), b, point("9"))
    const assets = [{ asset: "ether", environment: "mainnet" as const }]
    const [, contradicting] = priceAll(book, assets, () => 2, now)
    const [, silent] = priceAll(registered, assets, () => 2, now)
    const [logged, message] = recordContradictions(book, contradicting, nowMillis)
    assert.strictEqual(message, "Refused to price ether: Price sources disagree")
    assert.isNull(recordContradictions(logged, contradicting, nowMillis + logEveryMillis - 1)[1])
    assert.isNotNull(recordContradictions(logged, contradicting, nowMillis + logEveryMillis)[1])
    assert.isNull(recordContradictions(book, silent, nowMillis)[1])
  })
})
