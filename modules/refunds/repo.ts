/** The only SQL of refunds. A database fault is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { hasInOrder, inIndexOrder } from "../../runtime/store/IndexPlans.ts"
import type { Write } from "../../runtime/Commit.ts"
import type { Person } from "../../runtime/PersonalData.ts"
import { makeMerchantDue } from "../../runtime/timers/MerchantDue.ts"
import { PersonApproval } from "../../schemas/Approval.ts"
import { InvoiceId } from "../../schemas/Ids.ts"
import { baseUnits, usdMillis } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { FeeBearer, RefundReason, RefundStatus } from "../../schemas/Refund.ts"
import type { RefundState, RefundTerms, SoleApprovals } from "./machine.ts"
import { isoTime } from "../../schemas/Time.ts"
import type { PayoutSender } from "./rules.ts"

const Row = Schema.Struct({
  merchant_id: Schema.Int,
  id: Schema.String,
  version: Schema.BigInt,
  environment: Environment,
  invoice_id: Schema.NullOr(InvoiceId),
  payment_id: Schema.NullOr(Schema.String),
  /** Units as text, so that no digit is lost. */
  terms: Schema.NullOr(Schema.Struct({
    network: Network,
    tokenAddress: Schema.NullOr(Schema.String),
    units: Schema.String,
    feeBearer: FeeBearer,
    feeUnits: Schema.String,
    isClaimOnly: Schema.Boolean,
    approvals: Schema.Array(PersonApproval),
    rules: Schema.optionalKey(Schema.Struct({ people: Schema.Int, autoApproveLimit: Schema.String })),
    exceptionId: Schema.NullOr(Schema.String),
    receivedTxHash: Schema.optionalKey(Schema.NullOr(Schema.String))
  })),
  claim: Schema.NullOr(
    Schema.Struct({ hash: Schema.String, wrong: Schema.Int, status: Schema.Literals(["open", "used", "ended"]) })
  ),
  source: Schema.Literals(["all", "late"]),
  status: RefundStatus,
  amount: Schema.BigInt,
  fee: Schema.BigInt,
  fee_free: Schema.Boolean,
  /** Its fee as text, so that no digit is lost. */
  quoted: Schema.NullOr(Schema.Struct({ network: Network, fee: Schema.String, validUntil: Schema.Int })),
  destination: Schema.NullOr(
    Schema.Struct({ network: Network, address: Schema.String, memo: Schema.NullOr(Schema.String) })
  ),
  token: Schema.NullOr(
    Schema.Struct({
      id: Schema.NullOr(Schema.Int),
      symbol: Schema.String,
      decimals: Schema.Int,
      address: Schema.optionalKey(Schema.NullOr(Schema.String))
    })
  ),
  token_amount: Schema.NullOr(Schema.String),
  tx_hash: Schema.NullOr(Schema.String),
  balance_transaction_id: Schema.NullOr(Schema.String),
  batch: Schema.NullOr(Schema.Struct({ id: Schema.String, isOut: Schema.Boolean })),
  reason: RefundReason,
  failure_code: Schema.NullOr(Schema.String),
  created_at: Schema.BigInt,
  updated_at: Schema.BigInt,
  due_at: Schema.NullOr(Schema.BigInt)
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

const termsOf = ({ feeUnits, rules, units, ...terms }: NonNullable<typeof Row.Type["terms"]>): RefundTerms => ({
  ...terms,
  units: baseUnits(BigInt(units)),
  feeUnits: baseUnits(BigInt(feeUnits)),
  ...(rules === undefined
    ? {}
    : { rules: { ...rules, autoApproveLimit: usdMillis(BigInt(rules.autoApproveLimit)) } })
})

/** Amounts as text, so that no digit is lost. */
const termsRow = ({ feeUnits, rules, units, ...terms }: RefundTerms) => ({
  ...terms,
  units: units.toString(),
  feeUnits: feeUnits.toString(),
  ...(rules === undefined ? {} : { rules: { ...rules, autoApproveLimit: rules.autoApproveLimit.toString() } })
})

