/**
 * Goal: with a year of months, what is asked all the time reads the months that it is about, and no older one.
 * Method: `auto_explain` tells which partitions each statement really read, those inside functions included, in
 * sessions planned as the service's are. Without the times in a statement this test names it.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as EventsRepo from "../../../../modules/events/repo.ts"
import { readEndpoints } from "../../../../modules/webhooks/repo/EndpointQueries.ts"
import { deliveryQueries } from "../../../../modules/webhooks/repo/DeliveryQueries.ts"
import { makeEventRepo } from "../../../../runtime/eventbus/EventRepo.ts"
import { makeMissingMonths } from "../../../../runtime/store/partitions/Months.ts"
import { readPartitions } from "../../../../runtime/store/partitions/Partitions.ts"
import { partitionedTables } from "../../../../runtime/store/partitions/Tables.ts"
import { exchange, findWaiting } from "../../../../runtime/webhooks/DeliveryExchange.ts"
import { markDelivering } from "../../../../runtime/webhooks/DeliveryRepo.ts"
import { makeDueSpan } from "../../../../runtime/webhooks/DueSpan.ts"
import { EndpointQueues } from "../../../../runtime/webhooks/EndpointQueues.ts"
import { lag } from "../../../../runtime/webhooks/Lag.ts"
import { expireOnce } from "../../../../runtime/webhooks/Retention.ts"
import { newestVersion } from "../../../../schemas/Version.ts"
import { connect, freshDatabase } from "../../../support/Database.ts"
import { closeFirst } from "../../../support/PartitionTime.ts"
import { type ExecutedPlan, makePlanRecorder, nodesOf } from "../../../support/PlanRecorder.ts"
import { nameOf } from "../../../support/Statements.ts"

const day = 86_400_000

/** Partitions that were read, each with the statement. */
const partitionsRead = (plans: ReadonlyArray<ExecutedPlan>) =>
  plans.flatMap((each) =>
    nodesOf(each.plan).flatMap((node) =>
      node["Relation Name"] !== undefined && node["Node Type"] !== "ModifyTable" && (node["Actual Loops"] ?? 0) > 0
        ? [{ name: node["Relation Name"], statement: nameOf(each).slice(0, 300) }]
        : []
    )
  )

/** A year of months, each with an event of merchant 1 that was delivered to its endpoint, and one event that is due. */
const fillYear = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  for (const table of partitionedTables) {
    // Attempts are kept for 30 days.
    yield* closeFirst(table, Date.now() - (table === "webhook_attempts" ? 45 : 400) * day)
    yield* makeMissingMonths(table)
  }
  yield* sql`INSERT INTO webhook_endpoints (id, merchant_id, version, environment, commerce_only, url, status, filters,
      api_version, sealed_secret, created_at, updated_at)
    VALUES ('we_1', 1, 1, 'devnet', false, 'https://a.example', 'enabled', '{*}', ${newestVersion}, 'x', 1, 1)`
  yield* sql`INSERT INTO events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data)
    SELECT 1, floor(extract(epoch FROM now() - n * interval '30 days') * 1000), 100 - n, 'devnet', 'invoice.paid', false, 1, '{}'
    FROM generate_series(0, 12) n`
  yield* sql`INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_ms, event_seq, status, due_at, created_at)
    SELECT delivery_id_v1(at), 1, 'we_1', ms, seq, CASE seq WHEN 100 THEN 'pending' ELSE 'succeeded' END,
      CASE seq WHEN 100 THEN at END, at FROM events e, to_timestamp(e.ms / 1000.0) at`
  yield* sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, ended_at, outcome, latency_ms)
    SELECT 1, id, 1, 'we_1', created_at, 'failed', 1 FROM webhook_deliveries`
  yield* sql`INSERT INTO merchant_streams (merchant_id, last_ms, last_seq) SELECT 1, max(ms), max(seq) FROM events`
})

/** What instances and callers do all day. */
const workday = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const span = yield* Effect.flatten(makeDueSpan)
  assert.isAbove(Date.parse(span.from.replace(" ", "T").replace(/\+00$/, "Z")), Date.now() - 40 * day)
  const free = new EndpointQueues().freeSlots()
  const { endpoints } = yield* findWaiting({ holder: "a", merchants: null, after: null, free, full: [], span })
  assert.lengthOf(endpoints, 1)
  yield* findWaiting({ holder: "a", merchants: [1], after: null, free, full: [], span })
  const wanted = endpoints.map((key) => ({ ...key, held: [], isSlow: false }))
  const { deliveries } = yield* exchange({
    results: [],
    released: [],
    claim: { holder: "a", endpoints: wanted, free, span }
  })
  assert.lengthOf(deliveries, 1)
  yield* markDelivering(deliveries)
  yield* lag(span)
  yield* exchange({
    results: deliveries.map((delivery) => ({
      delivery,
      status: "succeeded",
      attempts: 1,
      dueInMillis: null,
      outcome: "succeeded",
      answerStatus: 200,
      error: null,
      latencyMillis: 5,
      response: ""
    })),
    released: [],
    claim: undefined
  })
  yield* sql`UPDATE webhook_lanes SET open_until = now() + interval '1 hour', held_until = '-infinity'`
  yield* expireOnce

  const repo = yield* makeEventRepo
  const [last] = yield* sql<
    { ms: bigint; seq: bigint }
  >`SELECT last_ms - 1 AS ms, last_seq - 1 AS seq FROM merchant_streams`
  const position = last!
  assert.lengthOf(yield* repo.after({ merchantId: 1, position, limit: 10 }), 1)
  assert.strictEqual((yield* repo.afterEach([{ merchantId: 1, position }], 10)).get(1)?.length, 1)
  const events = yield* EventsRepo.make
  const page = {
    merchantId: 1,
    commerceOnly: false,
    environment: "devnet",
    types: undefined,
    fromMillis: undefined,
    toMillis: undefined,
    invoiceId: undefined,
    orderId: undefined,
    customerId: undefined,
    direction: "older",
    cursor: undefined,
    limit: 1
  } as const
  assert.lengthOf((yield* events.page(page, newestVersion)).data, 1)
  assert.isDefined(yield* events.event(1, { ms: position.ms + 1n, seq: position.seq + 1n }, null))
  const [endpoint] = yield* readEndpoints(sql, 1, "we_1")
  assert.isDefined(yield* deliveryQueries(sql).delivery(endpoint!, deliveries[0]!.id))
})

it.live("what is asked all the time reads no month that it is not about", () =>
  Effect.scoped(Effect.gen(function*() {
    const database = yield* freshDatabase
    const direct = connect(database)
    yield* Effect.provide(fillYear, direct)
    const recorder = yield* makePlanRecorder(database)
    const { hostname, port } = new URL(recorder.url)
    const services = yield* Layer.build(connect({ ...database, host: hostname, port: Number(port) }))
    const sql = Context.get(services, SqlClient.SqlClient)
    const old = new Set(
      (yield* Effect.provide(
        Effect.forEach(partitionedTables, readPartitions),
        direct
      )).flat().filter(({ toMillis }) => toMillis < Date.now() - 60 * day).map(({ name }) => name)
    )
    assert.isAbove(old.size, 20)
    yield* recorder.take
    yield* Effect.provideService(workday, SqlClient.SqlClient, sql)
    const read = partitionsRead(yield* recorder.take).filter(({ statement }) =>
      !statement.includes("EXISTS (SELECT FROM")
    )
    assert.isAbove(read.length, 20)
    assert.deepStrictEqual(read.filter(({ name }) => old.has(name)), [])
  })))
