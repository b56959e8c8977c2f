/**
 * A person's data in stored events: read for an export, and replaced by hashes in an erasure. Ids, order, types and
 * fields stay as they are, so that history and cursors hold. Sums follow in the same transactions, because they are
 * counted from events. What receivers answered to deliveries of these events is forgotten, because an answer may repeat
 * what it was sent.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Environment } from "../../schemas/Network.ts"
import type { HashOf, Person, Redact } from "../../schemas/PersonalData.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { deltaRows, deltasOf, insertSums, type RollupsByObject, updateSums } from "../commit/RollupDeltas.ts"
import { advisoryLock, lockSpace } from "../store/Locks.ts"

/** Events that one transaction rewrites. */
const batchSize = 200

interface EventRow {
  readonly ms: bigint
  readonly seq: bigint
  readonly environment: Environment
  readonly type: string
  readonly customer_id: string | null
  readonly data: string
}

/** Names an object whose last event may be kept as a snapshot after its events are gone. */
export interface SnapshotName {
  readonly object: string
  readonly id: string
}

export interface PersonalEvents {
  /** Events of an invoice as they are stored, oldest first. */
  readonly ofInvoice: (
    merchantId: number,
    invoiceId: string
  ) => Effect.Effect<ReadonlyArray<{ readonly id: string; readonly type: string; readonly data: unknown }>>
  /** Redacts the events of an invoice, with those of its payments and its order, in batches. A repeat changes nothing. */
  readonly redact: (
    merchantId: number,
    invoiceId: string,
    snapshots: ReadonlyArray<SnapshotName>,
    hashOf: HashOf
  ) => Effect.Effect<void>
  /** Removes the sums by customer that came to nothing, after all of the person's events were redacted. */
  readonly forgetSums: (person: Person) => Effect.Effect<void>
}

interface EventData {
  readonly object: WireObject
  readonly previous_attributes: Readonly<Record<string, unknown>>
}

/** The text of an event's data before and after; equal texts where nothing of it is personal. */
interface Redacted {
  readonly before: string
  readonly after: string
  readonly object: WireObject
  readonly redactedObject: WireObject
}

/** Parsed here, because PostgreSQL reads no text with half a surrogate pair, and a merchant may send one. */
const redactData = (redactions: ReadonlyMap<string, Redact>, before: string, hashOf: HashOf): Redacted => {
  const { object, previous_attributes: previous } = JSON.parse(before) as EventData
  const redact = redactions.get(object.object)
  if (redact === undefined) return { before, after: before, object, redactedObject: object }
  const redactedObject = redact(object, hashOf) as WireObject
  const after = JSON.stringify({ object: redactedObject, previous_attributes: redact(previous, hashOf) })
  return { before, after, object, redactedObject }
}

const nameOf = ({ id, object }: { readonly object: string; readonly id?: unknown }): string => `${object} ${String(id)}`

/** The sums of a person's objects: they move with the events that are redacted. */
const makePersonalSums = Effect.fnUntraced(function*(rollups: RollupsByObject) {
  const sql = yield* SqlClient.SqlClient

  const move = Effect.fnUntraced(function*(
    merchantId: number,
    environment: Environment,
    redacted: ReadonlyArray<Redacted>
  ) {
    const deltas = redacted.flatMap(({ object, redactedObject }) =>
      deltasOf(rollups, [{ type: `${object.object}.updated`, object: redactedObject, previousAttributes: object }])
    )
    const rows = deltaRows([{ owner: { merchantId, environment }, deltas }])
    if (rows.length === 0) return
    // Commits move sums while they hold this row.
    yield* sql`SELECT 1 FROM merchant_streams WHERE merchant_id = ${merchantId} FOR UPDATE`
    const values = [rows.flat(), rows.length]
    yield* sql.unsafe(updateSums("($1::text[])", "$2"), values)
    yield* sql.unsafe(insertSums("($1::text[])", "$2"), values)
  })

  const forget: PersonalEvents["forgetSums"] = ({ customerId, environment, merchantId }) =>
    sql`DELETE FROM rollups WHERE merchant_id = ${merchantId} AND environment = ${environment}
      AND count = 0 AND amount = 0 AND amount_paid = 0 AND position(${customerId} IN key) > 0`.pipe(
      Effect.orDie,
      Effect.asVoid
    )

  return { forget, move }
})

