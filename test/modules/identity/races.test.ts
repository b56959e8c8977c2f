/**
 * Goal: what may happen once happens once, whoever else tries at the same moment on whichever instance, and what ended
 * has ended everywhere within 5 s. Method: two instances over one database. Where the order of two commits decides, a
 * gate holds both until both are ready.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Keys } from "../../../modules/auth/actor.ts"
import { maximumKeys } from "../../../modules/auth/rules.ts"
import { maximumWallets } from "../../../modules/identity/rules.ts"
import { Wallets } from "../../../modules/identity/actor.ts"
import { Credentials, Revocations } from "../../../runtime/Http.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { together } from "../../support/Together.ts"
import {
  codeOf,
  link,
  logout,
  newAddress,
  nonce,
  refresh,
  session,
  sign,
  signIn,
  start,
  unlink,
  verify,
  walletsOf,
  who
} from "./Deployment.ts"

/** Two instances of one deployment. */
const twins = Effect.gen(function*() {
  const database = yield* migratedDatabase
  return [yield* start({}, database), yield* start({}, database)] as const
})

const count = (table: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => Effect.map(sql.unsafe<{ n: bigint }>(`SELECT count(*) AS n FROM ${table}`), ([row]) => Number(row!.n))
  )

const tally = (codes: ReadonlyArray<string>) =>
  Object.fromEntries([...Map.groupBy(codes, (code) => code)].map(([code, all]) => [code, all.length]))

describe("of many at once", () => {
  it.effect("one verification of a message wins among 100 over two instances, and the rest hear NONCE_INVALID", () =>
    Effect.gen(function*() {
      const [a, b] = yield* twins
      for (let round = 0; round < 5; round++) {
        const address = newAddress()
        const { message } = (yield* Effect.provide(nonce(address), a)).json.data
        const answers = yield* Effect.forEach(
          Array.from({ length: 100 }),
          (_, at) => Effect.provide(verify(message, sign(address, message)), at % 2 === 0 ? a : b),
          { concurrency: 100 }
        )
        assert.deepStrictEqual(tally(answers.map(codeOf)), { "200": 1, "401 NONCE_INVALID": 99 })
      }
      assert.strictEqual(yield* Effect.provide(count("merchants"), a), 5)
      assert.strictEqual(yield* Effect.provide(count("sign_in_sessions"), a), 5)
    }))

  it.effect("one merchant is made for a wallet that signs in ten times at once for the first time", () =>
    Effect.gen(function*() {
      const [a, b] = yield* twins
      const address = newAddress()
      const answers = yield* Effect.forEach(
        Array.from({ length: 10 }),
        (_, at) => Effect.provide(signIn(address), at % 2 === 0 ? a : b),
        { concurrency: 10 }
      )
      const made = answers.filter(({ status }) => status === 200).map(({ json }) => json.data.merchant)
      assert.isAbove(made.length, 0)
      assert.strictEqual(new Set(made.map(({ id }) => id)).size, 1)
      assert.strictEqual(made.filter(({ created }) => created).length, 1)
      assert.strictEqual(yield* Effect.provide(count("merchants"), a), 1)
      assert.strictEqual(yield* Effect.provide(count("sign_in_wallets"), a), 1)
    }))

  it.effect("one use of a refresh token wins; a loser that began before the winner ended leaves the session alone", () =>
    Effect.gen(function*() {
      const [a, b] = yield* twins
      const { refresh_token } = yield* Effect.provide(session(), a)
      const answers = yield* together(
        a,
        "sign_in_sessions",
        [a, b].map((one) => Effect.provide(refresh(refresh_token), one))
      )
      assert.deepStrictEqual(tally(answers.map(codeOf)), { "200": 1, "401 TOKEN_INVALID": 1 })
      const won = answers.find(({ status }) => status === 200)!.json.data
      assert.strictEqual((yield* Effect.provide(who(won.access_token), b)).status, 200)
      const next = yield* Effect.provide(refresh(won.refresh_token), b)
      assert.strictEqual(next.status, 200)
      // The loser comes back later with the same token: now it was used before.
      assert.strictEqual(codeOf(yield* Effect.provide(refresh(refresh_token), a)), "401 REFRESH_REUSED")
      assert.strictEqual(codeOf(yield* Effect.provide(refresh(next.json.data.refresh_token), b)), "401 TOKEN_INVALID")
    }))

  it.effect("uses of one refresh token never leave more than one line of tokens alive", () =>
    Effect.gen(function*() {
      const [a, b] = yield* twins
      for (let round = 0; round < 10; round++) {
        const { refresh_token } = yield* Effect.provide(session(), a)
        const answers = yield* Effect.forEach(
          Array.from({ length: 8 }),
          (_, at) => Effect.provide(refresh(refresh_token), at % 2 === 0 ? a : b),
          { concurrency: 8 }
        )
        const codes = tally(answers.map(codeOf))
        assert.strictEqual(codes["200"], 1)
        const won = answers.find(({ status }) => status === 200)!.json.data
        const survives = codes["401 REFRESH_REUSED"] === undefined
        assert.strictEqual((yield* Effect.provide(refresh(won.refresh_token), b)).status, survives ? 200 : 401)
      }
    }))

  it.effect("one of a merchant's last two wallets stays when both are unlinked at once", () =>
    Effect.gen(function*() {
      const [a, b] = yield* twins
      const owner = yield* Effect.provide(session(), a)
      yield* Effect.provide(link(owner.access_token, newAddress()), a)
      const wallets = (yield* Effect.provide(walletsOf(owner.access_token), a)).json.data.data
      // Both instances know the token as good, and virtual time stands: the owner's own session may end meanwhile.
      yield* Effect.provide(who(owner.access_token), b)
      const answers = yield* together(a, "merchants", [
        Effect.provide(unlink(owner.access_token, wallets[0].id), a),
        Effect.provide(unlink(owner.access_token, wallets[1].id), b)
      ])
      assert.deepStrictEqual(tally(answers.map(codeOf)), { "200": 1, "409 INVALID_TRANSITION": 1 })
    }))

  it.effect("one of the last wallets and the last key that fit is added when two instances add at once", () =>
    Effect.gen(function*() {
      const [a, b] = yield* twins
      const owner = yield* Effect.provide(session(), a)
      yield* Effect.provide(who(owner.access_token), b)
      for (let linked = 1; linked < maximumWallets - 1; linked++) {
        yield* Effect.provide(link(owner.access_token, newAddress()), a)
      }
      const links = yield* together(
        a,
        "merchants",
        [a, b].map((one) => Effect.provide(link(owner.access_token, newAddress()), one))
      )
      assert.deepStrictEqual(tally(links.map(codeOf)), { "200": 1, "409 WALLET_LIMIT_REACHED": 1 })
      const merchantId = owner.merchant.id
      const create = (instance: typeof a) =>
        Effect.flatMap(
          Keys,
          (keys) => keys.create({ merchantId, name: "k", scope: "merchant", environment: "devnet", expiresAt: null })
        ).pipe(Effect.as("made"), Effect.catch(({ code }) => Effect.succeed(code as string)), Effect.provide(instance))
      for (let made = 0; made < maximumKeys - 1; made++) yield* create(a)
      assert.deepStrictEqual(tally(yield* together(a, "merchants", [create(a), create(b)])), {
        made: 1,
        API_KEY_LIMIT_REACHED: 1
      })
    }))
})

