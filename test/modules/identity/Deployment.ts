/**
 * Instances of the service with wallets that need no chain: real routes, real commit log, a wallet kind of the tests'
 * own.
 */
import { Restores } from "../../../runtime/Restores.ts"
import { type Context, Deferred, Effect, Layer, Schema, type Scope } from "effect"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { SqlClient } from "effect/sql"
import { createHash, randomBytes } from "node:crypto"
import { Keys } from "../../../modules/auth/actor.ts"
import { Merchants } from "../../../modules/auth/service.ts"
import { migrations as authMigrations, tables as authTables } from "../../../modules/auth/migrations.ts"
import { IdentityApi } from "../../../modules/identity/api.ts"
import { Wallets } from "../../../modules/identity/actor.ts"
import { migrations, tables } from "../../../modules/identity/migrations.ts"
import { plugin } from "../../../modules/identity/plugin.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"
import { type SignInDriver, SignInRefused, SignIns, SignInUnavailable } from "../../../runtime/SignIns.ts"
import * as Registry from "../../../runtime/SignIns.ts"
import type { LinkedWallets } from "../../../runtime/LinkedWallets.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Credentials, CurrentPrincipal, MerchantAuth, Revocations, WrappedErrors } from "../../../runtime/Http.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type Answer, Api, apiLayer, type Call, kernel, settingsLayer } from "../../support/Api.ts"
import { connect, migratedLayer, type TestDatabase } from "../../support/Database.ts"
import * as Operations from "../../../runtime/Operations.ts"

const hash = (text: string) => createHash("sha256").update(text).digest("hex")

export const newAddress = () => `0x${randomBytes(20).toString("hex")}`

/** What the wallet of `address` makes of a message; `kind` as the driver below reads it. */
export const sign = (address: string, message: string, kind = "key") => `${kind}:${hash(`${address}\n${message}`)}`

/** Done once a driver was asked what it will never tell. */
export const hanging = Deferred.makeUnsafe<void>()

/**
 * A family of wallets whose signature is a hash: `key` of an account, `contract` of one; `shared` is refused; `down`
 * and `hang` never tell.
 */
const driver: SignInDriver = {
  name: "test-wallets",
  family: "evm",
  canonicalAddress: (text) => /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : null,
  chainId: (network, environment) => network === "base" ? environment === "mainnet" ? "8453" : "84532" : null,
  message: (challenge) => JSON.stringify(challenge),
  verify: (challenge, { message, signature }) => {
    const [kind = ""] = signature.split(":")
    if (kind === "down") return Effect.fail(new SignInUnavailable({ reason: "no node answers" }))
    if (kind === "shared") return Effect.fail(new SignInRefused({ reason: "Shared accounts cannot sign in." }))
    if (kind === "hang") return Effect.andThen(Deferred.succeed(hanging, undefined), Effect.never)
    const chainId = kind === "contract" ? challenge.chainId : null
    return Effect.succeed(
      signature === sign(challenge.address, message, kind)
        ? { family: "evm", address: challenge.address, chainId }
        : null
    )
  }
}

const drivers = Layer.effectDiscard(Effect.flatMap(SignIns, ({ register }) => register(driver)))

/** A route that tells who is calling, in place of every other module's. */
class ProbeGroup extends HttpApiGroup.make("probe").add(
  HttpApiEndpoint.get("who", "/probe", {
    success: Schema.Struct({
      merchant: Schema.Int,
      environment: Schema.String,
      scope: Schema.String,
      kind: Schema.String,
      credential: Schema.String
    })
  })
).middleware(MerchantAuth).middleware(WrappedErrors) {}
class ProbeApi extends HttpApi.make("probe-api").add(ProbeGroup) {}

const probe = HttpApiBuilder.layer(ProbeApi).pipe(Layer.provide(
  Operations.group(
    ProbeApi,
    "probe",
    (group) =>
      group.handle("who", () =>
        Effect.map(
          CurrentPrincipal,
          ({ credential, environment, kind, merchantId, scope }) => ({
            merchant: merchantId,
            environment,
            scope,
            kind,
            credential
          })
        ))
  )
))

