/**
 * Goal: who proves a wallet acts for its merchant, nobody else does, and a message, a token or a session that ended is
 * worth nothing.
 * Method: the real routes over PostgreSQL, with a kind of wallet that needs no chain.
 */
import { Restores } from "../../../runtime/Restores.ts"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Merchants } from "../../../modules/auth/service.ts"
import { LinkedWallets } from "../../../runtime/LinkedWallets.ts"
import { maximumSessions, maximumWallets } from "../../../modules/identity/rules.ts"
import {
  call,
  codeOf,
  hanging,
  instance,
  link,
  logout,
  newAddress,
  nonce,
  refresh,
  session,
  sign,
  signIn,
  unlink,
  verify,
  walletsOf,
  who
} from "./Deployment.ts"

layer(instance())("a wallet", (it) => {
  it.effect("signs what was issued, word for word, and gets a merchant and the tokens that act for it", () =>
    Effect.gen(function*() {
      const address = newAddress()
      const issued = yield* nonce(address.toUpperCase().replace("0X", "0x"))
      assert.deepStrictEqual(Object.keys(issued.json.data), ["nonce", "message", "expires_at"])
      assert.deepInclude(JSON.parse(issued.json.data.message), {
        address,
        network: "base",
        chainId: "84532",
        domain: "till.test",
        uri: "http://till.test",
        nonce: issued.json.data.nonce,
        expiresAt: issued.json.data.expires_at
      })
      assert.match(issued.json.data.nonce, /^[0-9a-f]{32}$/)
      const { message } = issued.json.data
      const answer = yield* verify(message, sign(address, message))
      const { access_token, merchant, refresh_token, ...rest } = answer.json.data
      assert.deepStrictEqual(rest, { token_type: "Bearer", expires_in: 900, refresh_expires_in: 2_592_000 })
      assert.match(refresh_token, /^rt_[A-Za-z0-9_-]{43}$/)
      assert.deepStrictEqual(merchant, {
        id: merchant.id,
        name: `${address.slice(0, 8)}…${address.slice(-4)}`,
        environment: "devnet",
        created: true
      })
      const me = yield* who(access_token)
      assert.deepInclude(me.json, { merchant: merchant.id, environment: "devnet", scope: "merchant", kind: "wallet" })
      const again = (yield* signIn(address)).json.data
      assert.deepInclude(again.merchant, { id: merchant.id, created: false })
      assert.strictEqual((yield* who(again.access_token)).json.credential, me.json.credential)
    }))

  it.effect("of another spelling, another key or as a contract is told apart exactly as its family does", () =>
    Effect.gen(function*() {
      const address = newAddress()
      const { merchant } = (yield* signIn(address)).json.data
      assert.strictEqual(
        (yield* signIn(address.replace(/[a-f]/g, (hex) => hex.toUpperCase()))).json.data.merchant.id,
        merchant.id
      )
      const contract = (yield* signIn(address, "contract")).json.data
      assert.notStrictEqual(contract.merchant.id, merchant.id)
      assert.strictEqual((yield* signIn(address, "contract")).json.data.merchant.id, contract.merchant.id)
    }))

  it.effect("gets in by nothing but its own signature over a message issued here, still open, for this", () =>
    Effect.gen(function*() {
      const address = newAddress()
      const { message } = (yield* nonce(address)).json.data
      const other = (yield* nonce(newAddress())).json.data.message
      const invalid = (text: string, signature: string) => Effect.map(verify(text, signature), codeOf)
      assert.strictEqual(yield* invalid(message, sign(newAddress(), message)), "401 SIGNATURE_INVALID")
      assert.strictEqual(yield* invalid(message, sign(address, other)), "401 SIGNATURE_INVALID")
      const changed = [
        `${message} `,
        `${message}\n`,
        message.replace("till.test", "evil.test"),
        message.replace("84532", "1"),
        message.slice(0, -1),
        message.toUpperCase(),
        "x",
        JSON.stringify({ ...JSON.parse(message), nonce: "0".repeat(32) })
      ]
      for (const text of changed) {
        assert.strictEqual(yield* invalid(text, sign(address, text)), "401 NONCE_INVALID", text)
      }
      assert.strictEqual((yield* verify(message, sign(address, message))).status, 200)
      assert.strictEqual(yield* invalid(message, sign(address, message)), "401 NONCE_INVALID")
      const late = (yield* nonce(address)).json.data.message
      yield* TestClock.adjust("299 seconds")
      const inTime = (yield* nonce(address)).json.data.message
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* invalid(late, sign(address, late)), "401 NONCE_INVALID")
      assert.strictEqual((yield* verify(inTime, sign(address, inTime))).status, 200)
    }))

  it.effect("of an unknown network, with a malformed address or body, is refused with a reason and nothing is kept", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const count = Effect.map(sql<{ n: bigint }>`SELECT count(*) AS n FROM sign_in_challenges`, ([row]) => row!.n)
      const before = yield* count
      assert.strictEqual(codeOf(yield* nonce(newAddress(), "solana")), "400 UNSUPPORTED_NETWORK")
      assert.strictEqual(codeOf(yield* nonce(newAddress(), "ethereum")), "400 UNSUPPORTED_NETWORK")
      assert.strictEqual(codeOf(yield* nonce(newAddress(), "dogecoin")), "400 VALIDATION_ERROR")
      for (const address of ["0x12", "x".repeat(255), "0x\u0000"]) {
        assert.strictEqual(
          codeOf(yield* nonce(address)),
          address.includes("\u0000") ? "400 VALIDATION_ERROR" : "400 WALLET_ADDRESS_INVALID"
        )
      }
      for (const address of ["", "x".repeat(256)]) {
        assert.strictEqual(codeOf(yield* nonce(address)), "400 VALIDATION_ERROR")
      }
      assert.strictEqual(codeOf(yield* verify("", "x")), "400 VALIDATION_ERROR")
      assert.strictEqual(codeOf(yield* verify("x".repeat(16_385), "x")), "400 VALIDATION_ERROR")
      assert.strictEqual(codeOf(yield* call("/api/v1/auth/verify", { body: "{" })), "400 INVALID_JSON")
      assert.strictEqual(yield* count, before)
    }))

  it.effect("that cannot be checked is told so, in time, and may try the same message again", () =>
    Effect.gen(function*() {
      const address = newAddress()
      const { message } = (yield* nonce(address)).json.data
      assert.strictEqual(codeOf(yield* verify(message, "down:")), "503 NETWORK_DEGRADED")
      const refused = yield* verify(message, "shared:")
      assert.strictEqual(codeOf(refused), "401 SIGNATURE_INVALID")
      assert.strictEqual(refused.json.error.message, "Shared accounts cannot sign in.")
      const asked = yield* Effect.forkChild(verify(message, "hang:"), { startImmediately: true })
      yield* Deferred.await(hanging)
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(codeOf(yield* Fiber.join(asked)), "503 SERVICE_UNAVAILABLE")
      assert.strictEqual((yield* verify(message, sign(address, message))).status, 200)
    }))
})

