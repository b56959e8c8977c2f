/** Events as the table holds them, and the positions of the merchants' streams: the bus's only SQL. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { CommittedEvent } from "../Commit.ts"
import type { EventsAfter } from "../EventBus.ts"
import { inIndexOrder } from "../store/IndexPlans.ts"
import { eventRuns, lastPosition, mergedKeys, type PositionRange } from "./EventRuns.ts"
import { namesInvoiceOrOrder, selectInvoiceOrOrder } from "./InvoiceEvents.ts"
import { deliveredTypes } from "../../schemas/Event.ts"
import { eventIdOf, type EventPosition } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"

interface EventRow {
  readonly merchant_id: number
  readonly ms: bigint
  readonly seq: bigint
  readonly environment: Environment
  readonly type: string
  readonly invoice_id: string | null
  readonly order_id: string | null
  readonly customer_id: string | null
  readonly commerce: boolean
  readonly request_id: string | null
  readonly idempotency_key: string | null
  readonly pending_webhooks: number
  readonly data: string
  readonly is_for_payors: boolean
}

/** Milliseconds in a second; an event's `created` is in whole seconds (modules/docs/reference/events.md#envelope). */
const second = 1_000n

const eventOf = (row: EventRow): CommittedEvent => ({
  id: eventIdOf(row),
  type: row.type,
  environment: row.environment,
  created: Number(row.ms / second),
  requestId: row.request_id,
  idempotencyKey: row.idempotency_key,
  data: row.data,
  merchantId: row.merchant_id,
  position: { ms: row.ms, seq: row.seq },
  invoiceId: row.invoice_id,
  orderId: row.order_id,
  customerId: row.customer_id,
  commerce: row.commerce,
  isForPayors: row.is_for_payors,
  pendingWebhooks: row.pending_webhooks
})

/** Where a merchant's stream stands. */
export interface StreamPosition {
  readonly merchantId: number
  readonly position: EventPosition
}

interface StreamRow {
  readonly merchant_id: number | null
  readonly last_ms: bigint
  readonly last_seq: bigint
  readonly horizon: string
}

/** What moved, and the horizon to ask with next time. */
export interface StreamPositions {
  readonly streams: ReadonlyArray<StreamPosition>
  readonly horizon: string
}

const columns = `e.merchant_id, e.ms, e.seq, e.environment, e.type, e.invoice_id, e.order_id, e.customer_id, e.commerce,
  e.request_id, e.idempotency_key, e.pending_webhooks, e.data, e.is_for_payors`

interface StatementText {
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

/**
 * The statements for {@link EventsAfter}: one that reads the events, and one that counts them. An invoice and an order
 * have few events, a customer may have most of its merchant's.
 */
const statementsAfter = (query: EventsAfter): { readonly read: StatementText; readonly count: StatementText } => {
  const { customerId, hiddenTypes = [], invoiceId, limit, merchantId, orderId, position } = query
  const values: Array<unknown> = []
  const put = (value: unknown): string => `$${values.push(value)}`
  const statements = (read: string, keys: string) => ({
    read: { text: read, values },
    count: { text: `select count(*) as n from (${keys}) found`, values }
  })
  if (customerId !== undefined && invoiceId === undefined && orderId === undefined) {
    const range: PositionRange = { after: position, before: lastPosition, order: "ASC", limit }
    const types = deliveredTypes.filter((type) => !hiddenTypes.includes(type))
    const keys = mergedKeys({ merchantId, customerId }, eventRuns({ types }), range, put)
    return statements(
      `select ${columns} from (${keys}) k join events e using (merchant_id, ms, seq) order by e.ms, e.seq`,
      keys
    )
  }
  const ms = `${put(String(position.ms))}::bigint`
  const selected = selectInvoiceOrOrder(query, put)
  const conditions = [
    `e.merchant_id = ${put(merchantId)}`,
    `(e.ms, e.seq) > (${ms}, ${put(String(position.seq))}::bigint)`,
    // Partitions are not chosen by a comparison of rows.
    `e.ms >= ${ms}`,
    ...selected?.conditions ?? [],
    ...(customerId === undefined ? [] : [`e.customer_id = ${put(customerId)}`]),
    ...(hiddenTypes.length === 0 ? [] : [`e.type <> all (${put(hiddenTypes)}::text[])`])
  ]
  const order = [...(selected === undefined ? [] : [selected.firstColumn]), "e.ms", "e.seq"].join(", ")
  const walk = `from events e where ${conditions.join(" and ")} order by ${order} limit ${put(limit)}`
  return statements(`select ${columns} ${walk}`, `select 1 ${walk}`)
}

export const makeEventRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const inItsOrder = <A>(query: EventsAfter, statement: Effect.Effect<A, SqlError.SqlError>) =>
    namesInvoiceOrOrder(query) ? inIndexOrder(sql)(statement) : statement

