/** Devnet only: drives an invoice through the rules that mainnet runs (API reference, "Devnet simulator"). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, Idempotent, MerchantAuth, Wrapped } from "../../runtime/Http.ts"
import { EventId } from "../../schemas/Ids.ts"
import { Invoice, WireAmount } from "../../schemas/Invoice.ts"
import { Network } from "../../schemas/Network.ts"
import { Payment } from "../../schemas/Payment.ts"

/** `pay` sends a simulated transfer of what remains, or of `amount` usd_millis, on the route named or last shown. */
export const SimulateRequest = Schema.Struct({
  action: Schema.Literals(["pay"]),
  network: Schema.optionalKey(Network),
  token_id: Schema.optionalKey(Schema.Int),
  amount: Schema.optionalKey(WireAmount.check(Schema.isGreaterThan(0)))
}).annotate({ examples: [{ action: "pay" }] })

export class DevnetGroup extends HttpApiGroup.make("devnet").add(
  HttpApiEndpoint.post("simulate", "/api/v1/devnet/invoices/:id/simulate", {
    params: { id: Schema.String },
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
      "UNAUTHORIZED",
      "API_KEY_INVALID",
      "SCOPE_MISMATCH",
      "DEVNET_ONLY",
      "INVOICE_NOT_FOUND",
      "INVOICE_NOT_PAYABLE",
      "ROUTE_LOCKED",
      "SERVICE_UNAVAILABLE"
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Simulate a payment",
    description: "Devnet only. A simulated transfer takes the road of every other one: same rules, same events. Without " +
      "`amount` it is what remains of the invoice; without a route, the one shown last or the first stablecoin."
  }))
)
  .middleware(MerchantAuth)
  .middleware(Wrapped)
  .annotateMerge(OpenApi.annotations({ title: "Devnet", description: "Play money: try the whole flow without a wallet." }))
{}

export class DevnetApi extends HttpApi.make("devnet").add(DevnetGroup) {}
