/** The only SQL of batches. A database fault is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { PayoutFormat } from "../../runtime/Payouts.ts"
import { makeMerchantDue } from "../../runtime/timers/MerchantDue.ts"
import { PersonApproval } from "../../schemas/Approval.ts"
import { BatchKind, BatchLineStatus, BatchPartStatus, BatchStatus } from "../../schemas/Batch.ts"
import { Metadata } from "../../schemas/Invoice.ts"
import { baseUnits, usdMillis } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import type { PageCursor } from "../../schemas/Page.ts"
import {
  type BatchState,
  type BatchSummary,
  type LineState,
  type LineSum,
  type PartState,
  statusOf
} from "./machine.ts"
import { makeProofs } from "./repo/Proofs.ts"
import { makeReceipts } from "./repo/Receipts.ts"
import { makeReservations } from "./repo/Reservations.ts"

export type { Receipt, ReceiptFilter } from "./repo/Receipts.ts"

/** Heights and units as text, so that no digit is lost. */
const PartRow = Schema.Struct({
  part: Schema.Int,
  status: BatchPartStatus,
  export: Schema.NullOr(Schema.Struct({
    format: PayoutFormat,
    validUntil: Schema.NullOr(Schema.Int),
    trace: Schema.Json,
    builtAt: Schema.String,
    inputs: Schema.Array(Schema.String),
    isSimulated: Schema.Boolean,
    notices: Schema.Array(Schema.String),
    attempt: Schema.Int,
    exportedAt: Schema.Int
  })),
  searchedTo: Schema.NullOr(Schema.String),
  hint: Schema.NullOr(Schema.String),
  txHash: Schema.NullOr(Schema.String),
  fee: Schema.NullOr(Schema.String),
  unexpected: Schema.Array(Schema.Struct({ txHash: Schema.String, index: Schema.Int })),
  isWatched: Schema.Boolean,
  checkAt: Schema.NullOr(Schema.Int),
  releases: Schema.Array(
    Schema.Struct({ person: Schema.String, actor: Schema.String, at: Schema.Int, note: Schema.String })
  )
})

const Row = Schema.Struct({
  merchant_id: Schema.Int,
  id: Schema.String,
  version: Schema.BigInt,
  environment: Environment,
  kind: BatchKind,
  status: BatchStatus,
  network: Network,
  from_address: Schema.NullOr(Schema.String),
  valid_for_seconds: Schema.Int,
  metadata: Metadata,
  content_hash: Schema.String,
  approvals_required: Schema.Int,
  approvals: Schema.Array(PersonApproval),
  is_canceled: Schema.Boolean,
  is_expired: Schema.Boolean,
  parts: Schema.Array(PartRow),
  created_by: Schema.String,
  created_at: Schema.BigInt,
  updated_at: Schema.BigInt,
  closed_at: Schema.NullOr(Schema.BigInt),
  due_at: Schema.NullOr(Schema.BigInt)
})

const LineRow = Schema.Struct({
  batch_id: Schema.String,
  line: Schema.Int,
  version: Schema.BigInt,
  part: Schema.Int,
  status: BatchLineStatus,
  token_id: Schema.NullOr(Schema.Int),
  symbol: Schema.String,
  decimals: Schema.Int,
  token_address: Schema.NullOr(Schema.String),
  units: Schema.String,
  amount: Schema.BigInt,
  destination: Schema.Struct({ address: Schema.String, memo: Schema.NullOr(Schema.String) }),
  source: Schema.NullOr(
    Schema.Struct({ address: Schema.String, salt: Schema.String, height: Schema.String })
  ),
  reference: Schema.String,
  refund_id: Schema.NullOr(Schema.String),
  tx_hash: Schema.NullOr(Schema.String),
  transfer_index: Schema.NullOr(Schema.BigInt)
})

const SumRow = Schema.Struct({
  batch_id: Schema.String,
  part: Schema.Int,
  token_id: Schema.NullOr(Schema.Int),
  symbol: Schema.String,
  decimals: Schema.Int,
  token_address: Schema.NullOr(Schema.String),
  lines: Schema.BigInt,
  units: Schema.String,
  amount: Schema.String
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))
const decodeLines = Schema.decodeUnknownEffect(Schema.Array(LineRow))
const decodeSums = Schema.decodeUnknownEffect(Schema.Array(SumRow))

const partFromRow = (row: typeof PartRow.Type): PartState => ({
  ...row,
  export: row.export === null ? null : { ...row.export, builtAt: BigInt(row.export.builtAt) },
  searchedTo: row.searchedTo === null ? null : BigInt(row.searchedTo),
  fee: row.fee === null ? null : baseUnits(BigInt(row.fee))
})

