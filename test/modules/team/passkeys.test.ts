/**
 * Goal: a passkey signs in whom it belongs to, once for a question, and no forgery does. Method: an authenticator in
 * software answers as a browser does, and with each part of an answer forged; the verifier is a library that others
 * wrote, so both must agree on the standard.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { generateKeyPairSync, randomBytes } from "node:crypto"
import { type TeamSession, TeamSessions, TeamSignIn } from "../../../modules/team/plugin.ts"
import { assertion, type Circumstances, register } from "../../support/Authenticator.ts"
import { codeAs, dataAs, instance, newColleague, newMerchant, publicUrl, signInByLink } from "./Deployment.ts"

const outcome = <A>(attempt: Effect.Effect<A, { readonly code: string }, never>) =>
  Effect.match(attempt, { onFailure: ({ code }) => code, onSuccess: () => "done" })

/** Adds a passkey to a session's person. */
const newPasskey = Effect.fnUntraced(function*(session: TeamSession, name = "Laptop") {
  const { addPasskey, newPasskeyOptions } = yield* TeamSignIn
  const { answer, credential } = register(yield* newPasskeyOptions(session), publicUrl)
  const passkey = yield* addPasskey(session, name, answer)
  return { credential, passkey }
})

const newOwner = Effect.gen(function*() {
  const merchant = yield* newMerchant
  return { merchant, ...yield* signInByLink(merchant) }
})

