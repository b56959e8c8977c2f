/** How events move sums: each change of an object exactly once, however many events tell of it. Pure. */
import type { WireObject } from "../../schemas/WireObject.ts"
import type { Environment } from "../../schemas/Network.ts"
import { bucketOf, type Rollup, type Width } from "../Rollups.ts"
import { selectRows } from "./RowValues.ts"

/** What an event says of an object: how it stands, and what of it was otherwise before. */
export interface RollupEvent {
  readonly type: string
  readonly object: WireObject
  readonly previousAttributes: Readonly<Record<string, unknown>>
}

/**
 * By how much a sum moves within a bucket of its narrowest width. What moves in its other widths follows from that:
 * each bucket of theirs is made of whole ones of the narrowest.
 */
export interface RollupDelta {
  readonly rollup: Rollup
  readonly bucket: number
  readonly key: string
  readonly count: number
  readonly amount: bigint
  readonly amountPaid: bigint
}

/** The sums kept, by the kind of object they are over. */
export type RollupsByObject = ReadonlyMap<string, ReadonlyArray<Rollup>>

export const groupRollups = (rollups: ReadonlyArray<Rollup>): RollupsByObject =>
  Map.groupBy(rollups, ({ object }) => object)

/** An object over a commit: null before the event that tells of its creation. */
interface Change {
  readonly before: WireObject | null
  after: WireObject
}

/** The snapshot before an event; null where it tells of a creation. */
const snapshotBefore = ({ object, previousAttributes, type }: RollupEvent): WireObject | null =>
  type.endsWith(".created") ? null : { ...object, ...previousAttributes }

/**
 * What the events of one commit, in order, say of each object: as it was before the first of them and as it is after
 * the last. `invoice.paid` after `invoice.updated` repeats the same change and so counts for nothing.
 */
const changesOf = (rollups: RollupsByObject, events: ReadonlyArray<RollupEvent>): Iterable<Change> => {
  const changes = new Map<string, Change>()
  for (const event of events) {
    const { object } = event
    if (!rollups.has(object.object)) continue
    const id = `${object.object} ${String(object.id)}`
    const existing = changes.get(id)
    if (existing === undefined) changes.set(id, { before: snapshotBefore(event), after: object })
    else existing.after = object
  }
  return changes.values()
}

/** The narrowest width a sum is kept in. All time is wider than any other. */
const narrowestOf = ({ widths }: Rollup): Width =>
  widths.reduce((narrowest, wide) => wide !== 0 && (narrowest === 0 || wide < narrowest) ? wide : narrowest, 0)

const isZero = ({ amount, amountPaid, count }: RollupDelta): boolean =>
  count === 0 && amount === 0n && amountPaid === 0n

/** Deltas, equal ones added up; those that do not move are left out. */
export const makeDeltaSum = () => {
  const deltas = new Map<string, RollupDelta>()
  const add = (delta: RollupDelta): void => {
    const id = `${delta.rollup.sum}\n${delta.bucket}\n${delta.key}`
    const existing = deltas.get(id)
    deltas.set(
      id,
      existing === undefined ? delta : {
        rollup: delta.rollup,
        bucket: delta.bucket,
        key: delta.key,
        count: existing.count + delta.count,
        amount: existing.amount + delta.amount,
        amountPaid: existing.amountPaid + delta.amountPaid
      }
    )
  }
  return { add, nonZero: () => [...deltas.values()].filter((delta) => !isZero(delta)) }
}

/** What a snapshot contributes, or takes away with sign -1. */
const contributionsOf = (rollups: RollupsByObject, snapshot: WireObject, sign: 1n | -1n): ReadonlyArray<RollupDelta> =>
  (rollups.get(snapshot.object) ?? []).flatMap((rollup) =>
    rollup.contributions(snapshot).map(({ amount, amountPaid, at, count, key }) => ({
      rollup,
      bucket: bucketOf(at, narrowestOf(rollup)),
      key,
      count: Number(sign) * count,
      amount: sign * amount,
      amountPaid: sign * amountPaid
    }))
  )

