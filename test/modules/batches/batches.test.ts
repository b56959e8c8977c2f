/**
 * Goal: money leaves only as people approved it, once, and counts as paid only when the chain says so. Method: a whole
 * devnet over HTTP; a wallet of play money signs what was given out, and the chain does what the test says.
 */
import { assert, layer } from "@effect/vitest"
import { HDKey } from "@scure/bip32"
import { Context, Effect, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomBytes, randomUUID } from "node:crypto"
import { BatchesRpc } from "../../../modules/batches/rpc.ts"
import { SimulatedChain } from "../../../modules/chains/simulated.ts"
import { Ledger } from "../../../modules/ledger/plugin.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { Batch, ReadBatch } from "../../../schemas/Batch.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { rpcToken, until } from "../../support/Service.ts"
import { assertRefused, DevnetService, okData } from "../simulator/DevnetService.ts"
import {
  approve,
  ask,
  decodes,
  giveOut,
  look,
  newRefund,
  newShop,
  payout,
  payoutsBatch,
  play,
  read,
  readUntil,
  receiver,
  refundsBatch,
  send,
  wallet
} from "./BatchShop.ts"

const tonWallet = "EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2"

layer(DevnetService.layer, { excludeTestServices: true })("batches", (it) => {
  it.effect("of refunds are made by a key, approved by a person, given out, and paid when the chain is final", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const [first, second] = [yield* newRefund(shop), yield* newRefund(shop, 7)]
      const batch = yield* refundsBatch(shop.key, [first.id, second.id])
      yield* decodes(Batch, batch)
      assert.deepStrictEqual(
        [batch.status, batch.lines_total, batch.amount, batch.totals.map(({ token_amount }: any) => token_amount)],
        ["pending_approval", 2, 12_000, ["12.000000"]]
      )
      assertRefused(yield* giveOut(shop.person, batch), 403, "APPROVAL_REQUIRED")
      assertRefused(yield* send(shop.key, `/api/v1/batches/${batch.id}/approve`, {}), 403, "CREDENTIAL_NOT_ALLOWED")
      assert.strictEqual((yield* approve(shop, batch)).status, "ready")
      const given = okData(yield* giveOut(shop.key, batch))
      assert.strictEqual(okData(yield* giveOut(shop.person, batch)).payload, given.payload)
      assertRefused(yield* giveOut(shop.key, batch, "safe"), 409, "EXPORT_LIVE")
      assert.strictEqual((yield* read(shop, batch)).status, "open")
      assert.isNotNull((yield* play(shop, batch)).tx_hash)
      assert.isNull((yield* play(shop, batch)).tx_hash)
      const paid = yield* readUntil(shop, batch, "paid")
      yield* decodes(ReadBatch, paid)
      assert.deepStrictEqual(paid.lines.map(({ status }: any) => status), ["paid", "paid"])
      assert.deepStrictEqual(paid.parts.map(({ status, tx_hash }: any) => [status, tx_hash === null]), [[
        "paid",
        false
      ]])
      for (const { id } of [first, second]) {
        const refund = yield* ask(shop.key, `/api/v1/refunds/${id}`)
        assert.deepStrictEqual([refund.status, refund.tx_hash], ["succeeded", paid.parts[0].tx_hash])
      }
      const { services } = yield* DevnetService
      const check = yield* Context.get(services as unknown as Context.Context<Ledger>, Ledger).check(null)
      assert.deepStrictEqual(check.differences, [])
    }))

  it.effect("are refused with what is wrong, and what may be sent", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const make = (body: object) =>
        send(shop.key, "/api/v1/batches", { kind: "payouts", network: "base", from: wallet, ...body })
      const tokens = yield* ask(shop.key, "/api/v1/merchant/tokens")
      const idOf = (network: string) =>
        tokens.tokens.find((each: any) => each.network === network && each.token_symbol === "USDC").id
      const line = { token_id: idOf("base"), token_amount: "1", destination: { address: receiver } }
      const refused = Effect.fnUntraced(function*(body: object, status: number, code: string, says: string) {
        const { message } = assertRefused(yield* make(body), status, code)
        assert.include(message, says)
      })
      yield* refused({ kind: "refunds", refund_ids: "all" }, 400, "BATCH_EMPTY", "processing")
      yield* refused({ lines: Array.from({ length: 201 }, () => line) }, 400, "BATCH_TOO_LARGE", "several")
      yield* refused({ from: null, lines: [line] }, 400, "VALIDATION_ERROR", "wallet that will pay")
      yield* refused({ from: "0x12", lines: [line] }, 400, "WALLET_ADDRESS_INVALID", "from")
      yield* refused({ refund_ids: "all" }, 400, "VALIDATION_ERROR", "takes lines")
      yield* refused({ lines: [{ ...line, token_amount: "0" }] }, 400, "VALIDATION_ERROR", "lines.0.token_amount")
      yield* refused({ lines: [{ ...line, token_amount: "1.0000001" }] }, 400, "VALIDATION_ERROR", "6 decimals")
      yield* refused({ lines: [{ ...line, token_id: 999_999 }] }, 404, "TOKEN_NOT_FOUND", "lines.0.token_id")
      yield* refused(
        { lines: [{ ...line, token_id: idOf("ethereum") }] },
        400,
        "TOKEN_NETWORK_MISMATCH",
        "one batch pays on one network"
      )
      yield* refused(
        { lines: [line, { ...line, destination: { address: `0x${"0".repeat(40)}` } }] },
        400,
        "WALLET_ADDRESS_INVALID",
        "lines.1.destination.address"
      )
      const unknown = "bat_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"
      assertRefused(yield* send(shop.key, `/api/v1/batches/${unknown}`), 404, "BATCH_NOT_FOUND")
      const alike = okData(yield* make({ lines: [line, line] }))
      yield* approve(shop, alike)
      const ambiguous = assertRefused(yield* giveOut(shop.key, alike, "csv"), 409, "LINES_AMBIGUOUS")
      assert.deepStrictEqual(ambiguous.details.lines, [1, 2])
      assertRefused(yield* giveOut(shop.key, alike, "ton"), 400, "VALIDATION_ERROR")
      assertRefused(yield* giveOut(shop.key, alike, "eip5792", 2), 400, "VALIDATION_ERROR")
      const others = yield* Effect.forEach(Array.from({ length: 19 }), () => make({ lines: [line] }))
      assert.deepStrictEqual(others.map(({ status }) => status), others.map(() => 200))
      assertRefused(yield* make({ lines: [line] }), 409, "BATCH_LIMIT_REACHED")
    }))

  it.effect("of payouts are priced, told of by name, and not paid again once the chain has them", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const tokens = yield* ask(shop.key, "/api/v1/merchant/tokens")
      const token = tokens.tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC")
      const batch = yield* ask(shop.person, "/api/v1/batches", {
        kind: "payouts",
        network: "base",
        from: wallet,
        lines: [{ token_id: token.id, token_amount: "2.5", destination: { address: receiver }, reference: "Rent" }]
      })
      assert.strictEqual(batch.amount, 2_500)
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch, "safe"))
      yield* play(shop, batch)
      const paid = yield* readUntil(shop, batch, "paid")
      assert.deepStrictEqual([paid.lines[0].reference, paid.lines[0].status], ["Rent", "paid"])
      assertRefused(yield* send(shop.key, `/api/v1/batches/${batch.id}/cancel`, {}), 409, "BATCH_NOT_CANCELABLE")
      assertRefused(yield* giveOut(shop.key, batch, "safe"), 409, "INVALID_TRANSITION")
      const events = yield* ask(shop.key, "/api/v1/events?type=batch.*&limit=100")
      assert.deepStrictEqual(
        events.data.map(({ type }: any) => type).toReversed().filter((type: string) => type !== "batch.updated"),
        ["batch.created", "batch.paid", "batch.closed"]
      )
      const unasked = yield* ask(shop.key, "/api/v1/events?limit=100")
      assert.isFalse(unasked.data.some(({ type }: any) => type.startsWith("batch.")))
    }))

  it.effect("are listed as they are read one by one, in every part and token", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const lines = yield* Effect.forEach(
        [["1", "GRAM"], ["2", "USDT"], ["3", "GRAM"], ["4", "USDT"], ["5.5", "USDT"]] as const,
        ([amount, symbol]) => payout(amount, symbol, "ton")
      )
      const toTon = { destination: { address: "EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N", memo: null } }
      const many = yield* payoutsBatch(shop.key, lines.map((line) => ({ ...line, ...toTon })), "ton", tonWallet)
      assert.deepStrictEqual(okData(many).parts.map(({ lines }: any) => lines), [4, 1])
      yield* payoutsBatch(shop.key, [yield* payout("7")])
      const { data } = yield* ask(shop.key, "/api/v1/batches")
      assert.lengthOf(data, 2)
      for (const listed of data) assert.deepStrictEqual(listed, yield* ask(shop.key, `/api/v1/batches/${listed.id}`))
      const { data: other } = yield* ask((yield* newShop).key, "/api/v1/batches")
      assert.deepStrictEqual(other, [])
    }))

  it.effect("keep their refunds from everybody else until they are over", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop)
      const batch = yield* refundsBatch(shop.person, "all")
      assert.strictEqual(batch.lines_total, 1)
      const again = yield* send(shop.key, "/api/v1/batches", {
        kind: "refunds",
        network: "base",
        from: wallet,
        refund_ids: [refund.id]
      })
      assert.strictEqual(assertRefused(again, 409, "REFUND_IN_BATCH").details.batch_id, batch.id)
      assertRefused(yield* send(shop.key, `/api/v1/refunds/${refund.id}/cancel`, {}), 409, "REFUND_IN_BATCH")
      assertRefused(
        yield* send(shop.key, `/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome: "failed" }),
        409,
        "REFUND_IN_BATCH"
      )
      const canceled = yield* ask(shop.key, `/api/v1/batches/${batch.id}/cancel`, {})
      assert.strictEqual(canceled.status, "canceled")
      assert.deepStrictEqual(yield* ask(shop.key, `/api/v1/batches/${batch.id}/cancel`, {}), canceled)
      assert.strictEqual((yield* refundsBatch(shop.key, [refund.id])).lines_total, 1)
    }))

  it.effect("show a refund's transaction as soon as it is seen, and take it back where it leaves the chain", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const { services } = yield* DevnetService
      const chain = Context.get(services, SimulatedChain)
      // Of an amount of its own: every list of the one wallet of play money takes what looks like its lines.
      const refund = yield* newRefund(shop, 61)
      const shown = Effect.map(
        ask(shop.key, `/api/v1/refunds/${refund.id}`),
        ({ status, tx_hash }) => [status, tx_hash]
      )
      const batch = yield* refundsBatch(shop.key, [refund.id])
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch, "csv"))
      assert.deepStrictEqual(yield* shown, ["processing", null])
      const { tx_hash: first } = yield* play(shop, batch)
      yield* look(shop, batch)
      yield* until("it is seen", shown, ([, txHash]) => txHash !== null)
      assert.deepStrictEqual(yield* shown, ["processing", first])
      yield* chain.reorg("base", 2, { drop: [first] })
      yield* until("it is gone", Effect.andThen(look(shop, batch), shown), ([, txHash]) => txHash === null)
      assert.deepStrictEqual(yield* shown, ["processing", null])
      // It is still the batch's: whoever has the list may pay it again.
      assertRefused(yield* send(shop.person, `/api/v1/refunds/${refund.id}/cancel`, {}), 409, "REFUND_IN_BATCH")
      const { tx_hash: second } = yield* play(shop, batch)
      yield* readUntil(shop, batch, "paid")
      assert.deepStrictEqual(yield* shown, ["succeeded", second])
      const { services: behind } = yield* DevnetService
      const check = yield* Context.get(behind as unknown as Context.Context<Ledger>, Ledger).check(null)
      assert.deepStrictEqual(check.differences, [])
    }))

  it.effect("take no refund that was reported as sent: it could be paid twice", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const { services } = yield* DevnetService
      const [sent, waiting] = [yield* newRefund(shop), yield* newRefund(shop)]
      const refunds = Context.get(services, Refunds)
      yield* Effect.orDie(refunds.report(sent.id, { _tag: "Submitted", txHash: `0x${"e".repeat(64)}` }, "service:desk"))
      const named = { kind: "refunds", network: "base", from: wallet, refund_ids: [sent.id] }
      const refused = assertRefused(yield* send(shop.key, "/api/v1/batches", named), 409, "INVALID_TRANSITION")
      assert.strictEqual(refused.details.tx_hash, `0x${"e".repeat(64)}`)
      const all = yield* read(shop, yield* refundsBatch(shop.key, "all"))
      assert.deepStrictEqual(all.lines.map(({ refund_id }: any) => refund_id), [waiting.id])
      yield* Effect.orDie(refunds.report(sent.id, { _tag: "Failed", code: "dropped" }, "service:desk"))
      yield* ask(shop.person, `/api/v1/refunds/${sent.id}/retry`, {})
      assert.strictEqual((yield* refundsBatch(shop.key, [sent.id])).lines_total, 1)
    }))

  it.effect("pay the refund of money that pays no invoice", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      // Money on the deployment's own wallet belongs to no merchant.
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey
      okData(
        yield* (yield* DevnetService).call("/api/v1/merchant/wallets/evm", {
          method: "PUT",
          headers: { ...shop.person, "idempotency-key": randomUUID() },
          body: { kind: "xpub", value: account }
        })
      )
      const { invoice_id: id } = yield* ask(shop.key, "/api/v1/invoices", {
        amount_usd: 5,
        accepted_networks: ["base"]
      })
      yield* ask(shop.key, `/api/v1/devnet/invoices/${id}/simulate`, { action: "unmatched", network: "base" })
      const { data: [exception] } = yield* ask(shop.key, "/api/v1/exceptions?status=open")
      const resolved = yield* ask(shop.person, `/api/v1/exceptions/${exception.id}/resolve`, {
        action: "refund",
        refund: { destination: { network: "base", address: receiver }, auto_approve: true }
      })
      const { refund_id: refundId } = resolved.resolution
      const batch = yield* refundsBatch(shop.person, [refundId])
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.person, batch))
      yield* play(shop, batch)
      yield* readUntil(shop, batch, "paid")
      assert.strictEqual((yield* ask(shop.key, `/api/v1/refunds/${refundId}`)).status, "succeeded")
    }))

  it.effect("are made and given out by an internal service, which approves nothing", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop)
      const { internalUrl } = yield* DevnetService
      const owner = { merchant_id: shop.merchantId, environment: "devnet" as const }
      yield* Effect.gen(function*() {
        const client = yield* RpcClient.make(BatchesRpc)
        const batch = yield* client["batches.create"]({
          ...owner,
          batch: { kind: "refunds", network: "base", from: wallet, refund_ids: [refund.id] },
          actor: "payroll"
        })
        assert.deepStrictEqual([batch.status, batch.created_by], ["pending_approval", "service:payroll"])
        const asked = { ...owner, batch_id: batch.id }
        const early = yield* Effect.flip(
          client["batches.export"]({ ...asked, part: 1, format: "eip5792", actor: "payroll" })
        )
        assert.strictEqual((early as PublicError).code, "APPROVAL_REQUIRED")
        yield* approve(shop, batch)
        const given = yield* client["batches.export"]({ ...asked, part: 1, format: "eip5792", actor: "payroll" })
        assert.strictEqual(given.lines, 1)
        const { batches, next } = yield* client["batches.list"]({ ...owner, status: "open" })
        assert.deepStrictEqual([batches.map(({ id }) => id), next], [[batch.id], null])
        assert.strictEqual((yield* client["batches.get"](asked)).lines?.[0]?.refund_id, refund.id)
        const canceled = yield* client["batches.cancel"]({ ...asked, actor: "payroll" })
        assert.strictEqual(canceled.status, "open")
      }).pipe(Effect.provide(InternalRpc.layer({ url: internalUrl, token: Redacted.make(rpcToken) })))
    }))

  it.effect("whose first line went to somebody else fail that refund, and say so", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop)
      const batch = yield* refundsBatch(shop.person, [refund.id])
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.person, batch))
      yield* play(shop, batch, "changed_destination")
      const over = yield* readUntil(shop, batch, "expired")
      assert.deepStrictEqual([over.parts[0].status, over.lines[0].status], ["mismatch", "mismatch"])
      const failed = yield* ask(shop.key, `/api/v1/refunds/${refund.id}`)
      assert.deepStrictEqual([failed.status, failed.failure_code], ["failed", "payout_mismatch"])
    }))
})
