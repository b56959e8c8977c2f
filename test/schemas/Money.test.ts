/**
 * Goal: no amount is ever read, rounded or written other than its name says.
 * Method: the edges by table; every rounding against its definition in plain integers, for random values.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import {
  baseUnits,
  compareRates,
  displayNumber,
  formatUnits,
  isWithin,
  maximumInvoiceAmount,
  medianRate,
  midpoint,
  parseUnits,
  plainDecimal,
  type Rate,
  rateDigits,
  RateText,
  rateText,
  readInvoiceAmount,
  readRate,
  tokenAmountUp,
  UsdDecimal,
  usdDecimal,
  UsdMillis,
  usdMillis,
  usdValueDown,
  usdWire
} from "../../schemas/Money.ts"

const naturals = (maximum: bigint, minimum = 0n) => Schema.BigInt.check(Schema.isBetweenBigInt({ minimum, maximum }))
const Millis = naturals(maximumInvoiceAmount)
const Units = naturals(10n ** 30n)
const Decimals = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 36 }))
const rates = naturals(10n ** 18n, 1n)
/** Quotients of these have all their eighteen digits within the 36 places of a text. */
const rate = (numerator: bigint, denominator: bigint): Rate => ({ numerator, denominator })

describe("UsdMillis", () => {
  const decode = Schema.decodeUnknownExit(UsdMillis)
  const encode = Schema.encodeExit(UsdMillis)

  it("decodes whole numbers from 0 to 2^53 - 1 and nothing else", () => {
    for (const value of [0, -0, 1, 999, 1000, Number.MAX_SAFE_INTEGER]) {
      assert.deepStrictEqual(decode(value), Exit.succeed(usdMillis(BigInt(value))))
    }
    for (const value of [-1, 1.5, Number.MAX_SAFE_INTEGER + 1, Number.NaN, Infinity, "1", 1n, null, undefined, [1]]) {
      assert.isTrue(Exit.isFailure(decode(value)), String(value))
    }
  })

  it("encodes up to 2^53 - 1 exactly, and fails beyond rather than rounding", () => {
    const last = BigInt(Number.MAX_SAFE_INTEGER)
    assert.deepStrictEqual(encode(usdMillis(last)), Exit.succeed(Number.MAX_SAFE_INTEGER))
    assert.isTrue(Exit.isFailure(encode(usdMillis(last + 2n))))
  })

  it("cannot be negative", () => {
    assert.throws(() => usdMillis(-1n))
    assert.throws(() => baseUnits(-1n))
  })
})

describe("*_decimal", () => {
  it("has exactly three fractional digits", () => {
    const shown = [0n, 1n, 999n, 1000n, 49_990n, BigInt(Number.MAX_SAFE_INTEGER)].map((each) =>
      usdDecimal(usdMillis(each))
    )
    assert.deepStrictEqual(shown, ["0.000", "0.001", "0.999", "1.000", "49.990", "9007199254740.991"])
  })

  it.effect.prop("is the wire integer with the dot three places in", [Millis], ([amount]) =>
    Effect.sync(() => {
      const text = usdDecimal(usdMillis(amount))
      assert.isTrue(Schema.is(UsdDecimal)(text))
      assert.strictEqual(BigInt(text.replace(".", "")), amount)
      assert.strictEqual(BigInt(usdWire(usdMillis(amount))), amount)
    }))
})

