/** Between callers, outside and inside, and the actor; and the demo store of a new devnet. */
import { Console, Effect, FileSystem, Path } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { answerIdempotently, jsonText, requireMerchantScope } from "../../runtime/Http.ts"
import { demoKeysFile, Settings } from "../../runtime/Settings.ts"
import { runUnderLease } from "../../runtime/leases/FiniteWork.ts"
import type { KeyScope, Principal, SoleUse } from "../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { KeyPermission } from "../../schemas/Roles.ts"
import { Keys } from "./actor.ts"
import type { RotatedKey } from "./actor/KeyChanges.ts"
import type { KeyWithSecret } from "./actor/KeyCreation.ts"
import { type ApiKeyChange, AuthApi, defaultOverlapSeconds } from "./api.ts"
import { type KeyChange, type KeyState, type MerchantState, type RevokedKey, statusAt } from "./rules.ts"
import { type ApiKey, AuthRpc, type Merchant } from "./rpc.ts"
import * as Operations from "../../runtime/Operations.ts"

/** What is shown of a key, outside and inside, in the order of `ApiKey` of api.ts. */
const keyFieldsOf = (key: KeyState, now: number) => ({
  name: key.name,
  prefix: key.prefix,
  last4: key.last4,
  scope: key.scope,
  environment: key.environment,
  status: statusAt(key, now),
  permissions: key.permissions,
  ...(key.use === null ? {} : { use: key.use }),
  expires_at: key.expiresAt,
  ip_allowlist: key.ipAllowlist,
  api_version: key.apiVersion,
  last_used_at: key.lastUsedAt,
  replaced_by: key.replacedBy,
  created_by: key.creatorKey,
  created_at: key.createdAt
})

/** A key on the wire, with its text where it was just made. */
const keyObject = (key: KeyState, now: number, text?: string) => ({
  id: key.id,
  object: "api_key",
  ...(text === undefined ? {} : { key: text }),
  ...keyFieldsOf(key, now)
})

const wrappedJson = (data: object): string => JSON.stringify({ success: true, data })

const rotatedObject = ({ key, previous, state }: RotatedKey, now: number) => ({
  ...keyObject(state, now, key),
  previous_key_id: previous.id,
  previous_key_expires_at: previous.expiresAt
})

const revokedObject = ({ children, state }: RevokedKey, now: number) => ({
  ...keyObject(state, now),
  child_keys: children.map((child) => keyObject(child, now))
})

/** The key that calls; null: a wallet does. */
const creatorOf = ({ credential, kind }: Principal): string | null => kind === "key" ? credential : null

/** The permissions of a new key: those asked for, or all that its maker has. Nobody gives what they do not have. */
const permittedTo = (
  { permissions: own }: Principal,
  requested: ReadonlyArray<KeyPermission> | null = null
): Effect.Effect<ReadonlyArray<KeyPermission>, PublicError> => {
  const excess = requested?.filter((permission) => !own.includes(permission)) ?? []
  return excess.length === 0 ? Effect.succeed([...new Set(requested ?? own)]) : Effect.fail(
    publicError("PERMISSION_DENIED", {
      message: `permissions: the key that makes this one has ${own.join(", ")}, so it cannot give ${excess.join(", ")}`,
      param: "permissions",
      details: { permissions: own }
    })
  )
}

/** A commerce key has no use that a shop's key has. */
const useOf = (
  { scope, use = null }: { readonly scope: KeyScope; readonly use?: SoleUse | null }
): Effect.Effect<SoleUse | null, PublicError> =>
  use === null || scope === "merchant" ? Effect.succeed(use) : Effect.fail(publicError("VALIDATION_ERROR", {
    message: `use: a key for ${use} has the scope merchant`,
    param: "use"
  }))

/** What a change asks for; what was not sent is not in it. */
const changeOf = (change: typeof ApiKeyChange.Type): KeyChange => ({
  ...(change.name === undefined ? {} : { name: change.name }),
  ...(change.expires_at === undefined ? {} : { expiresAt: change.expires_at }),
  ...(change.ip_allowlist === undefined ? {} : { ipAllowlist: change.ip_allowlist }),
  ...(change.api_version === undefined ? {} : { apiVersion: change.api_version })
})

