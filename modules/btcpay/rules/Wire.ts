/** Shops' invoices, payments, methods and webhooks as the JSON of BTCPay Server's API. Pure. */
import { storeIdOf } from "../../../schemas/Auth.ts"
import { formatUnits, readRate, tokenAmountUp, usdMillis } from "../../../schemas/Money.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import type { Token } from "../../../schemas/Token.ts"
import { type Aggregate, amountRemaining, type PaymentState } from "../../invoices/plugin.ts"
import type { QuoteRow } from "../../quotes/plugin.ts"
import type { ShopInvoice } from "../repo.ts"
import { paidAmountOf, tokenRate } from "./Amounts.ts"
import { methodIdOf } from "./Methods.ts"
import { speedOf } from "./Requests.ts"
import { type ShopEvent, stateOf } from "./Statuses.ts"

const basisPointsOf = ({ invoice: { amount, policy } }: Aggregate): number =>
  Number((BigInt(policy.tolerance) * 10_000n) / amount)

/** An invoice as shops read it. `markable`: the statuses that it may be marked with now. */
export const invoiceJson = (
  current: Aggregate,
  row: ShopInvoice,
  { checkoutLink, markable, methods }: {
    readonly checkoutLink: string
    readonly markable: ReadonlyArray<string>
    /** Ids of all methods of the store. */
    readonly methods: ReadonlyArray<string>
  }
) => {
  const { invoice } = current
  const { checkout, currency } = row
  const monitoringExpiration = invoice.expiresAt + invoice.policy.lateWindowSeconds
  const state = stateOf(current, row.flags)
  return {
    id: invoice.id,
    storeId: storeIdOf(row.merchantId, row.environment),
    amount: row.amount,
    paidAmount: paidAmountOf(invoice, row.amount, currency),
    currency: currency.code,
    type: "Standard",
    checkoutLink,
    createdTime: invoice.createdAt,
    expirationTime: invoice.expiresAt,
    monitoringExpiration,
    monitoringTime: monitoringExpiration,
    status: state.status,
    additionalStatus: state.additionalStatus,
    availableStatusesForManualMarking: markable,
    archived: false,
    metadata: invoice.metadata,
    checkout: {
      speedPolicy: checkout.speedPolicy ?? speedOf(invoice.policy.confirmations),
      paymentMethods: checkout.paymentMethods.length === 0 ? methods : checkout.paymentMethods,
      defaultPaymentMethod: null,
      expirationMinutes: Math.floor((invoice.expiresAt - invoice.createdAt) / 60),
      monitoringMinutes: Math.floor(invoice.policy.lateWindowSeconds / 60),
      paymentTolerance: Math.floor(basisPointsOf(current) / 100),
      redirectURL: invoice.details.returnUrl,
      redirectAutomatically: checkout.redirectAutomatically,
      defaultLanguage: checkout.defaultLanguage
    },
    receipt: { enabled: null, showQR: null, showPayments: null }
  }
}

const paymentStatus = ({ status }: PaymentState): string =>
  status === "reverted" ? "Invalid" : isCounted(status) ? "Settled" : "Processing"

/**
 * A payment as shops read it. Clients take what stands before the first dash of its id for the transaction hash. The
 * number after it tells payments of one transaction apart. A payment without a hash has its own id, without dashes.
 */
export const paymentJson = (payment: PaymentState, destination: string) => ({
  id: payment.txHash === null ? payment.id.replaceAll("-", "") : `${payment.txHash}-${payment.ordinal - 1}`,
  receivedDate: payment.seenAt,
  value: formatUnits(payment.units, payment.tokenDecimals ?? 0),
  fee: "0",
  status: paymentStatus(payment),
  destination
})

/** The id of a payment's method, also where its token is in no catalogue. */
export const methodOfPayment = (
  { metadata, network, tokenId }: PaymentState,
  ids: ReadonlyMap<number, string>
): string => (tokenId === null ? undefined : ids.get(tokenId)) ?? methodIdOf(metadata.token?.symbol ?? null, network)

/** One way to pay an invoice: a token, its address, the newest quote and the payments by it. */
export interface PaymentRoute {
  readonly methodId: string
  readonly token: Pick<Token, "decimals" | "symbol">
  readonly address: string
  /** What a wallet opens to pay; empty where nothing can be opened. */
  readonly link: string
  readonly quote: QuoteRow | null
  readonly payments: ReadonlyArray<PaymentState>
}

/** One way to pay an invoice as shops read it. Every amount is a plain decimal: clients read amounts as texts. */
export const paymentMethodJson = (
  current: Aggregate,
  { currency }: ShopInvoice,
  { address, link, methodId, payments, quote, token }: PaymentRoute
) => {
  const quoted = payments.map(({ metadata }) => metadata.quote?.exchange_rate).find((rate) => rate !== undefined)
  const rate = readRate(quoted ?? quote?.exchangeRate ?? "1") ?? { numerator: 1n, denominator: 1n }
  const inToken = (usd: bigint): string =>
    formatUnits(tokenAmountUp(usdMillis(usd), rate, token.decimals), token.decimals)
  const paid = formatUnits(
    payments.reduce((sum, { status, units }) => isCounted(status) ? sum + units : sum, 0n),
    token.decimals
  )
  const remaining = amountRemaining(current.invoice)
  return {
    paymentMethodId: methodId,
    paymentMethod: methodId,
    currency: token.symbol,
    cryptoCode: token.symbol,
    activated: true,
    destination: address,
    paymentLink: link,
    rate: tokenRate(rate, currency),
    amount: inToken(current.invoice.amount),
    totalPaid: paid,
    paymentMethodPaid: paid,
    due: remaining === 0n ? "0" : inToken(remaining),
    networkFee: "0",
    paymentMethodFee: "0",
    payments: payments.filter(({ status }) => status !== "rejected").map((payment) => paymentJson(payment, address)),
    additionalData: {}
  }
}

/** The fields of a webhook that only its type has. */
const ownFields = (
  event: ShopEvent,
  payment: { readonly methodId: string; readonly destination: string } | null
): object => {
  switch (event.type) {
    case "InvoiceReceivedPayment":
    case "InvoicePaymentSettled":
      return {
        afterExpiration: event.afterExpiration,
        paymentMethodId: payment?.methodId ?? "",
        paymentMethod: payment?.methodId ?? "",
        payment: paymentJson(event.payment, payment?.destination ?? "")
      }
    case "InvoiceProcessing":
      return { overPaid: event.overPaid }
    case "InvoiceSettled":
      return { manuallyMarked: event.manuallyMarked, overPaid: event.overPaid }
    case "InvoiceExpired":
      return { partiallyPaid: event.partiallyPaid }
    case "InvoiceInvalid":
      return { manuallyMarked: event.manuallyMarked }
    case "InvoiceCreated":
    case "InvoicePaidAfterExpiration":
      return {}
  }
}

/** The part of a webhook's body that is the same for every endpoint and attempt: the commit stores it. */
export const webhookData = (
  event: ShopEvent,
  { invoice }: Aggregate,
  storeId: string,
  timestamp: number,
  payment: { readonly methodId: string; readonly destination: string } | null
): string =>
  JSON.stringify({
    type: event.type,
    timestamp,
    storeId,
    invoiceId: invoice.id,
    metadata: invoice.metadata,
    ...ownFields(event, payment)
  })