/** By how much the events of one commit move the sums. */
export const deltasOf = (rollups: RollupsByObject, events: ReadonlyArray<RollupEvent>): ReadonlyArray<RollupDelta> => {
  if (rollups.size === 0 || events.length === 0) return []
  const sums = makeDeltaSum()
  for (const { after, before } of changesOf(rollups, events)) {
    if (before !== null) contributionsOf(rollups, before, -1n).forEach(sums.add)
    contributionsOf(rollups, after, 1n).forEach(sums.add)
  }
  return sums.nonZero()
}

/** Whose sums: every row belongs to one environment of one merchant. */
export interface RollupOwner {
  readonly merchantId: number
  readonly environment: Environment
}

/** Columns of a row of a sum; the first six are its key. */
const deltaColumns = [
  { name: "merchant_id", type: "integer" },
  { name: "environment", type: "text" },
  { name: "sum", type: "text" },
  { name: "width", type: "integer" },
  { name: "bucket", type: "bigint" },
  { name: "key", type: "text" },
  { name: "count", type: "bigint" },
  { name: "amount", type: "bigint" },
  { name: "amount_paid", type: "bigint" }
]

/** A row of a sum: in one width, what moves in one bucket. */
interface SumRow extends RollupDelta {
  readonly width: Width
}

/** Deltas of one owner as rows: in each width of their sums, those of one bucket added up. */
const rowsInAllWidths = (deltas: ReadonlyArray<RollupDelta>): ReadonlyArray<SumRow> => {
  const rollups = new Set(deltas.map(({ rollup }) => rollup))
  return [...rollups].flatMap((rollup) =>
    rollup.widths.flatMap((width) => {
      const inWidth = makeDeltaSum()
      for (const delta of deltas) {
        if (delta.rollup === rollup) inWidth.add({ ...delta, bucket: bucketOf(delta.bucket, width) })
      }
      return inWidth.nonZero().map((row) => ({ ...row, width }))
    })
  )
}

/** Values of rows of sums (`RowValues.ts`). Equal rows of one owner are added up, so that each is written once. */
export const deltaRows = (
  deltas: Iterable<{ readonly owner: RollupOwner; readonly deltas: ReadonlyArray<RollupDelta> }>
): ReadonlyArray<ReadonlyArray<string>> => {
  const owners = new Map<string, { readonly owner: RollupOwner; readonly sums: ReturnType<typeof makeDeltaSum> }>()
  for (const { deltas: moved, owner } of deltas) {
    if (moved.length === 0) continue
    const id = `${owner.merchantId} ${owner.environment}`
    const existing = owners.get(id) ?? { owner, sums: makeDeltaSum() }
    owners.set(id, existing)
    moved.forEach(existing.sums.add)
  }
  return [...owners.values()].flatMap(({ owner, sums }) =>
    rowsInAllWidths(sums.nonZero()).map(({ amount, amountPaid, bucket, count, key, rollup, width }) => [
      String(owner.merchantId),
      owner.environment,
      rollup.sum,
      String(width),
      String(bucket),
      key,
      String(count),
      String(amount),
      String(amountPaid)
    ])
  )
}

const sameRowSql = deltaColumns.slice(0, 6).map(({ name }) => `t.${name} = r.${name}`).join(" and ")
const rowsIn = (values: string, count: string) => `(${selectRows(deltaColumns, { values, count })} offset 0) r`

/** The statement that moves those of `count` rows of {@link deltaRows} that are in the table. */
export const updateSums = (values: string, count: string): string =>
  `update rollups t set count = t.count + r.count, amount = t.amount + r.amount, amount_paid = t.amount_paid + r.amount_paid
      from ${rowsIn(values, count)} where ${sameRowSql}`

/** The statement that inserts those that are not. */
export const insertSums = (values: string, count: string): string =>
  `insert into rollups (${deltaColumns.map(({ name }) => name).join(", ")})
      select ${deltaColumns.map(({ name }) => `r.${name}`).join(", ")} from ${rowsIn(values, count)}
      where not exists (select from rollups t where ${sameRowSql} offset 0)`
