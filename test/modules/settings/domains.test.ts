/**
 * Goal: the sign beside a domain means that the domain itself named this merchant and this payment page a short while
 * ago, whatever its server, its DNS or another tenant does. Method: the rules, and an instance with a web of the test's
 * own; time passes by turning dates back.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Keys } from "../../../modules/auth/actor.ts"
import { brandingBody } from "../../../modules/payments/rules.ts"
import { MerchantSettings } from "../../../modules/settings/plugin.ts"
import {
  domainAfter,
  domainAfterRemoval,
  domainAfterRename,
  domainAfterSave,
  type DomainFindings,
  type DomainState,
  findingOfPage,
  findingOfRecords
} from "../../../modules/settings/rules.ts"
import { PublicWeb, WebReadFailed } from "../../../runtime/PublicWeb.ts"
import { Timers } from "../../../runtime/Timers.ts"
import { Api } from "../../support/Api.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { until } from "../../support/Service.ts"
import { limitsInstance } from "./LimitsDeployment.ts"

const claim = { domain: "shop.example", merchantId: 42, payHost: "pay.example" }
const proof = { merchant_id: 42, pay_host: "pay.example" }
const day = 86_400

describe("the file", () => {
  const read = (text: string, status = 200) => findingOfPage(claim, { status, text })

  it("proves the domain by this merchant and this payment page only", () => {
    assert.strictEqual(read(JSON.stringify(proof)), "proved")
    assert.strictEqual(read(`\uFEFF${JSON.stringify({ ...proof, merchant_id: "42", more: [] })}\n`), "proved")
    assert.strictEqual(read(JSON.stringify({ ...proof, pay_host: "PAY.example" })), "proved")
    assert.strictEqual(read(JSON.stringify({ ...proof, merchant_id: 4 })), "other_merchant")
    assert.strictEqual(read(JSON.stringify({ ...proof, merchant_id: "042" })), "other_merchant")
    assert.strictEqual(read(JSON.stringify({ ...proof, pay_host: "evil.example" })), "other_host")
    assert.strictEqual(read(JSON.stringify({ ...proof, pay_host: "pay.example.evil.example" })), "other_host")
  })

  it("proves nothing where it is anything else", () => {
    for (const status of [429, 500, 503]) assert.strictEqual(read(JSON.stringify(proof), status), "unreachable")
    for (const status of [204, 301, 302, 404]) assert.strictEqual(read(JSON.stringify(proof), status), "absent")
    const odd = ["", "null", "[]", "42", "<html>", JSON.stringify([proof]), JSON.stringify(proof).slice(0, -1)]
    for (const text of odd) assert.strictEqual(read(text), "unreadable", text)
    assert.strictEqual(read(JSON.stringify({ merchant_id: 42 })), "unreadable")
    assert.strictEqual(read(`{"merchant_id":4.2e1,"pay_host":"pay.example"}`), "proved")
    assert.strictEqual(read(`{"merchant_id":42.5,"pay_host":"pay.example"}`), "unreadable")
  })
})

describe("the records", () => {
  it("prove the domain by one of several, so that merchants can share it", () => {
    const mine = "merchant_id=42 pay_host=pay.example"
    assert.strictEqual(findingOfRecords(claim, ["v=spf1 -all", "merchant_id=7; pay_host=pay.example", mine]), "proved")
    assert.strictEqual(findingOfRecords(claim, ["pay_host=pay.example;merchant_id=42"]), "proved")
    assert.strictEqual(findingOfRecords(claim, ["merchant_id=7 pay_host=pay.example"]), "other_merchant")
    assert.strictEqual(findingOfRecords(claim, ["merchant_id=42"]), "other_host")
    assert.strictEqual(findingOfRecords(claim, ["merchant_id=42 pay_host=other.example"]), "other_host")
    assert.strictEqual(findingOfRecords(claim, ["xmerchant_id=42 pay_host=pay.example", "", mine.slice(1)]), "absent")
    assert.strictEqual(findingOfRecords(claim, []), "absent")
  })
})

describe("a verified domain", () => {
  const after = (
    state: DomainState,
    file: DomainFindings["file"],
    now: number,
    dns: DomainFindings["dns"] = "absent"
  ) => domainAfter(state, { file, dns }, now)
  const verified = after(domainAfterRename(null, 1_000), "proved", 1_000)

  it("is asked every day, and is verified by either way", () => {
    assert.deepInclude(verified, { verifiedAt: 1_000, failures: 0, dueAt: 1_000 + day })
    assert.strictEqual(after(verified, "other_merchant", 2_000, "proved").verifiedAt, 2_000)
    assert.strictEqual(after(verified, "unreachable", 2_000, "proved").verifiedAt, 2_000)
  })

  it("is so no longer, at once, where it names somebody else", () => {
    assert.isNull(after(verified, "other_merchant", 1_100).verifiedAt)
    assert.isNull(after(verified, "other_host", 1_100).verifiedAt)
    assert.isNull(after(verified, "absent", 1_100, "other_merchant").verifiedAt)
  })

  it("stays so while the way that proved it does not answer, whomever the other way names", () => {
    const byRecord = after(verified, "other_merchant", 1_100, "proved")
    assert.strictEqual(after(byRecord, "other_merchant", 1_200, "unreachable").verifiedAt, 1_100)
    assert.isNull(after(byRecord, "other_merchant", 1_200, "absent").verifiedAt)
    assert.isNull(after(verified, "other_merchant", 1_200, "unreachable").verifiedAt)
  })

  it("stays so for three days while it says nothing, and not a second longer", () => {
    let [state, now] = [verified, verified.dueAt!]
    const times: Array<number> = []
    while (state.verifiedAt !== null) {
      state = after(state, "unreachable", now)
      times.push(now)
      now = state.dueAt!
    }
    assert.strictEqual(times.at(-1), 1_000 + 3 * day)
    assert.isBelow(times.length, 9)
    assert.strictEqual(after(state, "proved", now).verifiedAt, now)
  })

  it("is asked again when it is saved again, but not more than once a minute", () => {
    assert.strictEqual(domainAfterSave(verified, 1_010).dueAt, 1_060)
    assert.strictEqual(domainAfterSave(verified, 5_000).dueAt, 5_000)
    assert.strictEqual(domainAfterSave(verified, 5_000).verifiedAt, 1_000)
  })

  it("hands its minute on to the next name, also to the third, and through a time without one", () => {
    const [second, third] = [
      domainAfterRename(verified, 1_010),
      domainAfterRename(domainAfterRename(verified, 1_010), 1_020)
    ]
    assert.deepInclude(second, { verifiedAt: null, checkedAt: null, dueAt: 1_060 })
    assert.deepInclude(third, { verifiedAt: null, checkedAt: null, dueAt: 1_060 })
    const none = domainAfterRemoval(verified)
    assert.deepInclude(none, { verifiedAt: null, dueAt: null })
    assert.strictEqual(domainAfterRename(none, 1_010).dueAt, 1_060)
    assert.strictEqual(domainAfterRename(none, 5_000).dueAt, 5_000)
    assert.isNull(domainAfterRemoval(null))
  })
})

/** An instance whose web is `pages` and `records`, with two merchants. */
const deployment = Effect.gen(function*() {
  const instance = yield* limitsInstance(yield* migratedDatabase, new Map())
  const pages = new Map<string, string>()
  const records = new Map<string, ReadonlyArray<string>>()
  /** Pages that are answered when the test says so. */
  const late = new Map<string, Deferred.Deferred<string>>()
  const asked: Array<string> = []
  yield* Context.get(instance, PublicWeb).register({
    page: (url) =>
      Effect.suspend(() => {
        asked.push(url)
        const waiting = late.get(url)
        if (waiting !== undefined) return Effect.map(Deferred.await(waiting), (text) => ({ status: 200, text }))
        const text = pages.get(url)
        return text === undefined
          ? Effect.fail(new WebReadFailed({ isRefused: false }))
          : Effect.succeed({ status: 200, text })
      }),
    textRecords: (name) => Effect.sync(() => records.get(name) ?? [])
  })
  const sql = Context.get(instance, SqlClient.SqlClient)
  const merchant = Effect.map(
    Context.get(instance, Keys).createMerchant("Shop", "owner@shop.example"),
    ({ id }) => {
      const call = (method: string, body?: object) =>
        Effect.map(
          Context.get(instance, Api).call("/api/v1/merchant/settings", {
            method,
            headers: { authorization: `Bearer owner0.owner.${id}` },
            ...(body === undefined ? {} : { body })
          }),
          ({ json }) => json
        )
      const read = call("GET")
      return {
        id,
        read,
        name: (domain: string | null) => call("PATCH", { branding: { domain } }),
        change: (body: object) => call("PATCH", body),
        /** The settings once a check has ended that was not there before. */
        checked: (isThere: (settings: any) => boolean) => until("a check", read, isThere),
        actions: Effect.map(
          Context.get(instance, Api).call("/api/v1/audit-log", {
            headers: { authorization: `Bearer owner0.owner.${id}` }
          }),
          ({ json }) => json.data.data.map(({ action }: any) => action)
        )
      }
    }
  )
  /** Whatever is known of domains is so many seconds older, and is looked at. */
  const age = (seconds: number) =>
    sql`UPDATE merchant_settings SET domain_due_at = domain_due_at - ${seconds}::bigint, domain_state = (
      SELECT json_object_agg(key, CASE WHEN key IN ('verifiedAt', 'checkedAt', 'dueAt') AND value <> 'null'
        THEN to_jsonb(value::text::bigint - ${seconds}::bigint) ELSE value END)
      FROM jsonb_each(domain_state::jsonb)) WHERE domain_state IS NOT NULL`.pipe(
      Effect.andThen(Context.get(instance, Timers).wake("settings-domains")),
      Effect.orDie
    )
  return { age, asked, instance, late, merchant, pages, records, sql }
})

