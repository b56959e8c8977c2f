/** Which indices of a wallet instances have claimed to derive: rows of `wallet_derivations`. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { maximumClaimedAhead } from "../DerivationClaims.ts"
import { readInteger } from "./Rows.ts"

/** What `claimDerivation` is asked for. */
export interface DerivationClaim {
  readonly fingerprint: string
  readonly from: number
  readonly count: number
  /** Nothing is claimed where indices up to here are; null: something always is. */
  readonly below: number | null
}

/** Queries of derivations. */
export const makeDerivationQueries = (sql: SqlClient.SqlClient) => ({
  /**
   * Claims the next `count` indices from `from` on that nobody claimed; the first of them. Null: indices up to `below`
   * are claimed already. A fault of the database is a failure.
   */
  claimDerivation: ({ below, count, fingerprint, from }: DerivationClaim) => {
    const furthest = from + maximumClaimedAhead
    return Effect.map(
      sql<{ readonly claimed_to: bigint }>`INSERT INTO wallet_derivations AS d (fingerprint, claimed_to)
        VALUES (${fingerprint}, ${from + count}::bigint)
        ON CONFLICT (fingerprint) DO UPDATE SET claimed_to = ${count}::bigint
          + CASE WHEN d.claimed_to BETWEEN ${from} AND ${furthest} THEN d.claimed_to ELSE ${from} END
          WHERE d.claimed_to < ${below ?? Number.MAX_SAFE_INTEGER} OR d.claimed_to > ${furthest}
        RETURNING claimed_to`,
      ([row]) => row === undefined ? null : readInteger(row.claimed_to) - count
    )
  }
})
