/** The journal of transfers: entries of `transfers`, by invoice, block and state. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { JournalEntry } from "../../Chains.ts"
import type { Write } from "../../Commit.ts"
import { transferKey } from "../TransferIdentity.ts"
import type { UnlistedEntry } from "../UnlistedTransfers.ts"
import { type ChainHeights, type HeightColumns, readHeights } from "./Cursors.ts"
import { readInteger, rows } from "./Rows.ts"

/** A row of `transfers`. */
export interface TransferColumns {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint
  readonly network: Network
  readonly environment: Environment
  readonly tx_hash: string
  readonly tx_index: number
  readonly kind: JournalEntry["kind"]
  readonly invoice_id: string | null
  readonly match_key: string
  readonly token_address: string | null
  readonly amount: string
  readonly sender: string | null
  readonly height: bigint
  readonly block_hash: string
  readonly block_time: bigint
  readonly observed_at: bigint
  readonly status: JournalEntry["status"]
  readonly handled: JournalEntry["handledStatus"]
  readonly required_blocks: number | null
  readonly required_finalized: boolean
  readonly required_agreement: boolean
  readonly confirmations: number
  readonly attempts: number
  readonly reorged_after_finality: boolean
  readonly unlisted: boolean
}

export const transferId = (network: Network, environment: Environment, txHash: string, index: number): string =>
  `${network}:${environment}:${txHash}:${index}`

/** The whole row of an entry at `version`. `retryAt`: epoch milliseconds before which the handler is not asked. */
export const transferWrite = (entry: JournalEntry, retryAt = 0): Write => ({
  table: "transfers",
  row: {
    id: entry.id,
    merchant_id: entry.merchantId,
    version: entry.version,
    network: entry.network,
    environment: entry.environment,
    tx_hash: entry.txHash,
    tx_index: entry.index,
    kind: entry.kind,
    invoice_id: entry.invoiceId,
    match_key: entry.matchKey,
    token_address: entry.tokenAddress,
    amount: entry.amount.toString(),
    sender: entry.from,
    height: entry.height.toString(),
    block_hash: entry.blockHash,
    block_time: entry.blockTime,
    observed_at: entry.observedAt,
    status: entry.status,
    handled: entry.handledStatus,
    required_blocks: entry.requiredDepth?.blocks ?? null,
    required_finalized: entry.requiredDepth?.finalized ?? null,
    required_agreement: entry.requiredDepth?.agreement ?? false,
    confirmations: entry.confirmations,
    attempts: entry.attempts,
    retry_at: retryAt,
    reorged_after_finality: entry.reorgedAfterFinality ?? false,
    unlisted: entry.isUnlisted ?? false
  }
})

export const readEntry = (row: TransferColumns): JournalEntry => ({
  id: row.id,
  network: row.network,
  environment: row.environment,
  txHash: row.tx_hash,
  index: row.tx_index,
  kind: row.kind,
  merchantId: row.merchant_id,
  invoiceId: row.invoice_id,
  matchKey: row.match_key,
  tokenAddress: row.token_address,
  amount: baseUnits(BigInt(row.amount)),
  from: row.sender,
  height: row.height,
  blockHash: row.block_hash,
  blockTime: readInteger(row.block_time),
  observedAt: readInteger(row.observed_at),
  status: row.status,
  handledStatus: row.handled,
  requiredDepth: row.required_blocks === null
    ? null
    : {
      blocks: row.required_blocks,
      finalized: row.required_finalized,
      ...(row.required_agreement ? { agreement: true } : {})
    },
  confirmations: row.confirmations,
  attempts: row.attempts,
  reorgedAfterFinality: row.reorged_after_finality,
  isUnlisted: row.unlisted,
  version: readInteger(row.version)
})

type UnlistedColumns = Pick<TransferColumns, "tx_hash" | "tx_index" | "match_key" | "token_address" | "status">

