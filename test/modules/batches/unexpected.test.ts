/**
 * Goal: whatever a wallet sends beside what was approved is told at first sight, once, and the books say where the
 * money is missing. Method: a whole devnet over HTTP whose wallet signs twice or for somebody else, and whose chain
 * takes transactions back.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedChain } from "../../../modules/chains/simulated.ts"
import { Ledger } from "../../../modules/ledger/plugin.ts"
import { until } from "../../support/Service.ts"
import { assertRefused, DevnetService, okData } from "../simulator/DevnetService.ts"
import {
  approve,
  ask,
  giveOut,
  look,
  mine,
  newRefund,
  newShop,
  payout,
  payoutsBatch,
  play,
  read,
  readUntil,
  refundsBatch,
  send,
  type Shop
} from "./BatchShop.ts"

const tonReceiver = "EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N"
const tonWallet = "EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2"

const exceptionsOf = (shop: Shop, query = "") =>
  Effect.map(ask(shop.key, `/api/v1/exceptions?${query}`), ({ data }): ReadonlyArray<any> => data)

type Found = Effect.Effect<ReadonlyArray<any>, never, DevnetService>

const balanced = Effect.gen(function*() {
  const { services } = yield* DevnetService
  const check = yield* Context.get(services as unknown as Context.Context<Ledger>, Ledger).check(null)
  assert.deepStrictEqual(check.differences, [])
})

const assetOf = (balance: any, network: string, symbol: string) =>
  balance.assets.find((each: any) => each.asset.startsWith(`${network}:`) && each.token?.symbol === symbol)

layer(DevnetService.layer, { excludeTestServices: true })("money that left unasked", (it) => {
  it.effect("twice is an exception before it is final, once, and missing in suspense from then on", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop)
      const batch = yield* refundsBatch(shop.key, [refund.id])
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch, "csv"))
      yield* play(shop, batch, "twice")
      const [seen] = yield* until("the exception opens", exceptionsOf(shop), (found) => found.length > 0)
      assert.deepStrictEqual(
        [seen.type, seen.status, seen.invoice_id, seen.network, seen.amount, seen.allowed_actions],
        ["duplicate_payout", "open", null, "base", 5_000, ["accept", "ignore"]]
      )
      assert.deepInclude(seen.evidence, { batch_id: batch.id, part: 1, line: 1, refund_id: refund.id, final: "no" })
      assert.strictEqual(seen.token_amount, "5.000000")
      yield* balanced
      const before = yield* ask(shop.key, "/api/v1/balance")
      assert.strictEqual(before.suspense, 0)
      yield* readUntil(shop, batch, "paid")
      yield* until(
        "it is final",
        Effect.andThen(look(shop, batch), exceptionsOf(shop)) as Found,
        ([found]) => found.evidence.final === "yes"
      )
      assert.strictEqual((yield* exceptionsOf(shop)).length, 1)
      const balance = yield* ask(shop.key, "/api/v1/balance")
      assert.strictEqual(assetOf(balance, "base", "USDC").suspense.units, "-5000000")
      yield* balanced
      const [booked] = (yield* ask(shop.key, `/api/v1/balance-transactions?source_id=${seen.id}`)).data
      assert.deepStrictEqual([booked.type, booked.net, booked.source.object], ["payout", 0, "exception"])

      const path = `/api/v1/exceptions/${seen.id}/resolve`
      assertRefused(yield* send(shop.key, path, { action: "accept", note: "x" }), 403, "CREDENTIAL_NOT_ALLOWED")
      assertRefused(yield* send(shop.person, path, { action: "accept" }), 400, "VALIDATION_ERROR")
      assertRefused(yield* send(shop.person, path, { action: "credit", note: "x" }), 400, "VALIDATION_ERROR")
      const decided = yield* ask(shop.person, path, { action: "accept", note: "the payor keeps it" })
      assert.deepStrictEqual([decided.status, decided.resolution.action], ["resolved", "accept"])
      const after = yield* ask(shop.key, "/api/v1/balance")
      assert.deepStrictEqual(
        [assetOf(after, "base", "USDC").suspense.units, assetOf(after, "base", "USDC").available.units],
        ["0", "-5000000"]
      )
      yield* balanced
      yield* look(shop, batch)
      assert.deepStrictEqual(yield* exceptionsOf(shop), [decided])
    }))

  it.effect("is told once: what is booked as missing pays no line of a list afterwards", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const { services } = yield* DevnetService
      const sql = Context.get(services, SqlClient.SqlClient)
      const listOf = Effect.gen(function*() {
        const batch = okData(yield* payoutsBatch(shop.key, [yield* payout("12")]))
        yield* approve(shop, batch)
        okData(yield* giveOut(shop.key, batch, "csv"))
        return batch as { readonly id: string }
      })
      const first = yield* listOf
      const { tx_hash: twice } = yield* play(shop, first, "twice")
      yield* readUntil(shop, first, "paid")
      const [told] = yield* until(
        "it is final",
        Effect.andThen(look(shop, first), exceptionsOf(shop)) as Found,
        ([found]) => found?.evidence.final === "yes"
      )
      const second = yield* listOf
      // As if it had been given out in the block of the duplicate.
      yield* Effect.orDie(
        sql`UPDATE batches SET version = version + 1, parts = jsonb_set(parts::jsonb, '{0,searchedTo}', '"0"')
        WHERE id = ${second.id}`
      )
      yield* look(shop, second)
      yield* look(shop, first)
      yield* Effect.sleep("500 millis")
      const { lines: [line], parts: [part] } = yield* read(shop, second)
      assert.deepStrictEqual([line.status, part.tx_hash], ["pending", null], `not ${twice} or ${told.tx_hash}`)
      assert.deepStrictEqual(yield* exceptionsOf(shop), [told])
      yield* balanced
    }))

  it.effect("is closed by itself where its transaction leaves the chain, and opens again when it comes back", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const { services } = yield* DevnetService
      const chain = Context.get(services, SimulatedChain)
      const batch = okData(yield* payoutsBatch(shop.key, [yield* payout("10")]))
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch, "csv"))
      yield* play(shop, batch)
      yield* mine("base", 5)
      yield* readUntil(shop, batch, "paid")
      const { tx_hash: second } = yield* play(shop, batch)
      const [opened] = yield* until("the exception opens", exceptionsOf(shop), (found) => found.length > 0)
      assert.deepStrictEqual([opened.type, opened.tx_hash], ["duplicate_payout", second])
      yield* chain.reorg("base", 1, { drop: [second] })
      const [closed] = yield* until(
        "the exception closes",
        Effect.andThen(look(shop, batch), exceptionsOf(shop)) as Found,
        ([found]) => found.status === "resolved"
      )
      assert.deepStrictEqual([closed.id, closed.resolution, closed.allowed_actions], [opened.id, null, []])
      yield* balanced
      const listed = yield* ask(shop.key, `/api/v1/balance-transactions?source_id=${opened.id}`)
      assert.deepStrictEqual(listed.data, [])
    }))

  it.effect("to somebody else names the line that it was for, and what is owed stays in refund_payable", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop)
      const batch = yield* refundsBatch(shop.person, [refund.id])
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.person, batch))
      yield* play(shop, batch, "changed_destination")
      const [seen] = yield* until("the exception opens", exceptionsOf(shop), (found) => found.length > 0)
      assert.deepStrictEqual([seen.type, seen.evidence.refund_id], ["payout_mismatch", refund.id])
      yield* readUntil(shop, batch, "expired")
      const balance = yield* until(
        "it is booked",
        Effect.andThen(look(shop, batch), ask(shop.key, "/api/v1/balance")),
        (found) => assetOf(found, "base", "USDC").suspense.units === "-5000000"
      )
      assert.strictEqual(assetOf(balance, "base", "USDC").refund_payable.units, "5000000")
      yield* balanced
      const ignored = yield* ask(shop.key, `/api/v1/exceptions/${seen.id}/resolve`, {
        action: "ignore",
        note: "a thief: the police know"
      })
      assert.strictEqual(ignored.resolution.action, "ignore")
      const after = assetOf(yield* ask(shop.key, "/api/v1/balance"), "base", "USDC")
      assert.deepStrictEqual([after.suspense.units, after.ignored.units], ["0", "-5000000"])
      yield* balanced
    }))

  it.effect("is told only to those who ask for exceptions", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop, 5, "ton", tonReceiver)
      const batch = yield* refundsBatch(shop.key, [refund.id], "ton", tonWallet)
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch, "ton"))
      yield* play(shop, batch, "twice")
      yield* until("the exception opens", exceptionsOf(shop), (found) => found.length > 0)
      const named = yield* ask(shop.key, "/api/v1/events?type=exception.*")
      assert.deepStrictEqual(named.data.map(({ type }: any) => type), ["exception.opened"])
      const all = yield* ask(shop.key, "/api/v1/events")
      assert.notInclude(all.data.map(({ type }: any) => type), "exception.opened")
    }))

  it.effect("as a payout of the merchant's own leaves what is available, once it is paid, and the wallet that sent it", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      yield* newRefund(shop, 50)
      const batch = okData(yield* payoutsBatch(shop.key, [yield* payout("10"), yield* payout("2.5")]))
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch))
      yield* play(shop, batch)
      yield* balanced
      assert.deepStrictEqual((yield* ask(shop.key, "/api/v1/balance-transactions?type=payout")).data, [])
      yield* readUntil(shop, batch, "paid")
      const { data } = yield* ask(shop.key, "/api/v1/balance-transactions?type=payout")
      assert.sameDeepMembers(
        data.map((each: any) => [each.source.object, each.source.id, each.units, each.entries[0].debit]),
        [
          ["batch_line", `${batch.id}/1`, "-10000000", "merchant_available"],
          ["batch_line", `${batch.id}/2`, "-2500000", "merchant_available"]
        ]
      )
      assert.match(data[0].entries[0].credit, /^chain:/u)
      const told = yield* ask(shop.key, "/api/v1/events?type=balance_transaction.created&limit=100")
      assert.strictEqual(told.data.filter(({ data: { object } }: any) => object.type === "payout").length, 2)
      yield* balanced
      const report = yield* ask(shop.key, "/api/v1/reconciliation?period=" + new Date().toISOString().slice(0, 7))
      const paidOut = report.wallets.map(({ flows, paid_out }: any) => (paid_out ?? flows?.paid_out)?.units)
      assert.include(paidOut, "12500000", JSON.stringify(report).slice(0, 3_000))
      const journal = yield* send(shop.key, `/api/v1/exports/journal?from=2020-01-01&to=2020-12-31`)
      assert.strictEqual(journal.status, 200)
    }))
})
