/** Instances that deliver, over one test database: the real commit log, bus, deliverer and transport. */
import { it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { plugin as https } from "../../../modules/transports/https.ts"
import * as GroupCommit from "../../../runtime/commit/GroupCommit.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import * as Tail from "../../../runtime/eventbus/Tail.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"
import { Settings } from "../../../runtime/Settings.ts"
import * as Notices from "../../../runtime/Notices.ts"
import * as PublicWeb from "../../../runtime/PublicWeb.ts"
import * as Deliverer from "../../../runtime/webhooks/Deliverer.ts"
import { type EndpointRow, endpointWrite } from "../../../runtime/webhooks/Endpoints.ts"
import { exchange, findWaiting } from "../../../runtime/webhooks/DeliveryExchange.ts"
import { EndpointQueues } from "../../../runtime/webhooks/EndpointQueues.ts"
import { type Transport, Webhooks } from "../../../runtime/Webhooks.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { receiverCertificate } from "../../support/Receiver.ts"
import { until as untilSo } from "../../support/Service.ts"

export const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

const secrets = Layer.effect(Secrets, Effect.orDie(fromMasters([Buffer.alloc(32, 1)])))

/** Everything below the deliverer: what a commit needs. */
export const log = (database: TestDatabase) =>
  Tail.layer.pipe(
    Layer.provideMerge(GroupCommit.layer(["webhook_endpoints"])),
    Layer.provideMerge(connect(database)),
    Layer.provideMerge(secrets)
  )

/** The transport of the service, with more patience than any test has. */
export const patientTransport = https.layer({}).pipe(Layer.provide(Layer.effect(
  Webhooks,
  Effect.map(Webhooks, (webhooks) => ({
    ...webhooks,
    register: (transport) =>
      webhooks.register({ ...transport, send: (request) => transport.send({ ...request, timeoutMillis: 3_600_000 }) })
  }))
)))

/**
 * An instance that delivers. Unless `drainMillis` says how long, its stop hardly waits for attempts under way, which
 * the next instance sends again: what hangs here hangs on purpose.
 */
export const deliverer = (
  settings: Settings["Service"],
  transport: Layer.Layer<never, unknown, any> = https.layer({ ca: receiverCertificate }),
  drainMillis = 100
) =>
  transport.pipe(
    Layer.provideMerge(Deliverer.layerWith({ drainMillis })),
    Layer.provideMerge(Notices.layer),
    Layer.provideMerge(PublicWeb.layer),
    Layer.provideMerge(Layer.succeed(Settings, settings))
  ) as Layer.Layer<Webhooks, unknown, Layer.Success<ReturnType<typeof log>>>

let endpoints = 0

export const endpoint = (url: string, more: Partial<EndpointRow> = {}) =>
  Effect.gen(function*() {
    const commit = yield* Commit
    const id = `we_00000000-0000-4000-8000-${String(++endpoints).padStart(12, "0")}`
    const row: EndpointRow = {
      id,
      merchantId: 1,
      version: 1,
      environment: "devnet",
      commerceOnly: false,
      url,
      status: "enabled",
      filters: ["*"],
      apiVersion: newestVersion,
      format: null,
      isSingleAttempt: false,
      description: null,
      sealedSecret: (yield* Secrets).seal("webhook", secret),
      sealedPreviousSecret: null,
      previousSecretExpiresAt: null,
      ordered: false,
      disabledReason: null,
      createdAt: 1,
      updatedAt: 1,
      ...more
    }
    yield* commit.append({
      merchantId: row.merchantId,
      environment: "devnet",
      cause: noCause,
      writes: [endpointWrite(row)],
      events: []
    })
    return row
  })

export const draft = (n: number, more: Readonly<Record<string, unknown>> = {}): EventDraft => ({
  type: "invoice.updated",
  object: { object: "invoice", id: `invoice-${n}`, note: "✓ \"quoted\"", n, ...more } as WireObject,
  previousAttributes: { n: n - 1 }
})

/** Commits one event for a merchant. */
export const emit = (n: number, merchantId = 1) =>
  Effect.flatMap(Commit, (commit) =>
    commit.append({
      merchantId,
      environment: "devnet",
      cause: { requestId: "req_1", idempotencyKey: "key" },
      writes: [],
      events: [draft(n)]
    })).pipe(Effect.map(({ events }) => events[0]!))

export interface DeliveryRow {
  readonly id: string
  readonly endpoint_id: string
  readonly status: string
  readonly attempt: number
  readonly due: number | null
  readonly last_status: number | null
  readonly last_error: string | null
  readonly event: string
}

export const deliveries = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql<DeliveryRow>`
    SELECT id, endpoint_id, status, attempt, last_status, last_error, 'evt_' || event_ms || '-' || event_seq AS event,
      (extract(epoch from due_at - now()) * 1000)::float8 AS due
    FROM webhook_deliveries ORDER BY event_ms, event_seq, endpoint_id`)

