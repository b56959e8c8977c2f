/** The chain tables' SQL: rows to domain values and back. Faults of the database are defects here. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { baseUnits } from "../../schemas/Money.ts"
import type { Environment, Family, Network } from "../../schemas/Network.ts"
import type {
  AllocatedTarget,
  ChainPoint,
  InvoiceCoverage,
  JournalEntry,
  NetworkCondition,
  ReceiveTarget,
  TransferStatus
} from "../Chains.ts"
import { systemMerchant, type Write } from "../Commit.ts"
import { transferKey } from "./TransferIdentity.ts"
import type { Repair } from "./Repairs.ts"
import { restoreWallet, type WalletRestore, watchCountPerWallet } from "./Restores.ts"
import type { UnlistedEntry } from "./UnlistedTransfers.ts"

/** A point of the ring, with the block's time in epoch seconds. */
export interface RingPoint extends ChainPoint {
  readonly time: number
}

/** Where a follower stands: its newest points, newest first. */
export interface Cursor {
  readonly recent: ReadonlyArray<RingPoint>
  /** The network's own mark as it was last told; null: its node knows none. */
  readonly finalized: bigint | null
  /** Epoch seconds of the chain's last answer. */
  readonly answeredAt: number
  /** As `NetworkCoverage.seenUntil`, for the points of this row. */
  readonly seenUntil: number | null
  /** Of the chain's nodes when the row was stored; silence is told by `answeredAt`. */
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

/** Heads of chains by {@link cursorId}, as the followers here had read them up to the end. */
export type ChainHeads = Readonly<Record<string, { readonly height: bigint; readonly time: number }>>

/** A target and whose it is. */
export interface TargetRow extends AllocatedTarget {
  readonly family: Family
  readonly merchantId: number
  readonly invoiceId: string
  readonly environment: Environment
  readonly fingerprint: string
  readonly walletIndex: number
  /** Epoch seconds it was given out. */
  readonly createdAt: number
  /** The chains when it was given out; networks that were not read up to their head then are absent. */
  readonly allocationHeads: ChainHeads
}

/** An address that was derived and not given out. */
export interface WalletAddress extends ReceiveTarget {
  readonly family: Family
  readonly fingerprint: string
  readonly walletIndex: number
}

/** What {@link ChainsRepo.allocate} is asked for. */
export interface Allocation {
  readonly fingerprint: string
  readonly family: Family
  /** The counter does not stand below it. */
  readonly startIndex: number
  /** Epoch seconds. */
  readonly now: number
  readonly heads: ChainHeads
  readonly requests: ReadonlyArray<
    Pick<TargetRow, "invoiceId" | "merchantId" | "environment" | "refusedTokens">
  >
}

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
  /** Last height compared. */
  readonly height: bigint
  /** Epoch seconds. */
  readonly openedAt: number
  readonly isOpen: boolean
}

/** What a depth check needs to know of a chain. */
export interface ChainHeights {
  readonly head: bigint
  readonly finalized: bigint | null
}

export const transferId = (network: Network, environment: Environment, txHash: string, index: number): string =>
  `${network}:${environment}:${txHash}:${index}`

/** The primary key makes a match key unique in its family. */
export const targetId = (family: Family, matchKey: string): string => `${family}:${matchKey}`

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

/** A wallet's owner, once and for all. */
export const walletOwnerWrite = (fingerprint: string, merchantId: number): Write => ({
  table: "wallet_owners",
  row: { fingerprint, merchant_id: merchantId, version: 1 }
})

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
    height: row.height.toString(),
    opened_at: row.openedAt,
    open: row.isOpen
  }
})

const heightText = (height: bigint | null): string | null => height === null ? null : height.toString()

export const repairWrite = (repair: Repair): Write => ({
  table: "chain_repairs",
  row: {
    id: repair.id,
    merchant_id: systemMerchant,
    version: repair.version,
    network: repair.network,
    environment: repair.environment,
    kind: repair.kind,
    from_height: heightText(repair.from),
    to_height: heightText(repair.to),
    next_height: heightText(repair.next),
    final_before: heightText(repair.finalBefore),
    since: repair.since,
    credited: repair.credited,
    status: repair.status,
    reason: repair.reason,
    requested_at: repair.requestedAt
  }
})

type Raw = Readonly<Record<string, any>>

const count = (value: unknown): number => Number(value as bigint | number)

