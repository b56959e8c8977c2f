/**
 * Goal: a session that was stolen or left open lets no real money go, and gives nobody a way to it. Method: sessions
 * and tokens of people call what takes a fresh proof, before and after its five minutes, which pass by turning the
 * dates of sign-ins back.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TeamSignIn } from "../../../modules/team/plugin.ts"
import { rights, takesFreshProof } from "../../../schemas/Roles.ts"
import { Api } from "../../support/Api.ts"
import { register } from "../../support/Authenticator.ts"
import {
  callAs,
  codeAs,
  codeOf,
  instance,
  linkWallet,
  newAddress,
  newMerchant,
  post,
  publicUrl,
  sign,
  signInByLink,
  walletToken
} from "./Deployment.ts"

const minutes = 60

/** All sign-ins are older by so much. */
const age = Effect.fnUntraced(function*(seconds: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE team_sessions SET fresh_until = fresh_until - ${seconds}::bigint`
  yield* sql`UPDATE sign_in_sessions SET created_at = created_at - ${seconds}::bigint`
})

describe("a fresh proof", () => {
  it("is taken of what lets real money go or gives a way to it, and of what a merchant has once", () => {
    const taking = (environment: "devnet" | "mainnet") => rights.filter((right) => takesFreshProof(right, environment))
    assert.sameMembers([...taking("mainnet")], [
      "batches:approve",
      "books:write",
      "keys:write",
      "refunds:approve",
      "rules:approve",
      "rules:write",
      "team:write",
      "wallets:write"
    ])
    assert.sameMembers([...taking("devnet")], ["rules:approve", "rules:write", "team:write"])
  })
})

layer(instance(["devnet", "mainnet"]))("people who signed in a while ago", (it) => {
  it.effect("do what takes a fresh proof for five minutes, and all else after them", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const invite = codeAs(owner.session, merchant, "POST", "/team/invitations", { role: "viewer" })
      const newKey = (environment: string) =>
        codeAs(owner.session, merchant, "POST", "/api-keys", { name: "k", scope: "merchant", environment })
      yield* age(4 * minutes)
      assert.strictEqual(yield* invite, "200")
      yield* age(minutes)
      const refused = yield* callAs(owner.session, merchant, "POST", "/team/invitations", { role: "viewer" })
      assert.strictEqual(refused.status, 403)
      assert.deepInclude(refused.body.error, { code: "FRESH_PROOF_REQUIRED" })
      assert.include(refused.body.error.message, "passkey")
      assert.strictEqual(refused.body.error.details.fresh_seconds, 300)
      assert.strictEqual(yield* newKey("mainnet"), "403 FRESH_PROOF_REQUIRED")
      assert.strictEqual(yield* codeAs(owner.session, merchant, "GET", "/team/members"), "200")
      assert.strictEqual(yield* codeAs(owner.session, merchant, "GET", "/audit-log"), "200")
    }))

  it.effect("add no passkey, no wallet and no recovery codes, by which they could prove anything later", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      yield* linkWallet(owner.session, merchant, newAddress())
      const address = newAddress()
      const nonce = yield* callAs(owner.session, merchant, "POST", "/auth/wallets/nonce", { address, network: "base" })
      const { message } = nonce.body.data
      yield* age(5 * minutes)
      assert.strictEqual(
        yield* codeAs(owner.session, merchant, "POST", "/auth/wallets", { message, signature: sign(address, message) }),
        "403 FRESH_PROOF_REQUIRED"
      )
      assert.strictEqual(
        yield* codeAs(owner.session, merchant, "POST", "/team/recovery-codes"),
        "403 FRESH_PROOF_REQUIRED"
      )
      const { addPasskey, newPasskeyOptions } = yield* TeamSignIn
      const { answer } = register(yield* newPasskeyOptions(owner.session), publicUrl)
      const added = yield* Effect.flip(addPasskey(owner.session, "Thief's", answer))
      assert.strictEqual(added.code, "FRESH_PROOF_REQUIRED")
      assert.strictEqual(yield* codeAs(owner.session, merchant, "GET", "/team/passkeys"), "200")
    }))

  it.effect("with a wallet's token: a refreshed one is as old as its sign-in, and a new sign-in is fresh", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      const address = newAddress()
      yield* linkWallet(owner.session, merchant, address)
      const { message } = (yield* post("/api/v1/auth/nonce", { address, network: "base" })).json.data
      const first = (yield* post("/api/v1/auth/verify", { message, signature: sign(address, message) })).json.data
      const { call } = yield* Api
      const invite = (token: string) =>
        Effect.map(
          call("/api/v1/team/invitations", {
            body: { role: "viewer" },
            headers: { authorization: `Bearer ${token}` }
          }),
          codeOf
        )
      yield* age(5 * minutes)
      const again = (yield* post("/api/v1/auth/refresh", { refresh_token: first.refresh_token })).json.data
      assert.strictEqual(yield* invite(again.access_token), "403 FRESH_PROOF_REQUIRED")
      assert.strictEqual(yield* invite((yield* walletToken(address))!), "200")
    }))
})

layer(instance(["devnet"]))("a deployment without real money", (it) => {
  it.effect("takes no fresh proof", () =>
    Effect.gen(function*() {
      const merchant = yield* newMerchant
      const owner = yield* signInByLink(merchant)
      yield* age(60 * minutes)
      assert.strictEqual(yield* codeAs(owner.session, merchant, "POST", "/team/invitations", { role: "viewer" }), "200")
    }))
})