/** Waits until the rows are as the test says; the deliverer marks a row after the answer it waits for. */
export const until = (done: (rows: ReadonlyArray<DeliveryRow>) => boolean) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => untilSo("deliveries", Effect.orDie(Effect.provideService(deliveries, SqlClient.SqlClient, sql)), done)
  )

export const allAre = (status: string) => (rows: ReadonlyArray<DeliveryRow>) =>
  rows.length > 0 && rows.every((row) => row.status === status)

/** The queue of an endpoint as its lane's row has it; millis until it ends for what is a time. */
export const endpointHealthOf = (endpointId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql<{
      readonly health: string
      readonly failures: number
      readonly failing: number | null
      readonly open: number | null
      readonly openings: number
      readonly held: number
    }>`SELECT health, consecutive_failures AS failures, openings, (extract(epoch FROM failing_since - now()) * 1000)::float8 AS failing,
      (extract(epoch FROM open_until - now()) * 1000)::float8 AS open,
      CASE WHEN held_until = '-infinity' THEN 0 ELSE extract(epoch FROM held_until - now()) * 1000 END::float8 AS held
      FROM webhook_lanes WHERE endpoint_id = ${endpointId}`.pipe(Effect.map(([row]) => row!)))

/** Waits until the lane is as the test says: it is judged after its rows were written. */
export const untilEndpointHealth = (
  endpointId: string,
  done: (lane: Effect.Success<ReturnType<typeof endpointHealthOf>>) => boolean
) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      untilSo(
        "the lane",
        Effect.orDie(Effect.provideService(endpointHealthOf(endpointId), SqlClient.SqlClient, sql)),
        (lane) => lane !== undefined && done(lane)
      )
  )

/** The attempts of an endpoint, in the order in which they ended. */
export const attemptsOf = (endpointId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql<{
      readonly delivery_id: string
      readonly attempt: number
      readonly outcome: string
      readonly status: number | null
      readonly error: string | null
      readonly latency_ms: number
      readonly response: string | null
    }>`SELECT delivery_id, attempt, outcome, status, error, latency_ms, response FROM webhook_attempts
      WHERE endpoint_id = ${endpointId} ORDER BY ended_at, attempt`)

/** What an instance that has nothing yet is given: of all endpoints that wait. */
export const claimFor = (holder: string) =>
  Effect.gen(function*() {
    const room = { holder, free: new EndpointQueues().freeSlots() }
    const { endpoints } = yield* findWaiting({ ...room, merchants: null, after: null, full: [] })
    const wanted = endpoints.map((key) => ({ ...key, held: [], isSlow: false }))
    const { deliveries } = yield* exchange({ results: [], released: [], claim: { ...room, endpoints: wanted } })
    return deliveries
  })

/** What a claim of one more instance would be given now, and is: of nobody else's lane. */
export const claimable = Effect.map(claimFor("one more"), (claimed) => claimed.map(({ event }) => event.id))

/** A transport of a test's own for `http:`. */
export const transportOf = (send: Transport["send"]) =>
  Layer.effectDiscard(
    Effect.flatMap(Webhooks, (webhooks) =>
      webhooks.register({
        name: "own",
        schemes: ["http:"],
        check: () => Effect.void,
        send
      }))
  )

/** Has instances look at a merchant's deliveries now: after a test moved their rows. */
export const wake = (merchantId: number, ...instances: ReadonlyArray<Context.Context<Webhooks>>) =>
  Effect.forEach(instances, (context) => Context.get(context, Webhooks).wake(merchantId))

/** A test on a database of its own, with the commit log but no deliverer yet. */
export const promise = (
  name: string,
  body: Effect.Effect<unknown, unknown, Layer.Success<ReturnType<typeof log>> | Scope.Scope>
) =>
  it.live(
    name,
    () =>
      Effect.flatMap(freshDatabase, (database) => Effect.provide(Effect.scoped(body), log(database), { local: true }))
        .pipe(Effect.scoped)
  )

/** Builds `layer` in a scope of its own: closing it is the stop of an instance. */
export const start = <A, E, R>(layer: Layer.Layer<A, E, R>): Effect.Effect<Context.Context<A>, E, R | Scope.Scope> =>
  Layer.build(Layer.fresh(layer))