describe("what ended on one instance", () => {
  it.effect("is refused on another within 5 s: by logout, by a token used twice, by unlinking", () =>
    Effect.gen(function*() {
      const [a, b] = yield* twins
      const out = yield* Effect.provide(session(), a)
      const reused = yield* Effect.provide(session(), a)
      const owner = yield* Effect.provide(session(), a)
      const further = newAddress()
      const { id } = (yield* Effect.provide(link(owner.access_token, further), a)).json.data
      const unlinked = yield* Effect.provide(session(further), a)
      for (const { access_token } of [out, reused, unlinked]) {
        assert.strictEqual((yield* Effect.provide(who(access_token), b)).status, 200)
      }
      yield* Effect.provide(logout({ refresh_token: out.refresh_token }), a)
      yield* Effect.provide(Effect.repeat(refresh(reused.refresh_token), { times: 1 }), a)
      yield* Effect.provide(unlink(owner.access_token, id), a)
      yield* TestClock.adjust("5 seconds")
      for (const { access_token } of [out, reused, unlinked]) {
        assert.strictEqual(codeOf(yield* Effect.provide(who(access_token), b)), "401 TOKEN_INVALID")
      }
      assert.strictEqual((yield* Effect.provide(who(owner.access_token), b)).status, 200)
    }))
})

