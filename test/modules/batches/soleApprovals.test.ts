/**
 * Goal: payouts that one person approves count for the same limit of the day as refunds. Method: a whole devnet over
 * HTTP, with two people who may approve.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Batches } from "../../../modules/batches/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { DevnetService, okData } from "../simulator/DevnetService.ts"
import { approve, ask, giveOut, newRefund, newShop, payout, payoutsBatch, send, type Shop } from "./BatchShop.ts"

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

layer(DevnetService.layer, { excludeTestServices: true, timeout: "90 seconds" })(
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
  }
)
