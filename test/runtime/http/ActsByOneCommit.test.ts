/**
 * Goal: whether a call's stored reply is looked up before it runs, or its commit finds out that it is a repeat, nobody
 * can tell by the answers. Method: two endpoints with one handler, one of them marked `ActsByOneCommit`, on two
 * instances over one database. Any sequence of calls is answered by both alike, in a world that changes between the
 * calls.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { Commit, dieOnReplay } from "../../../runtime/Commit.ts"
import {
  ActsByOneCommit,
  Credentials,
  CurrentPrincipal,
  errors,
  Idempotency,
  IdempotencyRequired,
  jsonText,
  MerchantAuth,
  RequestInfo,
  WrappedErrors
} from "../../../runtime/Http.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { makeRecentKeys } from "../../../runtime/http/RecentKeys.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"
import { errorCodes, publicError } from "../../../schemas/Errors.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { connect, freshDatabase } from "../../support/Database.ts"
import { principals } from "./ThingsPlugin.ts"

const Payload = Schema.Struct({ id: Schema.String })
const options = { payload: Payload, success: Schema.Json, error: errors("wrapped", ...errorCodes) }

class PairGroup extends HttpApiGroup.make("pair")
  .add(
    HttpApiEndpoint.post("lookedFor", "/looked-for", options).middleware(IdempotencyRequired),
    HttpApiEndpoint.post("foundByCommit", "/found-by-commit", options)
      .middleware(IdempotencyRequired)
      .annotate(ActsByOneCommit, true)
  )
  .middleware(MerchantAuth)
  .middleware(WrappedErrors)
  .prefix("/api/v1/pair")
{}

class PairApi extends HttpApi.make("pair-api").add(PairGroup) {}

/** How the world refuses a call: errors that are kept and errors that are not, and a bug. */
const refusals = [
  "VALIDATION_ERROR",
  "SCOPE_MISMATCH",
  "NOT_FOUND",
  "INVALID_TRANSITION",
  "ROUTE_LOCKED",
  "defect"
] as const

/** What the handler finds: what the next calls are refused with, and a number that their answers hold. */
const world = { refusal: null as typeof refusals[number] | null, number: 0 }

/** How often a handler ran. */
let runs = 0

/** As the world is: refuses, or commits a thing and its reply together. A thing that is there already is a conflict. */
const create = (endpoint: string) =>
  Effect.fnUntraced(function*({ payload: { id } }: { readonly payload: typeof Payload.Type }) {
    runs += 1
    const { number, refusal } = world
    if (refusal === "defect") return yield* Effect.die(new Error("a bug"))
    if (refusal !== null) return yield* publicError(refusal)
    const { environment, merchantId } = yield* CurrentPrincipal
    const idempotency = yield* Idempotency
    const { requestId } = yield* RequestInfo
    const body = JSON.stringify({ id, number })
    yield* (yield* Commit).append({
      merchantId,
      environment,
      cause: { requestId, idempotencyKey: idempotency.key },
      writes: [{ table: "pairs", row: { merchant_id: merchantId, endpoint, id, version: 1 } }],
      events: [],
      reply: idempotency.reply(200, body)
    }).pipe(
      Effect.catchTag("Conflict", () => Effect.fail(publicError("INVALID_TRANSITION"))),
      dieOnReplay
    )
    return jsonText(body)
  })

const handlers = Operations.group(
  PairApi,
  "pair",
  (group) =>
    group
      .handle("lookedFor", create("looked-for") as never)
      .handle("foundByCommit", create("found-by-commit") as never)
)

const pairs = {
  name: "pairs",
  tables: ["pairs"],
  migrations: {
    "0001_pairs": Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql`CREATE TABLE pairs (
        merchant_id integer NOT NULL, endpoint text NOT NULL, id text NOT NULL, version bigint NOT NULL,
        PRIMARY KEY (merchant_id, endpoint, id))`)
  }
}

const callers = ["merchant-a", "merchant-b", "commerce-a", "live-a"] as const

const keys = Layer.effectDiscard(
  Effect.flatMap(Credentials, ({ register }) => register((key) => Effect.succeed(principals[key] ?? null)))
)

const routes = Layer.merge(HttpApiBuilder.layer(PairApi).pipe(Layer.provide(handlers)), keys)

/** Two instances over one database, and the database. */
class Instances extends Context.Service<Instances, {
  readonly all: ReadonlyArray<Api["Service"]>
  readonly sql: SqlClient.SqlClient
}>()("test/ActsByOneCommit/Instances") {}

