/**
 * Goal: every accident that the simulator can cause waits as an exception and can be decided on: by the merchant over
 * HTTP or, where the money is on the deployment's own wallet, by the operator. Method: a whole devnet, one call each.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomUUID } from "node:crypto"
import { ExceptionsRpc } from "../../../modules/exceptions/rpc.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { rpcToken } from "../../support/Service.ts"
import {
  assertRefused,
  type DevnetMerchant,
  DevnetService,
  newDevnetMerchant,
  newOrder,
  okData
} from "../simulator/DevnetService.ts"

const call = Effect.fnUntraced(function*(
  { merchant }: DevnetMerchant,
  path: string,
  body?: unknown,
  method = body === undefined ? "GET" : "POST"
) {
  const service = yield* DevnetService
  return okData(
    yield* service.call(path, {
      method,
      headers: { "x-api-key": merchant, "idempotency-key": randomUUID() },
      ...(body === undefined ? {} : { body })
    })
  )
})

const newInvoice = (player: DevnetMerchant, fields: object = {}) =>
  Effect.map(call(player, "/api/v1/invoices", { amount_usd: 50, ...fields }), ({ invoice_id }) => invoice_id as string)

const simulate = (player: DevnetMerchant, invoiceId: string, ...actions: ReadonlyArray<object>) =>
  Effect.forEach(actions, (action) => call(player, `/api/v1/devnet/invoices/${invoiceId}/simulate`, action))

const openOf = (player: DevnetMerchant, invoiceId: string) =>
  Effect.map(
    call(player, `/api/v1/exceptions?status=open&invoice_id=${invoiceId}`),
    ({ data }) => data as ReadonlyArray<any>
  )

const resolve = (player: DevnetMerchant, { id }: { readonly id: string }, action: string, note = "") =>
  call(player, `/api/v1/exceptions/${id}/resolve`, { action, note })

layer(DevnetService.layer, { excludeTestServices: true })("an accident", (it) => {
  it.effect("of each kind opens its exception, and each decision that it allows is made once and closes it", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      yield* call(player, "/api/v1/merchant/settings", { late_payment_policy: "manual" }, "PATCH")
      const accidents: ReadonlyArray<{
        readonly type: string
        readonly fields?: object
        readonly actions: ReadonlyArray<object>
        readonly allowed: ReadonlyArray<string>
      }> = [
        { type: "overpaid", actions: [{ action: "overpay" }], allowed: ["refund", "credit", "ignore"] },
        {
          type: "duplicate_payment",
          actions: [{ action: "pay" }, { action: "duplicate" }],
          allowed: ["refund", "credit", "ignore"]
        },
        { type: "late_payment", actions: [{ action: "late" }], allowed: ["accept", "refund", "credit", "ignore"] },
        { type: "wrong_token", actions: [{ action: "wrong_token" }], allowed: ["refund", "credit", "ignore"] },
        {
          type: "wrong_network",
          fields: { accepted_networks: ["base"] },
          actions: [{ action: "wrong_network" }],
          allowed: ["accept", "refund", "credit", "ignore"]
        },
        { type: "reorged", actions: [{ action: "pay" }, { action: "reorg" }], allowed: ["ignore"] }
      ]
      for (const { actions, allowed, fields, type } of accidents) {
        for (const action of allowed) {
          const invoiceId = yield* newInvoice(player, fields)
          yield* simulate(player, invoiceId, ...actions)
          const [exception, ...others] = yield* openOf(player, invoiceId)
          assert.deepStrictEqual([exception?.type, others], [type, []])
          assert.deepStrictEqual(exception.allowed_actions, allowed, type)
          const before = yield* call(player, `/api/v1/invoices/${invoiceId}`)
          if (type === "reorged") {
            const silent = yield* (yield* DevnetService).call(`/api/v1/exceptions/${exception.id}/resolve`, {
              headers: { "x-api-key": player.merchant, "idempotency-key": randomUUID() },
              body: { action, note: "  " }
            })
            assert.propertyVal(assertRefused(silent, 400, "VALIDATION_ERROR"), "param", "note")
          }
          const resolved = yield* resolve(player, exception, action, "looked at it")
          assert.deepInclude(resolved, { status: "resolved", allowed_actions: [] })
          assert.deepInclude(resolved.resolution, { action, note: "looked at it" })
          assert.deepStrictEqual(yield* openOf(player, invoiceId), [])
          const after = yield* call(player, `/api/v1/invoices/${invoiceId}`)
          if (action !== "accept") assert.deepStrictEqual(after, before, `${type} ${action}`)
          else assert.isAbove(after.amount_paid, before.amount_paid, type)
          const { data: events } = yield* call(player, `/api/v1/events?invoice_id=${invoiceId}&limit=1`)
          if (action === "accept" && after.status === "paid") assert.strictEqual(events[0].type, "invoice.paid")
        }
      }
    }))

  it.effect("of an order that was paid too much waits for nobody once the order's own refund gives all of it back", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const { invoiceId, orderId } = yield* newOrder(player)
      const transition = Effect.fnUntraced(function*(to: string) {
        const service = yield* DevnetService
        return okData(
          yield* service.call(`/api/commerce/devnet/orders/${orderId}/simulate`, {
            method: "POST",
            headers: { "x-api-key": player.commerce, "idempotency-key": randomUUID() },
            body: {
              transition_to: to,
              ...(to === "refunded" ? { wallet_address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" } : {})
            }
          })
        )
      })
      yield* simulate(player, invoiceId, { action: "overpay" })
      const [open] = yield* openOf(player, invoiceId)
      assert.deepInclude(open, { type: "overpaid", allowed_actions: ["credit", "ignore"] })
      yield* transition("failed")
      const isOverpaid = ({ type }: { readonly type: string }) => type === "overpaid"
      assert.deepStrictEqual((yield* openOf(player, invoiceId)).filter(isOverpaid), [])
      const closed = yield* call(player, `/api/v1/exceptions/${open.id}`)
      assert.deepInclude(closed, { status: "resolved", resolution: null })
      yield* transition("refunded")
      assert.deepStrictEqual((yield* openOf(player, invoiceId)).filter(isOverpaid), [])
      const [payment] = yield* call(player, `/api/v1/invoices/${invoiceId}/payments`)
      assert.strictEqual(payment.settlement_status, "refunded")
    }))

  it.effect("to money without an invoice is the operator's where the wallet is, and no merchant sees it", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const invoiceId = yield* newInvoice(player)
      yield* simulate(player, invoiceId, { action: "unmatched" })
      const { internalUrl, services } = yield* DevnetService
      const merchants = (yield* call(player, "/api/v1/exceptions")).data
      assert.deepStrictEqual(merchants, [])
      yield* Effect.gen(function*() {
        const operator = yield* RpcClient.make(ExceptionsRpc)
        const { exceptions: [open], next } = yield* operator["exceptions.list"]({
          environment: "devnet",
          status: "open"
        })
        assert.isNull(next)
        assert.deepInclude(open, {
          type: "unmatched_payment",
          invoice_id: null,
          allowed_actions: ["credit", "assign", "ignore"]
        })
        const ask = { exception_id: open!.id, action: "credit", actor: "back-office" } as const
        const foreign = yield* Effect.flip(operator["exceptions.resolve"]({ ...ask, merchant_id: player.id as never }))
        assert.propertyVal(foreign, "code", "EXCEPTION_NOT_FOUND")
        const answers = yield* Effect.forEach(
          Array.from({ length: 10 }, () => operator["exceptions.resolve"](ask)),
          Effect.result,
          { concurrency: "unbounded" }
        )
        const [made, ...more] = answers.filter(({ _tag }) => _tag === "Success")
        assert.isDefined(made)
        assert.deepStrictEqual(more, [])
        const read = yield* operator["exceptions.get"]({ exception_id: open!.id })
        assert.deepInclude(read.resolution, { action: "credit", actor: "service:back-office" })
      }).pipe(
        Effect.scoped,
        Effect.provide(InternalRpc.layer({ url: internalUrl, token: Redacted.make(rpcToken) }))
      )
      const invoice = (yield* Context.get(services, Invoices).find(invoiceId))!
      assert.deepStrictEqual([invoice.payments, invoice.exceptions], [[], []])
    }))

  it.effect("to money without an invoice ends well once the operator has found out whose it is", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const invoiceId = yield* newInvoice(player)
      yield* simulate(player, invoiceId, { action: "unmatched" })
      const { internalUrl } = yield* DevnetService
      yield* Effect.gen(function*() {
        const operator = yield* RpcClient.make(ExceptionsRpc)
        const { exceptions: [open] } = yield* operator["exceptions.list"]({ environment: "devnet", status: "open" })
        const resolved = yield* operator["exceptions.resolve"]({
          exception_id: open!.id,
          action: "assign",
          invoice_id: invoiceId as never,
          actor: "back-office"
        })
        assert.deepInclude(resolved.resolution, { action: "assign", invoice_id: invoiceId as never })
      }).pipe(
        Effect.scoped,
        Effect.provide(InternalRpc.layer({ url: internalUrl, token: Redacted.make(rpcToken) }))
      )
      assert.include(yield* call(player, `/api/v1/invoices/${invoiceId}`), { status: "paid", amount_paid: 50_000 })
    }))
})