export interface Options {
  readonly environments?: readonly [Environment, ...Array<Environment>]
  readonly signup?: "open" | "closed"
  readonly wallets?: ReadonlyArray<{ readonly merchant: number; readonly network: "base"; readonly address: string }>
}

export const masters = [randomBytes(32)] as const

const keyOwner = Layer.effectDiscard(Effect.gen(function*() {
  const keys = yield* Keys
  yield* (yield* Credentials).register(keys.verify)
  yield* (yield* Revocations).register("key", keys.usable)
}))

type Services =
  | Api
  | Keys
  | LinkedWallets
  | Merchants
  | Wallets
  | Credentials
  | Restores
  | Revocations
  | SqlClient.SqlClient
  | Secrets

/** One instance; several over one database share nothing else. */
export const instance = (
  options: Options = {},
  database?: TestDatabase,
  keys: readonly [Buffer, ...Array<Buffer>] = [...masters]
): Layer.Layer<Services> => {
  const { environments = ["devnet"] as const, ...rest } = options
  const services = Layer.mergeAll(Merchants.layer, Keys.layer)
  const routes = Layer.mergeAll(plugin.layer(rest as never), probe, keyOwner, Wallets.layer).pipe(
    Layer.provideMerge(services),
    Layer.provideMerge(drivers),
    Layer.provideMerge(Actors.layer)
  )
  const below = Layer.provideMerge(
    Registry.layer,
    kernel(
      [
        { name: "auth", migrations: authMigrations, tables: authTables },
        { name: "identity", migrations, tables }
      ],
      settingsLayer({ environments }),
      (database === undefined ? migratedLayer : connect(database)) as never,
      Layer.effect(Secrets, Effect.orDie(fromMasters(keys)))
    )
  )
  return Layer.fresh(apiLayer([IdentityApi, ProbeApi], routes, below)) as never
}

/** The services of a further instance, for as long as the test's scope lasts. */
export const start = (
  options: Options,
  database: TestDatabase,
  keys?: readonly [Buffer, ...Array<Buffer>]
): Effect.Effect<Context.Context<Services>, never, Scope.Scope> => Layer.build(instance(options, database, keys))

export const call = (path: string, request?: Call) => Effect.flatMap(Api, (api) => api.call(path, request))

const post = (path: string, body: unknown, token?: string) =>
  call(path, { body, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })

export const nonce = (address: string, network = "base") => post("/api/v1/auth/nonce", { address, network })

export const verify = (message: string, signature: string) => post("/api/v1/auth/verify", { message, signature })

export const refresh = (refreshToken: string) => post("/api/v1/auth/refresh", { refresh_token: refreshToken })

export const logout = (body: unknown, token?: string) => post("/api/v1/auth/logout", body, token)

export const who = (token: string, query = "") =>
  call(`/probe${query}`, { headers: { authorization: `Bearer ${token}` } })

/** The whole sign-in of a wallet. */
export const signIn = (address: string, kind?: string) =>
  Effect.gen(function*() {
    const { message } = (yield* nonce(address)).json.data
    return yield* verify(message, sign(address.toLowerCase(), message, kind))
  })

/** A signed-in wallet's tokens. */
export const session = (address = newAddress()) =>
  Effect.map(signIn(address), ({ json }) =>
    json.data as {
      readonly access_token: string
      readonly refresh_token: string
      readonly merchant: { readonly id: number; readonly created: boolean }
    })

/** Links a further wallet to the merchant of `token`. */
export const link = (token: string, address: string) =>
  Effect.gen(function*() {
    const issued = yield* post("/api/v1/auth/wallets/nonce", { address, network: "base" }, token)
    const { message } = issued.json.data
    return yield* post("/api/v1/auth/wallets", { message, signature: sign(address, message) }, token)
  })

export const walletsOf = (token: string) =>
  call("/api/v1/auth/wallets", { headers: { authorization: `Bearer ${token}` } })

export const unlink = (token: string, id: string) =>
  call(`/api/v1/auth/wallets/${id}`, { method: "DELETE", headers: { authorization: `Bearer ${token}` } })

export const codeOf = ({ json, status }: Answer) => `${status} ${json?.error?.code ?? ""}`.trim()
