/**
 * Webhooks of two instances: the real commit log, bus and deliverer. Receivers answer, refuse or say nothing.
 * One endpoint wants its events in order.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as groupCommit } from "../../../runtime/commit/GroupCommit.ts"
import { layer as busLayer } from "../../../runtime/eventbus/Tail.ts"
import { layer as noticesLayer } from "../../../runtime/Notices.ts"
import { layer as publicWebLayer } from "../../../runtime/PublicWeb.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { layerWith as delivererLayer } from "../../../runtime/webhooks/Deliverer.ts"
import { type EndpointRow, endpointWrite } from "../../../runtime/webhooks/Endpoints.ts"
import { maximumAttempts } from "../../../runtime/webhooks/RetryPolicy.ts"
import { type DeliveryRequest, TransportFailed, Webhooks } from "../../../runtime/Webhooks.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"
import { Cluster } from "../Cluster.ts"
import { drawsOf } from "../Draws.ts"
import type { Scenario, Violation } from "../Simulation.ts"

const promises = {
  delivered: "an acknowledged event reaches every endpoint, or was tried as often as is promised",
  bytes: "every attempt of an event has the same bytes",
  order: "an endpoint in order gets an event after those before it have ended",
  marked: "what is marked as succeeded was answered with success"
} as const

const instances = 2
const events = 8
const endpointIds = ["we_plain", "we_second", "we_ordered"]
/** Until all has ended: retries, a pause of a breaker, and leases that run out take 100 s. */
const patienceMillis = 300_000

/** Retries after 1 s, 2 s and so on, in the world's time. */
const settings: Settings["Service"] = settingsOf([], { retryBaseSeconds: 1, retryFactor: 2 })

/** What arrived at a receiver, and what was answered: null, nothing. */
interface Arrival {
  readonly endpointId: string
  readonly eventId: string
  readonly body: string
  status: number | null
}

const eventOf = (n: number): EventDraft => ({
  type: "invoice.updated",
  object: { object: "invoice", id: `invoice-${n}`, invoice_type: "standard", customer_id: null, n },
  previousAttributes: { n: n - 1 }
})