layer(instance(["mainnet", "devnet"]))("a passkey", (it) => {
  it.effect("is made in a session and signs its person in, once for each question", () =>
    Effect.gen(function*() {
      const { merchant, session } = yield* newOwner
      const { credential } = yield* newPasskey(session)
      const { byPasskey, passkeyOptions } = yield* TeamSignIn
      const options: any = yield* passkeyOptions
      assert.deepInclude(options, { rpId: "pay.example", userVerification: "required", allowCredentials: [] })
      const answer = assertion(credential, options, publicUrl)
      const opened = yield* byPasskey(answer)
      assert.deepInclude(opened.session, { method: "passkey", person: session.person })
      assert.strictEqual(yield* outcome(byPasskey(answer)), "NONCE_INVALID")
      const { data } = yield* dataAs(opened.session, merchant, "GET", "/team/passkeys")
      assert.deepStrictEqual(data.map(({ name }: any) => name), ["Laptop"])
      assert.isNumber(data[0].last_used_at)
    }))

  it.effect("opens one session among 20 uses of one answer at once", () =>
    Effect.gen(function*() {
      const { session } = yield* newOwner
      const { credential } = yield* newPasskey(session)
      const { byPasskey, passkeyOptions } = yield* TeamSignIn
      const answer = assertion(credential, yield* passkeyOptions, publicUrl)
      const outcomes = yield* Effect.all(Array.from({ length: 20 }, () => outcome(byPasskey(answer))), {
        concurrency: "unbounded"
      })
      assert.lengthOf(outcomes.filter((one) => one === "done"), 1)
    }))

  it.effect("is refused with any part of its answer forged", () =>
    Effect.gen(function*() {
      const { session } = yield* newOwner
      const other = yield* newOwner
      const { credential } = yield* newPasskey(session)
      const { credential: foreign } = yield* newPasskey(other.session)
      const { byPasskey, passkeyOptions } = yield* TeamSignIn
      const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      const challenge = randomBytes(38).toString("base64url")
      const forgeries: Readonly<Record<string, Partial<Circumstances>>> = {
        "another origin": { origin: "https://pay.example.evil" },
        "plain http": { origin: "http://pay.example" },
        "another relying party": { rpId: "evil.example" },
        "a challenge of its own": { challenge },
        "no user verification": { userVerified: false },
        "no user presence": { userPresent: false },
        "another ceremony": { type: "webauthn.create" },
        "another key": { signer: stranger },
        "another person": { userHandle: foreign.userHandle },
        "flags changed after the signature": {
          tamper: (data) => Buffer.concat([data.subarray(0, 32), Buffer.of(0x45), data.subarray(33)])
        },
        "a counter that went back": { counter: 0 }
      }
      // The counter has moved, so that one that goes back is seen.
      yield* byPasskey(assertion(credential, yield* passkeyOptions, publicUrl))
      for (const [what, lies] of Object.entries(forgeries)) {
        const answer = assertion(credential, yield* passkeyOptions, publicUrl, lies)
        assert.include(["SIGNATURE_INVALID", "NONCE_INVALID"], yield* outcome(byPasskey(answer)), what)
      }
      const swapped = { ...assertion(credential, yield* passkeyOptions, publicUrl), id: foreign.id, rawId: foreign.id }
      assert.strictEqual(yield* outcome(byPasskey(swapped)), "SIGNATURE_INVALID")
      for (const nonsense of [null, "x", {}, { ...swapped, response: {} }, { ...swapped, id: "x".repeat(20_000) }]) {
        assert.strictEqual(yield* outcome(byPasskey(nonsense)), "SIGNATURE_INVALID")
      }
      yield* byPasskey(assertion(credential, yield* passkeyOptions, publicUrl))
    }))

  it.effect("is not made by an answer to another question, in another session, or too late", () =>
    Effect.gen(function*() {
      const { merchant, session } = yield* newOwner
      const other = yield* newOwner
      const { addPasskey, newPasskeyOptions, passkeyOptions } = yield* TeamSignIn
      const forOther = register(yield* newPasskeyOptions(other.session), publicUrl).answer
      assert.strictEqual(yield* outcome(addPasskey(session, "x", forOther)), "NONCE_INVALID")
      const forSignIn: any = yield* passkeyOptions
      const options: any = yield* newPasskeyOptions(session)
      const mixed = register(options, publicUrl, { challenge: forSignIn.challenge }).answer
      assert.strictEqual(yield* outcome(addPasskey(session, "x", mixed)), "NONCE_INVALID")
      for (
        const lies of [
          { origin: "https://evil.example" },
          { rpId: "evil.example" },
          { userVerified: false },
          { type: "webauthn.get" }
        ]
      ) {
        const forged = register(yield* newPasskeyOptions(session), publicUrl, lies).answer
        assert.strictEqual(yield* outcome(addPasskey(session, "x", forged)), "SIGNATURE_INVALID")
      }
      const late = register(yield* newPasskeyOptions(session), publicUrl).answer
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(yield* outcome(addPasskey(session, "x", late)), "NONCE_INVALID")
      const stale = register(yield* newPasskeyOptions(session), publicUrl).answer
      assert.strictEqual(yield* outcome(addPasskey(session, "x", stale)), "FRESH_PROOF_REQUIRED")
      const again = yield* signInByLink(merchant)
      const { credential } = yield* newPasskey(again.session)
      const twice: any = yield* newPasskeyOptions(again.session)
      assert.deepStrictEqual(twice.excludeCredentials.map(({ id }: any) => id), [credential.id])
    }))

  it.effect("authenticates within its session, which then has new tokens and no longer life", () =>
    Effect.gen(function*() {
      const { merchant, readToken, session } = yield* newOwner
      const { credential } = yield* newPasskey(session)
      const colleague = yield* newColleague(session, merchant, "admin")
      const { credential: theirs } = yield* newPasskey(colleague.session)
      const { passkeyOptions, refresh, refreshOptions } = yield* TeamSignIn
      const { find } = yield* TeamSessions
      yield* TestClock.adjust("6 minutes")
      const foreign = assertion(theirs, yield* refreshOptions(session), publicUrl)
      assert.strictEqual(yield* outcome(refresh(session, foreign)), "SIGNATURE_INVALID")
      const again = yield* refresh(session, assertion(credential, yield* refreshOptions(session), publicUrl))
      assert.strictEqual(again.session.id, session.id)
      assert.strictEqual(again.session.signedInAt, session.signedInAt)
      assert.strictEqual(again.session.freshUntil, session.freshUntil + 360)
      assert.isNull(yield* find(readToken))
      assert.deepStrictEqual(yield* find(again.readToken), again.session)
      const third = yield* refresh(session, assertion(credential, yield* passkeyOptions, publicUrl))
      assert.notStrictEqual(third.actToken, again.actToken)
      const elsewhere = assertion(credential, yield* refreshOptions(colleague.session), publicUrl)
      assert.strictEqual(yield* outcome(refresh(session, elsewhere)), "NONCE_INVALID")
    }))

  it.effect("waits a day with money on mainnet where its person is no first owner, and as long as its session", () =>
    Effect.gen(function*() {
      const { merchant, session } = yield* newOwner
      const first = yield* newPasskey(session)
      assert.isAtMost(first.passkey.moneyFrom, session.signedInAt)
      const colleague = yield* newColleague(session, merchant, "admin")
      yield* TestClock.adjust("1 minute")
      const { credential, passkey } = yield* newPasskey(colleague.session)
      assert.strictEqual(passkey.moneyFrom, colleague.session.signedInAt + 60 + 86_400)
      const { byPasskey, passkeyOptions } = yield* TeamSignIn
      const opened = yield* byPasskey(assertion(credential, yield* passkeyOptions, publicUrl))
      assert.strictEqual(opened.session.moneyFrom, passkey.moneyFrom)
    }))

  it.effect("is renamed and removed by its person alone, and what it opened ends", () =>
    Effect.gen(function*() {
      const { merchant, session } = yield* newOwner
      const other = yield* newOwner
      const { credential, passkey } = yield* newPasskey(session)
      const path = `/team/passkeys/${passkey.id}`
      assert.strictEqual(yield* codeAs(other.session, other.merchant, "DELETE", path), "404 NOT_FOUND")
      assert.deepInclude(yield* dataAs(session, merchant, "PATCH", path, { name: "Key ring" }), { name: "Key ring" })
      const { byPasskey, passkeyOptions, refresh, refreshOptions } = yield* TeamSignIn
      const { find } = yield* TeamSessions
      const opened = yield* byPasskey(assertion(credential, yield* passkeyOptions, publicUrl))
      const linked = yield* signInByLink(merchant)
      const refreshed = yield* refresh(
        linked.session,
        assertion(credential, yield* refreshOptions(linked.session), publicUrl)
      )
      assert.isNotNull(yield* find(opened.readToken))
      yield* dataAs(session, merchant, "DELETE", path)
      for (const { readToken } of [opened, refreshed]) assert.isNull(yield* find(readToken))
      const answer = assertion(credential, yield* passkeyOptions, publicUrl)
      assert.strictEqual(yield* outcome(byPasskey(answer)), "SIGNATURE_INVALID")
      assert.strictEqual(yield* codeAs(session, merchant, "DELETE", path), "404 NOT_FOUND")
    }))
})
