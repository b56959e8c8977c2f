/** Parts of the OpenAPI document that every operation shares: header parameters, response headers, error bodies. */
import { type JsonSchema, Schema } from "effect"
import { errorCodes, FlatErrorBody, WrappedErrorBody } from "../../schemas/Errors.ts"
import { Environment } from "../../schemas/Network.ts"
import { apiVersion } from "../../schemas/Event.ts"

/** The request id of every example. */
export const exampleRequestId = "req_5f0b1c9e-3d2a-4b8e-9c47-1a6d2e8f7b30"

const exampleTag = "\"lZCZ8cQ0hRz6cDpqmLYFNzvQ-0k2wXjkH9wCcH5n0aE\""

const text = (examples: ReadonlyArray<string>, more: JsonSchema.JsonSchema = {}): JsonSchema.JsonSchema => ({
  type: "string",
  ...more,
  examples
})

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  schema: text(["5e0f5d3c-8f0b-4a53-9a43-0f1f6a0a2d7e"], { minLength: 1, maxLength: 255 })
}

/** `components.parameters`. */
export const parameters = {
  IdempotencyKey: {
    ...idempotencyKey,
    required: false,
    description: "Makes a repeat harmless: for 7 days the same key with the same body gets the first answer again."
  },
  IdempotencyKeyRequired: {
    ...idempotencyKey,
    required: true,
    description:
      "Required here. For 7 days the same key with the same body gets the first answer again; a UUID is a good value."
  },
  ServiceVersion: {
    name: "X-Service-Version",
    in: "header",
    required: false,
    description: "The version the answer is given in. Absent: the version your API key is pinned to.",
    schema: text([apiVersion])
  },
  Environment: {
    name: "environment",
    in: "query",
    required: false,
    description: "Where a call with a JWT is; a write may name it in its body instead. Absent: the merchant's default. "
      + "A key's environment is its own, and naming the other one is refused.",
    schema: { type: "string", enum: Environment.literals }
  },
  Operator: {
    name: "X-Operator",
    in: "header",
    required: false,
    description: "Who acts, for the audit log: the credential may be several people's.",
    schema: text(["alice"], { pattern: "^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$" })
  },
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    required: false,
    description: "Your own id for this call. It is echoed, and is `request.id` of the events the call causes.",
    schema: text([exampleRequestId], { pattern: "^[A-Za-z0-9_-]{1,64}$" })
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description: "The `ETag` of the answer you have: while it is still right, the answer is 304 without a body.",
    schema: text([exampleTag])
  }
} as const

const count = (description: string, example: number, minimum = 0) => ({
  description,
  schema: { type: "integer", minimum, examples: [example] }
})

/** `components.headers`. */
export const headers = {
  "X-Request-Id": {
    description: "Names this call in our logs: send it with a question.",
    required: true,
    schema: text([exampleRequestId])
  },
  "X-Service-Version": {
    description: "The version this answer is given in.",
    required: true,
    schema: text([apiVersion])
  },
  "RateLimit-Limit": count("Calls in any 60 seconds.", 100),
  "RateLimit-Remaining": count("Calls left in the window.", 99),
  "RateLimit-Reset": count("Seconds until the oldest call leaves the window.", 60),
  "RateLimit-Policy": { description: "The limit and its window in seconds.", schema: text(["100;w=60"]) },
  "X-Service-Warning": {
    description:
      "Names of the request that this route does not know, which it ignored, each with the one that was meant "
      + "or, where none is near, with those that it knows; only then sent.",
    schema: text(["unknown query parameter \"statsu\", nearest is \"status\""])
  },
  Deprecation: {
    description: "When this version was announced to end; only then sent.",
    schema: text(["@1766320496"])
  },
  Sunset: {
    description: "When this version ends; sent with `Deprecation`.",
    schema: text(["Sun, 21 Nov 2027 00:00:00 GMT"])
  },
  "Retry-After": { ...count("Whole seconds to wait before trying again.", 1, 1), required: true },
  RetryAfterSometimes: count("Whole seconds to wait, where waiting helps.", 1, 1),
  "WWW-Authenticate": {
    description: "How to prove who you are.",
    required: true,
    schema: text(["ApiKey realm=\"tillwire\""])
  },
  ETag: {
    description: "Names this state: send it back as `If-None-Match`.",
    required: true,
    schema: text([exampleTag])
  },
  "Idempotent-Replayed": {
    description: "`true` when this is the stored answer of an earlier call.",
    schema: text(["true"])
  }
} as const

const commonHeaders = ["X-Request-Id", "X-Service-Version", "X-Service-Warning", "Deprecation", "Sunset"]

const rateLimitHeaders = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy"]

/** Statuses whose answers always say when to try again. */
const retryStatuses: ReadonlySet<number> = new Set([429, 503])

/** What decides the headers of an answer beside its status. */
export interface ResponseTraits {
  /** Whether calls are counted against a limit. Default: they are. */
  readonly isLimited?: boolean
  /** Whether a repeated Idempotency-Key gets the stored answer. */
  readonly isReplayable?: boolean
  /** Whether the answer has an `ETag`. */
  readonly isConditional?: boolean
}

