/** Goal: an invoice has the state a shop would say it has. */
import { assert, describe, it } from "@effect/vitest"
import { canRefund, type InvoiceFacts, stateOf } from "../../../modules/dashboard/rules/States.ts"
import { destinationOf, isFromOwnPage, sessionCookies } from "../../../modules/dashboard/rules/SiteCheck.ts"

const invoice = (more: Partial<InvoiceFacts>): InvoiceFacts => ({
  status: "unpaid",
  amount: 5_000,
  amount_paid: 0,
  expires_at: 1_766_320_000,
  ...more
})

const payment = (status: string, metadata: object = {}) =>
  ({ status, metadata: { confirmations: 0, required_confirmations: 12, exception: null, ...metadata } }) as never

describe("the state of an invoice", () => {
  it("is what is under way, else what waits for a decision, else its end", () => {
    const cases: ReadonlyArray<readonly [Partial<InvoiceFacts>, string]> = [
      [{}, "open"],
      [{ latest_payment: payment("pending") }, "seen"],
      [{ latest_payment: payment("pending", { confirmations: 3 }) }, "confirming"],
      [{ status: "underpaid", amount_paid: 3_000, latest_payment: payment("underpaid") }, "part_paid"],
      [{ status: "paid", amount_paid: 5_000 }, "paid"],
      [{ status: "paid", amount_paid: 6_000 }, "paid_over"],
      [{ status: "expired" }, "expired"],
      [{ status: "expired", amount_paid: 100 }, "part_paid"],
      [{ status: "canceled" }, "canceled"],
      [{ status: "unpaid", latest_payment: payment("reverted") }, "undone"],
      [
        {
          status: "expired",
          latest_payment: payment("confirmed", { exception: { id: "exc_1", type: "late_payment", status: "open" } })
        },
        "late"
      ]
    ]
    for (const [more, name] of cases) assert.strictEqual(stateOf(invoice(more)).name, name, JSON.stringify(more))
  })
})

describe("a form", () => {
  const origin = "https://pay.example"
  it("counts only from a page of this origin", () => {
    const own = [
      { origin, "sec-fetch-site": "same-origin" },
      { "sec-fetch-site": "same-origin" },
      { origin }
    ]
    const foreign = [
      {},
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" },
      { origin: "null" },
      { origin: "https://evil.example" },
      { origin: "https://evil.example", "sec-fetch-site": "same-origin" },
      { origin: "null", "sec-fetch-site": "same-origin" }
    ]
    for (const headers of own) assert.isTrue(isFromOwnPage(headers, origin), JSON.stringify(headers))
    for (const headers of foreign) assert.isFalse(isFromOwnPage(headers, origin), JSON.stringify(headers))
  })

  it("of the own machine counts by its name too, to which sign-in links lead, and on its port only", () => {
    const isOwn = (sent: string, publicOrigin: string) =>
      isFromOwnPage({ origin: sent, "sec-fetch-site": "same-origin" }, publicOrigin)
    assert.isTrue(isOwn("http://localhost:8080", "http://127.0.0.1:8080"))
    assert.isTrue(isOwn("http://localhost:8080", "http://[::1]:8080"))
    assert.isFalse(isOwn("http://localhost:8081", "http://127.0.0.1:8080"))
    assert.isFalse(isOwn("http://localhost", "https://pay.example"))
  })
})

describe("a refund", () => {
  const paid = { id: "a", amount: 5_000, confirmed_at: 1, status: "confirmed" } as never
  const refund = (of: string, amount: number, status = "processing") =>
    ({ invoice_payment_id: of, amount, status }) as never

  it("is offered while more of a final payment that counts is there than its refunds take", () => {
    assert.isFalse(canRefund([], [], true))
    assert.isTrue(canRefund([paid], [], true))
    assert.isTrue(canRefund([paid], [refund("a", 4_999)], true))
    assert.isFalse(
      canRefund([paid], [refund("a", 4_999), refund("a", 1, "failed")], true),
      "what failed keeps its part"
    )
    assert.isTrue(canRefund([paid], [refund("a", 5_000, "canceled")], true))
    assert.isTrue(canRefund([paid], [refund("b", 5_000)], true), "a refund of another payment")
    assert.isFalse(canRefund([{ id: "a", amount: 5_000, confirmed_at: null, status: "underpaid" } as never], [], true))
    assert.isFalse(canRefund([{ id: "a", amount: 0, confirmed_at: 1, status: "rejected" } as never], [], true))
  })

  it("is offered where the lists are not whole, and the API decides", () => {
    assert.isTrue(canRefund([paid], [refund("a", 5_000)], false))
  })
})

describe("after signing in", () => {
  it("a visitor goes to a page of the dashboard and nowhere else", () => {
    const home = "/dashboard"
    const same = ["/dashboard", "/dashboard/1/devnet/payments?status=paid", "/dashboard/1/mainnet/todo?open=exc_1"]
    for (const path of same) assert.strictEqual(destinationOf(path, ""), path)
    for (const path of [null, "", "/", "//evil.example", "/\\evil.example", "https://evil.example", "/dashboardx"]) {
      assert.strictEqual(destinationOf(path, ""), home)
    }
    assert.strictEqual(destinationOf("/dashboard", "/till"), "/till/dashboard")
  })
})

describe("cookies", () => {
  it("are bound to the host and to https, but for a service on the own machine", () => {
    assert.match(sessionCookies("https://pay.example").read, /^__Host-/)
    assert.match(sessionCookies("http://pay.example").read, /^__Host-/)
    assert.deepStrictEqual(sessionCookies("http://localhost:8080"), {
      read: "tillwire_read",
      act: "tillwire_act",
      secure: false
    })
  })
})
