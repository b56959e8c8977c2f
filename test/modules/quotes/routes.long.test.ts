/**
 * Goal: the quote routes answer as modules/docs/reference/quotes.md#calls says, keep what they promised, and tell
 * nobody of what is another's. Method: the real router and commit log; bodies written down here anew.
 */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { IdentifiedQuote, QuoteEstimate, RouteResult } from "../../../modules/quotes/api.ts"
import type { JournalEntry } from "../../../runtime/Chains.ts"
import { usdc } from "../../fixtures/tokens.ts"
import type { Answer, Call } from "../../support/Api.ts"
import {
  type Caller,
  callerOf,
  choose,
  ether,
  invoiceService,
  losePrice,
  mainnetUsdc,
  newInvoice,
  newMerchant,
  post,
  receiveTransfer,
  reportAgain,
  setAttested,
  setPrice,
  usualPrices
} from "../invoices/InvoiceService.ts"

const path = "/api/v1/quotes"

const merchant = Effect.map(newMerchant, (id) => ({
  id,
  devnet: callerOf(id),
  mainnet: callerOf(id, "merchant", "mainnet"),
  commerce: callerOf(id, "commerce")
}))

/** A wrapped refusal: always the five keys. */
const refused = (answer: Answer, status: number, code: string, param: string | null = null) => {
  assert.deepStrictEqual([answer.status, answer.json?.error?.code], [status, code], answer.text)
  assert.deepStrictEqual(Object.keys(answer.json), ["success", "error"])
  assert.deepStrictEqual(Object.keys(answer.json.error), ["code", "message", "param", "details", "request_id"])
  assert.strictEqual(answer.json.error.param, param)
}

const exactly = (schema: Schema.Codec<any, any>, value: unknown) =>
  Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(value)

const ofInvoice = (id: string, more: object = {}): Call =>
  post({ invoice_id: id, network: "base", token_id: usdc.id, ...more })

const rowsOf = (invoiceId: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return yield* sql<
      { id: string; shown: boolean }
    >`SELECT id, shown FROM quotes WHERE invoice_id = ${invoiceId} ORDER BY id`
  })

