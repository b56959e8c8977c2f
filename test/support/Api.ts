/** The API without a socket: the real router, middlewares and commit log over a database of the test's own. */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { HttpEffect, HttpRouter, HttpServer, type HttpServerRequest } from "effect/http"
import type { HttpApi } from "effect/http-api"
import type { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import * as GroupCommit from "../../runtime/commit/GroupCommit.ts"
import * as Tail from "../../runtime/eventbus/Tail.ts"
import { routerConfig } from "../../runtime/http/Routes.ts"
import * as Server from "../../runtime/http/Server.ts"
import * as LeasesOfDatabase from "../../runtime/leases/Database.ts"
import * as PersonalData from "../../runtime/PersonalData.ts"
import * as Availability from "../../runtime/Availability.ts"
import * as AuditLog from "../../runtime/AuditLog.ts"
import * as Books from "../../runtime/Books.ts"
import * as LinkedWallets from "../../runtime/LinkedWallets.ts"
import * as Mail from "../../runtime/Mail.ts"
import * as Notices from "../../runtime/Notices.ts"
import { Restores } from "../../runtime/Restores.ts"
import * as Members from "../../runtime/Members.ts"
import * as PagePreviews from "../../runtime/PagePreviews.ts"
import * as PublicWeb from "../../runtime/PublicWeb.ts"
import * as MerchantClock from "../../runtime/MerchantClock.ts"
import { migrate } from "../../runtime/Migrate.ts"
import type { Migrations } from "../../runtime/Plugin.ts"
import type { Rollup } from "../../runtime/Rollups.ts"
import { Rpc } from "../../runtime/Rpc.ts"
import * as Screening from "../../runtime/Screening.ts"
import { fromMasters, Secrets } from "../../runtime/Secrets.ts"
import { Settings, type SettingsValue } from "../../runtime/Settings.ts"
import { Health } from "../../runtime/Telemetry.ts"
import * as TextSigners from "../../runtime/TextSigners.ts"
import * as Timers from "../../runtime/Timers.ts"
import { runtimeTables } from "../../runtime/Tables.ts"
import type { Environment } from "../../schemas/Network.ts"
import { migratedLayer } from "./Database.ts"
import { generousLimits } from "./Limits.ts"
import { violations } from "./OpenApi.ts"

/** A request as a test writes it; a body that is not text is sent as JSON. */
export interface Call {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: any
}

const requestOf = (path: string, { method, headers = {}, body }: Call): Request => {
  const bytes = body === undefined
    ? undefined
    : body instanceof Uint8Array
    ? Buffer.from(body)
    : Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
  return new Request(`http://till.test${path}`, {
    method: method ?? (bytes === undefined ? "GET" : "POST"),
    headers: {
      ...(bytes === undefined ? {} : { "content-type": "application/json", "content-length": String(bytes.length) }),
      ...headers
    },
    ...(bytes === undefined ? {} : { body: bytes })
  })
}

const read = async (response: Response): Promise<Answer> => {
  const text = await response.text()
  const isJson = response.headers.get("content-type")?.includes("json") === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined
  }
}

/** Calls the routes of the layer it came from. */
export class Api extends Context.Service<Api, {
  readonly call: (path: string, call?: Call) => Effect.Effect<Answer>
}>()("test/Api") {}

/** Settings of a test deployment; what a test does not name is not there. */
export const settingsLayer = (
  more: {
    readonly environments?: readonly [Environment, ...Array<Environment>]
    readonly dataDirectory?: string
    readonly publicUrl?: string
    readonly limits?: Partial<SettingsValue["limits"]>
  } = {}
): Layer.Layer<Settings> =>
  Layer.succeed(Settings, {
    environments: ["devnet"],
    http: { host: "127.0.0.1", port: 0, trustProxy: [], allowedOrigins: [] },
    publicUrl: "http://till.test",
    dataDirectory: "/nonexistent",
    instanceId: "00000000-0000-4000-8000-000000000000",
    telemetry: { logs: "json", level: "error", requests: "none", payments: false },
    ...more,
    limits: { ...generousLimits, ...more.limits }
  } as never)