/** The environment whose keys are listed: a key's own; the one a wallet's call names. */
const managedEnvironment = ({ environment, kind }: Principal, requested: Environment | undefined) =>
  requested === undefined || requested === environment || kind === "wallet"
    ? Effect.succeed(requested ?? environment)
    : Effect.fail(publicError("ENVIRONMENT_FORBIDDEN", { param: "environment" }))

/** Keys on a page where the caller does not say (modules/docs/reference/pagination.md#lists). */
const defaultLimit = 10

export const handlers = Operations.group(
  AuthApi,
  "api-keys",
  Effect.fn(function*(group) {
    const keys = yield* Keys

    return group
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const principal = yield* requireMerchantScope
          const request = {
            merchantId: principal.merchantId,
            name: payload.name,
            scope: payload.scope,
            environment: principal.environment,
            expiresAt: payload.expires_at ?? null,
            ipAllowlist: payload.ip_allowlist ?? [],
            use: yield* useOf(payload),
            creatorKey: creatorOf(principal),
            makerPerson: principal.person,
            roleLimits: principal.roleLimits ?? [],
            permissions: yield* permittedTo(principal, payload.permissions)
          }
          return yield* answerIdempotently<KeyWithSecret, PublicError>(
            (call) => keys.create(request, call, principal.credential),
            ({ key, state }, now) => keyObject(state, now, key)
          )
        })
      )
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* requireMerchantScope
          const found = yield* keys.page({
            merchantId: principal.merchantId,
            environment: yield* managedEnvironment(principal, query.environment),
            limit: query.limit ?? defaultLimit,
            startingAfter: query.starting_after,
            endingBefore: query.ending_before
          })
          const now = yield* nowSeconds
          const data = found.keys.map((key) => keyObject(key, now))
          return jsonText(wrappedJson({ object: "list", data, has_more: found.hasMore }))
        })
      )
      .handle(
        "change",
        Effect.fnUntraced(function*({ params, payload }) {
          const principal = yield* requireMerchantScope
          const name = { ...principal, id: params.id }
          return yield* answerIdempotently<KeyState, PublicError>(
            (call) => keys.change(name, { ...changeOf(payload), manager: principal }, call, principal.credential),
            keyObject
          )
        })
      )
      .handle(
        "revoke",
        Effect.fnUntraced(function*({ params, payload }) {
          const principal = yield* requireMerchantScope
          const name = { ...principal, id: params.id }
          const childKeys = payload?.child_keys ?? "keep"
          return yield* answerIdempotently<RevokedKey, PublicError>(
            (call) => keys.revoke(name, childKeys, call, principal.credential),
            revokedObject
          )
        })
      )
      .handle(
        "rotate",
        Effect.fnUntraced(function*({ params, payload }) {
          const principal = yield* requireMerchantScope
          const name = { ...principal, id: params.id }
          const rotation = {
            overlapSeconds: payload.overlap_seconds ?? defaultOverlapSeconds,
            creatorKey: creatorOf(principal),
            manager: principal
          }
          return yield* answerIdempotently<RotatedKey, PublicError>(
            (call) => keys.rotate(name, rotation, call, principal.credential),
            rotatedObject
          )
        })
      )
  })
)

const merchantOnWire = ({ id, name, email, createdAt }: MerchantState) =>
  ({ id, name, email, created_at: createdAt }) as Merchant

const keyOnWire = (key: KeyState, now: number) =>
  ({ id: key.id, merchant_id: key.merchantId, ...keyFieldsOf(key, now) }) as ApiKey

