/** The only SQL of the events API: one query a page, in index order. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import {
  type AddParameter,
  eventRuns,
  firstPosition,
  lastPosition,
  mergedKeys,
  type PositionRange
} from "../../runtime/eventbus/EventRuns.ts"
import { namesInvoiceOrOrder, selectInvoiceOrOrder } from "../../runtime/eventbus/InvoiceEvents.ts"
import { inIndexOrder } from "../../runtime/store/IndexPlans.ts"
import { compareEventPositions, eventIdOf, type EventPosition } from "../../schemas/Ids.ts"
import { eventText, optInTypes, type StoredEvent } from "../../schemas/Event.ts"
import type { Environment } from "../../schemas/Network.ts"
import { knownVersion, newestVersion } from "../../schemas/Version.ts"
import { allTime, type DueSpan, makeDueSpan } from "../../runtime/webhooks/DueSpan.ts"
import { textStatement } from "./repo/EventText.ts"
import type { EventsPage } from "./rules.ts"

/** An event as it is stored. */
export interface Row {
  readonly ms: bigint
  readonly seq: bigint
  readonly environment: Environment
  readonly type: string
  readonly request_id: string | null
  readonly idempotency_key: string | null
  readonly data: string
  readonly pending: number
}

interface TextRow {
  readonly text: string
}

/**
 * `pending` is counted now: deliveries that have neither succeeded nor been given up. They are due or will be, so they
 * were made within `span`, whose values are put by `put`.
 */
const columnsWith = ({ from, to }: DueSpan, put: AddParameter): string =>
  `e.ms, e.seq, e.environment, e.type, e.request_id, e.idempotency_key, e.data, (
  SELECT count(*) FROM webhook_deliveries d
  WHERE d.merchant_id = e.merchant_id AND d.event_ms = e.ms AND d.event_seq = e.seq
    AND d.created_at >= ${put(from)}::timestamptz AND d.created_at < ${put(to)}::timestamptz
    AND d.status IN ('pending', 'delivering', 'retrying'))::integer AS pending`

/** Collects values, so that nothing a caller sent becomes part of a statement. */
const parameters = () => {
  const values: Array<unknown> = []
  return { values, put: (value: unknown): string => `$${values.push(value)}` }
}

const later = (a: EventPosition, b: EventPosition) => compareEventPositions(a, b) > 0 ? a : b
const earlier = (a: EventPosition, b: EventPosition) => compareEventPositions(a, b) < 0 ? a : b

/** Cursor and times as positions: the order of the ids is that of the times. */
const rangeOf = ({ cursor, direction, fromMillis, limit, toMillis }: EventsPage): PositionRange => {
  const after = fromMillis === undefined ? firstPosition : { ms: fromMillis, seq: firstPosition.seq }
  const before = toMillis === undefined ? lastPosition : { ms: toMillis, seq: firstPosition.seq }
  const isOlder = direction === "older"
  return {
    after: isOlder || cursor === undefined ? after : later(after, cursor),
    before: isOlder && cursor !== undefined ? earlier(before, cursor) : before,
    order: isOlder ? "DESC" : "ASC",
    limit: limit + 1
  }
}

/**
 * A page of few events: those of an invoice or an order; or of all events but the opt-in ones, fewer than the others.
 */
const walkedPage = (
  page: EventsPage,
  { after, before, limit, order }: PositionRange,
  columns: string,
  put: AddParameter
): string => {
  const conditions = [`e.merchant_id = ${put(page.merchantId)}`]
  const equals = (column: string, value: unknown) => {
    if (value !== undefined) conditions.push(`e.${column} = ${put(value)}`)
  }
  const rowAt = ({ ms, seq }: EventPosition) => `(${put(String(ms))}::bigint, ${put(String(seq))}::bigint)`
  conditions.push(
    `(e.ms, e.seq) > ${rowAt(after)}`,
    `(e.ms, e.seq) < ${rowAt(before)}`,
    // Partitions are not chosen by a comparison of rows.
    `e.ms >= ${put(String(after.ms))}::bigint`,
    `e.ms <= ${put(String(before.ms))}::bigint`
  )
  const selected = selectInvoiceOrOrder(page, put)
  if (selected !== undefined) conditions.push(...selected.conditions)
  equals("customer_id", page.customerId)
  equals("environment", page.environment)
  if (page.commerceOnly) conditions.push("e.commerce")
  conditions.push(
    page.types === undefined
      ? `e.type <> ALL (${put(optInTypes)}::text[])`
      : `e.type = ANY (${put(page.types)}::text[])`
  )
  const ordered = [...(selected === undefined ? [] : [selected.firstColumn]), "e.ms", "e.seq"]
  return `SELECT ${columns} FROM events e WHERE ${conditions.join(" AND ")}
    ORDER BY ${ordered.map((column) => `${column} ${order}`).join(", ")} LIMIT ${put(limit)}`
}

