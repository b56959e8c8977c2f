/**
 * Runs of events: those of one merchant (or one of its customers), environment, kind and type. An index holds each run
 * side by side in the order of the ids, so a page of any filter is merged from the ends of a few runs, however rare
 * what it asks for is. Pure.
 */
import { deliveredTypes, type EventType, isCommerceType, isOptIn } from "../../schemas/Event.ts"
import type { EventPosition } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"

/** What makes up a run, but for the merchant and the customer. */
export interface EventRun {
  readonly environment: Environment
  readonly commerce: boolean
  readonly type: EventType
}

/** Which runs are read; absent filters do not filter, but without `types` the opt-in ones are left out. */
export interface RunFilter {
  readonly environment?: Environment | undefined
  readonly commerceOnly?: boolean
  readonly types?: ReadonlyArray<EventType> | undefined
}

const defaultTypes = deliveredTypes.filter((type) => !isOptIn(type))

/** The runs that can have events; an event type that is always or never of commerce has one in each environment. */
export const eventRuns = ({ commerceOnly = false, environment, types = defaultTypes }: RunFilter) =>
  Environment.literals.filter((each) => environment === undefined || each === environment).flatMap((each) =>
    types.flatMap((type): ReadonlyArray<EventRun> =>
      [true, false].filter((commerce) => (isCommerceType(type) ?? commerce) === commerce && (commerce || !commerceOnly))
        .map((commerce) => ({ environment: each, commerce, type }))
    )
  )

/** Positions between two others, which are left out. */
export interface PositionRange {
  readonly after: EventPosition
  readonly before: EventPosition
  readonly order: "ASC" | "DESC"
  readonly limit: number
}

/** Whose runs are merged. */
export interface RunOwner {
  readonly merchantId: number
  readonly customerId?: string | undefined
}

/** Before and after every event: ids have a positive number, and no time of theirs comes near the last one. */
export const firstPosition: EventPosition = { ms: 0n, seq: -1n }
export const lastPosition: EventPosition = { ms: 2n ** 63n - 1n, seq: 2n ** 63n - 1n }

/** Adds a value to those of a statement and answers its placeholder. */
export type AddParameter = (value: unknown) => string

/**
 * A query for the keys (`merchant_id`, `ms`, `seq`) of the first events of all runs together.
 *
 * The row comparison covers all columns of the index. No other index starts with its first column, so the planner
 * cannot walk all events of a merchant. The times are named once more, because partitions are not chosen by a
 * comparison of rows; as an alternative, so that they choose no index: over a short time the key of all merchants
 * would look good.
 */
export const mergedKeys = (
  { customerId, merchantId }: RunOwner,
  runs: ReadonlyArray<EventRun>,
  { after, before, limit, order }: PositionRange,
  addParameter: AddParameter
): string => {
  const ofType = ["environment", "commerce", "type", "merchant_id", "ms", "seq"]
  const names = customerId === undefined ? ofType : ["customer_id", ...ofType]
  const columns = names.join(", ")
  const indexPredicateSql = customerId === undefined ? "type <> ''" : "customer_id IS NOT NULL"
  const customer = customerId === undefined ? "" : `${addParameter(customerId)}::text, `
  const merchant = addParameter(merchantId)
  const rowAt = ({ ms, seq }: EventPosition) =>
    `(${customer}run.environment, run.commerce, run.type, ${merchant}::integer,
      ${addParameter(String(ms))}::bigint, ${addParameter(String(seq))}::bigint)`
  const count = addParameter(limit)
  const environments = addParameter(runs.map(({ environment }) => environment))
  const commerce = addParameter(runs.map(({ commerce }) => commerce))
  const types = addParameter(runs.map(({ type }) => type))
  const first = `${addParameter(String(after.ms))}::bigint`
  return `SELECT found.* FROM unnest(${environments}::text[], ${commerce}::boolean[], ${types}::text[])
      AS run (environment, commerce, type)
    CROSS JOIN LATERAL (SELECT merchant_id, ms, seq FROM events
      WHERE ${indexPredicateSql} AND (${columns}) > ${rowAt(after)} AND (${columns}) < ${rowAt(before)}
        AND (ms >= ${first} AND ms <= ${addParameter(String(before.ms))}::bigint OR ms = ${first})
      ORDER BY ${names.map((column) => `${column} ${order}`).join(", ")} LIMIT ${count}) found
    ORDER BY found.ms ${order}, found.seq ${order} LIMIT ${count}`
}
