/** What the payment page shows: pure rules over the bodies that the payor's API answers. */
import { descriptorOf, type Network } from "../../schemas/Network.ts"
import { isCounted } from "../../schemas/Payment.ts"
import { paymentLinkOf } from "../../schemas/PaymentLink.ts"
import type { ForwarderProof } from "../../schemas/Wallet.ts"
import type { Decision } from "./rules/Decisions.ts"
import type { Aggregate, InvoiceState, NewInvoice } from "../invoices/plugin.ts"
import type { AvailableToken, PaymentAddress, SessionDetails } from "../payments/api.ts"
import type { ShopPrice } from "../payments/plugin.ts"

/** What the page is about at a moment; each has a heading and one main action (`pages/Screens.ts`). */
export const screens = [
  "choose",
  "waiting",
  "quote_ended",
  "no_price",
  "confirming",
  "partial",
  "paid",
  "overpaid",
  "expired",
  "late",
  "expired_partial",
  "canceled",
  "reversed",
  "rejected"
] as const
export type Screen = (typeof screens)[number]

type PaymentMethod = Pick<
  typeof AvailableToken.Type,
  "network" | "supports_stable_settlement" | "token_symbol" | "unavailable_reason"
>

/**
 * The ways to pay as the list shows them, most people's first: what can be paid now, then dollar coins, whose amount is
 * that of the invoice, then by network, then by name.
 */
export const sortPaymentMethods = <W extends PaymentMethod>(methods: ReadonlyArray<W>): ReadonlyArray<W> => {
  const rank = ({ supports_stable_settlement, unavailable_reason }: PaymentMethod): number =>
    (unavailable_reason === null ? 0 : 2) + (supports_stable_settlement ? 0 : 1)
  return [...methods].sort((a, b) =>
    rank(a) - rank(b) ||
    descriptorOf(a.network).paymentListRank - descriptorOf(b.network).paymentListRank ||
    (a.token_symbol < b.token_symbol ? -1 : Number(a.token_symbol > b.token_symbol))
  )
}

/**
 * Seconds after its end in which an invoice can be begun anew: 7 days, as long as the restart's id is kept at least
 * (modules/docs/reference/idempotency.md#retention). Later the offer may not hold any more.
 */
export const restartWindowSeconds = 604_800

/**
 * The shortest life of an invoice (modules/docs/reference/invoices.md#creating): play money may have ended one before.
 */
const leastLifetimeMillis = 60_000

/** Seconds after the payment in which the page returns to the shop by itself: who opens it later wants to see it. */
export const returnWindowSeconds = 600

/** Whether the page returns to the shop by itself. Only the screen `paid` does: the payor has to read the others. */
export const isReturnDue = (
  screen: Screen,
  { paidAt }: Pick<InvoiceState, "paidAt">,
  isAsked: boolean,
  now: number
): boolean => isAsked && screen === "paid" && paidAt !== null && now < paidAt + returnWindowSeconds

/**
 * Whether the payor may begin anew: the merchant lets it, and the old invoice ended without anything received. An
 * invoice of a payment link is begun anew at its link, which counts how many there may be.
 */
export const canRestart = ({ invoice, payments }: Aggregate, isAllowed: boolean, now: number): boolean =>
  isAllowed && invoice.status === "expired" && invoice.type === "standard" && payments.length === 0 &&
  now < invoice.expiresAt + restartWindowSeconds && paymentLinkOf(invoice.metadata) === null

/** A new invoice that asks for the same as one that ended, for as long, under the merchant's settings of today. */
export const replacementFor = (original: InvoiceState): NewInvoice => ({
  merchantId: original.merchantId,
  environment: original.environment,
  commerce: false,
  amount: original.amount,
  expiresInMillis: Math.max(leastLifetimeMillis, (original.expiresAt - original.createdAt) * 1000),
  customerId: original.customerId,
  metadata: original.metadata,
  details: original.details,
  toleranceBasisPoints: null,
  acceptedNetworks: original.policy.acceptedNetworks,
  tolerance: original.policy.tolerance
})

