/** What wallets held when a month had ended: rows of `chain_balance_readings`. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { systemMerchant, type Write } from "../../../runtime/Commit.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { BookOwner } from "../../ledger/plugin.ts"
import type { WalletReading } from "../rules/Report.ts"

export const readingWrite = ({ environment, merchantId }: BookOwner, reading: WalletReading): Write => ({
  table: "chain_balance_readings",
  row: {
    merchant_id: merchantId,
    environment,
    period: reading.period,
    account: reading.account,
    asset: reading.asset,
    version: 1,
    units: reading.units?.toString() ?? null,
    later_units: reading.laterUnits.toString(),
    forwarded_units: reading.forwardedUnits.toString(),
    has_sent: reading.hasSent,
    height: reading.block?.height.toString() ?? null,
    block_hash: reading.block?.hash ?? null,
    block_time: reading.block?.time ?? null,
    reason: reading.reason,
    read_at: reading.readAt
  }
})

interface ReadingRow {
  readonly period: string
  readonly account: string
  readonly asset: string
  readonly units: string | null
  readonly later_units: string
  readonly forwarded_units: string
  readonly has_sent: boolean
  readonly height: bigint | null
  readonly block_hash: string | null
  readonly block_time: bigint | null
  readonly reason: WalletReading["reason"]
  readonly read_at: bigint
}

const readReading = (row: ReadingRow): WalletReading => ({
  period: row.period,
  account: row.account,
  asset: row.asset,
  units: row.units === null ? null : BigInt(row.units),
  laterUnits: BigInt(row.later_units),
  forwardedUnits: BigInt(row.forwarded_units),
  hasSent: row.has_sent,
  block: row.height === null
    ? null
    : { height: row.height, hash: row.block_hash!, time: Number(row.block_time) },
  reason: row.reason,
  readAt: Number(row.read_at)
})

/** The place of a wallet's asset among all. */
export interface WalletPlace extends BookOwner {
  readonly account: string
  readonly asset: string
}

/** Before every wallet. */
export const firstWallet: WalletPlace = { merchantId: 0, environment: "devnet", account: "", asset: "" }

/** A wallet's account that has held something of an asset, in the books of a merchant, or of the operator. */
export interface WalletAsset extends WalletPlace {
  readonly isRead: boolean
  /** Whether several merchants' money comes to the wallet. */
  readonly isShared: boolean
}

export const makeReadings = (sql: SqlClient.SqlClient) => {
  const columns = sql.literal(
    "period, account, asset, units::text AS units, later_units::text AS later_units, " +
      "forwarded_units::text AS forwarded_units, has_sent, height, block_hash, block_time, reason, read_at"
  )

  /** The last of each wallet's asset before a month that told what was held. */
  const readingsBefore = ({ environment, merchantId }: BookOwner, period: string) =>
    sql<ReadingRow>`SELECT DISTINCT ON (account, asset) ${columns} FROM chain_balance_readings
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND period < ${period} AND units IS NOT NULL
      ORDER BY account, asset, period DESC`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(readReading))
    )

  const readings = ({ environment, merchantId }: BookOwner, period: string) =>
    sql<ReadingRow>`SELECT ${columns} FROM chain_balance_readings
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND period = ${period}`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(readReading))
    )

  /** {@link readings} and {@link readingsBefore} by one statement. */
  const readingsUpTo = ({ environment, merchantId }: BookOwner, period: string) =>
    sql<ReadingRow>`SELECT ${columns} FROM chain_balance_readings
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND period = ${period}
      UNION ALL (
        SELECT DISTINCT ON (account, asset) ${columns} FROM chain_balance_readings
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND period < ${period}
          AND units IS NOT NULL
        ORDER BY account, asset, period DESC
      )`.pipe(
      Effect.orDie,
      Effect.map((rows) => {
        const [readings, earlierReadings] = [true, false].map((isOfPeriod) =>
          rows.filter((row) => (row.period === period) === isOfPeriod).map(readReading)
        )
        return { readings: readings!, earlierReadings: earlierReadings! }
      })
    )

  /** Wallets' assets behind one of them, in order, at most `limit`, and whether a month's reading is there. */
  const walletsAfter = ({ account, asset, environment, merchantId }: WalletPlace, period: string, limit: number) =>
    sql<{
      merchant_id: number
      environment: Environment
      account: string
      asset: string
      is_read: boolean
      is_shared: boolean
    }>`SELECT b.*, EXISTS (
          SELECT FROM account_balances o
          WHERE o.account = b.account AND o.account >= 'chain:' AND o.account < 'chain;' AND o.merchant_id <> b.merchant_id
        ) AS is_shared, EXISTS (
          SELECT FROM chain_balance_readings r WHERE r.merchant_id = b.merchant_id AND r.environment = b.environment
            AND r.period = ${period} AND r.account = b.account AND r.asset = b.asset
        ) AS is_read
      FROM (
        SELECT merchant_id, environment, account, asset FROM account_balances
        WHERE account >= 'chain:' AND account < 'chain;'
          AND (account, merchant_id, environment, asset) > (${account}, ${merchantId}::integer, ${environment}, ${asset})
        ORDER BY account, merchant_id, environment, asset LIMIT ${limit}
      ) b ORDER BY b.account, b.merchant_id, b.environment, b.asset`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map((row): WalletAsset => ({
          merchantId: row.merchant_id,
          environment: row.environment,
          account: row.account,
          asset: row.asset,
          isRead: row.is_read,
          isShared: row.is_shared
        }))
      )
    )

  /** What came to a wallet in blocks from `from` on, up to a height: base units of an asset. */
  const receivedSince = (
    { environment, merchantId }: BookOwner,
    network: string,
    token: string | null,
    fingerprint: string,
    from: number,
    height: bigint
  ) =>
    sql<{ units: string }>`SELECT coalesce(sum(t.amount), 0)::text AS units FROM transfers t
      WHERE t.merchant_id = ${merchantId} AND t.environment = ${environment} AND t.network = ${network}
        AND t.token_address IS NOT DISTINCT FROM ${token} AND t.status <> 'reverted' AND t.block_time >= ${from}
        AND t.height BETWEEN 0 AND ${height} AND t.match_key IN (
          SELECT match_key FROM receive_targets WHERE fingerprint = ${fingerprint}
          UNION SELECT match_key FROM wallet_addresses WHERE fingerprint = ${fingerprint})`.pipe(
      Effect.orDie,
      Effect.map(([row]) => BigInt(row!.units))
    )

  /** Merchants behind one of them whose wallets have received something, each in one of its environments; in order. */
  const ownersAfter = ({ environment, merchantId }: BookOwner, limit: number) =>
    sql<
      { merchant_id: number; environment: Environment }
    >`SELECT DISTINCT merchant_id, environment FROM account_balances
      WHERE (merchant_id, environment) > (${merchantId}::integer, ${environment})
        AND merchant_id <> ${systemMerchant} AND account >= 'chain:' AND account < 'chain;'
      ORDER BY merchant_id, environment LIMIT ${limit}`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map((row): BookOwner => ({ merchantId: row.merchant_id, environment: row.environment }))
      )
    )

  return { ownersAfter, readings, readingsBefore, readingsUpTo, receivedSince, walletsAfter }
}