layer(instance())("a session", (it) => {
  it.effect("goes on by refresh tokens of one use each, and dies when one is used twice", () =>
    Effect.gen(function*() {
      const first = yield* session()
      const second = (yield* refresh(first.refresh_token)).json.data
      assert.deepStrictEqual(Object.keys(second), [
        "access_token",
        "token_type",
        "expires_in",
        "refresh_token",
        "refresh_expires_in"
      ])
      const third = (yield* refresh(second.refresh_token)).json.data
      assert.strictEqual((yield* who(third.access_token)).json.merchant, first.merchant.id)
      assert.strictEqual(codeOf(yield* refresh(first.refresh_token)), "401 REFRESH_REUSED")
      yield* TestClock.adjust("2 seconds")
      for (const { access_token } of [first, second, third]) {
        assert.strictEqual(codeOf(yield* who(access_token)), "401 TOKEN_INVALID")
      }
      assert.strictEqual(codeOf(yield* refresh(third.refresh_token)), "401 TOKEN_INVALID")
      assert.strictEqual(codeOf(yield* refresh(second.refresh_token)), "401 REFRESH_REUSED")
    }))

  it.effect("ends by itself: its access token after 15 minutes, its refresh token after 30 days", () =>
    Effect.gen(function*() {
      const { access_token, refresh_token } = yield* session()
      yield* TestClock.adjust("899 seconds")
      assert.strictEqual((yield* who(access_token)).status, 200)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(codeOf(yield* who(access_token)), "401 TOKEN_EXPIRED")
      const next = (yield* refresh(refresh_token)).json.data
      const sql = yield* SqlClient.SqlClient
      const ends = sql<{ id: string; left: bigint }>`SELECT id, expires_at - created_at AS left FROM sign_in_sessions
        ORDER BY created_at DESC, id LIMIT 1`
      const [{ id, left }] = (yield* ends) as readonly [{ id: string; left: bigint }]
      // Rotated 900 s after it began, and good for 30 days from then.
      assert.strictEqual(Number(left), 900 + 2_592_000)
      yield* sql`UPDATE sign_in_sessions SET expires_at = expires_at - 2592000 WHERE id = ${id}`
      assert.strictEqual(codeOf(yield* refresh(next.refresh_token)), "401 TOKEN_EXPIRED")
    }))

  it.effect("ends by logout, with any of its tokens, and leaves the wallet's other sessions alone", () =>
    Effect.gen(function*() {
      const address = newAddress()
      const one = yield* session(address)
      const two = yield* session(address)
      const three = yield* session(address)
      const rotated = (yield* refresh(two.refresh_token)).json.data
      assert.deepStrictEqual((yield* logout({ refresh_token: one.refresh_token })).json, {
        success: true,
        data: { logged_out: true }
      })
      assert.strictEqual((yield* logout({ refresh_token: two.refresh_token })).status, 200)
      assert.strictEqual((yield* logout({}, rotated.access_token)).status, 200)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(codeOf(yield* who(one.access_token)), "401 TOKEN_INVALID")
      assert.strictEqual(codeOf(yield* who(rotated.access_token)), "401 TOKEN_INVALID")
      assert.strictEqual(codeOf(yield* refresh(one.refresh_token)), "401 TOKEN_INVALID")
      assert.strictEqual((yield* who(three.access_token)).status, 200)
      assert.strictEqual((yield* logout({}, three.access_token)).status, 200)
      assert.strictEqual((yield* logout({ refresh_token: "rt_unknown" })).status, 200)
      assert.strictEqual(codeOf(yield* logout({})), "401 UNAUTHORIZED")
      assert.strictEqual(codeOf(yield* logout({}, "x.y.z")), "401 TOKEN_INVALID")
    }))

  it.effect("is signed out by a restore of the database, with every token", () =>
    Effect.gen(function*() {
      const one = yield* session(newAddress())
      const two = yield* session(newAddress())
      yield* (yield* Restores).perform
      yield* TestClock.adjust("2 seconds")
      for (const { access_token, refresh_token } of [one, two]) {
        assert.strictEqual(codeOf(yield* who(access_token)), "401 TOKEN_INVALID")
        assert.strictEqual(codeOf(yield* refresh(refresh_token)), "401 TOKEN_INVALID")
      }
    }))

  it.effect("is refused for every token that is none of ours", () =>
    Effect.gen(function*() {
      const { access_token, refresh_token } = yield* session()
      const wrong = [
        access_token,
        `rt_${"a".repeat(43)}`,
        refresh_token.toUpperCase(),
        `${refresh_token} `,
        "",
        "rt_",
        "' OR 1=1"
      ]
      for (const token of wrong) assert.strictEqual(codeOf(yield* refresh(token)), "401 TOKEN_INVALID", token)
      assert.strictEqual(codeOf(yield* who(refresh_token)), "401 TOKEN_INVALID")
      assert.strictEqual((yield* refresh(refresh_token)).status, 200)
    }))

  it.effect(`gives way to newer ones of its wallet beyond ${maximumSessions}`, () =>
    Effect.gen(function*() {
      const address = newAddress()
      const oldest = yield* session(address)
      yield* TestClock.adjust("1 second")
      const others = yield* Effect.forEach(Array.from({ length: maximumSessions - 1 }), () => session(address))
      assert.strictEqual((yield* who(oldest.access_token)).status, 200)
      const newest = yield* session(address)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(codeOf(yield* who(oldest.access_token)), "401 TOKEN_INVALID")
      assert.strictEqual(codeOf(yield* refresh(oldest.refresh_token)), "401 TOKEN_INVALID")
      for (const { access_token } of [...others, newest]) assert.strictEqual((yield* who(access_token)).status, 200)
    }))

  it.effect("leaves no secret in the database", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { access_token, refresh_token } = yield* session()
      for (const table of ["refresh_tokens", "sign_in_sessions", "sign_in_wallets"]) {
        const rows = yield* sql.unsafe<{ text: string }>(`SELECT t::text AS text FROM ${table} t`)
        assert.isAbove(rows.length, 0)
        for (const { text } of rows) {
          assert.notInclude(text, refresh_token.slice(3))
          assert.notInclude(text, access_token.split(".")[2]!)
        }
      }
    }))
})

