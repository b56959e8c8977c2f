/**
 * Goal: only a credential that is ours, whole, sent where it belongs, opens anything.
 * Method: attack group A, each case by its number, against a running service with the documented limits for strangers.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { rows } from "../Matrix.ts"
import { exchange, type TestResponse, until } from "../../support/Service.ts"
import { timed } from "../../support/Stopwatch.ts"
import { assertStatus } from "../Shop.ts"
import { ask, makeKey, strictTenants, Tenants, tenants } from "../Tenants.ts"
import { assertHarmless, attack } from "./Assertions.ts"

const invoices = "/api/v1/invoices"
const events = "/api/v1/events"

const codeOf = ({ json }: TestResponse) => json?.code ?? json?.error?.code

const refused = (answer: TestResponse, status: number, code: string) =>
  assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code], answer.text)

/** Routes that want a merchant's credential: they answer 401 without one. */
const guarded = rows.filter(({ expect }) => expect.startsWith("401 200 ") || expect.startsWith("401 409 "))

/** The same key with its character at `place` changed to another of its alphabet. */
const changedAt = (key: string, place: number) =>
  `${key.slice(0, place)}${key[place] === "a" ? "b" : "a"}${key.slice(place + 1)}`

layer(tenants, { excludeTestServices: true })("attack group A, credentials", (it) => {
  it.effect("A1 no credentials: 401 with a challenge on every route, the same words everywhere", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const bodies = new Set<string>()
      for (const { route } of guarded) {
        const [method, template] = route.split(" ") as [string, string]
        const path = template.replaceAll(/\{\w+\}/g, randomUUID())
        const answer = yield* attack(service, path, {
          method,
          ...(method === "GET" || method === "DELETE" ? {} : { body: {} })
        })
        refused(answer, 401, "UNAUTHORIZED")
        assert.include(answer.headers["www-authenticate"], "x-api-key")
        bodies.add(answer.text.replace(/"req_[^"]*"/, "\"req\""))
      }
      assert.strictEqual(bodies.size, 2, "one body for each family")
    }))

  it.effect("A2 an empty, a 10 kB, a foreign key: refused", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      for (const key of ["", "k".repeat(10_240), "mk_dev_\u00e9\u00e8", " ", "null"]) {
        const answer = assertHarmless(yield* exchange(service.url, events, { headers: { "x-api-key": key } }), "A2")
        assert.include([401, 431], answer.status)
      }
    }))

  it.effect("A3 two key headers are no key, whichever comes first", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const keys = [a.merchant["x-api-key"]!, b.merchant["x-api-key"]!]
      for (const pair of [keys, keys.toReversed(), [keys[0]!, keys[0]!]]) {
        refused(yield* attack(service, events, { headers: { "x-api-key": pair } }), 401, "API_KEY_INVALID")
      }
    }))

  it.effect("A4 A5 a key as a bearer token or in the query opens nothing", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const key = a.merchant["x-api-key"]!
      refused(yield* attack(service, events, { headers: { authorization: `Bearer ${key}` } }), 401, "TOKEN_INVALID")
      refused(yield* attack(service, `${events}?x-api-key=${key}`), 401, "UNAUTHORIZED")
      refused(yield* attack(service, `${events}?api_key=${key}`), 401, "UNAUTHORIZED")
    }))

  it.effect("A6 a key with one character changed is unknown, wherever it is changed", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const key = a.merchant["x-api-key"]!
      for (let place = 0; place < key.length; place++) {
        refused(
          yield* attack(service, events, { headers: { "x-api-key": changedAt(key, place) } }),
          401,
          "API_KEY_INVALID"
        )
      }
    }))

  it.effect("A7 a revoked key that was in use a moment ago is refused within 5 s", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const made = yield* makeKey(service, a.jwt, { scope: "merchant", environment: "devnet" })
      const use = service.call(events, { headers: { "x-api-key": made.key } })
      assert.strictEqual((yield* use).status, 200)
      assertStatus(200, yield* ask(service, a.jwt, `/api/v1/api-keys/${made.id}`, { method: "DELETE" }))
      const { millis } = yield* timed(until("the key is refused", use, ({ status }) => status === 401))
      assert.isBelow(millis, 5_000)
    }))

  it.effect("A8 a mainnet key reads devnet only where it says so, and writes nothing there", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const made = assertStatus(
        200,
        yield* ask(service, a.merchant, invoices, { method: "POST", body: { amount_usd: 5 } })
      )
      const path = `${invoices}/${made.invoice_id}`
      refused(yield* attack(service, path, { headers: a.mainnet }), 404, "INVOICE_NOT_FOUND")
      assert.strictEqual((yield* attack(service, `${path}?environment=devnet`, { headers: a.mainnet })).status, 200)
      const canceled = yield* ask(service, a.mainnet, `${path}/cancel?environment=devnet`, { method: "POST" })
      refused(assertHarmless(canceled, "A8"), 403, "ENVIRONMENT_FORBIDDEN")
      refused(yield* ask(service, a.mainnet, `${path}/cancel`, { method: "POST" }), 404, "INVOICE_NOT_FOUND")
    }))

  it.effect("A8 a key is given no payment link of the other environment: not by id, by customer or in a list", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const customer = `cust-${randomUUID()}`
      for (
        const [own, other, environment] of [[a.merchant, a.mainnet, "devnet"], [
          a.mainnet,
          a.merchant,
          "mainnet"
        ]] as const
      ) {
        const body = { amount_usd: 5, customer_id: customer }
        const made = assertStatus(200, yield* ask(service, own, invoices, { method: "POST", body }))
        const reads = [
          `${invoices}/${made.invoice_id}`,
          `${invoices}/${customer}`,
          `${invoices}/customer/${customer}`,
          invoices,
          // Whether anything is there decides nothing: the refusal tells of no invoice.
          `${invoices}/${randomUUID()}`,
          `${invoices}/customer/${randomUUID()}`
        ]
        for (const path of reads) {
          const linked = `${path}?environment=${environment}&expand=payments,payment_url`
          const answer = yield* attack(service, linked, { headers: other })
          refused(answer, 403, "ENVIRONMENT_FORBIDDEN")
          assert.include(answer.json.error, `a key of ${environment}`)
          assert.notInclude(answer.text, "pst_")
          const without = yield* attack(service, `${path}?environment=${environment}&expand=payments`, {
            headers: other
          })
          assert.notInclude(without.text, "pst_")
        }
        for (const path of reads.slice(0, 4)) {
          assert.strictEqual(
            (yield* attack(service, `${path}?environment=${environment}`, { headers: other })).status,
            200
          )
          const linked = yield* attack(service, `${path}?environment=${environment}&expand=payment_url`, {
            headers: own
          })
          assert.include(linked.text, made.session_token)
        }
        // A wallet's call is in the environment that it names, where it may write as well.
        const byWallet = `${invoices}/${made.invoice_id}?environment=${environment}&expand=payment_url`
        assert.include((yield* attack(service, byWallet, { headers: a.jwt })).text, made.session_token)
      }
    }))

  it.effect("A9 of two credentials the key header decides; two different keys are refused", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const alias = { "x-commerce-api-key": b.commerce["x-api-key"]! }
      refused(yield* attack(service, events, { headers: { ...a.merchant, ...alias } }), 400, "AMBIGUOUS_CREDENTIALS")
      const both = yield* ask(service, { ...a.merchant, ...b.jwt }, invoices, {
        method: "POST",
        body: { amount_usd: 5 }
      })
      assert.strictEqual(assertStatus(200, both).invoice.merchant_id, a.merchantId)
      const commerceWins = yield* ask(
        service,
        { ...a.commerce, ...alias },
        invoices,
        { method: "POST", body: { amount_usd: 5 } }
      )
      assert.strictEqual(assertStatus(200, commerceWins).invoice.merchant_id, a.merchantId)
      refused(
        yield* attack(service, events, { headers: { "x-api-key": "mk_dev_unknown", ...b.jwt } }),
        401,
        "API_KEY_INVALID"
      )
    }))

  it.effect("A11 A12 a merchant key in the commerce header is refused; a commerce key makes commerce invoices only", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const misplaced = { "x-commerce-api-key": a.merchant["x-api-key"]! }
      refused(yield* attack(service, events, { headers: misplaced }), 403, "SCOPE_MISMATCH")
      const body = { amount_usd: 5, invoice_type: "standard" }
      const made = assertStatus(200, yield* ask(service, a.commerce, invoices, { method: "POST", body }))
      assert.strictEqual(made.invoice.invoice_type, "commerce")
    }))
})

layer(strictTenants, { excludeTestServices: true })("attack group A, floods", (it) => {
  it.effect("A10 bad keys from one address are counted by address, and a good key goes on beside them", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const statuses: Array<number> = []
      for (let tried = 0; tried < 60; tried++) {
        const answer = yield* attack(service, events, { headers: { "x-api-key": `mk_dev_${randomUUID()}` } })
        statuses.push(answer.status)
        if (answer.status === 429) assert.isAtLeast(Number(answer.headers["retry-after"]), 1)
      }
      assert.deepStrictEqual(new Set(statuses), new Set([401, 429]))
      assert.strictEqual(statuses.at(-1), 429)
      assert.isAtMost(statuses.filter((status) => status === 401).length, 30)
      assert.strictEqual((yield* attack(service, events, { headers: a.merchant })).status, 200)
    }))
})
