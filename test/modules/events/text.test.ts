/**
 * Goal: the texts that PostgreSQL makes of events are those of TypeScript, byte for byte. Method: generated events,
 * with any text in every column that a caller may fill, rendered both ways; each JSON reads back as what was stored.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, type Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Repo from "../../../modules/events/repo.ts"
import { textStatement } from "../../../modules/events/repo/EventText.ts"
import { deliveredTypes, isOptIn } from "../../../schemas/Event.ts"
import { Environment } from "../../../schemas/Network.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { kernel } from "../../support/Api.ts"

/** What PostgreSQL can hold: neither NUL nor half of a surrogate pair. Escapes are likelier than by chance. */
const Text = Schema.Array(Schema.Union([
  Schema.String.check(Schema.makeFilter((text) => text.isWellFormed() && !text.includes("\u0000"))),
  Schema.Literals([
    "\"",
    "\\",
    "\\u0041",
    "\b\t\n\f\r",
    "\u0001\u001f\u007f\u0085",
    "\u2028\u2029",
    "é😀",
    "'",
    "$1",
    "</"
  ])
])).pipe(Schema.check(Schema.isMaxLength(4)))

const Events = Schema.Array(Schema.Struct({
  type: Schema.Literals(deliveredTypes.filter((type) => !isOptIn(type))),
  environment: Environment,
  requestId: Schema.NullOr(Text),
  idempotencyKey: Schema.NullOr(Text),
  note: Text,
  ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8_640_000_000_000 })),
  pending: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
})).check(Schema.isMinLength(1), Schema.isMaxLength(8))

const textOrNull = (parts: ReadonlyArray<string> | null) => parts === null ? null : parts.join("")

layer(kernel([]) as Layer.Layer<SqlClient.SqlClient>)("texts of events made by PostgreSQL", (it) => {
  it.effect.prop("are those of TypeScript, byte for byte", [Events], ([events]) =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM webhook_deliveries`
      yield* sql`DELETE FROM events`
      for (const [seq, event] of events.entries()) {
        yield* sql`INSERT INTO events ${
          sql.insert({
            merchant_id: 1,
            ms: String(event.ms),
            seq: String(seq),
            environment: event.environment,
            type: event.type,
            commerce: false,
            request_id: textOrNull(event.requestId),
            idempotency_key: textOrNull(event.idempotencyKey),
            pending_webhooks: 0,
            data: JSON.stringify({ object: { object: "invoice", note: event.note.join("") }, previous_attributes: {} })
          })
        }`
        for (let endpoint = 0; endpoint < event.pending; endpoint++) {
          yield* sql`INSERT INTO webhook_deliveries ${
            sql.insert({
              merchant_id: 1,
              endpoint_id: `we_${endpoint}`,
              event_ms: String(event.ms),
              event_seq: String(seq)
            })
          }`
        }
      }
      const { text, values } = Repo.pageStatement({
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
        limit: 100
      })
      const rows = yield* sql.unsafe<Repo.Row>(text, values)
      const texts = yield* sql.unsafe<{ readonly text: string }>(textStatement(text), values)
      assert.lengthOf(rows, events.length)
      assert.deepStrictEqual(texts.map((row) => row.text), rows.map((row) => Repo.textOf(row, newestVersion)))
      const bySeq = new Map(texts.map((row) => JSON.parse(row.text)).map((event) => [event.id.split("-")[1], event]))
      for (const [seq, event] of events.entries()) {
        const { data, pending_webhooks: pending, request } = bySeq.get(String(seq))
        assert.deepStrictEqual([data.object.note, pending, request.id, request.idempotency_key], [
          event.note.join(""),
          event.pending,
          textOrNull(event.requestId),
          textOrNull(event.idempotencyKey)
        ])
      }
    }))
})
