/**
 * Instances that serve merchants' streams, over one test database: the real commit log, bus, hub, route and watch of
 * keys.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { Commit } from "../../../runtime/Commit.ts"
import { EventBus } from "../../../runtime/EventBus.ts"
import { Credentials, Revocations } from "../../../runtime/Http.ts"
import { credentials } from "../../../runtime/http/Authentication.ts"
import * as Ended from "../../../runtime/http/Revocations.ts"
import * as Throttling from "../../../runtime/http/RateLimiter.ts"
import * as Memory from "../../../runtime/ratelimits/Memory.ts"
import { eventStreamPaths, makeEventsRoute } from "../../../runtime/sockets/EventsRoute.ts"
import * as Hub from "../../../runtime/sockets/Hub.ts"
import { websocketOptions } from "../../../runtime/sockets/Upgrade.ts"
import { Sockets } from "../../../runtime/Sockets.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { EventDraft, EventType } from "../../../schemas/Event.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import type { MerchantId } from "../../../schemas/Ids.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type Authority, Role } from "../../../schemas/Roles.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { settingsLayer } from "../../support/Api.ts"
import type { TestDatabase } from "../../support/Database.ts"
import { connectTo } from "../../support/Sockets.ts"
import { log, start } from "../webhooks/Delivery.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

/**
 * Keys of merchant 1 that are good: shared by all instances, as a table is. `<scope> <name>`; a role as the name
 * is that of the key's maker, and `<role> write` is one with that permission alone.
 */
export const makeKeys = (...names: ReadonlyArray<string>) => new Set(names)

const isRole = Schema.is(Role)

const authorityNamed = (key: string): Partial<Authority> => {
  const [, role, permission] = key.split(" ")
  return {
    ...(isRole(role) ? { role } : {}),
    ...(permission === "write" ? { permissions: [permission] } : {})
  }
}

export interface Instance {
  /** A socket of `merchant` or `commerce`, opened with `key`. */
  readonly dial: (
    stream: "merchant" | "commerce",
    query?: string,
    key?: string,
    version?: string
  ) => ReturnType<typeof connectTo>
  /** Commits events of merchant 1. */
  readonly emit: (objects: ReadonlyArray<WireObject>, type?: EventType, environment?: Environment) => Effect.Effect<
    ReadonlyArray<import("../../../runtime/Commit.ts").CommittedEvent>
  >
  readonly bus: EventBus["Service"]
  readonly url: string
}

const served = Layer.mergeAll(
  HttpRouter.serve(
    HttpRouter.use(Effect.fnUntraced(function*(router) {
      for (const stream of ["merchant", "commerce"] as const) {
        const route = yield* makeEventsRoute(stream, () => Effect.fail(publicError("TOKEN_INVALID")))
        yield* router.add("GET", eventStreamPaths[stream], route)
      }
    })),
    { disableLogger: true, disableListenLog: true }
  ),
  // As the service stops: streams are ended before the door waits for its connections.
  Layer.effectDiscard(Effect.flatMap(Sockets, ({ close }) => Effect.addFinalizer(() => close)))
).pipe(
  Layer.provideMerge(NodeHttpServer.layer(createServer, {
    port: 0,
    host: "127.0.0.1",
    gracefulShutdownTimeout: 100,
    websocket: websocketOptions
  })),
  Layer.provideMerge(Hub.layer),
  Layer.provideMerge(Layer.mergeAll(Ended.layer, credentials, Throttling.layerOver(Memory.layer))),
  Layer.provideMerge(settingsLayer())
)

/** Starts an instance; it stops with the scope. Keys are `unknown` while their table cannot be asked. */
export const instance = (
  database: TestDatabase,
  keys: ReadonlySet<string> & { readonly unknown?: boolean }
): Effect.Effect<Instance, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const context = yield* start(served.pipe(Layer.provideMerge(log(database))))
    const { commit, credentials, revocations } = {
      commit: Context.get(context, Commit),
      credentials: Context.get(context, Credentials),
      revocations: Context.get(context, Revocations)
    }
    yield* credentials.register((key) =>
      Effect.succeed(
        keys.has(key)
          ? {
            merchantId: 1 as MerchantId,
            environment: "devnet",
            scope: key.startsWith("commerce") ? "commerce" : "merchant",
            kind: "key",
            credential: `key_${key}`,
            apiVersion: newestVersion,
            ...operatorKey,
            ...authorityNamed(key)
          }
          : null
      )
    )
    yield* revocations.register("key", (ids) =>
      keys.unknown === true ?
        Effect.die(new Error("no database"))
        : Effect.succeed(
          ids.filter((id) => [...keys].some((key) => id === `key_${key}` || id.startsWith(`key_${key} `)))
        ))
    const { address } = Context.get(context, HttpServer.HttpServer)
    const url = `ws://127.0.0.1:${(address as { readonly port: number }).port}`
    return {
      url,
      bus: Context.get(context, EventBus),
      dial: (stream, query = "", key = stream, version) =>
        connectTo(`${url}${eventStreamPaths[stream]}?${query}`, {
          headers: { "x-api-key": key, ...(version === undefined ? {} : { "x-service-version": version }) }
        }),
      emit: (objects, type = "invoice.updated", environment = "devnet") =>
        commit.append({
          merchantId: 1,
          environment,
          cause: { requestId: "req_1", idempotencyKey: "k \"1\"" },
          writes: [],
          events: objects.map((object): EventDraft => ({ type, object, previousAttributes: { n: 0 } }))
        }).pipe(Effect.map(({ events }) => events), Effect.orDie)
    }
  })

export const invoiceId = "00000000-0000-4000-8000-000000000001"

/** An invoice as events carry it. */
export const invoice = (n: number, more: Readonly<Record<string, unknown>> = {}): WireObject => ({
  object: "invoice",
  id: invoiceId,
  invoice_type: "standard",
  status: "unpaid",
  customer_id: "c_1",
  n,
  ...more
})