export const makePersonalEvents = Effect.fnUntraced(function*(
  redactions: ReadonlyMap<string, Redact>,
  rollups: RollupsByObject
) {
  const sql = yield* SqlClient.SqlClient
  const sums = yield* makePersonalSums(rollups)

  const page = (merchantId: number, invoiceId: string, after: Pick<EventRow, "ms" | "seq">) =>
    sql<EventRow>`SELECT ms, seq, environment, type, customer_id, data FROM events
      WHERE merchant_id = ${merchantId} AND invoice_id = ${invoiceId}
        AND (ms, seq) > (${after.ms}::bigint, ${after.seq}::bigint)
      ORDER BY ms, seq LIMIT ${batchSize}`

  const forEachPage = Effect.fnUntraced(function*<E>(
    merchantId: number,
    invoiceId: string,
    act: (events: ReadonlyArray<EventRow>) => Effect.Effect<void, E>
  ) {
    for (let after: Pick<EventRow, "ms" | "seq"> | undefined = { ms: -1n, seq: -1n }; after !== undefined;) {
      const events: ReadonlyArray<EventRow> = yield* page(merchantId, invoiceId, after)
      if (events.length > 0) yield* act(events)
      after = events.length < batchSize ? undefined : events.at(-1)
    }
  })

  /** While events are pruned nothing is redacted: what is pruned then would be kept as it was. */
  const holdPruning = sql`SELECT pg_advisory_xact_lock_shared(${lockSpace}, ${advisoryLock.pruning})`

  const forgetAnswers = (merchantId: number, events: ReadonlyArray<EventRow>) =>
    sql`UPDATE webhook_attempts a SET response = NULL
      FROM unnest(${events.map(({ ms }) => ms)}::bigint[], ${events.map(({ seq }) => seq)}::bigint[]) AS e (ms, seq)
      JOIN webhook_deliveries d ON d.merchant_id = ${merchantId} AND d.event_ms = e.ms AND d.event_seq = e.seq
      WHERE a.merchant_id = ${merchantId} AND a.delivery_id = d.id AND a.response IS NOT NULL`

  const redactBatch = Effect.fnUntraced(function*(
    merchantId: number,
    events: ReadonlyArray<EventRow>,
    newest: ReadonlyMap<string, bigint>,
    hashOf: HashOf
  ) {
    const changed = events.map((event) => ({
      ...event,
      customer: event.customer_id === null ? null : hashOf(event.customer_id),
      redacted: redactData(redactions, event.data, hashOf)
    })).filter(({ customer, customer_id, redacted }) => redacted.after !== redacted.before || customer !== customer_id)
    yield* holdPruning
    yield* forgetAnswers(merchantId, events)
    yield* sql`UPDATE events SET data = r.data, customer_id = r.customer FROM unnest(
        ${changed.map(({ ms }) => ms)}::bigint[], ${changed.map(({ seq }) => seq)}::bigint[],
        ${changed.map(({ redacted }) => redacted.after)}::text[], ${changed.map(({ customer }) => customer)}::text[]
      ) AS r (ms, seq, data, customer)
      WHERE merchant_id = ${merchantId} AND events.ms = r.ms AND events.seq = r.seq`
    const last = changed.filter(({ redacted, seq }) => newest.get(nameOf(redacted.object)) === seq)
    const [first] = events
    yield* sums.move(merchantId, first!.environment, last.map(({ redacted }) => redacted))
  }, sql.withTransaction)

  /** `hasEvents`: its sums moved with those. */
  const redactSnapshot = Effect.fnUntraced(
    function*(merchantId: number, { id, object }: SnapshotName, hasEvents: boolean, hashOf: HashOf) {
      yield* holdPruning
      const isIt = sql`merchant_id = ${merchantId} AND object = ${object} AND id = ${id}`
      const [row] = yield* sql<Pick<EventRow, "data" | "environment">>`
        SELECT data, environment FROM event_snapshots WHERE ${isIt} FOR UPDATE`
      if (row === undefined) return
      const redacted = redactData(redactions, row.data, hashOf)
      if (redacted.after === redacted.before) return
      yield* sql`UPDATE event_snapshots SET data = ${redacted.after} WHERE ${isIt}`
      if (!hasEvents) yield* sums.move(merchantId, row.environment, [redacted])
    },
    sql.withTransaction
  )

  const ofInvoice: PersonalEvents["ofInvoice"] = (merchantId, invoiceId) =>
    sql<EventRow>`SELECT ms, seq, environment, type, customer_id, data FROM events
      WHERE merchant_id = ${merchantId} AND invoice_id = ${invoiceId} ORDER BY ms, seq`.pipe(
      Effect.map((rows) =>
        rows.map(({ data, ms, seq, type }) => ({ id: `evt_${ms}-${seq}`, type, data: JSON.parse(data) as unknown }))
      ),
      Effect.orDie
    )

  const redact = Effect.fnUntraced(
    function*(
      merchantId: number,
      invoiceId: string,
      snapshots: ReadonlyArray<SnapshotName>,
      hashOf: HashOf
    ) {
      // Sums hold the newest state of each object: they move with the newest of its events that is not redacted yet.
      const withEvents = new Set<string>()
      const newest = new Map<string, bigint>()
      yield* forEachPage(merchantId, invoiceId, (events) =>
        Effect.sync(() => {
          for (const { data, seq } of events) {
            const { after, before, object } = redactData(redactions, data, hashOf)
            withEvents.add(nameOf(object))
            if (after !== before) newest.set(nameOf(object), seq)
          }
        }))
      yield* forEachPage(merchantId, invoiceId, (events) => redactBatch(merchantId, events, newest, hashOf))
      // After the events: those that were pruned meanwhile are snapshots now.
      yield* Effect.forEach(
        snapshots,
        (each) => redactSnapshot(merchantId, each, withEvents.has(nameOf(each)), hashOf),
        { discard: true }
      )
    },
    Effect.orDie
  )

  return { forgetSums: sums.forget, ofInvoice, redact } satisfies PersonalEvents
})
