/**
 * The runtime's own tables and SQL functions, one file each in `runtime/store/sql/`. Modules bring theirs in
 * `migrations.ts`; all are forward only and safe when two instances start at once.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import type { Migrations } from "./Plugin.ts"
import type { SealedColumn } from "./Secrets.ts"
import { partitionSteps } from "./store/partitions/Steps.ts"

/** Tables the runtime itself commits rows to. */
export const runtimeTables: ReadonlyArray<string> = [
  "webhook_endpoints",
  "wallet_owners",
  "chain_cursors",
  "transfers",
  "target_balances",
  "merchant_clocks",
  "chain_repairs",
  "availability"
]

/** What the runtime itself seals. */
export const runtimeSealedColumns: ReadonlyArray<SealedColumn> = [
  { table: "retained_keys", column: "sealed_key", label: "retained" },
  { table: "webhook_endpoints", column: "sealed_secret", label: "webhook" },
  { table: "webhook_endpoints", column: "sealed_previous_secret", label: "webhook" },
  { table: "idempotency", column: "sealed_body", label: "reply" }
]

/** A function comes after those it calls: `webhook_lanes`, `webhook_mark`, `webhook_exchange`. */
const functions = [
  "allocate_targets_v1",
  "allocate_shared_targets_v1",
  "store_addresses_v1",
  "claim_addresses_v1",
  "mark_change_v1",
  "webhook_waiting_v1",
  "webhook_claim_v1",
  "webhook_lanes_v1",
  "webhook_mark_v1",
  "webhook_exchange_v1",
  "webhook_lag_v1",
  "webhook_expire_v1"
]

/** Functions that came with `0003_allocation`. */
const allocationFunctions = ["allocate_targets_v2", "allocate_shared_targets_v2"]

/** Those that make partitions. */
const partitionFunctions = [
  "delivery_id_v1",
  "partition_column_v1",
  "partition_value_v1",
  "partition_end_v1",
  "partition_promise_v1",
  "partition_keep_v1",
  "partitions_v1",
  "partition_limit_v1",
  "partition_check_v1",
  "partition_create_v1",
  "partition_switch_v1",
  "partition_months_v1"
]

/** The queue over partitions, each after those that it calls. */
const queueFunctions = [
  "webhook_due_span_v1",
  "webhook_waiting_v2",
  "webhook_claim_v2",
  "webhook_lanes_v2",
  "webhook_mark_v2",
  "webhook_exchange_v2",
  "webhook_lag_v2",
  "webhook_expire_v2"
]

/** The text of a file in `runtime/store/sql/`; a build without it is broken, so its absence is a defect. */
const sqlFile = (name: string) =>
  Effect.sync(() => readFileSync(new URL(`store/sql/${name}.sql`, import.meta.url), "utf8"))

/** Runs statements one by one. */
const runStatements = (sql: SqlClient.SqlClient, text: string) =>
  Effect.forEach(
    text.split(";\n").filter((statement) => statement.trim() !== ""),
    (statement) => sql.unsafe(statement),
    {
      discard: true
    }
  )

export const runtimeMigrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* runStatements(sql, yield* sqlFile("tables"))
    for (const name of functions) yield* sql.unsafe(yield* sqlFile(name))
    yield* runStatements(sql, yield* sqlFile("triggers"))
  }),
  "0002_cluster": Effect.gen(function*() {
    yield* runStatements(yield* SqlClient.SqlClient, yield* sqlFile("cluster"))
  }),
  "0003_allocation": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* runStatements(sql, yield* sqlFile("derivations"))
    for (const name of allocationFunctions) yield* sql.unsafe(yield* sqlFile(name))
  }),
  "0004_cluster_roles": Effect.gen(function*() {
    yield* runStatements(yield* SqlClient.SqlClient, yield* sqlFile("cluster_roles"))
  }),
  "0005_webhook_formats": Effect.gen(function*() {
    yield* runStatements(yield* SqlClient.SqlClient, yield* sqlFile("webhook_formats"))
  }),
  "0006_partition_functions": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const name of [...partitionFunctions, ...queueFunctions]) yield* sql.unsafe(yield* sqlFile(name))
  }),
  ...partitionSteps
}
