/** Wallets: whose they are, how far their addresses are given out, and which are derived in advance. */
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { Family } from "../../../schemas/Network.ts"
import type { WalletKind } from "../../../schemas/Wallet.ts"
import type { AddressConflict, ReceiveTarget, WalletOwner } from "../../Chains.ts"
import { systemMerchant, type Write } from "../../Commit.ts"
import { targetId } from "./ReceiveTargets.ts"
import { first, readInteger, rows } from "./Rows.ts"

/** Index of a shared wallet's own account among its addresses: no invoice is ever given it. */
export const accountIndex = -1

/** An address that was derived and not given out. */
export interface WalletAddress extends ReceiveTarget {
  readonly family: Family
  readonly fingerprint: string
  readonly walletIndex: number
}

/** A row of `wallet_addresses`. */
interface AddressColumns {
  readonly family: Family
  readonly fingerprint: string
  readonly wallet_index: bigint
  readonly address: string
  readonly match_key: string
  readonly memo: string | null
}

/** What `claimAddresses` is asked for. */
export interface AddressClaim extends WalletOwner {
  readonly fingerprint: string
  readonly kind: WalletKind
  readonly matchKeys: ReadonlyArray<string>
  /** Addresses that are claimed for one merchant, at most. */
  readonly limit: number
}

/** What `claim_addresses_v1` answers. */
interface ConflictColumns {
  readonly place: bigint | null
  readonly reason: AddressConflict["reason"]
}

/** A wallet's owner, once and for all. */
export const walletOwnerWrite = (fingerprint: string, merchantId: number): Write => ({
  table: "wallet_owners",
  row: { fingerprint, merchant_id: merchantId, version: 1 }
})

const readAddress = (row: AddressColumns): WalletAddress => ({
  family: row.family,
  fingerprint: row.fingerprint,
  walletIndex: readInteger(row.wallet_index),
  address: row.address,
  matchKey: row.match_key,
  memo: row.memo
})

interface CounterColumns {
  readonly next_index: bigint
  readonly version: bigint
}

interface OwnerColumns {
  readonly fingerprint: string
  readonly merchant_id: number
}

/** A wallet's counter or its newest batch: the other is null. All are null in the row of a look that found none. */
interface LookColumns {
  readonly server: string
  readonly running: string
  readonly fingerprint: string | null
  readonly next_index: bigint | null
  readonly batch: bigint | null
}

/** How far a wallet's addresses are given out and derived; 0 where that was not read. */
export interface WalletProgress {
  readonly fingerprint: string
  /** The index to be given out next. */
  readonly nextIndex: number
  /** The newest batch of derived addresses. */
  readonly batch: number
}

/** Wallets as of one moment. */
export interface WalletLook {
  /** When the database's server was started. */
  readonly server: string
  /** The number of the lowest transaction that was under way: all below it had ended. */
  readonly lowestRunning: bigint
  /** A wallet may be in it twice: once with its counter, once with its batch. */
  readonly wallets: ReadonlyArray<WalletProgress>
}

const readLook = (found: ReadonlyArray<LookColumns>): WalletLook => ({
  server: found[0]!.server,
  lowestRunning: BigInt(found[0]!.running),
  wallets: found.flatMap(({ batch, fingerprint, next_index }) =>
    fingerprint === null
      ? []
      : [{ fingerprint, nextIndex: readInteger(next_index ?? 0), batch: readInteger(batch ?? 0) }]
  )
})