/** Everything a page is rendered from: bodies of the payor's API, and what the merchant and the payor chose. */
export interface View {
  readonly screen: Screen
  readonly details: typeof SessionDetails.Type
  /** The shop's price in its own currency; null: dollars alone. */
  readonly shopPrice: ShopPrice | null
  /** The ways to pay, for the list; empty where the screen has none. */
  readonly tokens: ReadonlyArray<typeof AvailableToken.Type>
  /** What `available-tokens` would cost each: decimal token amounts by token id, where there is a price. */
  readonly estimates: ReadonlyMap<number, string>
  /** Whether it can be paid now; while it can, an address may be shown. */
  readonly payable: boolean
  /** The route the payor chose, with the amount that remains; null before, and when the invoice is not payable. */
  readonly address: typeof PaymentAddress.Type | null
  /** The chosen route's token, also for a screen without `tokens`. */
  readonly token: {
    readonly id: number
    readonly symbol: string
    readonly network: Network
    /** A dollar coin, whose price is no news to anybody. */
    readonly stable: boolean
  } | null
  /** The token preselected in the list: chosen before, here or at this merchant. */
  readonly preselectedToken: number | null
  /** The currency whose networks the payor asks for, by its symbol, listed or not; null: none. */
  readonly currency: string | null
  /** Whether several ways are left to choose from, so that "use another currency" leads somewhere. */
  readonly canChange: boolean
  readonly allowRestart: boolean
  /** What shows whom the address pays, where the merchant wants it shown and can show it; else null. */
  readonly payeeProof: ForwarderProof | null
  /** What the merchant has decided about what came. */
  readonly decisions: ReadonlyArray<Decision>
  /** Where "return" leads: the merchant's address with `invoice_id` and `status`; null: nowhere. */
  readonly returnUrl: string | null
  /** Whether the page opens `returnUrl` by itself: see `isReturnDue`. */
  readonly returnsAutomatically: boolean
  /** Whether the shop offers some tokens only, of all that are accepted. */
  readonly isOfferLimited: boolean
  /** Whether this session may set the refund address: false for one of a link that anybody may have. */
  readonly canSetRefundAddress: boolean
  /** The link to the receipt, which can be given away; null: there is none. */
  readonly receiptUrl: string | null
  /** A network that has trouble now, on which this invoice is paid; null: none of its networks has. */
  readonly degradedNetwork: Network | null
  /** Whether the panel that pays with play money is there. */
  readonly simulator: boolean
  /** What became of the refund address that was just sent. */
  readonly refund: "saved" | "refused" | null
  readonly tab: "link" | "address"
  /** Whether the browser says that it is a phone's: then the code is folded away. */
  readonly isPhone: boolean
  /** Epoch seconds. */
  readonly createdAt: number
  /** Epoch seconds, by the merchant's clock. */
  readonly now: number
  /** Seconds by which that is ahead of the server's clock, which sockets and headers tell: 0 but on devnet. */
  readonly aheadSeconds: number
  /** `{base}/pay/<invoice id>`, with the path of the public URL. */
  readonly path: string
  /** `?session_token=…&signature=…` where the cookie did not come back, else empty. */
  readonly query: string
  /** `wss://…/ws/payment?format=event_v1&token=…`; null: nothing to follow any more. */
  readonly socketUrl: string | null
  /** From which event on to follow it; null: the socket cannot tell all that came since, and a look must. */
  readonly since: string | null
}

/** A payment of a receipt, in its own token. */
export interface ReceiptLine {
  readonly payment: SessionPayment
  /** As it was when the payment came; null: not known. */
  readonly symbol: string | null
  /** The invoice's own address that it went to; null: it went to another one. */
  readonly address: string | null
}

/** Everything a receipt is drawn from. */
export interface ReceiptView extends Pick<View, "decisions" | "details" | "shopPrice"> {
  /** The payments that count, newest first. */
  readonly lines: ReadonlyArray<ReceiptLine>
}