  /** Events after a position, oldest first. */
  const after = (query: EventsAfter) => {
    const { text, values } = statementsAfter(query).read
    return Effect.map(inItsOrder(query, sql.unsafe<EventRow>(text, values)), (rows) => rows.map(eventOf))
  }

  /** How many there are after a position: walks indexes, to `limit` at most. */
  const count = (query: EventsAfter) => {
    const { text, values } = statementsAfter(query).count
    return Effect.map(inItsOrder(query, sql.unsafe<{ readonly n: bigint }>(text, values)), (rows) => Number(rows[0]!.n))
  }

  /** Up to where a merchant's events have been removed. */
  const prunedTo = (merchantId: number) =>
    Effect.map(
      sql<
        EventPosition
      >`select pruned_ms as ms, pruned_seq as seq from merchant_streams where merchant_id = ${merchantId}`,
      ([row]): EventPosition => row ?? { ms: 0n, seq: 0n }
    )

  /** Before it no event is asked for: it chooses the partitions that are read. */
  const oldestOf = (streams: ReadonlyArray<StreamPosition>) =>
    sql`${streams.reduce((oldest, { position: { ms } }) => ms < oldest ? ms : oldest, lastPosition.ms)}::bigint`

  /** The first events of each stream after its position, at most `limit` each; oldest first within a stream. */
  const afterEach = (streams: ReadonlyArray<StreamPosition>, limit: number) =>
    Effect.map(
      sql<EventRow>`select e.* from unnest(${streams.map(({ merchantId }) => merchantId)}::integer[],
          ${streams.map(({ position }) => position.ms)}::bigint[],
          ${
        streams.map(({ position }) => position.seq)
      }::bigint[]) with ordinality as known(merchant_id, ms, seq, place)
        cross join lateral (
          select merchant_id, ms, seq, environment, type, invoice_id, order_id, customer_id, commerce, request_id,
            idempotency_key, pending_webhooks, data, is_for_payors
          from events where merchant_id = known.merchant_id and (ms, seq) > (known.ms, known.seq)
            and ms >= ${oldestOf(streams)}
          order by ms, seq limit ${limit}
        ) e order by known.place, e.ms, e.seq`,
      (rows) => Map.groupBy(rows.map(eventOf), (event) => event.merchantId)
    )

  /**
   * Streams written by transactions that an earlier look could not see: those not older than the oldest transaction
   * under way then. A row seen twice is told twice; none is left out, however late its transaction commits. With null
   * every stream.
   */
  const positionsSince = (horizon: string | null) =>
    Effect.map(
      sql<StreamRow>`with now as materialized (select pg_snapshot_xmin(pg_current_snapshot())::text as horizon)
        select now.horizon, s.merchant_id, s.last_ms, s.last_seq from now left join merchant_streams s
        on ${horizon}::text is null or age(s.xmin) <= age(${horizon}::text::xid8::xid)`,
      (rows): StreamPositions => ({
        horizon: rows[0]!.horizon,
        streams: rows.flatMap((row) =>
          row.merchant_id === null
            ? []
            : [{ merchantId: row.merchant_id, position: { ms: row.last_ms, seq: row.last_seq } }]
        )
      })
    )

  /** The stream's clock as it stands, and the next number of the sequence that every event takes its own from. */
  const nextPosition = (merchantId: number) =>
    sql<{ readonly ms: bigint; readonly seq: bigint }>`
      SELECT coalesce((SELECT last_ms FROM merchant_streams WHERE merchant_id = ${merchantId}), 0)::bigint AS ms,
        nextval('event_seq') AS seq`.pipe(Effect.map((rows): EventPosition => rows[0]!))

  return { after, afterEach, count, positionsSince, nextPosition, prunedTo }
})
export type EventRepo = Effect.Success<typeof makeEventRepo>
