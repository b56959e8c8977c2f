/**
 * Goal: a merchant gives money back by one call, a person approves it, the customer's payment tells of it, and the
 * audit log has every act with who did it.
 * Method: a whole deployment over HTTP and the internal port, in two tenants' hands.
 */
import { HDKey } from "@scure/bip32"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomBytes } from "node:crypto"
import { ExceptionsRpc } from "../../modules/exceptions/rpc.ts"
import { RefundsRpc } from "../../modules/refunds/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { isPublicError } from "../../schemas/Errors.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import { rpcToken } from "../support/Service.ts"
import { asForm, screenIn } from "./Payor.ts"
import { assertStatus } from "./Shop.ts"
import { ask, type Credential, Tenants, tenants } from "./Tenants.ts"

const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

/** Calls of the first merchant, by a key or by its wallet. */
const caller = (credential: Credential) => (path: string, body?: unknown) =>
  Effect.gen(function*() {
    const { service } = yield* Tenants
    return yield* ask(service, credential, path, body === undefined ? {} : { method: "POST", body })
  })

const ok = (credential: Credential) => (path: string, body?: unknown) =>
  Effect.map(caller(credential)(path, body), (answer) => assertStatus(200, answer))

/** An invoice of ten dollars, paid on Base by play money. */
const paidInvoice = (credential: Credential) =>
  Effect.gen(function*() {
    const call = ok(credential)
    const { invoice_id: id } = yield* call("/api/v1/invoices", { amount_usd: 10 })
    const { data } = yield* call(`/api/v1/devnet/invoices/${id}/simulate`, { action: "pay" })
    return { id: id as string, network: data.invoice_payment.network as string }
  })

const refundOf = ({ id, network }: { readonly id: string; readonly network: string }) => ({
  invoice_id: id,
  amount_mode: "custom",
  amount: 4_000,
  reason: "requested_by_customer",
  fee_bearer: "merchant",
  destination: { network, address }
})

const refusalOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.match(self, { onSuccess: () => "done", onFailure: (error) => isPublicError(error) ? error.code : "other" })