/**
 * Whether stored events tell all that a screen shows. Confirmations are told as they come and kept nowhere
 * (modules/docs/reference/payments.md#states): who was not there when one came has missed it.
 */
export const isCoveredByEvents = (screen: Screen): boolean => screen !== "confirming"

/** usd_millis above the amount from which a payment counts as too much: a cent, the least an invoice can ask for. */
export const overpaidFrom = 10

/** What decides which screen a payor sees. */
export interface Facts {
  readonly details: typeof SessionDetails.Type
  readonly address: typeof PaymentAddress.Type | null
  /** False: `payment-addresses` answers `INVOICE_NOT_PAYABLE`. */
  readonly payable: boolean
  /** The payor asks for the list, though a route is chosen. */
  readonly change: boolean
  /** Epoch seconds. */
  readonly now: number
}

type SessionPayment = (typeof SessionDetails.Type)["payments"][number]

/** Seen, and not yet deep enough or not yet judged: the payor can do nothing but wait. */
const isPending = ({ status }: SessionPayment): boolean => status === "pending" || status === "manual_retry"

/** The payment whose progress is shown: the newest of those under way; `payments` are newest first. */
export const pendingPayment = (
  { payments }: { readonly payments: ReadonlyArray<SessionPayment> }
): SessionPayment | null => payments.find(isPending) ?? null

/** The payments that count towards the invoice. */
export const countedPayments = (
  { payments }: { readonly payments: ReadonlyArray<SessionPayment> }
): ReadonlyArray<SessionPayment> => payments.filter(({ status }) => isCounted(status))

/** Whether the price of a route has ended: no address is asked for again before the payor wants a new one. */
export const priceState = (
  { quote_status, quote_valid_until, estimated_token_amount }: typeof PaymentAddress.Type,
  now: number
): "held" | "ended" | "none" =>
  quote_status === "unavailable" || estimated_token_amount === null
    ? "none"
    : quote_status === "expired" || (quote_valid_until !== null && quote_valid_until <= now)
    ? "ended"
    : "held"

/** What an invoice that nobody can pay any more has come to, without a counted payment. */
const endScreen = ({ payments }: typeof SessionDetails.Type): Screen => {
  // A rejected transfer that was worth something came too late; what could not be priced was something else.
  const rejectedPayments = payments.filter(({ status }) => status === "rejected")
  if (rejectedPayments.some(({ amount }) => amount > 0)) return "late"
  if (rejectedPayments.length > 0) return "rejected"
  return payments.some(({ status }) => status === "reverted") ? "reversed" : "expired"
}

/** How the newest transfer that did not count ended; null: there is none. `payments` are newest first. */
export const lastFailure = (
  { payments }: { readonly payments: ReadonlyArray<SessionPayment> }
): "reverted" | "rejected" | null => {
  const status = payments.find(({ status }) => status === "reverted" || status === "rejected")?.status
  return status === "reverted" || status === "rejected" ? status : null
}

/** Ways to pay, with whatever else has to be said first. */
const openScreen = ({ address, change, details, now }: Facts): Screen => {
  if (address === null || (change && details.locked_token_id === null)) return "choose"
  if (details.invoice_status === "underpaid") return "partial"
  const failure = lastFailure(details)
  if (failure !== null) return failure === "reverted" ? "reversed" : "rejected"
  const price = priceState(address, now)
  return price === "held" ? "waiting" : price === "ended" ? "quote_ended" : "no_price"
}

/**
 * The screen for what is known (payment page, table of states). Total: every combination has one. A payment under way
 * comes before everything but the end of the invoice, since its payor wants to know of it whatever the clock says.
 */
export const screenOf = (facts: Facts): Screen => {
  const { details, payable } = facts
  if (details.invoice_status === "canceled") return "canceled"
  if (details.invoice_status === "paid") {
    return details.amount_paid - details.amount >= overpaidFrom ? "overpaid" : "paid"
  }
  if (pendingPayment(details) !== null) return "confirming"
  if (payable && details.invoice_status !== "expired") return openScreen(facts)
  return details.invoice_status === "underpaid" ? "expired_partial" : endScreen(details)
}
