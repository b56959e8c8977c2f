/** Simulated payments between the wire and the simulator. */
import { dieOnReplay } from "../../runtime/Commit.ts"
import { Effect } from "effect"
import {
  CurrentPrincipal,
  Idempotency,
  jsonText,
  RequestInfo,
  requireMerchantScope,
  toRequestVersion
} from "../../runtime/Http.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { readAddress } from "../../schemas/Address.ts"
import { publicError } from "../../schemas/Errors.ts"
import { isUuid } from "../../schemas/Ids.ts"
import { orderObject } from "../commerce/plugin.ts"
import { invoiceObject, Invoices, paymentObject } from "../invoices/plugin.ts"
import { type RefundCommand, refundObject, Refunds } from "../refunds/plugin.ts"
import { NetworkFaults, OrderSimulator, Simulator } from "./service.ts"
import { type SimulateOrderRequest, SimulatorApi } from "./api.ts"
import { allowedTransitions, payoutTxHash } from "./rules.ts"
import * as Operations from "../../runtime/Operations.ts"

/** The call is why everything of it happens. */
const requestCause = Effect.gen(function*() {
  const { key } = yield* Idempotency
  const { requestId } = yield* RequestInfo
  return { requestId, idempotencyKey: key }
})

const devnetKey = Effect.gen(function*() {
  const principal = yield* CurrentPrincipal
  if (principal.environment !== "devnet") return yield* publicError("DEVNET_ONLY")
  return yield* requireMerchantScope
})

/** Whose order it is: a commerce key's. A wallet and a merchant's key are of merchant scope. */
const commerceKey = Effect.gen(function*() {
  const { environment, merchantId, scope } = yield* CurrentPrincipal
  if (environment !== "devnet") return yield* publicError("DEVNET_ONLY")
  return scope === "commerce" ? merchantId : yield* publicError("SCOPE_MISMATCH")
})

/** Where a refund goes, if it was said: on BSC, unless another network is named. */
const destinationOf = Effect.fnUntraced(function*({
  transition_to: transition,
  wallet_address: text,
  wallet_network: network = "bsc"
}: typeof SimulateOrderRequest.Type) {
  if (text === undefined) return null
  const address = readAddress(network, "devnet", text)
  if (address !== null) return { network, address, memo: null }
  const code = transition === "refunded" ? "REFUND_DESTINATION_REQUIRED" : "WALLET_ADDRESS_INVALID"
  return yield* publicError(code, { param: "wallet_address" })
})

export const handlers = Operations.group(
  SimulatorApi,
  "simulator",
  Effect.fn(function*(group) {
    const invoices = yield* Invoices
    const clock = yield* MerchantClock
    const faults = yield* NetworkFaults
    const orders = yield* OrderSimulator
    const refunds = yield* Refunds
    const simulator = yield* Simulator

    return group.handle(
      "setFault",
      Effect.fnUntraced(function*({ params, payload: { mode } }) {
        const { merchantId } = yield* devnetKey
        const network = yield* faults.set(merchantId, params.network, mode)
        return jsonText(JSON.stringify({ success: true, data: { network, mode } }))
      })
    ).handle(
      "simulateOrder",
      Effect.fnUntraced(function*({ params, payload }) {
        const merchantId = yield* commerceKey
        const { tracking, transition_to: transition } = payload
        const { eventIds, order } = yield* orders.step(merchantId, params.order_id, {
          transition,
          tracking: tracking === undefined
            ? null
            : { carrier: tracking.carrier ?? null, number: tracking.tracking_number ?? null },
          destination: yield* destinationOf(payload)
        }, yield* requestCause)
        const data = {
          order: yield* toRequestVersion(orderObject(order)),
          event_ids: eventIds,
          allowed_transitions: allowedTransitions(order)
        }
        return jsonText(JSON.stringify({ success: true, data }))
      })
    ).handle(
      "simulateRefund",
      Effect.fnUntraced(function*({ params, payload: { outcome } }) {
        const principal = yield* devnetKey
        const found = yield* refunds.find(params.id)
        if (found?.merchantId !== principal.merchantId || found.environment !== "devnet") {
          return yield* publicError("REFUND_NOT_FOUND")
        }
        if (found.terms === null) {
          return yield* publicError("INVALID_TRANSITION", {
            message: "This refund is an order's: simulate its order"
          })
        }
        const command: RefundCommand = outcome === "succeeded"
          ? { _tag: "Succeed", txHash: payoutTxHash(found.id) }
          : { _tag: "Fail", code: "simulated" }
        const refund = yield* refunds.change(found.id, command, yield* requestCause, principal.credential).pipe(
          dieOnReplay
        )
        return jsonText(JSON.stringify({ success: true, data: refundObject(refund, { orderId: null }) }))
      })
    ).handle(
      "advanceClock",
      Effect.fnUntraced(function*({ payload }) {
        const { merchantId } = yield* devnetKey
        const idempotency = yield* Idempotency
        const now = yield* clock.nowSeconds(merchantId, "devnet")
        const before = clock.aheadSeconds(merchantId, "devnet")
        const body = (ahead: number) =>
          JSON.stringify({ success: true, data: { now: now - before + ahead, ahead_seconds: ahead } })
        const ahead = yield* clock.advance(merchantId, payload.seconds, {
          cause: yield* requestCause,
          reply: (ahead) => idempotency.reply(200, body(ahead))
        }).pipe(dieOnReplay)
        return jsonText(body(ahead))
      })
    ).handle(
      "simulateInvoice",
      Effect.fnUntraced(function*({ params, payload }) {
        const { merchantId } = yield* devnetKey
        const found = isUuid(params.id) ? yield* invoices.get(merchantId, params.id) : null
        if (found === null || found.invoice.environment !== "devnet") return yield* publicError("INVOICE_NOT_FOUND")
        const { aggregate: { invoice }, eventIds, payment } = yield* simulator.simulate(
          found,
          payload,
          yield* requestCause
        )
        const data = {
          invoice: invoiceObject(invoice),
          invoice_payment: payment === undefined ? null : yield* toRequestVersion(paymentObject(invoice, payment)),
          event_ids: eventIds
        }
        return jsonText(JSON.stringify({ success: true, data }))
      })
    )
  })
)