describe("readInvoiceAmount", () => {
  /** What JSON.parse makes of each text, and what it is read as. Numbers are judged by their value. */
  const amounts: ReadonlyArray<readonly [json: string, expected: bigint | "format" | "range"]> = [
    ["10", 10n],
    ["1000000000", 1_000_000_000n],
    ["1e3", 1000n],
    ["49990.0", 49_990n],
    ["1E1", 10n],
    ["9", "range"],
    ["1000000001", "range"],
    ["0", "range"],
    ["-0", "range"],
    ["-1", "range"],
    ["9007199254740991", "range"],
    ["9007199254740993", "range"],
    ["1e21", "range"],
    ["-1e30", "range"],
    ["1.5", "format"],
    ["1e400", "format"],
    ["-1e400", "format"],
    ["1e-7", "format"],
    ["\"1000\"", "format"],
    ["true", "format"],
    ["null", "format"],
    ["[10]", "format"],
    ["{}", "format"],
    ["\"\"", "format"]
  ]
  const dollars: ReadonlyArray<readonly [json: string, expected: bigint | "format" | "range"]> = [
    ["49.99", 49_990n],
    ["\"49.99\"", 49_990n],
    ["49.990", 49_990n],
    ["\"49.990\"", 49_990n],
    ["0.01", 10n],
    ["1000000", 1_000_000_000n],
    ["\"1000000.000\"", 1_000_000_000n],
    ["1e3", 1_000_000n],
    ["1.5", 1500n],
    ["1.001", 1001n],
    ["\"007\"", 7000n],
    ["0.07", 70n],
    ["1.1", 1100n],
    ["4.35", 4350n],
    ["1.005", 1005n],
    ["123456.789", 123_456_789n],
    ["0.009", "range"],
    ["0.001", "range"],
    ["0", "range"],
    ["-0", "range"],
    ["\"-0\"", "range"],
    ["-1", "range"],
    ["\"-1.5\"", "range"],
    ["1000000.001", "range"],
    ["9007199254740993", "range"],
    ["1e21", "range"],
    ["1e300", "range"],
    [`"${"9".repeat(400)}"`, "range"],
    [`"${"9".repeat(200_000)}.5"`, "range"],
    ["1.0001", "format"],
    ["\"1.0001\"", "format"],
    ["0.30000000000000004", "format"],
    ["1e-4", "format"],
    ["1e-7", "format"],
    ["1e400", "format"],
    ["\"1e3\"", "format"],
    ["\"0x10\"", "format"],
    ["\"١٠\"", "format"],
    ["\" 10\"", "format"],
    ["\"10 \"", "format"],
    ["\"10\\n\"", "format"],
    ["\"+10\"", "format"],
    ["\"1,000\"", "format"],
    ["\".5\"", "format"],
    ["\"5.\"", "format"],
    ["\"\"", "format"],
    ["\"-\"", "format"],
    ["\"NaN\"", "format"],
    ["\"Infinity\"", "format"],
    ["true", "format"],
    ["null", "format"],
    ["[10]", "format"],
    ["{}", "format"],
    [`"${"0".repeat(200_000)}1"`, 1000n]
  ]
  const check = (field: "amount" | "amount_usd", table: typeof amounts) => {
    for (const [json, expected] of table) {
      const read = readInvoiceAmount({ [field]: JSON.parse(json) as unknown })
      assert.strictEqual(read, expected as typeof read, `${field} ${json.slice(0, 40)}`)
    }
  }

  it("reads `amount` as a whole number of usd_millis, by value", () => check("amount", amounts))

  it("reads `amount_usd` as dollars with at most three decimals, by value", () => check("amount_usd", dollars))

  it("takes exactly one of the two", () => {
    assert.strictEqual(readInvoiceAmount({}), "format")
    assert.strictEqual(readInvoiceAmount({ amount: 1000, amount_usd: 1 }), "format")
    assert.strictEqual(readInvoiceAmount({ amount: 1000, amount_usd: undefined }), 1000n as never)
    for (const value of [Number.NaN, 10n, new Date(0), () => 10]) {
      assert.strictEqual(readInvoiceAmount({ amount: value }), "format")
      assert.strictEqual(readInvoiceAmount({ amount_usd: value }), "format")
    }
  })

  it.effect.prop(
    "reads every amount in range back from its own decimal, as text and as number",
    [Millis],
    ([amount]) =>
      Effect.sync(() => {
        const expected = amount < 10n ? "range" : amount
        const text = usdDecimal(usdMillis(amount))
        assert.strictEqual(readInvoiceAmount({ amount_usd: text }), expected as never)
        assert.strictEqual(readInvoiceAmount({ amount_usd: JSON.parse(text) }), expected as never)
        assert.strictEqual(readInvoiceAmount({ amount: Number(amount) }), expected as never)
      })
  )
})

