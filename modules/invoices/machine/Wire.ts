/** The invoice and the payment as JSON, for answers and events. */
import type { WireObject } from "../../../schemas/WireObject.ts"
import { formatUnits, usdDecimal, usdMillis, usdWire } from "../../../schemas/Money.ts"
import { amountRemaining, type InvoiceState, type PaymentSettlement, type PaymentState } from "./State.ts"

/** The invoice on the wire: exactly the fields of modules/docs/reference/invoices.md#fields, in their order. */
export const invoiceObject = (invoice: InvoiceState): WireObject => {
  const remaining = amountRemaining(invoice)
  return {
    id: invoice.id,
    object: "invoice",
    merchant_id: invoice.merchantId,
    status: invoice.status,
    invoice_type: invoice.type,
    currency: "usd",
    amount: usdWire(invoice.amount),
    amount_decimal: usdDecimal(invoice.amount),
    amount_paid: usdWire(invoice.amountPaid),
    amount_paid_decimal: usdDecimal(invoice.amountPaid),
    amount_remaining: usdWire(remaining),
    amount_remaining_decimal: usdDecimal(remaining),
    amount_unit: "usd_millis",
    customer_id: invoice.customerId,
    payer_wallet_address: invoice.payerWalletAddress,
    payer_wallet_network: invoice.payerWalletNetwork,
    commerce_order_id: invoice.orderId,
    environment: invoice.environment,
    expires_at: invoice.expiresAt,
    created_at: invoice.createdAt,
    paid_at: invoice.paidAt,
    last_payment_at: invoice.lastPaymentAt,
    metadata: invoice.metadata
  }
}

/** The payment on the wire, merchant's view (modules/docs/reference/payments.md#fields). */
export const paymentObject = (invoice: InvoiceState, payment: PaymentState): WireObject => ({
  id: payment.id,
  object: "invoice_payment",
  invoice_id: invoice.id,
  merchant_id: invoice.merchantId,
  invoice_type: invoice.type,
  environment: invoice.environment,
  customer_id: invoice.customerId,
  commerce_order_id: invoice.orderId,
  status: payment.status,
  network: payment.network,
  payer_tx_hash: payment.txHash,
  payer_wallet_address: payment.sender,
  payer_wallet_network: payment.sender === null ? null : payment.network,
  payer_amount_token: tokenAmount(payment),
  currency: "usd",
  amount: usdWire(payment.amount),
  amount_decimal: usdDecimal(payment.amount),
  amount_unit: "usd_millis",
  confirmed_at: payment.confirmedAt,
  ...settlementFields(wireSettlement(payment), payment),
  metadata: { ...payment.metadata, exception: payment.exception }
})

export const tokenAmount = ({ units, tokenDecimals }: PaymentState): string | null =>
  tokenDecimals === null ? null : formatUnits(units, tokenDecimals)

/**
 * The settlement as it is published. While a payment is not on its chain, or not deep enough since it came back,
 * nothing of it is settled and it is in no settlement, also where the money was forwarded: otherwise sums of settled
 * amounts exceed what was received.
 */
export const wireSettlement = ({ settlement, status }: PaymentState): PaymentSettlement | null => {
  const isUnconfirmed = status === "reverted" || status === "pending"
  if (settlement === null || !isUnconfirmed) return settlement
  const wasRefunded = settlement.status === "partially_refunded" || settlement.status === "refunded"
  return {
    ...settlement,
    status: wasRefunded ? settlement.status : "failed",
    progress: "failed",
    settledAmount: usdMillis(0n),
    settledAt: null,
    id: null
  }
}

/**
 * The six fields that only merchants see. `balance_transaction_id` is null until the money is there to stay, and where
 * no ledger is kept.
 */
const settlementFields = (
  settlement: PaymentSettlement | null,
  { balanceTransactionId, confirmedAt }: Pick<PaymentState, "balanceTransactionId" | "confirmedAt">
) => ({
  settlement_status: settlement?.status ?? null,
  settled_amount: settlement?.settledAmount == null ? null : usdWire(settlement.settledAmount),
  settled_amount_decimal: settlement?.settledAmount == null ? null : usdDecimal(settlement.settledAmount),
  balance_transaction_id: confirmedAt === null ? null : balanceTransactionId ?? null,
  settled_at: settlement?.settledAt ?? null,
  settlement: settlement === null ? null : {
    summary_status: settlement.status,
    stage: settlement.stage,
    merchant_settlement_id: settlement.id,
    settlement_tx_hash: settlement.txHash,
    network: settlement.network,
    status: settlement.progress
  }
})
