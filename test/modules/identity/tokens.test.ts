/**
 * Goal: an access token is what the published keys say it is, and no other text opens anything (attacks D34 to D40).
 * Method: tokens are made by hand, most of them under the real private key, which no attacker has: then nothing but the
 * one thing that is wrong with them can be what refuses them.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { createLocalJWKSet, jwtVerify } from "jose"
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign as signBytes,
  verify as verifyBytes
} from "node:crypto"
import { fromMasters } from "../../../runtime/Secrets.ts"
import { PayorTickets } from "../../../runtime/sockets/PayorTicket.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { call, codeOf, instance, logout, masters, session, start, who } from "./Deployment.ts"

const base64 = (value: string | Uint8Array) => Buffer.from(value).toString("base64url")

const partsOf = (token: string) => {
  const [header = "", payload = "", signature = ""] = token.split(".")
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
  return { header: read(header), payload: read(payload), signed: `${header}.${payload}`, signature }
}

const ed25519Seed = Buffer.from("302e020100300506032b657004220420", "hex")

/** The deployment's private key. */
const privateKey: Effect.Effect<KeyObject> = Effect.map(Effect.orDie(fromMasters(masters)), ({ keys }) => {
  const seed = Buffer.from(hkdfSync("sha256", keys("jwt")[0].key, Buffer.alloc(0), "tillwire/jwt/ed25519", 32))
  return createPrivateKey({ key: Buffer.concat([ed25519Seed, seed]), format: "der", type: "pkcs8" })
})

/** A token of exactly these texts, signed with `key`. */
const signedText = (header: string, payload: string, key: KeyObject) => {
  const signed = `${base64(header)}.${base64(payload)}`
  return `${signed}.${base64(signBytes(null, Buffer.from(signed), key))}`
}

const keySet = Effect.map(call("/.well-known/jwks.json"), (answer) => answer)

