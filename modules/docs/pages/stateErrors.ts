/** Errors of the state that a good request met, and of the service itself: statuses 409, 410, 422 and 5xx. */
import type { ErrorCode } from "../../../schemas/Errors.ts"
import {
  checkoutTo,
  discardOutput,
  type ErrorNote,
  estimateOf,
  get,
  invoice,
  keep,
  keepAddress,
  keepEstimate,
  newKey,
  order,
  repeatCall,
  send,
  session,
  simulate,
  transition
} from "./ErrorNote.ts"

const webhook = { url: "https://93.184.215.14/hooks", enabled_events: ["commerce.order.created"] }

const cartItem = { customer_id: "cust_full", product_id: "ITEM-$N", retailer: "amazon", title: "Item", price: 1 }

const refundOf = (more: object) => ({
  invoice_id: "$INVOICE",
  reason: "other",
  fee_bearer: "merchant",
  ...more
})

const fault = (mode: string) => discardOutput(send("POST", "/api/v1/devnet/networks/base/fault", { mode }))

export const stateErrors = {
  IDEMPOTENCY_REQUEST_IN_PROGRESS: {
    cause: "The first call with this `Idempotency-Key` has not ended within 5 seconds.",
    fix: "Repeat with the same key after `Retry-After`: you get the answer of the first call.",
    example: { requirement: "It takes a first call that is still running after 5 seconds." }
  },
  IDEMPOTENCY_KEY_REUSED: {
    cause: "This `Idempotency-Key` came before with another body.",
    fix: "Use a new key for a new act; repeat an act with the key and the body it had.",
    example: [
      "ONCE=$RANDOM-$RANDOM-$RANDOM",
      discardOutput(send("POST", "/api/v1/invoices", { amount_usd: 5 }, "merchant", { "Idempotency-Key": "$ONCE" })),
      send("POST", "/api/v1/invoices", { amount_usd: 6 }, "merchant", { "Idempotency-Key": "$ONCE" })
    ]
  },
  INVOICE_NOT_CANCELABLE: {
    cause: "The invoice is paid, partly paid, or a payment is under way.",
    fix: "Read the invoice. What was received is given back by a refund.",
    example: [
      invoice,
      discardOutput(simulate({ action: "pay" })),
      send("POST", "/api/v1/invoices/$INVOICE/cancel", undefined)
    ]
  },
  EXCEPTION_ALREADY_RESOLVED: {
    cause: "Somebody decided on this exception before: a decision is made once.",
    fix: "Read the exception: its `resolution` says who decided what.",
    example: [
      invoice,
      discardOutput(simulate({ action: "wrong_token" })),
      keep("EXCEPTION", "data.data[0].id", get("/api/v1/exceptions?invoice_id=$INVOICE")),
      discardOutput(send("POST", "/api/v1/exceptions/$EXCEPTION/resolve", { action: "credit" }, "merchant", newKey)),
      send("POST", "/api/v1/exceptions/$EXCEPTION/resolve", { action: "credit" }, "merchant", newKey)
    ]
  },
  ORDER_NOT_CANCELABLE: {
    cause: "The order is shipped, delivered, or ended otherwise.",
    fix: "Its `actions` say what is still possible; afterwards the goods go back by the retailer's own way.",
    example: [
      ...order,
      ...["payment_confirmed", "payment_settled", "placed", "shipped"].map((step) => discardOutput(transition(step))),
      send("POST", "/api/commerce/merchant/orders/$ORDER/cancel", {}, "commerce", newKey)
    ]
  },
  ESTIMATE_ALREADY_USED: {
    cause: "An order was made of this estimate: each makes one.",
    fix: "To repeat the call that made it, send the same `Idempotency-Key`; for another order make a new estimate.",
    example: [keepEstimate(), keepAddress, discardOutput(checkoutTo("$ADDRESS")), checkoutTo("$ADDRESS")]
  },
  ESTIMATE_CHANGED: {
    cause: "The retailer asks for more than was shown, or cannot deliver all of it any more.",
    fix: "Show `details.estimate` to your customer, and go on from the address step with a new `Idempotency-Key`.",
    example: { requirement: "It takes a price that rises between two steps: `SIM-PRICE-RISES` does, each minute." }
  },
  CART_LIMIT_REACHED: {
    cause: "The cart holds 50 items.",
    fix: "Take one out, or raise the quantity of one that is there.",
    example: [
      repeatCall(50, send("POST", "/api/commerce/merchant/carts/items", cartItem, "commerce")),
      send("POST", "/api/commerce/merchant/carts/items", { ...cartItem, product_id: "ONE-MORE" }, "commerce")
    ]
  },
  REFUND_EXCEEDS_RECEIVED: {
    cause: "The refunds of this payment would come to more than it brought in.",
    fix: "Refund at most what was received and is not refunded yet.",
    example: [
      invoice,
      discardOutput(simulate({ action: "pay" })),
      send("POST", "/api/v1/refunds", refundOf({ amount_mode: "custom", amount: 1_000_000_000 }), "merchant", newKey)
    ]
  },
  REFUND_NOT_CANCELABLE: {
    cause: "The refund is being paid out, or was.",
    fix: "Read it again: money that is on its way cannot be called back.",
    example: {
      requirement: "A refund is on its way once a person approved it, by the token of a wallet: "
        + "`POST /api/v1/refunds/{id}/approve`, then `/cancel`."
    }
  },
  API_KEY_LIMIT_REACHED: {
    cause: "The merchant has 100 keys in use.",
    fix: "Revoke a key, or wait until the overlap of a rotated one ends. A rotation with `overlap_seconds` 0 is always "
      + "possible.",
    // One key may make 100 calls in a minute, so two of them share the work.
    example: [
      keep("SECOND_KEY", "data.key", send("POST", "/api/v1/api-keys", { name: "Second", scope: "merchant" })),
      repeatCall(50, send("POST", "/api/v1/api-keys", { name: "Key $N", scope: "commerce" })),
      repeatCall(
        50,
        send("POST", "/api/v1/api-keys", { name: "Key $N", scope: "commerce" }, "nobody", {
          "x-api-key": "$SECOND_KEY"
        })
      ),
      send("POST", "/api/v1/api-keys", { name: "One more", scope: "commerce" })
    ]
  },
  WALLET_LINKED_ELSEWHERE: {
    cause: "The wallet signs in for another merchant.",
    fix: "Unlink it there first; a wallet signs in for one merchant.",
    example: { requirement: "It takes a signed message of a wallet that another merchant has linked." }
  },
  WALLET_LIMIT_REACHED: {
    cause: "The merchant has 20 wallets that sign in.",
    fix: "Unlink one first: `DELETE /api/v1/auth/wallets/{id}`.",
    example: { requirement: "It takes signed messages of 21 wallets." }
  },
  WEBHOOK_LIMIT_REACHED: {
    cause: "The merchant has 16 webhook endpoints.",
    fix: "Delete one, or let one endpoint hear more events: `enabled_events` takes 50.",
    example: [repeatCall(16, send("POST", "/api/v1/webhooks", webhook)), send("POST", "/api/v1/webhooks", webhook)]
  },
  WEBHOOK_DISABLED: {
    cause: "The endpoint is disabled, by you or because it failed for days, so nothing is sent to it.",
    fix: "See why in its `disabled_reason`, then enable it: `PATCH` it with `{\"status\": \"enabled\"}`.",
    example: [
      keep("WEBHOOK", "data.id", send("POST", "/api/v1/webhooks", webhook)),
      discardOutput(send("PATCH", "/api/v1/webhooks/$WEBHOOK", { status: "disabled" })),
      send("POST", "/api/v1/webhooks/$WEBHOOK/test", undefined)
    ]
  },
  QUOTE_EXPIRED: {
    cause: "The quote's time is over: a quote holds for 300 seconds.",
    fix: "Ask for a new one.",
    example: { requirement: "No call of this version takes a quote that can have ended." }
  },
  ESTIMATE_EXPIRED: {
    cause: "The estimate is older than 900 seconds.",
    fix: "Make a new one and show its prices.",
    example: [
      keepEstimate(),
      keepAddress,
      "# The demo merchant's devnet clock goes forward only, and stays ahead.",
      discardOutput(send("POST", "/api/v1/devnet/clock/advance", { seconds: 901 })),
      checkoutTo("$ADDRESS")
    ]
  },
  INVOICE_CREATE_FAILED: {
    cause: "The invoice could not be written. Nothing was made.",
    fix: "Try again with the same `Idempotency-Key`. If it stays, tell the operator the `X-Request-Id`.",
    example: { requirement: "It takes a fault of the service." }
  },
  INTERNAL_ERROR: {
    cause: "Something went wrong on our side; the log has it under the `X-Request-Id`.",
    fix: "Try again with the same `Idempotency-Key`. If it stays, tell the operator the `X-Request-Id`.",
    example: { requirement: "It takes a fault of the service." }
  },
  NETWORK_DEGRADED: {
    cause: "The network's blocks could not be read for a minute, so a payment there would not be seen in time.",
    fix:
      "Offer another network, or try again after `Retry-After`. `GET /api/v1/networks/status` tells how each is doing.",
    example: [
      ...session,
      keep(
        "TOKEN",
        "find(({ network }) => network === \"base\").id",
        get("/api/v1/payments/available-tokens", "payor")
      ),
      fault("down"),
      send("POST", "/api/v1/payments/payment-addresses", "{\"network\": \"base\", \"token_id\": $TOKEN}", "payor"),
      fault("ok")
    ]
  },
  QUOTE_UNAVAILABLE: {
    cause: "There is no fresh price of this token: no source knows it, or the last one is too old.",
    fix: "Try again after `Retry-After`, or offer another token.",
    example: { requirement: "It takes a token whose price no source knows just now." }
  },
  SERVICE_UNAVAILABLE: {
    cause: "The database or the retailer of an order gives no answer, or the service is starting or stopping.",
    fix: "Wait for the seconds in `Retry-After`, then try again with the same `Idempotency-Key`.",
    example: [estimateOf({ product_id: "SIM-QUOTE-UNAVAILABLE" })]
  }
} satisfies { readonly [C in ErrorCode]?: ErrorNote }
