/** Payments: what a payor's page reads, the address it shows, the socket it follows; transfers become payments. */
import { Layer, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { operatorRoutes } from "../../runtime/OperatorRoutes.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { Merchants, PayorSessions } from "../auth/plugin.ts"
import { InvoiceHooks, Invoices, PayorRecords } from "../invoices/plugin.ts"
import { PaymentQuotes, QuoteRenewal } from "../quotes/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { TokenPolicies } from "../tokens/plugin.ts"
import { PayorDetails, registerPayorRecords } from "./actor.ts"
import { PaymentsApi } from "./api.ts"
import { handlers, rpcHandlers, sessionLayer, socketRoute } from "./handlers.ts"
import { operatorHandlers } from "./handlers/Operator.ts"
import { migrations, tables } from "./migrations.ts"
import { OperatorPaymentsApi } from "./operator.ts"
import { PaymentsRpc } from "./rpc.ts"
import { Payments } from "./service.ts"
import { InvoiceTerms } from "./service/InvoiceTerms.ts"
import { PayorApi } from "./service/PayorApi.ts"
import { registerPersonalRecords } from "./service/PersonalRecords.ts"
import { registerReceipts } from "./service/Receipts.ts"
import { pruneRegularly } from "./service/Retention.ts"
import { RefundClaims } from "./service/RefundClaims.ts"
import { SimulatedPayments } from "./service/SimulatedPayments.ts"

export { PayorDetails, type RefundAddressFact } from "./actor.ts"
export type { RefundDestination } from "./repo.ts"
export { explorerUrl, isMemo, type PayorSocket, sessionGraceSeconds, type SimulatedPayment } from "./rules.ts"
export { inShopCurrency, shopAmountOf, type ShopPrice, type ShopRounding } from "./rules/ShopPrice.ts"
export { Payments } from "./service.ts"
export { paymentIdOf } from "./service/Credit.ts"
export { InvoiceTerms, type PayorTerms } from "./service/InvoiceTerms.ts"
export type { Route } from "./service/PaymentRoutes.ts"
export { PayorApi } from "./service/PayorApi.ts"
export { readRefundAddress, type RefusedAddress, refusedAddressOf } from "./service/RefundAddresses.ts"
export { type ClaimedRefund, RefundClaims, type RefundWallet } from "./service/RefundClaims.ts"
export { SimulatedPayments } from "./service/SimulatedPayments.ts"

const days = Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_650 })))

const Options = Schema.Struct({
  /**
   * Days after its invoice is over for which a payor's e-mail address is kept, 1 to 3,650. Absent: until it is erased.
   */
  payorEmailDays: days,
  /** The same for the addresses that payors named for refunds. A refund keeps where its own money went. */
  refundAddressDays: days
})

export const plugin = Plugin.make({
  name: "payments",
  slot: "modules",
  needs: {
    auth: [Merchants, PayorSessions],
    invoices: [Invoices, InvoiceHooks, PayorRecords],
    quotes: [PaymentQuotes, QuoteRenewal],
    settings: MerchantSettings,
    tokens: TokenPolicies
  },
  http: PaymentsApi,
  operator: OperatorPaymentsApi,
  rpc: PaymentsRpc,
  migrations,
  tables,
  options: Options,
  layer: (options) =>
    Layer.mergeAll(
      HttpApiBuilder.layer(PaymentsApi).pipe(Layer.provide(handlers.pipe(Layer.provide(sessionLayer)))),
      socketRoute,
      rpcHandlers,
      operatorRoutes(OperatorPaymentsApi, operatorHandlers),
      Layer.effectDiscard(registerPayorRecords),
      Layer.effectDiscard(registerPersonalRecords),
      Layer.effectDiscard(registerReceipts),
      Layer.effectDiscard(pruneRegularly(options))
    ).pipe(
      Layer.provideMerge(PayorApi.layer),
      Layer.provideMerge(
        Layer.mergeAll(Payments.layer, PayorDetails.layer, RefundClaims.layer, SimulatedPayments.layer)
      ),
      Layer.provideMerge(InvoiceTerms.layer)
    )
})
