/** What an invoice says of the payment link that it was made by. Pure. */
import { isPaymentLinkId, type PaymentLinkId } from "./Ids.ts"
import type { Metadata } from "./Invoice.ts"

/** The key of an invoice's metadata that holds the id of its payment link. */
export const paymentLinkKey = "payment_link"

/** The payment link of an invoice, by its metadata; null: it has none. */
export const paymentLinkOf = (metadata: Metadata): PaymentLinkId | null => {
  const id = Object.hasOwn(metadata, paymentLinkKey) ? metadata[paymentLinkKey] : null
  return isPaymentLinkId(id) ? id : null
}
