/**
 * Goal: only a token we signed for this use opens anything, and only the wallet's own signature under our own message
 * gets one.
 * Method: attack group D, each case by its number, against a running service; tokens forged with `jose`, messages
 * written and signed with `viem`.
 */
import { assert, layer } from "@effect/vitest"
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { Effect } from "effect"
import { exportJWK, generateKeyPair, importJWK, SignJWT } from "jose"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { exchange, type TestResponse, until } from "../../support/Service.ts"
import { timed } from "../../support/Stopwatch.ts"
import { assertStatus } from "../Shop.ts"
import { ask, signIn, Tenants, tenants } from "../Tenants.ts"
import { assertHarmless, attack } from "./Assertions.ts"

const events = "/api/v1/events"

const codeOf = ({ json }: TestResponse) => json?.error?.code

const withToken = (token: string) =>
  Effect.flatMap(Tenants, ({ service }) => attack(service, events, { headers: { authorization: `Bearer ${token}` } }))

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

const decoded = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString("utf8"))

/** A good token's parts. */
const parts = Effect.map(Tenants, ({ a }) => {
  const [header, payload, signature] = a.jwt["authorization"]!.slice("Bearer ".length).split(".") as [
    string,
    string,
    string
  ]
  return { header: decoded(header), payload: decoded(payload), text: { header, payload, signature } }
})

const refuseAll = Effect.fnUntraced(function*(tokens: Readonly<Record<string, string>>) {
  for (const [what, token] of Object.entries(tokens)) {
    const answer = yield* withToken(token)
    assert.deepStrictEqual([what, answer.status], [what, 401], answer.text)
    assert.include(["TOKEN_INVALID", "TOKEN_EXPIRED"], codeOf(answer))
  }
})

const fresh = () => privateKeyToAccount(generatePrivateKey())

const askNonce = Effect.fnUntraced(function*(address: string) {
  const { service } = yield* Tenants
  const asked = yield* attack(service, "/api/v1/auth/nonce", { body: { address, network: "base" } })
  return assertStatus(200, asked).data as { readonly nonce: string; readonly message: string }
})

const verify = (body: object) =>
  Effect.flatMap(Tenants, ({ service }) => attack(service, "/api/v1/auth/verify", { body }))

const signed = (account: ReturnType<typeof fresh>, message: string) =>
  Effect.promise(() => account.signMessage({ message }))

