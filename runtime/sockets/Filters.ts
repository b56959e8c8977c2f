/** What a merchant's stream shows: the parameters of its address, read, and the rule for one event. Pure. */
import type { CommittedEvent } from "../Commit.ts"
import type { EventType } from "../../schemas/Event.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import { type EventPosition, readEventId } from "../../schemas/Ids.ts"
import { InvoiceType } from "../../schemas/Invoice.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { anyType, filtersMatching, hiddenTypes, readEventFilters } from "../../schemas/Webhook.ts"

/** The streams of merchants (modules/docs/reference/websockets.md#streams). */
export type EventStreamName = "merchant" | "commerce"

/** Characters of an id or address in a filter, at most: more than any has. */
const maximumLength = 256

/** What a stream is asked for. Null does not filter; all that are there must hold. */
export interface StreamFilters {
  readonly types: ReadonlyArray<string> | null
  readonly invoiceId: string | null
  readonly invoiceType: typeof InvoiceType.Type | null
  readonly customerId: string | null
  readonly orderId: string | null
  readonly walletAddress: string | null
  readonly walletNetwork: Network | null
}

/** The parameters of a stream's address. */
export interface StreamQuery {
  readonly filters: StreamFilters
  /** Null: the credential's own. */
  readonly environment: Environment | null
  /** The last event the client has, as it wrote it; null: from now on. */
  readonly since: { readonly id: string; readonly position: EventPosition } | null
}

/** Where secrets that last would stand in logs and histories: refused, whatever they are. */
const secretParameters = ["x-api-key", "x-commerce-api-key", "api_key", "access_token", "authorization"]

const commonParameters = [
  "format",
  "token",
  "types",
  "invoice_id",
  "invoice_type",
  "customer_id",
  "environment",
  "since"
]
const commerceParameters = ["order_id", "wallet_address", "wallet_network"]

/** A problem with the parameters as a whole, before any is read. */
const objectionTo = (stream: EventStreamName, query: URLSearchParams): PublicError | undefined => {
  if (secretParameters.some((name) => query.has(name))) {
    return publicError("UNAUTHORIZED", {
      message: "A key never belongs in an address: send x-api-key, or a `token` made for this"
    })
  }
  const twice = [...commonParameters, ...commerceParameters].find((name) => query.getAll(name).length > 1)
  if (twice !== undefined) return publicError("VALIDATION_ERROR", { message: `${twice}: Send it once`, param: twice })
  const elsewhere = stream === "merchant" ? commerceParameters.find((name) => query.has(name)) : undefined
  return elsewhere === undefined ? undefined : publicError("VALIDATION_ERROR", {
    message: `${elsewhere}: A filter of /ws/commerce/events only`,
    param: elsewhere
  })
}

const readText = (query: URLSearchParams, param: string): string | null | PublicError => {
  const value = query.get(param)
  return value === null || value.length > 0 && value.length <= maximumLength
    ? value
    : invalidParameter(param, `text of 1 to ${maximumLength} characters`)
}

const readOneOf = <A extends string>(
  query: URLSearchParams,
  param: string,
  literals: ReadonlyArray<A>
): A | null | PublicError => {
  const value = query.get(param)
  if (value === null) return null
  return literals.find((literal) => literal === value) ?? invalidParameter(param, literals.join(" or "))
}

/**
 * Reads the parameters of a stream's address, or tells the first thing wrong with them: `INVALID_FORMAT`,
 * `INVALID_EVENT_TYPE`, `INVALID_ENVIRONMENT`, `INVALID_EVENT_ID`, `VALIDATION_ERROR`; `UNAUTHORIZED` for a key in the
 * address. Parameters nobody knows are ignored.
 */
