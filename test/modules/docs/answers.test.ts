/**
 * Goal: an answer that the OpenAPI document does not describe is found, so that every journey proves the document.
 * Method: answers as a service gives them, each with one thing wrong. `service.call` of the journeys judges by the same rules.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { type Answered, breaches, judgeBy } from "../../support/OpenApi.ts"

const document = JSON.parse(readFileSync(new URL("../../../modules/docs/openapi.json", import.meta.url), "utf8"))

const headers = {
  "content-type": "application/json", "x-request-id": "req_1", "x-service-version": "2026-11-01", "ratelimit-limit": "100",
  date: "Sun, 22 Nov 2026 00:00:00 GMT"
}

const exampleAt = (path: string) => document.paths[path].get.responses[200].content["application/json"].example

const event = (): any => structuredClone(exampleAt("/api/v1/events/{eventId}"))

const answer = (body: unknown, more: Partial<Answered> = {}): Answered => ({
  method: "GET", path: "/api/v1/events/evt_1-1", status: 200, headers, text: JSON.stringify(body), ...more
})

const broken = (change: (body: any) => void): Answered => {
  const body = event()
  change(body)
  return answer(body)
}

describe("the document", () => {
  it("agrees with its own examples", () => {
    assert.deepStrictEqual(breaches(answer(event())), [])
    assert.deepStrictEqual(
      breaches(answer(exampleAt("/api/v1/invoices/{customer_id}"), { path: "/api/v1/invoices/cust_1?expand=payments" })),
      []
    )
  })

  it("finds an event whose object is not the one of its type", () => {
    assert.isNotEmpty(breaches(broken((body) => { body.data.type = "commerce.order.updated" })))
    assert.isNotEmpty(breaches(broken((body) => { body.data.type = "refund.created" })))
  })

  it("finds a field that is missing, of another type, or not described", () => {
    assert.match(breaches(broken((body) => { delete body.data.livemode })).join(), /livemode/)
    assert.match(breaches(broken((body) => { body.data.data.object.amount = "5" })).join(), /amount must be integer/)
    assert.match(breaches(broken((body) => { body.data.data.object.surprise = 1 })).join(), /surprise/)
    assert.match(breaches(broken((body) => { body.surprise = 1 })).join(), /surprise/)
  })

  it("finds a status, a method, a path and a type of body that it does not have", () => {
    assert.match(breaches(answer(event(), { status: 202 })).join(), /status 202 is not documented/)
    assert.match(breaches(answer(event(), { method: "PUT" })).join(), /method is not documented/)
    assert.match(breaches(answer(event(), { path: "/api/v1/nothing" })).join(), /path is not documented/)
    assert.match(breaches(answer(event(), { headers: { ...headers, "content-type": "text/html" } })).join(), /text\/html/)
    assert.deepStrictEqual(breaches(answer("", { path: "/docs" })), [])
  })

  it("finds a header that is missing, wrong, or not described", () => {
    const { "x-request-id": _, ...nameless } = headers
    assert.match(breaches(answer(event(), { headers: nameless })).join(), /x-request-id is missing/)
    assert.match(breaches(answer(event(), { headers: { ...headers, "ratelimit-limit": "many" } })).join(), /ratelimit-limit/)
    assert.match(breaches(answer(event(), { headers: { ...headers, "x-service-secret": "1" } })).join(), /x-service-secret is not/)
    const same = { path: "/api/v1/payments/payment-status", status: 304, text: "", headers: { ...headers, etag: "\"a\"" } }
    assert.deepStrictEqual(breaches(answer(null, same)), [])
    assert.match(breaches(answer(null, { ...same, headers })).join(), /etag is missing/)
    assert.match(breaches(answer(null, { ...same, text: "{}" })).join(), /body/)
  })

  it("finds an error outside of its family, and a refusal without its headers", () => {
    const flat = { error: "No", code: "UNAUTHORIZED" }
    const wrapped = { success: false, error: { code: "UNAUTHORIZED", message: "No", param: null, details: null, request_id: "req_1" } }
    const refused = { status: 401, headers: { ...headers, "www-authenticate": "ApiKey realm=\"tillwire\"" } }
    assert.deepStrictEqual(breaches(answer(wrapped, refused)), [])
    assert.isNotEmpty(breaches(answer(flat, refused)))
    assert.match(breaches(answer(wrapped, { ...refused, headers })).join(), /www-authenticate is missing/)
  })

  it("is believed as it stands: where it says something else, the same answer is wrong", () => {
    const changed = structuredClone(document)
    changed.components.schemas.Invoice.properties.amount = { type: "string" }
    assert.isNotEmpty(judgeBy(changed)(answer(event())))
  })
})