layer(tenants, { excludeTestServices: true })("attack group D, tokens and sign-in", (it) => {
  it.effect("D34 a token without a signature is none, however its algorithm is spelled", () =>
    Effect.gen(function*() {
      const { payload, text } = yield* parts
      yield* refuseAll(Object.fromEntries(["none", "None", "nOnE", "NONE", ""].flatMap((alg) => [
        [`${alg} unsigned`, `${encoded({ alg, typ: "JWT" })}.${encoded(payload)}.`],
        [`${alg} with the old signature`, `${encoded({ alg, typ: "JWT" })}.${encoded(payload)}.${text.signature}`]
      ])))
    }))

  it.effect("D35 the public key is not a secret to sign with", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const { header, payload } = yield* parts
      const { keys: [jwk] } = assertStatus(200, yield* service.call("/.well-known/jwks.json"))
      const secrets = [Buffer.from(jwk.x, "base64url"), Buffer.from(JSON.stringify(jwk)), Buffer.from(jwk.x)]
      const forged = yield* Effect.forEach(secrets, (secret) =>
        Effect.promise(() =>
          new SignJWT(payload).setProtectedHeader({ ...header, alg: "HS256" }).sign(secret)
        ))
      yield* refuseAll(Object.fromEntries(forged.map((token, place) => [`HS256 ${place}`, token])))
    }))

  it.effect("D36 a key that the token brings along, or points to, is never used nor fetched", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const { header, payload } = yield* parts
      const own = yield* Effect.promise(() => generateKeyPair("EdDSA", { extractable: true }))
      const jwk = yield* Effect.promise(() => exportJWK(own.publicKey))
      const headers: ReadonlyArray<object> = [
        {},
        { jwk },
        { kid: "../../dev/null" },
        { kid: "' OR 1=1 --" },
        { kid: "" },
        { kid: "k".repeat(5_000) },
        { jku: `${service.url}/health/live` },
        { x5u: `${service.url}/health/live` },
        { crit: ["exp"] }
      ]
      const forged = yield* Effect.forEach(
        headers,
        (more) =>
          Effect.promise(() =>
            new SignJWT(payload).setProtectedHeader({ ...header, ...more, alg: "EdDSA" } as never).sign(own.privateKey)
          ).pipe(Effect.catchDefect(() => Effect.succeed("")))
      )
      yield* refuseAll(
        Object.fromEntries(forged.filter((token) => token !== "").map((token, place) => [`${place}`, token]))
      )
    }))

  it.effect("D37 D38 a token of ours whose claims were touched, or that was made for something else, is refused", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const { header, payload, text } = yield* parts
      const touched = [
        { exp: 1 },
        { exp: undefined },
        { exp: "9999999999" },
        { nbf: 9_999_999_999 },
        { aud: "ws.payment" },
        { iss: "evil" },
        { sub: "merchant:1" }
      ].map((change) => `${text.header}.${encoded({ ...payload, ...change })}.${text.signature}`)
      const made = assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } })
      )
      const { tokens } = assertStatus(200, yield* ask(service, a.merchant, "/api/v1/merchant/tokens"))
      const usdc = tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC")
      const address = assertStatus(
        200,
        yield* service.call("/api/v1/payments/payment-addresses", {
          headers: made.payment_session_headers,
          body: { network: "base", token_id: usdc.id }
        })
      )
      yield* refuseAll({
        ...Object.fromEntries(touched.map((token, place) => [`touched ${place}`, token])),
        "with a huge exp": `${text.header}.${
          Buffer.from(JSON.stringify({ ...payload, exp: 0 }).replace("\"exp\":0", "\"exp\":1e400")).toString(
            "base64url"
          )
        }.${text.signature}`,
        "a payor's socket token": address.ws_connection.token,
        "a refresh token": a.refreshToken,
        "a payment session": made.session_token,
        "two tokens": `${text.header}.${text.payload}.${text.signature}.${text.signature}`,
        "another type": `${encoded({ ...header, typ: "refresh" })}.${text.payload}.${text.signature}`
      })
    }))

  it.effect("D39 a token of 64 kB is refused before it costs anything", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const token = `${"a".repeat(32_768)}.${"b".repeat(32_768)}.c`
      const answer = yield* exchange(service.url, events, { headers: { authorization: `Bearer ${token}` } })
      assert.include([401, 431], assertHarmless(answer, "D39").status)
      const mid = yield* withToken(`${"a".repeat(3_000)}.${"b".repeat(3_000)}.c`)
      assert.strictEqual(mid.status, 401)
    }))

  it.effect("D40 a token after logout is refused within 5 s, and its refresh token at once", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const session = yield* signIn(service, fresh())
      const use = attack(service, events, { headers: { authorization: `Bearer ${session.access_token}` } })
      assert.strictEqual((yield* use).status, 200)
      assertStatus(
        200,
        yield* attack(service, "/api/v1/auth/logout", { body: { refresh_token: session.refresh_token } })
      )
      const refreshed = yield* attack(service, "/api/v1/auth/refresh", {
        body: { refresh_token: session.refresh_token }
      })
      assert.strictEqual(refreshed.status, 401)
      const { millis } = yield* timed(until("the token is refused", use, ({ status }) => status === 401))
      assert.isBelow(millis, 5_000)
    }))

  it.effect("D41 D43 D47 a message that is not ours, letter for letter, is refused however well it is signed", () =>
    Effect.gen(function*() {
      const account = fresh()
      const { message, nonce } = yield* askNonce(account.address)
      const domain = message.split(" wants you")[0]!
      const changes: ReadonlyArray<readonly [string, string]> = [
        ["another domain", message.replace(domain, "evil.example")],
        ["another uri", message.replace(/URI: .*/, "URI: https://evil.example")],
        ["another chain", message.replace(/Chain ID: \d+/, "Chain ID: 1")],
        ["another version", message.replace("Version: 1", "Version: 2")],
        ["expired", message.replace(/Expiration Time: .*/, "Expiration Time: 2020-01-01T00:00:00.000Z")],
        ["no expiry", message.replace(/\nExpiration Time: .*/, "")],
        ["not yet valid", `${message}\nNot Before: 2999-01-01T00:00:00.000Z`],
        [
          "our nonce as a resource",
          `${message.replace(nonce, "f".repeat(nonce.length))}\nResources:\n- nonce:${nonce}`
        ],
        ["a statement with a nonce in it", message.replace("\n\nURI:", `\nNonce: ${nonce}\n\nURI:`)],
        ["a space more", `${message} `],
        ["other line ends", message.replaceAll("\n", "\r\n")]
      ]
      for (const [what, text] of changes) {
        if (text === message) assert.fail(`${what}: the change changes nothing`)
        const answer = yield* verify({ message: text, signature: yield* signed(account, text) })
        assert.deepStrictEqual([what, answer.status], [what, 401], answer.text)
      }
      assert.strictEqual((yield* verify({ message, signature: yield* signed(account, message) })).status, 200)
    }))

  it.effect("D42 a nonce opens one session: not twice, not unasked, not for 100 at once", () =>
    Effect.gen(function*() {
      const account = fresh()
      const { message } = yield* askNonce(account.address)
      const signature = yield* signed(account, message)
      const answers = yield* Effect.forEach(Array.from({ length: 100 }), () => verify({ message, signature }), {
        concurrency: 100
      })
      assert.lengthOf(answers.filter(({ status }) => status === 200), 1)
      assert.isTrue(answers.every((answer) => answer.status === 200 || codeOf(answer) === "NONCE_INVALID"))
      assert.strictEqual(codeOf(yield* verify({ message, signature })), "NONCE_INVALID")
      const unasked = message.replace(/Nonce: \w+/, `Nonce: ${"0".repeat(32)}`)
      assert.strictEqual(
        codeOf(yield* verify({ message: unasked, signature: yield* signed(account, unasked) })),
        "NONCE_INVALID"
      )
    }))

  it.effect("D44 the mirrored signature of a used message opens nothing, nor that of a new one", () =>
    Effect.gen(function*() {
      const account = fresh()
      const mirrored = (signature: string) => {
        const s = BigInt(`0x${signature.slice(66, 130)}`)
        const high = (secp256k1.Point.Fn.ORDER - s).toString(16).padStart(64, "0")
        return `${signature.slice(0, 66)}${high}${signature.endsWith("1b") ? "1c" : "1b"}`
      }
      const { message } = yield* askNonce(account.address)
      const signature = yield* signed(account, message)
      assert.strictEqual(codeOf(yield* verify({ message, signature: mirrored(signature) })), "SIGNATURE_INVALID")
      const again = yield* askNonce(account.address)
      const good = yield* signed(account, again.message)
      assert.strictEqual((yield* verify({ message: again.message, signature: good })).status, 200)
      assert.strictEqual(codeOf(yield* verify({ message: again.message, signature: mirrored(good) })), "NONCE_INVALID")
    }))

  it.effect("D45 an address in other letters is the same account; a wrong checksum is none", () =>
    Effect.gen(function*() {
      // It has letters of both cases: a changed letter that leaves only one makes an address without a checksum.
      const account = privateKeyToAccount(`0x${"45".repeat(32)}`)
      const { service } = yield* Tenants
      const first = yield* signIn(service, account)
      const lower = yield* askNonce(account.address.toLowerCase())
      const signature = yield* signed(account, lower.message)
      const second = assertStatus(200, yield* verify({ message: lower.message, signature })).data
      assert.deepStrictEqual([second.merchant.id, second.merchant.created], [first.merchant.id, false])
      const letter = account.address.slice(2).search(/[a-f]/i) + 2
      const swapped = account.address.slice(0, letter) +
        (account.address[letter] === account.address[letter]!.toLowerCase()
          ? account.address[letter]!.toUpperCase()
          : account.address[letter]!.toLowerCase()) +
        account.address.slice(letter + 1)
      const wrong = yield* attack(service, "/api/v1/auth/nonce", { body: { address: swapped, network: "base" } })
      assert.deepStrictEqual([wrong.status, codeOf(wrong)], [400, "WALLET_ADDRESS_INVALID"])
    }))

  it.effect("D46 a contract's signature where no chain can be asked is refused in words, and soon", () =>
    Effect.gen(function*() {
      const { message } = yield* askNonce(fresh().address)
      const { answer, millis } = yield* timed(verify({ message, signature: `0x${"ab".repeat(200)}` }))
      assert.isBelow(millis, 5_000)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [401, "SIGNATURE_INVALID"])
    }))

  it.effect("the published key verifies our tokens, by code that is not ours", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const { header } = yield* parts
      const { keys } = assertStatus(200, yield* service.call("/.well-known/jwks.json"))
      const jwk = keys.find(({ kid }: any) => kid === header.kid)
      assert.notProperty(jwk, "d")
      const { jwtVerify } = yield* Effect.promise(() => import("jose"))
      const key = yield* Effect.promise(() => importJWK(jwk, "EdDSA"))
      const { payload } = yield* Effect.promise(() =>
        jwtVerify(a.jwt["authorization"]!.slice(7), key as never, { audience: "api", algorithms: ["EdDSA"] })
      )
      assert.strictEqual(payload.sub, `merchant:${a.merchantId}`)
    }))
})
