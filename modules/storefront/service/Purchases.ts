/** The purchase: an order and its invoice, made of an estimate in the commit that uses the estimate up. */
import { dieOnReplay, type IdempotentCall } from "../../../runtime/Commit.ts"
import { Effect } from "effect"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { Metadata } from "../../../schemas/Invoice.ts"
import type { Destination, NewOrder, OrderState } from "../../commerce/plugin.ts"
import type { InvoiceState, NewInvoice } from "../../invoices/plugin.ts"
import { estimateTable, estimateWrite } from "../repo.ts"
import {
  consumeEstimate,
  type Customer,
  estimateObject,
  invoiceTtlMillis,
  isStillOffered,
  pricesOf,
  pricingOf,
  shippingOption,
  type Shop,
  withEarlierRefusals
} from "../rules.ts"
import { type CheckoutContext, checkValue, requireEstimate } from "./CheckoutContext.ts"
import { quoteItems } from "./Estimates.ts"

/** What an order is made of, beside its estimate. */
export interface Purchase {
  readonly estimateId: string
  readonly addressId: string
  /** Null: the cheapest. */
  readonly shippingOptionId: string | null
  readonly refundDestination: Destination | null
  readonly metadata: Metadata
}

/** A new order and the invoice that pays it. */
export interface PurchaseResult {
  readonly order: OrderState
  readonly invoice: InvoiceState
}

/** The invoice of a new order: it asks for its total within 1,800 s, and says nothing of who gets what where. */
const invoiceOf = ({ amounts, customerId, environment, merchantId, metadata, orderId }: NewOrder): NewInvoice => ({
  merchantId,
  environment,
  commerce: true,
  amount: amounts.total,
  expiresInMillis: invoiceTtlMillis,
  customerId,
  metadata,
  details: { description: null, title: null, footer: null, customerEmail: null, returnUrl: null, locale: null },
  toleranceBasisPoints: null,
  acceptedNetworks: null,
  orderId
})

const unknownShipping = publicError("VALIDATION_ERROR", {
  message: "shipping_option_id: The address has no such way of shipping",
  param: "shipping_option_id"
})

/** What is bought, checked once more: the retailer may ask for more by now, or sell less. */
const checkStillOffered = Effect.fnUntraced(function*(
  context: CheckoutContext,
  shop: Shop,
  customer: Customer,
  { addressId, estimateId, shippingOptionId }: Purchase
) {
  const estimate = yield* requireEstimate(context, shop, customer, estimateId)
  const address = yield* context.repo.address(shop.merchantId, estimateId, addressId)
  if (address === null) return yield* publicError("ADDRESS_NOT_FOUND", { param: "address_id" })
  const { address: { zipCode }, quotation } = address
  const shipping = shippingOption(quotation, shippingOptionId)
  if (shipping === undefined) return yield* unknownShipping
  const amounts = pricingOf(quotation, shipping)
  yield* checkValue(quotation, amounts)
  const currentQuotation = yield* quoteItems(context, shop, quotation.items, zipCode)
  if (!isStillOffered(quotation, currentQuotation, shipping)) {
    const changed = { ...estimate, quotation: withEarlierRefusals(currentQuotation, quotation), zipCode }
    return yield* publicError("ESTIMATE_CHANGED", {
      param: "estimate_id",
      details: { estimate: estimateObject(changed, pricesOf(quotation.items)) }
    })
  }
  return { estimate, address, shipping, amounts }
})

export const purchaseEstimate = Effect.fnUntraced(function*(
  context: CheckoutContext,
  shop: Shop,
  customer: Customer,
  purchase: Purchase,
  call: IdempotentCall<PurchaseResult>
) {
  const { invoices, orders } = context
  const { address, amounts, estimate, shipping } = yield* checkStillOffered(context, shop, customer, purchase)
  const newOrder: NewOrder = {
    ...shop,
    orderId: yield* uuidV7,
    customerId: customer.id,
    walletAddress: estimate.customer.wallet?.address ?? null,
    walletNetwork: estimate.customer.wallet?.network ?? null,
    items: address.quotation.items,
    shipping,
    address: address.address,
    amounts,
    refundDestination: purchase.refundDestination,
    metadata: purchase.metadata
  }
  const draft = yield* invoices.draft(invoiceOf(newOrder))
  const { extraWrites, order } = orders.creation(newOrder, draft.invoice)
  const result: PurchaseResult = { invoice: draft.invoice, order }
  const consumed = estimateWrite(consumeEstimate(estimate, newOrder.orderId))
  yield* invoices.createWith(
    draft,
    { ...extraWrites, writes: [...extraWrites.writes, consumed] },
    call.cause,
    call.reply(result)
  ).pipe(
    Effect.catchTag("Conflict", (conflict) =>
      conflict.table === estimateTable
        ? Effect.fail(publicError("ESTIMATE_ALREADY_USED", { param: "estimate_id" }))
        : Effect.die(conflict)),
    dieOnReplay
  )
  return result
})
