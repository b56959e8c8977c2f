/** The SQL of notices. A database fault is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { NetworkCondition } from "../../runtime/Chains.ts"
import { systemMerchant, type Write } from "../../runtime/Commit.ts"
import type { Notice } from "../../runtime/Notices.ts"
import { Environment } from "../../schemas/Network.ts"
import type { NetworkWatch } from "./rules.ts"

/** Rows that one call adds up or removes, at most. */
export const rowsPerCall = 1_000

/** A notice that waits, and stands for `count` of them. */
const WaitingNotice = Schema.Struct({
  merchantId: Schema.Int,
  id: Schema.String,
  version: Schema.Int,
  environment: Environment,
  kind: Schema.Literals(["exception", "endpoint", "network"]),
  subject: Schema.String,
  type: Schema.String,
  amount: Schema.NullOr(Schema.BigInt),
  count: Schema.Int,
  createdAt: Schema.Int,
  dueAt: Schema.Int
})
export type WaitingNotice = typeof WaitingNotice.Type

/** Notices that one message tells of. */
export type NoticeGroup = Pick<WaitingNotice, "environment" | "kind" | "merchantId">

const noticeRow = (notice: Omit<WaitingNotice, "dueAt">) => ({
  merchant_id: notice.merchantId,
  id: notice.id,
  version: notice.version,
  environment: notice.environment,
  kind: notice.kind,
  subject: notice.subject,
  type: notice.type,
  amount: notice.amount === null ? null : String(notice.amount),
  count: notice.count,
  created_at: notice.createdAt
})

export const newNoticeWrite = (notice: Notice, environment: Environment, now: number): Write => ({
  table: "notices",
  row: { ...noticeRow({ ...notice, environment, version: 1, count: 1, createdAt: now }), due_at: now }
})

/** The notice once its messages are stored. */
export const sentNoticeWrite = (notice: WaitingNotice): Write => ({
  table: "notices",
  row: { ...noticeRow(notice), version: notice.version + 1 }
})

/** When one of a group was sent last. `version` 0: none was. */
export interface LastSent {
  readonly version: number
  readonly sentAt: number
}

export const lastSentWrite = (
  { environment, kind, merchantId }: NoticeGroup,
  { sentAt, version }: LastSent
): Write => ({
  table: "notice_groups",
  row: { merchant_id: merchantId, environment, kind, version, sent_at: sentAt }
})

const watchId = ({ environment, network }: Pick<NetworkWatch, "environment" | "network">) => `${environment}_${network}`

export const watchWrite = (watch: NetworkWatch): Write => ({
  table: "notice_networks",
  row: {
    id: watchId(watch),
    merchant_id: systemMerchant,
    version: watch.version,
    condition: watch.condition,
    since: watch.since,
    is_told: watch.isTold
  }
})

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => {
  const ofGroup = ({ environment, kind, merchantId }: NoticeGroup) =>
    sql`merchant_id = ${merchantId} AND environment = ${environment} AND kind = ${kind}`
  return {
    /** Epoch seconds; null: nothing waits. */
    nextDue: sql<{ due_at: bigint }>`SELECT due_at FROM notices WHERE due_at IS NOT NULL
      ORDER BY due_at LIMIT 1`.pipe(
      Effect.map(([row]) => row === undefined ? null : Number(row.due_at)),
      Effect.orDie
    ),

    /** Of which something is due. */
    dueGroups: (now: number, limit: number): Effect.Effect<ReadonlyArray<NoticeGroup>> =>
      sql<NoticeGroup>`SELECT DISTINCT merchant_id AS "merchantId", environment, kind FROM notices
        WHERE due_at <= ${now} LIMIT ${limit}`.pipe(Effect.orDie),

    /**
     * Adds up those that wait into the oldest one, as one statement, so that each is counted once whoever else counts
     * or sends; answers how many it added.
     */
    addUp: (group: NoticeGroup): Effect.Effect<number> =>
      Effect.map(
        Effect.orDie(sql<{ added: bigint }>`
          WITH waiting AS (
            SELECT id, created_at FROM notices WHERE ${ofGroup(group)} AND due_at IS NOT NULL
            ORDER BY created_at, id LIMIT ${rowsPerCall} FOR UPDATE
          ), oldest AS (
            SELECT id FROM waiting ORDER BY created_at, id LIMIT 1
          ), gone AS (
            DELETE FROM notices n USING waiting w WHERE n.merchant_id = ${group.merchantId} AND n.id = w.id
              AND w.id <> (SELECT id FROM oldest)
            RETURNING n.count
          ), total AS (
            SELECT count(*) AS added, coalesce(sum(count), 0) AS sum FROM gone
          ), updated AS (
            UPDATE notices SET count = count + (SELECT sum FROM total), version = version + 1
            WHERE merchant_id = ${group.merchantId} AND id = (SELECT id FROM oldest) AND (SELECT added FROM total) > 0
          )
          SELECT added FROM total`),
        ([row]) => Number(row!.added)
      ),

    /** The oldest that waits; null: none does. */
    oldest: (group: NoticeGroup): Effect.Effect<WaitingNotice | null> =>
      sql`SELECT merchant_id AS "merchantId", id, version::float8 AS version, environment, kind, subject, type, amount,
          count, created_at::float8 AS "createdAt", due_at::float8 AS "dueAt"
        FROM notices WHERE ${ofGroup(group)} AND due_at IS NOT NULL ORDER BY created_at, id LIMIT 1`.pipe(
        Effect.flatMap(([row]) =>
          row === undefined ? Effect.succeed(null) : Schema.decodeUnknownEffect(WaitingNotice)(row)
        ),
        Effect.orDie
      ),

    lastSent: (group: NoticeGroup): Effect.Effect<LastSent> =>
      sql<LastSent>`SELECT version::float8 AS version, sent_at::float8 AS "sentAt" FROM notice_groups
        WHERE ${ofGroup(group)}`.pipe(
        Effect.map(([row]) => row ?? { version: 0, sentAt: 0 }),
        Effect.orDie
      ),

    /** Lets what waits in a group wait longer; whoever sends it at the same moment has a conflict. */
    postpone: (group: NoticeGroup, dueAt: number) =>
      sql`UPDATE notices SET due_at = ${dueAt}, version = version + 1
        WHERE ${ofGroup(group)} AND due_at < ${dueAt}`.pipe(
        Effect.asVoid,
        Effect.orDie
      ),

    /** How a network was seen last; one that was never seen works since `now`. */
    watch: (environment: Environment, network: string, now: number): Effect.Effect<NetworkWatch> =>
      sql<{ version: number; condition: NetworkCondition; since: number; is_told: boolean }>`
        SELECT version::float8 AS version, condition, since::float8 AS since, is_told
        FROM notice_networks WHERE id = ${watchId({ environment, network })}`.pipe(
        Effect.map(([row]): NetworkWatch =>
          row === undefined
            ? { network, environment, version: 0, condition: "ok", since: now, isTold: false }
            : {
              network,
              environment,
              version: row.version,
              condition: row.condition,
              since: row.since,
              isTold: row.is_told
            }
        ),
        Effect.orDie
      ),

    /** Removes notices that were made before a moment, also those that nobody sends; answers how many. */
    prune: (before: number) =>
      Effect.map(
        sql`DELETE FROM notices WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM notices WHERE created_at < ${before} ORDER BY created_at LIMIT ${rowsPerCall}
        )) RETURNING 1`,
        (rows) => rows.length
      )
  }
})
export type Repo = Effect.Success<typeof makeRepo>
