/**
 * Goal: an answer that the OpenAPI document does not describe is found, so that every journey proves the document.
 * Method: answers as a service gives them, each with one thing wrong. `service.call` of the journeys judges by the same
 * rules.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { checkerFor, type ObservedResponse, violations } from "../../support/OpenApi.ts"

const document = JSON.parse(readFileSync(new URL("../../../modules/docs/openapi.json", import.meta.url), "utf8"))

const headers = {
  "content-type": "application/json",
  "x-request-id": "req_1",
  "x-service-version": "2026-11-01",
  "ratelimit-limit": "100",
  date: "Sun, 22 Nov 2026 00:00:00 GMT"
}

const exampleAt = (path: string) => document.paths[path].get.responses[200].content["application/json"].example

const event = (): any => structuredClone(exampleAt("/api/v1/events/{eventId}"))

const answer = (body: unknown, more: Partial<ObservedResponse> = {}): ObservedResponse => ({
  method: "GET",
  path: "/api/v1/events/evt_1-1",
  status: 200,
  headers,
  text: JSON.stringify(body),
  ...more
})

const broken = (change: (body: any) => void): ObservedResponse => {
  const body = event()
  change(body)
  return answer(body)
}

describe("the document", () => {
  it("agrees with its own examples", () => {
    assert.deepStrictEqual(violations(answer(event())), [])
    assert.deepStrictEqual(
      violations(
        answer(exampleAt("/api/v1/invoices/{customer_id}"), { path: "/api/v1/invoices/cust_1?expand=payments" })
      ),
      []
    )
  })

  it("finds an event whose object is not the one of its type", () => {
    assert.isNotEmpty(violations(broken((body) => {
      body.data.type = "commerce.order.updated"
    })))
    assert.isNotEmpty(violations(broken((body) => {
      body.data.type = "refund.created"
    })))
  })

  it("finds a field that is missing, of another type, or not described", () => {
    assert.match(
      violations(broken((body) => {
        delete body.data.livemode
      })).join(),
      /livemode/
    )
    assert.match(
      violations(broken((body) => {
        body.data.data.object.amount = "5"
      })).join(),
      /amount must be integer/
    )
    assert.match(
      violations(broken((body) => {
        body.data.data.object.surprise = 1
      })).join(),
      /surprise/
    )
    assert.match(
      violations(broken((body) => {
        body.surprise = 1
      })).join(),
      /surprise/
    )
  })

  it("finds a status, a method, a path and a type of body that it does not have", () => {
    assert.match(violations(answer(event(), { status: 202 })).join(), /status 202 is not documented/)
    assert.match(violations(answer(event(), { method: "PUT" })).join(), /method is not documented/)
    assert.match(violations(answer(event(), { path: "/api/v1/nothing" })).join(), /path is not documented/)
    assert.match(
      violations(answer(event(), { headers: { ...headers, "content-type": "text/html" } })).join(),
      /text\/html/
    )
    assert.deepStrictEqual(violations(answer("", { path: "/docs" })), [])
  })

  it("finds a header that is missing, wrong, or not described", () => {
    const { "x-request-id": _, ...nameless } = headers
    assert.match(violations(answer(event(), { headers: nameless })).join(), /x-request-id is missing/)
    assert.match(
      violations(answer(event(), { headers: { ...headers, "ratelimit-limit": "many" } })).join(),
      /ratelimit-limit/
    )
    assert.match(
      violations(answer(event(), { headers: { ...headers, "x-service-secret": "1" } })).join(),
      /x-service-secret is not/
    )
    const same = {
      path: "/api/v1/payments/payment-status",
      status: 304,
      text: "",
      headers: { ...headers, etag: "\"a\"" }
    }
    assert.deepStrictEqual(violations(answer(null, same)), [])
    assert.match(violations(answer(null, { ...same, headers })).join(), /etag is missing/)
    assert.match(violations(answer(null, { ...same, text: "{}" })).join(), /body/)
  })

  it("finds an error outside of its family, and a refusal without its headers", () => {
    const flat = { error: "No", code: "UNAUTHORIZED" }
    const wrapped = {
      success: false,
      error: { code: "UNAUTHORIZED", message: "No", param: null, details: null, request_id: "req_1" }
    }
    const refused = { status: 401, headers: { ...headers, "www-authenticate": "ApiKey realm=\"tillwire\"" } }
    assert.deepStrictEqual(violations(answer(wrapped, refused)), [])
    assert.isNotEmpty(violations(answer(flat, refused)))
    assert.match(violations(answer(wrapped, { ...refused, headers })).join(), /www-authenticate is missing/)
  })

  it("is believed as it stands: where it says something else, the same answer is wrong", () => {
    const changed = structuredClone(document)
    changed.components.schemas.Invoice.properties.amount = { type: "string" }
    assert.isNotEmpty(checkerFor(changed)(answer(event())))
  })
})
