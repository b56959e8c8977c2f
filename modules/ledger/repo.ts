/** The only SQL of the ledger. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { BalanceTransactionType } from "../../schemas/BalanceTransaction.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { PageCursor } from "../../schemas/Page.ts"
import { checkBooks } from "./repo/Check.ts"
import { readOfInvoice } from "./repo/OfInvoice.ts"
import { readOtherRefunds } from "./repo/OtherRefunds.ts"
import { settlementQueries } from "./repo/Settlements.ts"
import { readTotals } from "./repo/Totals.ts"
import { readUnbooked } from "./repo/Unbooked.ts"
import {
  type AccountBalance,
  type BookOwner,
  type Group,
  isChainAccount,
  type Postings,
  settledAccount,
  settledEnd,
  type Source,
  type StoredEntry,
  type StoredTransaction
} from "./rules.ts"

const stepOf = ({ kind }: Group): number => (kind === "booked" ? 1 : 2)

const microsPerSecond = 1_000_000

/** The rows of a booking; its balances are moved beside them. `nowMillis`: the merchant's time, which orders them. */
export const bookingWrites = (
  { environment, merchantId }: BookOwner,
  { groups, transactions }: Postings,
  nowMillis: number
): ReadonlyArray<Write> => [
  ...transactions.map((transaction, place): Write => ({
    table: "balance_transactions",
    row: {
      merchant_id: merchantId,
      id: transaction.id,
      version: 1,
      environment,
      type: transaction.type,
      is_pending: transaction.startsPending,
      amount: transaction.amount.toString(),
      net: transaction.net.toString(),
      asset: transaction.asset,
      units: transaction.units.toString(),
      source_object: transaction.source.object,
      source_id: transaction.source.id,
      reverses: transaction.reverses,
      booked_micros: nowMillis * 1_000 + place
    }
  })),
  ...groups.flatMap((group) =>
    group.entries.map((entry, index): Write => ({
      table: "ledger_entries",
      row: {
        merchant_id: merchantId,
        transaction_id: group.transactionId,
        step: stepOf(group),
        line: index + 1,
        version: 1,
        environment,
        kind: group.kind,
        debit: entry.debit,
        credit: entry.credit,
        asset: entry.asset,
        units: entry.units.toString(),
        usd_millis: entry.usdMillis.toString(),
        created_at: group.createdAt,
        payment_id: isChainAccount(entry.debit) || isChainAccount(entry.credit) ? group.paymentId : null
      }
    }))
  )
]

interface TransactionRow {
  readonly id: string
  readonly environment: Environment
  readonly type: BalanceTransactionType
  readonly is_pending: boolean
  readonly amount: bigint
  readonly net: bigint
  readonly asset: string | null
  readonly units: string
  readonly source_object: Source["object"]
  readonly source_id: string
  readonly reverses: string | null
  readonly booked_micros: bigint
}

interface EntryRow {
  readonly transaction_id: string
  readonly kind: Group["kind"]
  readonly debit: string
  readonly credit: string
  readonly asset: string
  readonly units: string
  readonly usd_millis: bigint
  readonly created_at: bigint
}

const readEntry = (row: EntryRow): StoredEntry => ({
  kind: row.kind,
  debit: row.debit,
  credit: row.credit,
  asset: row.asset,
  units: BigInt(row.units),
  usdMillis: row.usd_millis,
  createdAt: Number(row.created_at)
})

const readTransaction = (row: TransactionRow, entries: ReadonlyArray<StoredEntry>): StoredTransaction => ({
  id: row.id,
  environment: row.environment,
  type: row.type,
  startsPending: row.is_pending,
  amount: row.amount,
  net: row.net,
  asset: row.asset,
  units: BigInt(row.units),
  source: { object: row.source_object, id: row.source_id },
  reverses: row.reverses,
  createdAt: Math.floor(Number(row.booked_micros) / microsPerSecond),
  bookedMicros: row.booked_micros,
  entries
})

export { preferenceWrite } from "./repo/Settlements.ts"
export type { BookTotals } from "./repo/Totals.ts"

/** Filters of the list; absent ones do not filter. */
export interface TransactionFilter extends BookOwner {
  readonly type?: BalanceTransactionType
  readonly asset?: string
  readonly sourceId?: string
  /** Epoch seconds. */
  readonly createdFrom?: number
  readonly createdTo?: number
}

/** One page: the newest, or those before or after a transaction of the same merchant and environment. */
export interface TransactionPage {
  readonly cursor: PageCursor | null
  readonly limit: number
}

