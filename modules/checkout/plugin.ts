/**
 * The payment page at `payment_url`, and the claim page of refunds. Without it the API is the same, and merchants bring
 * their own pages.
 */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { InvoiceTerms, PayorApi, PayorDetails, RefundClaims, SimulatedPayments } from "../payments/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { Checkout } from "./service.ts"
import { Claims } from "./service/Claims.ts"
import { Receipts } from "./service/Receipts.ts"
import { CheckoutApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { claimHandlers } from "./handlers/Claims.ts"

export { accentCss } from "./pages/Accent.ts"
export { heading, mutedText, note } from "./pages/Elements.ts"
export { renderErrorPage } from "./pages/ErrorPage.ts"
export { languages } from "./pages/Languages.ts"
export { document, languageForm, logoOf } from "./pages/Page.ts"
export { isCrossSite, languageFor, pageHeaders, readLanguageChoice, styleHash } from "./pages/PageRequest.ts"
export { makeResponses, type Responses } from "./pages/Responses.ts"
export { css } from "./pages/Style.ts"
export { joinSentences, type Texts } from "./pages/Texts.ts"

export const plugin = Plugin.make({
  name: "checkout",
  slot: "modules",
  needs: {
    auth: PayorSessions,
    invoices: Invoices,
    payments: [InvoiceTerms, PayorApi, PayorDetails, RefundClaims, SimulatedPayments],
    settings: MerchantSettings
  },
  http: CheckoutApi,
  pages: (publicUrl) => ({ payment: `${publicUrl}/pay/{invoice_id}` }),
  layer: () =>
    HttpApiBuilder.layer(CheckoutApi).pipe(
      Layer.provide([handlers, claimHandlers]),
      Layer.provide([Checkout.layer, Claims.layer]),
      Layer.provide(Receipts.layer)
    )
})