const fromRow = (row: typeof Row.Type): RefundState => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  version: Number(row.version),
  invoiceId: row.invoice_id,
  paymentId: row.payment_id,
  terms: row.terms === null ? null : termsOf(row.terms),
  claim: row.claim,
  source: row.source,
  status: row.status,
  amount: usdMillis(row.amount),
  fee: usdMillis(row.fee),
  feeFree: row.fee_free,
  feeQuote: row.quoted === null ? null : { ...row.quoted, fee: usdMillis(BigInt(row.quoted.fee)) },
  destination: row.destination,
  token: row.token,
  tokenAmount: row.token_amount === null ? null : baseUnits(BigInt(row.token_amount)),
  txHash: row.tx_hash,
  balanceTransactionId: row.balance_transaction_id,
  batch: row.batch,
  reason: row.reason,
  failureCode: row.failure_code,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  dueAt: row.due_at === null ? null : Number(row.due_at)
})

export const refundWrite = (refund: RefundState): Write => ({
  table: "refunds",
  row: {
    merchant_id: refund.merchantId,
    id: refund.id,
    version: refund.version,
    environment: refund.environment,
    invoice_id: refund.invoiceId,
    payment_id: refund.paymentId,
    terms: refund.terms === null ? null : termsRow(refund.terms),
    claim: refund.claim,
    source: refund.source,
    status: refund.status,
    amount: refund.amount.toString(),
    fee: refund.fee.toString(),
    fee_free: refund.feeFree,
    quoted: refund.feeQuote === null ? null : { ...refund.feeQuote, fee: refund.feeQuote.fee.toString() },
    destination: refund.destination,
    token: refund.token,
    token_amount: refund.tokenAmount?.toString() ?? null,
    tx_hash: refund.txHash,
    balance_transaction_id: refund.balanceTransactionId ?? null,
    batch: refund.batch ?? null,
    reason: refund.reason,
    failure_code: refund.failureCode,
    created_at: refund.createdAt,
    updated_at: refund.updatedAt,
    due_at: refund.dueAt
  }
})

/** The transfer that paid a refund, or a line of a batch. */
export interface PayoutProof {
  readonly network: Network
  readonly environment: Environment
  readonly txHash: string
  readonly index: number
  /** The wallet that sent it; null: the network does not say who did. */
  readonly sender: PayoutSender | null
}

/** What a transfer paid. */
export interface PaidByProof {
  readonly merchantId: number
  /** Null: a payout of the merchant's own. */
  readonly refundId: string | null
  /** Null: no batch paid it. */
  readonly line: { readonly batchId: string; readonly line: number } | null
}

/** In place of the fingerprint of a wallet that is none of ours. */
const unknownWallet = "unknown"

/** Keeps it for what it paid; where it is another's by then, the commit is a conflict. */
export const proofWrite = (
  { environment, index, network, sender, txHash }: PayoutProof,
  { line, merchantId, refundId }: PaidByProof
): Write => ({
  table: "payout_proofs",
  row: {
    network,
    environment,
    tx_hash: txHash,
    transfer_index: index,
    version: 1,
    merchant_id: merchantId,
    refund_id: refundId,
    batch_id: line?.batchId ?? null,
    line: line?.line ?? null,
    wallet: sender === null ? null : sender.wallet ?? unknownWallet
  }
})

/** Raises the version, so that of two changes at once one counts anew. */
export const soleApprovalsWrite = (
  { environment, merchantId }: Pick<RefundState, "environment" | "merchantId">,
  { amount, day, version }: SoleApprovals
): Write => ({
  table: "sole_approvals",
  row: { merchant_id: merchantId, environment, day, version: version + 1, amount: amount.toString() }
})

/** Filters of a merchant's list; absent ones do not filter. */
export interface MerchantRefundFilter {
  readonly merchantId: number
  readonly environment: Environment
  readonly status?: RefundStatus
  readonly invoiceId?: string
  /** The exception that they decide. */
  readonly exceptionId?: string
  /** Epoch seconds. */
  readonly createdFrom?: number
  readonly createdTo?: number
}

/** One page: the newest, or those before or after a refund of the same merchant and environment. */
export interface RefundPage {
  readonly cursor: { readonly direction: "older" | "newer"; readonly id: string } | null
  readonly limit: number
}

/** Which refunds: of all merchants or one, of all statuses or one, older than one. */
export interface RefundFilter {
  readonly merchantId: number | null
  readonly status: RefundStatus | null
  readonly before: string | null
  readonly limit: number
}