layer(invoiceService)("quotes over HTTP", (it) => {
  it.effect("price one route: exactly the documented body, which reads back the same", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount_usd: 49.99 })
      const { data, success } = yield* devnet.ok(path, ofInvoice(invoice.id))
      assert.isTrue(success)
      exactly(IdentifiedQuote, data)
      const now = data.quote_last_updated_at
      assert.deepStrictEqual(data, {
        id: data.id,
        object: "payment_quote",
        invoice_id: invoice.id,
        network: "base",
        supported_token_id: usdc.id,
        settlement_token_id: usdc.id,
        currency: "usd",
        amount_remaining: 49_990,
        amount_remaining_decimal: "49.990",
        amount_unit: "usd_millis",
        estimated_token_amount_remaining: "49.990000",
        exchange_rate: "1",
        quote_last_updated_at: now,
        quote_valid_until: now + 300,
        quote_expires_in_seconds: 300,
        quote_status: "available",
        status_code: "ok",
        message: null,
        retryable: null,
        retry_after_seconds: null
      })
      assert.match(data.id, /^quo_[0-9a-f-]{36}$/)
      assert.deepStrictEqual((yield* devnet.ok(`${path}/${data.id}`)).data, data)
      assert.deepStrictEqual(yield* rowsOf(invoice.id), [{ id: data.id, shown: false }])
    }))

  it.effect("read a quote back with the time it has left, and after its end as expired", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 1_000 })
      const { data } = yield* devnet.ok(path, ofInvoice(invoice.id))
      setPrice("usd-coin", "0.5")
      yield* TestClock.adjust("299 seconds")
      const last = (yield* devnet.ok(`${path}/${data.id}`)).data
      assert.deepStrictEqual(last, { ...data, quote_expires_in_seconds: 1 })
      yield* TestClock.adjust("1 second")
      const ended = (yield* devnet.ok(`${path}/${data.id}`)).data
      assert.deepStrictEqual(
        [ended.quote_status, ended.status_code, ended.quote_expires_in_seconds, ended.exchange_rate],
        ["expired", "quote_expired", 0, "1"]
      )
      const next = (yield* devnet.ok(path, ofInvoice(invoice.id))).data
      assert.deepStrictEqual([next.id === data.id, next.exchange_rate], [false, "0.5"])
    }))

  it.effect("answer another merchant's, environment's and scope's ids exactly as ids that never were", () =>
    Effect.gen(function*() {
      usualPrices()
      const mine = yield* merchant
      const other = yield* merchant
      const invoice = yield* newInvoice(mine.devnet, { amount: 1_000 })
      const { data } = yield* mine.devnet.ok(path, ofInvoice(invoice.id))
      const never = "quo_00000000-0000-4000-8000-000000000000"
      const nowhere = "00000000-0000-4000-8000-000000000000"
      const bodyOf = ({ json }: Answer) => ({ ...json.error, request_id: "" })
      for (const caller of [other.devnet, other.mainnet, other.commerce, mine.mainnet, mine.commerce]) {
        const foreign = yield* caller.call(`${path}/${data.id}`)
        refused(foreign, 404, "QUOTE_NOT_FOUND")
        assert.deepStrictEqual(bodyOf(foreign), bodyOf(yield* caller.call(`${path}/${never}`)))
        const asked = yield* caller.call(path, ofInvoice(invoice.id))
        refused(asked, 404, "INVOICE_NOT_FOUND", "invoice_id")
        assert.deepStrictEqual(bodyOf(asked), bodyOf(yield* caller.call(path, ofInvoice(nowhere))))
        const batch = post({ invoice_id: invoice.id, routes: [{ network: "base", token_id: usdc.id }] })
        refused(yield* caller.call(`${path}/batch`, batch), 404, "INVOICE_NOT_FOUND", "invoice_id")
      }
      // A merchant's own key reads the other environment by naming it.
      assert.strictEqual((yield* mine.mainnet.ok(`${path}/${data.id}?environment=devnet`)).data.id, data.id)
      refused(yield* mine.commerce.call(`${path}/${data.id}?environment=mainnet`), 403, "ENVIRONMENT_FORBIDDEN")
      for (const id of ["x", "quo_", `${data.id}x`, data.id.toUpperCase()]) {
        refused(yield* mine.devnet.call(`${path}/${id}`), 404, "QUOTE_NOT_FOUND")
      }
      const shop = yield* newInvoice(mine.commerce, { amount: 1_000 })
      const commerce = yield* mine.commerce.ok(path, ofInvoice(shop.id))
      assert.strictEqual((yield* mine.commerce.ok(`${path}/${commerce.data.id}`)).data.invoice_id, shop.id)
    }))

  it.effect("refuse a route that cannot be paid, each with its own code, and write nothing", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 20_000, accepted_networks: ["base", "solana"] })
      const cases: ReadonlyArray<readonly [object, number, string, string | null]> = [
        [{ network: "ethereum" }, 400, "UNSUPPORTED_NETWORK", "network"],
        [{ network: "dogecoin" }, 400, "UNSUPPORTED_NETWORK", "network"],
        [{ token_id: 999_999 }, 400, "TOKEN_NOT_ACCEPTED", "token_id"],
        [{ token_id: mainnetUsdc.id }, 400, "TOKEN_NOT_ACCEPTED", "token_id"],
        [{ network: "solana" }, 400, "TOKEN_NETWORK_MISMATCH", "token_id"],
        [{ token_id: "1" }, 400, "VALIDATION_ERROR", "token_id"],
        [{ network: undefined }, 400, "VALIDATION_ERROR", "network"],
        [{ invoice_id: 5 }, 400, "VALIDATION_ERROR", "invoice_id"],
        [{ settlement_token_id: -1 }, 400, "VALIDATION_ERROR", "settlement_token_id"]
      ]
      for (const [more, status, code, param] of cases) {
        refused(yield* devnet.call(path, ofInvoice(invoice.id, more)), status, code, param)
      }
      assert.deepStrictEqual(yield* rowsOf(invoice.id), [])
      yield* receiveTransfer(invoice, usdc, 5_000_000n)
      refused(yield* devnet.call(path, ofInvoice(invoice.id, { token_id: ether.id })), 409, "ROUTE_LOCKED")
      assert.strictEqual((yield* devnet.ok(path, ofInvoice(invoice.id))).data.amount_remaining, 15_000)
      yield* receiveTransfer(invoice, usdc, 15_000_000n)
      refused(yield* devnet.call(path, ofInvoice(invoice.id)), 409, "INVOICE_NOT_PAYABLE")
      const batch = post({ invoice_id: invoice.id, routes: [{ network: "base", token_id: usdc.id }] })
      refused(yield* devnet.call(`${path}/batch`, batch), 409, "INVOICE_NOT_PAYABLE")
    }))

  it.effect("say unavailable with 200 when there is no price, or another settlement token is asked for", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 1_000 })
      const settled = (yield* devnet.ok(path, ofInvoice(invoice.id, { settlement_token_id: ether.id }))).data
      assert.deepStrictEqual(
        [settled.id, settled.quote_status, settled.status_code, settled.retryable, settled.settlement_token_id],
        [null, "unavailable", "settlement_unavailable", false, ether.id]
      )
      losePrice("usd-coin")
      const lost = (yield* devnet.ok(path, ofInvoice(invoice.id))).data
      exactly(IdentifiedQuote, lost)
      assert.deepStrictEqual(
        [
          lost.id,
          lost.estimated_token_amount_remaining,
          lost.quote_status,
          lost.status_code,
          lost.message,
          lost.retryable,
          lost.retry_after_seconds
        ],
        [null, null, "unavailable", "quote_unavailable", "Rate data is stale", true, 15]
      )
      assert.deepStrictEqual(yield* rowsOf(invoice.id), [])
    }))

  it.effect("price many routes at once: each its quote or the error it would have had alone, in one commit", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 20_000 })
      const routes = [
        { network: "base", token_id: usdc.id },
        { network: "base", token_id: 999_999 },
        { network: "base", token_id: ether.id },
        { network: "solana", token_id: usdc.id },
        { network: "base", token_id: usdc.id }
      ]
      const { data } = yield* devnet.ok(`${path}/batch`, post({ invoice_id: invoice.id, routes }))
      assert.strictEqual(data.object, "list")
      for (const each of data.data) exactly(RouteResult, each)
      assert.deepStrictEqual(
        data.data.map((
          { error, network, quote, token_id }: any
        ) => [network, token_id, quote?.exchange_rate ?? null, error?.code ?? null]),
        [
          ["base", usdc.id, "1", null],
          ["base", 999_999, null, "TOKEN_NOT_ACCEPTED"],
          ["base", ether.id, "2000", null],
          ["solana", usdc.id, null, "TOKEN_NETWORK_MISMATCH"],
          ["base", usdc.id, "1", null]
        ]
      )
      assert.strictEqual(data.data[0].quote.id, data.data[4].quote.id, "a route asked for twice is one quote")
      assert.strictEqual((yield* rowsOf(invoice.id)).length, 2)
      const of = (count: number) =>
        post({ invoice_id: invoice.id, routes: Array.from({ length: count }, () => routes[0]) })
      assert.strictEqual((yield* devnet.ok(`${path}/batch`, of(50))).data.data.length, 50)
      for (const count of [0, 51]) {
        refused(yield* devnet.call(`${path}/batch`, of(count)), 400, "VALIDATION_ERROR", "routes")
      }
    }))

  it.effect("replay a repeated key byte for byte although prices moved, and refuse it for another body", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 1_000 })
      for (
        const [route, body] of [
          [path, { invoice_id: invoice.id, network: "base", token_id: ether.id }],
          [`${path}/batch`, { invoice_id: invoice.id, routes: [{ network: "base", token_id: usdc.id }] }]
        ] as const
      ) {
        const first = yield* devnet.call(route, post(body, `key of ${route}`.replaceAll(" ", "-")))
        const rows = yield* rowsOf(invoice.id)
        yield* TestClock.adjust("10 minutes")
        setPrice("usd-coin", "0.9")
        setPrice("ethereum", "9000")
        const again = yield* devnet.call(route, post(body, `key of ${route}`.replaceAll(" ", "-")))
        assert.strictEqual(again.text, first.text)
        assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
        assert.deepStrictEqual(yield* rowsOf(invoice.id), rows)
        const other = post({ ...body, invoice_id: "x" }, `key of ${route}`.replaceAll(" ", "-"))
        refused(yield* devnet.call(route, other), 422, "IDEMPOTENCY_KEY_REUSED")
      }
    }))

  it.effect("refuse no token for good whose contract was not asked since a start: the quote comes later", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 1_000 })
      setAttested(usdc, false)
      const { data } = yield* devnet.ok(path, ofInvoice(invoice.id))
      exactly(IdentifiedQuote, data)
      assert.deepStrictEqual(
        [data.id, data.quote_status, data.status_code, data.retry_after_seconds],
        [null, "unavailable", "network_degraded", 15]
      )
      const estimate = yield* devnet.ok(`${path}/estimate?amount=1000&network=base&token_id=${usdc.id}`)
      assert.strictEqual(estimate.data.estimated_token_amount, "1.000000")
      assert.deepStrictEqual(yield* rowsOf(invoice.id), [])
      setAttested(usdc, true)
      assert.strictEqual((yield* devnet.ok(path, ofInvoice(invoice.id))).data.quote_status, "available")
    }).pipe(Effect.ensuring(Effect.sync(() => setAttested(usdc, true)))))

  it.effect("estimate without an invoice, promise nothing and keep nothing", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet, mainnet } = yield* merchant
      const ask = (query: string, caller = devnet) => caller.call(`${path}/estimate?${query}`)
      const route = `network=base&token_id=${ether.id}`
      const { json } = yield* ask(`amount_usd=49.99&${route}`)
      exactly(QuoteEstimate, json.data)
      assert.deepStrictEqual(json, {
        success: true,
        data: {
          object: "quote_estimate",
          network: "base",
          supported_token_id: ether.id,
          settlement_token_id: ether.id,
          currency: "usd",
          amount: 49_990,
          amount_decimal: "49.990",
          amount_unit: "usd_millis",
          estimated_token_amount: "0.024995000000000000",
          exchange_rate: "2000",
          quote_last_updated_at: json.data.quote_last_updated_at
        }
      })
      assert.deepStrictEqual((yield* ask(`amount=49990&${route}`)).json, json)
      assert.deepStrictEqual((yield* ask(`amount=49990&${route}&environment=devnet`, mainnet)).json, json)
      const refusals: ReadonlyArray<readonly [string, number, string, string | null]> = [
        [route, 400, "INVALID_AMOUNT_FORMAT", null],
        [`amount=1&amount_usd=1&${route}`, 400, "INVALID_AMOUNT_FORMAT", null],
        [`amount=1.5&${route}`, 400, "INVALID_AMOUNT_FORMAT", "amount"],
        [`amount_usd=1e9&${route}`, 400, "INVALID_AMOUNT_FORMAT", "amount_usd"],
        [`amount=9&${route}`, 400, "INVALID_AMOUNT_RANGE", "amount"],
        [`amount=-5&${route}`, 400, "INVALID_AMOUNT_RANGE", "amount"],
        ["amount=1000&network=base&token_id=999999", 404, "TOKEN_NOT_FOUND", null],
        [`amount=1000&network=base&token_id=${mainnetUsdc.id}`, 404, "TOKEN_NOT_FOUND", null],
        [`amount=1000&network=solana&token_id=${usdc.id}`, 400, "TOKEN_NETWORK_MISMATCH", "token_id"],
        [`amount=1000&network=dogecoin&token_id=${usdc.id}`, 400, "UNSUPPORTED_NETWORK", "network"],
        [`amount=1000&${route}&environment=test`, 400, "INVALID_ENVIRONMENT", "environment"]
      ]
      for (const [query, status, code, param] of refusals) refused(yield* ask(query), status, code, param)
      losePrice("ethereum")
      const lost = yield* ask(`amount=49990&${route}`)
      refused(lost, 503, "QUOTE_UNAVAILABLE")
      assert.strictEqual(lost.headers.get("retry-after"), "15")
    }))
})