/** The calls of `AuthRpc`. */
export const rpcHandlers = Effect.gen(function*() {
  const keys = yield* Keys
  const keyOf = <E>(key: Effect.Effect<KeyState, E>) => Effect.zipWith(key, nowSeconds, keyOnWire)
  const keyWithSecretOf = <E, M extends KeyWithSecret>(made: Effect.Effect<M, E>) =>
    Effect.zipWith(made, nowSeconds, ({ key, state }, now) => ({ ...keyOnWire(state, now), key }))
  const keyNameOf = ({ key_id, merchant_id }: { readonly merchant_id: number; readonly key_id: string }) => ({
    merchantId: merchant_id,
    environment: null,
    id: key_id
  })
  return AuthRpc.of({
    "auth.merchants.create": ({ name, email }) => Effect.map(keys.createMerchant(name, email ?? null), merchantOnWire),
    "auth.merchants.list": ({ after }) => Effect.map(keys.merchants(after ?? 0), (found) => found.map(merchantOnWire)),
    "auth.keys.create": ({ environment, expires_at, ip_allowlist, merchant_id, name, scope, use = null }) =>
      Effect.flatMap(useOf({ scope, use }), (use) =>
        keyWithSecretOf(keys.create({
          merchantId: merchant_id,
          name,
          scope,
          environment,
          use,
          expiresAt: expires_at ?? null,
          ipAllowlist: ip_allowlist ?? []
        }))),
    "auth.keys.list": ({ merchant_id }) =>
      Effect.zipWith(keys.list(merchant_id), nowSeconds, (found, now) => found.map((key) => keyOnWire(key, now))),
    "auth.keys.change": ({ api_version, expires_at, ip_allowlist, name, ...key }) =>
      keyOf(keys.change(keyNameOf(key), {
        manager: null,
        ...(name === undefined ? {} : { name }),
        ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
        ...(ip_allowlist === undefined ? {} : { ipAllowlist: ip_allowlist }),
        ...(api_version === undefined ? {} : { apiVersion: api_version })
      })),
    "auth.keys.rotate": ({ overlap_seconds, ...key }) =>
      keyWithSecretOf(
        keys.rotate(keyNameOf(key), { overlapSeconds: overlap_seconds, creatorKey: null, manager: null })
      ),
    "auth.keys.revoke": ({ child_keys, ...key }) =>
      Effect.zipWith(keys.revoke(keyNameOf(key), child_keys), nowSeconds, ({ children, state }, now) => ({
        ...keyOnWire(state, now),
        child_keys: children.map((child) => keyOnWire(child, now))
      }))
  })
})

/** The demo merchant is made in less; an instance that dies meanwhile keeps others from it for so long. */
const demoLeaseSeconds = 30

const demoKeys = (["merchant", "commerce"] as const).map((scope) => ({
  name: `Demo ${scope} key`,
  scope,
  environment: "devnet" as const,
  expiresAt: null
}))

const demoBlock = (publicUrl: string, file: string, merchantKey: string, commerceKey: string): string => `
  Demo Store is ready (devnet, play money). Its keys are also in ${file}

    merchant key   ${merchantKey}
    commerce key   ${commerceKey}

  Try it:

    curl -X POST ${publicUrl}/api/v1/invoices \\
      -H 'x-api-key: ${merchantKey}' \\
      -H 'Idempotency-Key: demo-1' \\
      -H 'content-type: application/json' \\
      -d '{"amount_usd": 5}'
`

/**
 * On the first start of a deployment that serves devnet: a merchant with two keys, told once on standard output and in
 * {@link demoKeysFile}. The file is written before the commit, so keys that work are never lost.
 */
export const demoStore = Effect.gen(function*() {
  const settings = yield* Settings
  if (!settings.environments.includes("devnet")) return
  const keys = yield* Keys
  const files = yield* FileSystem.FileSystem
  const file = (yield* Path.Path).join(settings.dataDirectory, demoKeysFile)
  if (yield* keys.anyMerchant) {
    // The keys were shown at the first start only.
    const isKept = yield* Effect.orElseSucceed(files.exists(file), () => false)
    if (isKept) yield* Effect.annotateLogs(Effect.logInfo("the keys of the demo merchant are in a file"), { file })
    return
  }
  const write = ([merchant, commerce]: ReadonlyArray<KeyWithSecret>) =>
    Effect.gen(function*() {
      yield* files.makeDirectory(settings.dataDirectory, { recursive: true })
      // A file that is there already would keep its own mode.
      yield* files.remove(file, { force: true })
      const text = { merchant_id: merchant?.state.merchantId, merchant_key: merchant?.key, commerce_key: commerce?.key }
      yield* files.writeFileString(file, `${JSON.stringify(text, null, 2)}\n`, { mode: 0o600 })
    })

  // Two instances that start at once make one: the second waits here, and then finds it.
  yield* runUnderLease(
    "auth-demo-merchant",
    demoLeaseSeconds,
    Effect.gen(function*() {
      if (yield* keys.anyMerchant) return
      const [merchant, commerce] = yield* keys.createWithKeys("Demo Store", demoKeys, write)
      yield* Console.log(demoBlock(settings.publicUrl, file, merchant?.key ?? "", commerce?.key ?? ""))
    })
  )
})
