/** Addresses that were given out to invoices: rows of `receive_targets`, and their allocation. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Environment, Family, Network } from "../../../schemas/Network.ts"
import type { AllocatedTarget, ReceiveTarget, WalletOwner } from "../../Chains.ts"
import { cursorId } from "./Cursors.ts"
import { readInteger, rows } from "./Rows.ts"

/** Heads of chains by `cursorId`, as the followers here had read them up to the end. */
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

/** What `allocate` is asked for. */
export interface Allocation {
  readonly fingerprint: string
  readonly family: Family
  /** The counter does not stand below it. */
  readonly startIndex: number
  /** Only indices below it are given out; null: any. */
  readonly endIndex: number | null
  /** Epoch seconds. */
  readonly now: number
  readonly heads: ChainHeads
  readonly requests: ReadonlyArray<
    Pick<TargetRow, "invoiceId" | "merchantId" | "environment" | "refusedTokens">
  >
}

/** What `allocateShared` is asked for: the targets are known before. */
export interface SharedAllocation extends Pick<Allocation, "family" | "fingerprint" | "heads" | "now"> {
  readonly requests: ReadonlyArray<Allocation["requests"][number] & { readonly target: ReceiveTarget }>
}

/** A row of `receive_targets`; numbers are plain where it comes as JSON. */
interface TargetColumns {
  readonly address: string
  readonly match_key: string
  readonly memo: string | null
  readonly family: Family
  readonly merchant_id: number
  readonly invoice_id: string
  readonly environment: Environment
  readonly fingerprint: string
  readonly wallet_index: bigint | number
  readonly refused_tokens: ReadonlyArray<number>
  readonly created_at: bigint | number
  readonly allocation_heads: HeadColumns
}

/** By network: height and time. */
type HeadColumns = Readonly<Record<string, readonly [height: string, time: number]>>

/** What `allocate_targets_v2` answers. */
interface AllocationColumns {
  readonly targets: ReadonlyArray<TargetColumns>
  readonly previous: bigint
  readonly next: bigint
  readonly ahead: bigint
}

/** The primary key of `receive_targets`: it makes a match key unique in its family. */
export const targetId = (family: Family, matchKey: string): string => `${family}:${matchKey}`

const readTarget = (row: TargetColumns): TargetRow => ({
  address: row.address,
  matchKey: row.match_key,
  memo: row.memo,
  family: row.family,
  merchantId: row.merchant_id,
  invoiceId: row.invoice_id,
  environment: row.environment,
  fingerprint: row.fingerprint,
  walletIndex: readInteger(row.wallet_index),
  refusedTokens: row.refused_tokens,
  createdAt: readInteger(row.created_at),
  allocationHeads: readHeads(row.allocation_heads)
})

const readHeads = (stored: HeadColumns): ChainHeads =>
  Object.fromEntries(
    Object.entries(stored).map(([network, [height, time]]) => [network, { height: BigInt(height), time }])
  )

const headsJson = (heads: ChainHeads): string =>
  JSON.stringify(Object.fromEntries(
    Object.entries(heads).map(([network, { height, time }]) => [network, [height.toString(), time]])
  ))

