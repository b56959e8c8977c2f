/** The only SQL of merchant settings. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { Environment } from "../../schemas/Network.ts"
import { type Choices, type ChoicesState, type DomainState, dueAt, type LimitsProposal } from "./rules.ts"

export const choicesWrite = (
  { choices, domain, environment, merchantId, proposal, version }: ChoicesState
): Write => ({
  table: "merchant_settings",
  row: {
    merchant_id: merchantId,
    environment,
    version,
    choices,
    proposal,
    due_at: dueAt(proposal),
    domain_state: domain,
    domain_due_at: domain?.dueAt ?? null
  }
})

/** Whose settings, and where. */
export type SettingsOwner = Pick<ChoicesState, "merchantId" | "environment">

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  choices: (merchantId: number, environment: Environment): Effect.Effect<ChoicesState> =>
    sql<{
      version: bigint
      choices: Choices
      proposal: LimitsProposal | null
      domain_state: DomainState | null
    }>`
      SELECT version, choices, proposal, domain_state FROM merchant_settings
      WHERE merchant_id = ${merchantId} AND environment = ${environment}`.pipe(
      Effect.map(([row]) => ({
        merchantId,
        environment,
        version: Number(row?.version ?? 0n),
        choices: row?.choices ?? {},
        proposal: row?.proposal ?? null,
        domain: row?.domain_state ?? null
      })),
      Effect.orDie
    ),
  /** Whose higher limits come into force by `now`, those that waited the longest first. */
  due: (now: number, limit: number): Effect.Effect<ReadonlyArray<SettingsOwner>> =>
    sql<SettingsOwner>`SELECT merchant_id AS "merchantId", environment FROM merchant_settings
      WHERE due_at <= ${now} ORDER BY due_at LIMIT ${limit}`.pipe(Effect.orDie),
  /** Epoch seconds; null: none wait. */
  nextDue: sql<{ due_at: bigint | null }>`SELECT min(due_at) AS due_at FROM merchant_settings
    WHERE due_at IS NOT NULL`.pipe(
    Effect.map(([row]) => row?.due_at == null ? null : Number(row.due_at)),
    Effect.orDie
  ),
  /** Whose domain is to be checked by `now`, those that waited the longest first. */
  dueDomains: (now: number, limit: number): Effect.Effect<ReadonlyArray<SettingsOwner & { readonly domain: string }>> =>
    sql<SettingsOwner & { readonly domain: string }>`
      SELECT merchant_id AS "merchantId", environment, choices->'branding'->>'domain' AS domain FROM merchant_settings
      WHERE domain_due_at <= ${now} ORDER BY domain_due_at LIMIT ${limit}`.pipe(Effect.orDie),
  /** Epoch seconds; null: no merchant names a domain. */
  nextDomainDue: sql<{ due_at: bigint | null }>`SELECT min(domain_due_at) AS due_at FROM merchant_settings
    WHERE domain_due_at IS NOT NULL`.pipe(
    Effect.map(([row]) => row?.due_at == null ? null : Number(row.due_at)),
    Effect.orDie
  )
}))
