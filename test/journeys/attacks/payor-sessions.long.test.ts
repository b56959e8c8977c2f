/**
 * Goal: a payor's session opens its own invoice, for as long as it lives, and shows nothing that is not the payor's.
 * Method: attack group C, each case by its number, against a running service.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { generousLimits } from "../../support/Limits.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory, type TestResponse } from "../../support/Service.ts"
import { makePayor } from "../Payor.ts"
import {
  asPayor,
  assertStatus,
  chooseToken,
  type Invoice,
  newInvoice,
  openShop,
  requestAddress,
  type Shop
} from "../Shop.ts"
import { assertHarmless, assertRefusedFlat, attack } from "./Assertions.ts"

/** Calls of one session in a minute (modules/docs/reference/rate-limits.md#the-limits). */
const sessionLimit = 120

class Desk extends Context.Service<Desk, {
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          chains: [{ use: "simulated" }],
          limits: { ...generousLimits, sessionPerMinute: sessionLimit }
        })
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { service, shop, sql }
    })
  )
}

const reads = ["session-details", "available-tokens", "payment-status"] as const
const writes: Readonly<Record<string, object>> = {
  "payment-addresses": { network: "base", token_id: 1 },
  "customer-email": { email: "payor@example.com" },
  "refund-address": { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }
}

/** Every payor route with these headers. */
const everywhere = Effect.fnUntraced(function*(headers: Readonly<Record<string, string>>) {
  const { service } = yield* Desk
  const gets = yield* Effect.forEach(reads, (what) => attack(service, `/api/v1/payments/${what}`, { headers }))
  const posts = yield* Effect.forEach(
    Object.entries(writes),
    ([what, body]) => attack(service, `/api/v1/payments/${what}`, { headers, body })
  )
  return [...gets, ...posts]
})

const invoiceFor = (fields: object = {}) =>
  Effect.flatMap(Desk, ({ shop }) => newInvoice(shop, { amount_usd: 5, ...fields }))

const merchantCall = (path: string, body?: object, method?: string) =>
  Effect.flatMap(Desk, ({ service, shop }) =>
    attack(service, path, {
      headers: { "x-api-key": shop.key },
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method })
    }))

const tokenId = Effect.fnUntraced(function*(symbol: string, environment = "devnet") {
  const page = assertStatus(
    200,
    yield* merchantCall(`/api/v1/merchant/tokens/search?environment=${environment}&network=base&search=${symbol}`)
  )
  return page.tokens.find(({ token_symbol }: any) => token_symbol === symbol).id as number
})

const refundOf = (invoice: Invoice) =>
  Effect.flatMap(
    Desk,
    ({ sql }) =>
      Effect.orDie(sql<any>`SELECT network, address, memo FROM refund_destinations WHERE invoice_id = ${invoice.id}`)
  )

/**
 * Keys that may stand in an answer of each payor route
 * (modules/docs/reference/payor-sessions.md#what-a-payor-never-sees).
 */
const paymentKeys =
  `object id invoice_id merchant_id invoice_type environment customer_id commerce_order_id status network
  payer_tx_hash payer_wallet_address payer_wallet_network payer_amount_token currency amount amount_decimal amount_unit
  confirmed_at metadata confirmations required_confirmations explorer_url`
const remainingKeys = "amount_paid amount_paid_decimal amount_remaining amount_remaining_decimal amount_unit"
const quoteKeys = `object invoice_id network supported_token_id settlement_token_id currency amount_remaining
  amount_remaining_decimal amount_unit estimated_token_amount_remaining exchange_rate quote_last_updated_at
  quote_valid_until quote_expires_in_seconds quote_status status_code message retryable retry_after_seconds`
