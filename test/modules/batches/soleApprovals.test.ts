/**
 * Goal: payouts that one person approves count for the same limit of the day as refunds. Method: a whole devnet over
 * HTTP, with two people who may approve.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Batches } from "../../../modules/batches/plugin.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { DevnetService, okData } from "../simulator/DevnetService.ts"
import {
  approve,
  ask,
  giveOut,
  newRefund,
  newShop,
  payout,
  payoutsBatch,
  receiver,
  refundsBatch,
  send,
  type Shop
} from "./BatchShop.ts"

/** A shop whose owner and admin may approve, with a limit of the day. */
const shopOfTwo = Effect.fnUntraced(function*(limitOfDay: number) {
  const shop = yield* newShop
  const { call, services } = yield* DevnetService
  const { url } = yield* ask(shop.person, "/api/v1/team/invitations", { role: "admin" })
  const token = new URL(url).hash.slice("#t=".length)
  const { member } = yield* ask({}, "/api/v1/team/invitations/accept", { token, name: "Ines" })
  const changed = yield* call("/api/v1/merchant/settings", {
    method: "PATCH",
    headers: shop.person,
    body: { auto_approve_limit_day: limitOfDay }
  })
  assert.strictEqual(changed.status, 200, changed.text)
  const approveAsOther = ({ id }: { readonly id: string }) =>
    Context.get(services, Batches).approve(
      { merchantId: shop.merchantId, environment: "devnet" },
      id,
      { kind: "wallet", credential: "wallet of Ines", person: member.id, role: "admin" },
      { cause: noCause, reply: () => undefined }
    )
  return { approveAsOther, shop }
})

const make = (shop: Shop, dollars: string) =>
  Effect.flatMap(payout(dollars), (line) => Effect.map(payoutsBatch(shop.key, [line]), okData))

/** A refund in processing that no person approved, as those of orders are. */
const newUnapprovedRefund = Effect.fnUntraced(function*(shop: Shop, dollars: number) {
  const { services } = yield* DevnetService
  const invoices = Context.get(services, Invoices)
  const refunds = Context.get(services, Refunds)
  const { invoice_id: id } = yield* ask(shop.key, "/api/v1/invoices", {
    amount_usd: dollars,
    accepted_networks: ["base"]
  })
  yield* ask(shop.key, `/api/v1/devnet/invoices/${id}/simulate`, { action: "pay", network: "base" })
  yield* invoices.change(id, noCause, (current, now) =>
    Effect.map(
      refunds.open(current, {
        amount: "remaining",
        reason: "other",
        destination: { network: "base", address: receiver, memo: null },
        feeFree: true
      }, now),
      (opened) => ({ ...opened! })
    ))
  const [refund] = yield* refunds.ofInvoice(shop.merchantId, id)
  assert.deepInclude(refund, { status: "processing", amount: usdMillis(BigInt(dollars * 1_000)) })
  return refund!
})

layer(DevnetService.layer, { excludeTestServices: true })(
  "payouts that one person approves",
  (it) => {
    it.effect("count together with refunds; above the limit of the day a second person is needed", () =>
      Effect.gen(function*() {
        const { approveAsOther, shop } = yield* shopOfTwo(20_000)
        yield* newRefund(shop, 5)
        const first = yield* make(shop, "10")
        assert.strictEqual((yield* approve(shop, first)).status, "ready")
        const over = yield* make(shop, "5.01")
        const held = yield* approve(shop, over)
        assert.deepInclude(held, { status: "pending_approval", approvals_required: 2 })
        assert.lengthOf(held.approvals, 1)
        assert.strictEqual((yield* giveOut(shop.key, over)).status, 403)
        assert.strictEqual((yield* send(shop.person, `/api/v1/batches/${over.id}/approve`, {})).status, 403)
        const rest = yield* make(shop, "5")
        assert.strictEqual((yield* approve(shop, rest)).status, "ready")
        const { approvals, approvalsRequired } = yield* approveAsOther(over)
        assert.deepStrictEqual([approvals.length, approvalsRequired], [2, 2])
        assert.strictEqual((yield* ask(shop.key, `/api/v1/batches/${over.id}`)).status, "ready")
      }))

    it.effect("need the second person too where the limit was lowered after the batch was made", () =>
      Effect.gen(function*() {
        const { approveAsOther, shop } = yield* shopOfTwo(20_000)
        const { call } = yield* DevnetService
        const made = yield* make(shop, "5")
        const body = { auto_approve_limit: 0 }
        const lowered = yield* call("/api/v1/merchant/settings", { method: "PATCH", headers: shop.person, body })
        assert.strictEqual(lowered.status, 200, lowered.text)
        assert.deepInclude(yield* approve(shop, made), { status: "pending_approval", approvals_required: 2 })
        assert.deepInclude(yield* approveAsOther(made), { approvalsRequired: 2 })
        assert.strictEqual((yield* ask(shop.key, `/api/v1/batches/${made.id}`)).status, "ready")
      }))

    it.effect("rest on the approvals of refunds: those that people approved need one person, and count once", () =>
      Effect.gen(function*() {
        const { shop } = yield* shopOfTwo(20_000)
        const ids = [(yield* newRefund(shop, 15)).id, (yield* newRefund(shop, 5)).id]
        const made = yield* refundsBatch(shop.key, ids)
        assert.deepInclude(made, { status: "pending_approval", approvals_required: 1 })
        assert.strictEqual((yield* approve(shop, made)).status, "ready")
        assert.deepInclude(yield* approve(shop, yield* make(shop, "0.01")), { status: "pending_approval" })
      }))

    it.effect("need two people for refunds that nobody approved, above a limit of one person", () =>
      Effect.gen(function*() {
        const { approveAsOther, shop } = yield* shopOfTwo(20_000)
        const own = (yield* newRefund(shop, 15)).id
        const large = yield* refundsBatch(shop.key, [own, (yield* newUnapprovedRefund(shop, 501)).id])
        assert.strictEqual(large.approvals_required, 2)
        const small = (yield* newUnapprovedRefund(shop, 5)).id
        const within = yield* refundsBatch(shop.key, [small])
        assert.strictEqual(within.approvals_required, 1)
        assert.strictEqual((yield* approve(shop, within)).status, "ready")
        const over = yield* refundsBatch(shop.key, [(yield* newUnapprovedRefund(shop, 1)).id])
        assert.deepInclude(yield* approve(shop, over), { status: "pending_approval", approvals_required: 2 })
        yield* approveAsOther(over)
        assert.strictEqual((yield* ask(shop.key, `/api/v1/batches/${over.id}`)).status, "ready")
      }))

    it.effect("stay below the limit of the day where several are approved at once", () =>
      Effect.gen(function*() {
        const { shop } = yield* shopOfTwo(10_000)
        const payouts = yield* make(shop, "4")
        const refunds = yield* Effect.forEach([4, 4], (dollars) =>
          Effect.flatMap(newUnapprovedRefund(shop, dollars), ({ id }) => refundsBatch(shop.key, [id])))
        const answers = yield* Effect.forEach([payouts, ...refunds], (batch) =>
          approve(shop, batch), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), ["pending_approval", "ready", "ready"])
      }))
  }
)
