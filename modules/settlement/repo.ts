/** The only SQL of settlements. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { makeMerchantDue } from "../../runtime/timers/MerchantDue.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { SettlementStatus } from "../../schemas/Payment.ts"
import type { SettlementState } from "./rules.ts"

export const settlementWrite = (state: SettlementState): Write => ({
  table: "settlements",
  row: {
    merchant_id: state.merchantId,
    payment_id: state.paymentId,
    version: state.version,
    environment: state.environment,
    invoice_id: state.invoiceId,
    driver: state.driver,
    status: state.status,
    retries: state.retries,
    reason: state.reason,
    open: state.isOpen,
    due_at: state.dueAt,
    created_at: state.createdAt,
    updated_at: state.updatedAt
  }
})

type Row = Readonly<Record<string, any>>

const read = (row: Row): SettlementState => ({
  paymentId: row.payment_id,
  merchantId: row.merchant_id,
  environment: row.environment,
  version: Number(row.version),
  invoiceId: row.invoice_id,
  driver: row.driver,
  status: row.status,
  retries: row.retries,
  reason: row.reason,
  isOpen: row.open,
  dueAt: row.due_at === null ? null : Number(row.due_at),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at)
})

/** A driver of an environment, as rows name it. */
export interface EnvironmentDriver {
  readonly environment: Environment
  readonly driver: string
}

/** Where a page of open settlements goes on: after this one. */
export interface Cursor {
  readonly createdAt: number
  readonly paymentId: string
}

export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // Only open ones have a time.
  const merchantDue = yield* makeMerchantDue("settlements")
  const rows = (query: Effect.Effect<ReadonlyArray<Row>, unknown>): Effect.Effect<ReadonlyArray<SettlementState>> =>
    Effect.orDie(Effect.map(query, (found) => found.map(read)))

  return {
    ofInvoice: (merchantId: number, invoiceId: string) =>
      rows(sql<Row>`SELECT * FROM settlements WHERE merchant_id = ${merchantId} AND invoice_id = ${invoiceId}::uuid`),

    /** Open ones due when the system's clock says `now`. */
    due: (now: number, limit: number) =>
      Effect.suspend(() => rows(sql<Row>`SELECT * FROM ${merchantDue.dueRows(now, limit)} due`)),

    /** Open ones of an environment that another driver began: the one that serves it now takes them over. */
    ofOtherDrivers: ({ driver, environment }: EnvironmentDriver, limit: number) =>
      rows(sql<Row>`SELECT * FROM settlements
        WHERE open AND environment = ${environment} AND driver <> ${driver} LIMIT ${limit}`),

    /** Epoch seconds of the system's clock at which the earliest is due. */
    nextDue: Effect.orDie(merchantDue.nextDueAt),

    /** Open ones of an environment at one of `statuses`, oldest first. */
    open: (
      environment: Environment | null,
      statuses: ReadonlyArray<SettlementStatus>,
      after: Cursor | null,
      limit: number
    ) =>
      rows(sql<Row>`SELECT * FROM settlements
        WHERE open ${environment === null ? sql`` : sql`AND environment = ${environment}`} AND status = ANY (${[
        ...statuses
      ]}::text[])
        ${after === null ? sql`` : sql`AND (created_at, payment_id) > (${after.createdAt}, ${after.paymentId}::uuid)`}
        ORDER BY created_at, payment_id LIMIT ${limit}`)
  }
})

export type Repo = Effect.Success<typeof makeRepo>
