/** What a list of events is asked for: parameters read, refused, and turned into one query. Pure. */
import type { Principal } from "../../schemas/Auth.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { deliveredTypes, type EventType, optInTypes } from "../../schemas/Event.ts"
import { invalidParameter, momentInWords } from "../../schemas/InvalidInput.ts"
import { type EventPosition, readEventId } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import { readTime } from "../../schemas/Time.ts"
import { anyType, hiddenTypes, readEventFilters, selects } from "../../schemas/Webhook.ts"

/** Events on a page (modules/docs/reference/events.md#list). */
export const pageLimits = { minimum: 1, maximum: 100, default: 10 } as const

/** The parameters as they were sent, each at most once. */
export interface EventsQuery {
  readonly type?: string
  readonly "created[gte]"?: string
  readonly "created[lte]"?: string
  readonly limit?: number
  readonly starting_after?: string
  readonly ending_before?: string
  readonly invoice_id?: string
  readonly order_id?: string
  readonly customer_id?: string
  readonly environment?: Environment
}

/** One page to read. Absent filters do not filter; all that are there must hold. */
export interface EventsPage {
  readonly merchantId: number
  readonly commerceOnly: boolean
  readonly environment: Environment | undefined
  /** Undefined: all but the opt-in ones. */
  readonly types: ReadonlyArray<EventType> | undefined
  /** Epoch milliseconds, from inclusive, to exclusive. */
  readonly fromMillis: bigint | undefined
  readonly toMillis: bigint | undefined
  readonly invoiceId: string | undefined
  readonly orderId: string | undefined
  readonly customerId: string | undefined
  readonly direction: "older" | "newer"
  readonly cursor: EventPosition | undefined
  readonly limit: number
}

/**
 * The types that `type` selects; undefined: all but the opt-in ones, null: it is malformed. Names nobody knows select
 * nothing.
 */
export const readTypes = (type: string | undefined): ReadonlyArray<EventType> | undefined | null => {
  if (type === undefined) return undefined
  const filters = readEventFilters(type)
  if (filters === null) return null
  const isDefault = filters.includes(anyType) && hiddenTypes(filters).length === optInTypes.length
  return isDefault ? undefined : deliveredTypes.filter((each) => selects(filters, each))
}

/** `created` is whole seconds, so a bound between two seconds means the next one inwards. */
const readBound = (text: string | undefined, param: string, round: (seconds: number) => number) => {
  if (text === undefined) return undefined
  const seconds = readTime(text)
  return seconds === undefined ? invalidParameter(param, momentInWords) : BigInt(round(seconds))
}

/** A key of commerce scope sees its own environment; a merchant key sees both unless it names one. */
const readEnvironment = ({ scope, environment: own }: Principal, requested: Environment | undefined) => {
  if (scope === "merchant") return requested
  return requested === undefined || requested === own ? own : publicError("ENVIRONMENT_FORBIDDEN")
}

const readCursor = ({ starting_after: after, ending_before: before }: EventsQuery) => {
  if (after === undefined && before === undefined) return { direction: "older", cursor: undefined } as const
  if (after !== undefined && before !== undefined) {
    return publicError("INVALID_CURSOR", {
      message: "Send starting_after or ending_before, not both",
      param: "ending_before"
    })
  }
  const cursor = readEventId(after ?? before ?? "")
  const param = after === undefined ? "ending_before" : "starting_after"
  if (cursor === undefined) {
    return invalidParameter(param, "the id of an event, like evt_1766320496123-8841", "INVALID_CURSOR")
  }
  return { direction: after === undefined ? "newer" : "older", cursor } as const
}

/** The page a caller asks for, or the first thing wrong with the question. */
export const readPage = (principal: Principal, query: EventsQuery): EventsPage | PublicError => {
  const types = readTypes(query.type)
  if (types === null) return publicError("INVALID_EVENT_TYPE", { param: "type" })
  const position = readCursor(query)
  if (isPublicError(position)) return position
  const from = readBound(query["created[gte]"], "created[gte]", Math.ceil)
  if (isPublicError(from)) return from
  const to = readBound(query["created[lte]"], "created[lte]", Math.floor)
  if (isPublicError(to)) return to
  const environment = readEnvironment(principal, query.environment)
  if (isPublicError(environment)) return environment
  return {
    ...position,
    merchantId: principal.merchantId,
    commerceOnly: principal.scope === "commerce",
    environment,
    types,
    fromMillis: from === undefined ? undefined : from * 1000n,
    toMillis: to === undefined ? undefined : (to + 1n) * 1000n,
    invoiceId: query.invoice_id,
    orderId: query.order_id,
    customerId: query.customer_id,
    limit: query.limit ?? pageLimits.default
  }
}
