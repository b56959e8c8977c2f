/** Rows of invoices, payments and exceptions: written for the commit, and read back. */
import type { SqlClient } from "effect/sql"
import type { Write } from "../../../runtime/Commit.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import type {
  Aggregate,
  Decision,
  ExceptionState,
  InvoiceDetails,
  InvoicePolicy,
  InvoiceState,
  OpenRefund,
  PaymentSettlement,
  PaymentState,
  UnmatchedPayment
} from "../machine.ts"

export type Row = Readonly<Record<string, any>>

const number = (value: bigint | number | null): number | null => (value === null ? null : Number(value))

/** Amounts as text, so that no digit is lost; most invoices have no refund, and a row without says nothing. */
const openRefundsJson = (refunds: ReadonlyArray<OpenRefund>) =>
  refunds.length === 0 ? null : refunds.map((refund) => ({ ...refund, amount: refund.amount.toString() }))

/** What is not null of an object; {@link readInvoice} knows the rest. Most details are null, and each row repeats them. */
const withoutNulls = (fields: InvoicePolicy | InvoiceDetails): object => {
  const values = fields as unknown as Readonly<Record<string, unknown>>
  const rest: Record<string, unknown> = {}
  for (const name of Object.keys(values)) {
    if (values[name] !== null) rest[name] = values[name]
  }
  return rest
}

const noDetails: InvoiceDetails = {
  description: null,
  title: null,
  footer: null,
  customerEmail: null,
  returnUrl: null,
  locale: null
}

export const invoiceWrite = (invoice: InvoiceState): Write => ({
  table: "invoices",
  row: {
    merchant_id: invoice.merchantId,
    id: invoice.id,
    version: invoice.version,
    environment: invoice.environment,
    status: invoice.status,
    type: invoice.type,
    amount: invoice.amount.toString(),
    amount_paid: invoice.amountPaid.toString(),
    customer_id: invoice.customerId,
    payer_wallet_address: invoice.payerWalletAddress,
    payer_wallet_network: invoice.payerWalletNetwork,
    order_id: invoice.orderId,
    expires_at: invoice.expiresAt,
    created_at: invoice.createdAt,
    paid_at: invoice.paidAt,
    last_payment_at: invoice.lastPaymentAt,
    metadata: invoice.metadata,
    policy: withoutNulls(invoice.policy),
    details: withoutNulls(invoice.details),
    accepted_shortfall: invoice.acceptedShortfall.toString(),
    grace_ended: invoice.graceEnded,
    due_at: invoice.dueAt,
    open_refunds: openRefundsJson(invoice.openRefunds ?? [])
  }
})

export const readInvoice = (row: Row): InvoiceState => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  version: Number(row.version),
  status: row.status,
  type: row.type,
  amount: row.amount,
  amountPaid: row.amount_paid,
  customerId: row.customer_id,
  payerWalletAddress: row.payer_wallet_address,
  payerWalletNetwork: row.payer_wallet_network,
  orderId: row.order_id,
  expiresAt: Number(row.expires_at),
  createdAt: Number(row.created_at),
  paidAt: number(row.paid_at),
  lastPaymentAt: number(row.last_payment_at),
  metadata: row.metadata,
  policy: { acceptedNetworks: null, ...row.policy },
  details: { ...noDetails, ...row.details },
  acceptedShortfall: row.accepted_shortfall,
  graceEnded: row.grace_ended,
  dueAt: number(row.due_at),
  openRefunds: (row.open_refunds ?? []).map((refund: Row) => ({ ...refund, amount: usdMillis(BigInt(refund.amount)) }))
})

const paymentWrite = (invoice: InvoiceState, payment: PaymentState): Write => ({
  table: "invoice_payments",
  row: {
    merchant_id: invoice.merchantId,
    id: payment.id,
    version: payment.version,
    ordinal: payment.ordinal,
    invoice_id: invoice.id,
    environment: invoice.environment,
    status: payment.status,
    network: payment.network,
    token_id: payment.tokenId,
    token_decimals: payment.tokenDecimals,
    tx_hash: payment.txHash,
    sender: payment.sender,
    units: payment.units.toString(),
    amount: payment.amount.toString(),
    seen_at: payment.seenAt,
    created_at: payment.createdAt,
    confirmed_at: payment.confirmedAt,
    settlement: payment.settlement === null ? null : settlementJson(payment.settlement),
    refunded: payment.refunded.toString(),
    metadata: payment.exception === null
      ? payment.metadata
      : { ...payment.metadata, exception_reference: payment.exception },
    wallet: payment.wallet ?? null,
    balance_transaction_id: payment.balanceTransactionId ?? null
  }
})

/** Amounts as text, so that no digit is lost. */
const settlementJson = (settlement: PaymentSettlement) => ({
  ...settlement,
  settledAmount: settlement.settledAmount?.toString() ?? null
})

