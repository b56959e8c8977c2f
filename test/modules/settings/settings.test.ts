/**
 * Goal: what a merchant sets is what holds, in its own environment, and nothing else changes it.
 * Method: the real router and commit log; histories of changes against a model that knows nothing of the code.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { Keys } from "../../../modules/auth/actor.ts"
import { Merchants } from "../../../modules/auth/service.ts"
import { migrations as authMigrations, tables as authTables } from "../../../modules/auth/migrations.ts"
import { SettingsApi } from "../../../modules/settings/api.ts"
import { migrations, tables } from "../../../modules/settings/migrations.ts"
import { MerchantSettings, plugin } from "../../../modules/settings/plugin.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Credentials } from "../../../runtime/Http.ts"
import type { KeyScope, Principal } from "../../../schemas/Auth.ts"
import { MerchantSettings as SettingsSchema, MerchantSettingsChange } from "../../../schemas/MerchantSettings.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { solePerson } from "../../fixtures/authorities.ts"
import { type Answer, Api, apiLayer, type Call, kernel, settingsLayer } from "../../support/Api.ts"

const routes = Layer.mergeAll(
  plugin.layer(undefined as never),
  Layer.effectDiscard(Effect.gen(function*() {
    const { register, registerBearer } = yield* Credentials
    yield* register((yield* Keys).verify)
    // `<role>-<merchant>` is the token of a person in that role.
    yield* registerBearer((token) => {
      const [role, merchant] = token.split("-")
      return Effect.succeed({
        merchantId: Number(merchant),
        environment: "devnet",
        scope: "merchant",
        kind: "wallet",
        credential: token,
        apiVersion: newestVersion,
        ...solePerson,
        role
      } as Principal)
    })
  }))
)

const served = apiLayer(
  [SettingsApi],
  routes as never,
  Layer.mergeAll(Keys.layer, Merchants.layer).pipe(
    Layer.provideMerge(Actors.layer),
    Layer.provideMerge(kernel(
      [{ name: "auth", migrations: authMigrations, tables: authTables }, { name: "settings", migrations, tables }],
      settingsLayer({ environments: ["devnet", "mainnet"] })
    ))
  )
) as unknown as Layer.Layer<Api | Keys | MerchantSettings | SqlClient.SqlClient>

const path = "/api/v1/merchant/settings"

const defaults = {
  payment_tolerance_bps: 0,
  payment_tolerance_amount: 10,
  overpay_tolerance_amount: 1000,
  late_payment_policy: "spot_rate",
  late_window_seconds: 604800,
  underpaid_grace_seconds: 86400,
  partial_payment_policy: "lock_route",
  invoice_default_expires_in: 43200000,
  confirmation_policy: "standard",
  auto_approve_limit: 500000,
  auto_approve_limit_day: 2000000,
  payout_limit_batch: null,
  payout_limit_day: null,
  default_environment: "devnet",
  branding: {
    name: "Demo Store",
    logo_uri: null,
    accent: "#2a4fd8",
    support_email: null,
    domain: null,
    frame_ancestors: [],
    default_locale: "en",
    allow_restart: false,
    show_payee_proof: false,
    domain_verified_at: null
  }
}

/** What the API shows where no limits wait and no domain is named. */
const shownDefaults = { ...defaults, pending_change: null, domain_check: null }

/** A new merchant called Demo Store, and a caller for each of its keys. */
const newMerchant = Effect.gen(function*() {
  const keys = yield* Keys
  const { call } = yield* Api
  const { id } = yield* keys.createMerchant("Demo Store", "billing@example.com")
  const caller = (scope: KeyScope, environment: Environment) =>
    Effect.map(
      keys.create({ merchantId: id, name: "k", scope, environment, expiresAt: null }),
      ({ key }) => (more: Call = {}, query = "") =>
        call(`${path}${query}`, { ...more, headers: { "x-api-key": key, ...more.headers } })
    )
  return {
    id,
    devnet: yield* caller("merchant", "devnet"),
    mainnet: yield* caller("merchant", "mainnet"),
    commerce: yield* caller("commerce", "devnet")
  }
})

const patch = (body: unknown, headers: Readonly<Record<string, string>> = {}): Call => ({
  method: "PATCH",
  body,
  headers
})

