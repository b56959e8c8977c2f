/**
 * Goal: everybody does what the role allows and no more, at once when it changes; an owner remains; who is removed has
 * nothing left. Method: calls of sessions, wallets and keys through the API of one instance, and of two over one
 * database.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { TeamSessions, TeamSignIn } from "../../../modules/team/plugin.ts"
import { Team } from "../../../modules/team/service.ts"
import { Credentials, revocableAs, Revocations } from "../../../runtime/Http.ts"
import { keyWithAuthority } from "../../../runtime/Rights.ts"
import { LocalCalls } from "../../../runtime/LocalCalls.ts"
import { Members } from "../../../runtime/Members.ts"
import { Api } from "../../support/Api.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { together } from "../../support/Together.ts"
import {
  callAs,
  codeAs,
  codeOf,
  dataAs,
  instance,
  linkWallet,
  newAddress,
  newColleague,
  newMerchant,
  post,
  signInByLink,
  start,
  tokenOf,
  walletToken
} from "./Deployment.ts"

const rolesOf = (merchant: number) =>
  Effect.flatMap(
    Members,
    ({ list }) => Effect.map(list(merchant), (members) => members.map(({ role }) => role).toSorted())
  )

/** The day of waiting of a merchant's people is over. */
const endWaits = Effect.fnUntraced(function*(merchant: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE members SET money_from = 0 WHERE merchant_id = ${merchant}`
  yield* sql`UPDATE team_sessions SET money_from = 0
    WHERE person IN (SELECT person FROM members WHERE merchant_id = ${merchant})`
})

const outcome = <A>(attempt: Effect.Effect<A, { readonly code: string }, never>) =>
  Effect.match(attempt, { onFailure: ({ code }) => code, onSuccess: () => "done" })

layer(instance(["devnet"]))("a team", (it) => {
  it.effect("is one owner until somebody joins, and that one stays the same when it does", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { find } = yield* Members
      assert.deepInclude(yield* find(merchant, null), { person: "owner", role: "owner" })
      assert.isNull(yield* find(merchant, "per_nobody"))
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "support", "ines@shop.example")
      assert.deepInclude(yield* find(merchant, null), { person: "owner", role: "owner" })
      assert.deepInclude(yield* find(merchant, colleague.session.person), {
        person: colleague.session.person,
        role: "support"
      })
      assert.deepStrictEqual(yield* rolesOf(merchant), ["owner", "support"])
    }))

  it.effect("is invited by an e-mail address or refused one that is none, by the name of its field", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const wrong = [
        "",
        "ines",
        "@shop.example",
        "ines@",
        "ines@a@shop.example",
        "ines@shop.example\r\nbcc: all@shop.example",
        "ines\u0000@shop.example",
        "ines@shop\ud800.example",
        "\u202eines@shop.example",
        "ines\u0007@shop.example",
        "<img src=x>@shop.example",
        "\"ines\"@shop.example",
        `${"i".repeat(65)}@shop.example`,
        `ines@${"s".repeat(250)}.example`,
        7,
        ["ines@shop.example"]
      ]
      const taken: Array<string> = []
      for (const email of wrong) {
        const { body, status } = yield* callAs(owner.session, merchant, "POST", "/team/invitations", {
          role: "viewer",
          email
        })
        const refusal = `${status} ${body.error?.code} ${body.error?.param}`
        // What no text of the database can be is refused before any field is read, and names none.
        const named = /[\0\ud800]/.test(String(email)) ? "null" : "email"
        if (refusal !== `400 VALIDATION_ERROR ${named}`) taken.push(`${JSON.stringify(email)}: ${refusal}`)
      }
      assert.deepStrictEqual(taken, [])
      const { data } = yield* dataAs(owner.session, merchant, "GET", "/team/invitations")
      assert.deepStrictEqual(data, [], "and none is made")
    }))

  it.effect("is invited by links for one use, which end when they are revoked or their maker is no owner any more", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const { accept } = yield* TeamSignIn
      const invite = (role: string) =>
        Effect.map(dataAs(owner.session, merchant, "POST", "/team/invitations", { role }), ({ id, url }) => ({
          id,
          token: tokenOf(url)
        }))
      const used = yield* invite("admin")
      const answer = yield* post("/api/v1/team/invitations/accept", { token: used.token, name: "Ines" })
      assert.strictEqual(answer.status, 200)
      assert.deepInclude(answer.json.data.member, { name: "Ines", role: "admin" })
      const opened = yield* (yield* TeamSignIn).byLink(tokenOf(answer.json.data.sign_in_url))
      assert.strictEqual(opened.session.name, "Ines")
      const again = yield* post("/api/v1/team/invitations/accept", { token: used.token, name: "Mallory" })
      assert.strictEqual(codeOf(again), "401 TOKEN_INVALID")

      const revoked = yield* invite("owner")
      const path = `/team/invitations/${revoked.id}`
      assert.strictEqual(yield* codeAs(owner.session, merchant, "DELETE", path), "200")
      assert.strictEqual(yield* codeAs(owner.session, merchant, "DELETE", path), "200")
      assert.strictEqual(yield* outcome(accept(revoked.token, { name: "Mallory" })), "TOKEN_INVALID")

      const second = yield* newColleague(owner.session, merchant, "owner")
      const left = yield* invite("owner")
      const { data: members } = yield* dataAs(second.session, merchant, "GET", "/team/members")
      const first = members.find(({ is_first_owner }: any) => is_first_owner)
      yield* dataAs(second.session, merchant, "PATCH", `/team/members/${first.id}`, { role: "viewer" })
      assert.strictEqual(yield* outcome(accept(left.token, { name: "Mallory" })), "TOKEN_INVALID")
      const { data: shown } = yield* dataAs(second.session, merchant, "GET", "/team/invitations")
      assert.deepStrictEqual(shown.map(({ status }: any) => status), ["open", "accepted", "revoked", "accepted"])
    }))

  it.effect("takes a person of another merchant as the same person", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newMerchant, yield* newMerchant]
      const first = yield* signInByLink(one)
      const second = yield* signInByLink(two)
      const { url } = yield* dataAs(second.session, two, "POST", "/team/invitations", { role: "accountant" })
      const accepted = yield* (yield* TeamSignIn).accept(tokenOf(url), { session: first.session })
      assert.isNull(accepted.link)
      assert.deepStrictEqual(
        (yield* (yield* TeamSessions).memberships(first.session.person)).map(({ merchantId, role }) => [
          merchantId,
          role
        ]),
        [[one, "owner"], [two, "accountant"]]
      )
      assert.strictEqual(yield* codeAs(first.session, two, "GET", "/audit-log"), "200")
      assert.strictEqual(yield* codeAs(first.session, two, "GET", "/team/members"), "403 PERMISSION_DENIED")
    }))

  it.effect("ends the sessions of whom it gives another role, and the new role holds at once", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "admin")
      assert.strictEqual(yield* codeAs(colleague.session, merchant, "GET", "/team/members"), "200")
      assert.strictEqual(
        yield* codeAs(colleague.session, merchant, "PATCH", `/team/members/${colleague.member}`, { role: "owner" }),
        "403 PERMISSION_DENIED"
      )
      yield* dataAs(owner.session, merchant, "PATCH", `/team/members/${colleague.member}`, { role: "viewer" })
      assert.isNull(yield* (yield* TeamSessions).find(colleague.readToken))
      assert.isNotNull(yield* (yield* TeamSessions).find(owner.readToken))
      const later = yield* signInByLink(merchant, colleague.member)
      assert.strictEqual(yield* codeAs(later.session, merchant, "GET", "/team/members"), "403 PERMISSION_DENIED")
    }))

  it.effect("ends of a person of several merchants what is open at this one, and nothing at the others", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newMerchant, yield* newMerchant]
      const first = yield* signInByLink(one)
      const owner = yield* signInByLink(two)
      const { url } = yield* dataAs(owner.session, two, "POST", "/team/invitations", { role: "admin" })
      const { view } = yield* (yield* TeamSignIn).accept(tokenOf(url), { session: first.session })
      const { find, grantOf } = yield* TeamSessions
      const openedAt = (merchant: number) =>
        Effect.map(grantOf(first.session, merchant), (grant) => revocableAs(grant!)!)
      const { isGood } = yield* Revocations
      const [atOne, asAdmin] = [yield* openedAt(one), yield* openedAt(two)]
      assert.deepStrictEqual([yield* isGood(atOne), yield* isGood(asAdmin)], [true, true])
      const path = `/team/members/${view.member.id}`
      yield* dataAs(owner.session, two, "PATCH", path, { role: "viewer" })
      assert.strictEqual(yield* codeAs(first.session, two, "GET", "/team/members"), "403 PERMISSION_DENIED")
      const asViewer = yield* openedAt(two)
      assert.deepStrictEqual([yield* isGood(asAdmin), yield* isGood(asViewer)], [false, true])
      yield* dataAs(owner.session, two, "DELETE", path)
      assert.isNull(yield* grantOf(first.session, two))
      assert.isFalse(yield* isGood(asViewer))
      assert.isNotNull(yield* find(first.readToken))
      assert.strictEqual(yield* codeAs(first.session, one, "GET", "/team/members"), "200")
      assert.isTrue(yield* isGood(atOne))
    }))

  it.effect("ends with a role what a wallet or a key has open that takes the role's rights", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "admin")
      const address = newAddress()
      yield* linkWallet(colleague.session, merchant, address)
      const token = (yield* walletToken(address))!
      const { verify, verifyBearer } = yield* Credentials
      const made = yield* dataAs(colleague.session, merchant, "POST", "/api-keys", {
        name: "Books",
        scope: "merchant"
      })
      const key = (yield* verify(made.key))!
      const wallet = revocableAs(yield* verifyBearer(token))!
      const asAdmin = keyWithAuthority(key.credential, key)
      const { isGood } = yield* Revocations
      const all = (ids: ReadonlyArray<string>) => Effect.forEach(ids, isGood)
      assert.deepStrictEqual(yield* all([wallet, asAdmin, key.credential]), [true, true, true])
      yield* dataAs(owner.session, merchant, "PATCH", `/team/members/${colleague.member}`, { role: "developer" })
      assert.deepStrictEqual(yield* all([wallet, asAdmin, key.credential]), [false, false, true])
      assert.isTrue(yield* isGood(keyWithAuthority(key.credential, { ...key, role: "developer" })))
    }))

  it.effect("keeps nothing for whom it removes: sessions, links, wallets and keys", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "developer")
      const address = newAddress()
      yield* linkWallet(colleague.session, merchant, address)
      const token = yield* walletToken(address)
      const whoAmI = (headers: Record<string, string>) =>
        post("/api/v1/api-keys", { name: "k", scope: "merchant" }, headers)
      assert.strictEqual(codeOf(yield* whoAmI({ authorization: `Bearer ${token}` })), "200")
      const key = yield* dataAs(colleague.session, merchant, "POST", "/api-keys", { name: "till", scope: "merchant" })
      const { url } = yield* (yield* Team).loginLink(merchant, colleague.member)
      yield* dataAs(owner.session, merchant, "DELETE", `/team/members/${colleague.member}`)
      yield* TestClock.adjust("5 seconds")

      assert.isNull(yield* (yield* TeamSessions).grantOf(colleague.session, merchant))
      assert.strictEqual(yield* outcome((yield* TeamSignIn).byLink(tokenOf(url))), "TOKEN_INVALID")
      assert.strictEqual(codeOf(yield* whoAmI({ authorization: `Bearer ${token}` })), "401 TOKEN_INVALID")
      assert.isNull(yield* (yield* Members).find(merchant, colleague.session.person))
      const { data: wallets } = yield* dataAs(owner.session, merchant, "GET", "/auth/wallets")
      assert.deepStrictEqual(wallets, [])
      assert.strictEqual(codeOf(yield* whoAmI({ "x-api-key": key.key })), "200")
      const { data: entries } = yield* dataAs(owner.session, merchant, "GET", "/audit-log?action=key.reassign")
      const passed = entries.filter(({ subject }: any) => subject.id === key.id)
      assert.deepStrictEqual(passed.map(({ after, before }: any) => [before, after]), [
        [{ maker_person: colleague.session.person, role_limits: [] }, {
          maker_person: "owner",
          role_limits: ["developer"]
        }]
      ])
      assert.strictEqual(
        yield* codeAs(owner.session, merchant, "DELETE", `/team/members/${colleague.member}`),
        "404 NOT_FOUND"
      )
    }))

  it.effect("refuses the wallets that named nobody when their first owner is removed", () =>
    Effect.gen(function*() {
      const address = newAddress()
      const { message } = (yield* post("/api/v1/auth/nonce", { address, network: "base" })).json.data
      assert.isString(message)
      const token = (yield* walletToken(address))!
      const call = (path: string, method = "GET", body?: any) =>
        Effect.flatMap(Api, (api) =>
          api.call(`/api/v1${path}`, {
            method,
            headers: { authorization: `Bearer ${token}`, "idempotency-key": randomUUID() },
            ...(body === undefined ? {} : { body })
          }))
      const invitation = yield* call("/team/invitations", "POST", { role: "owner" })
      assert.strictEqual(invitation.status, 200)
      const { view } = yield* (yield* TeamSignIn).accept(tokenOf(invitation.json.data.url), { name: "Second" })
      const merchant = view.member.merchantId
      const second = yield* signInByLink(merchant, view.member.id)
      const { data: members } = yield* dataAs(second.session, merchant, "GET", "/team/members")
      const first = members.find(({ is_first_owner }: any) => is_first_owner)
      yield* dataAs(second.session, merchant, "DELETE", `/team/members/${first.id}`)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(codeOf(yield* call("/team/members")), "401 TOKEN_INVALID")
      assert.deepStrictEqual((yield* dataAs(second.session, merchant, "GET", "/auth/wallets")).data, [])
      assert.isNull(yield* (yield* Members).find(merchant, "owner"))
      assert.deepStrictEqual(yield* rolesOf(merchant), ["owner"])
      assert.strictEqual(yield* outcome((yield* Team).loginLink(merchant, null)), "NOT_FOUND")
    }))

  it.effect("keeps its only owner, and is changed by no API key", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const { data: [member] } = yield* dataAs(owner.session, merchant, "GET", "/team/members")
      const path = `/team/members/${member.id}`
      assert.strictEqual(
        yield* codeAs(owner.session, merchant, "PATCH", path, { role: "admin" }),
        "409 INVALID_TRANSITION"
      )
      assert.strictEqual(yield* codeAs(owner.session, merchant, "DELETE", path), "409 INVALID_TRANSITION")
      const { key } = yield* dataAs(owner.session, merchant, "POST", "/api-keys", { name: "till", scope: "merchant" })
      const colleague = yield* newColleague(owner.session, merchant, "viewer")
      const { id } = yield* dataAs(owner.session, merchant, "POST", "/team/invitations", { role: "viewer" })
      const byKey = (method: string, route: string, body?: object) =>
        Effect.flatMap(Api, (api) =>
          api.call(`/api/v1/team${route}`, {
            method,
            headers: { "x-api-key": key, "idempotency-key": randomUUID() },
            ...(body === undefined ? {} : { body })
          }))
      const answers = [
        yield* byKey("POST", "/invitations", { role: "owner" }),
        yield* byKey("POST", `/invitations/${id}/approve`),
        yield* byKey("DELETE", `/invitations/${id}`),
        yield* byKey("PATCH", `/members/${colleague.member}`, { role: "owner" }),
        yield* byKey("DELETE", `/members/${colleague.member}`)
      ]
      assert.deepStrictEqual(answers.map(codeOf), answers.map(() => "403 CREDENTIAL_NOT_ALLOWED"))
      assert.deepStrictEqual(yield* rolesOf(merchant), ["owner", "viewer"])
      const other = yield* signInByLink(yield* newMerchant)
      assert.strictEqual((yield* callAs(other.session, merchant, "GET", "/team/members")).status, 0)
    }))

  it.effect("answers a repeat of an invitation with the very same link", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { session } = yield* signInByLink(merchant)
      const grant = (yield* (yield* TeamSessions).grantOf(session, merchant))!
      const { call } = yield* LocalCalls
      const invite = call(grant, {
        method: "POST",
        path: "/api/v1/team/invitations",
        body: { role: "support" },
        idempotencyKey: "once"
      })
      const [first, second] = [yield* invite, yield* invite]
      assert.deepStrictEqual(first.body, second.body)
      const { data } = yield* dataAs(session, merchant, "GET", "/team/invitations")
      assert.lengthOf(data, 1)
    }))

  it.effect("shows pages of its members in both directions", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { session } = yield* signInByLink(merchant)
      for (let count = 0; count < 4; count++) yield* newColleague(session, merchant, "viewer")
      const { data: all } = yield* dataAs(session, merchant, "GET", "/team/members")
      assert.lengthOf(all, 5)
      const older = yield* dataAs(session, merchant, "GET", `/team/members?limit=2&starting_after=${all[1].id}`)
      assert.deepStrictEqual([older.data, older.has_more], [all.slice(2, 4), true])
      const newer = yield* dataAs(session, merchant, "GET", `/team/members?limit=2&ending_before=${all[2].id}`)
      assert.deepStrictEqual([newer.data, newer.has_more], [all.slice(0, 2), false])
      assert.strictEqual(
        yield* codeAs(session, merchant, "GET", "/team/members?starting_after=key_1"),
        "400 INVALID_CURSOR"
      )
    }))

  it.effect("stands in the audit log, of which a developer sees what it did itself, also by wallet and by key", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "developer")
      const address = newAddress()
      yield* linkWallet(colleague.session, merchant, address)
      const token = yield* walletToken(address)
      const byWallet = yield* post("/api/v1/api-keys", { name: "till", scope: "merchant" }, {
        authorization: `Bearer ${token}`
      })
      assert.strictEqual(
        yield* codeAs(colleague.session, merchant, "POST", "/team/invitations", { role: "owner" }),
        "403 PERMISSION_DENIED"
      )
      const { key } = yield* dataAs(colleague.session, merchant, "POST", "/api-keys", { name: "k", scope: "merchant" })
      const byKey = yield* post("/api/v1/api-keys", { name: "child", scope: "merchant" }, { "x-api-key": key })
      const { data: [linked] } = yield* dataAs(colleague.session, merchant, "GET", "/auth/wallets")
      yield* linkWallet(owner.session, merchant, newAddress())
      yield* dataAs(colleague.session, merchant, "DELETE", `/auth/wallets/${linked.id}`)
      const { data: own } = yield* dataAs(colleague.session, merchant, "GET", "/audit-log?limit=100")
      assert.deepStrictEqual(own.map(({ action }: any) => action), [
        "sign_in_wallet.unlink",
        "key.create",
        "key.create",
        "access.denied",
        "key.create",
        "sign_in_wallet.link",
        "session.open",
        "member.add"
      ])
      assert.deepStrictEqual([own[0].subject.id, own[5].subject.id], [linked.id, linked.id])
      assert.strictEqual(own[1].subject.id, byKey.json.data.id)
      assert.strictEqual(own[4].subject.id, byWallet.json.data.id)
      assert.deepInclude(own[3], {
        actor: colleague.member,
        subject: { object: "operation", id: "team-invite" },
        after: { method: "POST", path: "/api/v1/team/invitations", role: "developer", right: "team:write" }
      })
      const { data: all } = yield* dataAs(owner.session, merchant, "GET", "/audit-log?limit=100")
      assert.includeMembers(all.map(({ action }: any) => action), ["login_link.create", "invitation.create"])
      assert.isAbove(all.length, own.length)
      const { data: again } = yield* dataAs(colleague.session, merchant, "GET", "/audit-log?action=invitation.create")
      assert.deepStrictEqual(again, [])
    }))

  it.effect("lets everybody manage own wallets, and an owner those of all", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "viewer")
      const ownersWallet = yield* linkWallet(owner.session, merchant, newAddress())
      const wallet = yield* linkWallet(colleague.session, merchant, newAddress())
      const idsFor = (session: typeof owner.session) =>
        Effect.map(dataAs(session, merchant, "GET", "/auth/wallets"), ({ data }) => data.map(({ id }: any) => id))
      assert.deepStrictEqual(yield* idsFor(colleague.session), [wallet.id])
      assert.sameMembers(yield* idsFor(owner.session), [ownersWallet.id, wallet.id])
      const path = `/auth/wallets/${ownersWallet.id}`
      assert.strictEqual(yield* codeAs(colleague.session, merchant, "DELETE", path), "404 NOT_FOUND")
      assert.strictEqual(yield* codeAs(owner.session, merchant, "DELETE", `/auth/wallets/${wallet.id}`), "200")
    }))
})

layer(instance(["mainnet", "devnet"]))("where real money is served", (it) => {
  it.effect("two owners must want what makes or unmakes somebody who approves", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const third = yield* newColleague(owner.session, merchant, "admin")
      const second = yield* newColleague(owner.session, merchant, "owner")
      yield* endWaits(merchant)
      const path = `/team/members/${third.member}`
      const proposed = yield* dataAs(owner.session, merchant, "PATCH", path, { role: "owner" })
      assert.deepInclude(proposed, { role: "admin" })
      assert.deepInclude(proposed.pending_change, { role: "owner", alone_from: null })
      assert.strictEqual(
        yield* codeAs(owner.session, merchant, "PATCH", path, { role: "owner" }),
        "403 APPROVER_MUST_DIFFER"
      )
      assert.deepInclude(yield* dataAs(second.session, merchant, "PATCH", path, { role: "owner" }), {
        role: "owner",
        pending_change: null
      })
      const { id, status, url } = yield* dataAs(owner.session, merchant, "POST", "/team/invitations", { role: "owner" })
      assert.strictEqual(status, "waiting")
      const { accept } = yield* TeamSignIn
      assert.strictEqual(yield* outcome(accept(tokenOf(url), { name: "Mallory" })), "APPROVAL_REQUIRED")
      const approve = `/team/invitations/${id}/approve`
      assert.strictEqual(yield* codeAs(owner.session, merchant, "POST", approve), "403 APPROVER_MUST_DIFFER")
      assert.deepInclude(yield* dataAs(second.session, merchant, "POST", approve), { status: "open" })
      assert.strictEqual(yield* outcome(accept(tokenOf(url), { name: "Fourth" })), "done")
      const left = `/team/members/${second.member}`
      assert.isNull((yield* dataAs(second.session, merchant, "DELETE", left)).pending_change)
      assert.deepStrictEqual(yield* rolesOf(merchant), ["owner", "owner", "owner"])
    }))

  it.effect("who still waits unlinks no wallet of somebody else", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const { id } = yield* linkWallet(owner.session, merchant, newAddress())
      const second = yield* newColleague(owner.session, merchant, "owner")
      const own = yield* linkWallet(second.session, merchant, newAddress())
      const unlinked = (wallet: string) => codeAs(second.session, merchant, "DELETE", `/auth/wallets/${wallet}`)
      assert.strictEqual(yield* unlinked(id), "403 PERMISSION_DENIED")
      assert.strictEqual(yield* unlinked(own.id), "200")
      yield* endWaits(merchant)
      yield* linkWallet(second.session, merchant, newAddress())
      assert.strictEqual(yield* unlinked(id), "200")
    }))

  it.effect("an owner whom only an admin can stop waits a day before the admin is one no more", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const sql = yield* SqlClient.SqlClient
      const owner = yield* signInByLink(merchant)
      const admin = yield* newColleague(owner.session, merchant, "admin")
      const path = `/team/members/${admin.member}`
      const demote = (role: string) => dataAs(owner.session, merchant, "PATCH", path, { role })
      const proposed = yield* demote("viewer")
      assert.deepInclude(proposed, { role: "admin" })
      const at = proposed.pending_change.alone_from
      assert.strictEqual(proposed.pending_change.expires_at - at, 6 * 86_400)
      assert.deepStrictEqual(yield* rolesOf(merchant), ["admin", "owner"])
      const refusal = yield* callAs(owner.session, merchant, "PATCH", path, { role: "viewer" })
      assert.deepStrictEqual([refusal.status, refusal.body.error.details], [403, { allowed_from: at }])
      assert.isNull((yield* demote("admin")).pending_change)
      yield* demote("viewer")
      yield* sql`UPDATE members SET proposal = jsonb_set(proposal::jsonb, '{agreedAt}', to_jsonb(-86400))::json
        WHERE id = ${admin.member}`
      assert.deepInclude(yield* demote("viewer"), { role: "viewer", pending_change: null })
      const { data: entries } = yield* dataAs(
        owner.session,
        merchant,
        "GET",
        `/audit-log?subject_id=${admin.member}&limit=100`
      )
      assert.deepStrictEqual(
        entries.map(({ action }: any) => action).filter((one: string) => one.startsWith("member.")),
        [
          "member.update",
          "member.propose_update",
          "member.withdraw_proposal",
          "member.propose_update",
          "member.add"
        ]
      )
    }))

  it.effect("an invitation that was open waits for a second owner who joined since", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const { id, status, url } = yield* dataAs(owner.session, merchant, "POST", "/team/invitations", { role: "admin" })
      assert.strictEqual(status, "open")
      const second = yield* newColleague(owner.session, merchant, "owner")
      yield* endWaits(merchant)
      const { accept } = yield* TeamSignIn
      assert.strictEqual(yield* outcome(accept(tokenOf(url), { name: "Mallory" })), "APPROVAL_REQUIRED")
      const { data: shown } = yield* dataAs(owner.session, merchant, "GET", "/team/invitations")
      assert.deepInclude(shown.find((one: any) => one.id === id), { status: "waiting" })
      yield* dataAs(second.session, merchant, "POST", `/team/invitations/${id}/approve`)
      assert.strictEqual(yield* outcome(accept(tokenOf(url), { name: "Ines" })), "done")
    }))

  it.effect("a person of two merchants waits a day at the second one, however long it is at the first", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newMerchant, yield* newMerchant]
      const address = newAddress()
      const first = yield* signInByLink(one)
      const owner = yield* signInByLink(two)
      const { url } = yield* dataAs(owner.session, two, "POST", "/team/invitations", { role: "admin" })
      yield* (yield* TeamSignIn).accept(tokenOf(url), { session: first.session })
      const key = { name: "till", scope: "merchant", environment: "mainnet" }
      assert.strictEqual(yield* codeAs(first.session, one, "POST", "/api-keys", key), "200")
      assert.strictEqual(yield* codeAs(first.session, two, "POST", "/api-keys", key), "403 PERMISSION_DENIED")
      yield* linkWallet(first.session, two, address)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE sign_in_wallets SET money_from = 0 WHERE merchant_id = ${two}`
      const byWallet = Effect.flatMap(
        walletToken(address),
        (token) => post("/api/v1/api-keys", key, { authorization: `Bearer ${token}` })
      )
      assert.strictEqual(codeOf(yield* byWallet), "403 PERMISSION_DENIED")
      yield* endWaits(two)
      assert.strictEqual(yield* codeAs(first.session, two, "POST", "/api-keys", key), "200")
      assert.strictEqual(codeOf(yield* byWallet), "200")
    }))
})

