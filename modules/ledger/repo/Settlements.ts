/** The SQL of settlements: the rows of `account_balances` that are theirs, and what merchants prefer. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Write } from "../../../runtime/Commit.ts"
import type { PageCursor } from "../../../schemas/Page.ts"
import { type AccountBalance, type BookOwner, settledEnd, settlementPrefix } from "../rules.ts"

/** What a merchant prefers to be settled in; as it was chosen, with its row's version: 0 where nothing was. */
export interface StoredPreference {
  readonly preference: string | null
  readonly version: number
}

export const preferenceWrite = (
  { environment, merchantId }: BookOwner,
  version: number,
  preference: string
): Write => ({
  table: "settlement_preferences",
  row: { merchant_id: merchantId, environment, version, preference }
})

interface Row {
  readonly account: string
  readonly asset: string
  readonly units: string
  readonly usd_millis: bigint
}

export const settlementQueries = (sql: SqlClient.SqlClient) => {
  const select = ({ environment, merchantId }: BookOwner) =>
    sql`SELECT account, asset, units::text AS units, usd_millis FROM account_balances
      WHERE merchant_id = ${merchantId} AND environment = ${environment} 
        AND account >= ${settlementPrefix} AND account < ${settledEnd}`

  const read = (row: Row): AccountBalance => ({
    account: row.account,
    asset: row.asset,
    units: BigInt(row.units),
    usdMillis: row.usd_millis
  })

  /** By id within a merchant: another merchant's is as unknown as none. */
  const findSettlement = (owner: BookOwner, id: string) =>
    sql<Row>`${select(owner)} AND split_part(account, ':', 3) = ${id}`.pipe(
      Effect.orDie,
      Effect.map(([row]) => (row === undefined ? null : read(row)))
    )

  /** Newest first; `hasMore` is in the direction of paging. Null where the cursor is none of theirs. */
  const listSettlements = Effect.fnUntraced(function*(
    owner: BookOwner,
    { cursor, limit }: { readonly cursor: PageCursor | null; readonly limit: number }
  ) {
    const start = cursor === null ? null : yield* findSettlement(owner, cursor.id)
    if (cursor !== null && start === null) return null
    const isNewer = cursor?.direction === "newer"
    const order = isNewer ? sql`ASC` : sql`DESC`
    const beyond = start === null ? sql`` : isNewer
      ? sql`AND (account, asset) > (${start.account}, ${start.asset})`
      : sql`AND (account, asset) < (${start.account}, ${start.asset})`
    const rows = yield* sql<Row>`${select(owner)} ${beyond}
      ORDER BY account ${order}, asset ${order} LIMIT ${limit + 1}`.pipe(Effect.orDie)
    const settlements = rows.slice(0, limit).map(read)
    return { settlements: isNewer ? settlements.toReversed() : settlements, hasMore: rows.length > limit }
  })

  const preference = ({ environment, merchantId }: BookOwner) =>
    sql<{ preference: string; version: bigint }>`SELECT preference, version FROM settlement_preferences
      WHERE merchant_id = ${merchantId} AND environment = ${environment}`.pipe(
      Effect.orDie,
      Effect.map(([row]): StoredPreference =>
        row === undefined ? { preference: null, version: 0 } : {
          preference: row.preference,
          version: Number(row.version)
        }
      )
    )

  return { findSettlement, listSettlements, preference }
}