const refused = (answer: Answer, status: number, code: string, says = "") => {
  assert.deepStrictEqual([answer.status, answer.json.code], [status, code], answer.text)
  assert.sameMembers(Object.keys(answer.json), ["error", "code"])
  assert.include(answer.json.error, says)
}

const png =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** URLs and origins that are fine; the filters of their schemas say no to nearly all random text. */
const look = {
  name: Schema.Literals(["Shop", "Café ☕", "x"]),
  logo_uri: Schema.Literals(["https://cdn.example/logo.png", "https://shop.example/a?b=c#d", png]),
  accent: Schema.Literals(["#000000", "#0b7a43"]),
  support_email: Schema.Literals(["help@shop.example"]),
  frame_ancestors: Schema.Array(Schema.Literals(["https://shop.example", "https://a.example:8443"])).check(
    Schema.isMaxLength(3)
  ),
  default_locale: Schema.Literals(["de", "pt-BR"]),
  allow_restart: Schema.Boolean,
  show_payee_proof: Schema.Boolean
}
const Look = Schema.Struct({
  name: Schema.optionalKey(Schema.NullOr(look.name)),
  logo_uri: Schema.optionalKey(Schema.NullOr(look.logo_uri)),
  accent: Schema.optionalKey(Schema.NullOr(look.accent)),
  support_email: Schema.optionalKey(Schema.NullOr(look.support_email)),
  frame_ancestors: Schema.optionalKey(Schema.NullOr(look.frame_ancestors)),
  default_locale: Schema.optionalKey(Schema.NullOr(look.default_locale)),
  allow_restart: Schema.optionalKey(Schema.NullOr(look.allow_restart)),
  show_payee_proof: Schema.optionalKey(Schema.NullOr(look.show_payee_proof))
})
/** No key changes how much may be paid out: a test of its own tells so. */
const { payout_limit_batch: _batch, payout_limit_day: _day, ...keyFields } = MerchantSettingsChange.fields
const Change = Schema.Struct({ ...keyFields, branding: Schema.optionalKey(Schema.NullOr(Look)) })
const History = Schema.Array(Schema.Tuple([Schema.Literals(["devnet", "mainnet"]), Change]))
  .check(Schema.isMinLength(1), Schema.isMaxLength(5))

/** The model: what is sent wins, null is the default, branding is told apart by field. */
const after = (settings: any, change: any): any => {
  const next = structuredClone(settings)
  for (const [name, value] of Object.entries<any>(change)) {
    if (name !== "branding") next[name] = value ?? (defaults as any)[name]
    else if (value === null) next.branding = structuredClone(defaults.branding)
    else {for (const [part, chosen] of Object.entries<any>(value)) {
        next.branding[part] = chosen ?? (defaults.branding as any)[part]
      }}
  }
  return next
}

describe("the guide on states and events", () => {
  it("names every setting that decides about invoices, with its default", () => {
    const guide = readFileSync(new URL("../../../modules/docs/guides/states.md", import.meta.url), "utf8")
    const rows = guide.split("\n").filter((line) => line.startsWith("| `")).map((line) =>
      line.split("|").map((cell) => cell.trim())
    )
    const { branding: _branding, default_environment: _environment, ...policies } = defaults
    for (const [name, value] of Object.entries(policies)) {
      const [, names = "", shown = ""] = rows.find(([, first]) => first?.includes(`\`${name}\``)) ?? []
      const at = names.split(", ").indexOf(`\`${name}\``)
      assert.strictEqual(shown.split(", ")[at]?.replaceAll("`", ""), String(value), name)
    }
  })
})