export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const columns = sql`id, environment, type, is_pending, amount, net, asset, units::text AS units, source_object,
    source_id, reverses, booked_micros`

  const withEntries = Effect.fnUntraced(function*(merchantId: number, rows: ReadonlyArray<TransactionRow>) {
    if (rows.length === 0) return []
    const entries = yield* sql<EntryRow>`SELECT transaction_id, kind, debit, credit, asset, units::text AS units,
        usd_millis, created_at
      FROM ledger_entries WHERE merchant_id = ${merchantId} AND transaction_id = ANY (${
      rows.map(({ id }) => id)
    }::text[])
      ORDER BY transaction_id, step, line`.pipe(Effect.orDie)
    const byTransaction = Map.groupBy(entries, (row) => row.transaction_id)
    return rows.map((row) => readTransaction(row, (byTransaction.get(row.id) ?? []).map(readEntry)))
  })

  /** By id within a merchant: another merchant's is as unknown as none. */
  const find = Effect.fnUntraced(function*({ environment, merchantId }: BookOwner, id: string) {
    const rows = yield* sql<TransactionRow>`SELECT ${columns} FROM balance_transactions
      WHERE merchant_id = ${merchantId} AND id = ${id} AND environment = ${environment}`.pipe(Effect.orDie)
    return (yield* withEntries(merchantId, rows))[0] ?? null
  })

  /** All about one object, the first one first. */
  const ofSource = Effect.fnUntraced(function*(merchantId: number, sourceId: string) {
    const rows = yield* sql<TransactionRow>`SELECT ${columns} FROM balance_transactions
      WHERE merchant_id = ${merchantId} AND source_id = ${sourceId} ORDER BY booked_micros, id`.pipe(Effect.orDie)
    return yield* withEntries(merchantId, rows)
  })

  /** Newest first; `hasMore` is in the direction of paging. Null where the cursor is none of theirs. */
  const list = Effect.fnUntraced(function*(filter: TransactionFilter, { cursor, limit }: TransactionPage) {
    const start = cursor === null ? null : yield* find(filter, cursor.id)
    if (cursor !== null && start === null) return null
    const isNewer = cursor?.direction === "newer"
    const order = isNewer ? sql`ASC` : sql`DESC`
    const conditions = [
      sql`merchant_id = ${filter.merchantId}`,
      sql`environment = ${filter.environment}`,
      ...(filter.asset === undefined ? [] : [sql`asset = ${filter.asset}`]),
      ...(filter.createdFrom === undefined ? [] : [sql`booked_micros >= ${filter.createdFrom * microsPerSecond}`]),
      ...(filter.createdTo === undefined ? [] : [
        sql`booked_micros < ${(filter.createdTo + 1) * microsPerSecond}`
      ]),
      ...(start === null ? [] : [
        isNewer
          ? sql`(booked_micros, id) > (${start.bookedMicros.toString()}::bigint, ${start.id})`
          : sql`(booked_micros, id) < (${start.bookedMicros.toString()}::bigint, ${start.id})`
      ])
    ]
    const types = filter.type === undefined ? BalanceTransactionType.literals : [filter.type]
    const last = sql`ORDER BY booked_micros ${order}, id ${order} LIMIT ${limit + 1}`
    // The transactions of one object are few, and found by it; else a run of each type is read.
    const runs = filter.sourceId === undefined
      ? types.map((type) =>
        sql`(SELECT ${columns} FROM balance_transactions WHERE ${
          sql.and([...conditions, sql`type = ${type}`])
        } ${last})`
      )
      : [
        sql`(SELECT ${columns} FROM balance_transactions
          WHERE ${
          sql.and([...conditions, sql`source_id = ${filter.sourceId}`, sql`type = ANY (${[...types]}::text[])`])
        })`
      ]
    const union = runs.slice(1).reduce((all, run) => sql`${all} UNION ALL ${run}`, runs[0]!)
    const rows = yield* sql<TransactionRow>`SELECT * FROM (${union}) runs ${last}`.pipe(Effect.orDie)
    const transactions = yield* withEntries(filter.merchantId, rows.slice(0, limit))
    return { transactions: isNewer ? transactions.toReversed() : transactions, hasMore: rows.length > limit }
  })

  /**
   * What the accounts of a merchant hold: a row for each account and asset. Settlements, of which there are more every
   * day, are read by themselves: what is before them in the index, and what is behind.
   */
  const balances = ({ environment, merchantId }: BookOwner) => {
    const select = sql`SELECT account, asset, units, usd_millis FROM account_balances
      WHERE merchant_id = ${merchantId} AND environment = ${environment}`
    return sql<{ account: string; asset: string; units: string; usd_millis: bigint }>`
      SELECT account, asset, units::text AS units, usd_millis FROM (
        (${select} AND account < ${settledAccount}) UNION ALL (${select} AND account >= ${settledEnd})
      ) balances ORDER BY asset, account`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map((row): AccountBalance => ({
          account: row.account,
          asset: row.asset,
          units: BigInt(row.units),
          usdMillis: row.usd_millis
        }))
      )
    )
  }

  return {
    balances,
    check: checkBooks(sql),
    find,
    list,
    ofInvoice: readOfInvoice(sql, columns, withEntries),
    ofOtherRefunds: readOtherRefunds(sql),
    ofSource,
    totals: readTotals(sql),
    unbooked: readUnbooked(sql),
    ...settlementQueries(sql)
  }
})

export type Repo = Effect.Success<typeof makeRepo>