const partToRow = (part: PartState): typeof PartRow.Encoded => ({
  ...part,
  export: part.export === null ? null : { ...part.export, builtAt: part.export.builtAt.toString() },
  searchedTo: part.searchedTo?.toString() ?? null,
  fee: part.fee?.toString() ?? null
})

const lineFromRow = (row: typeof LineRow.Type): LineState => ({
  line: row.line,
  part: row.part,
  version: Number(row.version),
  status: row.status,
  tokenId: row.token_id,
  symbol: row.symbol,
  decimals: row.decimals,
  tokenAddress: row.token_address,
  units: baseUnits(BigInt(row.units)),
  amount: usdMillis(row.amount),
  destination: row.destination,
  source: row.source === null ? null : { ...row.source, height: BigInt(row.source.height) },
  reference: row.reference,
  refundId: row.refund_id,
  txHash: row.tx_hash,
  transferIndex: row.transfer_index === null ? null : Number(row.transfer_index)
})

const withoutLines = (row: typeof Row.Type): Omit<BatchState, "lines"> => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  version: Number(row.version),
  kind: row.kind,
  network: row.network,
  from: row.from_address,
  validForSeconds: row.valid_for_seconds,
  metadata: row.metadata,
  contentHash: row.content_hash,
  approvalsRequired: row.approvals_required,
  approvals: row.approvals,
  isCanceled: row.is_canceled,
  isExpired: row.is_expired,
  parts: row.parts.map(partFromRow),
  createdBy: row.created_by,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  closedAt: row.closed_at === null ? null : Number(row.closed_at),
  dueAt: row.due_at === null ? null : Number(row.due_at)
})

const fromRow = (row: typeof Row.Type, lines: ReadonlyArray<LineState>): BatchState => ({ ...withoutLines(row), lines })

const sumFromRow = (row: typeof SumRow.Type): LineSum => ({
  part: row.part,
  tokenId: row.token_id,
  symbol: row.symbol,
  decimals: row.decimals,
  tokenAddress: row.token_address,
  lines: Number(row.lines),
  units: baseUnits(BigInt(row.units)),
  amount: usdMillis(BigInt(row.amount))
})

/** The batch without its lines: see {@link lineWrite}. */
export const batchWrite = (batch: BatchState): Write => ({
  table: "batches",
  row: {
    merchant_id: batch.merchantId,
    id: batch.id,
    version: batch.version,
    environment: batch.environment,
    kind: batch.kind,
    status: statusOf(batch),
    network: batch.network,
    from_address: batch.from,
    valid_for_seconds: batch.validForSeconds,
    metadata: batch.metadata,
    content_hash: batch.contentHash,
    approvals_required: batch.approvalsRequired,
    approvals: batch.approvals,
    is_canceled: batch.isCanceled,
    is_expired: batch.isExpired,
    parts: batch.parts.map(partToRow),
    created_by: batch.createdBy,
    created_at: batch.createdAt,
    updated_at: batch.updatedAt,
    closed_at: batch.closedAt,
    due_at: batch.dueAt
  }
})

export const lineWrite = ({ id, merchantId }: Pick<BatchState, "id" | "merchantId">, line: LineState): Write => ({
  table: "batch_lines",
  row: {
    merchant_id: merchantId,
    batch_id: id,
    line: line.line,
    version: line.version,
    part: line.part,
    status: line.status,
    token_id: line.tokenId,
    symbol: line.symbol,
    decimals: line.decimals,
    token_address: line.tokenAddress,
    units: line.units.toString(),
    amount: line.amount.toString(),
    destination: line.destination,
    source: line.source === null ? null : { ...line.source, height: line.source.height.toString() },
    reference: line.reference,
    refund_id: line.refundId,
    tx_hash: line.txHash,
    transfer_index: line.transferIndex
  }
})

/** Makes a batch lose to another one of its merchant that is made at the same time. */
export const batchCounterWrite = (
  { environment, merchantId }: Pick<BatchState, "environment" | "merchantId">,
  version: number
): Write => ({ table: "batch_counters", row: { merchant_id: merchantId, environment, version } })

/** Makes an export that reserves something lose to another one of its merchant and network at the same time. */
export const reservationCounterWrite = (
  { environment, merchantId, network }: Pick<BatchState, "environment" | "merchantId" | "network">,
  version: number
): Write => ({ table: "reservation_counters", row: { merchant_id: merchantId, environment, network, version } })

/** The bytes of an export. */
export interface StoredExport {
  readonly part: number
  readonly attempt: number
  readonly payload: string
}