const allowed: Readonly<Record<string, string>> = {
  "session-details": `invoice_id invoice_status amount amount_decimal ${remainingKeys} currency amount_usd
    amount_remaining_usd description invoice_title invoice_footer expires_at remaining_time merchant_name merchant_email
    network_environment payment_return_url locked_network locked_token_id locked_payment_address branding
    branding.name branding.logo_uri branding.accent branding.support_email branding.domain branding.domain_verified_at
    payments
    ${paymentKeys.split(/\s+/).map((key) => `payments.${key}`).join(" ")}`,
  "available-tokens":
    `id token_symbol token_name token_type network token_decimals token_address requires_memo photo_uri
    has_settlement_route supports_stable_settlement is_monitored settlement_rate settlement_cost_usd
    is_same_token_settlement tier tier_fee availability_status rate_updated_at unavailable_reason min_amount
    network_fee_usd expected_seconds`,
  "payment-status": `status paid_at ${remainingKeys} latest_payment next_poll_seconds
    ${paymentKeys.split(/\s+/).map((key) => `latest_payment.${key}`).join(" ")}`,
  "payment-addresses": `success temp_address network supported_token_id memo requires_memo payment_uri
    estimated_token_amount exchange_rate usd_amount quote quote_status status_code message quote_last_updated_at
    quote_valid_until quote_expires_in_seconds retryable retry_after_seconds
    ${quoteKeys.split(/\s+/).map((key) => `quote.${key}`).join(" ")}
    ws_connection ws_connection.token ws_connection.endpoint ws_connection.format ws_connection.ws_url
    ws_connection.expires_at`,
  "customer-email": "success",
  "refund-address": "success"
}

/** Dotted names of every key in an answer, at any depth; the places of a list have none. */
const keysIn = (value: unknown, above = ""): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((each) => keysIn(each, above))
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [above + key, ...keysIn(inner, `${above}${key}.`)])
}

const assertOnlyAllowed = (what: string, answer: TestResponse) => {
  const listed = new Set(allowed[what]!.split(/\s+/))
  assert.deepStrictEqual(keysIn(answer.json).filter((key) => !listed.has(key)), [], what)
}