const instances = Layer.effect(
  Instances,
  Effect.gen(function*() {
    const database = yield* freshDatabase
    const secrets = Layer.effect(Secrets, Effect.orDie(fromMasters([randomBytes(32)])))
    const instance = Layer.build(Layer.fresh(apiLayer(
      [PairApi],
      routes,
      kernel([pairs], settingsLayer({ environments: ["devnet", "mainnet"] }), Layer.fresh(connect(database)), secrets)
    )))
    const first = yield* instance
    const second = yield* instance
    return Instances.of({
      all: [first, second].map((services) => Context.get(services, Api)),
      sql: Context.get(first, SqlClient.SqlClient)
    })
  })
)

/** What a caller sees of an answer. */
const seen = ({ headers, status, text }: Answer) => ({ status, text, isRepeat: headers.get("idempotent-replayed") })

const Call = Schema.Struct({
  caller: Schema.Literals(callers),
  key: Schema.Literals(["k1", "k2", "k3"]),
  body: Schema.Literals(["{\"id\":\"a\"}", " { \"id\" : \"\\u0061\" } ", "{\"id\":\"b\"}", "{\"id\":1}", "[]", "{"]),
  instance: Schema.Literals([0, 1]),
  times: Schema.Literals([1, 3]),
  isRefused: Schema.Boolean,
  refusal: Schema.Literals(refusals)
})

let sequences = 0

layer(instances as Layer.Layer<Instances>)("a call that acts by one commit", (it) => {
  it.effect.prop(
    "is answered as if its stored reply had been looked up, whatever became of the world",
    [Schema.Array(Call).check(Schema.isMinLength(2), Schema.isMaxLength(12))],
    ([calls]) =>
      Effect.gen(function*() {
        const { all, sql } = yield* Instances
        const sequence = sequences++
        yield* sql`DELETE FROM pairs`
        for (const [at, { body, caller, instance, isRefused, key, refusal, times }] of calls.entries()) {
          world.refusal = isRefused ? refusal : null
          world.number = at
          const send = (endpoint: string) =>
            Effect.forEach(
              Array.from({ length: times }),
              () =>
                Effect.map(
                  all[instance]!.call(`/api/v1/pair/${endpoint}`, {
                    method: "POST",
                    body,
                    headers: {
                      "x-api-key": caller,
                      "idempotency-key": `${sequence}-${key}`,
                      "x-request-id": `req-${sequence}-${at}`
                    }
                  }),
                  seen
                ),
              { concurrency: "unbounded" }
            )
          assert.deepStrictEqual(yield* send("found-by-commit"), yield* send("looked-for"))
        }
        const rows = yield* sql<{ endpoint: string; id: string }>`SELECT endpoint, merchant_id, id FROM pairs`
        const rowsOf = (endpoint: string) => rows.filter((row) => row.endpoint === endpoint).length
        assert.strictEqual(rowsOf("found-by-commit"), rowsOf("looked-for"))
      }),
    { arbitrary: { runs: 100 } }
  )

  it.effect("is run without a look-up the first time, and not run again where its key was sent a short time ago", () =>
    Effect.gen(function*() {
      const { all: [first, second] } = yield* Instances
      const post = (instance: Api["Service"]) =>
        instance.call("/api/v1/pair/found-by-commit", {
          body: { id: "once" },
          headers: { "x-api-key": "merchant-b", "idempotency-key": "once" }
        })
      Object.assign(world, { refusal: null, number: 1 })
      const before = runs
      const answer = yield* post(first!)
      assert.deepStrictEqual([answer.status, runs - before], [200, 1])
      Object.assign(world, { number: 2 })
      // The other instance has never met the key: its commit finds the repeat, and nothing is written.
      for (const [instance, expectedRuns] of [[first, 1], [second, 2], [second, 2]] as const) {
        const repeat = yield* post(instance!)
        assert.deepStrictEqual(seen(repeat), { status: 200, text: answer.text, isRepeat: "true" })
        assert.strictEqual(runs - before, expectedRuns)
      }
    }))
})

describe("recent keys", () => {
  it("are remembered while at least as many as promised came after them, and forgotten after twice as many", () => {
    const remember = makeRecentKeys(10)
    for (let n = 0; n < 100; n++) {
      assert.isFalse(remember(`name-${n}`))
      for (let back = 0; back < Math.min(n, 10); back++) assert.isTrue(remember(`name-${n - back}`))
    }
    assert.isFalse(remember("name-50"))
  })
})
