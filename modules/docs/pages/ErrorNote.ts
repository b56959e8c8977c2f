/** What a page says of an error code, and the shell lines of its example. Pure. */

/** Cause and fix of one code. */
export interface ErrorNote {
  /** What was sent, or what state it met. A sentence or two; backticks mark code. */
  readonly cause: string
  /** What the caller does about it. */
  readonly fix: string
  /**
   * Shell lines whose last output is the error, on devnet with the demo merchant. Where none can cause it,
   * `requirement` says what it takes.
   */
  readonly example: ReadonlyArray<string> | { readonly requirement: string }
}

/** Whose credential a call carries: `$KEY`, `$COMMERCE_KEY`, the session of an invoice, or nobody's. */
export type Caller = "merchant" | "commerce" | "payor" | "nobody"

const credentials: Readonly<Record<Caller, string>> = {
  merchant: " -H \"x-api-key: $KEY\"",
  commerce: " -H \"x-api-key: $COMMERCE_KEY\"",
  payor: " -H \"x-session-token: $SESSION_TOKEN\" -H \"x-signature: $SIGNATURE\"",
  nobody: ""
}

/** In double quotes where a variable stands inside, else in single quotes. */
const shellQuote = (text: string): string =>
  text.includes("$") ? `"${text.replaceAll("\"", "\\\"")}"` : `'${text.replaceAll("'", "'\\''")}'`

const headersOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers).map(([name, value]) => ` -H ${shellQuote(`${name}: ${value}`)}`).join("")

/** A call without a body. */
export const get = (path: string, as: Caller = "merchant", headers: Readonly<Record<string, string>> = {}): string =>
  `curl -s "$BASE${path}"${credentials[as]}${headersOf(headers)}`

/** A call with a body: an object as JSON, text as it is. */
export const send = (
  method: "DELETE" | "PATCH" | "POST" | "PUT",
  path: string,
  body: object | string | undefined,
  as: Caller = "merchant",
  headers: Readonly<Record<string, string>> = {}
): string => {
  const content = body === undefined ? "" : ` -d ${shellQuote(typeof body === "string" ? body : JSON.stringify(body))}`
  const type = body === undefined || "content-type" in headers ? {} : { "content-type": "application/json" }
  const verb = method === "POST" && body !== undefined ? "" : ` -X ${method}`
  return `curl -s${verb} "$BASE${path}"${credentials[as]}${headersOf({ ...headers, ...type })}${content}`
}

/** Keeps what `field` of the answer holds in the shell variable `name`. */
export const keep = (name: string, field: string, call: string): string =>
  `${name}=$(${call} | node -p 'JSON.parse(require("fs").readFileSync(0)).${field}')`

/** A call whose answer does not matter here. */
export const discardOutput = (call: string): string => `${call} > /dev/null`

/** The same call so many times, without its answers; `$N` counts. */
export const repeatCall = (times: number, call: string): string =>
  `for N in $(seq ${times}); do ${call} > /dev/null; done`

/** A key that is new each time. */
export const newKey = { "Idempotency-Key": "$RANDOM-$RANDOM-$RANDOM" }

/** A new invoice with this body. */
export const createInvoice = (body: object, as: Caller = "merchant"): string =>
  send("POST", "/api/v1/invoices", body, as, newKey)

/** An invoice of five dollars, in `$INVOICE`. */
export const invoice: string = keep("INVOICE", "invoice_id", createInvoice({ amount_usd: 5 }))

/** An invoice of five dollars: its id in `$INVOICE`, its session in `$SESSION_TOKEN` and `$SIGNATURE`. */
export const session: ReadonlyArray<string> = [
  `MADE=$(${createInvoice({ amount_usd: 5 })})`,
  ...Object.entries({ INVOICE: "invoice_id", SESSION_TOKEN: "session_token", SIGNATURE: "signature" }).map((
    [name, field]
  ) => keep(name, field, "echo \"$MADE\""))
]

/** What the simulated customer does with `$INVOICE`. */
export const simulate = (body: object | string): string =>
  send("POST", "/api/v1/devnet/invoices/$INVOICE/simulate", body)

const item = { product_id: "B08N5WRWNW", retailer: "amazon", title: "Item", quantity: 1, price: 9.99 }

/** A body of checkout and carts with the customer named. */
const withCustomer = (body: object) => ({ customer_id: "cust_1", ...body })

/** The price of items for `cust_1`, one item if none is named. */
export const estimateOf = (product: object = {}): string =>
  send(
    "POST",
    "/api/commerce/merchant/checkout/estimate",
    withCustomer({ zip_code: "33101", items: [{ ...item, ...product }] }),
    "commerce"
  )

/** {@link estimateOf}, its id in `$ESTIMATE`. */
export const keepEstimate = (product: object = {}): string => keep("ESTIMATE", "data.estimate_id", estimateOf(product))

const postalAddress = {
  first_name: "Ada",
  last_name: "Lovelace",
  street_address: "12 Analytical Way",
  city: "Miami",
  state: "FL",
  zip_code: "33101",
  country: "US",
  phone: "+1 305 555 0100",
  email: "ada@example.com"
}

/** Where `$ESTIMATE` goes. */
export const addressOf = (change: object = {}): string =>
  send(
    "POST",
    "/api/commerce/merchant/checkout/address",
    withCustomer({ estimate_id: "$ESTIMATE", address: { ...postalAddress, ...change } }),
    "commerce"
  )

/** {@link addressOf}, its id in `$ADDRESS`. */
export const keepAddress: string = keep("ADDRESS", "data.address_id", addressOf())

/** The order of `$ESTIMATE` to an address. */
export const checkoutTo = (address: string): string =>
  send(
    "POST",
    "/api/commerce/merchant/checkout/invoice",
    withCustomer({ estimate_id: "$ESTIMATE", address_id: address }),
    "commerce",
    newKey
  )

/** An order from its price to its invoice, its id in `$ORDER`. */
export const order: ReadonlyArray<string> = [
  keepEstimate(),
  keepAddress,
  keep("ORDER", "data.order.id", checkoutTo("$ADDRESS"))
]

/** The next step of `$ORDER`. */
export const transition = (to: string): string =>
  send("POST", "/api/commerce/devnet/orders/$ORDER/simulate", { transition_to: to }, "commerce")
