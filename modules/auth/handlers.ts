/** Between internal services and the actor, and the demo store of a new devnet. */
import { Console, Effect, FileSystem, Path } from "effect"
import { Leases } from "../../runtime/Leases.ts"
import { Settings } from "../../runtime/Settings.ts"
import { Keys, type MadeKey } from "./actor.ts"
import type { KeyState, MerchantState } from "./machine.ts"
import { type ApiKey, AuthRpc, type Merchant } from "./rpc.ts"

const merchantOnWire = ({ id, name, email, createdAt }: MerchantState) =>
  ({ id, name, email, created_at: createdAt }) as Merchant

const keyOnWire = (key: KeyState) =>
  ({
    id: key.id,
    merchant_id: key.merchantId,
    name: key.name,
    prefix: key.prefix,
    last4: key.last4,
    scope: key.scope,
    environment: key.environment,
    status: key.status,
    expires_at: key.expiresAt,
    api_version: key.apiVersion,
    created_at: key.createdAt
  }) as ApiKey

/** The calls of `AuthRpc`. */
export const rpcHandlers = Effect.gen(function*() {
  const keys = yield* Keys
  return AuthRpc.of({
    "auth.merchants.create": ({ name, email }) => Effect.map(keys.createMerchant(name, email ?? null), merchantOnWire),
    "auth.keys.create": ({ merchant_id, name, scope, environment, expires_at }) =>
      Effect.map(
        keys.create({ merchantId: merchant_id, name, scope, environment, expiresAt: expires_at ?? null }),
        ({ key, state }) => ({ ...keyOnWire(state), key })
      ),
    "auth.keys.list": ({ merchant_id }) => Effect.map(keys.list(merchant_id), (found) => found.map(keyOnWire)),
    "auth.keys.revoke": ({ merchant_id, key_id }) => Effect.map(keys.revoke(merchant_id, key_id), keyOnWire)
  })
})

/** Where the demo keys are written, in the data directory, readable by the service's own user only. */
export const demoKeysFile = "demo-keys.json"

/** The lease under which an instance looks for a merchant and makes the demo one: two that start at once make one. */
const demoLease = "auth-demo-merchant"
const demoLeaseMillis = 10_000

const demoKeys = (["merchant", "commerce"] as const).map((scope) => ({
  name: `Demo ${scope} key`,
  scope,
  environment: "devnet" as const,
  expiresAt: null
}))

const demoBlock = (publicUrl: string, file: string, merchantKey: string, commerceKey: string): string =>
  `
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
  if (yield* keys.anyMerchant) return
  const leases = yield* Leases
  const files = yield* FileSystem.FileSystem
  const file = (yield* Path.Path).join(settings.dataDirectory, demoKeysFile)

  const write = ([merchant, commerce]: ReadonlyArray<MadeKey>) =>
    Effect.gen(function*() {
      yield* files.makeDirectory(settings.dataDirectory, { recursive: true })
      // A file that is there already would keep its own mode.
      yield* files.remove(file, { force: true })
      const text = { merchant_id: merchant?.state.merchantId, merchant_key: merchant?.key, commerce_key: commerce?.key }
      yield* files.writeFileString(file, `${JSON.stringify(text, null, 2)}\n`, { mode: 0o600 })
    })

  yield* leases.hold(demoLease, demoLeaseMillis, () =>
    Effect.gen(function*() {
      if (yield* keys.anyMerchant) return
      const [merchant, commerce] = yield* keys.createWithKeys("Demo Store", demoKeys, write)
      yield* Console.log(demoBlock(settings.publicUrl, file, merchant?.key ?? "", commerce?.key ?? ""))
    }))
})
