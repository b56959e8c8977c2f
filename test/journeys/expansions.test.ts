/**
 * Goal: a merchant reads back what it wrote into an invoice and what the payor told of themselves, and nobody else
 * does: no payor, no commerce key, no key of the other environment, no other merchant, no event.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { TestResponse } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"
import { ask, type Credential, Tenants, tenants } from "./Tenants.ts"

const written = {
  description: "Starter plan, yearly",
  invoice_title: "Starter",
  invoice_footer: "Thanks a lot",
  customer_email: "buyer@shop.example",
  payment_return_url: "https://shop.example/done",
  locale: "pt-BR"
}

const details = {
  description: "Starter plan, yearly",
  title: "Starter",
  footer: "Thanks a lot",
  customer_email: "buyer@shop.example",
  payment_return_url: "https://shop.example/done",
  locale: "pt-BR"
}

const payorEmail = "payor@elsewhere.example"
const refundAddress = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

/** An invoice with all that may be said of it, made with `credential`. */
const makeInvoice = Effect.fnUntraced(function*(credential: Credential, fields: object = written) {
  const { service } = yield* Tenants
  const made = assertStatus(
    200,
    yield* ask(service, credential, "/api/v1/invoices", {
      method: "POST",
      body: { amount_usd: 5, customer_id: "cust_expanded", ...fields }
    })
  )
  const tell = (path: string, body: object) =>
    Effect.map(
      service.call(`/api/v1/payments/${path}`, { headers: made.payment_session_headers, body }),
      (found) => assertStatus(200, found)
    )
  yield* tell("customer-email", { email: payorEmail })
  yield* tell("refund-address", { network: "base", address: refundAddress })
  return { id: made.invoice_id as string, session: made.payment_session_headers as Credential }
})

const refused = (code: string, answer: TestResponse) => {
  assert.strictEqual(answer.json?.code ?? answer.json?.error?.code, code, answer.text)
  for (const secret of [payorEmail, refundAddress, written.customer_email, written.invoice_footer]) {
    assert.notInclude(answer.text, secret)
  }
}

layer(tenants, { excludeTestServices: true })("what was told of an invoice", (it) => {
  it.effect("is read back by its merchant, alone and in lists, with a key or a wallet", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const { id } = yield* makeInvoice(a.merchant)
      const payor = {
        email: payorEmail,
        refund_destinations: [{ network: "base", address: refundAddress, memo: null }]
      }
      for (const credential of [a.merchant, a.jwt]) {
        const read = assertStatus(
          200,
          yield* ask(service, credential, `/api/v1/invoices/${id}?expand=details,payor&environment=devnet`)
        )
        assert.deepStrictEqual([read.details, read.payor], [details, payor])
        for (const list of ["/api/v1/invoices?customer_id=cust_expanded", "/api/v1/invoices/customer/cust_expanded?"]) {
          const { data } = assertStatus(
            200,
            yield* ask(service, credential, `${list}&expand=details,payor&environment=devnet`)
          )
          assert.deepStrictEqual(data.map((one: any) => [one.details, one.payor]), [[details, payor]])
        }
      }
      const plain = assertStatus(200, yield* ask(service, a.merchant, `/api/v1/invoices/${id}`))
      assert.notProperty(plain, "details")
      assert.notProperty(plain, "payor")
    }))

  it.effect("is null and empty where nobody said anything", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const made = assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } })
      )
      const read = assertStatus(
        200,
        yield* ask(service, a.merchant, `/api/v1/invoices/${made.invoice_id}?expand=payor,details`)
      )
      assert.deepStrictEqual(read.payor, { email: null, refund_destinations: [] })
      assert.deepStrictEqual(Object.values(read.details), [null, null, null, null, null, null])
    }))

  it.effect("is shown to no commerce key, no key of the other environment, no payor and no other merchant", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const { id, session } = yield* makeInvoice(a.merchant)
      const order = yield* makeInvoice(a.commerce)
      for (const expand of ["details", "payor", "latest_payment,payor"]) {
        for (const path of [`/api/v1/invoices/${order.id}?`, "/api/v1/invoices?"]) {
          refused("SCOPE_MISMATCH", yield* ask(service, a.commerce, `${path}expand=${expand}`))
        }
        for (const path of [`/api/v1/invoices/${id}?`, "/api/v1/invoices?"]) {
          refused("ENVIRONMENT_FORBIDDEN", yield* ask(service, a.mainnet, `${path}expand=${expand}&environment=devnet`))
        }
        refused("INVOICE_NOT_FOUND", yield* ask(service, b.merchant, `/api/v1/invoices/${id}?expand=${expand}`))
        refused("UNAUTHORIZED", yield* service.call(`/api/v1/invoices/${id}?expand=${expand}`, { headers: session }))
        for (const path of ["session-details", "payment-status"]) {
          const { text } = yield* service.call(`/api/v1/payments/${path}?expand=${expand}`, { headers: session })
          for (const secret of [payorEmail, refundAddress, written.customer_email]) {
            assert.notInclude(text, secret, path)
          }
        }
      }
    }))

  it.effect("is in no event", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const { id } = yield* makeInvoice(a.merchant)
      const events = yield* ask(service, a.merchant, `/api/v1/events?invoice_id=${id}&limit=100`)
      assert.isAbove(assertStatus(200, events).data.data.length, 0)
      for (const secret of [payorEmail, refundAddress, ...Object.values(written)]) {
        assert.notInclude(events.text, secret)
      }
    }))
})
