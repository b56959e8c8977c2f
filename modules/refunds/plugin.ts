/** Refunds: money of an invoice on its way back to the payor, paid out by an operator. */
import { Layer, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import { descriptorOf, type Network, networks } from "../../schemas/Network.ts"
import { InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { PayorDetails, RefundClaims } from "../payments/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { Refunds } from "./service.ts"
import { RefundsApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { RefundsRpc } from "./rpc.ts"
import { Approvals } from "./service/Approvals.ts"
import { registerClaims } from "./service/PayorClaims.ts"

export { approvalPageOf, approvalsReply, challengeReply } from "./handlers/Approvals.ts"
export {
  type ActValue,
  approvalBy,
  approvalsRequired,
  type ApprovedContent,
  type Approver,
  approversOf,
  type Destination,
  hasTerms,
  isApproved,
  isOpen,
  linkedRefundObject,
  net,
  peopleRequired,
  type RefundBatch,
  type RefundCommand,
  refundObject,
  type RefundState,
  sentUnits,
  valueOf
} from "./machine.ts"
export { proofWrite } from "./repo.ts"
export type { PayoutSender, RefundChange, RefundFact } from "./rules.ts"
export { Refunds } from "./service.ts"
export { Approvals, type IssuedApproval, type ProvedApproval } from "./service/Approvals.ts"
export { holdWrite, type LineResult, transactionWrite } from "./service/BatchPayouts.ts"
export type { ClaimedWallet, OpenClaim } from "./service/Claims.ts"
export type { ExceptionRefundCall, LinkedRefund } from "./service/PaymentRefunds.ts"
export type { RefundQuoteRequest, RefundRequest, RefundStep } from "./service/RefundCalls.ts"

const fee = Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })))

const Options = Schema.Struct({
  /** usd_millis kept of a refund for its payout, by the network it is paid out on; $100 at most. */
  fees: Schema.optionalKey(Schema.Struct(
    Object.fromEntries(networks.map((network) => [network, fee])) as Record<Network, typeof fee>
  )),
  /**
   * Whether a refund may be paid out as soon as its destination is known. False: it waits for `refunds.approve`.
   * Default: true, as every payout is an operator's own act.
   */
  autoApprove: Schema.optionalKey(Schema.Boolean)
})

const feesOf = (overrides: typeof Options.Type["fees"] = {}) =>
  Object.fromEntries(
    networks.map((
      network
    ) => [network, usdMillis(BigInt(overrides[network] ?? descriptorOf(network).refundFeeUsdMillis))])
  ) as Record<Network, UsdMillis>

export const plugin = Plugin.make({
  name: "refunds",
  slot: "modules",
  needs: { invoices: [Invoices, InvoiceHooks], payments: [PayorDetails, RefundClaims], settings: MerchantSettings },
  options: Options,
  http: RefundsApi,
  rpc: RefundsRpc,
  migrations,
  tables,
  layer: ({ autoApprove = true, fees }) =>
    Layer.mergeAll(
      rpcHandlers,
      HttpApiBuilder.layer(RefundsApi).pipe(Layer.provide(handlers)),
      Layer.effectDiscard(registerClaims)
    ).pipe(
      Layer.provideMerge(Refunds.layer({ autoApprove, fees: feesOf(fees) })),
      Layer.provideMerge(Approvals.layer)
    )
})
