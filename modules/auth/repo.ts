/** The only SQL of merchants and keys: rows in, states out; writes as rows for the commit. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { Settings } from "../../runtime/Settings.ts"
import type { KeyScope, SoleUse } from "../../schemas/Auth.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { KeyPermission, Role } from "../../schemas/Roles.ts"
import type { KeyState, MerchantState } from "./rules.ts"

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
    ip_allowlist: key.ipAllowlist,
    api_version: key.apiVersion,
    replaced_by: key.replacedBy,
    created_by: key.creatorKey,
    made_by: key.makerPerson,
    permissions: key.permissions,
    use: key.use,
    role_limits: key.roleLimits,
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
  readonly ip_allowlist: ReadonlyArray<string>
  readonly api_version: string
  readonly replaced_by: string | null
  readonly created_by: string | null
  readonly made_by: string | null
  readonly permissions: ReadonlyArray<KeyPermission>
  readonly use: SoleUse | null
  readonly role_limits: ReadonlyArray<Role>
  readonly created_at: bigint
  readonly version: bigint
  readonly used_at: bigint | null
}

/** A choice that the deployment does not serve any more counts as none. */
const merchantOf = (row: MerchantRow, served: ServedEnvironments): MerchantState => ({
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
  ipAllowlist: row.ip_allowlist,
  apiVersion: row.api_version,
  replacedBy: row.replaced_by,
  creatorKey: row.created_by,
  makerPerson: row.made_by,
  permissions: row.permissions,
  use: row.use,
  roleLimits: row.role_limits,
  lastUsedAt: row.used_at === null ? null : Number(row.used_at),
  createdAt: Number(row.created_at),
  version: Number(row.version)
})

/** Keys of a merchant that a list shows, at most. */
const maximumListed = 1_000

/** The environments of the deployment, the first one being the default. */
type ServedEnvironments = readonly [Environment, ...ReadonlyArray<Environment>]

const findByHashes = `SELECT k.*, NULL::bigint AS used_at FROM api_keys k
  WHERE hash IN (SELECT json_array_elements_text($1::json))`

const isInUse = (key: string, now: string) =>
  `${key}.status = 'active' AND (${key}.expires_at IS NULL OR ${key}.expires_at > ${now})`

/**
 * The key in use at second $3 that key $2 of merchant $1 replaced, directly or through keys in between that ended. Of
 * several, the one that ends last.
 */
const findPredecessor = `WITH RECURSIVE earlier AS (
    SELECT k.id, k.replaced_by FROM api_keys k
    WHERE k.merchant_id = $1 AND k.replaced_by IS NOT NULL AND ${isInUse("k", "$3::bigint")}
    UNION
    SELECT a.id, k.replaced_by FROM earlier a JOIN api_keys k ON k.id = a.replaced_by AND k.merchant_id = $1
    WHERE k.replaced_by IS NOT NULL AND a.replaced_by <> $2
  )
  SELECT k.*, NULL::bigint AS used_at FROM earlier a JOIN api_keys k ON k.id = a.id AND k.merchant_id = $1
  WHERE a.replaced_by = $2 ORDER BY k.expires_at DESC NULLS FIRST LIMIT 1`

/**
 * Keys in use at second $3 that were created with key $2 of merchant $1, directly or through keys that may have ended.
 */
const findChildren = `WITH RECURSIVE descendants AS (
    SELECT k.id FROM api_keys k WHERE k.merchant_id = $1 AND k.created_by = $2
    UNION
    SELECT k.id FROM descendants m JOIN api_keys k ON k.created_by = m.id AND k.merchant_id = $1
  )
  SELECT k.*, u.used_at FROM descendants m JOIN api_keys k ON k.id = m.id AND k.merchant_id = $1
  LEFT JOIN api_key_uses u ON u.merchant_id = k.merchant_id AND u.key_id = k.id
  WHERE ${isInUse("k", "$3::bigint")} ORDER BY k.created_at DESC, k.id DESC`

/** Stores a key's last use: the time never goes back. */
const recordUses = `INSERT INTO api_key_uses AS u (merchant_id, key_id, used_at)
  SELECT n.m, n.k, n.t FROM json_to_recordset($1::json) AS n (m integer, k text, t bigint) ORDER BY n.m, n.k
  ON CONFLICT (merchant_id, key_id) DO UPDATE SET used_at = greatest(u.used_at, excluded.used_at)`

/** A key was used at `at`, epoch seconds. */
export interface KeyUse {
  readonly merchantId: number
  readonly keyId: string
  readonly at: number
}