export const readStreamQuery = (stream: EventStreamName, query: URLSearchParams): StreamQuery | PublicError => {
  const objection = objectionTo(stream, query)
  if (objection !== undefined) return objection
  if ((query.get("format") ?? "event_v1") !== "event_v1") return publicError("INVALID_FORMAT", { param: "format" })
  const typesText = query.get("types")
  const types = typesText === null ? null : readEventFilters(typesText)
  if (typesText !== null && types === null) {
    return invalidParameter("types", "at most 20 event types, each exact, `prefix.*` or `*`", "INVALID_EVENT_TYPE")
  }
  const environment = readOneOf(query, "environment", Environment.literals)
  if (isPublicError(environment)) return publicError("INVALID_ENVIRONMENT", { param: "environment" })
  const since = query.get("since")
  const position = since === null ? null : readEventId(since)
  if (position === undefined) return publicError("INVALID_EVENT_ID", { param: "since" })
  const invoiceId = readText(query, "invoice_id")
  if (isPublicError(invoiceId)) return invoiceId
  const invoiceType = readOneOf(query, "invoice_type", InvoiceType.literals)
  if (isPublicError(invoiceType)) return invoiceType
  const customerId = readText(query, "customer_id")
  if (isPublicError(customerId)) return customerId
  const orderId = readText(query, "order_id")
  if (isPublicError(orderId)) return orderId
  const walletAddress = readText(query, "wallet_address")
  if (isPublicError(walletAddress)) return walletAddress
  const walletNetwork = readOneOf(query, "wallet_network", Network.literals)
  if (isPublicError(walletNetwork)) return walletNetwork
  return {
    filters: { types, invoiceId, invoiceType, customerId, orderId, walletAddress, walletNetwork },
    environment,
    since: since === null || position === null ? null : { id: since, position }
  }
}

/**
 * Types that a stream never carries, whatever it is asked for: orders are on the commerce stream only, pings go to
 * their endpoint, and quotes are the payor's. The commerce stream carries whatever is told of commerce invoices.
 */
const isCarried = (stream: EventStreamName, type: string): boolean =>
  stream === "commerce" || (!type.startsWith("commerce.") && type !== "test.ping")

/** Hexadecimal addresses differ in case only as a checksum. */
const isSameAddress = (a: string, b: unknown): boolean =>
  a === b || typeof b === "string" && /^0x/i.test(a) && a.toLowerCase() === b.toLowerCase()

/** An event as filters see it: what takes work is made once, when the first filter asks. */
export interface FilterInput {
  readonly event: CommittedEvent
  /** Every type filter that selects it. */
  readonly matchingFilters: ReadonlyArray<string>
  /** The object it carries. */
  readonly object: () => Readonly<Record<string, unknown>>
}

export const filterInputOf = (event: CommittedEvent): FilterInput => {
  let object: Readonly<Record<string, unknown>> | undefined
  return {
    event,
    matchingFilters: filtersMatching(event.type),
    object: () => object ??= JSON.parse(event.data).object as Readonly<Record<string, unknown>>
  }
}

/** Whether the payer's wallet, or the order's, is the one that is asked for. */
const hasWallet = (
  { walletAddress, walletNetwork }: StreamFilters,
  object: Readonly<Record<string, unknown>>
): boolean => {
  const address = object["payer_wallet_address"] ?? object["wallet_address"]
  const network = object["payer_wallet_network"] ?? object["wallet_network"]
  return (walletAddress === null || isSameAddress(walletAddress, address)) &&
    (walletNetwork === null || network === walletNetwork)
}

/** What an absent filter of types selects; the opt-in types are not of it. */
export const absentTypes: ReadonlyArray<string> = [anyType]

/** Opt-in types that a stream with these filters does not name. */
export const hiddenTypesOf = ({ types }: StreamFilters): ReadonlyArray<EventType> => hiddenTypes(types ?? absentTypes)

/** Whether a stream in `environment` with these filters shows an event of its merchant. Total. */
export const isShown = (
  stream: EventStreamName,
  environment: Environment,
  filters: StreamFilters,
  { event, object, matchingFilters }: FilterInput
): boolean =>
  event.environment === environment &&
  (stream === "merchant" || event.commerce) &&
  isCarried(stream, event.type) &&
  (filters.types ?? absentTypes).some((filter) => matchingFilters.includes(filter)) &&
  (filters.invoiceId === null || event.invoiceId === filters.invoiceId) &&
  (filters.customerId === null || event.customerId === filters.customerId) &&
  (filters.orderId === null || event.orderId === filters.orderId) &&
  (filters.invoiceType === null || object()["invoice_type"] === filters.invoiceType) &&
  (filters.walletAddress === null && filters.walletNetwork === null || hasWallet(filters, object()))
