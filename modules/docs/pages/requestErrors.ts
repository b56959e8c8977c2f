/** Errors of a request as it was written: statuses 400, 413 and 415. */
import type { ErrorCode } from "../../../schemas/Errors.ts"
import {
  addressOf,
  createInvoice,
  discardOutput,
  type ErrorNote,
  estimateOf,
  get,
  invoice,
  keep,
  keepEstimate,
  newKey,
  order,
  send,
  session,
  simulate,
  transition
} from "./ErrorNote.ts"

const noSuchId = "00000000-0000-4000-8000-000000000000"

export const requestErrors = {
  INVALID_AMOUNT_FORMAT: {
    cause:
      "The amount of an invoice is missing, was sent twice, or is no number: `amount` takes an integer without quotes.",
    fix:
      "Send exactly one of `amount` (an integer of usd_millis, thousandths of a dollar: 5000 is $5) and `amount_usd` "
      + "(dollars as a number or text, at most 3 decimals).",
    example: [createInvoice({ amount: "5000" })]
  },
  INVALID_AMOUNT_RANGE: {
    cause: "The amount is below $0.01 or above $1,000,000. Most often dollars were sent as `amount`, which counts "
      + "thousandths of a dollar.",
    fix: "For $5 send `amount` 5000 or `amount_usd` 5.",
    example: [createInvoice({ amount: 5 })]
  },
  IDEMPOTENCY_KEY_MISSING: {
    cause: "This write makes something that must not be made twice, and came without the header `Idempotency-Key`.",
    fix: "Make a UUID for each act of your customer, send it as `Idempotency-Key`, and keep it for repeats.",
    example: [send("POST", "/api/v1/invoices", { amount_usd: 5 })]
  },
  IDEMPOTENCY_KEY_INVALID: {
    cause: "The header `Idempotency-Key` is empty, longer than 255 characters, was sent twice, or holds a space or a "
      + "character that is not ASCII.",
    fix: "Send 1 to 255 visible ASCII characters, once; a UUID v4 is a good value.",
    example: [send("POST", "/api/v1/invoices", { amount_usd: 5 }, "merchant", { "Idempotency-Key": "order 7" })]
  },
  VALIDATION_ERROR: {
    cause: "A field or parameter has a wrong type or a value that is not allowed, or a required one is missing.",
    fix: "The message names the field, what it may be, and its unit; in a wrapped error `param` is the dotted field.",
    example: [createInvoice({ amount_usd: 5, expires_in: "1 hour" })]
  },
  INVALID_JSON: {
    cause: "The body is not valid JSON in UTF-8, or ended early.",
    fix: "Let a JSON library write the body: no comma after the last field, no comments, double quotes.",
    example: [send("POST", "/api/v1/invoices", "{\"amount_usd\": 5,}", "merchant", newKey)]
  },
  INVALID_LIMIT: {
    cause:
      "`limit` is no integer, or outside the range of this list: 1 to 100 on most, 1 to 200 in the search of tokens.",
    fix: "Send a smaller `limit`, and follow the list by its cursor while `has_more` is true.",
    example: [get("/api/v1/events?limit=1000")]
  },
  INVALID_OFFSET: {
    cause: "`offset` is negative or no integer, or beyond what the list can skip.",
    fix: "Send an integer of 0 or more; narrow the list by its filters instead of skipping far.",
    example: [get("/api/v1/merchant/tokens/search?offset=-1")]
  },
  INVALID_PAGE: {
    cause: "`page` is no integer of 1 or more, or so far back that the list no longer skips to it.",
    fix: "Pages count from 1. Far back, go by cursor: `starting_after` with the last id you have.",
    example: [get("/api/v1/invoices?page=0")]
  },
  INVALID_CURSOR: {
    cause: "`starting_after` or `ending_before` is no id of this list, or both were sent, or one beside `page`.",
    fix: "Send one cursor: the id of the last object of the page you have, or of the first.",
    example: [get("/api/v1/events?starting_after=yesterday")]
  },
  INVALID_EVENT_ID: {
    cause: "The id in the path is not written like that of an event.",
    fix: "Send the id as an event, a webhook or a websocket frame gave it: `evt_<milliseconds>-<number>`.",
    example: [get("/api/v1/events/evt_1")]
  },
  INVALID_EVENT_TYPE: {
    cause: "A filter of event types holds more than 20, or one that is no type, no `prefix.*` and not `*`.",
    fix: "Separate exact types or prefixes by commas, like `invoice.paid,invoice_payment.*`.",
    example: [get("/api/v1/events?type=invoice.")]
  },
  INVALID_ENVIRONMENT: {
    cause: "`environment` names neither of the two there are.",
    fix: "Send `devnet` or `mainnet`, or leave it out: a key has one of its own.",
    example: [get("/api/v1/events?environment=testnet")]
  },
  INVALID_VERSION: {
    cause: "The header `X-Service-Version` names no version of this API.",
    fix: "Leave it out, or send a date that the guide on versions lists.",
    example: [get("/api/v1/invoices", "merchant", { "X-Service-Version": "2020-01-01" })]
  },
  INVALID_FORMAT: {
    cause: "A websocket was opened with a `format` other than `event_v1`.",
    fix: "Send `format=event_v1`, or leave it out.",
    example: [get("/ws/payment?format=event_v2&token=x", "nobody", {
      "Connection": "Upgrade",
      "Upgrade": "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="
    })]
  },
  AMBIGUOUS_CREDENTIALS: {
    cause: "`x-api-key` and `x-commerce-api-key` hold different keys, so nobody can tell whose call this is.",
    fix: "Send one key, in `x-api-key`.",
    example: [get("/api/v1/events", "merchant", { "x-commerce-api-key": "$COMMERCE_KEY" })]
  },
  WEBHOOK_URL_INVALID: {
    cause: "The address of a webhook endpoint is not https, is not public, or holds a user name or password.",
    fix: "Give a public https address. On devnet the hosts in `webhooks.devnetReceivers` may be local and plain http.",
    example: [send("POST", "/api/v1/webhooks", { url: "http://shop.example/hooks", enabled_events: ["invoice.*"] })]
  },
  TOKEN_NOT_ACCEPTED: {
    cause: "The token is not in the catalogue, not active, blocked by the merchant, or not offered for this invoice.",
    fix: "Let the customer choose of `GET /api/v1/payments/available-tokens`, and send its `id` as `token_id`.",
    example: [
      ...session,
      send("POST", "/api/v1/payments/payment-addresses", { network: "base", token_id: 2_000_000_000 }, "payor")
    ]
  },
  TOKEN_NETWORK_MISMATCH: {
    cause: "`token_id` is a token of another network than `network`: one symbol has an id on each of its networks.",
    fix: "Send `network` and `id` of the same entry of `available-tokens`.",
    example: [
      ...session,
      keep(
        "TOKEN",
        "find(({ network }) => network === \"base\").id",
        get("/api/v1/payments/available-tokens", "payor")
      ),
      send("POST", "/api/v1/payments/payment-addresses", "{\"network\": \"optimism\", \"token_id\": $TOKEN}", "payor")
    ]
  },
  UNSUPPORTED_NETWORK: {
    cause: "There is no such network, this deployment does not follow it, or the invoice does not accept it.",
    fix: "Send a `network` of the token list or of `available-tokens`.",
    example: [
      ...session,
      send("POST", "/api/v1/payments/payment-addresses", { network: "dogechain", token_id: 1 }, "payor")
    ]
  },
  NETWORK_REQUIRED: {
    cause: "`mode=network` asks for the tokens of one network and does not say of which.",
    fix: "Add `network`, for example `mode=network&network=base`.",
    example: [...session, get("/api/v1/payments/available-tokens?mode=network", "payor")]
  },
  ADDRESS_INVALID: {
    cause: "A field of the postal address is missing or cannot be right, or the retailer cannot deliver there.",
    fix: "The message and `details.fields` say what is wrong with each field: show it beside that field.",
    example: [keepEstimate(), addressOf({ country: "USA" })]
  },
  NO_VALID_ITEMS: {
    cause: "Nothing of what was asked for can be bought: sold out, not deliverable, unknown, or the cart is empty.",
    fix: "`details.invalid_items` has a code for each item: take those out, or offer others.",
    example: [estimateOf({ product_id: "SIM-OUT-OF-STOCK" })]
  },
  ORDER_VALUE_EXCEEDED: {
    cause: "The goods, their shipping and tax come to more than $2,500.",
    fix: "Make several orders.",
    example: [estimateOf({ product_id: "CAMERA", quantity: 99 })]
  },
  CUSTOMER_IDENTITY_REQUIRED: {
    cause: "Carts and checkouts belong to a customer, and the call names none.",
    fix: "Send `customer_id`, your own name for the customer, or `wallet_address` with `wallet_network`.",
    example: [get("/api/commerce/merchant/carts", "commerce")]
  },
  REFUND_DESTINATION_REQUIRED: {
    cause: "The order is to be refunded, and nobody has said where the money goes.",
    fix: "Set it by `PUT /api/commerce/merchant/orders/{order_id}/refund-destination`; in the simulator send "
      + "`wallet_address`.",
    example: [
      ...order,
      ...["payment_confirmed", "payment_settled", "failed"].map((step) => discardOutput(transition(step))),
      transition("refunded")
    ]
  },
  WALLET_ADDRESS_INVALID: {
    cause: "The text is no address of that network: mistyped, of another network, or its checksum is wrong.",
    fix: "Copy the address out of the wallet again, and send the network it is on.",
    example: [
      ...session,
      send("POST", "/api/v1/payments/refund-address", { network: "base", address: "0x1234" }, "payor")
    ]
  },
  WALLET_INVALID: {
    cause: "The receiving wallet is no extended public key, address or pool of that family, or is a private key.",
    fix: "Send the public part only: `xpub…` of the account, or addresses. Never a private key or a recovery phrase.",
    example: [send("PUT", "/api/v1/merchant/wallets/evm", { kind: "xpub", value: "my savings" })]
  },
  PAYLOAD_TOO_LARGE: {
    cause: "The body has more than 256 KiB.",
    fix: "Send less: data of your own belongs in your system, with its id in `metadata`.",
    example: [
      "LARGE=$(printf '%300000s' ' ')",
      `echo "{\\"note\\": \\"$LARGE\\"}" | ${send("POST", "/api/v1/invoices", "@-", "merchant", newKey)}`
    ]
  },
  UNSUPPORTED_MEDIA_TYPE: {
    cause: "The body did not come as JSON: another `content-type`, or a `content-encoding`.",
    fix: "Send `content-type: application/json`, without a content encoding.",
    example: [
      send("POST", "/api/v1/invoices", { amount_usd: 5 }, "merchant", { "content-type": "text/plain", ...newKey })
    ]
  },
  METHOD_NOT_ALLOWED: {
    cause: "The path exists and does not take this method.",
    fix: "The `Allow` header of the answer lists those it takes.",
    example: [send("PUT", "/api/v1/invoices", undefined)]
  },
  NOT_FOUND: {
    cause:
      "There is no such path, or no such object for this caller. Paths are case-sensitive and have no slash at the end.",
    fix: "Compare the path with the API reference, and the id with what its creation answered.",
    example: [get("/api/v1/invoice")]
  },
  INVOICE_NOT_FOUND: {
    cause:
      "No invoice of yours has this id in this environment, and no customer of yours with this `customer_id` has one.",
    fix: "Check the id and the environment. What belongs to someone else is answered exactly like what does not exist.",
    example: [get(`/api/v1/invoices/${noSuchId}`)]
  },
  EVENT_NOT_FOUND: {
    cause: "No event of yours has this id, or it is older than events are kept.",
    fix: "Check the id. A commerce key sees commerce events of its own environment only.",
    example: [get("/api/v1/events/evt_1700000000000-1")]
  },
  ORDER_NOT_FOUND: {
    cause: "No order of yours has this id in this key's environment.",
    fix: "Send the `order.id` that `checkout/invoice` answered, with a key of the same environment.",
    example: [get(`/api/commerce/merchant/orders/${noSuchId}`, "commerce")]
  },
  ESTIMATE_NOT_FOUND: {
    cause: "This customer has no estimate with this id: it is another customer's, or older than 24 hours.",
    fix: "Make a new estimate, and name the same customer in all three steps.",
    example: [`ESTIMATE=${noSuchId}`, addressOf()]
  },
  ADDRESS_NOT_FOUND: {
    cause: "The address step of this estimate answered no such `address_id`.",
    fix: "Send the `address_id` that `checkout/address` answered for this estimate.",
    example: [
      keepEstimate(),
      send(
        "POST",
        "/api/commerce/merchant/checkout/invoice",
        {
          customer_id: "cust_1",
          estimate_id: "$ESTIMATE",
          address_id: noSuchId
        },
        "commerce",
        newKey
      )
    ]
  },
  CART_ITEM_NOT_FOUND: {
    cause: "The customer's cart has no item with this id.",
    fix: "Read the cart again: its `items` have the ids.",
    example: [
      send("PUT", `/api/commerce/merchant/carts/items/${noSuchId}`, { customer_id: "cust_1", quantity: 2 }, "commerce")
    ]
  },
  EXCEPTION_NOT_FOUND: {
    cause: "No exception of yours has this id in this environment.",
    fix: "Send an `id` of `GET /api/v1/exceptions`.",
    example: [get(`/api/v1/exceptions/exc_${noSuchId}`)]
  },
  REFUND_NOT_FOUND: {
    cause: "No refund of yours has this id in this environment.",
    fix: "Send an `id` of `GET /api/v1/refunds`.",
    example: [get(`/api/v1/refunds/re_${noSuchId}`)]
  },
  PAYMENT_LINK_NOT_FOUND: {
    cause: "No payment link of yours has this id in this environment.",
    fix: "Send an `id` of `GET /api/v1/payment-links`.",
    example: [get(`/api/v1/payment-links/plink_${noSuchId}`)]
  },
  TOKEN_NOT_FOUND: {
    cause: "The catalogue has no token with this id in this environment.",
    fix: "Send an `id` of `GET /api/v1/merchant/tokens`.",
    example: [send("POST", "/api/v1/merchant/tokens/2000000000/block", { blocked: true })]
  },
  QUOTE_NOT_FOUND: {
    cause: "No quote of an invoice of yours has this id.",
    fix: "Send the `id` that `POST /api/v1/quotes` answered.",
    example: [get(`/api/v1/quotes/quo_${noSuchId}`)]
  },
  WEBHOOK_NOT_FOUND: {
    cause: "No webhook endpoint that this caller manages has this id.",
    fix: "List them by `GET /api/v1/webhooks`. A commerce key sees only those that commerce keys made.",
    example: [get(`/api/v1/webhooks/we_${noSuchId}`)]
  },
  DELIVERY_NOT_FOUND: {
    cause: "No endpoint of yours has a delivery with this id, or it is older than deliveries are kept.",
    fix: "List them by `GET /api/v1/webhooks/{id}/deliveries`.",
    example: [get(`/api/v1/webhooks/deliveries/whd_${noSuchId}`)]
  },
  INVALID_TRANSITION: {
    cause: "The object is not in a state from which this step leads on.",
    fix: "Read it again. For an order `details` lists the steps that are possible now.",
    example: [invoice, simulate({ action: "confirm" })]
  }
} satisfies { readonly [C in ErrorCode]?: ErrorNote }
