/** The only SQL of merchants and keys: rows in, states out; writes as rows for the commit. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { Settings } from "../../runtime/Settings.ts"
import type { KeyScope } from "../../schemas/Auth.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { KeyState, MerchantState } from "./machine.ts"

export const merchantWrite = (merchant: MerchantState): Write => ({
  table: "merchants",
  row: {
    id: merchant.id,
    merchant_id: merchant.id,
    version: merchant.version,
    name: merchant.name,
    email: merchant.email,
    default_environment: merchant.defaultEnvironment,
    created_at: merchant.createdAt
  }
})

export const keyWrite = (key: KeyState): Write => ({
  table: "api_keys",
  row: {
    id: key.id,
    merchant_id: key.merchantId,
    version: key.version,
    environment: key.environment,
    scope: key.scope,
    name: key.name,
    prefix: key.prefix,
    last4: key.last4,
    hash: key.hash,
    status: key.status,
    expires_at: key.expiresAt,
    api_version: key.apiVersion,
    created_at: key.createdAt
  }
})

interface MerchantRow {
  readonly id: number
  readonly name: string
  readonly email: string | null
  readonly default_environment: Environment | null
  readonly created_at: bigint
  readonly version: bigint
}

interface KeyRow {
  readonly id: string
  readonly merchant_id: number
  readonly environment: Environment
  readonly scope: KeyScope
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly hash: string
  readonly status: "active" | "revoked"
  readonly expires_at: bigint | null
  readonly api_version: string
  readonly created_at: bigint
  readonly version: bigint
}

/** A choice that the deployment does not serve any more counts as none. */
const merchantOf = (row: MerchantRow, served: Served): MerchantState => ({
  id: row.id,
  name: row.name,
  email: row.email,
  defaultEnvironment: served.find((environment) => environment === row.default_environment) ?? served[0],
  createdAt: Number(row.created_at),
  version: Number(row.version)
})

const keyOf = (row: KeyRow): KeyState => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  scope: row.scope,
  name: row.name,
  prefix: row.prefix,
  last4: row.last4,
  hash: row.hash,
  status: row.status,
  expiresAt: row.expires_at === null ? null : Number(row.expires_at),
  apiVersion: row.api_version,
  createdAt: Number(row.created_at),
  version: Number(row.version)
})

/** Keys of a merchant that a list shows, at most. */
const maximumListed = 1_000

/** The environments of the deployment, the first one being the default. */
type Served = readonly [Environment, ...ReadonlyArray<Environment>]

const findByHashes = "SELECT * FROM api_keys WHERE hash IN (SELECT json_array_elements_text($1::json))"

export const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const { environments } = yield* Settings
  return {
    /** The next merchant id: 1, 2, 3, … */
    nextMerchantId: Effect.map(
      Effect.orDie(sql<{ id: number }>`SELECT nextval('merchant_id_seq')::integer AS id`),
      (rows) => rows[0]!.id
    ),
    merchant: (id: number): Effect.Effect<MerchantState | undefined> =>
      Effect.map(
        Effect.orDie(sql<MerchantRow>`SELECT * FROM merchants WHERE id = ${id}`),
        (rows) => rows[0] && merchantOf(rows[0], environments)
      ),
    anyMerchant: Effect.map(
      Effect.orDie(sql`SELECT 1 FROM merchants LIMIT 1`),
      (rows) => rows.length > 0
    ),
    /** The key with one of these hashes: the same key under each pepper in use. */
    keyByHash: (hashes: ReadonlyArray<string>): Effect.Effect<KeyState | undefined> =>
      Effect.map(
        Effect.orDie(sql.unsafe<KeyRow>(findByHashes, [JSON.stringify(hashes)])),
        (rows) => rows[0] && keyOf(rows[0])
      ),
    key: (merchantId: number, id: string): Effect.Effect<KeyState | undefined> =>
      Effect.map(
        Effect.orDie(sql<KeyRow>`SELECT * FROM api_keys WHERE id = ${id} AND merchant_id = ${merchantId}`),
        (rows) => rows[0] && keyOf(rows[0])
      ),
    /** Newest first. */
    keys: (merchantId: number): Effect.Effect<ReadonlyArray<KeyState>> =>
      Effect.map(
        Effect.orDie(sql<KeyRow>`SELECT * FROM api_keys WHERE merchant_id = ${merchantId}
          ORDER BY created_at DESC, id DESC LIMIT ${maximumListed}`),
        (rows) => rows.map(keyOf)
      )
  }
})
