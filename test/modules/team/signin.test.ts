/**
 * Goal: each way in opens one session for whom it is meant, once, and what ended opens nothing. Method: real routes and
 * commits on one instance and on two over one database, on a clock of the test's own.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Members } from "../../../runtime/Members.ts"
import { Restores } from "../../../runtime/Restores.ts"
import { Revocations } from "../../../runtime/Http.ts"
import { makeRepo } from "../../../modules/team/repo.ts"
import { Team } from "../../../modules/team/service.ts"
import { TeamSessions, TeamSignIn } from "../../../modules/team/plugin.ts"
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
  publicUrl,
  rotatedMasters,
  sign,
  signInByLink,
  start,
  tokenOf,
  walletToken
} from "./Deployment.ts"

const day = 86_400

/** The code of a failure, or what succeeded. */
const outcome = <A>(attempt: Effect.Effect<A, { readonly code: string }, never>) =>
  Effect.match(attempt, { onFailure: ({ code }) => code, onSuccess: () => "opened" })

layer(instance(["devnet"]))("on one instance", (it) => {
  it.effect("a link makes the first owner of a merchant, and opens one session among 20 uses at once", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { find, memberships } = yield* TeamSessions
      const { byLink } = yield* TeamSignIn
      const { expiresAt, url } = yield* (yield* Team).loginLink(merchant, null)
      assert.isTrue(url.startsWith(`${publicUrl}/dashboard/signin/link#t=`))
      assert.isAbove(expiresAt, 0)
      const outcomes = yield* Effect.all(
        Array.from({ length: 20 }, () => outcome(byLink(tokenOf(url)))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(outcomes.filter((one) => one === "opened"), 1)
      assert.lengthOf(outcomes.filter((one) => one === "TOKEN_INVALID"), 19)
      const opened = yield* signInByLink(merchant)
      assert.deepStrictEqual(yield* find(opened.readToken), opened.session)
      assert.isNull(yield* find(opened.actToken))
      assert.isNull(yield* find("x"))
      assert.deepStrictEqual(yield* memberships(opened.session.person), [
        { merchantId: merchant, merchantName: "Shop", role: "owner" }
      ])
      const { data: members } = yield* dataAs(opened.session, merchant, "GET", "/team/members")
      assert.lengthOf(members, 1)
      assert.deepInclude(members[0], { email: "owner@shop.example", role: "owner", is_first_owner: true })
    }))

  it.effect("a link ends after 10 minutes, and only its own token opens it", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { byLink } = yield* TeamSignIn
      const { url } = yield* (yield* Team).loginLink(merchant, null)
      assert.strictEqual(yield* outcome(byLink(`${tokenOf(url).slice(0, -1)}_`)), "TOKEN_INVALID")
      assert.strictEqual(yield* outcome(byLink("")), "TOKEN_INVALID")
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* outcome(byLink(tokenOf(url))), "TOKEN_INVALID")
    }))

  it.effect("a session acts by its second token only, for merchants of its person, until it ends", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const other = yield* newMerchant
      const { active, end, find, grantOf, mayAct } = yield* TeamSessions
      const { actToken, readToken, session } = yield* signInByLink(merchant)
      assert.isTrue(yield* mayAct(session, actToken))
      assert.isFalse(yield* mayAct(session, readToken))
      assert.isFalse(yield* mayAct(session, ""))
      const grant = (yield* grantOf(session, merchant))!
      assert.deepInclude(grant, { kind: "wallet", person: "owner", role: "owner", session: session.id })
      assert.match(grant.credential, /^mem_/)
      assert.isNull(yield* grantOf(session, other))
      assert.isTrue(yield* (yield* Revocations).isGood(session.id))
      assert.deepStrictEqual(yield* active([session.id, "tms_x"]), [session.id])
      yield* end(session.id)
      assert.isNull(yield* find(readToken))
      assert.isNull(yield* grantOf(session, merchant))
      assert.isFalse(yield* mayAct(session, actToken))
      assert.isFalse(yield* (yield* Revocations).isGood(session.id))
    }))

  it.effect("a restore ends every session, because it may have been ended after the backup", () =>
    Effect.gen(function*() {
      const { active, find } = yield* TeamSessions
      const opened = yield* Effect.forEach([1, 2, 3], () => Effect.flatMap(newMerchant, signInByLink))
      const { readToken, session } = opened[0]!
      assert.deepStrictEqual(yield* find(readToken), session)
      yield* (yield* Restores).perform
      for (const { readToken: each } of opened) assert.isNull(yield* find(each))
      assert.deepStrictEqual(yield* active([session.id]), [])
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(
        yield* sql`SELECT DISTINCT end_reason FROM team_sessions WHERE id = ${session.id}`,
        [{ end_reason: "restored" }]
      )
      yield* (yield* Restores).perform
    }))

  it.effect("a session lasts 8 hours without a use and 7 days with, and no use brings it back", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { find } = yield* TeamSessions
      const sql = yield* SqlClient.SqlClient
      // All timers of an instance run through hours of the test's clock, so the rows are made older instead.
      const age = (id: string, seconds: number) =>
        sql`UPDATE team_sessions SET signed_in_at = signed_in_at - ${seconds}, last_used_at = last_used_at - ${seconds}
          WHERE id = ${id}`
      const idle = yield* signInByLink(merchant)
      const used = yield* signInByLink(merchant)
      yield* age(idle.session.id, 8 * 3_600)
      assert.isNull(yield* find(idle.readToken))
      for (let hours = 7; hours < 7 * 24; hours += 7) {
        yield* age(used.session.id, 7 * 3_600)
        assert.isNotNull(yield* find(used.readToken), `after ${hours} hours`)
      }
      yield* age(used.session.id, 7 * 3_600)
      assert.isNull(yield* find(used.readToken))
    }))

  it.effect("a wallet that was there before the team opens a session of the first owner, once for a message", () =>
    Effect.gen(function*() {
      const address = newAddress()
      const { message } = (yield* post("/api/v1/auth/nonce", { address, network: "base" })).json.data
      const answer = yield* post("/api/v1/auth/verify", { message, signature: sign(address, message) })
      const merchant = answer.json.data.merchant.id
      const { byWallet, walletNonce } = yield* TeamSignIn
      const challenge = yield* walletNonce("base", address)
      const proof = {
        message: challenge.message,
        signature: sign(address, challenge.message),
        publicKey: null,
        proof: null
      }
      assert.strictEqual(yield* outcome(byWallet({ ...proof, signature: "forged" })), "SIGNATURE_INVALID")
      const { session } = yield* byWallet(proof)
      assert.strictEqual(session.method, "wallet")
      assert.strictEqual(yield* outcome(byWallet(proof)), "NONCE_INVALID")
      assert.deepInclude(yield* (yield* Members).find(merchant, null), { person: "owner", role: "owner" })
      const again = yield* signInByLink(merchant)
      assert.strictEqual(again.session.person, session.person)
      const stranger = newAddress()
      const unknown = yield* walletNonce("base", stranger)
      assert.strictEqual(
        yield* outcome(byWallet({ ...proof, message: unknown.message, signature: sign(stranger, unknown.message) })),
        "SIGNUP_CLOSED"
      )
    }))

  it.effect("a recovery code opens one session, ends the others, and counts no more when new ones are made", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { byRecovery } = yield* TeamSignIn
      const { find } = yield* TeamSessions
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "support", "Ines@Shop.example")
      const { codes } = yield* dataAs(colleague.session, merchant, "POST", "/team/recovery-codes")
      assert.lengthOf(new Set(codes), 10)
      const opened = yield* byRecovery(" ines@shop.EXAMPLE ", codes[3].toLowerCase())
      assert.deepInclude(opened.session, { method: "recovery", person: colleague.session.person })
      assert.isNull(yield* find(colleague.readToken))
      assert.isNotNull(yield* find(owner.readToken))
      assert.strictEqual(yield* outcome(byRecovery("ines@shop.example", codes[3])), "TOKEN_INVALID")
      assert.strictEqual(yield* outcome(byRecovery("owner@shop.example", codes[4])), "TOKEN_INVALID")
      const later = yield* dataAs(opened.session, merchant, "POST", "/team/recovery-codes")
      assert.strictEqual(yield* outcome(byRecovery("ines@shop.example", codes[5])), "TOKEN_INVALID")
      assert.strictEqual((yield* byRecovery("ines@shop.example", later.codes[0])).session.method, "recovery")
      const { data: entries } = yield* dataAs(owner.session, merchant, "GET", "/audit-log?limit=100")
      const ofColleague = entries.filter(({ actor }: any) => actor === colleague.member)
      assert.deepStrictEqual(ofColleague.map(({ action, after }: any) => [action, after.method ?? after.codes]), [
        ["session.open", "recovery"],
        ["recovery_codes.create", 10],
        ["session.open", "recovery"],
        ["recovery_codes.create", 10],
        ["session.open", "link"],
        ["member.add", undefined]
      ])
    }))

  it.effect("a recovery code signs in its own person, however many have the same e-mail address", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const sql = yield* SqlClient.SqlClient
      const email = "crowd@shop.example"
      const [one, two] = [
        yield* newColleague(owner.session, merchant, "support", email),
        yield* newColleague(owner.session, merchant, "support", email)
      ]
      yield* sql`INSERT INTO people (id, merchant_id, version, name, email, recovery_set, notices, created_at)
        SELECT 'per_0' || n, merchant_id, version, name, email, recovery_set, notices, created_at
        FROM people, generate_series(1, 30) n WHERE id = ${one.session.person}`
      for (const { session } of [one, two]) {
        const { codes } = yield* dataAs(session, merchant, "POST", "/team/recovery-codes")
        const opened = yield* (yield* TeamSignIn).byRecovery(email, codes[0])
        assert.strictEqual(opened.session.person, session.person)
      }
    }))

  it.effect("nobody without an e-mail address gets recovery codes, which would sign nobody in", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const { session } = yield* newColleague(owner.session, merchant, "support")
      assert.strictEqual(
        yield* codeAs(session, merchant, "POST", "/team/recovery-codes"),
        "409 INVALID_TRANSITION"
      )
    }))

  it.effect("recovery codes that ended are deleted, and those that are good stay", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { session } = yield* signInByLink(merchant)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE people SET email = 'pruned@shop.example' WHERE id = ${session.person}`
      yield* dataAs(session, merchant, "POST", "/team/recovery-codes")
      const { codes } = yield* dataAs(session, merchant, "POST", "/team/recovery-codes")
      const opened = yield* (yield* TeamSignIn).byRecovery("pruned@shop.example", codes[0])
      const { prune } = yield* makeRepo
      const left = Effect.map(
        sql<{ n: bigint }>`SELECT count(*) AS n FROM team_recovery_codes WHERE person = ${session.person}`,
        ([row]) => Number(row!.n)
      )
      assert.strictEqual(yield* left, 20)
      yield* prune(opened.session.signedInAt + 1)
      assert.strictEqual(yield* left, 9)
      const again = yield* (yield* TeamSignIn).byRecovery("pruned@shop.example", codes[1])
      assert.strictEqual(again.session.person, session.person)
    }))

  it.effect("a recovery ends what the person's wallets opened, and nobody else's", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "developer", "wallets@shop.example")
      const [own, other] = [newAddress(), newAddress()]
      yield* linkWallet(colleague.session, merchant, own)
      yield* linkWallet(owner.session, merchant, other)
      const tokens = [(yield* walletToken(own))!, (yield* walletToken(other))!]
      const { codes } = yield* dataAs(colleague.session, merchant, "POST", "/team/recovery-codes")
      yield* (yield* TeamSignIn).byRecovery("wallets@shop.example", codes[0])
      yield* TestClock.adjust("5 seconds")
      const outcomes = yield* Effect.forEach(tokens, (token) =>
        Effect.map(
          post("/api/v1/api-keys", { name: "k", scope: "merchant" }, { authorization: `Bearer ${token}` }),
          codeOf
        ))
      assert.deepStrictEqual(outcomes, ["401 TOKEN_INVALID", "200"])
      assert.isDefined(yield* walletToken(own))
    }))

  it.effect("guesses of a recovery code are five an hour for an address, whether anybody has it or not", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { byRecovery } = yield* TeamSignIn
      const owner = yield* signInByLink(merchant)
      const colleague = yield* newColleague(owner.session, merchant, "support", "brute@shop.example")
      const { codes } = yield* dataAs(colleague.session, merchant, "POST", "/team/recovery-codes")
      for (const address of ["brute@shop.example", "nobody@shop.example"]) {
        const guesses = yield* Effect.all(
          Array.from({ length: 12 }, () => outcome(byRecovery(address, "0000-0000-0000"))),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(guesses.filter((one) => one === "TOKEN_INVALID"), 5, address)
        assert.lengthOf(guesses.filter((one) => one === "RATE_LIMIT_EXCEEDED"), 7, address)
      }
      assert.strictEqual(yield* outcome(byRecovery("brute@shop.example", codes[0])), "RATE_LIMIT_EXCEEDED")
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE team_recovery_tries SET tries = (SELECT json_agg(t::bigint - 3600) FROM json_array_elements_text(tries) t)`
      assert.strictEqual(yield* outcome(byRecovery("brute@shop.example", codes[0])), "opened")
    }))

  it.effect("no token, code or hash of one stands in a row, an answer or the audit log but once", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { actToken, readToken, session } = yield* signInByLink(merchant)
      const { codes } = yield* dataAs(session, merchant, "POST", "/team/recovery-codes")
      const { url } = yield* dataAs(session, merchant, "POST", "/team/invitations", { role: "viewer" })
      const sql = yield* SqlClient.SqlClient
      const tables = yield* sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = current_schema()`
      for (const secret of [actToken, readToken, codes[0], codes[0].replaceAll("-", ""), tokenOf(url)]) {
        for (const { name } of tables) {
          const [found] = yield* sql.unsafe<{ n: bigint }>(
            `SELECT count(*) AS n FROM "${name}" t WHERE strpos(row_to_json(t)::text, $1) > 0`,
            [secret]
          )
          assert.strictEqual(Number(found!.n), 0, name)
        }
      }
      const shown = JSON.stringify([
        yield* dataAs(session, merchant, "GET", "/team/invitations"),
        yield* dataAs(session, merchant, "GET", "/team/sessions"),
        yield* dataAs(session, merchant, "GET", "/audit-log?limit=100")
      ])
      for (const secret of [actToken, readToken, codes[0], tokenOf(url)]) assert.notInclude(shown, secret)
    }))

  it.effect("everybody sees and ends own sessions, and an API key none", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const first = yield* signInByLink(merchant)
      const second = yield* signInByLink(merchant)
      const { data } = yield* dataAs(second.session, merchant, "GET", "/team/sessions")
      assert.deepStrictEqual(
        data.map(({ id, is_current }: any) => [id, is_current]).toSorted(),
        [
          [first.session.id, false],
          [second.session.id, true]
        ].toSorted()
      )
      const other = yield* signInByLink(yield* newMerchant)
      const path = `/team/sessions/${other.session.id}`
      assert.strictEqual(yield* codeAs(second.session, merchant, "DELETE", path), "404 NOT_FOUND")
      assert.strictEqual(
        yield* codeAs(second.session, merchant, "DELETE", `/team/sessions/${first.session.id}`),
        "200"
      )
      assert.isNull(yield* (yield* TeamSessions).find(first.readToken))
      const all = yield* dataAs(second.session, merchant, "DELETE", "/team/sessions")
      assert.lengthOf(all.data, 1)
      assert.strictEqual((yield* callAs(second.session, merchant, "GET", "/team/sessions")).status, 0)
    }))
})

layer(instance(["mainnet", "devnet"]))("where real money is served", (it) => {
  it.effect("who came by a link or with a new wallet moves money after a day, but the first owner", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const { byWallet, walletNonce } = yield* TeamSignIn
      const owner = yield* signInByLink(merchant)
      const newKey = { name: "till", scope: "merchant", environment: "mainnet" }
      assert.strictEqual(yield* codeAs(owner.session, merchant, "POST", "/api-keys", newKey), "200")
      const admin = yield* newColleague(owner.session, merchant, "admin")
      assert.strictEqual(admin.session.moneyFrom, admin.session.signedInAt + day)
      const refusal = yield* callAs(admin.session, merchant, "POST", "/api-keys", newKey)
      assert.strictEqual(refusal.body.error.code, "PERMISSION_DENIED")
      assert.deepStrictEqual(refusal.body.error.details, {
        right: "keys:write",
        allowed_from: admin.session.moneyFrom
      })
      const test = { ...newKey, environment: "devnet" }
      assert.strictEqual(yield* codeAs(admin.session, merchant, "POST", "/api-keys", test), "200")

      const sql = yield* SqlClient.SqlClient
      // The day of the member is over, so that what holds is the wait of the session and of the wallet.
      yield* sql`UPDATE members SET money_from = 0 WHERE merchant_id = ${merchant}`
      assert.strictEqual(yield* codeAs(admin.session, merchant, "POST", "/api-keys", newKey), "403 PERMISSION_DENIED")
      yield* TestClock.adjust("1 minute")
      const address = newAddress()
      yield* linkWallet(admin.session, merchant, address)
      const signInByWallet = Effect.gen(function*() {
        const { message } = yield* walletNonce("base", address)
        return yield* byWallet({ message, signature: sign(address, message), publicKey: null, proof: null })
      })
      const token = yield* walletToken(address)
      const keyByToken = post("/api/v1/api-keys", newKey, { authorization: `Bearer ${token}` })
      assert.strictEqual(codeOf(yield* keyByToken), "403 PERMISSION_DENIED")
      assert.strictEqual((yield* signInByWallet).session.moneyFrom, admin.session.moneyFrom + 60)
      yield* sql`UPDATE sign_in_wallets SET money_from = money_from - ${day + 60} WHERE merchant_id = ${merchant}`
      const later = yield* signInByWallet
      assert.strictEqual(yield* codeAs(later.session, merchant, "POST", "/api-keys", newKey), "200")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(codeOf(yield* keyByToken), "200")
    }))

  it.effect("a recovery makes the first owner wait too", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE people SET email = 'first@shop.example' WHERE id = ${owner.session.person}`
      const { codes } = yield* dataAs(owner.session, merchant, "POST", "/team/recovery-codes")
      const { session } = yield* (yield* TeamSignIn).byRecovery("first@shop.example", codes[0])
      assert.strictEqual(session.moneyFrom, session.signedInAt + day)
      const invitation = { role: "viewer" }
      assert.strictEqual(
        yield* codeAs(session, merchant, "POST", "/team/invitations", invitation),
        "403 PERMISSION_DENIED"
      )
      yield* linkWallet(session, merchant, newAddress())
      const [wallet] = yield* sql<{ money_from: bigint }>`SELECT money_from FROM sign_in_wallets
        WHERE merchant_id = ${merchant}`
      assert.strictEqual(Number(wallet!.money_from), session.moneyFrom)
    }))
})

