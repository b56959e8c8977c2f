/**
 * Goal: whoever is given the link of a receipt reads what was paid, for ten years, and can do nothing else with it.
 * Method: the service as it is started, its pages asked for as a browser without a script does.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomUUID } from "node:crypto"
import { brotliCompressSync } from "node:zlib"
import { languages } from "../../modules/checkout/pages/Languages.ts"
import { hasReceipt, receiptSeconds } from "../../modules/checkout/rules/Receipts.ts"
import { ExceptionsRpc } from "../../modules/exceptions/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { configOf, rpcToken, type Service, startService, temporaryDirectory } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

/** Bytes of the page, compressed, at most: it is the whole first view. */
const mostBytes = 14 * 1_024

const merchantEmail = "help@shop.example"
const payorEmail = "payor@shop.example"

class Deployed extends Context.Service<Deployed, { readonly service: Service; readonly key: string }>()(
  "test/journeys/receipts/Deployed"
) {
  static readonly layer = Layer.effect(
    Deployed,
    Effect.gen(function*() {
      const config = configOf({
        database: (yield* migratedDatabase).url,
        chains: [{ use: "simulated" }],
        http: { trustProxy: ["127.0.0.1"] },
        limits: { ...generousLimits, pagePerMinute: 20 }
      })
      const service = yield* startService({ directory: yield* temporaryDirectory, config })
      const { merchant_key: key } = yield* service.keys
      const branding = { name: "Blue Bottle Store", support_email: merchantEmail }
      const headers = { "x-api-key": key }
      assertStatus(
        200,
        yield* service.call("/api/v1/merchant/settings", { method: "PATCH", headers, body: { branding } })
      )
      return { service, key }
    })
  )
}

/** Asks from an address of its own: limits count addresses. */
const ask = Effect.fnUntraced(function*(url: string, headers: Readonly<Record<string, string>> = {}) {
  const { service } = yield* Deployed
  const { pathname, search } = new URL(url, service.url)
  const from = `2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1`
  return yield* service.call(`${pathname}${search}`, { headers: { "x-forwarded-for": from, ...headers } })
})

/** An invoice of 25 dollars, after the simulator's actions; `receipt`: the link that its payment page shows. */
const invoiceAfter = Effect.fnUntraced(function*(...actions: ReadonlyArray<string>) {
  const { key, service } = yield* Deployed
  const headers = { "x-api-key": key }
  const made = assertStatus(
    200,
    yield* service.call("/api/v1/invoices", {
      headers: { ...headers, "idempotency-key": randomUUID() },
      body: { amount_usd: 25, invoice_title: "Blue <b>T-shirt" }
    })
  )
  const session = { "x-session-token": made.session_token, "x-signature": made.signature }
  assertStatus(
    200,
    yield* service.call("/api/v1/payments/customer-email", { headers: session, body: { email: payorEmail } })
  )
  const payments: Array<{ readonly payer_tx_hash: string }> = []
  for (const action of actions) {
    const path = `/api/v1/devnet/invoices/${made.invoice_id}/simulate`
    const { data } = assertStatus(200, yield* service.call(path, { headers, body: { action } }))
    payments.push(data.invoice_payment)
  }
  return { id: made.invoice_id as string, session: made, payments, ...yield* openPage(made) }
})

/** The payment page, and the link to the receipt that it shows. */
const openPage = Effect.fnUntraced(function*(made: { readonly invoice_id: string; readonly payment_url: string }) {
  const { service } = yield* Deployed
  const { search } = new URL(made.payment_url)
  const page = yield* ask(`/pay/${made.invoice_id}${search}&c=1`)
  assert.strictEqual(page.status, 200, page.text)
  const link = /href="([^"]*\/receipt\?t=[^"]*)"/.exec(page.text)?.[1] ?? null
  const token = link === null ? "" : new URL(link).searchParams.get("t")!
  if (token !== "") service.guard(token)
  return { page, link, token }
})

