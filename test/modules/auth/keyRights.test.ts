/**
 * Goal: no call on keys gives anybody a right that they do not have, and a key outlives the membership of its maker
 * with no more rights than before. Method: people of one merchant in several roles call the API of one instance.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Keys } from "../../../modules/auth/actor.ts"
import { type TeamSession, TeamSessions } from "../../../modules/team/plugin.ts"
import { LocalCalls } from "../../../runtime/LocalCalls.ts"
import { Api } from "../../support/Api.ts"
import {
  callAs,
  codeAs,
  codeOf,
  dataAs,
  instance,
  newColleague,
  newMerchant,
  post,
  signInByLink
} from "../team/Deployment.ts"

const wanted = { name: "till", scope: "merchant", environment: "mainnet" } as const

/** A merchant whose owner, and members in other roles, have waited their day after signing in. */
const newTeam = Effect.fnUntraced(function*(...roles: ReadonlyArray<string>) {
  const merchant = yield* newMerchant
  const owner = yield* signInByLink(merchant)
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE team_sessions SET money_from = 0`
  const colleagues = yield* Effect.forEach(roles, (role) => newColleague(owner.session, merchant, role))
  yield* sql`UPDATE team_sessions SET money_from = 0`
  yield* sql`UPDATE members SET money_from = 0`
  return { merchant, owner, colleagues }
})

const makeKey = (session: TeamSession, merchant: number, more: object = {}) =>
  dataAs(session, merchant, "POST", "/api-keys", { ...wanted, ...more })

const rotation = (session: TeamSession, merchant: number, id: string, environment = "mainnet") =>
  callAs(session, merchant, "POST", `/api-keys/${id}/rotate?environment=${environment}`, {})

/** What a key is answered where only an owner may: `CREDENTIAL_NOT_ALLOWED` where its rights would be enough. */
const ownersCall = (key: string) =>
  Effect.map(post("/api/v1/team/invitations", { role: "viewer" }, { "x-api-key": key }), codeOf)

const hasOwnersRights = "403 CREDENTIAL_NOT_ALLOWED"
const lacksOwnersRights = "403 PERMISSION_DENIED"

/** What a key is answered where any developer may. */
const developersCall = (key: string) =>
  Effect.map(
    Effect.flatMap(Api, (api) => api.call("/api/v1/api-keys", { headers: { "x-api-key": key } })),
    codeOf
  )

layer(instance(["mainnet", "devnet"]))("a key", (it) => {
  it.effect("is rotated by nobody who has fewer rights than it, and stays as it is", () =>
    Effect.gen(function*() {
      const { colleagues: [developer], merchant, owner } = yield* newTeam("developer")
      const key = yield* makeKey(owner.session, merchant)
      const refused = yield* rotation(developer!.session, merchant, key.id)
      assert.deepStrictEqual([refused.status, refused.body.error.code], [403, "PERMISSION_DENIED"])
      assert.includeMembers(refused.body.error.details.rights, ["refunds:create", "wallets:write"])
      assert.match(refused.body.error.message, /revoke it and make another/)
      assert.strictEqual(yield* developersCall(key.key), "200")

      const own = yield* makeKey(developer!.session, merchant)
      assert.strictEqual((yield* rotation(developer!.session, merchant, own.id)).status, 200)
      const others = yield* makeKey(developer!.session, merchant)
      assert.strictEqual((yield* rotation(owner.session, merchant, others.id)).status, 200)
    }))

  it.effect("that the operator made is rotated by owners and by itself", () =>
    Effect.gen(function*() {
      const { colleagues: [developer], merchant, owner } = yield* newTeam("developer")
      const keys = yield* Keys
      const make = keys.create({ ...wanted, merchantId: merchant, environment: "devnet", expiresAt: null })
      const key = yield* make
      assert.strictEqual((yield* rotation(developer!.session, merchant, key.state.id, "devnet")).status, 403)
      const byItself = yield* post(`/api/v1/api-keys/${key.state.id}/rotate`, {}, { "x-api-key": key.key })
      assert.strictEqual(byItself.status, 200)
      assert.strictEqual((yield* rotation(owner.session, merchant, (yield* make).state.id, "devnet")).status, 200)
    }))

  it.effect("is rotated by no key that has fewer permissions", () =>
    Effect.gen(function*() {
      const { colleagues: [developer], merchant, owner } = yield* newTeam("developer")
      const all = yield* makeKey(owner.session, merchant)
      const writer = yield* makeKey(owner.session, merchant, { permissions: ["read", "write"] })
      const refused = yield* post(`/api/v1/api-keys/${all.id}/rotate`, {}, { "x-api-key": writer.key })
      assert.strictEqual(codeOf(refused), "403 PERMISSION_DENIED")
      assert.deepStrictEqual(refused.json.error.details.permissions, ["refund"])
      const same = yield* makeKey(owner.session, merchant, { permissions: ["read", "write"] })
      const rotated = yield* post(`/api/v1/api-keys/${same.id}/rotate`, {}, { "x-api-key": writer.key })
      assert.strictEqual(rotated.status, 200)
      // A developer's key cannot refund now; it could as soon as its maker may.
      const later = yield* makeKey(developer!.session, merchant)
      const early = yield* post(`/api/v1/api-keys/${later.id}/rotate`, {}, { "x-api-key": writer.key })
      assert.strictEqual(codeOf(early), "403 PERMISSION_DENIED")
    }))

  it.effect("is told again only to the credential that made it, whoever knows the idempotency key", () =>
    Effect.gen(function*() {
      const { colleagues: [developer], merchant, owner } = yield* newTeam("developer")
      const { call } = yield* LocalCalls
      const { grantOf } = yield* TeamSessions
      const callers = {
        owner: (yield* grantOf(owner.session, merchant))!,
        developer: (yield* grantOf(developer!.session, merchant))!
      }
      const send = (who: keyof typeof callers, path: `/api/${string}`, body: any) =>
        Effect.map(
          call(callers[who], { method: "POST", path, body, idempotencyKey: "once" }),
          ({ body }: { readonly body: any }) => body
        )
      const made = yield* send("owner", "/api/v1/api-keys", wanted)
      assert.deepStrictEqual(yield* send("owner", "/api/v1/api-keys", wanted), made)
      const own = yield* send("developer", "/api/v1/api-keys", wanted)
      assert.notStrictEqual(own.data.key, made.data.key)
      const path = `/api/v1/api-keys/${made.data.id}/rotate?environment=mainnet` as const
      const rotated = yield* send("owner", path, {})
      assert.deepStrictEqual(yield* send("owner", path, {}), rotated)
      assert.strictEqual((yield* send("developer", path, {})).error.code, "PERMISSION_DENIED")
    }))

  it.effect("that somebody rotated for a colleague never has more than who rotated it had", () =>
    Effect.gen(function*() {
      const { colleagues: [admin, developer], merchant } = yield* newTeam("admin", "developer")
      const key = yield* makeKey(developer!.session, merchant)
      const own = yield* makeKey(developer!.session, merchant)
      const rotated = (yield* rotation(admin!.session, merchant, key.id)).body.data
      // By hand: beside an admin an owner waits a day before making another one.
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE members SET role = 'owner' WHERE id = ${developer!.member}`
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* ownersCall(own.key), hasOwnersRights)
      assert.strictEqual(yield* ownersCall(rotated.key), lacksOwnersRights)
      assert.strictEqual(yield* developersCall(rotated.key), "200")
    }))

  it.effect("is let in longer or from elsewhere by nobody who has fewer rights than it, and is revoked all the same", () =>
    Effect.gen(function*() {
      const { colleagues: [developer], merchant, owner } = yield* newTeam("developer")
      const key = yield* makeKey(owner.session, merchant, { ip_allowlist: ["203.0.113.7"] })
      const path = `/api-keys/${key.id}?environment=mainnet`
      const change = (body: object) => codeAs(developer!.session, merchant, "PATCH", path, body)
      assert.strictEqual(yield* change({ ip_allowlist: [] }), "403 PERMISSION_DENIED")
      assert.strictEqual(yield* change({ expires_at: null }), "403 PERMISSION_DENIED")
      assert.strictEqual(yield* change({ name: "Till 2" }), "200")
      assert.strictEqual(yield* codeAs(owner.session, merchant, "PATCH", path, { ip_allowlist: [] }), "200")
      assert.strictEqual(yield* codeAs(developer!.session, merchant, "DELETE", path), "200")
    }))

  it.effect("of a removed member keeps the limits of its role, and gives them to the keys made or rotated with it", () =>
    Effect.gen(function*() {
      const { colleagues: [developer], merchant, owner } = yield* newTeam("developer")
      const key = yield* makeKey(developer!.session, merchant)
      yield* dataAs(owner.session, merchant, "DELETE", `/team/members/${developer!.member}`)
      yield* TestClock.adjust("5 seconds")
      const headers = { "x-api-key": key.key }
      const made = (yield* post("/api/v1/api-keys", wanted, headers)).json.data
      const rotated = (yield* rotation(owner.session, merchant, made.id)).body.data
      for (const one of [key, made, rotated]) {
        assert.strictEqual(yield* developersCall(one.key), "200")
        assert.strictEqual(yield* ownersCall(one.key), lacksOwnersRights)
      }
      const { data: [entry] } = yield* dataAs(
        owner.session,
        merchant,
        "GET",
        "/audit-log?action=key.reassign&environment=mainnet"
      )
      assert.deepStrictEqual([entry.before, entry.after], [
        { maker_person: developer!.session.person, role_limits: [] },
        { maker_person: "owner", role_limits: ["developer"] }
      ])
    }))

  it.effect("of a member who leaves goes on as another owner's", () =>
    Effect.gen(function*() {
      const { colleagues: [second], merchant, owner } = yield* newTeam("owner")
      const key = yield* makeKey(second!.session, merchant)
      yield* dataAs(second!.session, merchant, "DELETE", `/team/members/${second!.member}`)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* ownersCall(key.key), hasOwnersRights)
      const { data: [entry] } = yield* dataAs(
        owner.session,
        merchant,
        "GET",
        "/audit-log?action=key.reassign&environment=mainnet"
      )
      assert.deepStrictEqual([entry.subject.id, entry.after.maker_person], [key.id, "owner"])
    }))

  it.effect("of the first owner, who leaves, goes on as the other owner's", () =>
    Effect.gen(function*() {
      const { merchant, owner } = yield* newTeam("owner")
      const key = yield* makeKey(owner.session, merchant)
      const { data: members } = yield* dataAs(owner.session, merchant, "GET", "/team/members")
      const first = members.find(({ is_first_owner }: any) => is_first_owner)
      yield* dataAs(owner.session, merchant, "DELETE", `/team/members/${first.id}`)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* ownersCall(key.key), hasOwnersRights)
    }))
})
