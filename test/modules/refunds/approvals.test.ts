/**
 * Goal: real money is approved only by a signature of its own of what is approved, and anybody can check it later with
 * nothing but what the API gives. Method: passkeys in software and wallets of viem sign, and lie; the check is the
 * script of the reference, by node:crypto and viem, without the service.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { generateKeyPairSync } from "node:crypto"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { TeamSessions } from "../../../modules/team/plugin.ts"
import { LocalCalls } from "../../../runtime/LocalCalls.ts"
import { type ErasureFact, Invoices } from "../../../modules/invoices/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { approvalScript } from "../../support/ApprovalScript.ts"
import type { Circumstances } from "../../support/Authenticator.ts"
import { callerOf } from "../invoices/InvoiceService.ts"
import { dataAs } from "../team/Deployment.ts"
import {
  addPasskey,
  addWallet,
  approvalService,
  byPasskey,
  byWallet,
  callOn,
  challengeOf,
  endWaits,
  newShop,
  openRefund,
  type Person,
  publicUrl
} from "./ApprovalShop.ts"

const outcomeOf = ({ body, status }: { readonly body: any; readonly status: number }) =>
  status === 200 ? body.data.status as string : `${status} ${body.error.code}`

/** A shop with one refund that two people must approve. */
const waiting = Effect.gen(function*() {
  const shop = yield* newShop
  const { merchant } = shop
  const refund = yield* openRefund(merchant)
  const approve = (person: Pick<Person, "session">, proof?: object, id: string = refund.id) =>
    Effect.map(callOn(person, merchant, id, "/approve", proof === undefined ? {} : { proof }), outcomeOf)
  const ask = (person: Pick<Person, "session">, id: string = refund.id) => challengeOf(person, merchant, id)
  const sign = (person: Person, lies?: Partial<Circumstances>) =>
    Effect.map(ask(person), (challenge) => byPasskey(person, challenge, lies))
  const approvals = Effect.map(callOn(shop.owner, merchant, refund.id, "/approvals"), ({ body }) => body.data.data)
  return { ...shop, refund, approve, approvals, ask, sign }
})

/** Says where a refund goes, as its payor does by a claim link. */
const sendTo = Effect.fnUntraced(function*(merchant: number, id: string, address: string) {
  const caller = callerOf(merchant, "merchant", "mainnet", crypto.randomUUID())
  const { data } = yield* caller.ok(`/api/v1/refunds/${id}/claim-link`, { body: {} })
  const token = new URL(data.claim_url).hash.slice("#t=".length)
  yield* Effect.orDie((yield* Refunds).claim(id, token, { address, memo: null } as never))
})