layer(Deployed.layer, { excludeTestServices: true })("a receipt", (it) => {
  it.effect("is read by its link alone, in eight languages, and tells no e-mail address", () =>
    Effect.gen(function*() {
      const { id, link, page, payments } = yield* invoiceAfter("pay")
      assert.isNotNull(link, page.text)
      const shown = yield* ask(link!)
      assert.strictEqual(shown.status, 200)
      for (
        const fact of [
          "25.00 USDC",
          "$25.00",
          "Base",
          "Blue &lt;b&gt;T-shirt",
          "Blue Bottle Store",
          id,
          `data-whole="${payments[0]!.payer_tx_hash}"`
        ]
      ) assert.include(shown.text, fact)
      for (const text of ["<script", merchantEmail, payorEmail, "session_token", "name=\"action\""]) {
        assert.notInclude(shown.text, text)
      }
      assert.isUndefined(shown.headers["set-cookie"])
      assert.strictEqual(shown.headers["referrer-policy"], "no-referrer")
      assert.strictEqual(shown.headers["cache-control"], "no-store")
      assert.include(shown.headers["content-security-policy"], "frame-ancestors 'none'")
      assert.isAtMost(brotliCompressSync(shown.text).length, mostBytes)
      for (const { direction, locale, receiptAmount } of languages) {
        const { text } = yield* ask(`${link}&lang=${locale}`)
        assert.include(text, `<html lang="${locale}" dir="${direction}">`)
        assert.include(text, receiptAmount)
      }
    }))

  it.effect("tells what was too much, and each of several payments", () =>
    Effect.gen(function*() {
      const over = yield* invoiceAfter("overpay")
      assert.match((yield* ask(over.link!)).text, /Extra<\/dt><dd>[^<]*\$2\.50/)
      const twice = yield* invoiceAfter("partial", "pay")
      const { text } = yield* ask(twice.link!)
      for (const { payer_tx_hash: hash } of twice.payments) assert.include(text, `data-whole="${hash}"`)
      assert.strictEqual(text.match(/You paid/g)?.length, 2)
    }))

  it.effect(
    "names no address for money that had come to another one, and that a person gave to the invoice",
    () =>
      Effect.gen(function*() {
        const { service } = yield* Deployed
        const address = "To the address"
        const usual = yield* invoiceAfter("pay")
        assert.include((yield* ask(usual.link!)).text, address)

        yield* invoiceAfter("unmatched")
        const assigned = yield* Effect.gen(function*() {
          const operator = yield* RpcClient.make(ExceptionsRpc)
          const { exceptions: [open] } = yield* operator["exceptions.list"]({ environment: "devnet", status: "open" })
          // Which has an address of its own on that network, and was paid nothing there.
          const other = yield* invoiceAfter("unmatched")
          assert.isNull(other.link)
          yield* operator["exceptions.resolve"]({
            exception_id: open!.id,
            action: "assign",
            invoice_id: other.id as never,
            actor: "back-office"
          })
          return other
        }).pipe(
          Effect.scoped,
          Effect.provide(
            InternalRpc.layer({ url: `http://127.0.0.1:${service.ports.rpc}`, token: Redacted.make(rpcToken) })
          )
        )
        const { link } = yield* openPage(assigned.session)
        const { text } = yield* ask(link!)
        for (const fact of ["25.00 USDC", "Base", "data-whole=\"0x", assigned.id]) assert.include(text, fact)
        assert.notInclude(text, address)
      })
  )

  it.effect("is opened by no other token, and its token opens nothing else", () =>
    Effect.gen(function*() {
      const { key } = yield* Deployed
      const [first, second] = [yield* invoiceAfter("pay"), yield* invoiceAfter("pay")]
      const at = (id: string, token: string) => ask(`/pay/${id}/receipt?${new URLSearchParams({ t: token })}`)
      const altered = `${first.token.slice(0, -2)}${first.token.endsWith("AA") ? "BB" : "AA"}`
      const wrong = [second.token, altered, "", first.session.session_token, first.session.signature, `${first.token}A`]
      for (const token of wrong) {
        const refused = yield* at(first.id, token)
        assert.strictEqual(refused.status, 404, token)
        assert.match(String(refused.headers["content-type"]), /^text\/html/)
        assert.notInclude(refused.text, "Blue Bottle")
      }
      assert.strictEqual((yield* at("01a200ff-5eb4-7000-b933-71b37bf57ac5", first.token)).status, 404)
      assert.strictEqual((yield* at(first.id, first.token)).status, 200)

      const { service } = yield* Deployed
      const asSession = new URLSearchParams({ session_token: first.token, signature: first.session.signature })
      assert.strictEqual((yield* ask(`/pay/${first.id}?${asSession}`)).status, 401)
      const headers = { "x-session-token": first.token, "x-signature": first.token }
      assert.strictEqual((yield* service.call("/api/v1/payments/session-details", { headers })).status, 401)
      const sent = yield* service.call(`/pay/${first.id}/receipt?t=${first.token}`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: "action=refund"
      })
      assert.strictEqual(sent.status, 405)
      assert.strictEqual((yield* ask(first.link!, { "x-api-key": key })).status, 403)
    }))

  it.effect(
    "is of what is paid: an open invoice has none, and it ends where the network undoes the payment",
    () =>
      Effect.gen(function*() {
        const { key, service } = yield* Deployed
        assert.isNull((yield* invoiceAfter()).link)
        assert.isNull((yield* invoiceAfter("partial")).link)
        const { id, link } = yield* invoiceAfter("pay")
        assert.strictEqual((yield* ask(link!)).status, 200)
        const path = `/api/v1/devnet/invoices/${id}/simulate`
        assertStatus(200, yield* service.call(path, { headers: { "x-api-key": key }, body: { action: "drop" } }))
        assert.strictEqual((yield* ask(link!)).status, 404)
      })
  )

  it.effect("is limited by address, also for who guesses", () =>
    Effect.gen(function*() {
      const { link } = yield* invoiceAfter("pay")
      const from = { "x-forwarded-for": "2001:db8:9::1" }
      for (let calls = 0; calls < 20; calls++) {
        const answer = yield* ask(calls % 2 === 0 ? link! : `${link}A`, from)
        assert.include([200, 404], answer.status)
      }
      assert.strictEqual((yield* ask(link!, from)).status, 429)
    }))
})

describe("the time of a receipt", () => {
  it("is ten years from the payment", () => {
    const paid = { status: "paid", paidAt: 1_000 } as const
    assert.isTrue(hasReceipt(paid, 1_000 + receiptSeconds - 1))
    assert.isFalse(hasReceipt(paid, 1_000 + receiptSeconds))
    assert.isFalse(hasReceipt({ status: "unpaid", paidAt: null }, 1_000))
    assert.strictEqual(receiptSeconds / 86_400 / 365.25, 10)
  })
})