/** Statuses that somebody has to do something about; those that are over would be counted through all of history. */
export const unfinishedStatuses = [
  "awaiting_destination",
  "pending_approval",
  "processing",
  "failed"
] as const satisfies ReadonlyArray<RefundStatus>

const readRefunds = (rows: Effect.Effect<unknown, unknown>) =>
  rows.pipe(Effect.flatMap(decodeRows), Effect.map((all) => all.map(fromRow)), Effect.orDie)

export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const merchantDue = yield* makeMerchantDue("refunds")
  const read = readRefunds

  return {
    /** By id alone: for operators, and for those who were handed the id by us. */
    find: (id: string): Effect.Effect<RefundState | null> =>
      Effect.map(read(sql`SELECT * FROM refunds WHERE id = ${id}`), ([refund]) => refund ?? null),
    /** Those of these ids that there are. */
    findAll: (ids: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<RefundState>> =>
      ids.length === 0 ? Effect.succeed([]) : read(sql`SELECT * FROM refunds WHERE ${sql.in("id", ids)} ORDER BY id`),
    /** To be paid out on a network, in no batch and not reported as sent, the oldest first. */
    payable: (
      { environment, merchantId, network }: Pick<MerchantRefundFilter, "environment" | "merchantId"> & {
        readonly network: Network
      },
      limit: number
    ): Effect.Effect<ReadonlyArray<RefundState>> =>
      read(sql`SELECT * FROM refunds WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND status = 'processing' AND batch IS NULL AND tx_hash IS NULL AND destination ->> 'network' = ${network}
        ORDER BY id LIMIT ${limit}`),
    /** Oldest first. */
    ofInvoice: (merchantId: number, invoiceId: string): Effect.Effect<ReadonlyArray<RefundState>> =>
      read(sql`SELECT * FROM refunds WHERE merchant_id = ${merchantId} AND invoice_id = ${invoiceId}::uuid
        ORDER BY created_at, id`),
    /** Of money that pays no invoice, oldest first. */
    ofException: (merchantId: number, exceptionId: string): Effect.Effect<ReadonlyArray<RefundState>> =>
      read(sql`SELECT * FROM refunds WHERE merchant_id = ${merchantId} AND terms ->> 'exceptionId' = ${exceptionId}
        AND invoice_id IS NULL ORDER BY created_at, id`),
    /** Newest first. */
    list: ({ before, limit, merchantId, status }: RefundFilter): Effect.Effect<ReadonlyArray<RefundState>> =>
      read(sql`SELECT * FROM refunds WHERE ${
        sql.and([
          sql`true`,
          ...(merchantId === null ? [] : [sql`merchant_id = ${merchantId}`]),
          ...(status === null ? [] : [sql`status = ${status}`]),
          ...(before === null ? [] : [sql`id < ${before}`])
        ])
      } ORDER BY id DESC LIMIT ${limit}`),
    /** Indexes of the transfers of a transaction that have paid something. */
    provenIndexes: ({ environment, network, txHash }: Omit<PayoutProof, "index" | "sender">) =>
      sql<{ index: bigint }>`SELECT transfer_index AS index FROM payout_proofs
        WHERE network = ${network} AND environment = ${environment} AND tx_hash = ${txHash}`.pipe(
        Effect.orDie,
        Effect.map((rows): ReadonlySet<number> => new Set(rows.map(({ index }) => Number(index))))
      ),
    /** Newest first; `hasMore` is in the direction of paging. Null where the cursor is no refund of this list's owner. */
    page: Effect.fnUntraced(function*(filter: MerchantRefundFilter, { cursor, limit }: RefundPage) {
      const { createdFrom, createdTo, environment, exceptionId, invoiceId, merchantId, status } = filter
      const ofOwner = sql`merchant_id = ${merchantId} AND environment = ${environment}`
      if (
        cursor !== null && (yield* read(sql`SELECT * FROM refunds WHERE ${ofOwner} AND id = ${cursor.id}`)).length === 0
      ) {
        return null
      }
      const isNewer = cursor?.direction === "newer"
      // An invoice or exception has few, which are sorted. To a planner without statistics the indexes that begin with
      // the merchant's ids look as good as its own, so ids and the environment are hidden from them.
      const isOfFew = invoiceId !== undefined || exceptionId !== undefined
      const sortedId = isOfFew ? sql`(id || '')` : sql`id`
      const direction = isNewer ? sql`ASC` : sql`DESC`
      // By `refunds_newest_by_status`: most of those in the order of the ids may have another status.
      const isByStatus = !isOfFew && status !== undefined
      const statement = sql`SELECT * FROM refunds WHERE ${
        sql.and([
          sql`merchant_id = ${merchantId}`,
          isOfFew ? sql`environment || '' = ${environment}` : sql`environment = ${environment}`,
          ...(status === undefined ? [] : hasInOrder(sql, sql`status`, status)),
          ...(invoiceId === undefined ? [] : [sql`invoice_id = ${invoiceId}::uuid`]),
          ...(exceptionId === undefined ? [] : [sql`terms ->> 'exceptionId' = ${exceptionId}`]),
          ...(createdFrom === undefined ? [] : [sql`created_at >= ${createdFrom}`]),
          ...(createdTo === undefined ? [] : [sql`created_at <= ${createdTo}`]),
          ...(cursor === null ? [] : [isNewer ? sql`${sortedId} > ${cursor.id}` : sql`${sortedId} < ${cursor.id}`])
        ])
      } ORDER BY ${isByStatus ? sql`status ${direction}, ` : sql``}${sortedId} ${direction} LIMIT ${limit + 1}`
      const rows = yield* read(isByStatus ? inIndexOrder(sql)(statement) : statement)
      const page = rows.slice(0, limit)
      return { refunds: isNewer ? page.toReversed() : page, hasMore: rows.length > limit }
    }),
    /** What went out on the day of UTC of this time on the approval of one person. */
    soleApprovals: (
      { environment, merchantId }: Pick<RefundState, "environment" | "merchantId">,
      nowSeconds: number
    ): Effect.Effect<SoleApprovals> => {
      const day = isoTime(nowSeconds).slice(0, 10)
      return sql<{ amount: bigint; version: bigint }>`SELECT amount, version FROM sole_approvals
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND day = ${day}::date`.pipe(
        Effect.orDie,
        Effect.map(([row]) => ({ day, version: Number(row?.version ?? 0n), amount: usdMillis(row?.amount ?? 0n) }))
      )
    },
    /** Refunds of the whole deployment in each of {@link unfinishedStatuses}; statuses without any are left out. */
    unfinishedCounts: sql<{ status: string; count: bigint }>`SELECT status, count(*) AS count FROM refunds
      WHERE ${sql.in("status", unfinishedStatuses)} GROUP BY status`.pipe(
      Effect.orDie,
      Effect.map((rows): ReadonlyMap<string, number> => new Map(rows.map((row) => [row.status, Number(row.count)])))
    ),
    /** Due when the system's clock says `now`, by their merchants' clocks. */
    due: (now: number, limit: number): Effect.Effect<ReadonlyArray<RefundState>> =>
      Effect.suspend(() => read(sql`SELECT * FROM ${merchantDue.dueRows(now, limit)} due`)),
    /** Epoch seconds of the system's clock at which the earliest is due. */
    nextDue: Effect.orDie(merchantDue.nextDueAt)
  }
})

