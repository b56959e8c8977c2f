/** Replies stored for idempotency keys: found many at a time, read, and forgotten after 7 days. */
import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { Environment } from "../../schemas/Network.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { Leases } from "../Leases.ts"
import type { ReplyRenderers } from "../Http.ts"
import type { Secrets } from "../Secrets.ts"
import * as Batch from "./CallBatcher.ts"

/** Where a reply is stored: unique within (merchant, environment). */
export interface ReplySlot {
  readonly merchantId: number
  readonly environment: Environment
  /** `<METHOD> <concrete path> <key>`, and ` <credential>` of calls with private replies. */
  readonly scope: string
}

/** A reply as it was given, byte for byte. */
export interface StoredReply {
  readonly fingerprint: string
  readonly status: number
  readonly body: string
}

/** A reply as a row or a lost commit holds it: with one of `sealedBody` and `reference`. */
export interface ReplyRow {
  readonly fingerprint: string
  readonly status: number
  readonly sealedBody: string | null
  readonly reference: string | null
}

/** Look-ups on their way at once. Two, as the commit log has shards: one gathers while the other is answered. */
const lookUpLanes = 2

/** A look-up that takes longer fails with `SERVICE_UNAVAILABLE`, as a commit does. */
const lookUpTimeout = "5 seconds"

/** The nested look-up is a subquery with a limit, so that each key is an index probe whatever the statistics say. */
const findMany = `
  SELECT i.fingerprint, i.status, i.sealed_body AS "sealedBody", i.reference, k.n
  FROM json_to_recordset($1::json) AS k (n integer, m integer, e text, s text),
    LATERAL (
      SELECT fingerprint, status, sealed_body, reference FROM idempotency
      WHERE merchant_id = k.m AND environment = k.e AND scope = k.s LIMIT 1
    ) AS i`

/** A function that finds the reply of a slot, or null. All that wait at one moment share one query. */
export const makeFind: Effect.Effect<
  (slot: ReplySlot) => Effect.Effect<ReplyRow | null, PublicError>,
  never,
  SqlClient.SqlClient | Scope.Scope
> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* Batch.make(lookUpLanes, (slots: ReadonlyArray<ReplySlot>) => {
    const keys = slots.map(({ merchantId, environment, scope }, n) => ({ n, m: merchantId, e: environment, s: scope }))
    return sql.unsafe<ReplyRow & { readonly n: number }>(findMany, [JSON.stringify(keys)]).pipe(
      Effect.orDie,
      Effect.timeoutOrElse({
        duration: lookUpTimeout,
        orElse: () =>
          Effect.fail(publicError("SERVICE_UNAVAILABLE", {
            retryAfterSeconds: 1,
            reason: `the database did not answer within ${lookUpTimeout} which replies are stored`
          }))
      }),
      Effect.map((rows) => {
        const found = new Array<ReplyRow | null>(slots.length).fill(null)
        for (const row of rows) found[row.n] = row
        return found
      })
    )
  })
})

/** The services a stored reply is read with. */
export interface ReplyContext {
  readonly secrets: Secrets["Service"]
  readonly renderers: ReplyRenderers["Service"]
}

/** The body that a row keeps, if its master key is still configured: opened, or made again. */
const bodyOf = (
  { renderers, secrets }: ReplyContext,
  merchantId: number,
  { reference, sealedBody }: ReplyRow
): Effect.Effect<string | undefined> => {
  if (sealedBody !== null) return Effect.sync(() => secrets.open("reply", sealedBody))
  return reference === null ? Effect.undefined : renderers.render(merchantId, reference)
}

/**
 * A merchant's stored reply as it was given. That its master key is no longer configured is a fault of the deployment.
 */
export const readReply = (
  context: ReplyContext,
  merchantId: number,
  row: ReplyRow
): Effect.Effect<StoredReply> =>
  Effect.flatMap(bodyOf(context, merchantId, row), (body) =>
    body === undefined
      ? Effect.die(new Error("A stored reply cannot be opened: is an older master secret missing?"))
      : Effect.succeed({ fingerprint: row.fingerprint, status: row.status, body }))

/** How long a key is remembered, at least (modules/docs/reference/idempotency.md#retention). */
export const keptDays = 7

/** Rows deleted by one statement, so that it holds its locks for milliseconds. */
const pruneBatch = 1_000

const pauseWhileBehind = "100 millis"
const pauseWhenDone = "1 hour"
/** A round that takes an hour longer than its pause is stuck. */
const leaseOptions = { role: "worker", ttlMillis: 30_000, passMillis: 7_200_000 } as const

/** Ordered, so that it walks the index on age and never the table, whatever the statistics say. */
const deleteOld = `
  DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM idempotency WHERE created_at < now() - interval '${keptDays} days'
    ORDER BY created_at LIMIT ${pruneBatch}
  )) RETURNING 1`

/** Deletes what is older than 7 days, in small batches; answers how many rows went. */
export const pruneOnce: Effect.Effect<number, never, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  let deleted = 0
  for (let rows = pruneBatch; rows === pruneBatch;) {
    rows = (yield* Effect.orDie(sql.unsafe(deleteOld))).length
    deleted += rows
    if (rows === pruneBatch) yield* Effect.sleep(pauseWhileBehind)
  }
  return deleted
})

/** Prunes every hour, on one instance at a time, for as long as the scope lives. A failed round is logged. */
export const prunePeriodically: Effect.Effect<void, never, SqlClient.SqlClient | Leases | Scope.Scope> = Effect.gen(
  function*() {
    const leases = yield* Leases
    const round = pruneOnce.pipe(
      Effect.catchCause((cause) => Effect.logWarning("idempotency keys were not pruned", cause)),
      Effect.andThen(Effect.sleep(pauseWhenDone))
    )
    yield* Effect.forkScoped(
      leases.hold(
        "http-idempotency-prune",
        leaseOptions,
        (_, progress) => Effect.forever(Effect.andThen(progress, round))
      )
    )
  }
)
