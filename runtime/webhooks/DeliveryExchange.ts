/**
 * What an instance asks of the queue in the database all the time: which endpoints wait, and, in one call, to write the
 * results of finished deliveries and to claim the next ones. Bookkeeping only, so it does not go through commits.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { eventIdOf } from "../../schemas/Ids.ts"
import { eventText, type StoredEvent } from "../../schemas/Event.ts"
import type { Environment } from "../../schemas/Network.ts"
import { arrayText } from "../commit/RowValues.ts"
import { timeWidths } from "../Rollups.ts"
import { attemptsSum } from "../Webhooks.ts"
import { disableAfterMillis, windowMillis } from "./CircuitBreaker.ts"
import {
  type ClaimedDelivery,
  type ClaimedEndpoint,
  type DeliveryResult,
  type EndpointKey,
  type EndpointLease,
  type EndpointReport,
  type HealthRow,
  leaseSeconds,
  maximumHeldPerEndpoint,
  maximumPerEndpoint,
  reportOf,
  slowMillis
} from "./DeliveryRepo.ts"
import { allTime, type DueSpan } from "./DueSpan.ts"
import type { FreeSlots } from "./Places.ts"

/** An endpoint to claim of, with the ids of its rows that the instance holds already. */
export interface WantedEndpoint extends EndpointKey {
  readonly held: ReadonlyArray<string>
  /** An attempt of it is taking long, of which the database does not know before its result is written. */
  readonly isSlow: boolean
}

/** What to claim for the instance `holder`. */
export interface ClaimRequest {
  readonly holder: string
  /** Of no others; in this order. */
  readonly endpoints: ReadonlyArray<WantedEndpoint>
  readonly free: FreeSlots
  /** Absent: whenever a delivery was made. */
  readonly span?: DueSpan
}

export interface ExchangeRequest {
  readonly results: ReadonlyArray<DeliveryResult>
  /** Leases to release with them, unless one was claimed of again meanwhile, or its health has to be updated. */
  readonly released: ReadonlyArray<EndpointLease>
  /** Undefined: nothing is claimed. */
  readonly claim: ClaimRequest | undefined
}

export interface ExchangeAnswer {
  /** Endpoints whose health has to be updated: nothing is claimed of them. */
  readonly reports: ReadonlyArray<EndpointReport>
  readonly deliveries: ReadonlyArray<ClaimedDelivery>
}

const noSlots: FreeSlots = { slots: 0, otherSlots: 0, failingSlots: 0 }

interface DeliveryRow {
  readonly id: string
  readonly created: string
  readonly attempt: number
  readonly age_ms: number
  readonly event_ms: bigint
  readonly event_seq: bigint
  readonly environment: Environment
  readonly commerce: boolean
  readonly type: string
  readonly request_id: string | null
  readonly idempotency_key: string | null
  readonly pending_webhooks: number
  readonly data: string
}

interface EndpointColumns extends Omit<ClaimedEndpoint, "token" | "claims"> {
  readonly token: string
  readonly claims: string
  readonly apiVersion: string
}

/** Columns that are null in a row of another kind. */
type Nulls<Row> = { readonly [Column in keyof Row]: null }

/** A delivery; or with only `lane`, what those before it have in common; or with only `report`, one of the reports. */
type ExchangeRow =
  | DeliveryRow & { readonly lane: null; readonly report: null }
  | Nulls<DeliveryRow> & { readonly lane: EndpointColumns; readonly report: null }
  | Nulls<DeliveryRow> & { readonly lane: null; readonly report: HealthRow }

const deliveryOf = (row: DeliveryRow, endpoint: ClaimedEndpoint, apiVersion: string): ClaimedDelivery => {
  const event: StoredEvent = {
    id: eventIdOf({ ms: row.event_ms, seq: row.event_seq }),
    type: row.type,
    environment: row.environment,
    created: Number(row.event_ms / 1000n),
    requestId: row.request_id,
    idempotencyKey: row.idempotency_key,
    data: row.data
  }
  return {
    id: row.id,
    createdAt: row.created,
    endpoint,
    attempts: row.attempt,
    ageMillis: row.age_ms,
    event,
    commerce: row.commerce,
    body: endpoint.format === null ? eventText(event, row.pending_webhooks, apiVersion) : row.data
  }
}

const answerOf = (rows: ReadonlyArray<ExchangeRow>): ExchangeAnswer => {
  const reports: Array<EndpointReport> = []
  const deliveries: Array<ClaimedDelivery> = []
  let ofEndpoint: Array<DeliveryRow> = []
  for (const row of rows) {
    if (row.report !== null) reports.push(reportOf(row.report))
    else if (row.lane === null) ofEndpoint.push(row)
    else {
      const { apiVersion, claims, token, ...columns } = row.lane
      const endpoint: ClaimedEndpoint = { ...columns, token: BigInt(token), claims: BigInt(claims) }
      for (const each of ofEndpoint) deliveries.push(deliveryOf(each, endpoint, apiVersion))
      ofEndpoint = []
    }
  }
  return { reports, deliveries }
}

/** The leases that results were sent under, and those to release, each as the endpoint's row must still have it. */
const leasesOf = (results: ReadonlyArray<DeliveryResult>, released: ReadonlyArray<EndpointLease>) => {
  const places = new Map<ClaimedEndpoint, number>()
  for (const { delivery: { endpoint } } of results) {
    if (!places.has(endpoint)) places.set(endpoint, places.size + 1)
  }
  return {
    leases: [
      ...Array.from(places.keys(), (endpoint) => ({ ...endpoint, claims: null })),
      ...released
    ],
    placeOf: ({ delivery }: DeliveryResult): number => places.get(delivery.endpoint)!
  }
}

