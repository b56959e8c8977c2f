/**
 * Devnet only: drives an invoice through the rules that mainnet runs
 * (modules/docs/reference/simulator.md#who-may-call-it).
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, Idempotent, MerchantAuth, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { EpochSeconds, EventId, PathId } from "../../schemas/Ids.ts"
import { maximumAddressLength } from "../../schemas/Address.ts"
import { withAliases } from "../../schemas/Alias.ts"
import { Invoice, WireAmount } from "../../schemas/Invoice.ts"
import { Network } from "../../schemas/Network.ts"
import { Order } from "../../schemas/Order.ts"
import { maximumCredit, usdWire } from "../../schemas/Money.ts"
import { Payment } from "../../schemas/Payment.ts"
import { Refund } from "../../schemas/Refund.ts"
import { success } from "../../schemas/Success.ts"
import { invoiceActions, orderTransitions } from "./rules.ts"

/** Blocks that a simulated transfer can be under, at most: above the deepest that any policy asks for. */
export const maximumConfirmations = 10_000

/** What to simulate, on the route named, else on the one shown last. */
export const SimulateRequest = Schema.Struct({
  action: Schema.Literals(invoiceActions).annotate({
    description:
      "`pay`: a transfer of what remains, or of `amount` usd_millis; `partial`: half of it; `overpay`: a tenth " +
      "more; `expire`: the invoice's time is over now, and a part payment keeps its grace; `late`: the same, then a " +
      "transfer to the address it had by then; `wrong_token`, `wrong_network`: a transfer that the invoice does not take; " +
      "`missing_memo`: one without the memo that its network asks for; `unmatched`: one that came to the address before " +
      "the invoice had it; `duplicate`: the newest simulated transfer once " +
      "more; `dust`: one base unit, worth too little to count. Of the newest simulated transfer: `confirm`: its block is deep enough; `reorg`: another block has it now; " +
      "`drop`: no block has it any more. Of every payment that counts and is not settled: `settle`: its money has reached " +
      "the merchant; `fail_settlement`: this try to bring it there failed."
  }),
  network: Schema.optionalKey(Network),
  token_id: Schema.optionalKey(Schema.Int),
  amount: Schema.optionalKey(
    WireAmount.check(Schema.isBetween({ minimum: 1, maximum: usdWire(maximumCredit) })).annotate({
      description: "In usd_millis (thousandths of a dollar): 5000 is $5. At most what one transfer is credited with."
    })
  ),
  confirmations: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumConfirmations })).annotate({
      description: "Blocks that confirm the transfer; default: as many as it needs. 0: seen only."
    })
  )
}).annotate({ examples: [{ action: "pay" }, { action: "pay", confirmations: 0 }] })

/** Characters of a carrier or a tracking number, at most: no carrier's is longer. */
export const maximumTrackingLength = 100

const TrackingText = Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(maximumTrackingLength))

/** The step to take, and what goes with it. */
export const SimulateOrderRequest = withAliases(
  Schema.Struct({
    transition_to: Schema.Literals(orderTransitions),
    tracking: Schema.optionalKey(Schema.Struct({
      carrier: Schema.optionalKey(TrackingText),
      tracking_number: Schema.optionalKey(TrackingText)
    })),
    wallet_network: Schema.optionalKey(Network),
    wallet_address: Schema.optionalKey(
      Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(maximumAddressLength))
    )
  }),
  {
    identifier: "SimulateOrder",
    description:
      "`tracking`: for `shipped`; made up where it is not sent. `wallet_address`: where refunds of the order go " +
      "from now on; `wallet_network` is `bsc` where it is not sent.",
    examples: [
      { transition_to: "shipped", tracking: { carrier: "UPS", tracking_number: "1Z999AA10123456784" } },
      { transition_to: "refunded", wallet_network: "bsc", wallet_address: "0x8c9d3f0b1A2e4C5d6F708192A3b4C5D6e7F87810" }
    ]
  }
)

/** Seconds that one call can move a merchant's clock by: 365 days, further than anything is due. */
export const maximumAdvanceSeconds = 31_536_000

export const FaultRequest = Schema.Struct({
  mode: Schema.Literals(["down", "lagging", "ok"])
}).annotate({ examples: [{ mode: "down" }] })

export const AdvanceRequest = Schema.Struct({
  seconds: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumAdvanceSeconds }))
}).annotate({ examples: [{ seconds: 43_200 }] })

export const SimulateRefundRequest = Schema.Struct({
  outcome: Schema.Literals(["succeeded", "failed"]).annotate({
    description: "`succeeded`: it was paid out and is final. `failed`: nothing was paid"
  })
}).annotate({ examples: [{ outcome: "succeeded" }] })

/** Refusals that every route of play money has. */
const devnetOnly = ["UNAUTHORIZED", "API_KEY_INVALID", "SCOPE_MISMATCH", "DEVNET_ONLY", "SERVICE_UNAVAILABLE"] as const

