/** The only SQL of tickets. Their time is the database's, so that all instances agree. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { batchSize } from "../../runtime/Retention.ts"
import type { StreamGrant } from "../../runtime/sockets/EventsRoute.ts"
import type { CredentialKind, KeyScope } from "../../schemas/Auth.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Authority } from "../../schemas/Roles.ts"
import { maximumTickets } from "./rules.ts"

interface TicketRow {
  readonly merchant_id: number
  readonly scope: KeyScope
  readonly environment: Environment
  readonly api_version: string
  readonly credential: string
  readonly revocable_as: string
  readonly kind: CredentialKind
  readonly authority: Authority
  readonly is_good: boolean
}

export const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return {
    /**
     * Keeps a ticket, and answers when it ends, epoch seconds; undefined while the credential has as many unused ones
     * as it may. Callers side by side may pass the limit by as many as they are.
     */
    add: (id: string, grant: StreamGrant, seconds: number): Effect.Effect<number | undefined> =>
      Effect.map(
        Effect.orDie(sql<{ expires_at: bigint }>`
          INSERT INTO stream_tickets
            (id, merchant_id, scope, environment, api_version, credential, revocable_as, kind, authority, expires_at)
          SELECT ${id}, ${grant.merchantId}, ${grant.scope}, ${grant.environment}, ${grant.apiVersion},
            ${grant.credential}, ${grant.revocableAs}, ${grant.kind}, ${
          JSON.stringify(grant.authority)
        }::json, now() + ${seconds}::integer * interval '1 second'
          WHERE (SELECT count(*) FROM (SELECT 1 FROM stream_tickets WHERE merchant_id = ${grant.merchantId}
            AND credential = ${grant.credential} AND expires_at > now() LIMIT ${maximumTickets}) unused) < ${maximumTickets}
          RETURNING floor(extract(epoch from expires_at))::bigint AS expires_at`),
        (rows) => rows[0] && Number(rows[0].expires_at)
      ),
    /** Takes a ticket away, whoever asks first; `isGood` unless it has ended. */
    take: (id: string): Effect.Effect<{ readonly grant: StreamGrant; readonly isGood: boolean } | undefined> =>
      Effect.map(
        Effect.orDie(sql<TicketRow>`DELETE FROM stream_tickets WHERE id = ${id}
          RETURNING merchant_id, scope, environment, api_version, credential, revocable_as, kind, authority,
            expires_at > now() AS is_good`),
        ([row]) =>
          row && {
            isGood: row.is_good,
            grant: {
              merchantId: row.merchant_id,
              scope: row.scope,
              environment: row.environment,
              apiVersion: row.api_version,
              credential: row.credential,
              revocableAs: row.revocable_as,
              kind: row.kind,
              authority: row.authority
            }
          }
      ),
    /** Deletes a batch of tickets that ended; answers how many. */
    prune: Effect.map(
      Effect.orDie(sql`DELETE FROM stream_tickets WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM stream_tickets WHERE expires_at < now() - interval '1 minute'
        ORDER BY expires_at LIMIT ${batchSize})) RETURNING 1`),
      (rows) => rows.length
    )
  }
})