/** Queries of the journal. */
export const makeTransferQueries = (sql: SqlClient.SqlClient) => {
  const entries = rows(readEntry)
  return {
    /** Entries by id, at most as many as asked for. */
    entriesById: (ids: ReadonlyArray<string>) =>
      entries(sql`SELECT * FROM transfers WHERE id = ANY(${[...ids]}::text[])`),
    transfersOfInvoice: (invoiceId: string) => entries(sql`SELECT * FROM transfers WHERE invoice_id = ${invoiceId}`),
    /**
     * Entries of invoices, whatever their status, with the heights of their network as last stored; null: never
     * followed.
     */
    transfersOfInvoices: (invoices: ReadonlyArray<string>) =>
      rows((row: TransferColumns & HeightColumns) => ({ entry: readEntry(row), heights: readHeights(row) }))(
        sql`SELECT t.*, c.recent->0->>'height' AS head, c.finalized FROM transfers t
          LEFT JOIN chain_cursors c ON c.id = t.network || ':' || t.environment
          WHERE t.invoice_id = ANY(${[...invoices]}::text[])`
      ),
    /** Entries still counted that lie above `height`: what a rollback to it undoes. */
    entriesAbove: (network: Network, environment: Environment, height: bigint, limit: number) =>
      entries(sql`SELECT * FROM transfers WHERE network = ${network} AND environment = ${environment}
        AND height > ${height} AND status <> 'reverted' ORDER BY height DESC LIMIT ${limit}`),
    /**
     * Seen entries that are deep enough now, but for those in the blocks `except`. Those the driver has not seen itself
     * (0 confirmations) are not.
     */
    entriesDeepEnough: (
      network: Network,
      environment: Environment,
      heights: ChainHeights,
      limit: number,
      except: ReadonlyArray<string> = []
    ) =>
      entries(sql`SELECT * FROM transfers WHERE network = ${network} AND environment = ${environment}
        AND status = 'seen' AND confirmations > 0 AND required_blocks IS NOT NULL
        AND NOT (block_hash = ANY(${except}))
        AND CASE WHEN required_finalized AND ${heights.finalized}::bigint IS NOT NULL
          THEN height <= ${heights.finalized}::bigint
          ELSE height <= ${heights.head}::bigint - required_blocks + 1 END
        ORDER BY height LIMIT ${limit}`),
    /** Entries that still count in blocks at these heights. */
    entriesAtHeights: (network: Network, environment: Environment, heights: ReadonlyArray<bigint>) =>
      entries(sql`SELECT * FROM transfers WHERE network = ${network} AND environment = ${environment}
        AND height = ANY(${[...heights]}::bigint[]) AND status <> 'reverted'`),
    /** Whether a follower has entries to wait for: those that lie on its chain. */
    hasSeenEntries: (network: Network, environment: Environment) =>
      Effect.map(
        rows(({ found }: { readonly found: boolean }) => found)(
          sql`SELECT EXISTS (SELECT FROM transfers WHERE network = ${network}
          AND environment = ${environment} AND status = 'seen' AND height >= 0) AS found`
        ),
        (found) => found[0] === true
      ),
    /** Reported entries the driver here has not seen, in blocks up to `to`, without those of `except`. */
    unseenReports: (
      network: Network,
      environment: Environment,
      to: bigint,
      except: ReadonlyArray<string>,
      limit: number
    ) =>
      entries(sql`SELECT * FROM transfers WHERE network = ${network} AND environment = ${environment}
        AND status = 'seen' AND confirmations = 0 AND height BETWEEN 0 AND ${to} AND NOT (id = ANY(${except}))
        ORDER BY height LIMIT ${limit}`),
    /** What is recorded of these targets' transfers of tokens that were not in the catalogue. */
    unlistedTransfers: (network: Network, environment: Environment, matchKeys: ReadonlyArray<string>) =>
      rows((row: UnlistedColumns): UnlistedEntry => ({
        key: transferKey({ txHash: row.tx_hash, index: row.tx_index, matchKey: row.match_key }),
        matchKey: row.match_key,
        tokenAddress: row.token_address,
        isReverted: row.status === "reverted"
      }))(sql`SELECT tx_hash, tx_index, match_key, token_address, status FROM transfers WHERE unlisted
        AND match_key = ANY(${matchKeys}) AND network = ${network} AND environment = ${environment}`),
    /** Entries still counted that the driver saw at `from` or above, in order, after the one at (`height`, `id`). */
    activeEntriesFrom: (
      network: Network,
      environment: Environment,
      from: bigint,
      after: { readonly height: bigint; readonly id: string },
      limit: number
    ) =>
      entries(sql`SELECT * FROM transfers WHERE network = ${network} AND environment = ${environment}
        AND height >= ${from} AND status <> 'reverted' AND confirmations > 0
        AND (height, id) > (${after.height}, ${after.id}) ORDER BY height, id LIMIT ${limit}`),
    /** Entries still counted that the driver saw below `height`, newest first. */
    activeEntriesBelow: (network: Network, environment: Environment, height: bigint, limit: number) =>
      entries(sql`SELECT * FROM transfers WHERE network = ${network} AND environment = ${environment}
        AND height < ${height} AND status <> 'reverted' AND confirmations > 0 AND kind = 'direct'
        ORDER BY height DESC LIMIT ${limit}`),
    /** Whether a transfer above `height` is confirmed. */
    hasConfirmedAbove: (network: Network, environment: Environment, height: bigint) =>
      Effect.map(
        entries(sql`SELECT * FROM transfers WHERE network = ${network} AND environment = ${environment}
          AND height > ${height} AND status = 'confirmed' LIMIT 1`),
        ({ length }) => length > 0
      ),
    /** Reported entries of networks nobody follows here, once it is known how deep they must be. */
    reportedEntries: (followedIds: ReadonlyArray<string>, limit: number) =>
      entries(sql`SELECT * FROM transfers WHERE status = 'seen' AND confirmations = 0 AND required_blocks IS NOT NULL
        AND height >= 0 AND NOT (network || ':' || environment = ANY(${followedIds})) LIMIT ${limit}`)
  }
}