describe("a stream opened on one instance", () => {
  it.effect("ends within 5 s of the revocation of its key or the end of its session on another, and not before", () =>
    Effect.gen(function*() {
      const [a, b] = yield* twins
      const keys = yield* Effect.provide(Keys, a)
      const owner = yield* Effect.provide(session(), a)
      const newKey = {
        merchantId: owner.merchant.id,
        name: "k",
        scope: "merchant",
        environment: "devnet",
        expiresAt: null
      } as const
      const revoked = yield* keys.create(newKey)
      const kept = yield* keys.create(newKey)
      const out = yield* Effect.provide(session(), a)
      const { verifyBearer } = yield* Effect.provide(Credentials, b)
      const grants = yield* Effect.forEach([out, owner], ({ access_token }) => verifyBearer(access_token))
      const { awaitEnd } = yield* Effect.provide(Revocations, b)
      const streams = yield* Effect.forEach(
        [revoked.state.id, grants[0]!.session!, kept.state.id, grants[1]!.session!],
        (id) => Effect.forkChild(awaitEnd(id), { startImmediately: true })
      )
      const over = () => streams.map((stream) => stream.pollUnsafe() !== undefined)
      // The owners are asked on the real clock: virtual time goes on second by second while they answer.
      const seconds = (count: number) =>
        Effect.repeat(
          Effect.andThen(
            TestClock.adjust("1 second"),
            Effect.provide(Effect.repeat(walletsOf(owner.access_token), { times: 3 }), b)
          ),
          { times: count - 1 }
        )
      yield* seconds(3)
      assert.deepStrictEqual(over(), [false, false, false, false])
      yield* keys.revoke({ merchantId: owner.merchant.id, environment: null, id: revoked.state.id })
      yield* Effect.provide(logout({ refresh_token: out.refresh_token }), a)
      yield* seconds(5)
      assert.deepStrictEqual(over(), [true, true, false, false])
      yield* Effect.forEach(streams, Fiber.interrupt)
    }))
})

describe("what is of no use any more", () => {
  it.effect("is deleted a day after its end, and nothing else is", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(40 * 86_400_000)
      const [a] = yield* twins
      const all = Effect.all([count("sign_in_challenges"), count("refresh_tokens"), count("sign_in_sessions")])
      yield* Effect.gen(function*() {
        const { refresh_token } = yield* session()
        const ended = yield* session()
        const next = (yield* refresh(refresh_token)).json.data
        yield* nonce(newAddress())
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ session_id: string }>`SELECT session_id FROM refresh_tokens
          GROUP BY session_id HAVING count(*) = 2`
        yield* sql`UPDATE sign_in_challenges SET expires_at = expires_at - 90000`
        yield* sql`UPDATE sign_in_sessions SET expires_at = expires_at - 2692000 WHERE id <> ${row!.session_id}`
        yield* sql`UPDATE refresh_tokens t SET expires_at = t.expires_at - 2692000 FROM sign_in_sessions s
          WHERE s.id = t.session_id AND s.refresh_hash <> t.id OR t.session_id <> ${row!.session_id}`
        const gone = (wanted: ReadonlyArray<number>) =>
          Effect.gen(function*() {
            for (;;) {
              const found = yield* all
              if (found.join() === wanted.join()) return
              // Deletions run on the real clock once a round is due.
              yield* TestClock.adjust("10 minutes")
              yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
            }
          })
        yield* gone([0, 1, 1])
        assert.strictEqual((yield* refresh(next.refresh_token)).status, 200)
        for (const gone of [refresh_token, ended.refresh_token]) {
          assert.strictEqual(codeOf(yield* refresh(gone)), "401 TOKEN_INVALID")
        }
      }).pipe(Effect.provide(a))
    }))
})

describe("the config and internal services", () => {
  it.effect("link wallets by name, again and again the same, each to one merchant", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const a = yield* start({ signup: "closed" }, database)
      const sql = yield* Effect.provide(SqlClient.SqlClient, a)
      yield* sql`INSERT INTO merchants (id, merchant_id, version, name, created_at) VALUES (7, 7, 1, 'Seven', 0), (8, 8, 1, 'Eight', 0)`
      const address = newAddress()
      const named = { merchant: 7, network: "base", address } as const
      const b = yield* start({ signup: "closed", wallets: [named] }, database)
      yield* start({ signup: "closed", wallets: [named] }, database)
      assert.strictEqual((yield* Effect.provide(session(address), b)).merchant.id, 7)
      assert.strictEqual(codeOf(yield* Effect.provide(signIn(newAddress()), b)), "403 SIGNUP_CLOSED")
      const { linkNamed, unlink } = yield* Effect.provide(Wallets, b)
      const to = (merchantId: number, spelled = address, isContract = false) =>
        linkNamed({ merchantId, network: "base", address: spelled, isContract })
      assert.strictEqual((yield* Effect.flip(to(8))).code, "WALLET_LINKED_ELSEWHERE")
      assert.strictEqual((yield* Effect.flip(to(9))).code, "NOT_FOUND")
      assert.strictEqual((yield* Effect.flip(to(7, "0x1"))).code, "WALLET_ADDRESS_INVALID")
      assert.strictEqual((yield* to(8, address, true)).chainId, "84532")
      assert.strictEqual((yield* Effect.provide(signIn(address, "contract"), b)).json.data.merchant.id, 8)
      const { id } = yield* to(7)
      yield* unlink(7, id, true)
      assert.strictEqual((yield* Effect.flip(unlink(7, id, true))).code, "NOT_FOUND")
      assert.strictEqual(codeOf(yield* Effect.provide(signIn(address), b)), "403 SIGNUP_CLOSED")
    }))
})
