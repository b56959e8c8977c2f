/**
 * Goal: what became final by day, asset and wallet is one settlement, its payments name it, and a payment that leaves
 * its chain leaves it. Method: a whole devnet over HTTP; a report says that money came straight from the payor.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import {
  assertRefused,
  type DevnetMerchant,
  DevnetService,
  newDevnetMerchant,
  okData
} from "../simulator/DevnetService.ts"
import { assertBalanced, balanceOf, call, newInvoice, send, settle, simulate, transactionsOf } from "./Books.ts"

const paidInvoice = Effect.fnUntraced(function*(player: DevnetMerchant, amountUsd: number) {
  const id = yield* newInvoice(player, amountUsd)
  yield* simulate(player, id, "pay")
  return id
})

const settlementIdOf = Effect.fnUntraced(function*(player: DevnetMerchant, invoiceId: string) {
  const { data } = yield* call(player, `/api/v1/events?invoice_id=${invoiceId}&limit=100`)
  const payment = data.find((event: any) => event.data.object.object === "invoice_payment").data.object
  return payment.settlement.merchant_settlement_id
})

const put = Effect.fnUntraced(function*({ merchant }: DevnetMerchant, path: string, body: object) {
  const service = yield* DevnetService
  return yield* service.call(path, {
    method: "PUT",
    headers: { "x-api-key": merchant, "idempotency-key": randomUUID() },
    body
  })
})

layer(DevnetService.layer, { excludeTestServices: true })("settlements", (it) => {
  it.effect("are one for each day, asset and wallet, named by their payments, and add up", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const other = yield* newDevnetMerchant
      const day = 1_795_478_400
      const [first, second, late] = [
        yield* paidInvoice(player, 10),
        yield* paidInvoice(player, 20),
        yield* paidInvoice(player, 40)
      ]
      assert.deepStrictEqual((yield* call(player, "/api/v1/settlements")).data, [])
      yield* settle(first!, day + 1)
      yield* settle(second!, day + 86_399)
      yield* settle(late!, day + 86_400)
      yield* assertBalanced(player.id)
      const { data: [newest, older], has_more } = yield* call(player, "/api/v1/settlements")
      assert.isFalse(has_more)
      assert.deepInclude(older, { amount: 30_000, period_start: day, period_end: day + 86_400, units: "30000000" })
      assert.deepInclude(newest, { amount: 40_000, period_start: day + 86_400 })
      assert.deepStrictEqual(
        [yield* settlementIdOf(player, first!), yield* settlementIdOf(player, second!)],
        [older.id, older.id]
      )
      assert.deepStrictEqual(yield* call(player, `/api/v1/settlements/${older.id}`), older)
      const page = yield* call(player, "/api/v1/settlements?limit=1")
      assert.deepStrictEqual([page.data, page.has_more], [[newest], true])
      const next = yield* call(player, `/api/v1/settlements?limit=1&starting_after=${newest.id}`)
      assert.deepStrictEqual([next.data, next.has_more], [[older], false])
      assertRefused(yield* send(other, `/api/v1/settlements/${older.id}`), 404, "NOT_FOUND")
      assertRefused(yield* send(other, `/api/v1/settlements?starting_after=${older.id}`), 400, "INVALID_CURSOR")

      yield* simulate(player, second!, "drop")
      yield* assertBalanced(player.id)
      assert.strictEqual((yield* call(player, `/api/v1/settlements/${older.id}`)).amount, 10_000)
      const [gone] = yield* call(player, `/api/v1/invoices/${second}/payments`)
      assert.deepInclude(gone.settlement, { merchant_settlement_id: null, status: "failed" })
      assert.strictEqual((yield* balanceOf(player)).available, 50_000)
      const booked = yield* transactionsOf(player, "type=settlement")
      assert.sameMembers(booked.map(({ amount }) => amount), [10_000, 20_000, 40_000, -20_000])
      assert.isTrue(booked.every(({ net }) => net === 0))
    }))

  it.effect("are in the token that was paid, whatever a merchant prefers", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const path = "/api/v1/merchant/settlement-preference"
      assert.deepStrictEqual(yield* call(player, path), { settlement_preference: "tokens", settlement_token_id: null })
      for (const settlement_preference of ["stables_only", "stables_preferred"]) {
        okData(yield* put(player, path, { settlement_preference }))
        assert.deepInclude(yield* call(player, path), { settlement_preference })
      }
      const refused = yield* put(player, path, { settlement_preference: "gold" })
      assert.deepStrictEqual([refused.status, refused.json.code], [400, "VALIDATION_ERROR"])
      assert.include(refused.json.error, "stables_only")
      const token = "/api/v1/merchant/settlement-token"
      okData(yield* put(player, token, { settlement_token_id: null }))
      const other = yield* put(player, token, { settlement_token_id: 7 })
      assert.deepStrictEqual([other.status, other.json.code], [400, "VALIDATION_ERROR"])
      assert.include(other.json.error, "only null")
      const { data: acts } = yield* call(player, "/api/v1/audit-log")
      assert.lengthOf(acts.filter(({ action }: any) => action === "settlement_preference.change"), 2)
    }))
})