export class SimulatorGroup extends HttpApiGroup.make("simulator").add(
  HttpApiEndpoint.post("simulateInvoice", "/api/v1/devnet/invoices/:id/simulate", {
    params: { id: PathId },
    payload: SimulateRequest,
    success: Schema.Struct({
      success: Schema.tag(true),
      data: Schema.Struct({
        invoice: Invoice,
        invoice_payment: Schema.NullOr(Payment),
        event_ids: Schema.Array(EventId)
      })
    }),
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "TOKEN_NOT_ACCEPTED",
      "UNSUPPORTED_NETWORK",
      "INVOICE_NOT_FOUND",
      "INVOICE_NOT_PAYABLE",
      "INVALID_TRANSITION",
      "QUOTE_UNAVAILABLE",
      "ROUTE_LOCKED",
      "NETWORK_DEGRADED",
      ...devnetOnly
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Simulate a payment or the end of an invoice",
    description:
      "Devnet only. A simulated transfer takes the road of every other one: same rules, same events. Without " +
      "`amount` it is what remains of the invoice; without a route, the one shown last or the first stablecoin. An end " +
      "that comes early moves `expires_at` to now, told by `invoice.updated`; then the clock's own rules apply."
  })),
  HttpApiEndpoint.post("simulateOrder", "/api/commerce/devnet/orders/:order_id/simulate", {
    params: { order_id: PathId },
    payload: SimulateOrderRequest,
    success: Schema.Struct({
      success: Schema.tag(true),
      data: Schema.Struct({
        order: Order,
        event_ids: Schema.Array(EventId),
        allowed_transitions: Schema.Array(Schema.Literals(orderTransitions))
      })
    }),
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "WALLET_ADDRESS_INVALID",
      "REFUND_DESTINATION_REQUIRED",
      "UNSUPPORTED_NETWORK",
      "ORDER_NOT_FOUND",
      "INVALID_TRANSITION",
      "INVOICE_NOT_PAYABLE",
      "QUOTE_UNAVAILABLE",
      "NETWORK_DEGRADED",
      ...devnetOnly
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Take an order a step further",
    description:
      "Devnet only, with a commerce key. Chain, settlement, retailer and refunds are told to have done their " +
      "part; the rules are those of every order, in one commit with one `commerce.order.updated`. A step that the order " +
      "cannot take now is refused with those it can, in `details.allowed_transitions`."
  })),
  HttpApiEndpoint.post("simulateRefund", "/api/v1/devnet/refunds/:id/simulate", {
    params: { id: PathId },
    payload: SimulateRefundRequest,
    success: success(Refund),
    error: errors("wrapped", "VALIDATION_ERROR", "REFUND_NOT_FOUND", "INVALID_TRANSITION", ...devnetOnly)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Simulate the payout of a refund",
    description:
      "Devnet only, of a refund that a person approved, but an order's. Play money lies on no chain, so the simulator " +
      "stands for the operator and for the chain that shows the transfer. The payments that gave some of it tell " +
      "`invoice_payment.refunded`."
  })),
  HttpApiEndpoint.post("setFault", "/api/v1/devnet/networks/:network/fault", {
    params: { network: Schema.String },
    payload: FaultRequest,
    success: Schema.Struct({
      success: Schema.tag(true),
      data: Schema.Struct({ network: Network, mode: FaultRequest.fields.mode })
        .annotate({ examples: [{ network: "base", mode: "down" }] })
    }),
    error: errors("wrapped", "VALIDATION_ERROR", "UNSUPPORTED_NETWORK", ...devnetOnly)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Let a network fail for you",
    description:
      "`down`: no new address and no quote on it, simulated transfers are refused, and invoices with an address " +
      "there do not expire; `lagging`: simulated transfers are seen and wait for `confirm`; `ok`: as it is. It touches " +
      "your own invoices alone, and ends when the service is started again. Where several instances serve, it holds in " +
      "the one that took the call."
  })),
  HttpApiEndpoint.post("advanceClock", "/api/v1/devnet/clock/advance", {
    payload: AdvanceRequest,
    success: Schema.Struct({
      success: Schema.tag(true),
      data: Schema.Struct({
        now: EpochSeconds.annotate({ description: "The merchant's time." }),
        ahead_seconds: Schema.Int.annotate({ description: "By how much it is ahead of the service's own." })
      }).annotate({ examples: [{ now: EpochSeconds.make(1_766_363_696), ahead_seconds: 43_200 }] })
    }),
    error: errors("wrapped", "VALIDATION_ERROR", ...devnetOnly)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Move your devnet clock forward",
    description:
      "Whatever is due in that time comes due: the end of invoices and quotes, grace, waiting webhook retries. " +
      "Objects are dated by it from then on. Event ids, sessions, idempotency keys and rate limits stay with the service's " +
      "clock, and nobody else's time moves. There is no way back; all steps together come to ten years at most."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "invoices:write" })
  .middleware(WrappedErrors)
  .annotateMerge(
    OpenApi.annotations({ title: "Simulator", description: "Play money: try the whole flow without a wallet." })
  )
{}

export class SimulatorApi extends HttpApi.make("simulator").add(SimulatorGroup) {}
