/**
 * Goal: the books, the reconciliation, the exports and the audit log have a refund of money that pays no invoice, and
 * stay right whatever happens to it. Method: a whole devnet over HTTP, where people approve, operators report and
 * chains take money back; random histories, and after each step every balance is checked against entries and objects.
 */
import { HDKey } from "@scure/bip32"
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes, randomUUID } from "node:crypto"
import { Payments } from "../../../modules/payments/plugin.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { checkBooks } from "../../../modules/ledger/repo/Check.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { makeRandom } from "../../fixtures/histories.ts"
import { type DevnetMerchant, DevnetService, newDevnetMerchant } from "../simulator/DevnetService.ts"
import { assertBalanced, balanceOf, call, ledger, newInvoice, send, simulate, transactionsOf } from "./Books.ts"
import { solePerson } from "../../fixtures/authorities.ts"

const destination = { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }

/** A merchant with a wallet of its own, and money on it that names no invoice. */
const unmatched = Effect.gen(function*() {
  const player = yield* newDevnetMerchant
  const service = yield* DevnetService
  const value = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey
  const { status, text } = yield* service.call("/api/v1/merchant/wallets/evm", {
    method: "PUT",
    headers: { "x-api-key": player.merchant, "idempotency-key": randomUUID() },
    body: { kind: "xpub", value }
  })
  assert.strictEqual(status, 200, text)
  const invoiceId = yield* newInvoice(player)
  yield* simulate(player, invoiceId, "unmatched")
  const { data: [exception] } = yield* call(player, "/api/v1/exceptions?status=open")
  return { player, invoiceId, exception }
})

/** A person of the merchant approves; whatever is not allowed then is refused. */
const approve = (refundId: string) =>
  Effect.flatMap(
    DevnetService,
    ({ services }) =>
      Context.get(services, Refunds).act(refundId, "approve", { kind: "wallet", credential: "wallet", ...solePerson }, {
        cause: noCause,
        reply: () => undefined
      }).pipe(Effect.ignore)
  )

/** The transfer leaves its chain, or is there again. */
const setOnChain = Effect.fnUntraced(function*(transferId: string, isThere: boolean) {
  const { services } = yield* DevnetService
  const entry = (yield* Context.get(services, Chains).journalEntry(transferId))!
  const status = isThere ? "confirmed" : "reverted"
  if (entry.status === status) return
  yield* Effect.orDie(Context.get(services, Payments).recordUnmatched({ ...entry, status }))
})

const payOut = (player: DevnetMerchant, refundId: string, outcome: string) =>
  send(player, `/api/v1/devnet/refunds/${refundId}/simulate`, { outcome })

const balances = Effect.fnUntraced(function*(player: DevnetMerchant) {
  const rows = yield* (yield* ledger).balances({ merchantId: player.id, environment: "devnet" })
  return Object.fromEntries(
    rows.filter(({ units }) => units !== 0n).map(({ account, units }) => [account.split(":")[0], units])
  )
})

const csv = Effect.fnUntraced(function*(player: DevnetMerchant, kind: string) {
  const service = yield* DevnetService
  const now = Math.floor(Date.now() / 1_000)
  const { status, text } = yield* service.call(
    `/api/v1/exports/${kind}?from=${now - 86_400 * 200}&to=${now + 86_400 * 100}`,
    { method: "GET", headers: { "x-api-key": player.merchant } }
  )
  assert.strictEqual(status, 200, text)
  const [head, ...rows] = text.trim().split("\r\n").map((line) => line.split(","))
  return rows.map((row) => Object.fromEntries(head!.map((name, place) => [name, row[place]])))
})

