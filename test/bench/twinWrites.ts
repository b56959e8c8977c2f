/**
 * Three ways to write an invoice, for the twin of `fastifyBaseline.ts`: the rows are the same in each. The key's row,
 * the invoice, the stream's row, the event, and one delivery for each endpoint that wants it.
 */
import type { Pool } from "pg"

/** Everything that is stored of one call. */
export interface InvoiceDraft {
  readonly merchant: number
  /** The idempotency key with what it is a key of. */
  readonly scope: string
  readonly fingerprint: string
  readonly reply: string
  readonly id: string
  readonly amount: number
  readonly customerId: string | null
  readonly expiresAt: number
  readonly createdAt: number
  readonly metadata: string
  readonly details: string
  readonly idempotencyKey: string
  readonly data: string
}

/** Writes a draft; false: its idempotency key was used before. */
export type WriteInvoice = (draft: InvoiceDraft) => Promise<boolean>

const filters = ["*", "invoice.*", "invoice.created"]
const policy = JSON.stringify({ tolerance: 10, overpayTolerance: 1_000, latePayment: "spot_rate" })
const requestId = "req_twin"

const insertKey = `insert into idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body)
  values ($1, 'devnet', $2, $3, 200, $4) on conflict do nothing returning 1`
const insertInvoice = `insert into invoices (merchant_id, id, version, environment, status, type, amount, amount_paid,
    customer_id, expires_at, created_at, metadata, policy, details, grace_ended, due_at)
  values ($1, $2, 1, 'devnet', 'unpaid', 'standard', $3, 0, $4, $5, $6, $7, $8, $9, false, $5)`
const moveStream = `update merchant_streams
  set last_ms = greatest(last_ms, floor(extract(epoch from clock_timestamp()) * 1000)), last_seq = nextval('event_seq')
  where merchant_id = $1 returning last_ms as ms, last_seq as seq`
const findEndpoints = `select id from webhook_endpoints
  where merchant_id = $1 and status = 'enabled' and environment = 'devnet' and filters && $2`
const insertEvent = `insert into events (merchant_id, ms, seq, environment, type, invoice_id, customer_id, commerce,
    request_id, idempotency_key, pending_webhooks, data, is_for_payors)
  values ($1, $2, $3, 'devnet', 'invoice.created', $4, $5, false, $6, $7, $8, $9, true)`
const insertDeliveries = `insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
  select $1, id, $2, $3 from unnest($4::text[]) id`

/** One statement after the other in a transaction: what most engineers write. */
export const writeInTransaction = (pool: Pool): WriteInvoice => async (draft) => {
  const { createdAt, customerId, expiresAt, id, merchant } = draft
  const client = await pool.connect()
  try {
    await client.query("begin")
    const key = await client.query({
      name: "key",
      text: insertKey,
      values: [merchant, draft.scope, draft.fingerprint, draft.reply]
    })
    if (key.rowCount === 0) {
      await client.query("rollback")
      return false
    }
    await client.query({
      name: "invoice",
      text: insertInvoice,
      values: [
        ...[merchant, id, draft.amount, customerId, expiresAt, createdAt],
        ...[draft.metadata, policy, draft.details]
      ]
    })
    const { rows: [at] } = await client.query({ name: "stream", text: moveStream, values: [merchant] })
    const { rows: endpoints } = await client.query({
      name: "endpoints",
      text: findEndpoints,
      values: [merchant, filters]
    })
    await client.query({
      name: "event",
      text: insertEvent,
      values: [
        ...[merchant, at.ms, at.seq, id, customerId, requestId],
        ...[draft.idempotencyKey, endpoints.length, draft.data]
      ]
    })
    if (endpoints.length > 0) {
      const ids = endpoints.map((endpoint) => endpoint.id)
      await client.query({
        name: "deliveries",
        text: insertDeliveries,
        values: [merchant, at.ms, at.seq, ids]
      })
    }
    await client.query("commit")
    return true
  } catch (error) {
    await client.query("rollback")
    throw error
  } finally {
    client.release()
  }
}

/** The columns of a draft as parameters, in the order of {@link columnsOf}. */
const columns = [
  ["merchant", "int"],
  ["scope", "text"],
  ["fingerprint", "text"],
  ["reply", "text"],
  ["id", "uuid"],
  ["amount", "bigint"],
  ["customer", "text"],
  ["expires_at", "bigint"],
  ["created_at", "bigint"],
  ["metadata", "text"],
  ["details", "text"],
  ["key", "text"],
  ["data", "text"]
] as const