layer(tenants, { excludeTestServices: true })("a refund", (it) => {
  it.effect("goes from the merchant's call over a person's approval to the payment that tells of it", () =>
    Effect.gen(function*() {
      const { a } = yield* Tenants
      const [key, wallet] = [ok(a.merchant), ok(a.jwt)]
      const invoice = yield* paidInvoice(a.merchant)
      const { data: refund } = yield* key("/api/v1/refunds", refundOf(invoice))
      assert.strictEqual(refund.status, "pending_approval")
      const path = `/api/v1/refunds/${refund.id}`
      const early = yield* caller(a.merchant)(`/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome: "succeeded" })
      assert.strictEqual(assertStatus(409, early).error.code, "INVALID_TRANSITION")
      assertStatus(403, yield* caller(a.merchant)(`${path}/approve`, {}))
      assert.strictEqual((yield* wallet(`${path}/approve`, {})).data.status, "processing")
      const failed = yield* key(`/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome: "failed" })
      assert.deepInclude(failed.data, { status: "failed", failure_code: "simulated" })
      assert.strictEqual((yield* key(`${path}/retry`, {})).data.status, "processing")
      const paid = yield* key(`/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome: "succeeded" })
      assert.strictEqual(paid.data.status, "succeeded")
      const { data: events } = yield* key(`/api/v1/events?invoice_id=${invoice.id}&type=invoice_payment.refunded`)
      assert.deepInclude(events.data[0].data.object, { settlement_status: "partially_refunded" })

      const { data: log } = yield* key(`/api/v1/audit-log?subject_id=${refund.id}`)
      assert.deepStrictEqual(log.data.map(({ action }: any) => action).toReversed(), [
        "refund.create",
        "refund.approve",
        "refund.report_failed",
        "refund.retry",
        "refund.report_succeeded"
      ])
      const [create, approve] = log.data.toReversed()
      assert.match(create.actor, /^key_/)
      assert.notMatch(approve.actor, /^key_/)
      assert.notInclude(JSON.stringify(log), address, "no address of a payor is kept")
    }))

  it.effect("that failed for good with its payment is paid by nobody, not by the simulator either", () =>
    Effect.gen(function*() {
      const { a } = yield* Tenants
      const [key, wallet] = [ok(a.merchant), ok(a.jwt)]
      const invoice = yield* paidInvoice(a.merchant)
      const { data: refund } = yield* wallet("/api/v1/refunds", { ...refundOf(invoice), auto_approve: true })
      assert.strictEqual(refund.status, "processing")
      yield* key(`/api/v1/devnet/invoices/${invoice.id}/simulate`, { action: "drop" })
      const path = `/api/v1/refunds/${refund.id}`
      assert.deepInclude((yield* key(path)).data, { status: "failed", failure_code: "payment_reverted" })
      for (const outcome of ["succeeded", "failed"]) {
        const answer = yield* caller(a.merchant)(`/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome })
        assert.strictEqual(assertStatus(409, answer).error.code, "INVALID_TRANSITION")
        if (outcome === "succeeded") assert.include(answer.json.error.message, "left the chain")
      }
      assert.deepInclude((yield* key(path)).data, { status: "failed", tx_hash: null })
      assert.strictEqual((yield* key(`${path}/cancel`, {})).data.status, "canceled")
    }))

  it.effect("is opened and given up by an internal service, and approved by none", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const invoice = yield* paidInvoice(a.merchant)
      yield* Effect.gen(function*() {
        const operator = yield* RpcClient.make(RefundsRpc)
        const open = (merchantId: number, more: object = {}) =>
          operator["refunds.create"]({
            merchant_id: MerchantId.make(merchantId),
            refund: { ...refundOf(invoice), ...more } as never,
            actor: "desk"
          })
        assert.strictEqual(yield* refusalOf(open(b.merchantId)), "INVOICE_NOT_FOUND")
        const { refunds: [opened] } = yield* Effect.orDie(open(a.merchantId, { destination: "claim" }))
        const { id: refund_id } = opened!.refund
        assert.match(opened!.refund.claim_url!, /#t=/)
        assert.strictEqual(opened!.payout, null)
        const renewed = yield* Effect.orDie(operator["refunds.claims.create"]({ refund_id, actor: "desk" }))
        assert.notStrictEqual(renewed.refund.claim_url, opened!.refund.claim_url)
        assert.strictEqual((yield* Effect.orDie(operator["refunds.get"]({ refund_id }))).refund.claim_url, null)
        const { refunds: [directed] } = yield* Effect.orDie(open(a.merchantId))
        assert.strictEqual(
          yield* refusalOf(operator["refunds.approve"]({ refund_id: directed!.refund.id, actor: "desk" })),
          "CREDENTIAL_NOT_ALLOWED"
        )
        const report = { status: "succeeded", tx_hash: `0x${"a".repeat(64)}`, height: 1 } as const
        assert.strictEqual(
          yield* refusalOf(operator["refunds.report"]({ refund_id: directed!.refund.id, report, actor: "desk" })),
          "INVALID_TRANSITION",
          "nobody approved it"
        )
        const approved = ok(a.jwt)(`/api/v1/refunds/${directed!.refund.id}/approve`, {})
        yield* approved
        assert.include(
          ["VALIDATION_ERROR", "INVALID_TRANSITION", "NETWORK_DEGRADED"],
          yield* refusalOf(operator["refunds.report"]({ refund_id: directed!.refund.id, report, actor: "desk" })),
          "no block shows it"
        )
        const shown = yield* Effect.orDie(operator["refunds.get"]({ refund_id: directed!.refund.id }))
        assert.deepInclude(shown.payout, { token_amount: "4.000000", units: "4000000" })
        const canceled = yield* Effect.orDie(operator["refunds.cancel"]({ refund_id, actor: "desk" }))
        assert.strictEqual(canceled.refund.status, "canceled")
      }).pipe(
        Effect.scoped,
        Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }))
      )
      const { data: log } = yield* ok(a.merchant)("/api/v1/audit-log?action=refund.create&limit=2")
      assert.deepStrictEqual(log.data.map(({ actor }: any) => actor), ["service:desk", "service:desk"])
    }))

  it.effect("of money that pays no invoice goes from the operator's decision over the payor's page to its payout", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const [key, wallet] = [ok(a.merchant), ok(a.jwt)]
      const value = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey
      const put = { method: "PUT", body: { kind: "xpub", value } }
      assertStatus(200, yield* ask(service, a.merchant, "/api/v1/merchant/wallets/evm", put))
      const { invoice_id: invoiceId } = yield* key("/api/v1/invoices", { amount_usd: 10 })
      yield* key(`/api/v1/devnet/invoices/${invoiceId}/simulate`, { action: "unmatched" })
      const { data: { data: [exception] } } = yield* key("/api/v1/exceptions?status=open&type=unmatched_payment")
      const refund = yield* Effect.gen(function*() {
        const exceptions = yield* RpcClient.make(ExceptionsRpc)
        const refunds = yield* RpcClient.make(RefundsRpc)
        const decision = { exception_id: exception.id, action: "refund", actor: "desk" } as const
        const resolveAs = (merchantId: number) =>
          exceptions["exceptions.resolve"]({ ...decision, merchant_id: MerchantId.make(merchantId) })
        assert.strictEqual(yield* refusalOf(resolveAs(b.merchantId)), "EXCEPTION_NOT_FOUND")
        const { resolution } = yield* Effect.orDie(resolveAs(a.merchantId))
        const refund_id = resolution!.refund_id!
        const listed = yield* Effect.orDie(
          refunds["refunds.list"]({ merchant_id: MerchantId.make(a.merchantId), limit: 1 })
        )
        assert.deepInclude(listed.refunds[0]!.refund, { id: refund_id, invoice_id: null, exception_id: exception.id })
        const { refund: linked } = yield* Effect.orDie(refunds["refunds.claims.create"]({ refund_id, actor: "desk" }))
        return linked
      }).pipe(
        Effect.scoped,
        Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }))
      )
      const [, token] = refund.claim_url!.split("#t=")
      const page = (action: string) =>
        service.call(
          `/claim/${refund.id}`,
          asForm({ action, token: token!, ...(action === "claim" ? { address } : {}) })
        )
      const opened = yield* page("open")
      assert.deepStrictEqual([opened.status, screenIn(opened)], [200, "address"], opened.text)
      assert.include(opened.text, "10.00")
      assert.notInclude(opened.text, invoiceId)
      assert.strictEqual(screenIn(yield* page("claim")), "approval")
      const approved = yield* wallet(`/api/v1/refunds/${refund.id}/approve`, {})
      assert.deepInclude(approved.data, { status: "processing", destination_address: address })
      yield* key(`/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome: "succeeded" })
      assert.strictEqual(screenIn(yield* page("open")), "paid")
      assert.deepInclude((yield* key(`/api/v1/exceptions/${exception.id}`)).data, { status: "resolved" })
      const { data: log } = yield* key(`/api/v1/audit-log?subject_id=${refund.id}`)
      assert.deepStrictEqual(log.data.map(({ action }: any) => action).toReversed(), [
        "refund.create",
        "refund.claim_link",
        "refund.set_destination",
        "refund.approve",
        "refund.report_succeeded"
      ])
    }))
})