layer(DevnetService.layer, { excludeTestServices: true })(
  "the books of unmatched money",
  (it) => {
    it.effect("hold it for its refund, give it back when that is canceled, and let it go when it is paid", () =>
      Effect.gen(function*() {
        const { exception, player } = yield* unmatched
        const path = `/api/v1/exceptions/${exception.id}/resolve`
        const units = (yield* balances(player)).chain!
        assert.deepStrictEqual(yield* balances(player), { chain: units, suspense: -units })
        const first = yield* call(player, path, { action: "refund", refund: { destination } })
        const { refund_id: firstId } = first.resolution
        yield* assertBalanced(player.id)
        assert.deepStrictEqual(yield* balances(player), { chain: units, refund_payable: -units })
        const [booked] = yield* transactionsOf(player, "type=refund")
        assert.deepInclude(booked, { amount: -exception.amount, net: 0, source: { object: "refund", id: firstId } })
        assert.strictEqual((yield* call(player, `/api/v1/refunds/${firstId}`)).balance_transaction_id, booked.id)
        yield* call(player, `/api/v1/refunds/${firstId}/cancel`, {})
        yield* assertBalanced(player.id)
        assert.deepStrictEqual(yield* balances(player), { chain: units, suspense: -units })

        const { resolution } = yield* call(player, path, {
          action: "refund",
          refund: { destination, fee_bearer: "payor", reason: "requested_by_customer" }
        })
        const id = resolution.refund_id
        yield* approve(id)
        const paid = yield* payOut(player, id, "succeeded")
        assert.strictEqual(paid.status, 200, paid.text)
        yield* assertBalanced(player.id)
        const [fee] = yield* transactionsOf(player, "type=fee")
        assert.isAbove(fee.net, 0, "the merchant's wallet paid the network")
        const feeUnits = BigInt(fee.units)
        assert.deepStrictEqual(yield* balances(player), { chain: feeUnits, merchant_available: -feeUnits })
        assert.deepInclude(yield* balanceOf(player), { available: fee.net, refund_payable: 0 })

        const { data: log } = yield* call(player, `/api/v1/audit-log?subject_id=${id}`)
        assert.deepStrictEqual(log.map(({ action }: any) => action).toReversed(), [
          "refund.create",
          "refund.approve",
          "refund.report_succeeded"
        ])
        assert.deepInclude(log.at(-1).after, { invoice_id: null, exception_id: exception.id })
        const rows = yield* csv(player, "refunds")
        assert.deepStrictEqual(rows.map((row) => [row.id, row.invoice_id, row.exception_id, row.status]), [
          [firstId, "", exception.id, "canceled"],
          [id, "", exception.id, "succeeded"]
        ])
        assert.deepStrictEqual(yield* csv(player, "koinly"), [], "neither what came nor what went: it is no receipt")
        assert.isTrue((yield* csv(player, "journal")).some(({ account }) => account === "refund_payable"))
        const now = Math.floor(Date.now() / 1_000)
        const report = yield* call(player, `/api/v1/reconciliation?from=${now - 3_600}&to=${now + 3_600}`)
        const [wallet, ...others] = report.wallets
        assert.deepStrictEqual([others, report.differences], [[], []])
        const [received, unmatchedUnits, refunded, closing] = [
          wallet.received,
          wallet.unmatched,
          wallet.refunded,
          wallet.closing
        ].map((flow) => BigInt(flow.units))
        assert.deepStrictEqual([received, unmatchedUnits, refunded, closing], [0n, units, units - feeUnits, feeUnits])
      }))

    it.effect("stay right after each of many steps in any order", () =>
      Effect.forEach(Array.from({ length: 8 }, (_, seed) => seed + 1), (seed) =>
        Effect.gen(function*() {
          const roll = makeRandom(seed)
          const { exception, invoiceId, player } = yield* unmatched
          let refundId: string | null = null
          for (let step = 0; step < 14; step++) {
            const what = roll(11)
            const path: string = `/api/v1/refunds/${refundId}`
            if (what < 3 || refundId === null) {
              const { json } = yield* send(player, `/api/v1/exceptions/${exception.id}/resolve`, {
                action: "refund",
                refund: { fee_bearer: roll(2) === 0 ? "payor" : "merchant", ...(roll(4) > 0 ? { destination } : {}) }
              })
              refundId = json.data?.resolution.refund_id ?? refundId
            } else if (what < 5) yield* approve(refundId)
            else if (what === 5) yield* send(player, `${path}/cancel`, {})
            else if (what === 6) yield* payOut(player, refundId, "failed")
            else if (what === 7) yield* send(player, `${path}/retry`, {})
            else if (what === 8 && roll(2) === 0) yield* payOut(player, refundId, "succeeded")
            else if (what === 9) yield* call(player, "/api/v1/devnet/clock/advance", { seconds: 86_400 * 31 })
            else yield* setOnChain(exception.evidence.transfer_id, roll(2) === 0)
            yield* assertBalanced(player.id)
          }
          const { data } = yield* call(player, `/api/v1/refunds?exception_id=${exception.id}`)
          const standing = data.filter(({ status }: any) => status !== "canceled" && status !== "expired")
          assert.isAtMost(standing.length, 1)
          const decided = yield* call(player, `/api/v1/exceptions/${exception.id}`)
          assert.strictEqual(decided.resolution?.refund_id ?? null, standing[0]?.id ?? null, `seed ${seed}`)
          if (decided.status !== "open") return
          const action = (["credit", "ignore", "assign"] as const)[roll(3)]!
          yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, {
            action,
            ...(action === "assign" ? { invoice_id: invoiceId } : {})
          })
          yield* assertBalanced(player.id)
        }), { concurrency: 2, discard: true }))

    it.effect("are found wrong where a refund is not as it is booked", () =>
      Effect.gen(function*() {
        const { exception, player } = yield* unmatched
        yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action: "refund" })
        yield* assertBalanced(player.id)
        const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
        for (
          const change of [
            "UPDATE refunds SET amount = amount - 1",
            "UPDATE refunds SET terms = jsonb_set(terms::jsonb, '{units}', '\"1\"')::json",
            "UPDATE refunds SET status = 'canceled'",
            "DELETE FROM refunds",
            "UPDATE exceptions SET status = 'resolved', resolution = NULL",
            "UPDATE exceptions SET resolution = jsonb_set(resolution::jsonb, '{isReverted}', 'true')::json"
          ]
        ) {
          const found = yield* Effect.gen(function*() {
            yield* sql.unsafe(`${change} WHERE merchant_id = ${player.id}`)
            return yield* Effect.fail(yield* checkBooks(sql)(player.id))
          }).pipe(sql.withTransaction, Effect.flip)
          assert("differences" in found, change)
          assert.isNotEmpty(found.differences, change)
        }
        yield* assertBalanced(player.id)
      }))
  }
)
