/** A small plugin for the tests of the door: one table, one group of each family, every kind of ending. */
import { Effect, Layer, Schema } from "effect"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Commit, dieOnReplay } from "../../../runtime/Commit.ts"
import {
  ActsByOneCommit,
  AddressLimitOf,
  Anonymous,
  AnyOrigin,
  Credentials,
  CurrentPrincipal,
  errors,
  FlatErrors,
  Idempotency,
  IdempotencyRequired,
  Idempotent,
  jsonText,
  MerchantAuth,
  PersonalPath,
  RequestInfo,
  WrappedErrors
} from "../../../runtime/Http.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { type ErrorCode, errorCodes, publicError } from "../../../schemas/Errors.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { uuidOf } from "../../../runtime/Uuid.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { operatorKey, solePerson } from "../../fixtures/authorities.ts"

const Payload = Schema.Struct({ id: Schema.String, amount: Schema.optionalKey(Schema.Int) })
const Thing = Schema.Struct({ id: Schema.String })

class ThingsGroup extends HttpApiGroup.make("things")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: { limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))) },
      success: Schema.Struct({ merchant: Schema.Int, environment: Schema.String, requestId: Schema.String })
    }),
    HttpApiEndpoint.get("fail", "/fail/:code", {
      params: { code: Schema.String },
      error: errors("wrapped", ...errorCodes)
    }),
    HttpApiEndpoint.post("echo", "/echo", { payload: Schema.Json, success: Schema.Json }),
    HttpApiEndpoint.post("create", "/", { payload: Payload, success: Thing, error: errors("wrapped", ...errorCodes) })
      .middleware(IdempotencyRequired),
    HttpApiEndpoint.post("act", "/:id/:ending", {
      params: { id: Schema.String, ending: Schema.String },
      success: Thing,
      error: errors("wrapped", ...errorCodes)
    }).middleware(Idempotent)
  )
  .middleware(MerchantAuth)
  .middleware(WrappedErrors)
  .prefix("/api/v1/things")
{}

class FlatGroup extends HttpApiGroup.make("flat-things")
  .add(
    HttpApiEndpoint.get("fail", "/fail/:code", {
      params: { code: Schema.String },
      error: errors("flat", ...errorCodes)
    }),
    HttpApiEndpoint.post("create", "/", { payload: Payload, success: Thing, error: errors("flat", ...errorCodes) })
      .middleware(IdempotencyRequired)
  )
  .middleware(MerchantAuth)
  .middleware(FlatErrors)
  .prefix("/api/v1/flat-things")
{}

/** Whose paths name a person. */
class PersonGroup extends HttpApiGroup.make("person-things")
  .add(
    HttpApiEndpoint.post("create", "/:id", {
      params: { id: Schema.String },
      success: Thing,
      error: errors("wrapped", ...errorCodes)
    }).middleware(IdempotencyRequired).annotate(ActsByOneCommit, true)
  )
  .middleware(MerchantAuth)
  .middleware(WrappedErrors)
  .prefix("/api/v1/person-things")
  .annotate(PersonalPath, true)
{}

class OpenGroup extends HttpApiGroup.make("open-things")
  .add(HttpApiEndpoint.get("get", "/", { success: Thing }).annotate(AddressLimitOf, "nonce"))
  .middleware(Anonymous)
  .middleware(FlatErrors)
  .prefix("/api/v1/open-things")
  .annotate(AnyOrigin, true)
{}

export class ThingsApi
  extends HttpApi.make("things-api").add(ThingsGroup).add(FlatGroup).add(PersonGroup).add(OpenGroup)
{}

/** How often handlers ran, and a gate that holds them while it is closed. */
export const runs = { count: 0, gate: Effect.void as Effect.Effect<void> }

const write = (merchantId: number, id: string) => ({
  table: "things",
  row: { merchant_id: merchantId, id, version: 1, run: uuidOf(`${id} ${runs.count}`) }
})

/** Commits a thing and its reply together. */
const create = Effect.fnUntraced(function*(id: string) {
  runs.count += 1
  yield* runs.gate
  const { merchantId, environment } = yield* CurrentPrincipal
  const idempotency = yield* Idempotency
  const { requestId } = yield* RequestInfo
  const body = JSON.stringify({ id, run: runs.count })
  const reply = idempotency.reply(200, body)
  yield* (yield* Commit).append({
    merchantId,
    environment,
    cause: { requestId, idempotencyKey: idempotency.key },
    writes: [write(merchantId, id)],
    events: [],
    ...(reply === undefined ? {} : { reply })
  }).pipe(
    Effect.catchTag("Conflict", () => Effect.fail(publicError("INVALID_TRANSITION"))),
    dieOnReplay
  )
  return jsonText(body)
})