/**
 * What a payment was valued at stands on it, with where the rate came from, and no later price changes it.
 */
layer(invoiceService)("the price of a payment", (it) => {
  const paymentOf = (caller: Caller, invoiceId: string) =>
    Effect.map(caller.ok(`/api/v1/invoices/${invoiceId}/payments`), ({ data }) => data[0])
  const again = (caller: Caller, id: string) => caller.ok(`/api/v1/invoice-payments/${id}`)

  /** Prices move, the chain repeats itself, and dust arrives, so that everything about the invoice is decided anew. */
  const unmoved = Effect.fnUntraced(function*(caller: Caller, invoice: any, first: JournalEntry, paid: any) {
    let entry = first
    const before = yield* caller.ok(`/api/v1/invoices/${invoice.id}`)
    for (const price of ["1", "0.000001", "1000000"]) {
      setPrice("ethereum", price)
      yield* TestClock.adjust("1 hour")
      entry = yield* reportAgain(entry)
      yield* receiveTransfer(invoice, ether, 1n, "seen")
      assert.deepStrictEqual(yield* again(caller, paid.id), paid)
      const after = yield* caller.ok(`/api/v1/invoices/${invoice.id}`)
      assert.deepStrictEqual([after.amount_paid, after.status], [before.amount_paid, before.status])
    }
  })

  it.effect("is that of the quote the payor was shown, told on it, and stays when prices move", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 20_000 })
      const route = yield* choose(invoice.id, ether)
      const [quote] = yield* rowsOf(invoice.id)
      const quotedAt = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      setPrice("ethereum", "4000")
      yield* TestClock.adjust("60 seconds")
      const entry = yield* receiveTransfer(invoice, ether, route.tokenAmount!)
      const paid = yield* paymentOf(devnet, invoice.id)
      assert.strictEqual(paid.amount, 20_000, "at the quoted $2,000, not the $4,000 of now")
      assert.deepStrictEqual(paid.metadata.quote, {
        quote_id: quote!.id,
        exchange_rate: "2000",
        rate_source: "test",
        priced_at: quotedAt,
        pricing: "locked"
      })
      yield* unmoved(devnet, invoice, entry, paid)
    }))

  it.effect("is the spot price of its moment without a quote, and stays too", () =>
    Effect.gen(function*() {
      usualPrices()
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 20_000 })
      const entry = yield* receiveTransfer(invoice, ether, 5_000_000_000_000_000n)
      const paid = yield* paymentOf(devnet, invoice.id)
      assert.deepStrictEqual([paid.amount, paid.metadata.quote.pricing, paid.metadata.quote.quote_id], [
        10_000,
        "spot",
        null
      ])
      yield* unmoved(devnet, invoice, entry, paid)
    }))
})
