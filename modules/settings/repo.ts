/** The only SQL of merchant settings. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Choices, ChoicesState } from "./rules.ts"

export const choicesWrite = ({ choices, environment, merchantId, version }: ChoicesState): Write => ({
  table: "merchant_settings",
  row: { merchant_id: merchantId, environment, version, choices }
})

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  choices: (merchantId: number, environment: Environment): Effect.Effect<ChoicesState> =>
    sql<{ version: bigint; choices: Choices }>`
      SELECT version, choices FROM merchant_settings
      WHERE merchant_id = ${merchantId} AND environment = ${environment}`.pipe(
      Effect.map(([row]) => ({
        merchantId,
        environment,
        version: Number(row?.version ?? 0n),
        choices: row?.choices ?? {}
      })),
      Effect.orDie
    )
}))