const columnsOf = (draft: InvoiceDraft): ReadonlyArray<string | number | null> => [
  ...[draft.merchant, draft.scope, draft.fingerprint, draft.reply, draft.id, draft.amount, draft.customerId],
  ...[draft.expiresAt, draft.createdAt, draft.metadata, draft.details, draft.idempotencyKey, draft.data]
]

/** All rows of the drafts in `input` by one statement; answers the scopes that were not used before. */
const writeAll = (input: string): string =>
  `with input as (${input}), used as (
  insert into idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body)
  select merchant, 'devnet', scope, fingerprint, 200, reply from input
  on conflict do nothing returning merchant_id, scope
), draft as materialized (
  select input.* from input join used on used.merchant_id = input.merchant and used.scope = input.scope
), invoice as (
  insert into invoices (merchant_id, id, version, environment, status, type, amount, amount_paid, customer_id,
    expires_at, created_at, metadata, policy, details, grace_ended, due_at)
  select merchant, id, 1, 'devnet', 'unpaid', 'standard', amount, 0, customer, expires_at, created_at, metadata::json,
    '${policy}'::json, details::json, false, expires_at from draft
), stream as materialized (
  select merchant_id, last_ms from merchant_streams where merchant_id in (select merchant from draft)
  order by merchant_id for update
), event as materialized (
  select draft.*, greatest(last_ms, floor(extract(epoch from clock_timestamp()) * 1000)::bigint) as ms,
    nextval('event_seq') as seq, array(
      select w.id from webhook_endpoints w where w.merchant_id = draft.merchant and w.status = 'enabled'
        and w.environment = 'devnet' and w.filters && '{${filters.join()}}'::text[]
    ) as endpoints
  from draft join stream on stream.merchant_id = draft.merchant
), moved as (
  update merchant_streams s set last_ms = e.ms, last_seq = e.seq
  from (select merchant, max(ms) as ms, max(seq) as seq from event group by merchant) e where s.merchant_id = e.merchant
), inserted as (
  insert into events (merchant_id, ms, seq, environment, type, invoice_id, customer_id, commerce, request_id,
    idempotency_key, pending_webhooks, data, is_for_payors)
  select merchant, ms, seq, 'devnet', 'invoice.created', id::text, customer, false, '${requestId}', key,
    cardinality(endpoints), data, true from event
), queued as (
  insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
  select merchant, endpoint, ms, seq from event, unnest(endpoints) endpoint
)
select scope from used`

const writeOne = writeAll(`select ${columns.map(([name, type], at) => `$${at + 1}::${type} as ${name}`).join(", ")}`)

/** The same rows by one statement a call. */
export const writeInOneStatement = (pool: Pool): WriteInvoice => async (draft) => {
  const { rowCount } = await pool.query({ name: "one", text: writeOne, values: [...columnsOf(draft)] })
  return rowCount === 1
}

/** Drafts in one statement, at most. */
const batchSize = 256

/** Batches under way at once: one for each core of a small machine. They lock streams in the same order. */
const batchesAtOnce = 2

const writeMany = writeAll(
  `select * from unnest(${columns.map(([, type], at) => `$${at + 1}::${type}[]`).join(", ")})
    as t(${columns.map(([name]) => name).join(", ")})`
)

/** The rows of all calls that wait by one statement: nobody waits for a clock, only for the batch before. */
export const writeInBatches = (pool: Pool): WriteInvoice => {
  interface Waiting {
    readonly draft: InvoiceDraft
    readonly resolve: (isNew: boolean) => void
    readonly reject: (error: unknown) => void
  }
  const waiting: Array<Waiting> = []
  let underWay = 0
  const flush = async (): Promise<void> => {
    if (underWay >= batchesAtOnce || waiting.length === 0) return
    underWay++
    const batch = waiting.splice(0, batchSize)
    try {
      const drafts = batch.map(({ draft }) => columnsOf(draft))
      const values = columns.map((_, at) => drafts.map((draft) => draft[at]))
      const { rows } = await pool.query({ name: "many", text: writeMany, values })
      const used = new Set(rows.map(({ scope }) => scope))
      for (const { draft, resolve } of batch) resolve(used.has(draft.scope))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      underWay--
      void flush()
    }
  }
  return (draft) =>
    new Promise((resolve, reject) => {
      waiting.push({ draft, resolve, reject })
      void flush()
    })
}
