/** Identifiers: what is accepted, and that event ids order as numbers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  compareEventPositions,
  EndpointId,
  EventId,
  eventIdOf,
  type EventPosition,
  InvoiceId,
  isUuid,
  MerchantId,
  QuoteId,
  readEventId
} from "../../schemas/Ids.ts"

const Ms = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 999_999_999_999_999n }))
const Seq = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 9_223_372_036_854_775_807n }))
const uuid = "550e8400-e29b-41d4-a716-446655440000"

describe("event ids", () => {
  it.effect.prop("read back as the position they were made of", [Ms, Seq], ([ms, seq]) =>
    Effect.sync(() => {
      const id = eventIdOf({ ms, seq })
      assert.isTrue(Schema.is(EventId)(id))
      assert.deepStrictEqual(readEventId(id), { ms, seq })
    }))

  it.effect.prop(
    "order by time, then by sequence, as numbers",
    [Ms, Seq, Ms, Seq, Schema.Boolean],
    ([a, b, c, d, same]) =>
      Effect.sync(() => {
        const one: EventPosition = { ms: a, seq: b }
        const two: EventPosition = { ms: same ? a : c, seq: d }
        const order = Math.sign(compareEventPositions(one, two))
        const key = ({ ms, seq }: EventPosition) => ms * 10n ** 19n + seq
        assert.strictEqual(order, key(one) < key(two) ? -1 : key(one) > key(two) ? 1 : 0)
        assert.strictEqual(Math.sign(compareEventPositions(two, one)), 0 - order)
      })
  )

  it("do not order as text", () => {
    const nine = readEventId("evt_9-9")!
    const ten = readEventId("evt_9-10")!
    assert.isBelow(compareEventPositions(nine, ten), 0)
    assert.isAbove(compareEventPositions(readEventId("evt_10-1")!, ten), 0)
  })

  it("that are malformed are refused", () => {
    const wrong = [
      "",
      "evt_",
      "evt_1",
      "evt_1-",
      "evt_-1",
      "evt_1-2-3",
      "evt_1.5-2",
      "evt_-1-2",
      "evt_1--2",
      "evt_a-1",
      "EVT_1-1",
      " evt_1-1",
      "evt_1-1 ",
      "evt_1-1\n",
      "evt_1-9223372036854775808",
      `evt_${"1".repeat(16)}-1`,
      `evt_1-${"1".repeat(20)}`,
      "evt_\u0661-1"
    ]
    for (const id of wrong) assert.isUndefined(readEventId(id), JSON.stringify(id))
    assert.deepStrictEqual(readEventId("evt_1-9223372036854775807")?.seq, 9_223_372_036_854_775_807n)
  })
})

describe("identifiers", () => {
  it("of invoices are lower-case UUIDs", () => {
    assert.isTrue(isUuid(uuid) && Schema.is(InvoiceId)(uuid))
    const wrong = [
      uuid.toUpperCase(),
      `${uuid} `,
      `${uuid}\n`,
      uuid.slice(1),
      `{${uuid}}`,
      uuid.replaceAll("-", ""),
      ""
    ]
    for (const id of wrong) assert.isFalse(isUuid(id) || Schema.is(InvoiceId)(id), JSON.stringify(id))
  })

  it("with a prefix need just that prefix", () => {
    assert.isTrue(Schema.is(QuoteId)(`quo_${uuid}`) && Schema.is(EndpointId)(`we_${uuid}`))
    for (const id of [uuid, `we_${uuid}`, `xquo_${uuid}`, `quo_${uuid}x`, `quo_quo_${uuid}`]) {
      assert.isFalse(Schema.is(QuoteId)(id), id)
    }
  })

  it("of merchants are positive whole numbers", () => {
    for (const id of [1, Number.MAX_SAFE_INTEGER]) assert.isTrue(Schema.is(MerchantId)(id))
    for (const id of [0, -1, 1.5, 2 ** 53, Number.NaN, "1"]) assert.isFalse(Schema.is(MerchantId)(id))
  })
})