describe("rates", () => {
  it("reads plain positive decimals and nothing else", () => {
    assert.deepStrictEqual(readRate("3500.25"), rate(350_025n, 100n))
    assert.deepStrictEqual(readRate("1"), rate(1n, 1n))
    for (const text of ["0", "0.00", "-1", "+1", "1e3", "", ".5", "5.", " 1", "1 ", "1,5", "NaN", "0x1", "1.2.3"]) {
      assert.isUndefined(readRate(text), text)
    }
    assert.isUndefined(readRate("1".repeat(31)))
    assert.isUndefined(readRate(`1.${"1".repeat(37)}`))
  })

  it("writes at least six fractional digits where eighteen significant ones leave room", () => {
    const texts = [
      [rate(1n, 1n), "1.000000"],
      [rate(350_025n, 100n), "3500.250000"],
      [rate(1n, 3n), "0.333333333333333333"],
      [rate(2n, 30_000_000n), "0.0000000666666666666666666"],
      [rate(10n ** 17n, 1n), "100000000000000000"],
      [rate(123_456_789_012_345_678_901n, 1n), "123456789012345678000"],
      [rate(1n, 10n ** 36n), `0.${"0".repeat(35)}1`],
      [rate(1n, 10n ** 40n), "0.000000"]
    ] as const
    for (const [value, text] of texts) assert.strictEqual(rateText(value), text)
    assert.isUndefined(readRate(rateText(rate(1n, 10n ** 40n))), "too small for text is no rate")
  })

  it.effect.prop("text and back is exact for every rate of at most 18 digits", [
    naturals(10n ** 18n - 1n, 1n),
    Decimals
  ], (
    [digits, places]
  ) =>
    Effect.sync(() => {
      const value = rate(digits, 10n ** BigInt(places))
      const text = rateText(value)
      const back = readRate(text)
      assert.isDefined(back, text)
      assert.strictEqual(compareRates(back!, value), 0, text)
      assert.strictEqual(rateText(back!), text)
    }))

  it.effect.prop(
    "text rounds down, by less than one in 10^17, and fits the wire",
    [rates, rates],
    ([n, d]) =>
      Effect.sync(() => {
        const value = rate(n, d)
        const text = rateText(value)
        assert.isTrue(Schema.is(RateText)(text), text)
        const digits = text.replace(".", "").replace(/^0+/, "").replace(/0+$/, "")
        assert.isAtMost(digits.length, rateDigits)
        const back = readRate(text)
        assert.isDefined(back, text)
        const left = back!.numerator * d
        const right = n * back!.denominator
        assert.isTrue(left <= right, "never above")
        assert.isTrue((right - left) * 10n ** 17n < right, "hardly below")
      })
  )

  it.effect.prop("order is that of the fractions", [rates, rates, rates, rates], ([a, b, c, d]) =>
    Effect.sync(() => {
      const order = Math.sign(compareRates(rate(a, b), rate(c, d)))
      assert.strictEqual(order, a * d < c * b ? -1 : a * d > c * b ? 1 : 0)
      assert.strictEqual(order, -Math.sign(compareRates(rate(c, d), rate(a, b))) + 0)
    }))

  it.effect.prop(
    "the midpoint lies as far from one as from the other",
    [rates, rates, rates, rates],
    ([a, b, c, d]) =>
      Effect.sync(() => {
        const middle = midpoint(rate(a, b), rate(c, d))
        // 2 m = a/b + c/d, over the common denominator.
        assert.strictEqual(2n * middle.numerator * b * d, (a * d + c * b) * middle.denominator)
      })
  )

  it.effect.prop(
    "the median has as many rates above as below, in any order",
    [Schema.NonEmptyArray(naturals(1000n, 1n))],
    ([[first, ...rest]]) =>
      Effect.sync(() => {
        const all = [first, ...rest].map((each) => rate(each, 7n))
        const median = medianRate([all[0]!, ...all.slice(1)])
        const above = all.filter((each) => compareRates(each, median) > 0).length
        const below = all.filter((each) => compareRates(each, median) < 0).length
        assert.isAtMost(above, all.length >> 1)
        assert.isAtMost(below, all.length >> 1)
        const [head, ...tail] = all.toReversed()
        assert.strictEqual(compareRates(medianRate([head!, ...tail]), median), 0)
      })
  )

  it("within counts the edge in", () => {
    assert.isTrue(isWithin(rate(102n, 1n), rate(100n, 1n), 200n))
    assert.isTrue(isWithin(rate(98n, 1n), rate(100n, 1n), 200n))
    assert.isFalse(isWithin(rate(10_201n, 100n), rate(100n, 1n), 200n))
    assert.isFalse(isWithin(rate(9_799n, 100n), rate(100n, 1n), 200n))
  })

  it("is shown as the nearest number", () => {
    assert.strictEqual(displayNumber("3500.250000"), 3500.25)
    assert.strictEqual(displayNumber("0.333333333333333333"), 1 / 3)
  })
})

