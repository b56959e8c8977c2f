/**
 * Goal: the rules of webhook endpoints hold for every caller, endpoint and moment. Method: properties of the pure
 * rules; what they must say is written down here anew, from modules/docs/reference/webhooks.md#endpoints.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  changeEndpoint,
  decideEndpoint,
  deleteEndpoint,
  disabledByMerchant,
  type EndpointState,
  isListed,
  manages,
  objectionToListing,
  overlapEnd,
  resetsHealth,
  rotateSecret
} from "../../../modules/webhooks/rules.ts"
import { CredentialKind, KeyScope, type Principal } from "../../../schemas/Auth.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { Environment } from "../../../schemas/Network.ts"

const Merchant = Schema.Literals([1, 2])
const Caller = Schema.Struct({ merchantId: Merchant, environment: Environment, scope: KeyScope, kind: CredentialKind })
const Endpoint = Schema.Struct({
  merchantId: Merchant,
  environment: Schema.NullOr(Environment),
  commerceOnly: Schema.Boolean,
  status: Schema.Literals(["enabled", "disabled", "deleted"]),
  url: Schema.Literals(["https://a.example/", "https://b.example/"])
})
const Moment = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))

const endpointOf = (fields: typeof Endpoint.Type): EndpointState => ({
  ...fields,
  version: 7,
  filters: ["*"],
  ordered: false,
  apiVersion: "2026-01-15",
  description: null,
  sealedSecret: "now",
  sealedPreviousSecret: null,
  previousSecretExpiresAt: null,
  disabledReason: null,
  updatedAt: 0
})

describe("an endpoint", () => {
  it.prop("is managed by its merchant alone, by keys of its environment, and by commerce keys if one of them made it", [
    Caller,
    Endpoint
  ], ([
    caller,
    fields
  ]) => {
    const expected = fields.status !== "deleted" && caller.merchantId === fields.merchantId
      && !(caller.kind === "key" && caller.environment !== fields.environment)
      && !(caller.scope === "commerce" && !fields.commerceOnly)
    assert.strictEqual(manages(caller as Principal, fields), expected)
  })

  it("is sent only what whoever makes or redirects it may read", () => {
    const callerOf = (role: string) =>
      ({
        merchantId: 1,
        environment: "mainnet",
        scope: "merchant",
        kind: "wallet",
        role,
        permissions: ["read", "write", "refund"]
      }) as unknown as Principal
    const served = ["devnet", "mainnet"] as const
    const make = (role: string, filter: string, environment: Environment | null = "mainnet") =>
      decideEndpoint(callerOf(role), {
        url: "https://a.example/",
        enabledEvents: [filter],
        environment,
        description: null,
        ordered: false,
        apiVersion: "2026-01-15"
      }, served)
    const codeOf = (decided: unknown) => decided instanceof PublicError ? `${decided.code} ${decided.param}` : "made"
    for (const filter of ["batch.created", "balance_transaction.created", "balance_transaction.*"]) {
      assert.strictEqual(codeOf(make("developer", filter)), "PERMISSION_DENIED enabled_events", filter)
      assert.strictEqual(codeOf(make("developer", filter, null)), "PERMISSION_DENIED enabled_events", filter)
      assert.strictEqual(codeOf(make("developer", filter, "devnet")), "made", filter)
      assert.strictEqual(codeOf(make("owner", filter)), "made", filter)
    }
    assert.strictEqual(codeOf(make("developer", "*")), "made")
    const endpoint = {
      ...endpointOf({
        merchantId: 1,
        environment: "mainnet",
        commerceOnly: false,
        status: "enabled",
        url: "https://a.example/"
      }),
      filters: ["batch.created"]
    }
    const change = (role: string, asked: object) => codeOf(changeEndpoint(callerOf(role), endpoint, asked, served, 1))
    assert.strictEqual(change("developer", { url: "https://b.example/" }), "PERMISSION_DENIED enabled_events")
    assert.strictEqual(change("developer", { description: "of the shop" }), "made")
    assert.strictEqual(change("owner", { url: "https://b.example/" }), "made")
  })

  it.prop("of a key never leaves the key's environment, whatever is asked", [
    Caller,
    Endpoint,
    Schema.NullOr(Schema.String)
  ], ([
    caller,
    fields,
    asked
  ]) => {
    const environments = [asked, "mainnet", "devnet", null]
    for (const environment of environments) {
      const endpoint = endpointOf({ ...fields, environment: caller.environment })
      const after = changeEndpoint({ ...caller, kind: "key" } as Principal, endpoint, { environment }, [
        "devnet",
        "mainnet"
      ], 1)
      if (after instanceof PublicError) assert.include(["ENVIRONMENT_FORBIDDEN", "INVALID_ENVIRONMENT"], after.code)
      else assert.strictEqual(after.environment, caller.environment)
    }
  })

  it.prop("says who disabled it, and nobody once it is enabled", [
    Caller,
    Endpoint,
    Schema.Literals(["enabled", "disabled"]),
    Moment
  ], ([
    caller,
    fields,
    status,
    now
  ]) => {
    const endpoint = { ...endpointOf({ ...fields, status: "disabled" }), disabledReason: "gone" }
    const after = changeEndpoint(caller as Principal, endpoint, { status }, [], now) as EndpointState
    assert.strictEqual(after.disabledReason, status === "enabled" ? null : "gone")
    assert.strictEqual(resetsHealth(endpoint, after), status === "enabled")
    const off = changeEndpoint(
      caller as Principal,
      { ...after, status: "enabled" },
      { status: "disabled" },
      [],
      now
    ) as EndpointState
    assert.deepStrictEqual([off.status, off.disabledReason, resetsHealth(after, off)], [
      "disabled",
      disabledByMerchant,
      false
    ])
  })

  const Step = Schema.Struct({ after: Moment, overlap: Schema.Literals([0, 1, 50, 500]), rotates: Schema.Boolean })

  it.prop(
    "never has more than two secrets, and the old one only while its overlap lasts",
    [Schema.Array(Step)],
    ([steps]) => {
      let endpoint = endpointOf({
        merchantId: 1,
        environment: null,
        commerceOnly: false,
        status: "enabled",
        url: "https://a.example/"
      })
      let now = 0
      for (const [n, { after, overlap, rotates }] of steps.entries()) {
        now += after
        const before = endpoint
        endpoint = rotates
          ? rotateSecret(endpoint, `secret ${n}`, overlap, now)
          : changeEndpoint({ kind: "wallet" } as Principal, endpoint, {}, [], now) as EndpointState
        assert.strictEqual(endpoint.version, before.version + 1)
        if (rotates) {
          assert.strictEqual(endpoint.sealedSecret, `secret ${n}`)
          assert.strictEqual(endpoint.sealedPreviousSecret, overlap === 0 ? null : before.sealedSecret)
        }
        assert.strictEqual(endpoint.sealedPreviousSecret === null, endpoint.previousSecretExpiresAt === null)
        const end = endpoint.previousSecretExpiresAt
        if (end !== null) assert.isAbove(end, now)
        assert.strictEqual(overlapEnd(endpoint, now), end)
        if (end !== null) assert.isNull(overlapEnd(endpoint, end))
      }
      const gone = deleteEndpoint(endpoint, now)
      assert.deepStrictEqual([gone.status, gone.sealedSecret, gone.sealedPreviousSecret], ["deleted", "", null])
    }
  )

  it("are listed by environment with those of both, and a key may name only its own", () => {
    const own = { merchantId: 1, commerceOnly: false, status: "enabled" } as const
    const wallet = { kind: "wallet", scope: "merchant", merchantId: 1, environment: "devnet" } as Principal
    const key = { ...wallet, kind: "key" } as Principal
    assert.isTrue(isListed(wallet, { ...own, environment: "mainnet" }, undefined))
    assert.isTrue(isListed(wallet, { ...own, environment: null }, "devnet"))
    assert.isFalse(isListed(wallet, { ...own, environment: "mainnet" }, "devnet"))
    assert.isFalse(isListed(wallet, { ...own, merchantId: 2, environment: null }, "devnet"))
    assert.isUndefined(objectionToListing(wallet, "mainnet"))
    assert.isUndefined(objectionToListing(key, "devnet"))
    assert.strictEqual(objectionToListing(key, "mainnet")?.code, "ENVIRONMENT_FORBIDDEN")
  })
})