/** A page of what may be rare among many events. */
const mergedPage = (page: EventsPage, range: PositionRange, columns: string, put: AddParameter): string =>
  `SELECT ${columns} FROM (${mergedKeys(page, eventRuns(page), range, put)}) k
    JOIN events e USING (merchant_id, ms, seq)
    ORDER BY e.ms ${range.order}, e.seq ${range.order}`

/** Whether a page is merged from runs, each of which may be in every partition. */
const isMerged = (page: EventsPage): boolean =>
  !namesInvoiceOrOrder(page) &&
  (page.customerId !== undefined || page.environment !== undefined || page.types !== undefined || page.commerceOnly)

/**
 * The statement of a page and its values: filters by AND, one row more than the page to know whether there are more.
 */
export const pageStatement = (
  page: EventsPage,
  { range = rangeOf(page), span = allTime }: { readonly range?: PositionRange; readonly span?: DueSpan } = {}
): { readonly text: string; readonly values: ReadonlyArray<unknown> } => {
  const { values, put } = parameters()
  const text = (isMerged(page) ? mergedPage : walkedPage)(page, range, columnsWith(span, put), put)
  return { text, values }
}

/** Milliseconds that a merged page looks through first: two partitions or three. */
const firstSpanMillis = BigInt(45 * 86_400_000)

/**
 * Where a merged page is looked for first: at the end that it begins at, where most pages are found. Undefined: that
 * would be no less than the whole range. Pure.
 */
export const firstRange = (range: PositionRange, nowMillis: bigint): PositionRange | undefined => {
  const { after, before, order } = range
  if (order === "ASC") {
    const ms = after.ms + firstSpanMillis
    return after.ms > firstPosition.ms && ms < before.ms
      ? { ...range, before: { ms, seq: firstPosition.seq } }
      : undefined
  }
  const ms = (before.ms < nowMillis ? before.ms : nowMillis) - firstSpanMillis
  return ms > after.ms ? { ...range, after: { ms, seq: firstPosition.seq } } : undefined
}

const storedEvent = (row: Row): StoredEvent => ({
  id: eventIdOf(row),
  type: row.type,
  environment: row.environment,
  created: Number(row.ms / 1000n),
  requestId: row.request_id,
  idempotencyKey: row.idempotency_key,
  data: row.data
})

/** Of one event, and of a version whose objects may differ from the stored ones. */
export const textOf = (row: Row, version: string): string => eventText(storedEvent(row), row.pending, version)

/** A page as texts, newest first. */
export interface TextPage {
  readonly data: ReadonlyArray<string>
  readonly hasMore: boolean
}

export const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const dueSpan = Effect.orDie(Effect.provideService(yield* makeDueSpan, SqlClient.SqlClient, sql))
  return {
    /** A page of events, each told in `version`. */
    page: (page: EventsPage, version: string): Effect.Effect<TextPage> => {
      const textsIn = (range: PositionRange, span: DueSpan) => {
        const { text, values } = pageStatement(page, { range, span })
        const texts = knownVersion(version) === newestVersion
          ? Effect.map(sql.unsafe<TextRow>(textStatement(text), values), (rows) => rows.map((row) => row.text))
          : Effect.map(sql.unsafe<Row>(text, values), (rows) => rows.map((row) => textOf(row, version)))
        return Effect.orDie(namesInvoiceOrOrder(page) ? inIndexOrder(sql)(texts) : texts)
      }
      const range = rangeOf(page)
      return Effect.gen(function*() {
        const span = yield* dueSpan
        const first = isMerged(page) ? firstRange(range, BigInt(yield* Clock.currentTimeMillis)) : undefined
        const near = first === undefined ? [] : yield* textsIn(first, span)
        const found = near.length > page.limit ? near : yield* textsIn(range, span)
        const data = found.slice(0, page.limit)
        return { data: page.direction === "older" ? data : data.reverse(), hasMore: found.length > page.limit }
      })
    },
    /** One event; undefined when the merchant has none there, or it is not commerce in `commerceIn`. */
    event: (
      merchantId: number,
      { ms, seq }: EventPosition,
      commerceIn: Environment | null
    ): Effect.Effect<Row | undefined> =>
      Effect.flatMap(dueSpan, (span) => {
        const { put, values } = parameters()
        const columns = columnsWith(span, put)
        const commerce = `${put(commerceIn)}::text`
        const text = `SELECT ${columns} FROM events e
          WHERE e.merchant_id = ${put(merchantId)} AND e.ms = ${put(String(ms))}::bigint
            AND e.seq = ${put(String(seq))}::bigint
            AND (${commerce} IS NULL OR (e.commerce AND e.environment = ${commerce}))`
        return Effect.map(Effect.orDie(sql.unsafe<Row>(text, values)), (rows) => rows[0])
      })
  }
})
