/** Simulated payments between the wire and the simulator. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentPrincipal, Idempotency, inVersion, jsonText, replayed, RequestInfo, requireMerchantScope } from "../../runtime/Http.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { publicError } from "../../schemas/Errors.ts"
import { isUuid } from "../../schemas/Ids.ts"
import { invoiceObject, Invoices, paymentObject } from "../invoices/plugin.ts"
import { Simulator } from "./actor.ts"
import { SimulatorApi } from "./api.ts"

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

export const handlers = HttpApiBuilder.group(SimulatorApi, "simulator", Effect.fn(function*(group) {
  const invoices = yield* Invoices
  const clock = yield* MerchantClock
  const simulator = yield* Simulator

  return group.handle("advanceClock", Effect.fnUntraced(function*({ payload }) {
    const { merchantId } = yield* devnetKey
    const idempotency = yield* Idempotency
    const now = yield* clock.nowSeconds(merchantId, "devnet")
    const before = clock.aheadSeconds(merchantId, "devnet")
    const body = (ahead: number) =>
      JSON.stringify({ success: true, data: { now: now - before + ahead, ahead_seconds: ahead } })
    const ahead = yield* clock.advance(merchantId, payload.seconds, {
      cause: yield* requestCause,
      reply: (ahead) => idempotency.reply(200, body(ahead))
    }).pipe(replayed)
    return jsonText(body(ahead))
  })).handle("simulateInvoice", Effect.fnUntraced(function*({ params, payload }) {
    const { merchantId } = yield* devnetKey
    const found = isUuid(params.id) ? yield* invoices.get(merchantId, params.id) : null
    if (found === null || found.invoice.environment !== "devnet") return yield* publicError("INVOICE_NOT_FOUND")
    const { aggregate: { invoice }, eventIds, payment } = yield* simulator.simulate(found, payload, yield* requestCause)
    const data = {
      invoice: invoiceObject(invoice),
      invoice_payment: payment === undefined ? null : yield* inVersion(paymentObject(invoice, payment)),
      event_ids: eventIds
    }
    return jsonText(JSON.stringify({ success: true, data }))
  }))
}))
