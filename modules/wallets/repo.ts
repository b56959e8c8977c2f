/** The only SQL of receiving wallets. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { WalletOwner } from "../../runtime/Chains.ts"
import type { Write } from "../../runtime/Commit.ts"
import type { Environment, Family } from "../../schemas/Network.ts"
import type { WalletKind } from "../../schemas/Wallet.ts"
import { dueAt, type OwnedWallet, type WalletProposal, type WalletState } from "./rules.ts"

/**
 * The row of an owner: its version, 0 while there is none, and the wallet, null while there is none or it was removed.
 */
export interface WalletRow {
  readonly version: number
  readonly wallet: WalletState | null
  /** Another wallet that waits to take its place; null: none does. */
  readonly proposal: WalletProposal | null
}

/** The row, and whose it is. */
export interface OwnedRow extends WalletRow {
  readonly owner: WalletOwner
}

/** What a wallet was made of, kept for ever. */
export interface WalletValue extends WalletOwner {
  readonly fingerprint: string
  readonly version: number
  readonly kind: WalletKind
  readonly value: string
  readonly seed: string | null
  /** Of a forwarder: whether its payee was a contract on any network when it was set. */
  readonly isPayeeContract: boolean | null
  /** Epoch seconds; null: the owner has not shown yet that the recovery document is kept elsewhere. */
  readonly recoveryConfirmedAt: number | null
  readonly createdAt: number
}

interface ValueRow {
  readonly fingerprint: string
  readonly version: bigint
  readonly merchant_id: number
  readonly environment: Environment
  readonly family: Family
  readonly kind: WalletKind
  readonly value: string
  readonly seed: string | null
  readonly payee_is_contract: boolean | null
  readonly recovery_confirmed_at: bigint | null
  readonly created_at: bigint
}

const valueOf = (row: ValueRow): WalletValue => ({
  fingerprint: row.fingerprint,
  version: Number(row.version),
  merchantId: row.merchant_id,
  environment: row.environment,
  family: row.family,
  kind: row.kind,
  value: row.value,
  seed: row.seed,
  isPayeeContract: row.payee_is_contract,
  recoveryConfirmedAt: row.recovery_confirmed_at === null ? null : Number(row.recovery_confirmed_at),
  createdAt: Number(row.created_at)
})

export const valueWrite = (record: WalletValue): Write => ({
  table: "wallet_values",
  row: {
    fingerprint: record.fingerprint,
    version: record.version,
    merchant_id: record.merchantId,
    environment: record.environment,
    family: record.family,
    kind: record.kind,
    value: record.value,
    seed: record.seed,
    payee_is_contract: record.isPayeeContract,
    recovery_confirmed_at: record.recoveryConfirmedAt,
    created_at: record.createdAt
  }
})

interface Row {
  readonly family: Family
  readonly version: bigint
  readonly id: string | null
  readonly kind: WalletKind
  readonly value: string
  readonly seed: string | null
  readonly start_index: bigint
  readonly created_at: bigint
  readonly proposal: WalletProposal | null
}

const walletOf = (row: Row): WalletState | null =>
  row.id === null ? null : {
    id: row.id,
    kind: row.kind,
    value: row.value,
    seed: row.seed,
    startIndex: Number(row.start_index),
    createdAt: Number(row.created_at)
  }

const rowOf = (row: Row): WalletRow => ({
  version: Number(row.version),
  wallet: walletOf(row),
  proposal: row.proposal
})

/** The row of an owner with `wallet`, or without one. */
export const walletWrite = (owner: WalletOwner, { proposal, version, wallet }: WalletRow): Write => ({
  table: "receiving_wallets",
  row: {
    merchant_id: owner.merchantId,
    environment: owner.environment,
    family: owner.family,
    version,
    id: wallet?.id ?? null,
    kind: wallet?.kind ?? null,
    value: wallet?.value ?? null,
    seed: wallet?.seed ?? null,
    start_index: wallet?.startIndex ?? null,
    created_at: wallet?.createdAt ?? null,
    proposal,
    due_at: dueAt(proposal)
  }
})

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => {
  const columns = sql.literal("family, version, id, kind, value, seed, start_index, created_at, proposal")
  return {
    find: ({ environment, family, merchantId }: WalletOwner): Effect.Effect<WalletRow> =>
      sql<Row>`SELECT ${columns} FROM receiving_wallets
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND family = ${family}`.pipe(
        Effect.orDie,
        Effect.map(([row]) => row === undefined ? { version: 0, wallet: null, proposal: null } : rowOf(row))
      ),
    /** Whose other wallet is to take its place by `now`, those that waited the longest first. */
    due: (now: number, limit: number): Effect.Effect<ReadonlyArray<WalletOwner>> =>
      sql<WalletOwner>`SELECT merchant_id AS "merchantId", environment, family FROM receiving_wallets
        WHERE due_at <= ${now} ORDER BY due_at LIMIT ${limit}`.pipe(Effect.orDie),
    /** Epoch seconds; null: none waits. */
    nextDue: sql<{ due_at: bigint | null }>`SELECT min(due_at) AS due_at FROM receiving_wallets
      WHERE due_at IS NOT NULL`.pipe(
      Effect.map(([row]) => row?.due_at == null ? null : Number(row.due_at)),
      Effect.orDie
    ),
    /** Those of all merchants, oldest first: of two merchants with the same wallet the first becomes its owner. */
    all: sql<
      Row & Pick<WalletOwner, "merchantId" | "environment">
    >`SELECT ${columns}, merchant_id AS "merchantId", environment
      FROM receiving_wallets WHERE id IS NOT NULL ORDER BY created_at, merchant_id`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map((row): OwnedWallet => {
          const { environment, family, merchantId } = row
          return { merchantId, environment, family, wallet: walletOf(row)! }
        })
      )
    ),
    /** A wallet that was ever set. */
    value: (fingerprint: string): Effect.Effect<WalletValue | null> =>
      sql<ValueRow>`SELECT * FROM wallet_values WHERE fingerprint = ${fingerprint}`.pipe(
        Effect.orDie,
        Effect.map(([row]) => row === undefined ? null : valueOf(row))
      ),
    /** An owner's forwarders, the newest first. */
    forwarders: ({ environment, family, merchantId }: WalletOwner): Effect.Effect<ReadonlyArray<WalletValue>> =>
      sql<ValueRow>`SELECT * FROM wallet_values
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND family = ${family} AND kind = 'forwarder'
        ORDER BY created_at DESC, fingerprint`.pipe(
        Effect.orDie,
        Effect.map((rows) => rows.map(valueOf))
      ),
    /** By family; those with a wallet, or one that waits. */
    list: (merchantId: number, environment: Environment): Effect.Effect<ReadonlyArray<OwnedRow>> =>
      sql<Row>`SELECT ${columns} FROM receiving_wallets WHERE merchant_id = ${merchantId}
        AND environment = ${environment} AND (id IS NOT NULL OR proposal IS NOT NULL) ORDER BY family`.pipe(
        Effect.orDie,
        Effect.map((rows) =>
          rows.map((row): OwnedRow => ({ ...rowOf(row), owner: { merchantId, environment, family: row.family } }))
        )
      )
  }
})
