/** Where each network was followed to: one row of `chain_cursors` for a network and environment. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { ChainPoint, NetworkCondition } from "../../Chains.ts"
import { systemMerchant, type Write } from "../../Commit.ts"
import { first, readInteger, rows } from "./Rows.ts"

/** A point of the ring, with the block's time in epoch seconds. */
export interface RingPoint extends ChainPoint {
  readonly time: number
}

/** Where a follower stands: its newest points, newest first. */
export interface Cursor {
  readonly recent: ReadonlyArray<RingPoint>
  /** The network's own finality mark as its node last gave it; null: its node knows none. */
  readonly finalized: bigint | null
  /** Epoch seconds of the chain's last answer. */
  readonly answeredAt: number
  /** As `NetworkCoverage.seenUntil`, for the points of this row. */
  readonly seenUntil: number | null
  /** Of the chain's nodes when the row was stored; `answeredAt` shows silence. */
  readonly condition: Exclude<NetworkCondition, "silent">
  /** Epoch seconds the row was stored. */
  readonly storedAt: number
  /** The lease under which it had read its chain up to the end; null: none did. */
  readonly caughtUpToken: bigint | null
  /** Up to this height blocks were searched once more for transfers that were not shown at first; null: none was. */
  readonly searchedHeight: bigint | null
  /** The lowest searched block that may have been searched nowhere but where it was read; null: there is none. */
  readonly singleSourceFrom: bigint | null
  /** 0 before the first row. */
  readonly version: number
}

/** What a depth check needs to know of a chain. */
export interface ChainHeights {
  readonly head: bigint
  readonly finalized: bigint | null
}

/** A row of `chain_cursors`. */
interface CursorColumns {
  readonly recent: ReadonlyArray<{ readonly height: string; readonly hash: string; readonly time: number }>
  readonly finalized: bigint | null
  readonly answered_at: bigint
  readonly condition: Cursor["condition"]
  readonly stored_at: bigint
  readonly seen_until: bigint | null
  readonly caught_up_token: bigint | null
  readonly searched: bigint | null
  readonly searched_alone: bigint | null
  readonly version: bigint
}

/** The heights of a cursor, where one was joined. */
export interface HeightColumns {
  readonly head: string | null
  readonly finalized: bigint | null
}

export const cursorId = (network: Network, environment: Environment): string => `${network}:${environment}`

export const cursorWrite = (network: Network, environment: Environment, cursor: Cursor): Write => ({
  table: "chain_cursors",
  row: {
    id: cursorId(network, environment),
    merchant_id: systemMerchant,
    version: cursor.version,
    network,
    environment,
    recent: cursor.recent.map(({ hash, height, time }) => ({ height: height.toString(), hash, time })),
    finalized: cursor.finalized === null ? null : cursor.finalized.toString(),
    answered_at: cursor.answeredAt,
    condition: cursor.condition,
    stored_at: cursor.storedAt,
    seen_until: cursor.seenUntil,
    caught_up_token: cursor.caughtUpToken === null ? null : cursor.caughtUpToken.toString(),
    searched: cursor.searchedHeight === null ? null : cursor.searchedHeight.toString(),
    searched_alone: cursor.singleSourceFrom === null ? null : cursor.singleSourceFrom.toString()
  }
})

export const readHeights = ({ finalized, head }: HeightColumns): ChainHeights | null =>
  head === null ? null : { head: BigInt(head), finalized }

const readCursor = (row: CursorColumns): Cursor => ({
  recent: row.recent.map(({ hash, height, time }) => ({ height: BigInt(height), hash, time })),
  finalized: row.finalized,
  answeredAt: readInteger(row.answered_at),
  condition: row.condition,
  storedAt: readInteger(row.stored_at),
  seenUntil: row.seen_until === null ? null : readInteger(row.seen_until),
  caughtUpToken: row.caught_up_token,
  searchedHeight: row.searched,
  singleSourceFrom: row.searched_alone,
  version: readInteger(row.version)
})

/** Queries of cursors, and of the leases under which they are stored. */
export const makeCursorQueries = (sql: SqlClient.SqlClient) => ({
  cursor: (network: Network, environment: Environment) =>
    Effect.map(
      rows(readCursor)(sql`SELECT * FROM chain_cursors WHERE id = ${cursorId(network, environment)}`),
      first
    ),
  /** When a lease that is held now under this token ends, as the database writes it; null: it is not held. */
  leaseEnd: (name: string, token: bigint) =>
    Effect.map(
      rows(({ ends }: { readonly ends: string }) => ends)(sql`SELECT until::text AS ends FROM leases
        WHERE name = ${name} AND token = ${token} AND until > now()`),
      first
    )
})
