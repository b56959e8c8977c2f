/**
 * Goal: what a person signs of a batch is all of its lines, and anybody can check it later. Method: a wallet of viem
 * signs over the API of a whole devnet; the check is the script of the reference; with real money the same service is
 * asked about the same batch, as if it were of mainnet.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { createHash } from "node:crypto"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { approvedBatch } from "../../../modules/batches/rules.ts"
import { Batches } from "../../../modules/batches/plugin.ts"
import { Approvals } from "../../../modules/refunds/plugin.ts"
import { approvalScript } from "../../support/ApprovalScript.ts"
import { DevnetService } from "../simulator/DevnetService.ts"
import { ask, payout, payoutsBatch, send } from "./BatchShop.ts"

const shop = Effect.gen(function*() {
  const account = privateKeyToAccount(generatePrivateKey())
  const signIn = yield* ask({}, "/api/v1/auth/nonce", { address: account.address, network: "base" })
  const signature = yield* Effect.promise(() => account.signMessage(signIn))
  const session = yield* ask({}, "/api/v1/auth/verify", { message: signIn.message, signature })
  const person = { authorization: `Bearer ${session.access_token}` }
  const made = Effect.gen(function*() {
    const { json } = yield* payoutsBatch(person, [
      yield* payout("12.5"),
      yield* payout("0.25"),
      yield* payout("1", "ETH")
    ])
    return json.data
  })
  const sign = (challenge: any, text: string = challenge.text) =>
    Effect.promise(async () => ({
      proof: {
        id: challenge.id,
        wallet: { family: "evm", address: account.address, signature: await account.signMessage({ message: text }) }
      }
    }))
  const challengeOf = ({ id }: any) => ask(person, `/api/v1/batches/${id}/approve/challenge`, {})
  const approve = ({ id }: any, body: object) =>
    Effect.map(
      send(person, `/api/v1/batches/${id}/approve`, body),
      ({ json, status }) => status === 200 ? json.data.status : `${status} ${json.error.code}`
    )
  return { account, approve, challengeOf, made, merchantId: session.merchant.id, person, sign }
})

/** Names in order: strings, whole numbers and null need nothing else of RFC 8785. */
const canonical = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(canonical).join(",")}]`
    : typeof value === "object" && value !== null
    ? `{${
      Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, field]) =>
        `${JSON.stringify(name)}:${canonical(field)}`
      ).join(",")
    }}`
    : JSON.stringify(value)

/** `content_hash` by the words of modules/docs/reference/batches.md#the-hash-of-the-content, of what the API answers. */
const contentHashOf = (batch: any, merchantId: number): string => {
  const lines = batch.lines.map((line: any) => ({
    part: line.part,
    token: line.token_address,
    units: line.units,
    usd_millis: String(line.amount),
    destination: line.destination,
    source: line.source_address,
    reference: line.reference,
    refund_id: line.refund_id
  }))
  const { environment, from, id, kind, network, valid_for_seconds } = batch
  const content = { id, kind, merchant_id: merchantId, environment, network, from, valid_for_seconds, lines }
  return createHash("sha256").update(canonical(content)).digest("hex")
}

layer(DevnetService.layer, { excludeTestServices: true })("an approval of a batch", (it) => {
  it.effect("is signed over the hash of all lines, and checked by anybody without the service", () =>
    Effect.gen(function*() {
      const { account, approve, challengeOf, made, merchantId, person, sign } = yield* shop
      const batch = yield* made
      const challenge = yield* challengeOf(batch)
      for (
        const line of [
          `Batch: ${batch.id}`,
          "Kind: payouts",
          "Payments: 3",
          `From: ${batch.from}`,
          `Content: ${batch.content_hash}`
        ]
      ) assert.include(challenge.text.split("\n"), line)
      assert.match(challenge.text, /^Pays: 12\.750000 USDC, 0x[0-9a-fA-F]{40}$/m)
      assert.match(challenge.text, /^Pays: 1\.0* ETH, the network's own coin$/m)
      assert.deepStrictEqual(challenge.wallets, [{ family: "evm", address: account.address, chain_id: null }])

      const whole = yield* ask(person, `/api/v1/batches/${batch.id}?expand=lines`)
      assert.strictEqual(contentHashOf(whole, merchantId), batch.content_hash, "as the reference says it is made")
      const [line] = whole.lines
      const elsewhere = { ...line, destination: { ...line.destination, address: `0x${"11".repeat(20)}` } }
      const changed = { ...whole, lines: [elsewhere, ...whole.lines.slice(1)] }
      assert.notStrictEqual(contentHashOf(changed, merchantId), batch.content_hash)

      const other = yield* made
      assert.strictEqual(yield* approve(other, yield* sign(challenge)), "401 NONCE_INVALID", "another batch")
      const lesser = challenge.text.replace("12.750000", "2.750000")
      assert.strictEqual(yield* approve(batch, yield* sign(challenge, lesser)), "401 SIGNATURE_INVALID")
      const answer = yield* sign(challenge)
      assert.strictEqual(yield* approve(batch, answer), "ready")
      assert.strictEqual(yield* approve(batch, answer), "409 INVALID_TRANSITION")

      const { data: [approval, ...others] } = yield* ask(person, `/api/v1/batches/${batch.id}/approvals`)
      assert.deepStrictEqual([approval.counts, others], [true, []])
      const check = yield* approvalScript
      assert.isTrue(yield* Effect.promise(() => check(approval)))
      const forged = { ...approval, text: approval.text.replace(batch.content_hash, other.content_hash) }
      assert.isFalse(yield* Effect.promise(() => check(forged)))
    }).pipe(Effect.scoped))

  it.effect("is refused without a signature where money is real", () =>
    Effect.gen(function*() {
      const { made, merchantId } = yield* shop
      const { id } = yield* made
      const { services } = yield* DevnetService
      const batch = yield* Context.get(services as Context.Context<any>, Batches).find(merchantId, id)
      const approvals = Context.get(services as Context.Context<any>, Approvals)
      const content = approvedBatch({ ...batch!, environment: "mainnet" })
      const approval = { person: "owner", actor: "wallet", at: 0 }
      const refused = yield* Effect.flip(approvals.record(null, content, approval))
      assert.strictEqual(refused.code, "APPROVAL_PROOF_REQUIRED")
      assert.deepStrictEqual(yield* approvals.record(null, approvedBatch(batch!), approval), [])
    }))
})
