/** How events move sums: each change of an object exactly once, however many events tell of it. Pure. */
import type { WireObject } from "../../schemas/Event.ts"
import type { Environment } from "../../schemas/Network.ts"
import { bucketOf, type Rollup, type Width } from "../Rollups.ts"

/** What an event says of an object: how it stands, and what of it was otherwise before. */
export interface Telling {
  readonly type: string
  readonly object: WireObject
  readonly previousAttributes: Readonly<Record<string, unknown>>
}

/** By how much one row of a sum moves. */
export interface Delta {
  readonly sum: string
  readonly width: Width
  readonly bucket: number
  readonly key: string
  readonly count: number
  readonly amount: bigint
  readonly amountPaid: bigint
}

/** The sums kept, by the kind of object they are over. */
export type Kept = ReadonlyMap<string, ReadonlyArray<Rollup>>

export const keptOf = (rollups: ReadonlyArray<Rollup>): Kept => Map.groupBy(rollups, ({ object }) => object)

/** An object over a commit: null before the event that tells of its creation. */
interface Change {
  readonly before: WireObject | null
  after: WireObject
}

/** The snapshot before an event; null where it tells of a creation. */
const before = ({ object, previousAttributes, type }: Telling): WireObject | null =>
  type.endsWith(".created") ? null : { ...object, ...previousAttributes }

/**
 * What the events of one commit, in order, say of each object: as it was before the first of them and as it is after the
 * last. `invoice.paid` after `invoice.updated` repeats the same change and so counts for nothing.
 */
const changesOf = (kept: Kept, events: ReadonlyArray<Telling>): Iterable<Change> => {
  const changes = new Map<string, Change>()
  for (const event of events) {
    const { object } = event
    if (!kept.has(object.object)) continue
    const id = `${object.object} ${String(object.id)}`
    const known = changes.get(id)
    if (known === undefined) changes.set(id, { before: before(event), after: object })
    else known.after = object
  }
  return changes.values()
}

/** Rows on their way to the table, each once; those that do not move are left out. */
export const makeSums = () => {
  const rows = new Map<string, Delta>()
  const add = (delta: Delta): void => {
    const id = `${delta.sum}\n${delta.width}\n${delta.bucket}\n${delta.key}`
    const known = rows.get(id)
    rows.set(id, known === undefined ? delta : {
      ...known,
      count: known.count + delta.count,
      amount: known.amount + delta.amount,
      amountPaid: known.amountPaid + delta.amountPaid
    })
  }
  /** Adds what a snapshot contributes, or takes it away with sign -1. */
  const contribute = (kept: Kept, snapshot: WireObject, sign: 1 | -1): void => {
    for (const { contributions, sum, widths } of kept.get(snapshot.object) ?? []) {
      for (const { amount, amountPaid, at, count, key } of contributions(snapshot)) {
        for (const width of widths) {
          add({
            sum,
            width,
            bucket: bucketOf(at, width),
            key,
            count: sign * count,
            amount: BigInt(sign) * amount,
            amountPaid: BigInt(sign) * amountPaid
          })
        }
      }
    }
  }
  const moved = (): ReadonlyArray<Delta> =>
    [...rows.values()].filter(({ amount, amountPaid, count }) => count !== 0 || amount !== 0n || amountPaid !== 0n)
  return { add, contribute, moved }
}

/** By how much the events of one commit move the sums. */
export const deltasOf = (kept: Kept, events: ReadonlyArray<Telling>): ReadonlyArray<Delta> => {
  if (kept.size === 0 || events.length === 0) return []
  const sums = makeSums()
  for (const { after, before } of changesOf(kept, events)) {
    if (before !== null) sums.contribute(kept, before, -1)
    sums.contribute(kept, after, 1)
  }
  return sums.moved()
}

/** Whose sums: every row belongs to one environment of one merchant. */
export interface Owner {
  readonly merchantId: number
  readonly environment: Environment
}

/** Rows for `json_to_recordset`: {@link sumColumns}. Equal rows of one owner are added up, so that each is written once. */
export const sumRows = (
  deltas: Iterable<{ readonly owner: Owner; readonly deltas: ReadonlyArray<Delta> }>
): ReadonlyArray<object> => {
  const owners = new Map<string, { readonly owner: Owner; readonly sums: ReturnType<typeof makeSums> }>()
  for (const { deltas: moved, owner } of deltas) {
    if (moved.length === 0) continue
    const id = `${owner.merchantId} ${owner.environment}`
    const known = owners.get(id) ?? { owner, sums: makeSums() }
    owners.set(id, known)
    moved.forEach(known.sums.add)
  }
  return [...owners.values()].flatMap(({ owner, sums }) =>
    sums.moved().map(({ amount, amountPaid, bucket, count, key, sum, width }) => ({
      m: owner.merchantId,
      e: owner.environment,
      s: sum,
      w: width,
      b: bucket,
      k: key,
      n: count,
      a: amount.toString(),
      p: amountPaid.toString()
    }))
  )
}

/** Columns of {@link sumRows}, and the statement that adds them to the table; rows are locked in key order. */
export const sumColumns = "m integer, e text, s text, w integer, b bigint, k text, n bigint, a bigint, p bigint"
export const addSums = (json: string): string =>
  `insert into rollups as t (merchant_id, environment, sum, width, bucket, key, count, amount, amount_paid)
      select r.m, r.e, r.s, r.w, r.b, r.k, r.n, r.a, r.p from json_to_recordset(${json}) as r(${sumColumns})
      order by r.m, r.e, r.s, r.w, r.b, r.k
    on conflict (merchant_id, environment, sum, width, bucket, key) do update
      set count = t.count + excluded.count, amount = t.amount + excluded.amount,
        amount_paid = t.amount_paid + excluded.amount_paid`