/** The columns in SQL that {@link readAggregate} and {@link readPayment} read: `i` is the invoice, `p` a payment. */
export const makeColumns = (sql: SqlClient.SqlClient) => {
  const paymentJson = sql`json_build_object(
        'id', p.id, 'version', p.version, 'ordinal', p.ordinal, 'status', p.status, 'network', p.network,
        'token_id', p.token_id, 'token_decimals', p.token_decimals, 'tx_hash', p.tx_hash, 'sender', p.sender, 'units', p.units::text,
        'amount', p.amount::text, 'seen_at', p.seen_at, 'created_at', p.created_at, 'confirmed_at', p.confirmed_at,
        'settlement', p.settlement, 'refunded', p.refunded::text, 'metadata', p.metadata, 'wallet', p.wallet,
        'balance_transaction_id', p.balance_transaction_id)`

  const exceptionJson = sql`json_build_object(
        'id', e.id, 'version', e.version, 'type', e.type, 'status', e.status,
        'payment_id', e.invoice_payment_id, 'amount', e.amount::text, 'evidence', e.evidence,
        'created_at', e.created_at, 'resolved_at', e.resolved_at, 'resolution', e.resolution)`

  const aggregate = sql`i.*,
    (SELECT coalesce(json_agg(${paymentJson} ORDER BY p.ordinal), '[]')
      FROM invoice_payments p WHERE p.merchant_id = i.merchant_id AND p.invoice_id = i.id) AS payments,
    (SELECT coalesce(json_agg(${exceptionJson} ORDER BY e.created_at, e.resolved_at NULLS LAST, e.id), '[]')
      FROM exceptions e WHERE e.merchant_id = i.merchant_id AND e.invoice_id = i.id) AS exceptions`

  return { aggregate, exceptionJson, paymentJson }
}

/**
 * A payment as `json_build_object` gives it: amounts as text, so that no digit is lost. A row older than version
 * 2026-11-01 knows no token.
 */
export const readPayment = (row: Row): PaymentState => ({
  id: row.id,
  version: row.version,
  ordinal: row.ordinal,
  status: row.status,
  network: row.network,
  tokenId: row.token_id,
  tokenDecimals: row.token_decimals,
  txHash: row.tx_hash,
  sender: row.sender,
  units: BigInt(row.units),
  amount: BigInt(row.amount) as PaymentState["amount"],
  seenAt: row.seen_at,
  createdAt: row.created_at,
  confirmedAt: row.confirmed_at,
  settlement: row.settlement === null ? null : {
    ...row.settlement,
    settledAmount: row.settlement.settledAmount === null ? null : usdMillis(BigInt(row.settlement.settledAmount))
  },
  refunded: usdMillis(BigInt(row.refunded)),
  metadata: keptMetadata(row.metadata),
  exception: row.metadata.exception_reference ?? null,
  wallet: row.wallet,
  balanceTransactionId: row.balance_transaction_id
})

const keptMetadata = (stored: Row): PaymentState["metadata"] => {
  const { exception_reference: _, ...metadata } = stored as PaymentState["metadata"] & Row
  return { ...metadata, token: metadata.token ?? null }
}

/** An exception as `json_build_object` gives it. */
export const readException = (row: Row): ExceptionState => ({
  id: row.id,
  version: row.version,
  type: row.type,
  status: row.status,
  paymentId: row.payment_id,
  amount: usdMillis(BigInt(row.amount)),
  evidence: row.evidence,
  createdAt: row.created_at,
  resolvedAt: row.resolved_at,
  resolution: row.resolution
})

export const readAggregate = (row: Row): Aggregate => ({
  invoice: readInvoice(row),
  payments: row.payments.map(readPayment),
  exceptions: row.exceptions.map(readException)
})

const exceptionWrite = (
  { environment, merchantId }: Pick<InvoiceState, "environment" | "merchantId">,
  invoiceId: string | null,
  exception: ExceptionState
): Write => ({
  table: "exceptions",
  row: {
    merchant_id: merchantId,
    id: exception.id,
    version: exception.version,
    environment,
    type: exception.type,
    status: exception.status,
    invoice_id: invoiceId,
    invoice_payment_id: exception.paymentId,
    amount: exception.amount.toString(),
    evidence: exception.evidence,
    created_at: exception.createdAt,
    resolved_at: exception.resolvedAt,
    resolution: exception.resolution
  }
})

/** Every row a decision changes. The invoice row is always among them, so that two decisions cannot both win. */
export const decisionWrites = (
  { next, changedExceptions, changedPayments }: Decision
): ReadonlyArray<Write> => [
  invoiceWrite(next.invoice),
  ...changedPayments.map((payment) => paymentWrite(next.invoice, payment)),
  ...changedExceptions.map((exception) => exceptionWrite(next.invoice, next.invoice.id, exception))
]

/** The write of an exception of money that pays no invoice. */
export const unmatchedWrite = (
  owner: Pick<UnmatchedPayment, "environment" | "merchantId">,
  exception: ExceptionState
): Write => exceptionWrite(owner, null, exception)
