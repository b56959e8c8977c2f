/**
 * Goal: the published verifier takes what is genuine and nothing else, and says why. Method: deliveries signed by our
 * own signer, by `standardwebhooks`, by `svix` and by node:crypto, then one thing about them changed; the documented
 * test vector.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createHmac } from "node:crypto"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { Webhook as SvixWebhook } from "svix"
import { type IncomingHeaders, verify } from "../../../modules/clients/webhooks.ts"

const secretOf = (seed: number) => `whsec_${Buffer.alloc(32, seed).toString("base64")}`
const [secret, other] = [secretOf(1), secretOf(2)]

const ms = 1_700_000_000_123
const at = { now: () => ms }

const vector = {
  secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
  body: "{\"id\":\"evt_1700000000000-123\",\"object\":\"event\",\"type\":\"test.ping\"}",
  service: {
    "X-Service-Timestamp": "1700000000123",
    "X-Service-Signature": "c87865dec99bdf63d14272a7e2b987eb47f83b2f034181203970622d379f02f6"
  },
  standard: {
    "webhook-id": "evt_1700000000000-123",
    "webhook-timestamp": "1700000000",
    "webhook-signature": "v1,nI32a5QjZqz2Ky8jYdoIwYq1kW2ZbK+coyC2g+jAMpc="
  }
}

/** The three independent signers, each as the headers of a delivery. */
const signers: Readonly<Record<string, (secret: string, body: string, millis: number) => Record<string, string>>> = {
  standardwebhooks: (secret, body, millis) => ({
    "webhook-id": "evt_1-1",
    "webhook-timestamp": String(Math.floor(millis / 1000)),
    "webhook-signature": new StandardWebhook(secret).sign("evt_1-1", new Date(millis), body)
  }),
  svix: (secret, body, millis) => ({
    "webhook-id": "evt_1-1",
    "webhook-timestamp": String(Math.floor(millis / 1000)),
    "webhook-signature": new SvixWebhook(secret).sign("evt_1-1", new Date(millis), body)
  }),
  "node:crypto": (secret, body, millis) => ({
    "x-service-timestamp": String(millis),
    "x-service-signature": createHmac("sha256", secret).update(`${millis}.${body}`).digest("hex")
  })
}

const Body = Schema.Struct({ id: Schema.String, data: Schema.Record(Schema.String, Schema.String) })

const check = (
  body: string | Uint8Array,
  headers: IncomingHeaders,
  secrets: ReadonlyArray<string | undefined>,
  now = ms
) => Effect.promise(() => verify(body, headers, secrets, { now: () => now }))

const reasonOf = (result: Effect.Success<ReturnType<typeof check>>) => result.ok ? "ok" : result.reason

describe("verify", () => {
  it.effect("takes the documented delivery by either scheme, from any kind of headers", () =>
    Effect.gen(function*() {
      for (const headers of [vector.service, vector.standard, { ...vector.service, ...vector.standard }]) {
        for (
          const given of [
            headers,
            new Headers(headers),
            Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, [v]]))
          ]
        ) {
          const result = yield* check(vector.body, given as IncomingHeaders, [vector.secret])
          assert.isTrue(result.ok)
          assert.deepStrictEqual(result.ok && result.event.id, "evt_1700000000000-123")
          assert.strictEqual(
            reasonOf(yield* check(Buffer.from(vector.body), given as IncomingHeaders, [vector.secret])),
            "ok"
          )
        }
      }
    }))

  for (const [name, sign] of Object.entries(signers)) {
    it.effect.prop(
      `agrees with ${name} on any body, and on no other body, secret or time`,
      [Body],
      ([event]) =>
        Effect.gen(function*() {
          const body = JSON.stringify(event)
          const headers = sign(secret, body, ms)
          assert.strictEqual(reasonOf(yield* check(body, headers, [secret])), "ok")
          assert.strictEqual(reasonOf(yield* check(body, headers, [other, secret])), "ok")
          assert.strictEqual(reasonOf(yield* check(`${body} `, headers, [secret])), "body_changed")
          assert.strictEqual(reasonOf(yield* check(body, headers, [other])), "body_changed")
          assert.strictEqual(reasonOf(yield* check(body, headers, [secret], ms + 302_000)), "timestamp_outside_window")
          assert.strictEqual(reasonOf(yield* check(body, headers, [secret], ms - 302_000)), "timestamp_outside_window")
          assert.strictEqual(reasonOf(yield* check(body, headers, [secret], ms + 299_000)), "ok")
        })
    )
  }

  it.effect("takes the old secret's signature while one is rotated", () =>
    Effect.gen(function*() {
      const body = "{}"
      const both = {
        "x-service-timestamp": String(ms),
        "x-service-signature": signers["node:crypto"]!(other, body, ms)["x-service-signature"]!,
        "x-service-signature-previous": signers["node:crypto"]!(secret, body, ms)["x-service-signature"]!
      }
      const standard = {
        ...signers["svix"]!(secret, body, ms),
        "webhook-signature": [other, secret].map((one) => signers["svix"]!(one, body, ms)["webhook-signature"]).join(
          " "
        )
      }
      for (const headers of [both, standard]) {
        assert.strictEqual(reasonOf(yield* check(body, headers, [secret])), "ok")
        assert.strictEqual(reasonOf(yield* check(body, headers, [other])), "ok")
      }
    }))

  it.effect("says which header, secret or body is at fault", () =>
    Effect.gen(function*() {
      const { body, secret, service, standard } = vector
      const cases: ReadonlyArray<
        readonly [string, string | Uint8Array, Record<string, string>, ReadonlyArray<string | undefined>]
      > = [
        ["missing_header", body, {}, [secret]],
        ["missing_header", body, { "X-Service-Signature": service["X-Service-Signature"] }, [secret]],
        ["missing_header", body, { ...standard, "webhook-id": undefined as never }, [secret]],
        ["wrong_secret_kind", body, service, []],
        ["wrong_secret_kind", body, service, [undefined]],
        ["wrong_secret_kind", body, service, ["mk_dev_0123456789"]],
        ["wrong_secret_kind", body, service, ["whsec_"]],
        ["wrong_secret_kind", body, service, ["whsec_not base64"]],
        ["body_changed", JSON.parse(body) as string, service, [secret]],
        ["body_changed", body, { ...service, "X-Service-Signature": "zz" }, [secret]],
        ["body_changed", body, { ...service, "X-Service-Timestamp": "1700000000124" }, [secret]],
        ["body_changed", body, { ...standard, "webhook-id": "evt_1-1" }, [secret]],
        ["body_changed", body, { ...standard, "webhook-signature": "v1a,AAAA v1,!" }, [secret]]
      ]
      for (const [reason, given, headers, secrets] of cases) {
        assert.strictEqual(reasonOf(yield* check(given, headers, secrets)), reason, JSON.stringify([headers, secrets]))
      }
    }))

  it.effect("holds a shorter tolerance, and reads the clock when none is given", () =>
    Effect.gen(function*() {
      const { body, secret, service } = vector
      const strict = yield* Effect.promise(() =>
        verify(body, service, [secret], { now: () => ms + 61_000, toleranceSeconds: 60 })
      )
      assert.strictEqual(reasonOf(strict), "timestamp_outside_window")
      assert.strictEqual(
        reasonOf(yield* Effect.promise(() => verify(body, service, [secret]))),
        "timestamp_outside_window"
      )
      assert.strictEqual(reasonOf(yield* Effect.promise(() => verify(body, service, [secret], at))), "ok")
    }))
})
