/** The policy row of a merchant's environment. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { AcceptancePolicy } from "../../schemas/Token.ts"
import { defaultPolicy, type PolicyState } from "./rules.ts"

export const policyWrite = (state: PolicyState): Write => ({
  table: "token_policies",
  row: {
    merchant_id: state.merchantId,
    environment: state.environment,
    version: state.version,
    acceptance_policy: state.policy,
    blocked_token_ids: [...state.blockedTokens]
  }
})

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** What the merchant accepts; the default where it never said. */
  policy: (merchantId: number, environment: Environment): Effect.Effect<PolicyState> =>
    sql<{ version: bigint; acceptance_policy: AcceptancePolicy; blocked_token_ids: ReadonlyArray<number> }>`
      SELECT version, acceptance_policy, blocked_token_ids FROM token_policies
      WHERE merchant_id = ${merchantId} AND environment = ${environment}`.pipe(
      Effect.map(([row]) =>
        row === undefined ? defaultPolicy(merchantId, environment) : {
          merchantId,
          environment,
          version: Number(row.version),
          policy: row.acceptance_policy,
          blockedTokens: new Set(row.blocked_token_ids)
        }
      ),
      Effect.orDie
    )
}))
