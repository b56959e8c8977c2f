/**
 * Goal: somebody's language and time zone are theirs alone, and the same at every merchant. Method: calls of sessions,
 * wallets and keys through the API of one instance.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TeamContacts, TeamSessions } from "../../../modules/team/plugin.ts"
import { LocalCalls } from "../../../runtime/LocalCalls.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { Api } from "../../support/Api.ts"
import {
  codeAs,
  codeOf,
  dataAs,
  instance,
  linkWallet,
  newAddress,
  newColleague,
  newMerchant,
  signInByLink,
  walletToken
} from "./Deployment.ts"

layer(instance(["devnet"]))("a person", (it) => {
  it.effect("chooses a language and a time zone, which hold in all its sessions at once", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const other = yield* signInByLink(merchant)
      const before = yield* dataAs(owner.session, merchant, "GET", "/team/me")
      assert.deepInclude(before, { object: "person", id: owner.session.person, language: null, time_zone: null })

      const choices = { language: "ar", time_zone: "Asia/Riyadh" }
      assert.deepInclude(yield* dataAs(owner.session, merchant, "PATCH", "/team/me", choices), choices)
      const { find } = yield* TeamSessions
      for (const { readToken } of [owner, other]) {
        assert.deepInclude(yield* find(readToken), { language: "ar", timeZone: "Asia/Riyadh" })
      }

      const later = yield* dataAs(owner.session, merchant, "PATCH", "/team/me", { language: null })
      assert.deepInclude(later, { language: null, time_zone: "Asia/Riyadh" })
      assert.deepStrictEqual(yield* dataAs(owner.session, merchant, "GET", "/team/me"), later)

      // A choice that changes nothing is no entry.
      yield* dataAs(owner.session, merchant, "PATCH", "/team/me", { time_zone: "Asia/Riyadh" })
      const { data: entries } = yield* dataAs(owner.session, merchant, "GET", "/audit-log?limit=100")
      assert.deepStrictEqual(
        entries.filter(({ action }: any) => action === "person.update").map((
          { before, after }: any
        ) => [before, after]),
        [
          [
            { language: "ar", time_zone: "Asia/Riyadh", notices: "mainnet" },
            { language: null, time_zone: "Asia/Riyadh", notices: "mainnet" }
          ],
          [{ language: null, time_zone: null, notices: "mainnet" }, { ...choices, notices: "mainnet" }]
        ]
      )
    }))

  it.effect("is told by mail of what its role lets it act on, where it works now and where it wants to be told", () =>
    Effect.gen(function*() {
      const [merchant, stranger] = [yield* newMerchant, yield* newMerchant]
      const owner = yield* signInByLink(merchant)
      yield* signInByLink(stranger)
      const told = Effect.fnUntraced(
        function*(right: "exceptions:resolve" | "webhooks:write", environment: Environment) {
          const contacts = yield* (yield* TeamContacts).find(merchant, right, environment)
          return contacts.map(({ email }) => email.split("@")[0])
        }
      )
      const members = new Map<string, string>()
      for (const role of ["admin", "developer", "support", "viewer"]) {
        const colleague = yield* newColleague(owner.session, merchant, role, `${role}@shop.example`)
        members.set(role, colleague.member)
        if (role === "developer") {
          const choices = { language: "fr", notices: "all" }
          assert.deepInclude(yield* dataAs(colleague.session, merchant, "PATCH", "/team/me", choices), choices)
          // The same mailbox again gets one message.
          yield* newColleague(owner.session, merchant, "developer", "Developer@shop.example")
        }
      }
      assert.deepStrictEqual(yield* told("exceptions:resolve", "mainnet"), ["owner", "admin", "support"])
      assert.deepStrictEqual(yield* told("webhooks:write", "mainnet"), ["owner", "admin", "developer"])
      assert.deepStrictEqual(yield* told("webhooks:write", "devnet"), ["developer"])
      yield* dataAs(owner.session, merchant, "PATCH", "/team/me", { notices: "none" })
      yield* dataAs(owner.session, merchant, "DELETE", `/team/members/${members.get("admin")}`)
      assert.deepStrictEqual(yield* told("exceptions:resolve", "mainnet"), ["support"])
      assert.strictEqual(
        yield* codeAs(owner.session, merchant, "PATCH", "/team/me", { notices: "some" }),
        "400 VALIDATION_ERROR"
      )
      const others = yield* (yield* TeamContacts).find(stranger, "webhooks:write", "mainnet")
      assert.deepStrictEqual(others, [{ email: "owner@shop.example", language: null }])
    }))

  it.effect("is refused a language that no page has, and a time zone that is none", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { session } = yield* signInByLink(merchant)
      const bodies = [
        { language: "tlh" },
        { language: "DE" },
        { language: "" },
        { time_zone: "Mars/Olympus" },
        { time_zone: "+01:00" },
        { time_zone: "" },
        { time_zone: `Europe/${"B".repeat(40)}` },
        { time_zone: 1 }
      ]
      for (const body of bodies) {
        assert.strictEqual(
          yield* codeAs(session, merchant, "PATCH", "/team/me", body),
          "400 VALIDATION_ERROR",
          JSON.stringify(body)
        )
      }
      for (const zone of ["UTC", "Asia/Kolkata", "Europe/Kyiv", "America/Argentina/Buenos_Aires", "Etc/GMT+1"]) {
        const after = yield* dataAs(session, merchant, "PATCH", "/team/me", { time_zone: zone })
        assert.strictEqual(after.time_zone, zone)
      }
    }))

  it.effect("chooses for itself alone, the same at all its merchants, also while it makes recovery codes", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const viewer = yield* newColleague(owner.session, merchant, "viewer", "ines@shop.example")
      const elsewhere = yield* newMerchant
      yield* signInByLink(elsewhere)
      assert.strictEqual(yield* codeAs(owner.session, elsewhere, "PATCH", "/team/me", { language: "fr" }), "0")
      const codes = yield* Effect.all([
        codeAs(viewer.session, merchant, "PATCH", "/team/me", { language: "ja" }),
        codeAs(viewer.session, merchant, "PATCH", "/team/me", { time_zone: "Asia/Tokyo" }),
        codeAs(viewer.session, merchant, "POST", "/team/recovery-codes")
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(codes, ["200", "200", "200"])
      assert.deepInclude(yield* dataAs(viewer.session, merchant, "GET", "/team/me"), {
        name: "A viewer",
        email: "ines@shop.example",
        language: "ja",
        time_zone: "Asia/Tokyo"
      })
      const mine = yield* dataAs(owner.session, merchant, "GET", "/team/me")
      assert.deepInclude(mine, { language: null, time_zone: null })
    }))

  it.effect("is answered the same again for a call that is sent twice", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { session } = yield* signInByLink(merchant)
      const grant = yield* (yield* TeamSessions).grantOf(session, merchant)
      const { call } = yield* LocalCalls
      const idempotencyKey = randomUUID()
      const choose = (language: string) =>
        call(grant!, { method: "PATCH", path: "/api/v1/team/me", body: { language }, idempotencyKey })
      const first = yield* choose("es")
      yield* dataAs(session, merchant, "PATCH", "/team/me", { language: "fr" })
      assert.deepStrictEqual((yield* choose("es")).body, first.body)
      assert.strictEqual((yield* dataAs(session, merchant, "GET", "/team/me")).language, "fr")
      assert.strictEqual((yield* choose("de")).status, 422)
    }))

  it.effect("may be a wallet of the API, and is never an API key", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const merchant = yield* newMerchant
      const { session } = yield* signInByLink(merchant)
      const address = newAddress()
      yield* linkWallet(session, merchant, address)
      const bearer = { authorization: `Bearer ${yield* walletToken(address)}` }
      const changed = yield* call("/api/v1/team/me", { method: "PATCH", headers: bearer, body: { language: "de" } })
      assert.deepInclude(changed.json.data, { id: session.person, language: "de" })
      const { key } = yield* dataAs(session, merchant, "POST", "/api-keys", { name: "shop", scope: "merchant" })
      for (const method of ["GET", "PATCH"] as const) {
        const answer = yield* call("/api/v1/team/me", {
          method,
          headers: { "x-api-key": key },
          ...(method === "GET" ? {} : { body: { language: "de" } })
        })
        assert.strictEqual(codeOf(answer), "403 CREDENTIAL_NOT_ALLOWED")
      }
    }))
})
