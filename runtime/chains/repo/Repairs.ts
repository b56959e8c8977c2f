/** Repairs of networks that an operator asked for: rows of `chain_repairs`. */
import type { SqlClient } from "effect/sql"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { systemMerchant, type Write } from "../../Commit.ts"
import type { Repair } from "../Repairs.ts"
import { readInteger, rows } from "./Rows.ts"

/** A row of `chain_repairs`. */
interface RepairColumns {
  readonly id: string
  readonly version: bigint
  readonly network: Network
  readonly environment: Environment
  readonly kind: Repair["kind"]
  readonly from_height: bigint | null
  readonly to_height: bigint | null
  readonly next_height: bigint | null
  readonly final_before: bigint | null
  readonly credited: number
  readonly status: Repair["status"]
  readonly reason: string | null
  readonly requested_at: bigint
  readonly since: bigint | null
}

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

const readRepair = (row: RepairColumns): Repair => ({
  id: row.id,
  network: row.network,
  environment: row.environment,
  kind: row.kind,
  from: row.from_height,
  to: row.to_height,
  next: row.next_height,
  finalBefore: row.final_before,
  since: row.since === null ? null : readInteger(row.since),
  credited: row.credited,
  status: row.status,
  reason: row.reason,
  requestedAt: readInteger(row.requested_at),
  version: readInteger(row.version)
})

/** Queries of repairs. */
export const makeRepairQueries = (sql: SqlClient.SqlClient) => ({
  /** Repairs of a network, or of an environment where it is null, oldest first: at most one of each kind. */
  repairs: (network: Network | null, environment: Environment) =>
    rows(readRepair)(sql`SELECT * FROM chain_repairs WHERE environment = ${environment}
      AND network = coalesce(${network}, network) ORDER BY requested_at, id`)
})