/**
 * Writes results of rows whose lease still has the token of their claim, with an attempt for each they spent; results
 * whose lease was lost are dropped silently. Then claims, in the same transaction.
 */
export const exchange = ({ claim, released, results }: ExchangeRequest): Effect.Effect<
  ExchangeAnswer,
  SqlError.SqlError,
  SqlClient.SqlClient
> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { leases, placeOf } = leasesOf(results, released)
    const wanted = claim?.endpoints ?? []
    const free = claim?.free ?? noSlots
    const span = claim?.span ?? allTime
    const rows = yield* sql<ExchangeRow>`
      SELECT * FROM webhook_exchange_v2(${results.length > 0},
        ${leases.map(({ merchantId }) => merchantId)}::integer[], ${leases.map(({ endpointId }) => endpointId)}::text[],
        ${leases.map(({ token }) => token)}::bigint[], ${arrayText(leases.map(({ claims }) => claims))}::bigint[],
        ${results.map(placeOf)}::integer[], ${results.map(({ delivery }) => delivery.id)}::uuid[],
        ${results.map(({ delivery }) => delivery.createdAt)}::timestamptz[],
        ${results.map(({ status }) => status)}::text[], ${results.map(({ attempts }) => attempts)}::integer[],
        ${arrayText(results.map(({ dueInMillis }) => dueInMillis))}::bigint[],
        ${arrayText(results.map(({ outcome }) => outcome))}::text[], ${
      arrayText(results.map(({ answerStatus }) => answerStatus))
    }::integer[],
        ${arrayText(results.map(({ error }) => error))}::text[], ${
      results.map(({ latencyMillis }) => latencyMillis)
    }::integer[],
        ${arrayText(results.map(({ response }) => response))}::text[],
        ${results.map(({ delivery }) => delivery.event.environment)}::text[],
        ${results.map(({ delivery }) => delivery.commerce)}::boolean[], ${attemptsSum}, ${[...timeWidths]}::integer[],
        ${windowMillis}::float8 * interval '1 millisecond', ${disableAfterMillis}::float8 * interval '1 millisecond',
        ${slowMillis}::integer, ${claim !== undefined}, ${claim?.holder ?? ""}, ${
      wanted.map(({ merchantId }) => merchantId)
    }::integer[],
        ${wanted.map(({ endpointId }) => endpointId)}::text[], ${wanted.map(({ held }) => held.length)}::integer[],
        ${wanted.flatMap(({ held }) => held)}::uuid[], ${wanted.map(({ isSlow }) => isSlow)}::boolean[],
        ${free.slots}::integer, ${free.otherSlots}::integer, ${free.failingSlots}::integer,
        ${maximumHeldPerEndpoint}::integer, ${maximumPerEndpoint}::integer, ${leaseSeconds}::integer * interval '1 second',
        ${span.from}::timestamptz, ${span.to}::timestamptz)`
    return answerOf(rows)
  })

/** Endpoints to look at for rows that are due. */
export interface WaitingQuery {
  readonly holder: string
  /** Theirs; null: a page of all endpoints that have something waiting. */
  readonly merchants: ReadonlyArray<number> | null
  /** Where the page begins: behind this endpoint; null: at the first. */
  readonly after: EndpointKey | null
  readonly free: FreeSlots
  /** Endpoints that can take nothing now. */
  readonly full: ReadonlyArray<string>
  /** Absent: whenever a delivery was made. */
  readonly span?: DueSpan
}

/** Endpoints with something waiting that one look passes: it costs no more than that, however many there are. */
export const waitingPage = 1_000

/** Endpoints that could be claimed of now, those that wait longest first, and where the next page begins, if any. */
export interface WaitingEndpoints {
  readonly endpoints: ReadonlyArray<EndpointKey>
  readonly next: EndpointKey | null
}

/** Which endpoints wait for a claim: of some merchants, or a page of all. */
export const findWaiting = (query: WaitingQuery): Effect.Effect<
  WaitingEndpoints,
  SqlError.SqlError,
  SqlClient.SqlClient
> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const merchants = query.merchants === null ? null : [...query.merchants]
    const { from, to } = query.span ?? allTime
    const rows = yield* sql<{
      readonly merchant_id: number
      readonly endpoint_id: string
      readonly claimable: boolean
      readonly page_end: boolean
    }>`
      SELECT * FROM webhook_waiting_v2(${query.holder}, ${leaseSeconds}::integer * interval '1 second',
        ${merchants}::integer[], ${query.after?.merchantId ?? -1}::integer, ${query.after?.endpointId ?? ""},
        ${waitingPage}::integer, ${query.free.slots}::integer, ${query.free.otherSlots}::integer,
        ${query.free.failingSlots}::integer, ${[...query.full]}::text[], ${from}::timestamptz, ${to}::timestamptz)`
    const keyOf = (row: (typeof rows)[number]): EndpointKey => ({
      merchantId: row.merchant_id,
      endpointId: row.endpoint_id
    })
    const end = rows.find(({ page_end }) => page_end)
    return {
      endpoints: rows.filter(({ claimable }) => claimable).map(keyOf),
      next: end === undefined ? null : keyOf(end)
    }
  })
