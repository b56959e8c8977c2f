/** The payment page in each of its states with invented data: the functions that draw it for payors draw it here. */
import type { PagePreview, PreviewRequest, PreviewToken } from "../../../runtime/PagePreviews.ts"
import { html, styleElement } from "../../../runtime/pages/Html.ts"
import { InvoiceId, MerchantId, PaymentId, TokenId } from "../../../schemas/Ids.ts"
import { usdDecimal, usdMillis } from "../../../schemas/Money.ts"
import { exampleQuote } from "../../../schemas/Quote.ts"
import type { AvailableToken, PaymentAddress } from "../../payments/api.ts"
import { type Screen, screens, type View } from "../rules.ts"
import { accentCss } from "./Accent.ts"
import { languages } from "./Languages.ts"
import { document, languageForm, shopHeader } from "./Page.ts"
import { pageHeaders, styleHash } from "./PageRequest.ts"
import { renderScreen } from "./Screens.ts"
import { css } from "./Style.ts"
import { pathUrl } from "../../../runtime/pages/Html.ts"

type Details = View["details"]
type Payment = Details["payments"][number]

/** Where the forms of a preview lead: nowhere, for its frame sends none. */
const path = "/pay/preview"

const id = InvoiceId.make("00000000-0000-4000-8000-000000000000")
const amount = 25_000
const address = "0x8c9D3F0b1a2E4C5d6f708192A3b4c5D6E7f8781D"
const txHash = `0x${"9f2c3a37".repeat(8)}`
const dollarsDue = 25

const decimal = (millis: number) => usdDecimal(usdMillis(BigInt(millis)))

const inventedTokens: ReadonlyArray<PreviewToken> = [
  { id: 1, symbol: "USDC", name: "USD Coin", network: "base", decimals: 6, isStable: true, usd: 1 },
  { id: 2, symbol: "USDC", name: "USD Coin", network: "solana", decimals: 6, isStable: true, usd: 1 },
  { id: 3, symbol: "ETH", name: "Ether", network: "ethereum", decimals: 18, isStable: false, usd: 3_500 }
]

const methodOf = ({ decimals, id, isStable, name, network, symbol }: PreviewToken): typeof AvailableToken.Type => ({
  id: TokenId.make(id),
  token_symbol: symbol,
  token_name: name,
  token_type: "erc20",
  network,
  token_decimals: decimals,
  token_address: null,
  requires_memo: false,
  photo_uri: "",
  has_settlement_route: true,
  supports_stable_settlement: isStable,
  is_monitored: true,
  settlement_rate: null,
  settlement_cost_usd: 0,
  is_same_token_settlement: true,
  tier: null,
  tier_fee: null,
  availability_status: "AVAILABLE",
  rate_updated_at: null,
  unavailable_reason: null,
  min_amount: 10,
  network_fee_usd: null,
  expected_seconds: 2
})

/** What the invoice of a screen has received, in usd_millis. */
const paidOf: Readonly<Partial<Record<Screen, number>>> = {
  partial: 10_000,
  expired_partial: 10_000,
  paid: amount,
  overpaid: 30_000
}

const statusOf: Readonly<Record<Screen, Details["invoice_status"]>> = {
  choose: "unpaid",
  waiting: "unpaid",
  quote_ended: "unpaid",
  no_price: "unpaid",
  confirming: "unpaid",
  partial: "underpaid",
  paid: "paid",
  overpaid: "paid",
  expired: "expired",
  late: "expired",
  expired_partial: "underpaid",
  canceled: "canceled",
  reversed: "unpaid",
  rejected: "unpaid"
}

const paymentStatusOf: Readonly<Partial<Record<Screen, Payment["status"]>>> = {
  confirming: "pending",
  partial: "underpaid",
  expired_partial: "underpaid",
  paid: "confirmed",
  overpaid: "confirmed",
  late: "rejected",
  reversed: "reverted",
  rejected: "rejected"
}

const paymentsOf = (screen: Screen, environment: PreviewRequest["environment"], now: number): Details["payments"] => {
  const status = paymentStatusOf[screen]
  if (status === undefined) return []
  const millis = screen === "rejected" ? 0 : paidOf[screen] ?? amount
  return [{
    object: "invoice_payment",
    id: PaymentId.make("00000000-0000-4000-8000-000000000001"),
    invoice_id: id,
    merchant_id: MerchantId.make(1),
    invoice_type: "standard",
    environment,
    customer_id: null,
    commerce_order_id: null,
    status,
    network: "base",
    payer_tx_hash: txHash,
    payer_wallet_address: null,
    payer_wallet_network: null,
    payer_amount_token: decimal(millis),
    currency: "usd",
    amount: millis,
    amount_decimal: decimal(millis),
    amount_unit: "usd_millis",
    confirmed_at: status === "confirmed" || status === "underpaid" ? now - 60 : null,
    metadata: {},
    confirmations: status === "pending" ? 3 : 12,
    required_confirmations: 12,
    explorer_url: null
  }]
}