describe("of two owners on two instances", () => {
  it.effect("one remains, however they remove each other", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const [a, b] = [yield* start(database), yield* start(database)]
      for (let round = 0; round < 6; round++) {
        const merchant = yield* Effect.provide(newMerchant, a)
        const owner = yield* Effect.provide(signInByLink(merchant), a)
        const second = yield* Effect.provide(newColleague(owner.session, merchant, "owner"), a)
        const { data: members } = yield* Effect.provide(dataAs(owner.session, merchant, "GET", "/team/members"), a)
        const first = members.find(({ is_first_owner }: any) => is_first_owner)
        yield* together(a, "members", [
          Effect.provide(callAs(owner.session, merchant, "DELETE", `/team/members/${second.member}`), a),
          Effect.provide(callAs(second.session, merchant, "PATCH", `/team/members/${first.id}`, { role: "viewer" }), b)
        ])
        const roles = yield* Effect.provide(rolesOf(merchant), b)
        assert.include(roles, "owner")
      }
    }))

  it.effect("an invitation is accepted once", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const instances = [yield* start(database), yield* start(database)] as const
      const [a] = instances
      const merchant = yield* Effect.provide(newMerchant, a)
      const owner = yield* Effect.provide(signInByLink(merchant), a)
      const { url } = yield* Effect.provide(
        dataAs(owner.session, merchant, "POST", "/team/invitations", { role: "viewer" }),
        a
      )
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 10 }),
        (_, at) =>
          outcome(Effect.provide(
            Effect.flatMap(TeamSignIn, ({ accept }) => accept(tokenOf(url), { name: `Guest ${at}` })),
            instances[at % 2]!
          )),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(outcomes.filter((one) => one === "done"), 1)
      assert.deepStrictEqual(yield* Effect.provide(rolesOf(merchant), a), ["owner", "viewer"])
    }))
})