const fileUrl = "https://shop.example/.well-known/tillwire.json"

describe("a merchant's domain", () => {
  it.live("is asked when it is named, verified by its own words, and shown to payors only while it is", () =>
    Effect.gen(function*() {
      const { age, asked, instance, merchant, pages } = yield* deployment
      const shop = yield* merchant
      const named = yield* shop.name("shop.example")
      assert.deepInclude(named.branding, { domain: "shop.example", domain_verified_at: null })
      assert.deepInclude(named.domain_check, {
        file_url: fileUrl,
        file: { merchant_id: shop.id, pay_host: "till.test" },
        dns_name: "_tillwire.shop.example",
        dns_value: `merchant_id=${shop.id} pay_host=till.test`,
        checked_at: null,
        file_result: null,
        dns_result: null
      })
      const failed = yield* shop.checked(({ domain_check }) => domain_check.checked_at !== null)
      assert.deepInclude(failed.domain_check, { file_result: "unreachable", dns_result: "absent" })
      assert.deepInclude(brandingBody(failed.branding), { domain: null, domain_verified_at: null })

      pages.set(fileUrl, JSON.stringify({ merchant_id: shop.id, pay_host: "till.test" }))
      yield* shop.change({ late_window_seconds: 5 })
      assert.lengthOf(asked, 1, "what else is saved has no domain asked")
      yield* age(60)
      const proved = yield* shop.checked(({ branding }) => branding.domain_verified_at !== null)
      assert.deepInclude(proved.domain_check, { file_result: "proved", checked_at: proved.branding.domain_verified_at })
      yield* until(
        "the settings as the payment page reads them",
        Context.get(instance, MerchantSettings).get(shop.id, "mainnet"),
        (settings) => settings.branding.domain_verified_at === proved.branding.domain_verified_at
      )
      assert.deepInclude(brandingBody(proved.branding), {
        domain: "shop.example",
        domain_verified_at: proved.branding.domain_verified_at
      })

      pages.set(fileUrl, JSON.stringify({ merchant_id: shop.id + 1, pay_host: "till.test" }))
      yield* age(day)
      const lost = yield* shop.checked(({ branding }) => branding.domain_verified_at === null)
      assert.strictEqual(lost.domain_check.file_result, "other_merchant")
      assert.deepStrictEqual(yield* shop.actions, [
        "settings.unverify_domain",
        "settings.verify_domain",
        "settings.update",
        "settings.update"
      ])
    }))

  it.live("is verified for whom it names, and for no other tenant that names it", () =>
    Effect.gen(function*() {
      const { age, merchant, pages, records } = yield* deployment
      const shop = yield* merchant
      const thief = yield* merchant
      pages.set(fileUrl, JSON.stringify({ merchant_id: shop.id, pay_host: "till.test" }))
      yield* thief.name("shop.example")
      yield* shop.name("shop.example")
      yield* shop.checked(({ branding }) => branding.domain_verified_at !== null)
      const stolen = yield* thief.checked(({ domain_check }) => domain_check.checked_at !== null)
      assert.isNull(stolen.branding.domain_verified_at)
      assert.strictEqual(stolen.domain_check.file_result, "other_merchant")
      // Both are asked for, and each has a record: the domain vouches for both.
      records.set("_tillwire.shop.example", [`merchant_id=${thief.id} pay_host=till.test`])
      yield* age(60)
      yield* thief.checked(({ branding }) => branding.domain_verified_at !== null)
    }))

  it.live("begins anew under another name, and is gone with it", () =>
    Effect.gen(function*() {
      const { age, asked, merchant, pages, sql } = yield* deployment
      const shop = yield* merchant
      pages.set(fileUrl, JSON.stringify({ merchant_id: shop.id, pay_host: "till.test" }))
      yield* shop.name("shop.example")
      const first = yield* shop.checked(({ branding }) => branding.domain_verified_at !== null)
      const other = yield* shop.name("xn--pple-43d.example")
      assert.isNull(other.branding.domain_verified_at)
      assert.isNull(other.domain_check.checked_at)
      assert.strictEqual(other.domain_check.next_check_at, first.domain_check.checked_at + 60)
      yield* age(60)
      yield* shop.checked(({ domain_check }) => domain_check.checked_at !== null)
      const gone = yield* shop.name(null)
      assert.deepInclude(gone, { domain_check: null })
      assert.isNull(gone.branding.domain_verified_at)
      const back = yield* shop.name("shop.example")
      assert.isNull(back.branding.domain_verified_at, "nothing is kept of a name that was given up")
      yield* shop.change({ branding: null })
      const [row] = yield* sql`SELECT domain_state, domain_due_at FROM merchant_settings WHERE merchant_id = ${shop.id}`
      assert.deepInclude(row, { domain_due_at: null })
      assert.deepInclude(row!["domain_state"], {
        verifiedAt: null,
        checkedAt: null,
        file: null,
        dns: null,
        dueAt: null
      })
      assert.isBelow(asked.length, 4)
    }))

  it.live("is not verified by the late answer of a name that the merchant had before", () =>
    Effect.gen(function*() {
      const { asked, late, merchant } = yield* deployment
      const shop = yield* merchant
      late.set("https://slow.example/.well-known/tillwire.json", yield* Deferred.make<string>())
      yield* shop.name("slow.example")
      yield* until("the question", Effect.sync(() => asked.length), (count) => count === 1)
      yield* shop.name("shop.example")
      for (const answer of late.values()) {
        yield* Deferred.succeed(answer, JSON.stringify({ merchant_id: shop.id, pay_host: "till.test" }))
      }
      const checked = yield* shop.checked(({ domain_check }) => domain_check.checked_at !== null)
      assert.deepInclude(checked.domain_check, { file_url: fileUrl, file_result: "unreachable" })
      assert.isNull(checked.branding.domain_verified_at)
    }))
})