/** Queries of wallets and their addresses. */
export const makeWalletQueries = (sql: SqlClient.SqlClient) => {
  const addresses = rows(readAddress)
  const looks = (wallets: Statement.Fragment) =>
    Effect.map(
      rows((row: LookColumns) => row)(sql`SELECT pg_postmaster_start_time()::text AS server,
        pg_snapshot_xmin(pg_current_snapshot())::text AS running, w.*
        FROM (SELECT) one LEFT JOIN (${wallets}) w ON true`),
      readLook
    )
  return {
    /** Every wallet. */
    wallets: looks(sql`SELECT fingerprint, next_index, NULL::bigint AS batch FROM wallet_counters
      WHERE changed_by >= '0'
      UNION ALL SELECT fingerprint, NULL, batch FROM wallet_batches WHERE changed_by >= '0'`),
    /**
     * Wallets that were changed by a transaction which had not ended at a look that told `lowestRunning`. A number
     * above all of this server's is of the one that a backup was made of, and is no change.
     */
    walletsChangedSince: (lowestRunning: bigint) => {
      const numbers = sql`changed_by >= ${lowestRunning.toString()}::xid8
        AND changed_by < pg_snapshot_xmax(pg_current_snapshot())`
      return looks(sql`SELECT fingerprint, next_index, NULL::bigint AS batch FROM wallet_counters WHERE ${numbers}
        UNION ALL SELECT fingerprint, NULL, batch FROM wallet_batches WHERE ${numbers}`)
    },
    counter: (fingerprint: string) =>
      Effect.map(
        rows((row: CounterColumns) => ({ nextIndex: readInteger(row.next_index), version: readInteger(row.version) }))(
          sql`SELECT next_index, version FROM wallet_counters WHERE fingerprint = ${fingerprint}`
        ),
        first
      ),
    /** Moves a counter to `index` unless it stands there or beyond. */
    moveCounter: (fingerprint: string, index: number) =>
      Effect.asVoid(Effect.orDie(sql`INSERT INTO wallet_counters AS c (fingerprint, merchant_id, version, next_index)
        VALUES (${fingerprint}, ${systemMerchant}, 1, ${index})
        ON CONFLICT (fingerprint) DO UPDATE SET next_index = excluded.next_index, version = c.version + 1
          WHERE c.next_index < excluded.next_index`)),
    /** Whose wallets these are; absent: nobody's. */
    walletOwners: (fingerprints: ReadonlyArray<string>) =>
      Effect.map(
        rows((row: OwnerColumns) => [row.fingerprint, row.merchant_id] as const)(
          sql`SELECT fingerprint, merchant_id FROM wallet_owners WHERE fingerprint = ANY(${[...fingerprints]}::text[])`
        ),
        (found) => new Map(found)
      ),
    /** See runtime/store/sql/claim_addresses_v1.sql. A fault of the database is a failure: the caller tries again. */
    claimAddresses: ({ family, fingerprint, kind, limit, matchKeys, merchantId }: AddressClaim) =>
      Effect.map(
        sql<
          ConflictColumns
        >`SELECT * FROM claim_addresses_v1(${fingerprint}, ${family}, ${merchantId}::integer, ${kind},
          ${limit}::integer, ${JSON.stringify(matchKeys)}::json)`,
        ([row]) =>
          row === undefined ? null : { reason: row.reason, place: row.place === null ? null : readInteger(row.place) }
      ),
    isClaimed: (family: Family, key: string) =>
      Effect.map(
        rows(() => true)(sql`SELECT id FROM address_claims WHERE id = ${targetId(family, key)}`),
        (found) => found.length > 0
      ),
    /** Highest index of a wallet that a transfer paid to which still stands, given out or not; null: none. */
    highestUsedIndex: (fingerprint: string) =>
      Effect.map(
        rows(({ used }: { readonly used: bigint | null }) => used === null ? null : readInteger(used))(
          sql`SELECT greatest(
            (SELECT t.wallet_index FROM receive_targets t
              WHERE t.fingerprint = ${fingerprint} AND (EXISTS (SELECT FROM transfers p
                WHERE p.invoice_id = t.invoice_id AND p.match_key = t.match_key AND p.status <> 'reverted')
                OR EXISTS (SELECT FROM transfers p
                  WHERE p.invoice_id IS NULL AND p.match_key = t.match_key AND p.status <> 'reverted'))
              ORDER BY t.wallet_index DESC LIMIT 1),
            (SELECT max(a.wallet_index) FROM transfers p JOIN wallet_addresses a ON a.match_key = p.match_key
              WHERE p.invoice_id IS NULL AND p.status <> 'reverted' AND a.fingerprint = ${fingerprint}
                AND a.wallet_index <> ${accountIndex})
          ) AS used`
        ),
        (found) => found[0] ?? null
      ),
    /** Addresses of `keys` that are derived and were not given out, of whatever wallet. */
    addressesByKey: (keys: ReadonlyArray<string>) =>
      addresses(sql`SELECT * FROM wallet_addresses WHERE match_key = ANY(${[...keys]}::text[])`),
    /** Addresses of a wallet stored in batches above `batch`. */
    addressesAbove: (fingerprint: string, batch: number) =>
      addresses(sql`SELECT * FROM wallet_addresses WHERE fingerprint = ${fingerprint} AND batch > ${batch}`),
    /** Which of the indices in [from, to) are derived or were given out. */
    derivedIndices: (fingerprint: string, from: number, to: number) =>
      rows((row: Pick<AddressColumns, "wallet_index">) => readInteger(row.wallet_index))(
        sql`SELECT wallet_index FROM wallet_addresses
        WHERE fingerprint = ${fingerprint} AND wallet_index >= ${from} AND wallet_index < ${to}
        UNION ALL SELECT wallet_index FROM receive_targets
        WHERE fingerprint = ${fingerprint} AND wallet_index >= ${from} AND wallet_index < ${to}`
      ),
    addressCount: Effect.map(
      rows(({ total }: { readonly total: bigint }) => readInteger(total))(
        sql`SELECT count(*) AS total FROM wallet_addresses`
      ),
      (found) => found[0] ?? 0
    ),
    /** Keeps derived addresses; how many of them were new. */
    storeAddresses: (fingerprint: string, family: Family, newAddresses: ReadonlyArray<WalletAddress>) => {
      const addressesJson = JSON.stringify(
        newAddresses.map(({ address, matchKey, memo, walletIndex }) => ({
          wallet_index: walletIndex,
          address,
          match_key: matchKey,
          memo
        }))
      )
      return Effect.map(
        rows(({ stored }: { readonly stored: bigint }) => readInteger(stored))(
          sql`SELECT store_addresses_v1(${fingerprint}, ${family}, ${addressesJson}::json) AS stored`
        ),
        (found) => found[0] ?? 0
      )
    }
  }
}