const endpointOf = (id: string, seal: (text: string) => string): EndpointRow => ({
  id,
  merchantId: 1,
  version: 1,
  environment: "devnet",
  commerceOnly: false,
  url: `test://${id}`,
  status: "enabled",
  filters: ["*"],
  apiVersion: newestVersion,
  description: null,
  sealedSecret: seal("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
  sealedPreviousSecret: null,
  previousSecretExpiresAt: null,
  ordered: id === "we_ordered",
  disabledReason: null,
  createdAt: 1,
  updatedAt: 1
})

type Services = Commit | Secrets | SqlClient.SqlClient | Webhooks

const run: Scenario["run"] = async (world, database) => {
  const draws = drawsOf(world.plan.seed, "callers")
  const network = drawsOf(world.plan.seed, "network")
  const arrivals: Array<Arrival> = []
  const violations: Array<Violation> = []
  /** Events whose commit was acknowledged, in the order of their ids. */
  const acknowledged = new Set<string>()
  let isHealthy = false

  /** Whether the endpoint in order may get this event now: each one before it was answered with success, or given up. */
  const judgeOrder = (arrival: Arrival) => {
    if (arrival.endpointId !== "we_ordered") return
    const seen = arrivals.filter(({ endpointId }) => endpointId === "we_ordered")
    const position = (eventId: string) => eventId.replace("evt_", "").split("-").map(BigInt) as [bigint, bigint]
    const [ms, seq] = position(arrival.eventId)
    for (const other of seen) {
      const [otherMs, otherSeq] = position(other.eventId)
      const isBefore = otherMs < ms || otherMs === ms && otherSeq < seq
      const tries = seen.filter(({ eventId }) => eventId === other.eventId)
      const hasEnded = tries.some(({ status }) => status !== null && status < 300) || tries.length >= maximumAttempts
      if (isBefore && !hasEnded) {
        violations.push({
          promise: promises.order,
          seen: `${arrival.eventId} came while ${other.eventId} was under way`
        })
      }
    }
  }
  const send = ({ body, eventId, url }: DeliveryRequest) =>
    Effect.gen(function*() {
      yield* Effect.sleep(network.below(300))
      const arrival: Arrival = { endpointId: url.replace("test://", ""), eventId, body, status: null }
      judgeOrder(arrival)
      const fate = isHealthy ? 1 : network.fraction()
      arrival.status = fate < 0.1 ? 500 : 200
      arrivals.push(arrival)
      yield* Effect.sleep(network.below(500))
      if (fate >= 0.1 && fate < 0.2) {
        return yield* new TransportFailed({ reason: "no answer", isOurFault: false, timedOut: true })
      }
      return { status: arrival.status, retryAfter: null, body: "" }
    })
  const transport = Layer.effectDiscard(
    Effect.flatMap(
      Webhooks,
      (webhooks) => webhooks.register({ name: "simulated", schemes: ["test:"], check: () => Effect.void, send })
    )
  )
  const cluster = new Cluster<Services>(world, instances, (instance) =>
    transport.pipe(
      Layer.provideMerge(delivererLayer({})),
      Layer.provideMerge(Layer.mergeAll(noticesLayer, publicWebLayer, Layer.succeed(Settings, settings), busLayer)),
      Layer.provideMerge(groupCommit(["webhook_endpoints"])),
      Layer.provideMerge(Layer.effect(Secrets, Effect.orDie(fromMasters([Buffer.alloc(32, 1)])))),
      Layer.provideMerge(database.layer(world, instance))
    ) as Layer.Layer<Services, unknown>)
  const outside = await world.complete(Effect.scoped(Layer.build(database.layer(world, world.outside))))
  const read = <A extends object>(statement: string) =>
    Context.get(outside, SqlClient.SqlClient).unsafe<A>(statement).pipe(Effect.retry({ times: 100 }), Effect.orDie)

  /** Asks until it is acknowledged; an endpoint that is there already is as good. */
  const persist = <A, E>(work: Effect.Effect<A, E, Services>): Effect.Effect<A | undefined> =>
    Effect.gen(function*() {
      while (true) {
        const exit = yield* Effect.exit(cluster.call(draws.below(instances), work))
        if (exit._tag === "Success") return exit.value
        if (String(exit.cause).includes("Conflict")) return undefined
        yield* Effect.sleep(200)
      }
    })
  const emit = (n: number) =>
    Effect.flatMap(Commit, (commit) =>
      commit.append({
        merchantId: 1,
        environment: "devnet",
        cause: noCause,
        writes: [],
        events: [eventOf(n)]
      }))
  const addEndpoint = (id: string) =>
    Effect.gen(function*() {
      const commit = yield* Commit
      const secrets = yield* Secrets
      yield* commit.append({
        merchantId: 1,
        environment: "devnet",
        cause: noCause,
        writes: [endpointWrite(endpointOf(id, (text) => secrets.seal("webhook", text)))],
        events: []
      })
    })
  const caller = Effect.gen(function*() {
    yield* Effect.forEach(endpointIds, (id) => persist(addEndpoint(id)), { discard: true })
    for (let n = 0; n < events; n++) {
      const result = yield* persist(emit(n))
      for (const { id } of result?.events ?? []) acknowledged.add(id)
      yield* Effect.sleep(draws.below(600))
    }
  })
  await world.complete(Effect.andThen(caller, Effect.sleep(draws.below(5_000))))
  isHealthy = true
  await world.complete(cluster.recover)
  const open = read<{ n: bigint }>("select count(*) as n from webhook_deliveries where due_at is not null")
  const untilEnded = (patience: number): Effect.Effect<void> =>
    Effect.flatMap(open, ([row]) =>
      Number(row!.n) === 0 || patience <= 0
        ? Effect.void
        : Effect.andThen(Effect.sleep(5_000), untilEnded(patience - 5_000)))
  await world.complete(untilEnded(patienceMillis))
  await world.complete(cluster.stop)

  const deliveries = await database.read(
    "select endpoint_id, status, attempt, 'evt_' || event_ms || '-' || event_seq as event from webhook_deliveries"
  )
  for (const eventId of acknowledged) {
    const bodies = new Set(arrivals.filter((arrival) => arrival.eventId === eventId).map(({ body }) => body))
    if (bodies.size > 1) violations.push({ promise: promises.bytes, seen: [...bodies].join(" and ") })
    for (const endpointId of endpointIds) {
      const own = arrivals.filter((arrival) => arrival.eventId === eventId && arrival.endpointId === endpointId)
      const wasAnswered = own.some(({ status }) => status === 200)
      const row = deliveries.find((each) => each["event"] === eventId && each["endpoint_id"] === endpointId)
      const seen = `${eventId} at ${endpointId}: ${row?.["status"]} after ${
        row?.["attempt"]
      } attempts; arrived ${own.length} times`
      const wasTried = row?.["status"] === "failed" && row["attempt"] === maximumAttempts
      if (!wasAnswered && !wasTried || row?.["status"] !== "succeeded" && !wasTried) {
        violations.push({ promise: promises.delivered, seen })
      }
      if (row?.["status"] === "succeeded" && !wasAnswered) violations.push({ promise: promises.marked, seen })
    }
  }
  return violations
}

export const deliveries: Scenario = {
  name: "deliveries",
  instances,
  template: "runtime",
  prepare: [],
  faults: {
    calls: 160,
    steps: 900,
    connectionsLost: 10,
    callsDelayed: 3,
    instancesKilled: 3,
    instancesStalled: 2,
    clocksStepped: 2,
    longestClockStep: 30_000,
    disturbances: 0
  },
  seedsInTests: 30,
  plants: [
    {
      name: "an endpoint in order gets what is due",
      seed: 1,
      promise: promises.order,
      function: {
        name: "webhook_claim_v2",
        from: "AND (v_target.ordered OR c.due_at <= now())",
        to: "AND c.due_at <= now()"
      }
    },
    {
      name: "what a killed instance had claimed is not claimed again",
      seed: 1,
      promise: promises.delivered,
      function: { name: "webhook_claim_v2", from: "l.held_until <= now() OR", to: "" }
    },
    {
      name: "an attempt after the first has other bytes",
      seed: 1,
      promise: promises.bytes,
      function: {
        name: "webhook_claim_v2",
        from: "e.pending_webhooks, e.data,",
        to: "e.pending_webhooks, e.data || repeat(' ', d.attempt),"
      }
    },
    {
      name: "a claim marks its deliveries as done",
      seed: 2,
      promise: promises.marked,
      function: {
        name: "webhook_claim_v2",
        from: "UPDATE webhook_lanes l SET holder = p_holder,",
        to:
          "UPDATE webhook_deliveries d SET status = 'succeeded', due_at = NULL WHERE d.due_at < now() - interval '4 s'; UPDATE webhook_lanes l SET holder = p_holder,"
      }
    }
  ],
  run
}