layer(instance())("the wallets of a merchant", (it) => {
  it.effect("are linked by a proof that names the merchant, and sign in for it from then on", () =>
    Effect.gen(function*() {
      const owner = yield* session()
      const further = newAddress()
      const linked = yield* link(owner.access_token, further)
      assert.deepInclude(linked.json.data, {
        object: "sign_in_wallet",
        family: "evm",
        address: further,
        chain_id: null,
        is_own: true,
        last_sign_in_at: null,
        money_from: linked.json.data.linked_at
      })
      assert.strictEqual((yield* session(further)).merchant.id, owner.merchant.id)
      assert.strictEqual((yield* link(owner.access_token, further)).json.data.id, linked.json.data.id)
      const list = (yield* walletsOf(owner.access_token)).json.data
      assert.deepStrictEqual([list.object, list.has_more, list.data.length], ["list", false, 2])
      const elsewhere = yield* session()
      assert.strictEqual(codeOf(yield* link(elsewhere.access_token, further)), "409 WALLET_LINKED_ELSEWHERE")
    }))

  it.effect("are never linked by a message for a sign-in, nor signed in by one for a link, nor by another merchant's", () =>
    Effect.gen(function*() {
      const owner = yield* session()
      const thief = yield* session()
      const address = newAddress()
      const post = (path: string, token: string, body: unknown) =>
        call(path, { body, headers: { authorization: `Bearer ${token}` } })
      const signInMessage = (yield* nonce(address)).json.data.message
      const signed = { message: signInMessage, signature: sign(address, signInMessage) }
      assert.strictEqual(codeOf(yield* post("/api/v1/auth/wallets", thief.access_token, signed)), "401 NONCE_INVALID")
      const issued = yield* post("/api/v1/auth/wallets/nonce", owner.access_token, { address, network: "base" })
      const { message } = issued.json.data
      assert.include(message, `Link this wallet to merchant ${owner.merchant.id}.`)
      const proof = { message, signature: sign(address, message) }
      assert.strictEqual(codeOf(yield* verify(proof.message, proof.signature)), "401 NONCE_INVALID")
      assert.strictEqual(codeOf(yield* post("/api/v1/auth/wallets", thief.access_token, proof)), "401 NONCE_INVALID")
      assert.strictEqual((yield* post("/api/v1/auth/wallets", owner.access_token, proof)).status, 200)
      assert.strictEqual(codeOf(yield* post("/api/v1/auth/wallets", owner.access_token, proof)), "401 NONCE_INVALID")
    }))

  it.effect("lose their sessions with their link; the last one stays, and another merchant's is as unknown", () =>
    Effect.gen(function*() {
      const owner = yield* session()
      const further = newAddress()
      const { id } = (yield* link(owner.access_token, further)).json.data
      const theirs = yield* session(further)
      const stranger = yield* session()
      const unknown = yield* unlink(stranger.access_token, "siw_00000000-0000-8000-8000-000000000000")
      const foreign = yield* unlink(stranger.access_token, id)
      assert.strictEqual(codeOf(foreign), "404 NOT_FOUND")
      assert.deepStrictEqual({ ...foreign.json.error, request_id: "" }, { ...unknown.json.error, request_id: "" })
      assert.strictEqual((yield* unlink(owner.access_token, id)).status, 200)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(codeOf(yield* who(theirs.access_token)), "401 TOKEN_INVALID")
      assert.strictEqual(codeOf(yield* refresh(theirs.refresh_token)), "401 TOKEN_INVALID")
      assert.strictEqual((yield* who(owner.access_token)).status, 200)
      const [last] = (yield* walletsOf(owner.access_token)).json.data.data
      assert.strictEqual(codeOf(yield* unlink(owner.access_token, last.id)), "409 INVALID_TRANSITION")
      assert.strictEqual(codeOf(yield* unlink(owner.access_token, id)), "404 NOT_FOUND")
      assert.isTrue((yield* session(further)).merchant.created)
    }))

  it.effect("are its own addresses for as long as they are linked, and nobody else's", () =>
    Effect.gen(function*() {
      const { linkedOf, merchantsOf } = yield* LinkedWallets
      const owner = yield* session()
      const stranger = yield* session()
      const further = newAddress()
      const { id } = (yield* link(owner.access_token, further)).json.data
      const contract = newAddress()
      const { merchant } = (yield* signIn(contract, "contract")).json.data
      const found = (merchantId: number) =>
        Effect.map(linkedOf(merchantId, "base", [further, contract, newAddress()]), (all) => [...all])
      assert.deepStrictEqual(yield* found(owner.merchant.id), [further])
      assert.deepStrictEqual(yield* found(merchant.id), [contract])
      assert.deepStrictEqual(yield* found(stranger.merchant.id), [])
      const holders = (address: string) => Effect.map(merchantsOf("base", address), (all) => [...all])
      assert.deepStrictEqual(yield* holders(further), [owner.merchant.id])
      assert.deepStrictEqual(yield* holders(contract), [merchant.id])
      assert.deepStrictEqual(yield* holders(newAddress()), [])
      yield* unlink(owner.access_token, id)
      assert.deepStrictEqual(yield* found(owner.merchant.id), [])
      assert.deepStrictEqual(yield* holders(further), [])
    }))

  it.effect(`are at most ${maximumWallets}`, () =>
    Effect.gen(function*() {
      const owner = yield* session()
      for (let linked = 1; linked < maximumWallets; linked++) {
        assert.strictEqual((yield* link(owner.access_token, newAddress())).status, 200)
      }
      assert.strictEqual(codeOf(yield* link(owner.access_token, newAddress())), "409 WALLET_LIMIT_REACHED")
    }))
})