layer(Desk.layer, { excludeTestServices: true })("C. a payor's session", (it) => {
  it.effect("25. needs both halves of one pair, and says no more than that", () =>
    Effect.gen(function*() {
      const one = yield* invoiceFor()
      const two = yield* invoiceFor()
      const { "x-session-token": token, "x-signature": signature } = one.session
      const pairs: ReadonlyArray<Readonly<Record<string, string>>> = [
        {},
        { "x-session-token": token },
        { "x-signature": signature },
        { "x-session-token": token, "x-signature": two.session["x-signature"] },
        { "x-session-token": "", "x-signature": "" }
      ]
      for (const headers of pairs) {
        for (const answer of yield* everywhere(headers)) assertRefusedFlat(answer, 401, "SESSION_INVALID")
      }
    }))

  it.effect("26. is refused beside any merchant's credential, good or bad, whatever else is sent", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Desk
      const { session } = yield* invoiceFor()
      const credentials = [
        { "x-api-key": shop.key },
        { "x-api-key": "" },
        { "x-commerce-api-key": "nobody" },
        { authorization: "Bearer nothing" }
      ]
      for (const credential of credentials) {
        for (const headers of [{ ...session, ...credential }, credential]) {
          for (const answer of yield* everywhere(headers)) assertRefusedFlat(answer, 403, "CREDENTIAL_NOT_ALLOWED")
        }
      }
      const path = "/api/v1/payments/payment-addresses"
      const headers = { ...session, "x-api-key": shop.key }
      const broken = [
        { headers, body: "{" },
        { headers: { ...headers, "content-type": "text/plain" }, body: "{}" },
        { headers: { ...headers, "x-service-version": "1999-01-01" }, body: {} },
        { headers, body: { network: "x".repeat(300_000) } },
        { headers, body: {} }
      ]
      for (const sent of broken) assertRefusedFlat(yield* attack(service, path, sent), 403, "CREDENTIAL_NOT_ALLOWED")
      assertRefusedFlat(
        yield* attack(service, "/api/v1/payments/available-tokens?mode=%00&network=x", { headers }),
        403,
        "CREDENTIAL_NOT_ALLOWED"
      )
    }))

  it.effect("27. opens no merchant's route", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const invoice = yield* invoiceFor()
      const routes = [
        "/api/v1/events",
        "/api/v1/invoices",
        `/api/v1/invoices/${invoice.id}`,
        "/api/v1/invoices/totals",
        "/api/v1/merchant/tokens",
        "/api/v1/merchant/tokens/search",
        "/api/v1/merchant/settings"
      ]
      for (const path of routes) {
        const { json, status } = yield* attack(service, path, { headers: invoice.session })
        assert.deepStrictEqual([status, json.code ?? json.error.code], [401, "UNAUTHORIZED"], path)
      }
    }))

  it.effect("28. stays readable for 30 days after its invoice ended, and not a second longer", () =>
    Effect.gen(function*() {
      const { service, sql } = yield* Desk
      const invoice = yield* invoiceFor()
      const ended = (ago: number) =>
        Effect.orDie(sql`UPDATE invoices SET status = 'expired', version = version + 1,
          expires_at = floor(extract(epoch FROM now()))::bigint - ${ago} WHERE id = ${invoice.id}`)
      yield* ended(2_592_000 - 60)
      const read = attack(service, "/api/v1/payments/payment-status", { headers: invoice.session })
      assert.strictEqual(assertStatus(200, yield* read).status, "expired")
      yield* ended(2_592_000)
      for (const answer of yield* everywhere(invoice.session)) {
        assertRefusedFlat(answer, 401, "SESSION_EXPIRED")
      }
    }))

  it.effect("29. shows one address however often it is asked, then is told to wait", () =>
    Effect.gen(function*() {
      const { shop } = yield* Desk
      const invoice = yield* invoiceFor()
      const token_id = yield* tokenId("USDC")
      const answers = yield* Effect.forEach(
        Array.from({ length: 300 }),
        () => requestAddress(shop, invoice, { network: "base", token_id }),
        { concurrency: 20 }
      )
      const shown = answers.map((answer) => assertHarmless(answer, "29")).filter(({ status }) => status === 200)
      const waiting = answers.filter(({ status }) => status !== 200)
      assert.strictEqual(new Set(shown.map(({ json }) => json.temp_address)).size, 1)
      assert.strictEqual(shown.length, sessionLimit)
      for (const answer of waiting) {
        assertRefusedFlat(answer, 429, "RATE_LIMIT_EXCEEDED")
        assert.isAtLeast(Number(answer.headers["retry-after"]), 1)
      }
      const other = assertStatus(200, yield* requestAddress(shop, yield* invoiceFor(), { network: "base", token_id }))
      assert.notStrictEqual(other.temp_address, shown[0]!.json.temp_address)
    }))

  it.effect("29. has one limit for the API and the payment page", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const invoice = yield* invoiceFor()
      const query = new URL(invoice.created.payment_url).search
      const answers = yield* Effect.forEach(
        Array.from({ length: sessionLimit + 10 }),
        (_, n) =>
          n % 2 === 0
            ? service.call(`/pay/${invoice.id}/state${query}`)
            : service.call("/api/v1/payments/payment-status", { headers: invoice.session }),
        { concurrency: 20 }
      )
      assert.lengthOf(answers.filter(({ status }) => status === 200), sessionLimit)
      const refused = yield* service.call(`/pay/${invoice.id}${query}&c=1`)
      assert.deepStrictEqual([refused.status, refused.headers["content-type"]], [429, "text/html; charset=utf-8"])
      assert.isAtLeast(Number(refused.headers["retry-after"]), 1)
    }))

  it.effect("30. is not opened by a signature or token that is nearly right", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const { "x-session-token": token, "x-signature": signature } = (yield* invoiceFor()).session
      const [mac, millis] = signature.split(".") as [string, string]
      const signatures = [
        signature.toUpperCase(),
        `${signature}=`,
        signature.slice(0, -1),
        ` ${mac}`,
        mac,
        `${mac}.`,
        `${mac}.${millis}0`,
        `${mac}.0${millis}`,
        `${mac.slice(1)}0.${millis}`,
        `${mac}.${millis}.${millis}`,
        `${mac}.-1`,
        "null",
        `${"0".repeat(64)}.${millis}`,
        "a".repeat(8_000)
      ]
      const tokens = [
        token.toLowerCase(),
        `${token}=`,
        token.slice(0, -1),
        token.slice(4),
        `pst_${token}`,
        `${token}A`,
        `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`,
        "pst_"
      ]
      const pairs = [
        ...signatures.map((each) => ({ "x-session-token": token, "x-signature": each })),
        ...tokens.map((each) => ({ "x-session-token": each, "x-signature": signature }))
      ]
      for (const headers of pairs) {
        const answer = yield* attack(service, "/api/v1/payments/payment-status", { headers })
        assertRefusedFlat(answer, 401, "SESSION_INVALID", JSON.stringify(headers))
      }
    }))

  it.effect("31. leaves the address bar at once, and is in no referrer, no log and no request to anybody else", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const invoice = yield* invoiceFor({ payment_return_url: "https://shop.example/done" })
      const { payment_url, session_token, signature } = invoice.created
      const payor = makePayor(service.url, service.url)
      const walk: Array<TestResponse> = [yield* payor.ask(new URL(payment_url).pathname + new URL(payment_url).search)]
      while (walk.at(-1)!.status === 303) walk.push(yield* payor.ask(walk.at(-1)!.headers.location!))
      assert.deepStrictEqual([walk.length, payor.at()], [3, `/pay/${invoice.id}`])
      const page = walk.at(-1)!
      const token = /name="token" value="(\d+)"/.exec(page.text)?.[1] ?? ""
      walk.push(
        yield* payor.send(payor.at(), { action: "choose", token }),
        yield* payor.ask(`/pay/${invoice.id}/state`),
        yield* payor.ask(`/pay/${invoice.id}?session_token=${session_token}&signature=${signature}x`)
      )
      for (const { headers, text } of walk) {
        assert.strictEqual(headers["referrer-policy"], "no-referrer")
        assert.notInclude(text, session_token)
        assert.notInclude(text, signature)
        assert.notMatch(text, /(?:src|href|action|data-state)="(?:https?:)?\/\//)
      }
      for (const secret of [session_token, signature, encodeURIComponent(signature)]) {
        assert.notInclude(service.output(), secret)
      }
    }))

  it.effect("32. gets no address for a token or network that is unknown, blocked or not taken, and is not offered it", () =>
    Effect.gen(function*() {
      const { shop } = yield* Desk
      const usdc = yield* tokenId("USDC")
      const ether = yield* tokenId("ETH")
      const only = yield* invoiceFor({ accepted_networks: ["ethereum"] })
      assertRefusedFlat(
        yield* requestAddress(shop, only, { network: "base", token_id: usdc }),
        400,
        "UNSUPPORTED_NETWORK"
      )
      const invoice = yield* invoiceFor()
      const refusals: ReadonlyArray<readonly [object, string]> = [
        [{ network: "bitcoin", token_id: usdc }, "UNSUPPORTED_NETWORK"],
        [{ network: "BASE", token_id: usdc }, "UNSUPPORTED_NETWORK"],
        [{ network: "__proto__", token_id: usdc }, "UNSUPPORTED_NETWORK"],
        [{ network: "base", token_id: 9_999_999 }, "TOKEN_NOT_ACCEPTED"],
        [{ network: "base", token_id: -1 }, "TOKEN_NOT_ACCEPTED"],
        [{ network: "optimism", token_id: usdc }, "TOKEN_NETWORK_MISMATCH"],
        [{ network: "base", token_id: "1" }, "VALIDATION_ERROR"],
        [{ network: "base" }, "VALIDATION_ERROR"],
        [{ network: ["base"], token_id: usdc }, "VALIDATION_ERROR"]
      ]
      for (const [body, code] of refusals) {
        assertRefusedFlat(
          assertHarmless(yield* requestAddress(shop, invoice, body), code),
          400,
          code,
          JSON.stringify(body)
        )
      }

      assertStatus(
        200,
        yield* merchantCall("/api/v1/merchant/tokens/policy", { acceptance_policy: "selective" }, "PUT")
      )
      assertStatus(200, yield* merchantCall(`/api/v1/merchant/tokens/${usdc}/block`, { blocked: true }))
      assertRefusedFlat(
        yield* requestAddress(shop, invoice, { network: "base", token_id: usdc }),
        400,
        "TOKEN_NOT_ACCEPTED"
      )
      const offered = yield* asPayor(shop, invoice, "available-tokens?mode=all")
      assert.isFalse(offered.some(({ id }: any) => id === usdc))
      assert.isTrue(offered.some(({ id }: any) => id === ether))
      assertStatus(200, yield* requestAddress(shop, invoice, { network: "base", token_id: ether }))

      assertStatus(
        200,
        yield* merchantCall("/api/v1/merchant/tokens/policy", { acceptance_policy: "accept_none" }, "PUT")
      )
      const late = yield* invoiceFor()
      assert.deepStrictEqual(yield* asPayor(shop, late, "available-tokens?mode=all"), [])
      assertRefusedFlat(
        yield* requestAddress(shop, late, { network: "base", token_id: ether }),
        400,
        "TOKEN_NOT_ACCEPTED"
      )
      assertStatus(200, yield* requestAddress(shop, invoice, { network: "base", token_id: ether }))
      assertStatus(
        200,
        yield* merchantCall("/api/v1/merchant/tokens/policy", { acceptance_policy: "accept_all" }, "PUT")
      )
      assertStatus(200, yield* requestAddress(shop, late, { network: "base", token_id: usdc }))
      assertRefusedFlat(
        yield* requestAddress(shop, invoice, { network: "base", token_id: usdc }),
        400,
        "TOKEN_NOT_ACCEPTED",
        "what was blocked when its address was given out stays refused there"
      )
    }))

  it.effect("33. of a devnet invoice gets no mainnet address", () =>
    Effect.gen(function*() {
      const { shop } = yield* Desk
      const invoice = yield* invoiceFor()
      const mainnet = yield* tokenId("USDC", "mainnet")
      assertRefusedFlat(
        yield* requestAddress(shop, invoice, { network: "base", token_id: mainnet }),
        400,
        "TOKEN_NOT_ACCEPTED"
      )
      const offered = yield* asPayor(shop, invoice, "available-tokens?mode=all")
      assert.isFalse(offered.some(({ id }: any) => id === mainnet))
    }))

  it.effect("shows exactly what the reference allows, and nothing the merchant keeps to itself", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Desk
      const canaries = ["canary-order", "canary-key", "canary-mail@example.com", "canary-payor@example.com"]
      const invoice = yield* invoiceFor({
        metadata: { "canary-key": "canary-order" },
        customer_email: canaries[2],
        description: "Plan",
        payment_tolerance_bps: 4_321
      })
      const before = yield* asPayor(shop, invoice, "payment-status")
      const shown = yield* chooseToken(shop, invoice, "USDC")
      assertStatus(
        200,
        yield* merchantCall(`/api/v1/devnet/invoices/${invoice.id}/simulate`, { action: "pay", amount: 2_000 })
      )
      const { headers } = { headers: invoice.session }
      const answers: ReadonlyArray<readonly [string, TestResponse]> = [
        ...yield* Effect.forEach(
          reads,
          (what) =>
            Effect.map(attack(service, `/api/v1/payments/${what}`, { headers }), (answer) => [what, answer] as const)
        ),
        [
          "payment-addresses",
          yield* requestAddress(shop, invoice, { network: "base", token_id: shown.supported_token_id })
        ],
        [
          "customer-email",
          yield* attack(service, "/api/v1/payments/customer-email", { headers, body: { email: canaries[3] } })
        ],
        [
          "refund-address",
          yield* attack(service, "/api/v1/payments/refund-address", { headers, body: writes["refund-address"] })
        ],
        ...yield* Effect.forEach(
          reads,
          (what) =>
            Effect.map(attack(service, `/api/v1/payments/${what}`, { headers }), (answer) => [what, answer] as const)
        )
      ]
      for (const [what, answer] of answers) {
        assertStatus(200, answer)
        assertOnlyAllowed(what, answer)
        for (const canary of [...canaries, "4321", shop.key, shop.secret]) assert.notInclude(answer.text, canary, what)
      }
      const [, details] = answers[0]!
      assert.strictEqual(before.latest_payment, null)
      assert.include(details.json, {
        locked_network: "base",
        locked_token_id: shown.supported_token_id,
        locked_payment_address: shown.temp_address
      })
      assert.deepStrictEqual(details.json.payments.map(({ metadata }: any) => metadata), [{}])
      const [, offered] = answers[1]!
      assert.deepStrictEqual(offered.json.map(({ id }: any) => id), [shown.supported_token_id], "the locked token only")
      const ether = yield* tokenId("ETH")
      assertRefusedFlat(yield* requestAddress(shop, invoice, { network: "base", token_id: ether }), 409, "ROUTE_LOCKED")
    }))

  it.effect("may be used from any page, which may read what it needs and send nothing of a merchant's", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const { session } = yield* invoiceFor()
      const origin = "https://shop.example"
      for (
        const [what, method] of [
          ...reads.map((each) => [each, "GET"]),
          ...Object.keys(writes).map((each) => [each, "POST"])
        ]
      ) {
        const asked = yield* attack(service, `/api/v1/payments/${what}`, {
          method: "OPTIONS",
          headers: {
            origin,
            "access-control-request-method": method!,
            "access-control-request-headers": "x-session-token"
          }
        })
        assert.strictEqual(asked.status, 204)
        assert.strictEqual(asked.headers["access-control-allow-origin"], "*")
        assert.isUndefined(asked.headers["access-control-allow-credentials"])
        assert.include(asked.headers["access-control-allow-methods"], method)
        const may = String(asked.headers["access-control-allow-headers"]).split(", ")
        for (const header of ["x-session-token", "x-signature", "content-type", "if-none-match", "x-request-id"]) {
          assert.include(may, header)
        }
        for (const header of ["authorization", "x-api-key", "x-commerce-api-key"]) assert.notInclude(may, header)
      }
      const answer = yield* attack(service, "/api/v1/payments/payment-status", { headers: { ...session, origin } })
      assert.include(answer.headers, { "access-control-allow-origin": "*", "cache-control": "no-store" })
      const readable = String(answer.headers["access-control-expose-headers"]).split(", ")
      for (const header of ["etag", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after"]) {
        assert.include(readable, header)
      }
    }))

  it.effect("polls for nothing while nothing changes, by any spelling of the ETag", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Desk
      const invoice = yield* invoiceFor()
      const poll = (etag?: string) =>
        attack(service, "/api/v1/payments/payment-status", {
          headers: { ...invoice.session, ...(etag === undefined ? {} : { "if-none-match": etag }) }
        })
      const first = yield* poll()
      const etag = String(first.headers.etag)
      for (const sent of [etag, `W/${etag}`, "*", `"other", ${etag}`, `W/"other",W/${etag}`]) {
        const same = yield* poll(sent)
        assert.deepStrictEqual([same.status, same.text, same.headers.etag], [304, "", etag], sent)
        assert.strictEqual(same.headers["cache-control"], "no-store")
      }
      for (const sent of ["", "\"other\"", etag.slice(1, -1), `${etag}x`]) {
        assert.strictEqual((yield* poll(sent)).status, 200)
      }
      yield* chooseToken(shop, invoice, "USDC")
      assertStatus(200, yield* merchantCall(`/api/v1/devnet/invoices/${invoice.id}/simulate`, { action: "pay" }))
      const changed = yield* poll(etag)
      assert.strictEqual(assertStatus(200, changed).status, "paid")
      assert.notStrictEqual(changed.headers.etag, etag)
    }))

  it.effect("leaves refund addresses that are right, the last one for each network, and no others", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const invoice = yield* invoiceFor()
      const tell = (body: object) =>
        attack(service, "/api/v1/payments/refund-address", { headers: invoice.session, body })
      const one = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
      const two = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
      const ton = "0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e"
      for (const address of [one, one, two]) {
        assert.deepStrictEqual(assertStatus(200, yield* tell({ network: "base", address })), { success: true })
      }
      assertStatus(200, yield* tell({ network: "ton", address: ton, memo: "4711" }))
      const kept = (yield* refundOf(invoice)).toSorted((a, b) => a.network < b.network ? -1 : 1)
      assert.deepStrictEqual(kept.map(({ address, memo, network }) => [network, address, memo]), [
        ["base", two, null],
        ["ton", "0QDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPleK", "4711"]
      ])
      const usdc = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
      const refusals: ReadonlyArray<readonly [object, string]> = [
        [{ network: "base", address: two.replace("fB", "fb") }, "WALLET_ADDRESS_INVALID"],
        [{ network: "base", address: usdc }, "WALLET_ADDRESS_INVALID"],
        [{ network: "base", address: ton }, "WALLET_ADDRESS_INVALID"],
        [{ network: "base", address: "" }, "WALLET_ADDRESS_INVALID"],
        [{ network: "base", address: "a".repeat(100_000) }, "WALLET_ADDRESS_INVALID"],
        [{ network: "bitcoin", address: two }, "UNSUPPORTED_NETWORK"],
        [{ network: "base", address: two, memo: "1" }, "VALIDATION_ERROR"],
        [{ network: "ton", address: ton, memo: "47\u202e11" }, "VALIDATION_ERROR"],
        [{ network: "base", address: 7 }, "VALIDATION_ERROR"],
        [{ network: "base" }, "VALIDATION_ERROR"]
      ]
      for (const [body, code] of refusals) {
        assertRefusedFlat(yield* tell(body), 400, code, JSON.stringify(body).slice(0, 100))
      }
      for (const email of ["", "a", "a@b", "a b@c.de", "a@b.c\u0000", `${"a".repeat(250)}@b.de`, 7, null, ["a@b.de"]]) {
        const answer = yield* attack(service, "/api/v1/payments/customer-email", {
          headers: invoice.session,
          body: { email }
        })
        assertRefusedFlat(answer, 400, "VALIDATION_ERROR", String(email))
      }
      assert.lengthOf(yield* refundOf(invoice), 2)
      assert.lengthOf(yield* refundOf({ ...invoice, id: randomUUID() }), 0)
    }))
})