export const exportWrite = (
  { id, merchantId }: Pick<BatchState, "id" | "merchantId">,
  { attempt, part, payload }: StoredExport,
  now: number
): Write => ({
  table: "batch_exports",
  row: { merchant_id: merchantId, batch_id: id, part, attempt, version: 1, payload, created_at: now }
})

/** Filters of a merchant's list; absent ones do not filter. */
export interface BatchFilter {
  readonly merchantId: number
  readonly environment: Environment
  readonly kind?: BatchKind
  readonly network?: Network
  readonly status?: BatchStatus
  /** Epoch seconds. */
  readonly createdFrom?: number
  readonly createdTo?: number
}

/** A batch that the chain is to be searched for, or that may have ended. */
export type DueBatch = Pick<BatchState, "environment" | "id" | "merchantId" | "network">

/** With the merchants too, because the only index that finds the lines of a batch begins with them. */
const readLines = (sql: SqlClient.SqlClient, batches: ReadonlyArray<typeof Row.Type>) =>
  sql`SELECT * FROM batch_lines WHERE ${
    sql.and([
      sql.in("merchant_id", [...new Set(batches.map(({ merchant_id: merchantId }) => merchantId))]),
      sql.in("batch_id", batches.map(({ id }) => id))
    ])
  } ORDER BY batch_id, line`.pipe(
    Effect.flatMap(decodeLines),
    Effect.orDie,
    Effect.map((rows) => Map.groupBy(rows, (row) => row.batch_id))
  )

/** What the lines of batches come to, counted where they are stored: a batch has hundreds of lines. */
const readSums = (sql: SqlClient.SqlClient, batches: ReadonlyArray<typeof Row.Type>) =>
  batches.length === 0 ? Effect.succeed(new Map<string, ReadonlyArray<typeof SumRow.Type>>()) : sql`SELECT batch_id,
      part, token_address, min(token_id) AS token_id, min(symbol) AS symbol, min(decimals) AS decimals,
      count(*) AS lines, sum(units)::text AS units, sum(amount)::text AS amount
    FROM batch_lines WHERE merchant_id = ${batches[0]!.merchant_id} AND ${
    sql.in("batch_id", batches.map(({ id }) => id))
  } GROUP BY batch_id, part, token_address ORDER BY batch_id, min(line)`.pipe(
    Effect.flatMap(decodeSums),
    Effect.orDie,
    Effect.map((rows): ReadonlyMap<string, ReadonlyArray<typeof SumRow.Type>> =>
      Map.groupBy(rows, (row) => row.batch_id)
    )
  )

