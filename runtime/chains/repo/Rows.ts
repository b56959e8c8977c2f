/** How the queries of this folder read rows. Faults of the database are defects here. */
import { Effect } from "effect"

/** Runs a query, whose rows have these columns, and reads each of them. */
export const rows =
  <Columns extends object, A>(read: (row: Columns) => A) =>
  (query: Effect.Effect<ReadonlyArray<object>, unknown>): Effect.Effect<Array<A>> =>
    Effect.orDie(Effect.map(query, (found) => (found as ReadonlyArray<Columns>).map(read)))

export const first = <A>(found: ReadonlyArray<A>): A | null => found[0] ?? null

/** A `bigint` column as a number: counts, versions, indices and seconds, all far below 2^53. */
export const readInteger = (value: bigint | number): number => Number(value)