layer(instance())("an access token", (it) => {
  it.effect("is checked by anyone with the published keys, and says exactly whose it is and for how long", () =>
    Effect.gen(function*() {
      const { access_token, merchant } = yield* session()
      const set = yield* keySet
      assert.strictEqual(set.headers.get("cache-control"), "public, max-age=300")
      assert.strictEqual(set.json.keys.length, 1)
      const [key] = set.json.keys
      assert.deepStrictEqual(Object.keys(key), ["kty", "crv", "x", "kid", "use", "alg"])
      const { header, payload, signature, signed } = partsOf(access_token)
      assert.deepStrictEqual(header, { alg: "EdDSA", typ: "at+jwt", kid: key.kid })
      const publicKey = createPublicKey({ key: { kty: key.kty, crv: key.crv, x: key.x }, format: "jwk" })
      assert.isTrue(verifyBytes(null, Buffer.from(signed), publicKey, Buffer.from(signature, "base64url")))
      const { jti, sid, wallet, ...rest } = payload
      assert.match(jti, /^[0-9a-f-]{36}$/)
      assert.match(sid, /^ses_[0-9a-f-]{36}$/)
      assert.match(wallet, /^siw_[0-9a-f-]{36}$/)
      assert.deepStrictEqual(rest, {
        roles: ["merchant"],
        iss: "http://till.test",
        aud: "api",
        sub: `merchant:${merchant.id}`,
        iat: rest.iat,
        exp: rest.iat + 900
      })
      const verified = yield* Effect.promise(() =>
        jwtVerify(access_token, createLocalJWKSet(set.json), {
          issuer: "http://till.test",
          audience: "api",
          typ: "at+jwt",
          currentDate: new Date(rest.iat * 1000)
        })
      )
      assert.strictEqual(verified.payload.sub, `merchant:${merchant.id}`)
      assert.strictEqual((yield* who(access_token)).json.merchant, merchant.id)
    }))

  it.effect("with any claim or header of its own wrong is refused, although the key is right", () =>
    Effect.gen(function*() {
      const { access_token } = yield* session()
      const other = yield* session()
      const key = yield* privateKey
      const { header, payload } = partsOf(access_token)
      const mint = (claims: object, headers: object = {}) =>
        signedText(JSON.stringify({ ...header, ...headers }), JSON.stringify({ ...payload, ...claims }), key)
      assert.strictEqual((yield* who(mint({}))).status, 200)
      yield* TestClock.adjust("1 second")
      const { iat } = payload
      const claims: ReadonlyArray<object> = [
        { nbf: iat + 600 },
        { nbf: "0" },
        { exp: undefined },
        { exp: String(iat + 900) },
        { exp: null },
        { exp: iat + 901 },
        { exp: iat + 899.5 },
        { iat: undefined },
        { iat: String(iat) },
        { iat: iat - 10, exp: iat + 895 },
        { jti: undefined },
        { aud: "ws.payment" },
        { aud: undefined },
        { aud: [] },
        { aud: "API" },
        { iss: "https://evil.example" },
        { iss: undefined },
        { iss: "http://till.test/" },
        { sub: undefined },
        { sub: "merchant:0" },
        { sub: "merchant:1e3" },
        { sub: "merchant:-1" },
        { sub: " merchant:1" },
        { sub: "merchant:99999999999" },
        { sub: `merchant:${other.merchant.id}` },
        { sub: 1 },
        { sid: undefined },
        { sid: `ses_${randomUUID()}` },
        { sid: 1 },
        { sid: "' OR 1=1" },
        { wallet: undefined }
      ]
      for (const claim of claims) {
        assert.strictEqual(codeOf(yield* who(mint(claim))), "401 TOKEN_INVALID", JSON.stringify(claim))
      }
      const headers: ReadonlyArray<object> = [
        { typ: "JWT" },
        { typ: undefined },
        { typ: "rt+jwt" },
        { kid: undefined },
        { kid: "../../dev/null" },
        { kid: "' OR 1=1" },
        { kid: "__proto__" },
        { kid: ["x"] },
        { alg: "HS256" },
        { alg: "none" },
        { alg: "ES256" },
        { alg: undefined },
        { crit: ["x"], x: 1 }
      ]
      for (const one of headers) {
        assert.strictEqual(codeOf(yield* who(mint({}, one))), "401 TOKEN_INVALID", JSON.stringify(one))
      }
      const infinite = JSON.stringify({ ...payload, exp: 0 }).replace("\"exp\":0", "\"exp\":1e400")
      assert.strictEqual(codeOf(yield* who(signedText(JSON.stringify(header), infinite, key))), "401 TOKEN_INVALID")
      assert.strictEqual(codeOf(yield* who(mint({ iat: iat - 900, exp: iat }))), "401 TOKEN_EXPIRED")
    }))

  it.effect("that was never signed, or with a key of the attacker's choice, is refused, and no key is fetched", () =>
    Effect.gen(function*() {
      const { access_token } = yield* session()
      const { header, payload, signed, signature } = partsOf(access_token)
      const body = base64(JSON.stringify(payload))
      const forged: Array<string> = []
      for (const alg of ["none", "None", "nOnE", "NONE"]) {
        const head = base64(JSON.stringify({ ...header, alg }))
        forged.push(`${head}.${body}.`, `${head}.${body}.${signature}`, `${head}.${body}`)
      }
      const [published] = (yield* keySet).json.keys
      const publicKey = createPublicKey({ key: published, format: "jwk" })
      const secrets = [
        Buffer.from(published.x, "base64url"),
        published.x,
        publicKey.export({ type: "spki", format: "pem" }),
        publicKey.export({ type: "spki", format: "der" }),
        JSON.stringify(published)
      ]
      for (const alg of ["HS256", "hs256", "EdDSA"]) {
        const text = `${base64(JSON.stringify({ ...header, alg }))}.${body}`
        for (const secret of secrets) {
          forged.push(`${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`)
        }
      }
      const mallory = generateKeyPairSync("ed25519")
      const jwk = mallory.publicKey.export({ format: "jwk" })
      const lures: ReadonlyArray<object> = [
        {},
        { jwk },
        { jwk, kid: undefined },
        { jku: "http://127.0.0.1:1/keys", kid: "mallory" },
        { x5u: "http://127.0.0.1:1/x" },
        { kid: "/dev/null" },
        { x5c: ["MIIB"] }
      ]
      for (const lure of lures) {
        forged.push(signedText(JSON.stringify({ ...header, ...lure }), JSON.stringify(payload), mallory.privateKey))
      }
      for (let at = 0; at < signature.length - 1; at += 7) {
        forged.push(`${signed}.${signature.slice(0, at)}${signature[at] === "A" ? "B" : "A"}${signature.slice(at + 1)}`)
      }
      forged.push(
        `${signed}.`,
        signed,
        "a.b.c",
        "..",
        ".",
        "x",
        `${access_token}.x`,
        `${access_token}=`,
        signature,
        `e30.e30.${signature}`
      )
      for (const token of forged) assert.strictEqual(codeOf(yield* who(token)), "401 TOKEN_INVALID", token)
      for (const length of [2_049, 65_536]) {
        assert.strictEqual(codeOf(yield* who(access_token.padEnd(length, "A"))), "401 TOKEN_INVALID")
      }
      assert.strictEqual((yield* who(access_token)).status, 200)
    }))

  it.effect("is no payor's ticket, and a ticket is none", () =>
    Effect.gen(function*() {
      const { access_token } = yield* session()
      const { token } = yield* PayorTickets.mint({ invoiceId: randomUUID(), merchantId: 1 })
      assert.strictEqual(codeOf(yield* who(token)), "401 TOKEN_INVALID")
      assert.strictEqual((yield* Effect.flip(PayorTickets.check(access_token))).code, "TOKEN_INVALID")
    }))
})

describe("the keys of access tokens", () => {
  it.effect("follow the masters: the newest signs, every one still configured checks, and a removed one ends its tokens", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const [old] = masters
      // Two masters in 256 share an id and are refused together: another one is drawn.
      const fresh = yield* Effect.retry(
        Effect.suspend(() => {
          const drawn = randomBytes(32)
          return Effect.as(fromMasters([drawn, old]), drawn)
        }),
        { times: 20 }
      )
      const before = yield* start({}, database, [old])
      const both = yield* start({}, database, [fresh, old])
      const after = yield* start({}, database, [fresh])
      const first = yield* Effect.provide(session(), before)
      const second = yield* Effect.provide(session(), both)
      const kids = yield* Effect.provide(
        Effect.map(keySet, ({ json }) => json.keys.map((key: { kid: string }) => key.kid)),
        both
      )
      assert.deepStrictEqual([second, first].map(({ access_token }) => partsOf(access_token).header.kid), kids)
      for (const { access_token } of [first, second]) {
        assert.strictEqual((yield* Effect.provide(who(access_token), both)).status, 200)
      }
      assert.strictEqual((yield* Effect.provide(who(second.access_token), after)).status, 200)
      assert.strictEqual(codeOf(yield* Effect.provide(who(first.access_token), after)), "401 TOKEN_INVALID")
      assert.strictEqual(codeOf(yield* Effect.provide(who(second.access_token), before)), "401 TOKEN_INVALID")
      yield* Effect.provide(logout({ refresh_token: first.refresh_token }), both)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(codeOf(yield* Effect.provide(who(first.access_token), both)), "401 TOKEN_INVALID")
    }))
})
