/** Bases that the native balances of targets are compared with, and what was credited since. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { Write } from "../../Commit.ts"
import { first, readInteger, rows } from "./Rows.ts"

/** The base a target's native balance is compared with. */
export interface BalanceRow {
  readonly id: string
  readonly merchantId: number
  readonly version: number
  readonly network: Network
  readonly environment: Environment
  readonly matchKey: string
  readonly invoiceId: string
  readonly address: string
  /** Nothing before or at this height is credited by difference. */
  readonly sinceHeight: bigint
  /** Balance at that height; null until it was read. */
  readonly sinceBalance: bigint | null
  /** What the contract at the address, one of a forwarder wallet, sent to its payee from then up to `forwardedHeight`. */
  readonly forwarded: bigint
  readonly forwardedHeight: bigint
  /** Last height compared. */
  readonly height: bigint
  /** Epoch seconds. */
  readonly openedAt: number
  readonly isOpen: boolean
}

/** A row of `target_balances`. */
interface BalanceColumns {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint
  readonly network: Network
  readonly environment: Environment
  readonly match_key: string
  readonly invoice_id: string
  readonly address: string
  readonly since_height: bigint
  readonly since_balance: string | null
  readonly forwarded: string
  readonly forwarded_height: bigint
  readonly height: bigint
  readonly opened_at: bigint
  readonly open: boolean
}

export const balanceWrite = (row: BalanceRow): Write => ({
  table: "target_balances",
  row: {
    id: row.id,
    merchant_id: row.merchantId,
    version: row.version,
    network: row.network,
    environment: row.environment,
    match_key: row.matchKey,
    invoice_id: row.invoiceId,
    address: row.address,
    since_height: row.sinceHeight.toString(),
    since_balance: row.sinceBalance === null ? null : row.sinceBalance.toString(),
    forwarded: row.forwarded.toString(),
    forwarded_height: row.forwardedHeight.toString(),
    height: row.height.toString(),
    opened_at: row.openedAt,
    open: row.isOpen
  }
})

const readBalance = (row: BalanceColumns): BalanceRow => ({
  id: row.id,
  merchantId: row.merchant_id,
  version: readInteger(row.version),
  network: row.network,
  environment: row.environment,
  matchKey: row.match_key,
  invoiceId: row.invoice_id,
  address: row.address,
  sinceHeight: row.since_height,
  sinceBalance: row.since_balance === null ? null : BigInt(row.since_balance),
  forwarded: BigInt(row.forwarded),
  forwardedHeight: row.forwarded_height,
  height: row.height,
  openedAt: readInteger(row.opened_at),
  isOpen: row.open
})

interface CreditColumns {
  readonly match_key: string
  readonly credited: string
}

/** Queries of balances. */
export const makeBalanceQueries = (sql: SqlClient.SqlClient) => {
  const balances = rows(readBalance)
  return {
    balance: (id: string) => Effect.map(balances(sql`SELECT * FROM target_balances WHERE id = ${id}`), first),
    balancesOfInvoice: (invoiceId: string) =>
      balances(sql`SELECT * FROM target_balances WHERE invoice_id = ${invoiceId}`),
    /** Open bases not yet read, or not yet compared at `height`, longest untouched first. */
    openBalances: (network: Network, environment: Environment, height: bigint, limit: number) =>
      balances(sql`SELECT * FROM target_balances WHERE open AND network = ${network}
        AND environment = ${environment} AND (since_balance IS NULL OR height < ${height})
        ORDER BY since_balance IS NOT NULL, height LIMIT ${limit}`),
    /** Bases taken above `height`: a rollback to it takes them anew. */
    balancesAbove: (network: Network, environment: Environment, height: bigint, limit: number) =>
      balances(sql`SELECT * FROM target_balances WHERE open AND network = ${network}
        AND environment = ${environment} AND height > ${height} LIMIT ${limit}`),
    /** Native credits the journal knows of in (from, to]. */
    nativeCredits: (row: BalanceRow, to: bigint) =>
      Effect.map(
        rows(({ total }: { readonly total: string }) => BigInt(total))(
          sql`SELECT coalesce(sum(amount), 0) AS total FROM transfers
          WHERE network = ${row.network} AND environment = ${row.environment}
          AND (invoice_id = ${row.invoiceId} OR invoice_id IS NULL)
          AND match_key = ${row.matchKey} AND token_address IS NULL AND status <> 'reverted'
          AND height > ${row.sinceHeight} AND height <= ${to}`
        ),
        (found) => found[0] ?? 0n
      ),
    /** What stands credited by comparing balances at or above a height that was compared, by match key. */
    balanceCredits: (network: Network, environment: Environment, height: bigint, keys: ReadonlyArray<string>) =>
      keys.length === 0 ? Effect.succeed(new Map<string, bigint>()) : Effect.map(
        rows((row: CreditColumns): readonly [string, bigint] => [row.match_key, BigInt(row.credited)])(
          sql`SELECT b.match_key, sum(t.amount) AS credited FROM target_balances b
            JOIN transfers t ON t.network = b.network AND t.environment = b.environment AND t.invoice_id = b.invoice_id
              AND t.match_key = b.match_key AND t.height >= ${height} AND t.status <> 'reverted'
              AND t.tx_hash LIKE 'balance:%'
            WHERE b.id = ANY(${keys.map((matchKey) => `${network}:${environment}:${matchKey}`)}::text[])
              AND b.since_height < ${height} AND b.height >= ${height}
            GROUP BY b.match_key`
        ),
        (found): ReadonlyMap<string, bigint> => new Map(found)
      )
  }
}
