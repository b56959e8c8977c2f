/**
 * Goal: what a payor sends for a quote pays what the quote said, and never credits more than was received.
 * Method: random amounts, rates and decimals; the rules against their own definitions in plain integers.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  isReusable,
  networkDegraded,
  newQuote,
  noPrice,
  noSettlement,
  quoteEventText,
  quoteObject,
  type QuoteRequest,
  type QuoteRow,
  routeFault,
  showAgain,
  type SpotPrice,
  unavailableObject,
  valuation
} from "../../../modules/quotes/rules.ts"
import { InvoiceId, MerchantId, QuoteId, TokenId } from "../../../schemas/Ids.ts"
import { baseUnits, maximumCredit, maximumInvoiceAmount, readRate, usdMillis } from "../../../schemas/Money.ts"
import { Quote } from "../../../schemas/Quote.ts"
import { Token } from "../../../schemas/Token.ts"
import { usdc } from "../../fixtures/tokens.ts"

const now = 1_766_320_496
const invoiceId = InvoiceId.make("550e8400-e29b-41d4-a716-446655440000")
const quoteId = (index: number) => QuoteId.make(`quo_550e8400-e29b-41d4-a716-${index.toString(16).padStart(12, "0")}`)

const spotOf = (text: string): SpotPrice => ({ text, rate: readRate(text)!, source: "fixed", at: now - 10 })

const request = (amount: bigint, decimals = 6): QuoteRequest => ({
  merchantId: MerchantId.make(7),
  invoiceId,
  environment: "devnet",
  token: { id: usdc.id, network: usdc.network, decimals },
  amountRemaining: usdMillis(amount),
  isShown: true
})

const quote = (index: number, amount: bigint, rate: string, decimals = 6): QuoteRow =>
  newQuote(quoteId(index), request(amount, decimals), spotOf(rate), now - index)

const Millis = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: maximumInvoiceAmount }))
const Decimals = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 18 }))
/** Rates from a millionth of a dollar to ten million dollars. */
const Rate = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000_000_000_000 }))
const rateOf = (millionths: number) => {
  const digits = String(millionths).padStart(7, "0")
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`
}
const Extra = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 10n ** 24n }))

describe("valuation", () => {
  it.effect.prop(
    "a transfer that covers the quote is worth at least what was quoted; one base unit less, at most",
    [Millis, Rate, Decimals],
    ([amount, rate, decimals]) =>
      Effect.sync(() => {
        const candidate = quote(1, amount, rateOf(rate), decimals)
        const exact = valuation([candidate], candidate.tokenAmount, null, decimals)
        assert.isTrue(exact !== null && exact.amount >= amount)
        assert.deepStrictEqual(exact?.quote.quote_id, candidate.id)
        if (candidate.tokenAmount > 0n) {
          const short = valuation([candidate], baseUnits(candidate.tokenAmount - 1n), null, decimals)
          assert.isTrue(short !== null && short.amount < amount)
        }
      })
  )

  it.effect.prop(
    "never credits more than was received, and less by under a thousandth of a dollar",
    [Extra, Rate, Decimals],
    ([units, rate, decimals]) =>
      Effect.sync(() => {
        const valued = valuation([], baseUnits(units), spotOf(rateOf(rate)), decimals)
        assert.isNotNull(valued)
        // Both sides in millis times 10^decimals times 10^6.
        const scale = 10n ** BigInt(decimals) * 1_000_000n
        const received = units * BigInt(rate) * 1000n
        assert.isTrue(valued!.amount * scale <= received)
        if (valued!.amount < maximumCredit) assert.isTrue((valued!.amount + 1n) * scale > received)
        assert.isTrue(valued!.amount <= maximumCredit)
      })
  )

  it.effect.prop(
    "more tokens are never worth less at one rate",
    [Extra, Extra, Rate, Decimals],
    ([a, b, rate, d]) =>
      Effect.sync(() => {
        const spot = spotOf(rateOf(rate))
        const less = valuation([], baseUnits(a), spot, d)!
        const more = valuation([], baseUnits(a + b), spot, d)!
        assert.isTrue(less.amount <= more.amount)
      })
  )

  it.effect.prop(
    "takes the newest candidate that is covered, else the newest",
    [Schema.Array(Millis), Extra],
    ([amounts, units]) =>
      Effect.sync(() => {
        const candidates = amounts.map((amount, index) => quote(index + 1, amount, "1.000000"))
        const valued = valuation(candidates, baseUnits(units), null, 6)
        const covered = candidates.filter(({ tokenAmount }) => tokenAmount <= units)
        const expected = covered[0] ?? candidates[0]
        assert.strictEqual(valued?.quote.quote_id, expected?.id)
        if (valued !== null) assert.strictEqual(valued.quote.pricing, "locked")
      })
  )

  it("prefers the quote a transfer was made for over a newer, dearer one", () => {
    const older = quote(2, 49_990n, "1.000000")
    const newer = quote(1, 49_990n, "0.500000")
    const valued = valuation([newer, older], older.tokenAmount, spotOf("9"), 6)
    assert.deepStrictEqual([valued?.quote.quote_id, valued?.amount], [older.id, usdMillis(49_990n)])
  })

  it("falls back to spot without a candidate, and to nothing without a price", () => {
    assert.isNull(valuation([], baseUnits(1_000_000n), null, 6))
    assert.deepStrictEqual(valuation([], baseUnits(1_500_000n), spotOf("2.5"), 6), {
      amount: usdMillis(3_750n),
      quote: { quote_id: null, exchange_rate: "2.5", rate_source: "fixed", priced_at: now - 10, pricing: "spot" }
    })
  })

  it("credits no more than has a form on the wire, however much test money is minted", () => {
    const valued = valuation([], baseUnits(10n ** 70n), spotOf("3500"), 18)
    assert.strictEqual(valued?.amount, maximumCredit)
    assert.isTrue(maximumCredit * 900n < BigInt(Number.MAX_SAFE_INTEGER))
  })
})

describe("a quote shown again", () => {
  it.effect.prop(
    "promises the same to the second and the base unit, and values every transfer alike",
    [Millis, Rate, Decimals, Extra, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 269 }))],
    ([amount, rate, decimals, units, later]) =>
      Effect.sync(() => {
        const row = { ...quote(0, amount, rateOf(rate), decimals), isShown: false }
        const again = showAgain(quoteId(9), row, now + later)
        assert.deepStrictEqual(quoteObject(again, now + later), quoteObject(row, now + later))
        const before = valuation([row], baseUnits(units), null, decimals)
        const after = valuation([again, row], baseUnits(units), null, decimals)
        assert.strictEqual(after?.amount, before?.amount)
        assert.isTrue(again.isShown && !row.isShown)
      })
  )
})

describe("tokens with odd decimals", () => {
  const Cheapest = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))

  it.effect.prop(
    "cost at most one base unit too much, and are credited without overflow, with 0 to 36 decimals",
    [Millis, Cheapest, Schema.Literals([0, 1, 18, 36])],
    ([amount, rate, decimals]) =>
      Effect.sync(() => {
        const row = quote(0, amount, rateOf(rate), decimals)
        // In millionths of a dollar times 10^decimals times 1000: what is asked for, and what is owed.
        const asked = row.tokenAmount * BigInt(rate) * 1_000n
        const owed = amount * 1_000_000n * 10n ** BigInt(decimals)
        assert.isTrue(asked >= owed && asked - owed < BigInt(rate) * 1_000n)
        const all = valuation([row], baseUnits(2n ** 256n - 1n), null, decimals)
        assert.isTrue(all !== null && all.amount <= maximumCredit)
        assert.isTrue(Number.isSafeInteger(Number(all!.amount)))
      })
  )

  it("have no token in the catalogue with more than 36", () => {
    assert.throws(() => Schema.decodeUnknownSync(Token)({ ...usdc, decimals: 255 }))
    assert.throws(() => Schema.decodeUnknownSync(Token)({ ...usdc, decimals: -1 }))
  })
})

describe("routes of an invoice", () => {
  const facts = { network: "base", token: usdc, environment: "devnet", acceptedNetworks: null } as const

  it("are refused by the first thing that is wrong with them, and named", () => {
    assert.isNull(routeFault(facts))
    assert.isNull(routeFault({ ...facts, acceptedNetworks: ["solana", "base"] }))
    assert.deepStrictEqual(routeFault({ ...facts, network: "constructor" }), {
      code: "UNSUPPORTED_NETWORK",
      param: "network"
    })
    assert.deepStrictEqual(routeFault({ ...facts, acceptedNetworks: ["solana"] }), {
      code: "UNSUPPORTED_NETWORK",
      param: "network"
    })
    for (const token of [undefined, { ...usdc, active: false }, { ...usdc, environment: "mainnet" as const }]) {
      assert.deepStrictEqual(routeFault({ ...facts, token }), { code: "TOKEN_NOT_ACCEPTED", param: "token_id" })
    }
    assert.deepStrictEqual(routeFault({ ...facts, network: "solana" }), {
      code: "TOKEN_NETWORK_MISMATCH",
      param: "token_id"
    })
  })
})

describe("the event of a quote", () => {
  it("is numbered, of the listener's version, and tells a payor nothing of the merchant's request", () => {
    const row = quote(0, 49_990n, "1.000000")
    const text = quoteEventText({ ms: 1_766_320_496_123n, seq: 7n }, "devnet", quoteObject(row, now), {
      exchange_rate: "2"
    }, "2026-01-15")
    const { data, ...envelope } = JSON.parse(text)
    assert.deepStrictEqual(envelope, {
      id: "evt_1766320496123-7",
      object: "event",
      api_version: "2026-01-15",
      created: 1_766_320_496,
      type: "payment_quote.updated",
      livemode: false,
      pending_webhooks: 0,
      request: { id: null, idempotency_key: null }
    })
    assert.deepStrictEqual(data, { object: quoteObject(row, now), previous_attributes: { exchange_rate: "2" } })
  })
})

describe("quote objects", () => {
  const fields = Object.keys(Quote.fields)

  it("have exactly the contract's fields in its order, and decode, in every state", () => {
    const row = quote(0, 49_990n, "1.000000")
    for (
      const object of [
        quoteObject(row, now),
        quoteObject(row, now + 300),
        unavailableObject(request(49_990n), noPrice("Rate data is stale", 15)),
        unavailableObject(request(49_990n), networkDegraded),
        unavailableObject(request(49_990n), noSettlement, TokenId.make(9))
      ]
    ) {
      assert.deepStrictEqual(Object.keys(object), fields)
      assert.deepStrictEqual(Schema.decodeUnknownSync(Quote)(JSON.parse(JSON.stringify(object))), object)
    }
  })

  it("are the example of the API reference", () => {
    assert.deepStrictEqual(quoteObject(quote(0, 49_990n, "1.000000"), now), {
      object: "payment_quote",
      invoice_id: invoiceId,
      network: "base",
      supported_token_id: usdc.id,
      settlement_token_id: usdc.id,
      currency: "usd",
      amount_remaining: 49_990,
      amount_remaining_decimal: "49.990",
      amount_unit: "usd_millis",
      estimated_token_amount_remaining: "49.990000",
      exchange_rate: "1.000000",
      quote_last_updated_at: now - 10,
      quote_valid_until: now + 300,
      quote_expires_in_seconds: 300,
      quote_status: "available",
      status_code: "ok",
      message: null,
      retryable: null,
      retry_after_seconds: null
    })
  })

  it("count down to 0, and are expired from their end on", () => {
    const row = quote(0, 1n, "1")
    const at = (seconds: number) => {
      const { quote_expires_in_seconds, quote_status, status_code } = quoteObject(row, now + seconds)
      return [quote_expires_in_seconds, quote_status, status_code]
    }
    assert.deepStrictEqual(at(299), [1, "available", "ok"])
    assert.deepStrictEqual(at(300), [0, "expired", "quote_expired"])
    assert.deepStrictEqual(at(9_999), [0, "expired", "quote_expired"])
  })

  it("are given again only for the same route and amount, with more than 30 s left", () => {
    const row = quote(0, 49_990n, "1.000000")
    assert.isTrue(isReusable(row, request(49_990n), now + 269))
    assert.isFalse(isReusable(row, request(49_990n), now + 270))
    assert.isFalse(isReusable(row, request(49_991n), now))
    assert.isFalse(isReusable(row, request(49_990n, 18), now))
    assert.isFalse(isReusable({ ...row, network: "ethereum" }, request(49_990n), now))
    assert.isFalse(isReusable(row, request(49_990n), now - 1), "a clock set back does not stretch a quote")
  })
})