export const secretsLayer: Layer.Layer<Secrets> = Layer.effect(Secrets, Effect.orDie(fromMasters([randomBytes(32)])))

/** An internal port nobody opens. */
export const noRpc: Layer.Layer<Rpc> = Layer.succeed(Rpc, { serve: () => Effect.void })

/** A health that nobody asks for. */
export const noHealth: Layer.Layer<Health> = Layer.mock(Health, { register: () => Effect.void })

/** A plugin's tables, as the kernel needs them. */
export interface TestTables {
  readonly name: string
  readonly migrations: Migrations
  readonly tables: ReadonlyArray<string>
  readonly rollups?: ReadonlyArray<Rollup>
}

/** The kernel's services over `database`, with the tables of the plugins under test. */
export const kernel = <E>(
  plugins: ReadonlyArray<TestTables>,
  settings: Layer.Layer<Settings> = settingsLayer(),
  database: Layer.Layer<Layer.Success<typeof migratedLayer>, E> = migratedLayer as never,
  secrets: Layer.Layer<Secrets> = secretsLayer
) => {
  const migrated = Layer.effectDiscard(
    Effect.forEach(plugins, ({ name, migrations }) => migrate(name, migrations), { discard: true })
  ).pipe(Layer.provideMerge(database))
  const tables = [...runtimeTables, ...plugins.flatMap((plugin) => plugin.tables)]
  const rollups = plugins.flatMap((plugin) => plugin.rollups ?? [])
  return Layer.mergeAll(
    AuditLog.layer,
    Books.layer,
    LinkedWallets.layer,
    Members.layer,
    Restores.layer,
    PagePreviews.layer,
    PersonalData.layer(rollups),
    PublicWeb.layer,
    Tail.layer,
    Mail.layer,
    MerchantClock.layer,
    Notices.layer,
    Screening.layer,
    TextSigners.layer
  )
    .pipe(
      (below) => Layer.provideMerge(Layer.merge(Availability.layer, Timers.layer), below),
      Layer.provideMerge(Layer.mergeAll(GroupCommit.layer(tables, rollups), LeasesOfDatabase.layer)),
      Layer.provideMerge(migrated),
      Layer.provideMerge(Layer.mergeAll(settings, secrets, noRpc, noHealth))
    )
}

/** The answer, if it is as the published OpenAPI document says. */
const described = (
  path: string,
  { body, method = body === undefined ? "GET" : "POST" }: Call,
  answer: Answer
): Answer => {
  const { headers, status, text } = answer
  const found = violations({ method, path, status, headers: Object.fromEntries(headers), text }, true)
  if (found.length > 0) throw new Error(`${method} ${path} is not as the OpenAPI document says: ${found.join("; ")}`)
  return answer
}

/**
 * {@link Api} over `routes`, which may use the kernel, the middlewares, and each other's services. Each answer is held
 * against the published OpenAPI document where that has its path, unless `isDescribed` is false: the test's own objects
 * are not those of the document.
 */
export const apiLayer = <A, E, R, E2, K>(
  apis: ReadonlyArray<HttpApi.Constraint>,
  routes: Layer.Layer<A, E, R>,
  below: Layer.Layer<K | SqlClient.SqlClient, E2>,
  { isDescribed = true }: { readonly isDescribed?: boolean } = {}
) => {
  const call = Layer.effect(
    Api,
    Effect.gen(function*() {
      const router = yield* HttpRouter.HttpRouter
      // The door's own fiber runs on the test's clock, as the routes do.
      const clock = Context.make(Clock.Clock, yield* Clock.Clock)
      const handler = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(clock)(
        router.asHttpEffect()
      )
      return Api.of({
        call: (path, call = {}) =>
          Effect.promise(async () => {
            const answer = await read(await handler(requestOf(path, call)))
            return isDescribed ? described(path, call, answer) : answer
          })
      })
    })
  )
  return call.pipe(
    Layer.provideMerge(routes),
    Layer.provideMerge(Server.layer(apis)),
    Layer.provideMerge(Layer.provide(HttpRouter.layer, routerConfig)),
    Layer.provideMerge(HttpServer.layerServices),
    Layer.provideMerge(below)
  )
}