/** Queries of targets. */
export const makeTargetQueries = (sql: SqlClient.SqlClient) => {
  const targets = rows(readTarget)
  return {
    targetsByKey: (family: Family, environment: Environment, keys: ReadonlyArray<string>) =>
      targets(sql`SELECT * FROM receive_targets WHERE environment = ${environment}
        AND id = ANY(${keys.map((matchKey) => targetId(family, matchKey))}::text[])`),
    targetsByInvoice: (family: Family, invoices: ReadonlyArray<string>) =>
      targets(
        sql`SELECT * FROM receive_targets WHERE family = ${family} AND invoice_id = ANY(${[...invoices]}::text[])`
      ),
    targetsOfInvoice: (invoiceId: string) =>
      targets(sql`SELECT * FROM receive_targets WHERE invoice_id = ${invoiceId}`),
    /**
     * When the first target since `from` (epoch seconds) was given out without knowing the head of a network; null:
     * none was. Reads the family's targets: for a network's first block only.
     */
    earliestTarget: (family: Family, environment: Environment, cursor: string, from: number) =>
      Effect.map(
        rows(({ earliest }: { readonly earliest: bigint | null }) => earliest === null ? null : readInteger(earliest))(
          sql`SELECT min(created_at) AS earliest FROM receive_targets WHERE family = ${family}
          AND environment = ${environment} AND created_at >= ${from} AND NOT jsonb_exists(allocation_heads, ${cursor})`
        ),
        (found) => found[0] ?? null
      ),
    /** Whether an invoice of the owner was ever given an address. */
    hasTargets: ({ environment, family, merchantId }: WalletOwner) =>
      Effect.map(
        rows(({ found }: { readonly found: boolean }) => found)(
          sql`SELECT EXISTS (SELECT FROM receive_targets WHERE merchant_id = ${merchantId}
            AND environment = ${environment} AND family = ${family}) AS found`
        ),
        ([found]) => found === true
      ),
    /** Targets of one wallet in order of allocation, from an index. */
    targetsOfWallet: (fingerprint: string, fromIndex: number, limit: number) =>
      targets(sql`SELECT * FROM receive_targets WHERE fingerprint = ${fingerprint} AND wallet_index >= ${fromIndex}
        ORDER BY wallet_index LIMIT ${limit}`),
    /** Addresses of one wallet, those that were given out and those that are watched ahead; each once. */
    addressesOfWallet: (fingerprint: string, limit: number) =>
      rows(({ address }: { readonly address: string }) => address)(
        sql`SELECT address FROM receive_targets WHERE fingerprint = ${fingerprint}
          UNION SELECT address FROM wallet_addresses WHERE fingerprint = ${fingerprint} LIMIT ${limit}`
      ),
    /**
     * Height of a network when the first address of a wallet was given out, or below the first transfer to one where
     * that is not known; null: nothing came to it.
     */
    firstHeight: (fingerprint: string, network: Network, environment: Environment) =>
      Effect.map(
        rows(({ height }: { readonly height: bigint | null }) => height)(
          sql`SELECT least(
              (SELECT min((allocation_heads -> ${cursorId(network, environment)}::text ->> 0)::bigint)
                FROM receive_targets WHERE fingerprint = ${fingerprint}),
              (SELECT min(t.height) - 1 FROM receive_targets r JOIN transfers t ON t.invoice_id = r.invoice_id
                WHERE r.fingerprint = ${fingerprint} AND t.network = ${network} AND t.environment = ${environment}
                  AND t.height >= 0)
            )::bigint AS height`
        ),
        (found) => found[0] ?? null
      ),
    /** See runtime/store/sql/allocate_shared_targets_v2.sql. A fault of the database is a failure, as below. */
    allocateShared: ({ family, fingerprint, heads, now, requests }: SharedAllocation) => {
      const requestsJson = JSON.stringify(
        requests.map(({ environment, invoiceId, merchantId, refusedTokens, target }) => ({
          invoice_id: invoiceId,
          merchant_id: merchantId,
          environment,
          refused_tokens: refusedTokens,
          address: target.address,
          match_key: target.matchKey,
          memo: target.memo
        }))
      )
      return Effect.map(
        sql<TargetColumns>`SELECT * FROM allocate_shared_targets_v2(${fingerprint}, ${family}, ${now}::bigint,
          ${headsJson(heads)}::jsonb, ${requestsJson}::json)`,
        (found) => found.map(readTarget)
      )
    },
    /**
     * See runtime/store/sql/allocate_targets_v2.sql. A fault of the database is a failure here: the caller is told to
     * try again.
     */
    allocate: ({ endIndex, family, fingerprint, heads, now, requests, startIndex }: Allocation) => {
      const requestsJson = JSON.stringify(
        requests.map(({ environment, invoiceId, merchantId, refusedTokens }) => ({
          invoice_id: invoiceId,
          merchant_id: merchantId,
          environment,
          refused_tokens: refusedTokens
        }))
      )
      return Effect.map(
        sql<
          AllocationColumns
        >`SELECT * FROM allocate_targets_v2(${fingerprint}, ${family}, ${startIndex}::bigint, ${endIndex}::bigint,
          ${now}::bigint, ${headsJson(heads)}::jsonb, ${requestsJson}::json)`,
        ([row]) => ({
          targets: row!.targets.map(readTarget),
          previous: readInteger(row!.previous),
          next: readInteger(row!.next),
          unusedAddresses: readInteger(row!.ahead)
        })
      )
    }
  }
}