export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const merchantDue = yield* makeMerchantDue("batches")

  const read = Effect.fnUntraced(function*(rows: Effect.Effect<unknown, unknown>) {
    const batches = yield* Effect.orDie(Effect.flatMap(rows, decodeRows))
    if (batches.length === 0) return []
    const lines = yield* readLines(sql, batches)
    return batches.map((row) => fromRow(row, (lines.get(row.id) ?? []).map(lineFromRow)))
  })

  return {
    ...makeProofs(sql),
    ...makeReceipts(sql),
    ...makeReservations(sql),
    find: (merchantId: number, id: string): Effect.Effect<BatchState | null> =>
      Effect.map(
        read(sql`SELECT * FROM batches WHERE merchant_id = ${merchantId} AND id = ${id}`),
        ([batch]) => batch ?? null
      ),
    /** Newest first; `hasMore` is in the direction of paging. Null where the cursor is no batch of this list's owner. */
    page: Effect.fnUntraced(function*(filter: BatchFilter, cursor: PageCursor | null, limit: number) {
      const { createdFrom, createdTo, environment, kind, merchantId, network, status } = filter
      const ofOwner = sql`merchant_id = ${merchantId} AND environment = ${environment}`
      if (cursor !== null) {
        const known = yield* Effect.orDie(sql`SELECT 1 FROM batches WHERE ${ofOwner} AND id = ${cursor.id}`)
        if (known.length === 0) return null
      }
      const isNewer = cursor?.direction === "newer"
      const rows = yield* Effect.orDie(Effect.flatMap(
        sql`SELECT * FROM batches WHERE ${
          sql.and([
            ofOwner,
            ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
            ...(network === undefined ? [] : [sql`network = ${network}`]),
            ...(status === undefined ? [] : [sql`status = ${status}`]),
            ...(createdFrom === undefined ? [] : [sql`created_at >= ${createdFrom}`]),
            ...(createdTo === undefined ? [] : [sql`created_at <= ${createdTo}`]),
            ...(cursor === null ? [] : [isNewer ? sql`id > ${cursor.id}` : sql`id < ${cursor.id}`])
          ])
        } ORDER BY id ${isNewer ? sql`ASC` : sql`DESC`} LIMIT ${limit + 1}`,
        decodeRows
      ))
      const sums = yield* readSums(sql, rows.slice(0, limit))
      const page = rows.slice(0, limit).map((row): BatchSummary => ({
        ...withoutLines(row),
        status: row.status,
        sums: (sums.get(row.id) ?? []).map(sumFromRow)
      }))
      return { batches: isNewer ? page.toReversed() : page, hasMore: rows.length > limit }
    }),
    /** How many batches are open, and the version of the merchant's counter, as of one moment. */
    openBatches: (
      { environment, merchantId }: Pick<BatchState, "environment" | "merchantId">
    ): Effect.Effect<{ readonly count: number; readonly version: number }> =>
      sql<{ count: bigint; version: bigint }>`SELECT (
          SELECT count(*) FROM batches
          WHERE merchant_id = ${merchantId} AND environment = ${environment} AND closed_at IS NULL
        ) AS count, coalesce((
          SELECT version FROM batch_counters WHERE merchant_id = ${merchantId} AND environment = ${environment}
        ), 0) AS version`.pipe(
        Effect.orDie,
        Effect.map(([row]) => ({ count: Number(row!.count), version: Number(row!.version) }))
      ),
    /**
     * usd_millis of the payouts that were made in a span and may have left, or may leave. What a batch ends without
     * paying is released; what went to somebody else has left all the same.
     */
    payoutsOf: (
      { environment, merchantId }: Pick<BatchState, "environment" | "merchantId">,
      { from, to }: { readonly from: number; readonly to: number }
    ): Effect.Effect<bigint> =>
      sql<{ used: string }>`SELECT coalesce(sum(l.amount), 0)::text AS used
        FROM batches b JOIN batch_lines l ON l.merchant_id = b.merchant_id AND l.batch_id = b.id
        WHERE b.merchant_id = ${merchantId} AND b.environment = ${environment} AND b.kind = 'payouts'
          AND b.created_at >= ${from} AND b.created_at < ${to} AND l.status <> 'released'`.pipe(
        Effect.orDie,
        Effect.map(([row]) => BigInt(row!.used))
      ),
    /** The bytes of an export; null: it was never given out. */
    exported: (merchantId: number, id: string, part: number, attempt: number): Effect.Effect<string | null> =>
      sql<{ payload: string }>`SELECT payload FROM batch_exports
        WHERE merchant_id = ${merchantId} AND batch_id = ${id} AND part = ${part} AND attempt = ${attempt}`.pipe(
        Effect.orDie,
        Effect.map(([row]) => row?.payload ?? null)
      ),
    /** Batches of a merchant that are not over and that a wallet pays on a network. */
    openOf: (
      { environment, from, merchantId, network }: Pick<BatchState, "environment" | "from" | "merchantId" | "network">
    ): Effect.Effect<ReadonlyArray<BatchState>> =>
      read(sql`SELECT * FROM batches WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND closed_at IS NULL AND network = ${network} AND from_address = ${from} ORDER BY id`),
    /**
     * When the chain is looked at next, and up to where it was. Not by a commit: many looks find nothing, and each
     * commit would be a conflict for whoever changes the batch meanwhile. Nothing where another version is stored by
     * now, which has times of its own.
     */
    storeTimes: ({ dueAt, id, merchantId, parts, version }: BatchState): Effect.Effect<void> =>
      Effect.asVoid(Effect.orDie(
        sql`UPDATE batches SET due_at = ${dueAt}::bigint, parts = ${JSON.stringify(parts.map(partToRow))}::json
          WHERE merchant_id = ${merchantId} AND id = ${id} AND version = ${version}`
      )),
    /** Due when the system's clock says `now`, by their merchants' clocks. Each is read when its turn comes. */
    due: (now: number, limit: number): Effect.Effect<ReadonlyArray<DueBatch>> =>
      Effect.suspend(() =>
        sql<{ merchant_id: number; id: string; environment: Environment; network: Network }>`
          SELECT merchant_id, id, environment, network FROM ${merchantDue.dueRows(now, limit)} due`
      ).pipe(
        Effect.orDie,
        Effect.map((rows) => rows.map(({ merchant_id: merchantId, ...row }): DueBatch => ({ merchantId, ...row })))
      ),
    /** Epoch seconds of the system's clock at which the earliest is due. */
    nextDue: Effect.orDie(merchantDue.nextDueAt)
  }
})

export type Repo = Effect.Success<typeof makeRepo>