const detailsOf = (screen: Screen, { environment, merchant }: PreviewRequest, now: number): Details => {
  const paid = paidOf[screen] ?? 0
  const remaining = Math.max(0, amount - paid)
  return {
    invoice_id: id,
    invoice_status: statusOf[screen],
    amount,
    amount_decimal: decimal(amount),
    amount_paid: paid,
    amount_paid_decimal: decimal(paid),
    amount_remaining: remaining,
    amount_remaining_decimal: decimal(remaining),
    amount_unit: "usd_millis",
    currency: "usd",
    amount_usd: dollarsDue,
    amount_remaining_usd: remaining / 1000,
    description: null,
    invoice_title: "Blue T-shirt, size M",
    invoice_footer: null,
    expires_at: now + 3_000,
    remaining_time: 3_000_000,
    merchant_name: merchant.name,
    merchant_email: null,
    network_environment: environment,
    payment_return_url: "https://shop.example",
    locked_network: null,
    locked_token_id: null,
    locked_payment_address: null,
    branding: {
      name: merchant.name,
      logo_uri: merchant.logoUri,
      accent: merchant.accent,
      support_email: merchant.supportEmail,
      domain: merchant.domainVerifiedAt === null ? null : merchant.domain,
      domain_verified_at: merchant.domainVerifiedAt
    },
    payments: paymentsOf(screen, environment, now)
  }
}

/** Screens that have a way to pay on them. */
const withAddress: ReadonlySet<Screen> = new Set(["waiting", "quote_ended", "no_price", "partial"])

const addressOf = (screen: Screen, now: number): typeof PaymentAddress.Type => {
  const tokenAmount = screen === "no_price" ? null : screen === "partial" ? "15.000000" : "25.000000"
  return {
    success: true,
    temp_address: address,
    network: "base",
    supported_token_id: TokenId.make(1),
    memo: null,
    requires_memo: false,
    payment_uri: null,
    estimated_token_amount: tokenAmount,
    exchange_rate: tokenAmount === null ? null : "1.000000",
    usd_amount: dollarsDue,
    quote: exampleQuote,
    quote_status: tokenAmount === null ? "unavailable" : screen === "quote_ended" ? "expired" : "available",
    status_code: tokenAmount === null ? "quote_unavailable" : "ok",
    message: null,
    quote_last_updated_at: now - 28,
    quote_valid_until: now + 272,
    quote_expires_in_seconds: 272,
    retryable: null,
    retry_after_seconds: null,
    ws_connection: { token: "", endpoint: "/ws/payment", format: "event_v1", ws_url: "", expires_at: now }
  }
}

const viewOf = (screen: Screen, request: PreviewRequest, now: number): View => {
  const offered = request.tokens ?? inventedTokens
  return {
    screen,
    details: detailsOf(screen, request, now),
    shopPrice: null,
    tokens: offered.map(methodOf),
    // For the eye only: nobody pays by it.
    estimates: new Map(
      offered.flatMap(({ decimals, id, usd }) =>
        usd === null || usd <= 0 ? [] : [[id, (dollarsDue / usd).toFixed(Math.min(decimals, 8))] as const]
      )
    ),
    payable: screen === "choose" || withAddress.has(screen),
    address: withAddress.has(screen) ? addressOf(screen, now) : null,
    token: screen === "choose" ? null : { id: 1, symbol: "USDC", network: "base", stable: screen !== "quote_ended" },
    preselectedToken: null,
    currency: null,
    canChange: true,
    allowRestart: request.merchant.allowRestart,
    payeeProof: null,
    decisions: [],
    returnUrl: "https://shop.example",
    returnsAutomatically: false,
    isOfferLimited: false,
    canSetRefundAddress: true,
    receiptUrl: null,
    degradedNetwork: null,
    simulator: false,
    refund: null,
    tab: "link",
    isPhone: request.isPhone,
    createdAt: now - 600,
    now,
    aheadSeconds: 0,
    path,
    query: "",
    socketUrl: null,
    since: null
  }
}

/** A stylesheet as it is in one theme, whatever the browser prefers. */
const inTheme = (text: string, theme: PreviewRequest["theme"]): string =>
  text.replaceAll("screen and (prefers-color-scheme:dark)", theme === "dark" ? "screen" : "not all")
    .replace("color-scheme:light dark", `color-scheme:${theme}`)

/** The moment at which every preview is looked at: the same page is the same text. */
const previewSeconds = 1_766_320_500

/** Previews of the deployment at `publicUrl`. */
export const makePreview = (publicUrl: string): PagePreview => ({
  screens,
  languages: languages.map(({ language, locale }) => ({ locale, name: language })),
  draw: (request) => {
    const screen = screens.find((one) => one === request.screen) ?? screens[0]!
    const texts = languages.find(({ locale }) => locale === request.locale) ?? languages[0]!
    const view = viewOf(screen, request, previewSeconds)
    const { fragment, title } = renderScreen(view, texts)
    const styles = [inTheme(css, request.theme), accentCss(request.merchant.accent)]
    const { "cross-origin-opener-policy": _, ...headers } = pageHeaders({
      publicUrl,
      frameAncestors: ["'self'"],
      styles: styles.map(styleHash)
    })
    return {
      html: document(
        texts,
        title,
        styles.map(styleElement),
        html`<div class="card">${shopHeader(view, texts)}<main><div id="state">${fragment}</div></main></div>
        <footer class="foot">${languageForm(pathUrl(path), texts, languages)}</footer>`
      ),
      headers: { ...headers, "content-security-policy": `${headers["content-security-policy"]}; sandbox` }
    }
  }
})