/** References to the headers of an answer. */
export const headersOf = (
  status: number,
  { isLimited = true, isReplayable = false, isConditional = false }: ResponseTraits = {}
): Record<string, JsonSchema.JsonSchema> => {
  const names = [
    ...commonHeaders,
    ...isLimited ? rateLimitHeaders : [],
    ...retryStatuses.has(status) ? ["Retry-After"] : [],
    ...status === 401 ? ["WWW-Authenticate"] : [],
    ...isReplayable && status < 300 ? ["Idempotent-Replayed"] : [],
    ...isConditional && status < 400 ? ["ETag"] : []
  ]
  return {
    ...Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    // Only a call that is still under way says how long to wait.
    ...status === 409 ? { "Retry-After": { $ref: "#/components/headers/RetryAfterSometimes" } } : {}
  }
}

const code = {
  type: "string",
  description: "One of the codes of /docs/errors. New ones may be added in any version.",
  examples: errorCodes.slice(0, 1)
}

/** The schema of a body that has an identifier, with what `code` is. */
const bodyOf = (schema: Schema.Top, description: string): JsonSchema.JsonSchema => {
  const [body = {}] = Object.values(Schema.toJsonSchemaDocument(schema).definitions)
  const { error, ...rest } = body["properties"] as Record<string, JsonSchema.JsonSchema>
  const properties = "code" in rest
    ? { error, ...rest, code }
    : { ...rest, error: { ...error, properties: { ...error?.["properties"] as object, code } } }
  return { ...body, properties, description }
}

/** What each credential is, by the name of its scheme. */
export const schemeDescriptions: Readonly<Record<string, string>> = {
  apiKey: "An API key, `mk_…` of merchant scope or `ck_…` of commerce scope. For your server only.",
  commerceKey: "A commerce key under its old name; `x-api-key` is preferred.",
  adminToken: "The operator's credential: `admin.token` of the config. It is no merchant's, and no scraper's.",
  bearer: "The access token of a wallet's sign-in.",
  sessionToken: "The session of one invoice, from its creation; sent with its signature.",
  signature: "The signature of that session."
}

/** The two error bodies, for `components.schemas`. */
export const errorSchemas = {
  FlatError: bodyOf(FlatErrorBody, "Errors of tokens, wallets, invoices, payment pages and merchant settings."),
  WrappedError: bodyOf(WrappedErrorBody, "Errors of everything else.")
}

/** What a query parameter means where its schema does not say. */
export const queryDescriptions: Readonly<Record<string, string>> = {
  environment: "`devnet` or `mainnet`. Absent: the one your key belongs to.",
  limit: "Objects on a page.",
  offset: "Objects to pass over.",
  page: "Number of the page, from 1. Not together with a cursor.",
  starting_after: "Id of the last object of the page before: what is older follows.",
  ending_before: "Id of the first object of a page: what is newer follows.",
  created_gte: "Created at this time or after it, in epoch seconds.",
  created_lte: "Created at this time or before it, in epoch seconds.",
  created_from: "Created at this time or after it: epoch seconds, or ISO 8601 with a zone.",
  created_to: "Created at this time or before it: epoch seconds, or ISO 8601 with a zone.",
  "created[gte]": "Created at this time or after it, in epoch seconds.",
  "created[lte]": "Created at this time or before it, in epoch seconds.",
  customer_id: "Your own id of the customer.",
  invoice_id: "Id of an invoice.",
  order_id: "Id of a commerce order.",
  type: "At most 20 event types, comma-separated; each exact, `prefix.*` or `*`.",
  status: "States, comma-separated; `all` does not filter.",
  invoice_type: "`standard` or `commerce`.",
  network: "One network.",
  wallet: "The customer's wallet.",
  wallet_network: "The network of that wallet.",
  retailer: "Whose goods they are.",
  payer_wallet_address: "The wallet that paid last.",
  payer_wallet_network: "The network that was paid on last.",
  expand: "What to add to each object, comma-separated.",
  token_id: "One token, by its id in the token list.",
  mode: "`monitored`: what can be paid in now; `all`: every token; `network`: those of `network`.",
  available_only: "`true` leaves out what cannot be paid in right now.",
  search: "Part of a token's symbol, name or address; case does not matter.",
  token_type: "One kind of token.",
  blocked: "Only tokens that are, or are not, blocked; counts under the `selective` policy.",
  is_active: "Only tokens that are, or are not, active.",
  supports_stable_settlement: "Only tokens that can, or cannot, settle in a stablecoin."
}

/** The same for the operator API, where no key says which merchant and environment are meant. */
export const operatorQueryDescriptions: Readonly<Record<string, string>> = {
  ...queryDescriptions,
  environment: "`devnet` or `mainnet`. Absent: every one that this deployment serves.",
  starting_after: "Id of the last object of the page before: what follows it in the list.",
  merchant_id: "One merchant, by its id. Absent: all of them, or what is of none.",
  is_enabled: "Only what new payments may, or may not, use."
}

/** What a path parameter means. */
export const pathDescriptions: Readonly<Record<string, string>> = {
  id: "Id of the object.",
  eventId: "Event id, `evt_<ms>-<seq>`.",
  customer_id: "Your own id of the customer.",
  payment_id: "Id of an invoice payment.",
  quote_id: "Id of a quote, `quo_…`.",
  delivery_id: "Id of a delivery, `whd_…`.",
  order_id: "Id of a commerce order.",
  network: "One network.",
  tokenId: "Id of a token.",
  token_id: "Id of a token.",
  invoice_id: "Id of an invoice.",
  family: "Networks with the same addresses: `evm`, `solana`, `ton`, `sui` or `cardano`."
}
