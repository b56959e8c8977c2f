/** Approvals that people have signed: rows in, rows out. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../../runtime/Commit.ts"
import type { ApprovalSignature, ApprovedObject } from "../../../schemas/Approval.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { PageCursor } from "../../../schemas/Page.ts"

/** An approval with everything that it takes to check it anew. */
export interface SignedApproval {
  /** That of its challenge: two answers to one challenge are one row, so only the first is stored. */
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly object: ApprovedObject
  readonly objectId: string
  readonly person: string
  /** The credential of the call, as `Principal.credential` names it. */
  readonly actor: string
  /** Null with the signature: erased with the data of the person who was paid. */
  readonly text: string | null
  readonly signature: ApprovalSignature | null
  readonly at: number
}

export const approvalWrite = (approval: SignedApproval): Write => ({
  table: "approvals",
  row: {
    merchant_id: approval.merchantId,
    id: approval.id,
    version: approval.version,
    environment: approval.environment,
    object: approval.object,
    object_id: approval.objectId,
    person: approval.person,
    actor: approval.actor,
    text: approval.text,
    signature: approval.signature,
    at: approval.at
  }
})

interface Row {
  readonly merchant_id: number
  readonly id: string
  readonly version: bigint
  readonly environment: Environment
  readonly object: ApprovedObject
  readonly object_id: string
  readonly person: string
  readonly actor: string
  readonly text: string | null
  readonly signature: ApprovalSignature | null
  readonly at: bigint
}

const fromRow = (row: Row): SignedApproval => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  version: Number(row.version),
  object: row.object,
  objectId: row.object_id,
  person: row.person,
  actor: row.actor,
  text: row.text,
  signature: row.signature,
  at: Number(row.at)
})

/** Whose approvals, and of what. */
export interface ApprovalFilter {
  readonly merchantId: number
  readonly object: ApprovedObject
  readonly objectId: string
}

/** Approvals of one object that an erasure reads; there are as many as people and changed destinations. */
const maximumErased = 1_000

export const makeApprovalsRepo = Effect.map(SqlClient.SqlClient, (sql) => {
  const ofObject = ({ merchantId, object, objectId }: ApprovalFilter) =>
    sql`merchant_id = ${merchantId} AND object = ${object} AND object_id = ${objectId}`
  const read = (rows: Effect.Effect<ReadonlyArray<Row>, unknown>) =>
    Effect.map(Effect.orDie(rows), (found) => found.map(fromRow))
  return {
    isUsed: (merchantId: number, id: string): Effect.Effect<boolean> =>
      Effect.map(
        Effect.orDie(sql`SELECT 1 FROM approvals WHERE merchant_id = ${merchantId} AND id = ${id}`),
        (rows) => rows.length > 0
      ),
    approvalsOf: (filter: ApprovalFilter): Effect.Effect<ReadonlyArray<SignedApproval>> =>
      read(sql<Row>`SELECT * FROM approvals WHERE ${ofObject(filter)} ORDER BY id LIMIT ${maximumErased}`),
    /** Newest first; `hasMore` is in the direction of paging. Null where the cursor is no approval of this object. */
    approvalPage: Effect.fnUntraced(function*(
      filter: ApprovalFilter,
      { cursor, limit }: { readonly cursor: PageCursor | null; readonly limit: number }
    ) {
      const owned = ofObject(filter)
      if (
        cursor !== null
        && (yield* read(sql<Row>`SELECT * FROM approvals WHERE ${owned} AND id = ${cursor.id}`)).length === 0
      ) return null
      const isNewer = cursor?.direction === "newer"
      const rows = yield* read(
        sql<Row>`SELECT * FROM approvals WHERE ${
          sql.and([owned, ...(cursor === null ? [] : [isNewer ? sql`id > ${cursor.id}` : sql`id < ${cursor.id}`])])
        } ORDER BY id ${isNewer ? sql`ASC` : sql`DESC`} LIMIT ${limit + 1}`
      )
      const page = rows.slice(0, limit)
      return { approvals: isNewer ? page.toReversed() : page, hasMore: rows.length > limit }
    })
  }
})

export type ApprovalsRepo = Effect.Success<typeof makeApprovalsRepo>