const readEntry = (raw: Raw): JournalEntry => ({
  id: raw["id"],
  network: raw["network"],
  environment: raw["environment"],
  txHash: raw["tx_hash"],
  index: raw["tx_index"],
  kind: raw["kind"],
  merchantId: raw["merchant_id"],
  invoiceId: raw["invoice_id"],
  matchKey: raw["match_key"],
  tokenAddress: raw["token_address"],
  amount: baseUnits(BigInt(raw["amount"])),
  from: raw["sender"],
  height: BigInt(raw["height"]),
  blockHash: raw["block_hash"],
  blockTime: count(raw["block_time"]),
  observedAt: count(raw["observed_at"]),
  status: raw["status"] as TransferStatus,
  handledStatus: raw["handled"],
  requiredDepth: raw["required_blocks"] === null
    ? null
    : {
      blocks: raw["required_blocks"],
      finalized: raw["required_finalized"],
      ...(raw["required_agreement"] ? { agreement: true } : {})
    },
  confirmations: raw["confirmations"],
  attempts: raw["attempts"],
  reorgedAfterFinality: raw["reorged_after_finality"],
  isUnlisted: raw["unlisted"],
  version: count(raw["version"])
})

const readHeights = (raw: Raw): ChainHeights | null =>
  raw["head"] === null
    ? null
    : { head: BigInt(raw["head"]), finalized: raw["finalized"] === null ? null : BigInt(raw["finalized"]) }

const readTarget = (raw: Raw): TargetRow => ({
  address: raw["address"],
  matchKey: raw["match_key"],
  memo: raw["memo"],
  family: raw["family"],
  merchantId: raw["merchant_id"],
  invoiceId: raw["invoice_id"],
  environment: raw["environment"],
  fingerprint: raw["fingerprint"],
  walletIndex: count(raw["wallet_index"]),
  refusedTokens: raw["refused_tokens"],
  createdAt: count(raw["created_at"]),
  allocationHeads: readHeads(raw["allocation_heads"])
})

const readHeads = (stored: Readonly<Record<string, readonly [height: string, time: number]>>): ChainHeads =>
  Object.fromEntries(
    Object.entries(stored).map(([network, [height, time]]) => [network, { height: BigInt(height), time }])
  )

const headsJson = (heads: ChainHeads): string =>
  JSON.stringify(Object.fromEntries(
    Object.entries(heads).map(([network, { height, time }]) => [network, [height.toString(), time]])
  ))

const readAddress = (raw: Raw): WalletAddress => ({
  family: raw["family"],
  fingerprint: raw["fingerprint"],
  walletIndex: count(raw["wallet_index"]),
  address: raw["address"],
  matchKey: raw["match_key"],
  memo: raw["memo"]
})

const readBalance = (raw: Raw): BalanceRow => ({
  id: raw["id"],
  merchantId: raw["merchant_id"],
  version: count(raw["version"]),
  network: raw["network"],
  environment: raw["environment"],
  matchKey: raw["match_key"],
  invoiceId: raw["invoice_id"],
  address: raw["address"],
  sinceHeight: BigInt(raw["since_height"]),
  sinceBalance: raw["since_balance"] === null ? null : BigInt(raw["since_balance"]),
  height: BigInt(raw["height"]),
  openedAt: count(raw["opened_at"]),
  isOpen: raw["open"]
})

const readCursor = (raw: Raw): Cursor => ({
  recent: (raw["recent"] as ReadonlyArray<{ height: string; hash: string; time: number }>).map((point) => ({
    height: BigInt(point.height),
    hash: point.hash,
    time: point.time
  })),
  finalized: raw["finalized"] === null ? null : BigInt(raw["finalized"]),
  answeredAt: count(raw["answered_at"]),
  condition: raw["condition"],
  storedAt: count(raw["stored_at"]),
  seenUntil: raw["seen_until"] === null ? null : count(raw["seen_until"]),
  caughtUpToken: raw["caught_up_token"] === null ? null : BigInt(raw["caught_up_token"]),
  searchedHeight: raw["searched"] === null ? null : BigInt(raw["searched"]),
  singleSourceFrom: raw["searched_alone"] === null ? null : BigInt(raw["searched_alone"]),
  version: count(raw["version"])
})

const readHeight = (value: unknown): bigint | null => value === null ? null : BigInt(value as bigint | string)

