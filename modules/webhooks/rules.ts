/**
 * Rules of webhook endpoints and their deliveries: who may make and manage which, what they may listen to, and what a
 * list or a replay of deliveries asks for. Pure.
 */
import type { Principal } from "../../schemas/Auth.ts"
import { deliveredTypes, eventTypes } from "../../schemas/Event.ts"
import { type ErrorCode, isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import { compareEventPositions, type EventPosition, readEventId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { findVersion, versions } from "../../schemas/Version.ts"
import {
  anyType,
  type DeliveryStatus,
  isEventFilter,
  maximumEndpoints,
  maximumListed,
  readEventFilters,
  selects
} from "../../schemas/Webhook.ts"
import { objectionToRedirecting, objectionToSending } from "./rules/EventRights.ts"

/** What a caller asks for, types checked and nothing else. */
export interface EndpointRequest {
  readonly url: string
  readonly enabledEvents: ReadonlyArray<string>
  /** Undefined: not sent. */
  readonly environment: string | null | undefined
  readonly description: string | null
  readonly ordered: boolean
  /** The version its deliveries are told in, for good. */
  readonly apiVersion: string
}

/** An endpoint as decided; the actor adds id, secret and time. */
export interface NewEndpoint {
  readonly url: string
  /** Null hears of both. */
  readonly environment: Environment | null
  readonly commerceOnly: boolean
  readonly filters: ReadonlyArray<string>
  readonly ordered: boolean
  readonly apiVersion: string
  readonly description: string | null
}

/** What the rules look at of an endpoint that is there. Times are epoch seconds. */
export interface EndpointState extends NewEndpoint {
  readonly merchantId: number
  readonly version: number
  readonly status: "enabled" | "disabled" | "deleted"
  readonly sealedSecret: string
  readonly sealedPreviousSecret: string | null
  readonly previousSecretExpiresAt: number | null
  readonly disabledReason: string | null
  readonly updatedAt: number
}

/** What an endpoint may listen to (modules/docs/reference/webhooks.md#filters). */
export const endpointFilters: ReadonlySet<string> = new Set([
  "*",
  "invoice.*",
  "invoice_payment.*",
  "commerce.order.*",
  "commerce.*",
  "exception.*",
  "balance_transaction.*",
  ...deliveredTypes
])

const refuse = (code: ErrorCode, param: string, message?: string): PublicError =>
  publicError(code, { param, ...(message === undefined ? {} : { message }) })

/**
 * The environment of an endpoint. A key's is its own, also where null was sent; a wallet may name another one of
 * `servedEnvironments`, or null for both.
 */
const environmentOf = (
  { environment: own, kind }: Principal,
  requested: string | null,
  servedEnvironments: ReadonlyArray<Environment>
): Environment | null | PublicError => {
  if (requested === null) return kind === "wallet" ? null : own
  const environment = Environment.literals.find((environment) => environment === requested)
  if (environment === undefined) return refuse("INVALID_ENVIRONMENT", "environment")
  if (environment === own) return own
  if (kind === "key") return refuse("ENVIRONMENT_FORBIDDEN", "environment")
  if (servedEnvironments.includes(environment)) return environment
  return refuse(environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED", "environment")
}

const filtersOf = (enabledEvents: ReadonlyArray<string>): ReadonlyArray<string> | PublicError => {
  const unknown = enabledEvents.findIndex((filter) => !endpointFilters.has(filter))
  return unknown === -1
    ? [...new Set(enabledEvents)]
    : invalidParameter(`enabled_events.${unknown}`, "an event type, a `prefix.*` of one, or `*`")
}

const objectionToVersion = (version: string): PublicError | undefined =>
  findVersion(version) === undefined
    ? refuse(
      "INVALID_VERSION",
      "api_version",
      `api_version: The versions are ${versions.map((each) => each.version).join(", ")}`
    )
    : undefined

/** An endpoint keeps its version, because its receiver was written for it; sending the same one is no change. */
const objectionToOtherVersion = (requested: string | undefined, own: string): PublicError | undefined =>
  requested === undefined || requested === own
    ? undefined
    : objectionToVersion(requested) ?? refuse(
      "VALIDATION_ERROR",
      "api_version",
      `api_version: This endpoint stays with ${own}: make another endpoint for ${requested}, and delete this one once that is in use`
    )

/**
 * What `principal` gets for `request`, or why not. An endpoint made by a key has the key's environment; one made by a
 * commerce key hears of commerce only (modules/docs/reference/webhooks.md#who-manages-an-endpoint). Total.
 */
export const decideEndpoint = (
  principal: Principal,
  request: EndpointRequest,
  servedEnvironments: ReadonlyArray<Environment>
): NewEndpoint | PublicError => {
  const requested = request.environment === undefined ? principal.environment : request.environment
  const environment = environmentOf(principal, requested, servedEnvironments)
  if (isPublicError(environment)) return environment
  const filters = filtersOf(request.enabledEvents)
  if (isPublicError(filters)) return filters
  const objection = objectionToSending(principal, filters, environment) ?? objectionToVersion(request.apiVersion)
  if (objection !== undefined) return objection
  return {
    url: request.url,
    environment,
    commerceOnly: principal.scope === "commerce",
    filters,
    ordered: request.ordered,
    apiVersion: request.apiVersion,
    description: request.description
  }
}

/** What the actor adds to a decided endpoint. */
export interface EndpointIdentity {
  readonly id: string
  readonly merchantId: number
  readonly sealedSecret: string
}

/** An endpoint as it begins. `now` is epoch seconds. */
export const initialEndpoint = (decided: NewEndpoint, identity: EndpointIdentity, now: number) => ({
  ...decided,
  ...identity,
  version: 1,
  status: "enabled" as const,
  format: null,
  isSingleAttempt: false,
  sealedPreviousSecret: null,
  previousSecretExpiresAt: null,
  consecutiveFailures: 0,
  disabledReason: null,
  createdAt: now,
  updatedAt: now
})

/** Whether a merchant that has `endpoints` may have one more. */
export const mayAdd = (endpoints: number): boolean => endpoints < maximumEndpoints

/**
 * Whether a caller may see and change an endpoint: of its own merchant; a key only those of its environment, a commerce
 * key only those that commerce keys made. A wallet manages all of them
 * (modules/docs/reference/webhooks.md#who-manages-an-endpoint).
 */
export const manages = (
  { environment, kind, merchantId, scope }: Principal,
  endpoint: Pick<EndpointState, "commerceOnly" | "environment" | "merchantId" | "status">
): boolean =>
  endpoint.status !== "deleted" && endpoint.merchantId === merchantId
  && (scope === "merchant" || endpoint.commerceOnly)
  && (kind === "wallet" || endpoint.environment === environment)

/** Why a caller may not list the endpoints of an environment, if so: a key has only its own. */
export const objectionToListing = (
  { environment: own, kind }: Principal,
  environment: Environment | undefined
): PublicError | undefined =>
  environment !== undefined && kind === "key" && environment !== own
    ? refuse("ENVIRONMENT_FORBIDDEN", "environment")
    : undefined

/** Whether a list of an environment shows an endpoint to a caller; undefined: a list of all. */
export const isListed = (
  principal: Principal,
  endpoint: Pick<EndpointState, "commerceOnly" | "environment" | "merchantId" | "status">,
  environment: Environment | undefined
): boolean =>
  manages(principal, endpoint)
  && (environment === undefined || endpoint.environment === null || endpoint.environment === environment)

/** What is asked to be different of an endpoint; a field that is not there stays. */
export interface EndpointChange {
  readonly url?: string
  readonly enabledEvents?: ReadonlyArray<string>
  readonly environment?: string | null
  readonly description?: string | null
  readonly status?: "enabled" | "disabled"
  readonly ordered?: boolean
  /** Only the endpoint's own. */
  readonly apiVersion?: string
}

/** Why an endpoint is disabled where its owner did it; other reasons are the deliverer's. */
export const disabledByMerchant = "merchant"

/**
 * An endpoint with the next version, as of `now`. A secret whose overlap has ended is forgotten with the next change.
 */
const withChange = <E extends EndpointState>(endpoint: E, now: number, to: Partial<EndpointState>): E => {
  const isOverlapEnded = endpoint.previousSecretExpiresAt !== null && endpoint.previousSecretExpiresAt <= now
  return {
    ...endpoint,
    ...(isOverlapEnded ? { sealedPreviousSecret: null, previousSecretExpiresAt: null } : {}),
    ...to,
    version: endpoint.version + 1,
    updatedAt: now
  }
}

const statusChange = (endpoint: EndpointState, requested: EndpointChange["status"]): Partial<EndpointState> => {
  if (requested === undefined || requested === endpoint.status) return {}
  return { status: requested, disabledReason: requested === "disabled" ? disabledByMerchant : null }
}

/** The endpoint with a change, or why not. `now` is epoch seconds. Total. */
export const changeEndpoint = <E extends EndpointState>(
  principal: Principal,
  endpoint: E,
  change: EndpointChange,
  servedEnvironments: ReadonlyArray<Environment>,
  now: number
): E | PublicError => {
  const environment = change.environment === undefined
    ? endpoint.environment
    : environmentOf(principal, change.environment, servedEnvironments)
  if (isPublicError(environment)) return environment
  const otherVersion = objectionToOtherVersion(change.apiVersion, endpoint.apiVersion)
  if (otherVersion !== undefined) return otherVersion
  const filters = change.enabledEvents === undefined ? endpoint.filters : filtersOf(change.enabledEvents)
  if (isPublicError(filters)) return filters
  const denied = objectionToRedirecting(principal, change, filters, environment)
  if (denied !== undefined) return denied
  return withChange(endpoint, now, {
    environment,
    filters,
    url: change.url ?? endpoint.url,
    description: change.description === undefined ? endpoint.description : change.description,
    ordered: change.ordered ?? endpoint.ordered,
    ...statusChange(endpoint, change.status)
  })
}

/**
 * Whether the address of an endpoint must be judged anew: it is another one, or may be reached for another environment.
 */
export const needsUrlCheck = (
  before: Pick<EndpointState, "environment" | "url">,
  after: Pick<EndpointState, "environment" | "url">
): boolean => before.url !== after.url || before.environment !== after.environment

/**
 * Whether what was observed of the receiver says nothing any more: the endpoint is switched on again, or is another
 * address. Its failures are forgotten then, and its deliveries do not wait.
 */
export const resetsHealth = (
  before: Pick<EndpointState, "status" | "url">,
  after: Pick<EndpointState, "status" | "url">
): boolean => after.status === "enabled" && (before.status !== "enabled" || before.url !== after.url)

/** A deleted endpoint: shown to nobody, its secrets forgotten. */
export const deleteEndpoint = <E extends EndpointState>(endpoint: E, now: number): E =>
  withChange(endpoint, now, {
    status: "deleted",
    sealedSecret: "",
    sealedPreviousSecret: null,
    previousSecretExpiresAt: null
  })

/**
 * Seconds for which deliveries carry the signature of the old secret too (modules/docs/reference/webhooks.md#secrets).
 */
export const maximumOverlapSeconds = 604_800
export const defaultOverlapSeconds = 86_400

/**
 * The endpoint with a new secret. The old one signs beside it while the overlap lasts; one that was older still is
 * forgotten, so there are never more than two.
 */
export const rotateSecret = <E extends EndpointState>(
  endpoint: E,
  sealedSecret: string,
  overlapSeconds: number,
  now: number
): E =>
  withChange(endpoint, now, {
    sealedSecret,
    sealedPreviousSecret: overlapSeconds === 0 ? null : endpoint.sealedSecret,
    previousSecretExpiresAt: overlapSeconds === 0 ? null : now + overlapSeconds
  })

/** The end of the previous secret's overlap while it is still to come, else null. */
export const overlapEnd = ({ previousSecretExpiresAt }: Pick<EndpointState, "previousSecretExpiresAt">, now: number) =>
  previousSecretExpiresAt !== null && previousSecretExpiresAt > now ? previousSecretExpiresAt : null

/**
 * The event types that filters select; undefined where they narrow nothing, null is malformed. They choose among what
 * the endpoint has asked for already, so here `*` has the opt-in types too.
 */
const typesOf = (
  filters: ReadonlyArray<string> | undefined | null,
  param: string
): ReadonlyArray<string> | undefined | PublicError => {
  if (filters === undefined) return undefined
  if (filters === null || filters.length > maximumListed || !filters.every(isEventFilter)) {
    return refuse("INVALID_EVENT_TYPE", param)
  }
  if (filters.includes(anyType)) return undefined
  return eventTypes.filter((type) => selects(filters, type))
}

const positionOf = (id: string | undefined, param: string): EventPosition | undefined | PublicError =>
  id === undefined ? undefined : readEventId(id) ?? refuse("INVALID_EVENT_ID", param)

const deliveryPattern = /^whd_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

/** The UUID in a delivery's id; undefined when malformed. */
export const deliveryUuid = (id: string): string | undefined => deliveryPattern.exec(id)?.[1]

/** Deliveries on a page (modules/docs/reference/pagination.md#lists). */
export const pageLimits = { minimum: 1, maximum: 100, default: 10 } as const

/** How a list of endpoints is paged, as it was sent. */
export interface EndpointsQuery {
  readonly limit?: number
  readonly starting_after?: string
  readonly ending_before?: string
}

/**
 * A page of `endpoints`, which are newest first, or why there is none. `hasMore` is of the direction that the page
 * goes: older, or newer with `ending_before`.
 */
export const pageOfEndpoints = <E extends { readonly id: string }>(
  endpoints: ReadonlyArray<E>,
  { ending_before: before, limit = pageLimits.default, starting_after: after }: EndpointsQuery
): { readonly page: ReadonlyArray<E>; readonly hasMore: boolean } | PublicError => {
  if (after !== undefined && before !== undefined) {
    return refuse("INVALID_CURSOR", "ending_before", "Send starting_after or ending_before, not both")
  }
  const cursor = (after ?? before)?.toLowerCase()
  const at = cursor === undefined ? -1 : endpoints.findIndex(({ id }) => id === cursor)
  if (cursor !== undefined && at === -1) {
    const param = after === undefined ? "ending_before" : "starting_after"
    return refuse("INVALID_CURSOR", param, `${param}: not the id of an endpoint of this list`)
  }
  const beyond = before === undefined ? endpoints.slice(at + 1) : endpoints.slice(0, at)
  const page = before === undefined ? beyond.slice(0, limit) : beyond.slice(-limit)
  return { page, hasMore: beyond.length > page.length }
}

/** The parameters of a list of deliveries as they were sent. */
export interface DeliveriesQuery {
  readonly status?: DeliveryStatus
  readonly event_id?: string
  readonly type?: string
  /** Epoch seconds. */
  readonly created_gte?: number
  readonly limit?: number
  readonly starting_after?: string
  readonly ending_before?: string
}

/** One page to read. Absent filters do not filter; all that are there must hold. */
export interface DeliveriesPage {
  readonly status: DeliveryStatus | undefined
  readonly event: EventPosition | undefined
  readonly types: ReadonlyArray<string> | undefined
  /** Epoch seconds. */
  readonly createdFrom: number | undefined
  readonly direction: "older" | "newer"
  /** The UUID of the delivery that the page lies beyond. */
  readonly cursor: string | undefined
  readonly limit: number
}

/** Which parameter holds the cursor of a query. */
export const cursorParam = ({ direction }: Pick<DeliveriesPage, "direction">): string =>
  direction === "older" ? "starting_after" : "ending_before"

const cursorOf = ({ ending_before: before, starting_after: after }: DeliveriesQuery) => {
  if (after !== undefined && before !== undefined) {
    return refuse("INVALID_CURSOR", "ending_before", "Send starting_after or ending_before, not both")
  }
  const direction = before === undefined ? "older" : "newer"
  const named = after ?? before
  if (named === undefined) return { direction, cursor: undefined } as const
  const cursor = deliveryUuid(named)
  const param = cursorParam({ direction })
  return cursor === undefined
    ? invalidParameter(param, "the id of a delivery, like whd_550e8400-e29b-41d4-a716-446655440000", "INVALID_CURSOR")
    : { direction, cursor } as const
}

/** The page a caller asks for, or the first thing wrong with the question. */
export const readPage = (query: DeliveriesQuery): DeliveriesPage | PublicError => {
  const types = typesOf(query.type === undefined ? undefined : readEventFilters(query.type), "type")
  if (isPublicError(types)) return types
  const event = positionOf(query.event_id, "event_id")
  if (isPublicError(event)) return event
  const cursor = cursorOf(query)
  if (isPublicError(cursor)) return cursor
  return {
    ...cursor,
    status: query.status,
    event,
    types,
    createdFrom: query.created_gte,
    limit: query.limit ?? pageLimits.default
  }
}

/** Deliveries that one replay queues, at most (modules/docs/reference/webhooks.md#replay). */
export const maximumReplayed = 10_000

/**
 * What one replay looks at, at most: deliveries that were given up, or events of the range. So a replay takes a
 * second at the longest, whatever a merchant's history is. What lies beyond is for the next call.
 */
export const maximumExamined = 100_000

/** A replay as it was asked for. Times are epoch seconds, inclusive. */
export interface ReplayRequest {
  readonly fromEventId: string | undefined
  readonly createdFrom: number | undefined
  readonly createdTo: number | undefined
  readonly types: ReadonlyArray<string> | undefined
  readonly onlyFailed: boolean
}

/** The events of a replay: from a position, inclusive, to a moment, exclusive. */
export interface ReplayRange {
  readonly from: EventPosition
  readonly beforeMillis: bigint
  /** Exact event types. */
  readonly types: ReadonlyArray<string>
  readonly onlyFailed: boolean
}

/** Later than any event: fifteen digits of milliseconds. */
const endOfTime = 1_000_000_000_000_000n

const latest = (a: EventPosition, b: EventPosition): EventPosition => compareEventPositions(a, b) > 0 ? a : b

/**
 * The events a replay is about, or what is wrong with the question. Where only what failed is asked for, an endpoint's
 * filters do not matter: it was sent once. Else every event counts that the endpoint listens to now.
 */
export const readReplay = (
  request: ReplayRequest,
  { filters }: Pick<EndpointState, "filters">
): ReplayRange | PublicError => {
  const position = positionOf(request.fromEventId, "from_event_id")
  if (isPublicError(position)) return position
  const requestedTypes = typesOf(request.types, "types")
  if (isPublicError(requestedTypes)) return requestedTypes
  const { createdFrom, createdTo, onlyFailed } = request
  if (createdFrom !== undefined && createdTo !== undefined && createdTo < createdFrom) {
    return invalidParameter("created_lte", "a time at or after created_gte")
  }
  const start: EventPosition = { ms: BigInt(createdFrom ?? 0) * 1000n, seq: 0n }
  return {
    from: position === undefined ? start : latest(position, start),
    beforeMillis: createdTo === undefined ? endOfTime : (BigInt(createdTo) + 1n) * 1000n,
    types: (requestedTypes ?? eventTypes).filter((type) => onlyFailed || selects(filters, type)),
    onlyFailed
  }
}

/**
 * Failing endpoints on one page: the default and the maximum. Each costs an operator's call up to 1,000 rows of an
 * index.
 */
export const defaultFailing = 20
export const maximumFailing = 100

/** Waiting deliveries of a failing endpoint that are counted: what is more makes no difference to who looks. */
export const maximumCounted = 1_000
