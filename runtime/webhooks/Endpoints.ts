/** Endpoint rows: how they are stored, written and read. Whoever manages endpoints commits these rows. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../Commit.ts"
import type { Environment } from "../../schemas/Network.ts"

/** A row of `webhook_endpoints`. Timestamps are epoch seconds. */
export interface EndpointRow {
  readonly id: string
  readonly merchantId: number
  readonly version: number
  /** Null receives both environments. */
  readonly environment: Environment | null
  /** Owned by a commerce key: commerce-related events only, whatever the filters. */
  readonly commerceOnly: boolean
  readonly url: string
  /** A deleted endpoint is shown to nobody; the rows of the newest stay. */
  readonly status: "enabled" | "disabled" | "deleted"
  readonly filters: ReadonlyArray<string>
  /** One delivery in flight, in the order of the events; the next one waits until it succeeded or was given up. */
  readonly ordered: boolean
  readonly apiVersion: string
  /** Name of the `WebhookFormat` of what it is sent; null: events as they are. */
  readonly format: string | null
  /** What it does not take at the first attempt is not sent again. */
  readonly isSingleAttempt: boolean
  readonly description: string | null
  /** Sealed by `Secrets.seal("webhook", …)`. */
  readonly sealedSecret: string
  readonly sealedPreviousSecret: string | null
  readonly previousSecretExpiresAt: number | null
  readonly disabledReason: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** The write that stores `row` at its version. */
export const endpointWrite = (row: EndpointRow): Write => ({
  table: "webhook_endpoints",
  row: {
    id: row.id,
    merchant_id: row.merchantId,
    version: row.version,
    environment: row.environment,
    commerce_only: row.commerceOnly,
    url: row.url,
    status: row.status,
    filters: row.filters,
    ordered: row.ordered,
    api_version: row.apiVersion,
    format: row.format,
    is_single_attempt: row.isSingleAttempt,
    description: row.description,
    sealed_secret: row.sealedSecret,
    sealed_previous_secret: row.sealedPreviousSecret,
    previous_secret_expires_at: row.previousSecretExpiresAt,
    disabled_reason: row.disabledReason,
    created_at: row.createdAt,
    updated_at: row.updatedAt
  }
})

/** The endpoint of a merchant, or undefined. A database fault is a defect. */
export const findEndpoint = (
  merchantId: number,
  id: string
): Effect.Effect<EndpointRow | undefined, never, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* sql<EndpointRow>`
      SELECT id, merchant_id AS "merchantId", version::float8 AS version, environment,
        commerce_only AS "commerceOnly", url, status, filters, api_version AS "apiVersion", description,
        format, is_single_attempt AS "isSingleAttempt",
        sealed_secret AS "sealedSecret", sealed_previous_secret AS "sealedPreviousSecret",
        previous_secret_expires_at::float8 AS "previousSecretExpiresAt",
        ordered, disabled_reason AS "disabledReason",
        created_at::float8 AS "createdAt", updated_at::float8 AS "updatedAt"
      FROM webhook_endpoints WHERE merchant_id = ${merchantId} AND id = ${id}`
    return found
  }).pipe(Effect.orDie)
