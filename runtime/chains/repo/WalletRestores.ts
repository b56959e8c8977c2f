/** What restored backups made of wallets: declarations, and the addresses they passed over. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { systemMerchant } from "../../Commit.ts"
import { restoreWallet, type WalletRestore, watchCountPerWallet } from "../Restores.ts"
import { readInteger, rows } from "./Rows.ts"
import { accountIndex } from "./Wallets.ts"

/** A row of `wallet_restores`. */
interface RestoreColumns {
  readonly fingerprint: string
  readonly from_index: bigint
  readonly to_index: bigint
  readonly watched_to: bigint
}

/** A row of `wallet_counters`, locked. */
interface CounterColumns {
  readonly fingerprint: string
  readonly next_index: bigint
}

const readRestore = (row: RestoreColumns): WalletRestore => ({
  fingerprint: row.fingerprint,
  fromIndex: readInteger(row.from_index),
  toIndex: readInteger(row.to_index),
  watchedTo: readInteger(row.watched_to)
})

/** What `declareRestore` is asked for. */
export interface RestoreDeclaration {
  /** Epoch seconds, as `now`. */
  readonly backupTime: number
  readonly now: number
  readonly skip: number | null
  /** Wallets this instance knows. */
  readonly wallets: ReadonlyArray<{
    readonly fingerprint: string
    readonly startIndex: number
    readonly size: number | null
    readonly gapLimit: number | null
  }>
  /** Addresses that may be watched beside those that are. */
  readonly capacity: number
}

/** Milliseconds a declaration waits for allocations that are under way. */
const restoreLockMillis = 2_000

/** The counters of all wallets, locked; for a new declaration those of wallets that have none yet are made first. */
const lockCounters = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  wallets: RestoreDeclaration["wallets"],
  isNew: boolean
) {
  if (isNew) {
    const startIndicesJson = JSON.stringify(
      wallets.map(({ fingerprint, startIndex }) => ({ fingerprint, start: startIndex }))
    )
    yield* sql`INSERT INTO wallet_counters (fingerprint, merchant_id, version, next_index)
      SELECT fingerprint, ${systemMerchant}, 1, start
      FROM json_to_recordset(${startIndicesJson}::json) AS (fingerprint text, start bigint) ORDER BY fingerprint
      ON CONFLICT DO NOTHING`
  }
  // A shared wallet has no addresses that a lost invoice was given: what names none of its invoices is its owner's.
  return yield* sql<CounterColumns>`SELECT fingerprint, next_index FROM wallet_counters c
    WHERE NOT EXISTS (SELECT FROM wallet_addresses a
      WHERE a.fingerprint = c.fingerprint AND a.wallet_index = ${accountIndex})
    ORDER BY fingerprint FOR UPDATE`
})

/** Stores what a declaration made of wallets, and moves their counters on. */
const storeRestores = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  backupTime: number,
  restores: ReadonlyArray<WalletRestore>
) {
  const restoresJson = JSON.stringify(
    restores.map(({ fingerprint, fromIndex, toIndex, watchedTo }) => ({
      fingerprint,
      from_index: fromIndex,
      to_index: toIndex,
      watched_to: watchedTo
    }))
  )
  yield* sql`INSERT INTO wallet_restores AS w (backup_time, fingerprint, from_index, to_index, watched_to)
    SELECT ${backupTime}::bigint, fingerprint, from_index, to_index, watched_to
    FROM json_to_recordset(${restoresJson}::json)
      AS (fingerprint text, from_index bigint, to_index bigint, watched_to bigint)
    ON CONFLICT (backup_time, fingerprint) DO UPDATE SET to_index = excluded.to_index`
  yield* sql`UPDATE wallet_counters c SET next_index = w.to_index, version = c.version + 1 FROM wallet_restores w
    WHERE w.backup_time = ${backupTime} AND w.fingerprint = c.fingerprint AND c.next_index < w.to_index`
})

/** See `declareRestore` of {@link makeRestoreQueries}. */
const declareRestore = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  { backupTime, capacity, now, skip, wallets }: RestoreDeclaration
) {
  yield* sql`SELECT set_config('lock_timeout', ${String(restoreLockMillis)}, true)`
  const newDeclaration = yield* sql`INSERT INTO restores (backup_time, declared_at) VALUES (${backupTime}, ${now})
    ON CONFLICT DO NOTHING RETURNING backup_time`
  const before = yield* sql<RestoreColumns>`SELECT * FROM wallet_restores WHERE backup_time = ${backupTime}`
  const earlier = new Map(before.map((row) => [row.fingerprint, readRestore(row)]))
  const isNew = newDeclaration.length > 0
  const counters = yield* lockCounters(sql, wallets, isNew)
  const walletsByFingerprint = new Map(wallets.map((wallet) => [wallet.fingerprint, wallet]))
  const affectedCounters = counters.filter(({ fingerprint }) => isNew || earlier.has(fingerprint))
  const watchCount = watchCountPerWallet(affectedCounters.length, capacity)
  const restores = affectedCounters.map(({ fingerprint, next_index }) => {
    const wallet = walletsByFingerprint.get(fingerprint)
    const nextIndex = Math.max(readInteger(next_index), wallet?.startIndex ?? 0)
    const found = { fingerprint, nextIndex, size: wallet?.size ?? null, gapLimit: wallet?.gapLimit ?? null }
    return restoreWallet(found, skip, watchCount, earlier.get(fingerprint))
  })
  yield* storeRestores(sql, backupTime, restores)
  return restores
})

/** Queries of restores. */
export const makeRestoreQueries = (sql: SqlClient.SqlClient) => ({
  /** What declarations at `since` (epoch seconds) or later made of a wallet. */
  walletRestores: (fingerprint: string, since: number) =>
    rows(readRestore)(sql`SELECT w.* FROM wallet_restores w JOIN restores r USING (backup_time)
      WHERE w.fingerprint = ${fingerprint} AND r.declared_at >= ${since}`),
  /** Wallets of declarations at `since` or later. */
  restoredWallets: (since: number) =>
    rows(({ fingerprint }: { readonly fingerprint: string }) => fingerprint)(
      sql`SELECT DISTINCT w.fingerprint FROM wallet_restores w
      JOIN restores r USING (backup_time) WHERE r.declared_at >= ${since}`
    ),
  /** Forgets addresses that declarations before `since` passed over and nobody has paid to. */
  deleteExpiredRestores: (since: number) =>
    Effect.asVoid(
      Effect.orDie(sql`DELETE FROM wallet_addresses a USING wallet_restores w, restores r, wallet_counters c
      WHERE r.declared_at < ${since} AND w.backup_time = r.backup_time AND c.fingerprint = w.fingerprint
      AND a.fingerprint = w.fingerprint AND a.wallet_index >= w.from_index
      AND a.wallet_index < least(w.watched_to, c.next_index)
      AND NOT EXISTS (SELECT FROM transfers t WHERE t.match_key = a.match_key AND t.invoice_id IS NULL)
      AND NOT EXISTS (SELECT FROM wallet_restores n JOIN restores m USING (backup_time)
        WHERE n.fingerprint = w.fingerprint AND m.declared_at >= ${since})`)
    ),
  /**
   * Moves every wallet's counter on, in one transaction under the counters' locks: an allocation happens before all
   * of it or after. Said again for the same backup, only wallets of the first time are touched, and they only ever
   * move on.
   */
  declareRestore: (declaration: RestoreDeclaration) => sql.withTransaction(declareRestore(sql, declaration))
})