const readRepair = (raw: Raw): Repair => ({
  id: raw["id"],
  network: raw["network"],
  environment: raw["environment"],
  kind: raw["kind"],
  from: readHeight(raw["from_height"]),
  to: readHeight(raw["to_height"]),
  next: readHeight(raw["next_height"]),
  finalBefore: readHeight(raw["final_before"]),
  since: raw["since"] === null ? null : count(raw["since"]),
  credited: raw["credited"],
  status: raw["status"],
  reason: raw["reason"],
  requestedAt: count(raw["requested_at"]),
  version: count(raw["version"])
})

const readRestore = (raw: Raw): WalletRestore => ({
  fingerprint: raw["fingerprint"],
  fromIndex: count(raw["from_index"]),
  toIndex: count(raw["to_index"]),
  watchedTo: count(raw["watched_to"])
})

/** What {@link ChainsRepo.declareRestore} is asked for. */
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
  }>
  /** Addresses that may be watched beside those that are. */
  readonly capacity: number
}

/** Milliseconds a declaration waits for allocations that are under way. */
const restoreLockMillis = 2_000

/** The queries of this folder, over one client. */
export const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = <A>(read: (raw: Raw) => A) => (query: Effect.Effect<ReadonlyArray<object>, unknown>) =>
    Effect.orDie(Effect.map(query, (found) => found.map(read)))
  const entries = rows(readEntry)
  const targets = rows(readTarget)
  const balances = rows(readBalance)
  const addresses = rows(readAddress)
  const first = <A>(found: ReadonlyArray<A>): A | null => found[0] ?? null

  return {
    cursor: (network: Network, environment: Environment) =>
      Effect.map(
        rows(readCursor)(sql`SELECT * FROM chain_cursors WHERE id = ${cursorId(network, environment)}`),
        first
      ),
    /** Entries by id, at most as many as asked for. */
    entriesById: (ids: ReadonlyArray<string>) => entries(sql`SELECT * FROM transfers WHERE id IN ${sql.in(ids)}`),
    transfersOfInvoice: (invoiceId: string) => entries(sql`SELECT * FROM transfers WHERE invoice_id = ${invoiceId}`),
    /**
     * Entries of invoices, whatever their status, with the heights of their network as last stored; null: never
     * followed.
     */
    transfersOfInvoices: (invoices: ReadonlyArray<string>) =>
      rows((raw) => ({ entry: readEntry(raw), heights: readHeights(raw) }))(
        sql`SELECT t.*, c.recent->0->>'height' AS head, c.finalized FROM transfers t
          LEFT JOIN chain_cursors c ON c.id = t.network || ':' || t.environment
          WHERE t.invoice_id IN ${sql.in(invoices)}`
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
        AND height IN ${sql.in(heights)} AND status <> 'reverted'`),
    hasSeenEntries: (network: Network, environment: Environment) =>
      Effect.map(
        rows((raw) => raw["found"] as boolean)(sql`SELECT EXISTS (SELECT FROM transfers WHERE network = ${network}
          AND environment = ${environment} AND status = 'seen') AS found`),
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
        AND status = 'seen' AND confirmations = 0 AND height <= ${to} AND NOT (id = ANY(${except}))
        ORDER BY height LIMIT ${limit}`),
    /**
     * Entries whose status the handler has not dealt with and whose pause is over: tokens of the catalogue first, then
     * merchants in turn and their invoices in turn, with at most `turn` entries of an invoice: of each of its tokens in
     * turn the largest amounts, so that dust waits for payments in whatever block and token it came.
     */
    unhandledEntries: (nowMillis: number, busy: ReadonlyArray<string>, turn: number, limit: number) =>
      entries(sql`SELECT t.* FROM (
          SELECT id, unlisted,
            row_number() OVER (PARTITION BY unlisted, merchant_id ORDER BY place, retry_at, height) AS turn
          FROM (
            SELECT id, unlisted, merchant_id, retry_at, height, row_number() OVER (
              PARTITION BY coalesce(invoice_id, match_key)
              ORDER BY unlisted, rank, retry_at, height, tx_index
            ) AS place
            FROM (
              SELECT *, row_number() OVER (
                PARTITION BY coalesce(invoice_id, match_key), network, token_address
                ORDER BY amount DESC, retry_at, height, tx_index
              ) AS rank
              FROM transfers
              WHERE status <> handled AND retry_at <= ${nowMillis} AND NOT (coalesce(invoice_id, id) = ANY(${busy}))
            ) ranked
          ) due WHERE place <= ${turn} ORDER BY unlisted, turn LIMIT ${limit}
        ) chosen JOIN transfers t USING (id) ORDER BY chosen.unlisted, chosen.turn`),
    /** What is recorded of these targets' transfers of tokens that were not in the catalogue. */
    unlistedTransfers: (network: Network, environment: Environment, matchKeys: ReadonlyArray<string>) =>
      rows((raw): UnlistedEntry => ({
        key: transferKey({ txHash: raw["tx_hash"], index: raw["tx_index"], matchKey: raw["match_key"] }),
        matchKey: raw["match_key"],
        tokenAddress: raw["token_address"],
        isReverted: raw["status"] === "reverted"
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
    /** Repairs of a network, or of an environment where it is null, oldest first: at most one of each kind. */
    repairs: (network: Network | null, environment: Environment) =>
      rows(readRepair)(sql`SELECT * FROM chain_repairs WHERE environment = ${environment}
        AND network = coalesce(${network}, network) ORDER BY requested_at, id`),
    /** Reported entries of networks nobody follows here, once it is known how deep they must be. */
    reportedEntries: (followedIds: ReadonlyArray<string>, limit: number) =>
      entries(sql`SELECT * FROM transfers WHERE status = 'seen' AND confirmations = 0 AND required_blocks IS NOT NULL
        AND NOT (network || ':' || environment = ANY(${followedIds})) LIMIT ${limit}`),
    targetsByKey: (family: Family, environment: Environment, keys: ReadonlyArray<string>) =>
      targets(sql`SELECT * FROM receive_targets WHERE environment = ${environment}
        AND id IN ${sql.in(keys.map((matchKey) => targetId(family, matchKey)))}`),
    /** Addresses of `keys` that are derived and were not given out, of whatever wallet. */
    addressesByKey: (keys: ReadonlyArray<string>) =>
      addresses(sql`SELECT * FROM wallet_addresses WHERE match_key IN ${sql.in(keys)}`),
    /** Addresses of a wallet stored in batches above `batch`. */
    addressesAbove: (fingerprint: string, batch: number) =>
      addresses(sql`SELECT * FROM wallet_addresses WHERE fingerprint = ${fingerprint} AND batch > ${batch}`),
    /** Which of the indices in [from, to) are derived or were given out. */
    derivedIndices: (fingerprint: string, from: number, to: number) =>
      rows((raw) => count(raw["wallet_index"]))(sql`SELECT wallet_index FROM wallet_addresses
        WHERE fingerprint = ${fingerprint} AND wallet_index >= ${from} AND wallet_index < ${to}
        UNION ALL SELECT wallet_index FROM receive_targets
        WHERE fingerprint = ${fingerprint} AND wallet_index >= ${from} AND wallet_index < ${to}`),
    addressCount: Effect.map(
      rows((raw) => count(raw["total"]))(sql`SELECT count(*) AS total FROM wallet_addresses`),
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
        rows((raw) => count(raw["stored"]))(
          sql`SELECT store_addresses_v1(${fingerprint}, ${family}, ${addressesJson}::json) AS stored`
        ),
        (found) => found[0] ?? 0
      )
    },
    /**
     * See runtime/store/sql/allocate_targets_v1.sql. A fault of the database is a failure here: the caller is told to
     * try again.
     */
    allocate: ({ family, fingerprint, heads, now, requests, startIndex }: Allocation) => {
      const requestsJson = JSON.stringify(
        requests.map(({ environment, invoiceId, merchantId, refusedTokens }) => ({
          invoice_id: invoiceId,
          merchant_id: merchantId,
          environment,
          refused_tokens: refusedTokens
        }))
      )
      return Effect.map(
        sql<Raw>`SELECT * FROM allocate_targets_v1(${fingerprint}, ${family}, ${startIndex}::bigint, ${now}::bigint,
          ${headsJson(heads)}::jsonb, ${requestsJson}::json)`,
        ([raw]) => ({
          targets: (raw!["targets"] as ReadonlyArray<Raw>).map(readTarget),
          previous: count(raw!["previous"]),
          next: count(raw!["next"]),
          unusedAddresses: count(raw!["ahead"])
        })
      )
    },
    /** Moves a counter to `index` unless it stands there or beyond. */
    moveCounter: (fingerprint: string, index: number) =>
      Effect.asVoid(Effect.orDie(sql`INSERT INTO wallet_counters AS c (fingerprint, merchant_id, version, next_index)
        VALUES (${fingerprint}, ${systemMerchant}, 1, ${index})
        ON CONFLICT (fingerprint) DO UPDATE SET next_index = excluded.next_index, version = c.version + 1
          WHERE c.next_index < excluded.next_index`)),
    /** What declarations at `since` (epoch seconds) or later made of a wallet. */
    walletRestores: (fingerprint: string, since: number) =>
      rows(readRestore)(sql`SELECT w.* FROM wallet_restores w JOIN restores r USING (backup_time)
        WHERE w.fingerprint = ${fingerprint} AND r.declared_at >= ${since}`),
    /** Wallets of declarations at `since` or later. */
    restoredWallets: (since: number) =>
      rows((raw) => raw["fingerprint"] as string)(sql`SELECT DISTINCT w.fingerprint FROM wallet_restores w
        JOIN restores r USING (backup_time) WHERE r.declared_at >= ${since}`),
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
    declareRestore: ({ backupTime, now, capacity, skip, wallets }: RestoreDeclaration) =>
      sql.withTransaction(Effect.gen(function*() {
        yield* sql`SELECT set_config('lock_timeout', ${String(restoreLockMillis)}, true)`
        const newDeclaration = yield* sql`INSERT INTO restores (backup_time, declared_at) VALUES (${backupTime}, ${now})
          ON CONFLICT DO NOTHING RETURNING backup_time`
        const before = yield* sql<Raw>`SELECT * FROM wallet_restores WHERE backup_time = ${backupTime}`
        const earlier = new Map(before.map((raw) => [raw["fingerprint"] as string, readRestore(raw)]))
        const startIndicesJson = JSON.stringify(
          wallets.map(({ fingerprint, startIndex }) => ({ fingerprint, start: startIndex }))
        )
        if (newDeclaration.length > 0) {
          yield* sql`INSERT INTO wallet_counters (fingerprint, merchant_id, version, next_index)
            SELECT fingerprint, ${systemMerchant}, 1, start
            FROM json_to_recordset(${startIndicesJson}::json) AS (fingerprint text, start bigint) ORDER BY fingerprint
            ON CONFLICT DO NOTHING`
        }
        const counters = yield* sql<
          Raw
        >`SELECT fingerprint, next_index FROM wallet_counters ORDER BY fingerprint FOR UPDATE`
        const walletsByFingerprint = new Map(wallets.map((wallet) => [wallet.fingerprint, wallet]))
        const affectedCounters = counters.filter((raw) => newDeclaration.length > 0 || earlier.has(raw["fingerprint"]))
        const watchCount = watchCountPerWallet(affectedCounters.length, capacity)
        const restores = affectedCounters.map((raw) => {
          const fingerprint = raw["fingerprint"] as string
          const wallet = walletsByFingerprint.get(fingerprint)
          const nextIndex = Math.max(count(raw["next_index"]), wallet?.startIndex ?? 0)
          const found = { fingerprint, nextIndex, size: wallet?.size ?? null }
          return restoreWallet(found, skip, watchCount, earlier.get(fingerprint))
        })
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
        return restores
      })),
    /** Whose wallets these are; absent: nobody's. */
    walletOwners: (fingerprints: ReadonlyArray<string>) =>
      Effect.map(
        rows((raw) => [raw["fingerprint"] as string, raw["merchant_id"] as number] as const)(
          sql`SELECT fingerprint, merchant_id FROM wallet_owners WHERE fingerprint IN ${sql.in(fingerprints)}`
        ),
        (found) => new Map(found)
      ),
    /** When a lease that is held now under this token ends, as the database writes it; null: it is not held. */
    leaseEnd: (name: string, token: bigint) =>
      Effect.map(
        rows((raw) => raw["ends"] as string)(sql`SELECT until::text AS ends FROM leases
          WHERE name = ${name} AND token = ${token} AND until > now()`),
        first
      ),
    /** Highest index of a wallet that a transfer paid to which still stands, given out or not; null: none. */
    highestUsedIndex: (fingerprint: string) =>
      Effect.map(
        rows((raw) => raw["used"] === null ? null : count(raw["used"]))(sql`SELECT greatest(
            (SELECT t.wallet_index FROM receive_targets t
              WHERE t.fingerprint = ${fingerprint} AND (EXISTS (SELECT FROM transfers p
                WHERE p.invoice_id = t.invoice_id AND p.match_key = t.match_key AND p.status <> 'reverted')
                OR EXISTS (SELECT FROM transfers p
                  WHERE p.invoice_id IS NULL AND p.match_key = t.match_key AND p.status <> 'reverted'))
              ORDER BY t.wallet_index DESC LIMIT 1),
            (SELECT max(a.wallet_index) FROM transfers p JOIN wallet_addresses a ON a.match_key = p.match_key
              WHERE p.invoice_id IS NULL AND p.status <> 'reverted' AND a.fingerprint = ${fingerprint})
          ) AS used`),
        (found) => found[0] ?? null
      ),
    targetsByInvoice: (family: Family, invoices: ReadonlyArray<string>) =>
      targets(sql`SELECT * FROM receive_targets WHERE family = ${family} AND invoice_id IN ${sql.in(invoices)}`),
    targetsOfInvoice: (invoiceId: string) =>
      targets(sql`SELECT * FROM receive_targets WHERE invoice_id = ${invoiceId}`),
    /**
     * Families in which these invoices have targets, and what the handler has still to do for them; not those without.
     * A token that is not listed pays nothing, so nobody can hold an invoice's end by sending many.
     */
    coverageOfInvoices: (invoices: ReadonlyArray<string>, failingAttempts: number) =>
      rows((raw) => ({
        invoiceId: raw["invoice_id"] as string,
        families: raw["families"] as ReadonlyArray<Family>,
        handling: raw["handling"] as InvoiceCoverage["handling"]
      }))(sql`SELECT t.invoice_id, array_agg(t.family) AS families, CASE
            WHEN max(j.attempts) IS NULL THEN 'done' WHEN max(j.attempts) < ${failingAttempts} THEN 'under_way' ELSE 'failing'
          END AS handling
        FROM receive_targets t
        LEFT JOIN transfers j ON j.invoice_id = t.invoice_id AND j.status <> j.handled AND NOT j.unlisted
        WHERE t.invoice_id IN ${sql.in(invoices)} GROUP BY t.invoice_id`),
    /** Targets of one wallet in order of allocation, from an index. */
    targetsOfWallet: (fingerprint: string, fromIndex: number, limit: number) =>
      targets(sql`SELECT * FROM receive_targets WHERE fingerprint = ${fingerprint} AND wallet_index >= ${fromIndex}
        ORDER BY wallet_index LIMIT ${limit}`),
    /** Every wallet as of one moment: the index to be given out next, and the newest batch of derived addresses. */
    wallets: rows((raw) => ({
      fingerprint: raw["fingerprint"] as string,
      nextIndex: count(raw["next_index"] ?? 0),
      batch: count(raw["batch"] ?? 0)
    }))(
      sql`SELECT fingerprint, c.next_index, b.batch FROM wallet_counters c FULL JOIN wallet_batches b USING (fingerprint)`
    ),
    counter: (fingerprint: string) =>
      Effect.map(
        rows((raw) => ({ nextIndex: count(raw["next_index"]), version: count(raw["version"]) }))(
          sql`SELECT next_index, version FROM wallet_counters WHERE fingerprint = ${fingerprint}`
        ),
        first
      ),
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
        rows((raw) => BigInt(raw["total"]))(sql`SELECT coalesce(sum(amount), 0) AS total FROM transfers
          WHERE network = ${row.network} AND environment = ${row.environment}
          AND (invoice_id = ${row.invoiceId} OR invoice_id IS NULL)
          AND match_key = ${row.matchKey} AND token_address IS NULL AND status <> 'reverted'
          AND height > ${row.sinceHeight} AND height <= ${to}`),
        (found) => found[0] ?? 0n
      ),
    /** What stands credited by comparing balances at or above a height that was compared, by match key. */
    balanceCredits: (network: Network, environment: Environment, height: bigint, keys: ReadonlyArray<string>) =>
      keys.length === 0 ? Effect.succeed(new Map<string, bigint>()) : Effect.map(
        rows((raw): readonly [string, bigint] => [raw["match_key"], BigInt(raw["credited"])])(
          sql`SELECT b.match_key, sum(t.amount) AS credited FROM target_balances b
            JOIN transfers t ON t.network = b.network AND t.environment = b.environment AND t.invoice_id = b.invoice_id
              AND t.match_key = b.match_key AND t.height >= ${height} AND t.status <> 'reverted'
              AND t.tx_hash LIKE 'balance:%'
            WHERE b.id IN ${sql.in(keys.map((matchKey) => `${network}:${environment}:${matchKey}`))}
              AND b.since_height < ${height} AND b.height >= ${height}
            GROUP BY b.match_key`
        ),
        (found): ReadonlyMap<string, bigint> => new Map(found)
      )
  }
})

export type ChainsRepo = Effect.Success<typeof make>
