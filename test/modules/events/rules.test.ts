import { assert, describe, it } from "@effect/vitest"
import { readPage, readTypes } from "../../../modules/events/rules.ts"
import { pageStatement } from "../../../modules/events/repo.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { deliveredTypes, isOptIn } from "../../../schemas/Event.ts"
import { selects } from "../../../schemas/Webhook.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

const principal = { merchantId: 7, environment: "devnet", scope: "merchant", ...operatorKey } as unknown as Principal

describe("an events query", () => {
  it("reads exact types, prefixes and everything, and refuses the rest in linear time", () => {
    assert.isUndefined(readTypes(undefined))
    assert.isUndefined(readTypes("invoice.paid,*"))
    assert.deepStrictEqual(readTypes("*,exception.*,balance_transaction.*,batch.*"), deliveredTypes)
    assert.deepStrictEqual(
      readTypes("exception.resolved,*"),
      deliveredTypes.filter((type) => type === "exception.resolved" || !isOptIn(type))
    )
    assert.deepStrictEqual(readTypes("commerce.order.*,invoice.paid,invoice.gone,nothing.*,invoice.paid"), [
      "invoice.paid",
      "commerce.order.created",
      "commerce.order.updated"
    ])
    assert.isNotNull(readTypes(Array.from({ length: 20 }, () => "a.b").join(",")))
    for (
      const bad of [
        "",
        ",",
        "invoice.",
        ".invoice",
        "invoice*",
        "in*",
        "*.paid",
        "invoice.*.paid",
        "INVOICE",
        "a b",
        "invoice.*'); DROP TABLE events--",
        Array.from({ length: 21 }, () => "a").join(","),
        "a.*".repeat(4000),
        ",".repeat(5000),
        `${"a.".repeat(500)}!`
      ]
    ) {
      assert.isNull(readTypes(bad), bad.slice(0, 40))
    }
  })

  it("selects what the filters of webhooks and streams select", () => {
    const filters = [
      "*",
      "invoice.*",
      "invoice_payment.*",
      "commerce.*",
      "commerce.order.*",
      "commerce.order.created.*",
      "test.ping"
    ]
    for (const filter of [...filters, ...deliveredTypes, "invoice", "unknown.*"]) {
      const types = readTypes(filter) ?? deliveredTypes.filter((type) => !isOptIn(type))
      assert.deepStrictEqual(types, deliveredTypes.filter((type) => selects([filter], type)), filter)
    }
  })

  it("takes times as epoch seconds or ISO 8601, inclusive on both sides", () => {
    const bounds = (gte: string, lte: string) => {
      const page = readPage(principal, { "created[gte]": gte, "created[lte]": lte })
      return page instanceof PublicError ? page.param : [page.fromMillis, page.toMillis]
    }
    assert.deepStrictEqual(bounds("10", "10"), [10_000n, 11_000n])
    assert.deepStrictEqual(bounds("1970-01-01T00:00:10Z", "1970-01-01T01:00:10.9+01:00"), [10_000n, 11_000n])
    assert.deepStrictEqual(bounds("1970-01-01T00:00:09.5Z", "1970-01-02"), [10_000n, 86_401_000n])
    for (const bad of ["abc", "1e30", "-1", "1.5", "", "1970-01-01T00:00:10", "1970-13-01", "9".repeat(13)]) {
      assert.strictEqual(bounds(bad, "1"), "created[gte]", bad)
      assert.strictEqual(bounds("1", bad), "created[lte]", bad)
    }
  })

  it("never lets what a caller sent become part of a statement", () => {
    const hostile = "'; DROP TABLE events --"
    const page = readPage(principal, {
      type: "invoice.paid,x_y.*",
      invoice_id: hostile,
      order_id: hostile,
      customer_id: hostile,
      limit: 5,
      starting_after: "evt_1-2"
    })
    assert.isFalse(page instanceof PublicError)
    const { text, values } = pageStatement(page as Exclude<typeof page, PublicError>)
    assert.notInclude(text, "DROP")
    assert.notInclude(text, "invoice.paid")
    assert.deepStrictEqual(values, [
      ...["-infinity", "infinity", 7, "0", "-1", "1", "2", "0", "1", hostile, hostile, hostile],
      ["invoice.paid"],
      6
    ])
    const ofCustomer = pageStatement({
      ...page as Exclude<typeof page, PublicError>,
      invoiceId: undefined,
      orderId: undefined
    })
    assert.notInclude(ofCustomer.text, "DROP")
    assert.include(ofCustomer.values, hostile)
  })
})
