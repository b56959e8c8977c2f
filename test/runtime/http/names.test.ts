import { assert, describe, it as test, layer } from "@effect/vitest"
import { Effect, type Layer, Schema } from "effect"
import { shapeOfSchemas, unknownFields, unknownParameters, warningOf } from "../../../runtime/http/KnownNames.ts"
import { withAliases } from "../../../schemas/Alias.ts"
import { Api, apiLayer, kernel } from "../../support/Api.ts"
import { things, ThingsApi, thingsLayer } from "./ThingsPlugin.ts"

const served = apiLayer([ThingsApi], thingsLayer, kernel([things]))
const key = { "x-api-key": "merchant-a" }

const Metadata = Schema.Record(Schema.String, Schema.Json)
const Order = Schema.Struct({
  status: Schema.String,
  note: Schema.optionalKey(Schema.NullOr(Schema.String)),
  metadata: Schema.optionalKey(Metadata),
  address: Schema.NullOr(Schema.Struct({ street: Schema.String, city: Schema.String })),
  items: Schema.Array(Schema.Struct({ product_id: Schema.String, quantity: Schema.Int })),
  choice: Schema.Union([
    Schema.Struct({ kind: Schema.Literal("a"), size: Schema.Int }),
    Schema.Struct({ kind: Schema.Literal("b"), colour: Schema.String })
  ])
})
const shape = shapeOfSchemas([Order])
const namesIn = (body: unknown) => unknownFields(body, shape).map(({ name, nearest }) => `${name} ${nearest}`)

describe("names that a route does not know", () => {
  test("are found at every depth, each once, with the nearest name of that place", () => {
    assert.deepStrictEqual(
      namesIn({ status: "a", note: null, metadata: { any: { thing: 1 } }, address: { street: "", city: "" } }),
      []
    )
    assert.deepStrictEqual(namesIn({ statsu: 1 }), ["statsu status"])
    assert.deepStrictEqual(namesIn({ STATUS: 1 }), ["STATUS status"])
    assert.deepStrictEqual(
      namesIn({ hash: 1, tx_hash: 1, qqqqqq: 1, x: 1 }),
      ["hash", "tx_hash", "qqqqqq", "x"].map((name) => `${name} undefined`)
    )
    assert.deepStrictEqual(namesIn({ address: { Street: "" }, notes: "" }), [
      "address.Street address.street",
      "notes note"
    ])
    assert.deepStrictEqual(namesIn({ items: [{ productId: "" }, { productId: "", quantity: 1 }] }), [
      "items.productId items.product_id"
    ])
    assert.deepStrictEqual(namesIn({ choice: { size: 1, colour: "", color: "" } }), ["choice.color choice.colour"])
    for (const odd of [null, undefined, 1, "text", [], [[]], { items: 1, address: [], choice: null }]) {
      assert.deepStrictEqual(namesIn(odd), [])
    }
  })

  test("are none where any name is good, nor the aliases that a body takes", () => {
    assert.deepStrictEqual(unknownFields({ anything: { at: "all" } }, shapeOfSchemas([Metadata])), [])
    const body = withAliases(
      Schema.Struct({ estimate_id: Schema.String, items: Schema.Array(Schema.Struct({ product_id: Schema.String })) }),
      { identifier: "Aliased", examples: [] }
    )
    const names = unknownFields(
      { estimateId: "", items: [{ productId: "" }], useCart: true },
      shapeOfSchemas([body, Schema.Void])
    )
    assert.deepStrictEqual(names.map(({ name }) => name), ["useCart"])
  })

  test("are told in one short line of visible ASCII, however many and of whatever letters they are", () => {
    assert.strictEqual(
      warningOf([{ name: "statsu", nearest: "status", known: [] }], [{ name: "a.b", nearest: undefined, known: [] }]),
      "unknown query parameter \"statsu\", nearest is \"status\"; unknown body field \"a.b\""
    )
    assert.strictEqual(
      warningOf(
        unknownParameters({ hash: "", other: "" }, new Set(["status", "limit"])),
        unknownFields({ qq: 1, address: { zz: 1 } }, shape)
      ),
      "unknown query parameter \"hash\"; unknown query parameter \"other\"; known are status, limit; unknown body field \"qq\"; "
        + "known are status, note, metadata, address, items, choice; unknown body field \"address.zz\"; "
        + "known are address.street, address.city"
    )
    const many = new Set(Array.from({ length: 40 }, (_, n) => `parameter_${n}`))
    assert.strictEqual(warningOf(unknownParameters({ hash: "" }, many), []), "unknown query parameter \"hash\"")
    const hostile = Object.fromEntries(
      [
        "é",
        "\r\nset-cookie: a=b",
        "\u202e",
        "\"",
        "\u0000",
        "x".repeat(10_000),
        "💥",
        ...Array.from({ length: 5_000 }, (_, n) => `f${n}`)
      ]
        .map((name) => [name, 1])
    )
    const warning = warningOf(unknownParameters(hostile, new Set(["status", "limit"])), unknownFields(hostile, shape))
    assert.match(warning, /^[\x20-\x7e]{1,1200}; and more$/)
    assert.include(warning, "\\u00e9")
    assert.include(warning, "\\r\\nset-cookie")
  })
})

layer(served as Layer.Layer<Api>)("a call of the API", (it) => {
  it.effect("is refused for a query parameter that its route does not know, after its credentials", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const typo = yield* call("/api/v1/things?limti=5", { headers: key })
      assert.deepStrictEqual([typo.status, typo.json.error.code, typo.json.error.param], [
        400,
        "VALIDATION_ERROR",
        "limti"
      ])
      assert.include(typo.json.error.message, "nearest is limit")
      const other = yield* call("/api/v1/things?tx_hash=5", { headers: key })
      assert.strictEqual(
        other.json.error.message,
        "tx_hash: No such query parameter. This route takes limit, environment"
      )
      assert.strictEqual((yield* call("/api/v1/things?limti=5")).status, 401)
      const none = yield* call("/api/v1/open-things?a=b")
      assert.deepStrictEqual([none.status, none.json.code], [400, "VALIDATION_ERROR"])
    }))

  it.effect("is told of a body field that its route does not know, also when it is refused, and by pages of any origin", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const sent = (body: object, path = "/api/v1/things") =>
        call(path, { body, headers: { ...key, "idempotency-key": crypto.randomUUID() } })
      const made = yield* sent({ id: crypto.randomUUID(), amuont: 5 })
      assert.deepStrictEqual(
        [made.status, made.headers.get("x-service-warning")],
        [200, "unknown body field \"amuont\", nearest is \"amount\""]
      )
      const refused = yield* sent({ ID: "x" })
      assert.deepStrictEqual(
        [refused.status, refused.headers.get("x-service-warning")],
        [400, "unknown body field \"ID\", nearest is \"id\""]
      )
      assert.isNull((yield* sent({ id: crypto.randomUUID(), amount: 5 })).headers.get("x-service-warning"))
      const open = yield* call("/api/v1/open-things", { headers: { origin: "https://shop.example" } })
      assert.include(open.headers.get("access-control-expose-headers")!, "x-service-warning")
    }))
})