describe("after the master key was replaced", () => {
  it.effect("an e-mail address has no more tries of a recovery code than before", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const before = yield* start(database)
      const after = yield* start(database, undefined, rotatedMasters)
      const guess = Effect.flatMap(
        TeamSignIn,
        ({ byRecovery }) => outcome(byRecovery("brute@shop.example", "0000-0000-0000"))
      )
      const guesses = yield* Effect.forEach(
        [before, before, before, after, after, after],
        (services) => Effect.provide(guess, services)
      )
      assert.deepStrictEqual(guesses, [
        ...Array.from({ length: 5 }, () => "TOKEN_INVALID"),
        "RATE_LIMIT_EXCEEDED"
      ])
    }))
})

describe("of many at once on two instances", () => {
  it.effect(
    "one use of a link and one of a recovery code opens a session, though each was good when it was looked up",
    () =>
      Effect.gen(function*() {
        const database = yield* migratedDatabase
        const [a, b] = [yield* start(database), yield* start(database)]
        const merchant = yield* Effect.provide(newMerchant, a)
        const owner = yield* Effect.provide(signInByLink(merchant), a)
        const colleague = yield* Effect.provide(
          newColleague(owner.session, merchant, "admin", "twin@shop.example"),
          a
        )
        const onBoth = (table: string, attempt: Effect.Effect<unknown, { readonly code: string }, TeamSignIn>) =>
          together(a, table, [a, b].map((each) => outcome(Effect.provide(attempt, each))))
        for (let round = 0; round < 3; round++) {
          const { url } = yield* Effect.provide(Effect.flatMap(Team, (team) => team.loginLink(merchant, null)), a)
          const uses = yield* onBoth("team_links", Effect.flatMap(TeamSignIn, ({ byLink }) => byLink(tokenOf(url))))
          assert.deepStrictEqual(uses.toSorted(), ["TOKEN_INVALID", "opened"])
        }
        const { codes } = yield* Effect.provide(
          dataAs(colleague.session, merchant, "POST", "/team/recovery-codes"),
          a
        )
        const uses = yield* onBoth(
          "team_recovery_codes",
          Effect.flatMap(TeamSignIn, ({ byRecovery }) => byRecovery("twin@shop.example", codes[0]))
        )
        assert.deepStrictEqual(uses.toSorted(), ["TOKEN_INVALID", "opened"])
      })
  )

  it.effect("one of two first links makes the first owner, whoever is faster", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const instances = [yield* start(database), yield* start(database)] as const
      for (let round = 0; round < 5; round++) {
        const merchant = yield* Effect.provide(newMerchant, instances[0])
        const opened = yield* Effect.forEach(
          Array.from({ length: 4 }),
          (_, at) => Effect.provide(signInByLink(merchant), instances[at % 2]!),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(new Set(opened.map(({ session }) => session.person)), 1)
      }
    }))
})