/** A page of a merchant's keys in one environment. */
export interface KeyPage {
  readonly merchantId: number
  readonly environment: Environment
  readonly limit: number
  /** The key that the page lies beyond. */
  readonly cursor: { readonly key: KeyState; readonly direction: "older" | "newer" } | undefined
}

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
    /** Oldest first, at most `limit` beyond the merchant `after`. */
    merchants: (after: number, limit: number): Effect.Effect<ReadonlyArray<MerchantState>> =>
      Effect.map(
        Effect.orDie(sql<MerchantRow>`SELECT * FROM merchants WHERE id > ${after} ORDER BY id LIMIT ${limit}`),
        (rows) => rows.map((row) => merchantOf(row, environments))
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
        Effect.orDie(sql<KeyRow>`SELECT k.*, u.used_at FROM api_keys k
          LEFT JOIN api_key_uses u ON u.merchant_id = k.merchant_id AND u.key_id = k.id
          WHERE k.id = ${id} AND k.merchant_id = ${merchantId}`),
        (rows) => rows[0] && keyOf(rows[0])
      ),
    /** Newest first. */
    keys: (merchantId: number): Effect.Effect<ReadonlyArray<KeyState>> =>
      Effect.map(
        Effect.orDie(sql<KeyRow>`SELECT k.*, u.used_at FROM api_keys k
          LEFT JOIN api_key_uses u ON u.merchant_id = k.merchant_id AND u.key_id = k.id
          WHERE k.merchant_id = ${merchantId}
          ORDER BY k.created_at DESC, k.id DESC LIMIT ${maximumListed}`),
        (rows) => rows.map(keyOf)
      ),
    /** Newest first, with one more than asked for where there are more. */
    page: ({ cursor, environment, limit, merchantId }: KeyPage): Effect.Effect<ReadonlyArray<KeyState>> => {
      const newer = cursor?.direction === "newer"
      const beyond = cursor === undefined
        ? sql.literal("")
        : sql`AND (k.created_at, k.id) ${sql.literal(newer ? ">" : "<")} (${cursor.key.createdAt}, ${cursor.key.id})`
      const order = sql.literal(newer ? "ASC" : "DESC")
      return Effect.map(
        Effect.orDie(sql<KeyRow>`SELECT k.*, u.used_at FROM api_keys k
          LEFT JOIN api_key_uses u ON u.merchant_id = k.merchant_id AND u.key_id = k.id
          WHERE k.merchant_id = ${merchantId} AND k.environment = ${environment} ${beyond}
          ORDER BY k.created_at ${order}, k.id ${order} LIMIT ${limit + 1}`),
        (rows) => rows.map(keyOf)
      )
    },
    /** The key in use that the key `id` replaced, directly or through keys in between that ended. */
    predecessor: (merchantId: number, id: string, nowSeconds: number): Effect.Effect<KeyState | undefined> =>
      Effect.map(
        Effect.orDie(sql.unsafe<KeyRow>(findPredecessor, [merchantId, id, nowSeconds])),
        (rows) => rows[0] && keyOf(rows[0])
      ),
    /** Keys in use that were created with the key `id`, directly or indirectly, newest first. */
    children: (merchantId: number, id: string, nowSeconds: number): Effect.Effect<ReadonlyArray<KeyState>> =>
      Effect.map(
        Effect.orDie(sql.unsafe<KeyRow>(findChildren, [merchantId, id, nowSeconds])),
        (rows) => rows.map(keyOf)
      ),
    /** Keys that count towards the limit: all in use, including rotated ones until they end. */
    keysInUse: (merchantId: number, nowSeconds: number): Effect.Effect<number> =>
      Effect.map(
        Effect.orDie(sql<{ n: bigint }>`SELECT count(*) AS n FROM api_keys WHERE merchant_id = ${merchantId}
          AND status = 'active' AND (expires_at IS NULL OR expires_at > ${nowSeconds})`),
        (rows) => Number(rows[0]!.n)
      ),
    /** Keys in use whose acts are a person's. */
    keysOfMaker: (merchantId: number, person: string, nowSeconds: number): Effect.Effect<ReadonlyArray<KeyState>> =>
      Effect.map(
        Effect.orDie(sql<KeyRow>`SELECT k.*, NULL::bigint AS used_at FROM api_keys k
          WHERE k.merchant_id = ${merchantId} AND k.made_by = ${person}
          AND k.status = 'active' AND (k.expires_at IS NULL OR k.expires_at > ${nowSeconds})
          ORDER BY k.created_at, k.id LIMIT ${maximumListed}`),
        (rows) => rows.map(keyOf)
      ),
    /** Ids of the keys that somebody made, in use or not any more, the newest first. */
    keyIdsOfMaker: (merchantId: number, person: string): Effect.Effect<ReadonlyArray<string>> =>
      Effect.map(
        Effect.orDie(sql<{ id: string }>`SELECT id FROM api_keys WHERE merchant_id = ${merchantId}
          AND made_by = ${person} ORDER BY created_at DESC, id DESC LIMIT ${maximumListed}`),
        (rows) => rows.map(({ id }) => id)
      ),
    /** The keys of `ids` that may be used at `nowSeconds`. */
    usable: (ids: ReadonlyArray<string>, nowSeconds: number): Effect.Effect<ReadonlyArray<KeyState>> =>
      Effect.map(
        Effect.orDie(sql<KeyRow>`SELECT k.*, NULL::bigint AS used_at FROM api_keys k
          WHERE k.id = ANY (${[...ids]}::text[])
          AND k.status = 'active' AND (k.expires_at IS NULL OR k.expires_at > ${nowSeconds})`),
        (rows) => rows.map(keyOf)
      ),
    recordUses: (uses: ReadonlyArray<KeyUse>): Effect.Effect<void> =>
      Effect.asVoid(Effect.orDie(
        sql.unsafe(recordUses, [
          JSON.stringify(uses.map(({ at, keyId, merchantId }) => ({ m: merchantId, k: keyId, t: at })))
        ])
      ))
  }
})
