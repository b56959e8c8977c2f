/** The refund as JSON, for answers and events, and as its payor sees it. */
import { formatUnits, usdDecimal, usdWire } from "../../../schemas/Money.ts"
import type { Refund } from "../../../schemas/Refund.ts"
import type { InvoiceState } from "../../invoices/plugin.ts"
import type { ClaimedRefund } from "../../payments/plugin.ts"
import { net } from "./Amounts.ts"
import { canClaim } from "./Claims.ts"
import { sentUnits } from "./PaymentRefunds.ts"
import type { RefundState } from "./State.ts"

/** Of a refund of one payment all that is given back, the fee among it; of an order's what is sent. */
const tokenAmountOf = ({ terms, token, tokenAmount }: RefundState): string | null => {
  const units = terms?.units ?? tokenAmount
  return token === null || units === null ? null : formatUnits(units, token.decimals)
}

/** The refund on the wire: exactly the fields of the contract, in its order. */
export const refundObject = (
  refund: RefundState,
  invoice: Pick<InvoiceState, "orderId">
): typeof Refund.Encoded => ({
  id: refund.id,
  object: "refund",
  invoice_id: refund.invoiceId,
  invoice_payment_id: refund.paymentId,
  exception_id: refund.terms?.exceptionId ?? null,
  commerce_order_id: invoice.orderId,
  status: refund.status,
  amount: usdWire(refund.amount),
  amount_decimal: usdDecimal(refund.amount),
  amount_unit: "usd_millis",
  currency: "usd",
  token_amount: tokenAmountOf(refund),
  token_symbol: refund.token?.symbol ?? null,
  token_id: refund.token?.id ?? null,
  token_address: refund.terms?.tokenAddress ?? refund.token?.address ?? null,
  network: refund.terms?.network ?? refund.destination?.network ?? null,
  received_tx_hash: refund.terms?.receivedTxHash ?? null,
  fee: usdWire(refund.fee),
  fee_decimal: usdDecimal(refund.fee),
  net_amount: usdWire(net(refund)),
  net_amount_decimal: usdDecimal(net(refund)),
  destination_address: refund.destination?.address ?? null,
  tx_hash: refund.txHash,
  balance_transaction_id: refund.balanceTransactionId ?? null,
  claim_url: null,
  approvals: (refund.terms?.approvals ?? []).map(({ actor, at }) => ({ by: actor, at })),
  reason: refund.reason,
  failure_code: refund.failureCode,
  created_at: refund.createdAt,
  updated_at: refund.updatedAt
})

/**
 * A refund that a merchant asked for, with the claim link that it has just got. The token stands behind `#`, so that
 * browsers send it to nobody.
 */
export const linkedRefundObject = (
  { claimToken, refund }: { readonly refund: RefundState; readonly claimToken: string | null },
  publicUrl: string
): typeof Refund.Encoded => ({
  ...refundObject(refund, { orderId: null }),
  claim_url: claimToken === null ? null : `${publicUrl}/claim/${refund.id}#t=${claimToken}`
})

/** What the payor who has its link may know of a refund; null for a refund of an order, which has none. */
export const claimedRefund = (refund: RefundState): ClaimedRefund | null => {
  const { destination, environment, id, invoiceId, merchantId, paymentId, reason, status, terms, token, txHash } =
    refund
  if (terms === null || token === null) return null
  return {
    id,
    merchantId,
    environment,
    invoiceId,
    paymentId,
    status,
    canClaim: canClaim(refund),
    network: terms.network,
    tokenSymbol: token.symbol,
    tokenAmount: formatUnits(sentUnits(terms), token.decimals),
    tokenFee: terms.feeUnits === 0n ? null : formatUnits(terms.feeUnits, token.decimals),
    reason,
    destination: destination === null ? null : { address: destination.address, memo: destination.memo },
    txHash,
    endsAt: status === "awaiting_destination" ? refund.dueAt : null
  }
}