/** Refunds of a customer's invoices. */
export const makePersonalQueries = Effect.map(SqlClient.SqlClient, (sql) => {
  const ofPerson = ({ customerId, environment, merchantId }: Person) =>
    sql`FROM invoices i JOIN refunds r ON r.merchant_id = i.merchant_id AND r.invoice_id = i.id
      WHERE i.merchant_id = ${merchantId} AND i.customer_id = ${customerId} AND i.environment = ${environment}`
  return {
    /** In the order of their ids, those behind one. */
    ofCustomer: (person: Person, after: string | null, limit: number): Effect.Effect<ReadonlyArray<RefundState>> =>
      readRefunds(sql`SELECT r.* ${ofPerson(person)} AND r.id > ${after ?? ""} ORDER BY r.id LIMIT ${limit}`),
    /** The first that is not over; null: all are. */
    firstOpen: (person: Person): Effect.Effect<RefundState | null> =>
      Effect.map(
        readRefunds(sql`SELECT r.* ${ofPerson(person)} AND ${sql.in("r.status", unfinishedStatuses)}
          ORDER BY r.id LIMIT 1`),
        ([refund]) => refund ?? null
      )
  }
})

export type PersonalQueries = Effect.Success<typeof makePersonalQueries>

export type Repo = Effect.Success<typeof makeRepo>