layer(approvalService)("an approval of real money", (it) => {
  it.effect("is signed by each person, passkey or wallet, and checked by anybody without the service", () =>
    Effect.gen(function*() {
      const { admin, approvals, approve, ask, merchant, owner, refund, sign } = yield* waiting
      const challenge = yield* ask(owner)
      for (
        const line of [
          `Service: ${publicUrl}`,
          `Merchant: ${merchant}`,
          "Environment: mainnet",
          `Refund: ${refund.id}`,
          "Pays: 900.000000 USDC",
          "Units: 900000000",
          "Network: base",
          `To: ${refund.destination_address}`,
          "Amount: 900.000 USD",
          "Approved by: owner",
          `Challenge: ${challenge.id}`
        ]
      ) assert.include(challenge.text.split("\n"), line)
      assert.strictEqual(yield* approve(owner, byPasskey(owner, challenge)), "pending_approval")
      const account = yield* addWallet(admin.session, merchant)
      yield* endWaits
      const second = yield* ask(admin)
      assert.deepStrictEqual(second.wallets, [{ family: "evm", address: account.address, chain_id: null }])
      assert.strictEqual(yield* approve(admin, yield* byWallet(account, second)), "processing")

      // A passkey that was removed, and a wallet that was unlinked, are checked all the same.
      yield* dataAs(owner.session, merchant, "DELETE", `/team/passkeys/${owner.passkey}`)
      const found = yield* approvals
      assert.deepStrictEqual(found.map(({ counts, person }: any) => [counts, person]).toSorted(), [
        [true, "owner"],
        [true, admin.session.person]
      ])
      const check = yield* approvalScript
      for (const approval of found) assert.isTrue(yield* Effect.promise(() => check(approval)), approval.text)
      assert.deepStrictEqual(
        (yield* sign(admin).pipe(Effect.exit))._tag,
        "Failure",
        "nothing is left to be signed of it"
      )
    }).pipe(Effect.scoped))

  it.effect("fails the check with any bit of what was signed changed", () =>
    Effect.gen(function*() {
      const { admin, approvals, approve, ask, merchant, owner, sign } = yield* waiting
      yield* approve(owner, yield* sign(owner))
      const account = yield* addWallet(admin.session, merchant)
      yield* endWaits
      yield* approve(admin, yield* byWallet(account, yield* ask(admin)))
      const check = yield* approvalScript
      const flip = (bytes: Buffer, place: number): Buffer => {
        const copy = Buffer.from(bytes)
        copy[place] = copy[place]! ^ (1 << (place % 8))
        return copy
      }
      const passed: Array<string> = []
      const flipped = (approval: any, name: string, bytes: Buffer, change: (bytes: Buffer) => object) =>
        Effect.forEach(bytes.keys(), (place) =>
          Effect.map(
            Effect.promise(() => check({ ...approval, ...change(flip(bytes, place)) })),
            (isGood) => void (isGood && passed.push(`${approval.signature.type} ${name} ${place}`))
          ), { discard: true })
      for (const approval of yield* approvals) {
        const { signature, text } = approval
        yield* flipped(approval, "text", Buffer.from(text), (bytes) => ({ text: bytes.toString() }))
        for (const [name, value] of Object.entries(signature) as ReadonlyArray<[string, any]>) {
          // A passkey's name is nowhere signed; `type` only says how to check.
          if (name === "credential_id" || name === "type" || value === null) continue
          const isCoded = name === "authenticator_data" || name === "client_data_json" || signature.type === "passkey"
              && name === "signature"
          if (typeof value === "string") {
            yield* flipped(
              approval,
              name,
              isCoded
                ? Buffer.from(value, "base64url")
                : value.startsWith("0x")
                ? Buffer.from(value.slice(2), "hex")
                : Buffer.from(value),
              (bytes) => ({
                signature: {
                  ...signature,
                  [name]: isCoded
                    ? bytes.toString("base64url")
                    : value.startsWith("0x")
                    ? `0x${bytes.toString("hex")}`
                    : bytes.toString()
                }
              })
            )
          } else {
            for (const part of ["x", "y"]) {
              yield* flipped(approval, part, Buffer.from(value[part], "base64url"), (bytes) => ({
                signature: { ...signature, [name]: { ...value, [part]: bytes.toString("base64url") } }
              }))
            }
          }
        }
        for (const field of ["id", "environment", "person"]) {
          if (yield* Effect.promise(() => check({ ...approval, [field]: `${approval[field]}0` }))) passed.push(field)
        }
        for (const approves of [{ object: "batch", id: approval.approves.id }, { object: "refund", id: "re_0" }]) {
          if (yield* Effect.promise(() => check({ ...approval, approves }))) passed.push("approves")
        }
      }
      assert.deepStrictEqual(passed, [])
    }).pipe(Effect.scoped))

  it.effect("takes a signature however fresh the session is, and no fresh session beside it", () =>
    Effect.gen(function*() {
      const { admin, approve, owner, sign } = yield* waiting
      assert.strictEqual(yield* approve(owner), "403 APPROVAL_PROOF_REQUIRED")
      const sql = yield* SqlClient.SqlClient
      yield* Effect.orDie(sql`UPDATE team_sessions SET fresh_until = 0`)
      assert.strictEqual(yield* approve(owner, yield* sign(owner)), "pending_approval")
      assert.strictEqual(yield* approve(admin), "403 APPROVAL_PROOF_REQUIRED")
      assert.strictEqual(yield* approve(admin, yield* sign(admin)), "processing")
    }))

  it.effect("is refused with any part of a passkey's answer forged", () =>
    Effect.gen(function*() {
      const { approvals, approve, owner, sign } = yield* waiting
      const forgeries: Readonly<Record<string, Partial<Circumstances>>> = {
        "another origin": { origin: "https://evil.example" },
        "plain http": { origin: "http://pay.example" },
        "another relying party": { rpId: "evil.example" },
        "no user verification": { userVerified: false },
        "no user presence": { userPresent: false },
        "another ceremony": { type: "webauthn.create" },
        "another key": { signer: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey },
        "another challenge": { challenge: Buffer.alloc(32).toString("base64url") },
        "flags changed after the signature": {
          tamper: (data) => Buffer.concat([data.subarray(0, 32), Buffer.of(0x45), data.subarray(33)])
        }
      }
      for (const [what, lies] of Object.entries(forgeries)) {
        assert.strictEqual(yield* approve(owner, yield* sign(owner, lies)), "401 SIGNATURE_INVALID", what)
      }
      const both = { ...yield* sign(owner), wallet: { family: "evm", address: "0x0", signature: "0x0" } }
      assert.strictEqual(yield* approve(owner, both), "400 VALIDATION_ERROR")
      const { id } = yield* sign(owner)
      assert.strictEqual(yield* approve(owner, { id }), "400 VALIDATION_ERROR")
      assert.strictEqual(yield* approve(owner, { id, passkey: { id: 5 } }), "401 SIGNATURE_INVALID")
      assert.deepStrictEqual(yield* approvals, [])
    }))

  it.effect("is not given by what was signed of another refund, by another person, elsewhere, or too late", () =>
    Effect.gen(function*() {
      const { admin, approve, ask, merchant, owner, refund, sign } = yield* waiting
      const other = yield* openRefund(merchant)
      const ofOther = byPasskey(owner, yield* ask(owner, other.id))
      assert.strictEqual(yield* approve(owner, ofOther), "401 NONCE_INVALID", "another refund")
      const mine = yield* ask(owner)
      assert.strictEqual(yield* approve(owner, { ...ofOther, id: mine.id }), "401 SIGNATURE_INVALID", "with its name")

      assert.strictEqual(yield* approve(admin, byPasskey(owner, mine)), "401 NONCE_INVALID", "another person's")
      const admins = yield* ask(admin)
      assert.strictEqual(
        yield* approve(admin, byPasskey(owner, { ...admins, passkey: { ...admins.passkey } })),
        "401 SIGNATURE_INVALID",
        "another person's passkey"
      )

      const devnet = yield* openRefund(merchant, { environment: "devnet" })
      const play = yield* challengeOf(owner, merchant, devnet.id, "devnet")
      assert.strictEqual(yield* approve(owner, byPasskey(owner, play)), "401 NONCE_INVALID", "another environment")
      assert.strictEqual(
        yield* approve(owner, { ...byPasskey(owner, play), id: mine.id }),
        "401 SIGNATURE_INVALID",
        "with its name"
      )
      for (const id of ["", "apr_", `apr_${"0".repeat(64)}`, mine.id.toUpperCase(), `${mine.id}00`]) {
        assert.strictEqual(yield* approve(owner, { ...byPasskey(owner, mine), id }), "401 NONCE_INVALID", id)
      }

      const stranger = yield* newShop
      const foreign = yield* callOn(stranger.owner, stranger.merchant, refund.id, "/approve/challenge", {})
      assert.strictEqual(outcomeOf(foreign), "404 REFUND_NOT_FOUND")
      assert.strictEqual(
        outcomeOf(yield* callOn(stranger.owner, stranger.merchant, refund.id, "/approvals")),
        "404 REFUND_NOT_FOUND"
      )

      const late = yield* sign(owner)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(yield* approve(owner, late), "401 NONCE_INVALID", "after 5 minutes")
    }))

  it.effect("is given once, and ends with another destination for good", () =>
    Effect.gen(function*() {
      const { admin, approvals, approve, ask, merchant, owner, refund, sign } = yield* waiting
      // Passkeys that are kept on several devices do not count, so that no count shows a repeat.
      const first = yield* sign(owner, { counter: 0 })
      const outcomes = yield* Effect.all(Array.from({ length: 10 }, () => approve(owner, first)), {
        concurrency: "unbounded"
      })
      assert.includeMembers(["pending_approval", "401 NONCE_INVALID"], [...new Set(outcomes)])
      assert.include(outcomes, "pending_approval")
      assert.lengthOf(yield* approvals, 1)

      const unsent = yield* ask(admin)
      yield* sendTo(merchant, refund.id, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
      assert.strictEqual(
        yield* approve(admin, byPasskey(admin, unsent)),
        "401 NONCE_INVALID",
        "it says another address"
      )
      assert.deepStrictEqual((yield* approvals).map(({ counts }: any) => counts), [false])
      assert.strictEqual(yield* approve(owner, first), "401 NONCE_INVALID")
      yield* sendTo(merchant, refund.id, refund.destination_address)
      assert.strictEqual(yield* approve(owner, first), "401 NONCE_INVALID", "it was given before")
      assert.strictEqual(yield* approve(owner, yield* sign(owner)), "pending_approval")
      assert.strictEqual(yield* approve(admin, yield* sign(admin)), "processing")
      const ids = (yield* approvals).map(({ id }: any) => id)
      assert.deepStrictEqual((yield* approvals).map(({ counts }: any) => counts).toSorted(), [false, true, true])
      const pageAfter = (id: string) =>
        dataAs(
          owner.session,
          merchant,
          "GET",
          `/refunds/${refund.id}/approvals?environment=mainnet&limit=1&starting_after=${id}`
        )
      const { data: [next], has_more: hasMore } = yield* pageAfter(ids[0])
      assert.deepStrictEqual([next.id, hasMore], [ids[1], true])
    }))

  it.effect("is not given by a wallet of somebody else, of a changed text, or that is linked no more", () =>
    Effect.gen(function*() {
      const { admin, approvals, approve, ask, merchant, owner } = yield* waiting
      const account = yield* addWallet(owner.session, merchant)
      const admins = yield* addWallet(admin.session, merchant)
      yield* endWaits
      const challenge = yield* ask(owner)
      const refused = "401 SIGNATURE_INVALID"
      const stranger = privateKeyToAccount(generatePrivateKey())
      assert.strictEqual(yield* approve(owner, yield* byWallet(stranger, challenge)), refused, "of nobody")
      assert.strictEqual(yield* approve(owner, yield* byWallet(admins, challenge)), refused, "of another member")
      const claimed = yield* byWallet(admins, challenge)
      const named = { ...claimed, wallet: { ...claimed.wallet, address: account.address } }
      assert.strictEqual(yield* approve(owner, named), refused, "under the name of one's own")
      const changed = challenge.text.replace("900.000000", "1.000000")
      assert.strictEqual(yield* approve(owner, yield* byWallet(account, challenge, changed)), refused, "another amount")
      const trimmed = challenge.text.trimEnd()
      assert.strictEqual(
        yield* approve(owner, yield* byWallet(account, challenge, trimmed)),
        refused,
        "no last line feed"
      )
      const good = yield* byWallet(account, challenge)
      const { data: wallets } = yield* dataAs(owner.session, merchant, "GET", "/auth/wallets")
      const { id } = wallets.find(({ address }: any) => address === account.address)
      yield* dataAs(owner.session, merchant, "DELETE", `/auth/wallets/${id}`)
      assert.strictEqual(yield* approve(owner, good), refused, "unlinked")
      assert.deepStrictEqual(yield* approvals, [])
    }))

  it.effect("is never given by a key, and waits with a new passkey or wallet", () =>
    Effect.gen(function*() {
      const { approve, ask, merchant, owner, refund } = yield* waiting
      const key = callerOf(merchant, "merchant", "mainnet")
      for (const path of ["approve", "approve/challenge"]) {
        const { json, status } = yield* key.call(`/api/v1/refunds/${refund.id}/${path}`, { body: {} })
        assert.deepStrictEqual([status, json.error.code], [403, "CREDENTIAL_NOT_ALLOWED"], path)
      }
      const challenge = yield* ask(owner)
      const { json } = yield* key.call(`/api/v1/refunds/${refund.id}/approve`, {
        body: { proof: byPasskey(owner, challenge) }
      })
      assert.strictEqual(json.error.code, "CREDENTIAL_NOT_ALLOWED", "whoever's signature it sends")

      const sql = yield* SqlClient.SqlClient
      const later = yield* addPasskey(owner.session)
      yield* Effect.orDie(sql`UPDATE team_passkeys SET money_from = 9999999999 WHERE id = ${later.passkey}`)
      assert.strictEqual(yield* approve(owner, byPasskey(later, yield* ask(owner))), "403 PERMISSION_DENIED")
      const account = yield* addWallet(owner.session, merchant)
      yield* Effect.orDie(sql`UPDATE sign_in_wallets SET money_from = 9999999999 WHERE address = ${account.address}`)
      assert.strictEqual(yield* approve(owner, yield* byWallet(account, yield* ask(owner))), "403 PERMISSION_DENIED")
      assert.strictEqual(yield* approve(owner, byPasskey(owner, yield* ask(owner))), "pending_approval")
    }))

  it.effect("keeps who and when, and nothing of the person who was paid once that is erased", () =>
    Effect.gen(function*() {
      const { approvals, approve, merchant, owner, refund, sign } = yield* waiting
      yield* approve(owner, yield* sign(owner))
      yield* callOn(owner, merchant, refund.id, "/cancel", {})
      const fact: ErasureFact = { _tag: "Erasure", hashOf: (text) => `anon_${text.length}` }
      yield* (yield* Invoices).change(
        refund.invoice_id,
        noCause,
        () => Effect.succeed({ commands: [], facts: [fact] })
      )
      const [{ by, person, signature, text }] = yield* approvals
      assert.deepStrictEqual([person, signature, text], ["owner", null, null])
      assert.match(by, /^mem_/)
      const sql = yield* SqlClient.SqlClient
      const rows = yield* Effect.orDie(sql<{ all: string }>`SELECT approvals::text AS all FROM approvals
        WHERE merchant_id = ${merchant}`)
      assert.notInclude(rows.map(({ all }) => all).join(), refund.destination_address)
    }))

  it.effect("is not part of opening a refund: `auto_approve` leaves it waiting", () =>
    Effect.gen(function*() {
      const { merchant, owner } = yield* newShop
      const open = yield* openRefund(merchant, { dollars: 5n })
      yield* callOn(owner, merchant, open.id, "/cancel", {})
      const grant = yield* (yield* TeamSessions).grantOf(owner.session, merchant)
      const made = yield* (yield* LocalCalls).call(grant!, {
        method: "POST",
        path: "/api/v1/refunds?environment=mainnet",
        idempotencyKey: crypto.randomUUID(),
        body: {
          invoice_id: open.invoice_id,
          amount_mode: "full",
          reason: "other",
          fee_bearer: "merchant",
          destination: { network: "base", address: open.destination_address },
          auto_approve: true
        }
      })
      const { data } = made.body as any
      assert.deepStrictEqual([data.status, data.approvals], ["pending_approval", []])
    }))
})

layer(approvalService)("an approval of play money", (it) => {
  it.effect("needs no signature, and is checked by the one that is sent", () =>
    Effect.gen(function*() {
      const { admin, merchant, owner } = yield* newShop
      const refund = yield* openRefund(merchant, { environment: "devnet" })
      const approve = (person: Person, body: object) =>
        Effect.map(callOn(person, merchant, refund.id, "/approve", body, "devnet"), outcomeOf)
      const challenge = yield* challengeOf(owner, merchant, refund.id, "devnet")
      const lie = byPasskey(owner, challenge, { userVerified: false })
      assert.strictEqual(yield* approve(owner, { proof: lie }), "401 SIGNATURE_INVALID")
      assert.strictEqual(yield* approve(owner, { proof: byPasskey(owner, challenge) }), "pending_approval")
      assert.strictEqual(yield* approve(admin, {}), "processing")
      const { body } = yield* callOn(owner, merchant, refund.id, "/approvals", undefined, "devnet")
      assert.deepStrictEqual(body.data.data.map(({ person }: any) => person), ["owner"])
    }))
})