/** Ends as the path says, without a commit of its own. */
const end = (ending: string) => {
  runs.count += 1
  if (ending === "defect") return Effect.die(new Error("secret inside"))
  if ((errorCodes as ReadonlyArray<string>).includes(ending)) return Effect.fail(publicError(ending as ErrorCode))
  return Effect.as(runs.gate, jsonText(JSON.stringify({ id: ending, run: runs.count })))
}

const fail = (code: string) => Effect.fail(publicError(code as ErrorCode, { retryAfterSeconds: 3 }))

const handlers = Layer.mergeAll(
  Operations.group(ThingsApi, "things", (group) =>
    group
      .handle(
        "list",
        Effect.fnUntraced(function*() {
          const { environment, merchantId } = yield* CurrentPrincipal
          return { merchant: merchantId, environment, requestId: (yield* RequestInfo).requestId }
        })
      )
      .handle("fail", ({ params }) =>
        params.code === "defect" ? Effect.die(new Error("secret inside")) : fail(params.code))
      .handle("echo", ({ payload }) =>
        Effect.succeed(payload))
      .handle("create", ({ payload }) => create(payload.id) as never)
      .handle("act", ({ params }) => end(params.ending))),
  Operations.group(
    ThingsApi,
    "person-things",
    (group) => group.handle("create", ({ params }) => create(params.id) as never)
  ),
  Operations.group(ThingsApi, "flat-things", (group) =>
    group
      .handle("fail", ({ params }) => fail(params.code))
      .handle("create", ({ payload }) => create(payload.id) as never)),
  Operations.group(ThingsApi, "open-things", (group) => group.handle("get", () => Effect.succeed({ id: "open" })))
)

/** Keys of the tests by name. */
export const principals: Readonly<Record<string, Principal>> = Object.fromEntries(
  ([
    ["merchant-a", 1, "devnet", "merchant"],
    ["merchant-b", 2, "devnet", "merchant"],
    ["commerce-a", 1, "devnet", "commerce"],
    ["live-a", 1, "mainnet", "merchant"],
    ["pinned-a", 1, "devnet", "merchant", "2026-01-15"]
  ] as const).map(([name, merchantId, environment, scope, apiVersion = newestVersion]) => [
    name,
    {
      merchantId,
      environment,
      scope,
      kind: "key",
      credential: `key_${name}`,
      apiVersion,
      ...operatorKey
    } as unknown as Principal
  ])
)

/** Tokens of the tests by name: what a wallet signed in for, in the merchant's default environment. */
const wallets: Readonly<Record<string, Principal>> = Object.fromEntries(
  Object.entries({ "wallet-a": 1, "wallet-b": 2 }).map(([name, merchantId]) => [
    name,
    {
      merchantId,
      environment: "devnet",
      scope: "merchant",
      kind: "wallet",
      credential: name,
      apiVersion: "2026-01-15",
      ...solePerson
    } as unknown as Principal
  ])
)

/** A key that may be used from one address only. */
const bound = { ...principals["merchant-a"]!, admits: (address: string | null) => address === "192.0.2.1" }

const keys = Layer.effectDiscard(Effect.gen(function*() {
  const { register, registerBearer } = yield* Credentials
  yield* register((key) => Effect.sync(() => key === "bound-a" ? bound : principals[key] ?? null))
  yield* registerBearer((token) => {
    const wallet = wallets[token]
    if (wallet !== undefined) return Effect.succeed(wallet)
    return Effect.fail(publicError(token === "wallet-expired" ? "TOKEN_EXPIRED" : "TOKEN_INVALID"))
  })
}))

export const things = {
  name: "things",
  tables: ["things"],
  migrations: {
    "0001_things": Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql`CREATE TABLE things (
        merchant_id integer NOT NULL, id text NOT NULL, version bigint NOT NULL, run text NOT NULL,
        PRIMARY KEY (merchant_id, id))`)
  }
}

export const thingsLayer = Layer.merge(HttpApiBuilder.layer(ThingsApi).pipe(Layer.provide(handlers)), keys)
