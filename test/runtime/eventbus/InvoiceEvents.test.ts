/**
 * Goal: the few events of an invoice or an order are found by their own index, whoever asks and however many events the
 * merchant has. Method: a table that was never analyzed, as after a restore, and sessions that are planned as the
 * service's are; `auto_explain` tells the pages that each statement read. With equality in place of the range, a page
 * of an invoice reads all that the merchant has.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as EventsRepo from "../../../modules/events/repo.ts"
import { makeEventRepo } from "../../../runtime/eventbus/EventRepo.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { connect, freshDatabase } from "../../support/Database.ts"
import { makePlanRecorder } from "../../support/PlanRecorder.ts"
import { nameOf } from "../../support/Statements.ts"

const eventsOfObject = 5

/** The index has three levels and the events lie in pages of their own; a page of them also counts their deliveries. */
const maximumPages = 60

const fill = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql`INSERT INTO events (merchant_id, ms, seq, environment, type, invoice_id, order_id, commerce, pending_webhooks, data)
    SELECT 1, n * 1000, n, 'devnet', 'invoice.updated', 'invoice ' || n % 5000, 'order ' || n % 5000, true, 0, '{}'
    FROM generate_series(1, ${5_000 * eventsOfObject}::integer) n`
)

const page = {
  merchantId: 1,
  commerceOnly: false,
  environment: undefined,
  types: undefined,
  fromMillis: undefined,
  toMillis: undefined,
  invoiceId: undefined,
  orderId: undefined,
  customerId: undefined,
  direction: "older",
  cursor: undefined,
  limit: 20
} as const

it.live("events of an invoice or an order are read without the others of the merchant", () =>
  Effect.scoped(Effect.gen(function*() {
    const database = yield* freshDatabase
    yield* Effect.provide(fill, connect(database))
    const recorder = yield* makePlanRecorder(database)
    const { hostname, port } = new URL(recorder.url)
    const services = yield* Layer.build(connect({ ...database, host: hostname, port: Number(port) }))
    const sql = Context.get(services, SqlClient.SqlClient)
    const objects = [
      { invoiceId: "invoice 77" },
      { orderId: "order 77" },
      { invoiceId: "invoice 77", orderId: "order 77" }
    ]
    yield* Effect.gen(function*() {
      const [events, pages] = [yield* makeEventRepo, yield* EventsRepo.make]
      const position = { ms: 0n, seq: 0n }
      yield* recorder.take
      for (const object of objects) {
        const after = yield* events.after({ merchantId: 1, position, limit: 100, ...object })
        assert.deepStrictEqual(after.map(({ position }) => position.seq), [77n, 5077n, 10_077n, 15_077n, 20_077n])
        assert.strictEqual(yield* events.count({ merchantId: 1, position, limit: 100, ...object }), eventsOfObject)
        for (const direction of ["older", "newer"] as const) {
          const { data } = yield* pages.page({ ...page, ...object, direction }, newestVersion)
          assert.lengthOf(data, eventsOfObject)
        }
      }
      const unrelated = { invoiceId: "invoice 77", orderId: "order 78" }
      assert.strictEqual(yield* events.count({ merchantId: 1, position, limit: 100, ...unrelated }), 0)
    }).pipe(Effect.provideService(SqlClient.SqlClient, sql))
    const read = (yield* recorder.take).filter(({ text }) => /from events e/iu.test(text)).map((each) => ({
      statement: nameOf(each),
      pages: (each.plan["Shared Hit Blocks"] ?? 0) + (each.plan["Shared Read Blocks"] ?? 0)
    }))
    assert.isAtLeast(read.length, objects.length * 4)
    assert.deepStrictEqual(read.filter(({ pages }) => pages > maximumPages), [])
  })))