layer(served)("merchant settings", (it) => {
  it.effect("are the published defaults, in the published order, until a merchant changes them", () =>
    Effect.gen(function*() {
      const { devnet, id, mainnet } = yield* newMerchant
      const { status, text } = yield* devnet()
      assert.strictEqual(status, 200)
      assert.strictEqual(text, JSON.stringify(shownDefaults))
      Schema.decodeUnknownSync(SettingsSchema, { onExcessProperty: "error" })(JSON.parse(text))
      assert.deepStrictEqual((yield* mainnet()).json, shownDefaults)
      assert.deepStrictEqual(yield* (yield* MerchantSettings).get(id, "mainnet"), defaults as never)
    }))

  it.effect.prop(
    "read back as the model has them, after any history of changes in both environments",
    [History],
    ([history]) =>
      Effect.gen(function*() {
        const merchant = yield* newMerchant
        const model: Record<Environment, any> = { devnet: shownDefaults, mainnet: shownDefaults }
        for (const [environment, sent] of history) {
          const { auto_approve_limit: _limit, auto_approve_limit_day: _limitOfDay, ...others } = sent
          const change = environment === "devnet" ? sent : others
          const moved = change.default_environment === null ? "devnet" : change.default_environment
          if (
            environment === "devnet" && (moved ?? model.devnet.default_environment) !== model.devnet.default_environment
          ) {
            refused(yield* merchant.devnet(patch(change)), 403, "ENVIRONMENT_FORBIDDEN", "default_environment")
            continue
          }
          model[environment] = after(model[environment], change)
          const other = environment === "devnet" ? "mainnet" : "devnet"
          model[other] = { ...model[other], default_environment: model[environment].default_environment }
          const answer = yield* merchant[environment](patch(change))
          assert.strictEqual(answer.status, 200, answer.text)
          assert.deepStrictEqual(answer.json, model[environment])
          for (const one of ["devnet", "mainnet"] as const) {
            assert.deepStrictEqual((yield* merchant[one]()).json, model[one])
          }
        }
      }),
    { arbitrary: { runs: 40 } }
  )

  it.effect("let no key change who approves refunds of real money", () =>
    Effect.gen(function*() {
      const { devnet, mainnet } = yield* newMerchant
      for (
        const [name, byDefault] of [["auto_approve_limit", 500_000], ["auto_approve_limit_day", 2_000_000]] as const
      ) {
        refused(yield* mainnet(patch({ [name]: 0 })), 403, "CREDENTIAL_NOT_ALLOWED", `${name}:`)
        refused(yield* mainnet(patch({ [name]: null })), 403, "CREDENTIAL_NOT_ALLOWED", `${name}:`)
        assert.strictEqual((yield* devnet(patch({ [name]: 0 }))).json[name], 0)
        assert.strictEqual((yield* mainnet()).json[name], byDefault)
      }
    }))

  it.effect("let no key change how much may be paid out, on devnet either", () =>
    Effect.gen(function*() {
      const { devnet, mainnet } = yield* newMerchant
      for (const call of [devnet, mainnet]) {
        for (const name of ["payout_limit_batch", "payout_limit_day"]) {
          refused(yield* call(patch({ [name]: 5 })), 403, "CREDENTIAL_NOT_ALLOWED", name)
          refused(yield* call(patch({ [name]: null })), 403, "CREDENTIAL_NOT_ALLOWED", name)
        }
        assert.deepStrictEqual((yield* call()).json, shownDefaults)
      }
    }))

  it.effect("let the default environment be changed only in roles that change settings of real money", () =>
    Effect.gen(function*() {
      const { id } = yield* newMerchant
      const { call } = yield* Api
      const moveAs = (role: string, environment: Environment) =>
        call(`${path}?environment=${environment}`, {
          ...patch({ default_environment: "mainnet" }),
          headers: { authorization: `Bearer ${role}-${id}` }
        })
      for (const role of ["support", "accountant", "viewer"]) {
        for (const named of ["devnet", "mainnet"] as const) {
          refused(yield* moveAs(role, named), 403, "PERMISSION_DENIED")
        }
      }
      assert.strictEqual((yield* moveAs("developer", "devnet")).json.default_environment, "mainnet")
    }))

  it.effect("belong to one merchant and one environment, and are shown across environments when named", () =>
    Effect.gen(function*() {
      const mine = yield* newMerchant
      const other = yield* newMerchant
      yield* mine.devnet(patch({ late_window_seconds: 60 }))
      assert.strictEqual((yield* mine.mainnet()).json.late_window_seconds, 604800)
      assert.strictEqual((yield* mine.mainnet({}, "?environment=devnet")).json.late_window_seconds, 60)
      assert.strictEqual((yield* other.devnet()).json.late_window_seconds, 604800)
      refused(yield* mine.devnet({}, "?environment=testnet"), 400, "INVALID_ENVIRONMENT")
    }))

  it.effect("are closed to commerce keys and to unknown ones", () =>
    Effect.gen(function*() {
      const { commerce, devnet } = yield* newMerchant
      refused(yield* commerce(), 403, "SCOPE_MISMATCH")
      refused(yield* commerce(patch({ late_window_seconds: 60 })), 403, "SCOPE_MISMATCH")
      refused(yield* devnet({ headers: { "x-api-key": "nobody" } }), 401, "API_KEY_INVALID")
      assert.deepStrictEqual((yield* devnet()).json, shownDefaults)
    }))

  it.effect("refuse what is out of range or malformed, by its name, and change nothing then", () =>
    Effect.gen(function*() {
      const { devnet } = yield* newMerchant
      const wrong: ReadonlyArray<readonly [object, string]> = [
        [{ payment_tolerance_bps: 10_001 }, "payment_tolerance_bps"],
        [{ payment_tolerance_bps: -1 }, "payment_tolerance_bps"],
        [{ payment_tolerance_bps: 0.5 }, "payment_tolerance_bps"],
        [{ payment_tolerance_amount: 100_001 }, "payment_tolerance_amount"],
        [{ overpay_tolerance_amount: "10" }, "overpay_tolerance_amount"],
        [{ late_payment_policy: "refund" }, "late_payment_policy"],
        [{ late_window_seconds: 31_536_001 }, "late_window_seconds"],
        [{ underpaid_grace_seconds: 2_592_001 }, "underpaid_grace_seconds"],
        [{ partial_payment_policy: "none" }, "partial_payment_policy"],
        [{ invoice_default_expires_in: 59_999 }, "invoice_default_expires_in"],
        [{ invoice_default_expires_in: 2_592_000_001 }, "invoice_default_expires_in"],
        [{ confirmation_policy: "instant" }, "confirmation_policy"],
        [{ default_environment: "testnet" }, "default_environment"],
        [{ branding: [] }, "branding"],
        [{ branding: { name: "" } }, "branding.name"],
        [{ branding: { name: "x".repeat(256) } }, "branding.name"],
        [{ branding: { accent: "blue" } }, "branding.accent"],
        [{ branding: { accent: "#787878" } }, "branding.accent"],
        [{ branding: { support_email: "nobody" } }, "branding.support_email"],
        ...[
          "shop",
          "localhost",
          "Shop.example",
          "https://shop.example",
          "shop.example:8443",
          "shop.example/path",
          "user@shop.example",
          "shop.example.",
          "shop..example",
          "-shop.example",
          "127.0.0.1",
          "0x7f.1",
          "169.254.169.254",
          "[::1]",
          "bücher.example",
          "аррӏе.example",
          `${"a".repeat(64)}.example`,
          `${"a.".repeat(124)}example`,
          "shop.example\u202e"
        ].map((domain) => [{ branding: { domain } }, "branding.domain"] as const),
        [{ branding: { default_locale: "english language" } }, "branding.default_locale"],
        [{ branding: { allow_restart: "yes" } }, "branding.allow_restart"],
        [{ branding: { show_payee_proof: "yes" } }, "branding.show_payee_proof"],
        ...[
          "http://shop.example/l.png",
          "https://u:p@shop.example/",
          "https://",
          "javascript:alert(1)",
          "//x.example",
          "https://x.example/\"onload=",
          "data:image/png;base64,AA",
          `${png}=`,
          png.replace("png", "svg+xml"),
          png.replace("png", "jpeg"),
          `${png.slice(0, -8)}${"A".repeat(16_384)}`
        ]
          .map((logo_uri) => [{ branding: { logo_uri } }, "branding.logo_uri"] as const),
        ...[
          "http://shop.example",
          "https://shop.example/",
          "https://*.example",
          "https://a.example; script-src *",
          "https://SHOP.example",
          "https://shop.example:443",
          "'self'",
          "https://a,b"
        ]
          .map((origin) =>
            [{ branding: { frame_ancestors: ["https://ok.example", origin] } }, "branding.frame_ancestors.1"] as const
          ),
        [
          { branding: { frame_ancestors: Array.from({ length: 11 }, (_, n) => `https://s${n}.example`) } },
          "branding.frame_ancestors"
        ]
      ]
      for (const [body, param] of wrong) {
        refused(yield* devnet(patch({ late_window_seconds: 1, ...body })), 400, "VALIDATION_ERROR", param)
      }
      for (const body of ["[]", "7", "null", "\"x\""]) refused(yield* devnet(patch(body)), 400, "VALIDATION_ERROR")
      refused(yield* devnet(patch("{")), 400, "INVALID_JSON")
      assert.deepStrictEqual((yield* devnet()).json, shownDefaults)
      assert.deepStrictEqual((yield* devnet(patch({ nonsense: 1, branding: { nonsense: {} } }))).json, shownDefaults)
    }))

  it.effect("keep every one of many changes that come at once", () =>
    Effect.gen(function*() {
      const { devnet, mainnet } = yield* newMerchant
      const changes = [
        { payment_tolerance_bps: 7 },
        { payment_tolerance_amount: 8 },
        { overpay_tolerance_amount: 9 },
        { late_window_seconds: 11 },
        { underpaid_grace_seconds: 12 },
        { branding: { accent: "#111111" } },
        { branding: { default_locale: "fr" } },
        { default_environment: "mainnet" },
        { confirmation_policy: "final" }
      ]
      const answers = yield* Effect.all(
        changes.map((change) => "default_environment" in change ? mainnet(patch(change)) : devnet(patch(change))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status), changes.map(() => 200))
      assert.deepStrictEqual((yield* devnet()).json, changes.reduce(after, shownDefaults))
    }))

  it.effect("repeat the first answer for the same key, and refuse the key with another body", () =>
    Effect.gen(function*() {
      const { devnet } = yield* newMerchant
      const key = { "idempotency-key": "k" }
      const first = yield* devnet(patch({ late_window_seconds: 1 }, key))
      yield* devnet(patch({ late_window_seconds: 2 }))
      const again = yield* devnet(patch({ late_window_seconds: 1 }, key))
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.strictEqual((yield* devnet()).json.late_window_seconds, 2)
      refused(yield* devnet(patch({ late_window_seconds: 3 }, key)), 422, "IDEMPOTENCY_KEY_REUSED")
    }))

  it.effect("decide about new invoices as they stand, but for what is no affair of an invoice", () =>
    Effect.gen(function*() {
      const { devnet, id, mainnet } = yield* newMerchant
      const settings = yield* MerchantSettings
      yield* mainnet(patch({ default_environment: "mainnet" }))
      yield* devnet(patch({ late_window_seconds: 1, branding: { accent: "#111111" } }))
      const { branding: _branding, default_environment: _environment, ...rest } = yield* settings.get(id, "devnet")
      assert.deepStrictEqual(yield* settings.forInvoices(id, "devnet"), rest)
      assert.strictEqual(rest.late_window_seconds, 1)
      yield* devnet(patch({ late_window_seconds: 3 }))
      assert.strictEqual((yield* settings.forInvoices(id, "devnet")).late_window_seconds, 3)
      assert.strictEqual((yield* settings.forInvoices(id, "mainnet")).late_window_seconds, 604_800)
    }))

  it.effect("reach other modules within two seconds", () =>
    Effect.gen(function*() {
      const { devnet, id } = yield* newMerchant
      const settings = yield* MerchantSettings
      yield* settings.get(id, "devnet")
      const sql = yield* SqlClient.SqlClient
      yield* devnet(patch({ late_window_seconds: 1 }))
      assert.strictEqual((yield* settings.get(id, "devnet")).late_window_seconds, 1)
      // Another instance changes the row behind this one's back.
      // With a colour that could be chosen before colours were looked at.
      const choices = JSON.stringify({ late_window_seconds: 2, branding: { accent: "#ffffff" } })
      yield* sql`UPDATE merchant_settings SET choices = ${choices}::json WHERE merchant_id = ${id}`
      assert.strictEqual((yield* settings.get(id, "devnet")).late_window_seconds, 1)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* settings.get(id, "devnet")).late_window_seconds, 2)
      assert.strictEqual((yield* devnet()).json.branding.accent, "#ffffff")
      assert.strictEqual((yield* devnet(patch({ late_window_seconds: 4 }))).json.branding.accent, "#ffffff")
    }))
})
