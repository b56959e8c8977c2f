/**
 * Sums counted anew from the events: for data from before a sum was kept, or before it was counted as it is now.
 *
 * The events of each merchant are walked in the order of their commits, so what was read needs no second look. Most of
 * it is read while others may still write; the rest, and the sums, under a lock that holds every commit back. What was
 * pruned of a merchant's events (`Retention.ts`) is in the snapshots: as if each told of a creation.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { WireObject } from "../../schemas/WireObject.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Rollup } from "../Rollups.ts"
import { advisoryLock, lockSpace } from "../store/Locks.ts"
import { deltaRows, deltasOf, groupRollups, insertSums, makeDeltaSum, type RollupOwner } from "./RollupDeltas.ts"

/** Events read at a time, about a megabyte. */
const pageSize = 1_000

/** Rows of sums written at a time. */
const writeSize = 5_000

interface Row {
  readonly ms: bigint
  readonly seq: bigint
  readonly environment: Environment
  readonly type: string
  readonly data: string
}

/** How far a merchant's events were read. */
interface ReadPosition {
  readonly ms: bigint
  readonly seq: bigint
  /** The text of the event there: one that tells the same once more is no change. */
  readonly data: string
}

/** A merchant's stream: its last event, and the last one that was pruned. */
interface Stream {
  readonly merchant_id: number
  readonly last_ms: bigint
  readonly last_seq: bigint
  readonly pruned_ms: bigint
  readonly pruned_seq: bigint
}

interface Snapshot extends Omit<Row, "type"> {
  readonly object: string
  readonly id: string
}

/** What a snapshot counts as: nothing of its object was counted before. */
const snapshotType = "snapshot.created"

/** Reads on where it stopped, and adds up what it reads. */
const makeEventWalk = (rollups: ReadonlyArray<Rollup>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rollupsByObject = groupRollups(rollups)
    const positions = new Map<number, ReadPosition>()
    const totals = new Map<string, { readonly owner: RollupOwner; readonly sums: ReturnType<typeof makeDeltaSum> }>()

    const count = (merchantId: number, { data, environment, type }: Row) => {
      const { object, previous_attributes: previousAttributes } = JSON.parse(data) as {
        readonly object: WireObject
        readonly previous_attributes: Readonly<Record<string, unknown>>
      }
      const id = `${merchantId} ${environment}`
      const existing = totals.get(id) ?? { owner: { merchantId, environment }, sums: makeDeltaSum() }
      totals.set(id, existing)
      deltasOf(rollupsByObject, [{ type, object, previousAttributes }]).forEach(existing.sums.add)
    }

    /** Counts the snapshots of what was pruned, and answers where the events begin that are left. */
    const countSnapshots = Effect.fnUntraced(function*({ merchant_id, pruned_ms, pruned_seq }: Stream) {
      let place: ReadPosition = { ms: pruned_ms, seq: pruned_seq, data: "" }
      let after = { object: "", id: "" }
      for (let more = pruned_seq > 0n; more;) {
        const rows: ReadonlyArray<Snapshot> = yield* sql<Snapshot>`
          select object, id, ms, seq, environment, data from event_snapshots
          where merchant_id = ${merchant_id} and (object, id) > (${after.object}, ${after.id})
          order by object, id limit ${pageSize}`
        for (const row of rows) {
          count(merchant_id, { ...row, type: snapshotType })
          if (row.ms === pruned_ms && row.seq === pruned_seq) place = row
        }
        after = rows.at(-1) ?? after
        more = rows.length === pageSize
      }
      positions.set(merchant_id, place)
    })

    const countPage = Effect.fnUntraced(function*(merchantId: number) {
      const { ms, seq } = positions.get(merchantId)!
      const rows = yield* sql<Row>`select ms, seq, environment, type, data from events
        where merchant_id = ${merchantId} and (ms, seq) > (${String(ms)}::bigint, ${String(seq)}::bigint)
          and ms >= ${String(ms)}::bigint
        order by ms, seq limit ${pageSize}`
      for (const row of rows) {
        if (row.data !== positions.get(merchantId)?.data) count(merchantId, row)
        positions.set(merchantId, row)
      }
      return rows.length === pageSize
    })

    const walk = Effect.gen(function*() {
      const streams = yield* sql<Stream>`
        select merchant_id, last_ms, last_seq, pruned_ms, pruned_seq from merchant_streams order by merchant_id`
      for (const stream of streams) {
        const { last_ms, last_seq, merchant_id } = stream
        if (!positions.has(merchant_id)) yield* countSnapshots(stream)
        const place = positions.get(merchant_id)
        if (place?.ms === last_ms && place.seq === last_seq) continue
        yield* Effect.repeat(countPage(merchant_id), { while: (more) => more })
      }
    })
    const rows = () => deltaRows([...totals.values()].map(({ owner, sums }) => ({ owner, deltas: sums.nonZero() })))
    return { walk, rows }
  })

/**
 * Makes the sums right before the first commit that keeps them, and notes their versions in `rollup_versions`. Sums
 * that are not kept any more are forgotten, so that they are counted anew when they come back.
 *
 * An instance of another build that still runs would write past new sums, so the functions it commits through are
 * dropped: its callers are told `SERVICE_UNAVAILABLE`. `own` is the name of this build's. Safe when instances start
 * together: one counts, the others find it done.
 */
export const rebuildRollups = (rollups: ReadonlyArray<Rollup>, ownFunction: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const names = rollups.map(({ sum }) => sum)
    yield* sql`delete from rollup_versions where sum <> all (${names}::text[])`
    const readStale = Effect.map(
      sql<{ sum: string; version: number }>`select sum, version from rollup_versions`,
      (rows) => rollups.filter(({ sum, version }) => !rows.some((row) => row.sum === sum && row.version === version))
    )
    const takeLock = sql`select pg_advisory_xact_lock(${lockSpace}, ${advisoryLock.rollups})`
    const stale = yield* readStale
    if (stale.length === 0) return
    yield* Effect.logInfo(`counting anew from the events: ${stale.map(({ sum }) => sum).join(", ")}`)
    yield* sql.withTransaction(Effect.andThen(takeLock, dropOthers(ownFunction)))
    const { rows, walk } = yield* makeEventWalk(stale)
    yield* sql.withTransaction(Effect.gen(function*() {
      // What is read must stay until it was counted. Commits go on meanwhile: this holds nothing of theirs.
      yield* sql`select pg_advisory_xact_lock_shared(${lockSpace}, ${advisoryLock.pruning})`
      yield* walk
      yield* takeLock
      if ((yield* readStale).length === 0) return
      yield* sql`lock table merchant_streams in exclusive mode`
      yield* walk
      yield* sql`delete from rollups where sum = any (${stale.map(({ sum }) => sum)}::text[])`
      const totals = rows()
      for (let at = 0; at < totals.length; at += writeSize) {
        const rows = totals.slice(at, at + writeSize)
        yield* sql.unsafe(insertSums("($1::text[])", "$2"), [rows.flat(), rows.length])
      }
      yield* Effect.forEach(stale, ({ sum, version }) =>
        sql`insert into rollup_versions (sum, version) values (${sum}, ${version})
          on conflict (sum) do update set version = excluded.version`, { discard: true })
    }))
  })

const dropOthers = (own: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const others = yield* sql<{ name: string }>`select proname::text as name from pg_proc
      where proname like 'tillwire\\_commit\\_%' and proname <> ${own} and pronamespace = current_schema()::regnamespace`
    yield* Effect.forEach(others, ({ name }) => sql`drop function if exists ${sql(name)}`, { discard: true })
  })