layer(instance({ environments: ["devnet", "mainnet"], signup: "open" }))("calls that name no environment", (it) => {
  it.effect("act in a new default of their merchant within 2 s, whichever tokens were used before", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const address = newAddress()
      const [one, two] = [yield* session(address), yield* session(address)]
      assert.strictEqual((yield* who(one.access_token)).json.environment, "devnet")
      yield* sql`UPDATE merchants SET default_environment = 'mainnet' WHERE id = ${one.merchant.id}`
      yield* TestClock.adjust("1900 millis")
      assert.strictEqual((yield* who(two.access_token)).json.environment, "mainnet")
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* who(one.access_token)).json.environment, "mainnet")
    }))
})

layer(instance({ environments: ["mainnet", "devnet"] }))("sign-up", (it) => {
  it.effect("is closed by default where mainnet is served, and an unknown wallet may try its message again once linked", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const address = newAddress()
      const { message } = (yield* nonce(address)).json.data
      assert.include(message, "\"chainId\":\"8453\"")
      assert.strictEqual(codeOf(yield* verify(message, sign(address, message))), "403 SIGNUP_CLOSED")
      assert.strictEqual((yield* sql`SELECT 1 FROM merchants`).length, 0)
      assert.isUndefined(yield* (yield* Merchants).read(1))
    }))
})