describe("token amounts", () => {
  it.effect.prop("up: enough for the amount, and one base unit less is not", [Millis, rates, rates, Decimals], (
    [amount, n, d, decimals]
  ) =>
    Effect.sync(() => {
      const units = tokenAmountUp(usdMillis(amount), rate(n, d), decimals)
      const worth = (each: bigint) => each * 1000n * n
      const asked = amount * 10n ** BigInt(decimals) * d
      assert.isTrue(worth(units) >= asked)
      if (units > 0n) assert.isTrue(worth(units - 1n) < asked)
      else assert.strictEqual(amount, 0n)
    }))

  it.effect.prop("down: never more than received, by less than one usd_milli", [Units, rates, rates, Decimals], (
    [units, n, d, decimals]
  ) =>
    Effect.sync(() => {
      const value = usdValueDown(baseUnits(units), rate(n, d), decimals)
      const scale = 10n ** BigInt(decimals) * d
      const received = units * 1000n * n
      assert.isTrue(value * scale <= received)
      assert.isTrue((value + 1n) * scale > received)
    }))

  it.effect.prop("what was asked for pays the amount: down after up loses nothing", [Millis, rates, rates, Decimals], (
    [amount, n, d, decimals]
  ) =>
    Effect.sync(() => {
      const value = usdValueDown(tokenAmountUp(usdMillis(amount), rate(n, d), decimals), rate(n, d), decimals)
      assert.isTrue(value >= amount)
      // The excess is worth less than one base unit.
      assert.isTrue((value - amount) * 10n ** BigInt(decimals) * d < 1000n * n || value === amount)
    }))

  it.effect.prop(
    "print with exactly the token's decimals and read back",
    [Units, Decimals],
    ([units, decimals]) =>
      Effect.sync(() => {
        const text = formatUnits(units, decimals)
        assert.strictEqual(text.split(".")[1]?.length ?? 0, decimals)
        assert.strictEqual(parseUnits(text, decimals), baseUnits(units))
        assert.strictEqual(formatUnits(-units, decimals), units === 0n ? text : `-${text}`)
      })
  )

  it("refuses text that is no plain decimal or finer than the token", () => {
    assert.strictEqual(parseUnits("1.5", 6), baseUnits(1_500_000n))
    assert.strictEqual(parseUnits("5", 0), baseUnits(5n))
    for (const text of ["", "1.", ".1", "-1", "1e3", " 1", "1.1234567", "x"]) {
      assert.isUndefined(parseUnits(text, 6), text)
    }
  })
})

describe("numbers as a provider writes them", () => {
  const Mantissa = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: 10n ** 17n }))
  const Exponent = Schema.Int.check(Schema.isBetween({ minimum: -18, maximum: 10 }))

  it.effect.prop("lose no digit to an exponent", [Mantissa, Exponent], ([mantissa, exponent]) =>
    Effect.sync(() => {
      const plain = plainDecimal(`${mantissa}e${exponent}`)
      assert.isDefined(plain)
      const expected = exponent < 0
        ? { numerator: mantissa, denominator: 10n ** BigInt(-exponent) }
        : { numerator: mantissa * 10n ** BigInt(exponent), denominator: 1n }
      assert.strictEqual(compareRates(readRate(plain!)!, expected), 0)
      // The point may stand anywhere: 123e-2 is 1.23e0.
      const digits = String(mantissa)
      const scientific = `${digits[0]}.${digits.slice(1) || "0"}E${exponent + digits.length - 1}`
      assert.strictEqual(plainDecimal(scientific), plain)
    }))

  it("are refused where they are negative, no number, or longer than a rate", () => {
    assert.strictEqual(plainDecimal("0.1"), "0.1")
    assert.strictEqual(plainDecimal("3500.2812345678901234"), "3500.2812345678901234")
    for (
      const text of [
        "-1",
        "+1",
        "NaN",
        "Infinity",
        "null",
        "",
        "1e",
        "1e400",
        "1e31",
        "1e-40",
        ".5",
        "1.",
        "0x10",
        " 1"
      ]
    ) {
      assert.isUndefined(plainDecimal(text), text)
    }
  })
})
