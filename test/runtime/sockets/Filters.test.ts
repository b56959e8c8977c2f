/** Goal: a stream shows exactly what it was asked for, and a question that cannot be understood is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { CommittedEvent } from "../../../runtime/Commit.ts"
import {
  type EventStreamName,
  filterInputOf,
  isShown,
  readStreamQuery,
  type StreamFilters
} from "../../../runtime/sockets/Filters.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { eventTypes, isOptIn } from "../../../schemas/Event.ts"
import { selects } from "../../../schemas/Webhook.ts"

const read = (stream: EventStreamName, query: string) => {
  const found = readStreamQuery(stream, new URLSearchParams(query))
  return found instanceof PublicError ? `${found.code} ${found.param}` : found
}

const filtersOf = (stream: EventStreamName, query: string): StreamFilters => {
  const found = read(stream, query)
  assert.isObject(found)
  return (found as { readonly filters: StreamFilters }).filters
}

const one = <A extends ReadonlyArray<string>>(...values: A) => Schema.Literals(values)
const maybe = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)

const environments = one("devnet", "mainnet")
const wallets = one("0xAbCd", "0xabcd", "EQ1", "eq1")
const networks = one("base", "solana")

const AnyEvent = Schema.Struct({
  type: Schema.Literals(eventTypes),
  environment: environments,
  commerce: Schema.Boolean,
  invoiceId: maybe(one("i1", "i2")),
  customerId: maybe(one("c1", "c2")),
  orderId: maybe(one("o1", "o2")),
  address: maybe(wallets),
  network: maybe(networks)
})

const AnyFilters = Schema.Struct({
  types: maybe(
    Schema.Array(
      one(
        "*",
        "invoice.*",
        "invoice.paid",
        "invoice_payment.*",
        "commerce.*",
        "commerce.order.*",
        "exception.*",
        "exception.opened",
        "unknown"
      )
    )
  ),
  invoiceId: maybe(one("i1", "i2")),
  invoiceType: maybe(one("standard", "commerce")),
  customerId: maybe(one("c1", "c2")),
  orderId: maybe(one("o1", "o2")),
  walletAddress: maybe(wallets),
  walletNetwork: maybe(networks)
})

const objectOf = ({ address, commerce, network, type }: typeof AnyEvent.Type) =>
  type.startsWith("commerce.")
    ? { object: "commerce_order", wallet_address: address, wallet_network: network }
    : {
      object: type.split(".")[0],
      invoice_type: commerce ? "commerce" : "standard",
      payer_wallet_address: address,
      payer_wallet_network: network
    }

describe("a stream's filters", () => {
  it.effect.prop("hold together: an event is shown where every one of them is met", [
    AnyEvent,
    AnyFilters,
    environments
  ], ([event, filters, environment]) =>
    Effect.sync(() => {
      const object: Record<string, unknown> = objectOf(event)
      const stored = { ...event, data: JSON.stringify({ object }) } as unknown as CommittedEvent
      const isOrder = event.type.startsWith("commerce.")
      const same = (wanted: string | null, has: unknown) => wanted === null || wanted === has
      const wallet = event.address?.startsWith("0x") === true ? event.address.toLowerCase() : event.address
      const wanted = filters.walletAddress?.startsWith("0x") === true
        ? filters.walletAddress.toLowerCase()
        : filters.walletAddress
      const met = event.environment === environment &&
        (filters.types === null ? !isOptIn(event.type) : selects(filters.types, event.type)) &&
        same(filters.invoiceId, event.invoiceId) && same(filters.customerId, event.customerId) &&
        same(filters.orderId, event.orderId) && same(filters.walletNetwork, event.network) &&
        same(wanted, wallet) && same(filters.invoiceType, object["invoice_type"])
      assert.strictEqual(
        isShown("merchant", environment, filters, filterInputOf(stored)),
        met && !isOrder && event.type !== "test.ping"
      )
      assert.strictEqual(
        isShown("commerce", environment, filters, filterInputOf(stored)),
        met && event.commerce
      )
    }))

  it("are read from the address, and filter nothing where they are absent", () => {
    assert.deepStrictEqual(Object.values(filtersOf("merchant", "")), Array.from({ length: 7 }, () => null))
    assert.deepStrictEqual(
      filtersOf(
        "commerce",
        "types=invoice.*,commerce.order.created&invoice_id=i&invoice_type=commerce&customer_id=c&order_id=o"
          + "&wallet_address=0xA&wallet_network=base&unknown=x"
      ),
      {
        types: ["invoice.*", "commerce.order.created"],
        invoiceId: "i",
        invoiceType: "commerce",
        customerId: "c",
        orderId: "o",
        walletAddress: "0xA",
        walletNetwork: "base"
      }
    )
    assert.deepInclude(read("merchant", "since=evt_5-7&environment=mainnet&format=event_v1"), {
      environment: "mainnet",
      since: { id: "evt_5-7", position: { ms: 5n, seq: 7n } }
    })
  })

  it("are refused where they are malformed, sent twice, or another stream's", () => {
    const long = "x".repeat(257)
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["format=event_v2", "INVALID_FORMAT format"],
      ["types=", "INVALID_EVENT_TYPE types"],
      ["types=in*", "INVALID_EVENT_TYPE types"],
      [`types=${Array.from({ length: 21 }, () => "a").join()}`, "INVALID_EVENT_TYPE types"],
      ["environment=testnet", "INVALID_ENVIRONMENT environment"],
      ["environment=", "INVALID_ENVIRONMENT environment"],
      ["since=evt_x", "INVALID_EVENT_ID since"],
      ["since=", "INVALID_EVENT_ID since"],
      ["since=evt_1-9223372036854775808", "INVALID_EVENT_ID since"],
      ["invoice_id=", "VALIDATION_ERROR invoice_id"],
      [`customer_id=${long}`, "VALIDATION_ERROR customer_id"],
      ["invoice_type=gift", "VALIDATION_ERROR invoice_type"],
      ["types=a&types=b", "VALIDATION_ERROR types"],
      ["order_id=o", "VALIDATION_ERROR order_id"],
      ["wallet_address=a", "VALIDATION_ERROR wallet_address"],
      ["x-api-key=mk_dev_x", "UNAUTHORIZED null"]
    ]
    for (const [query, refusal] of cases) assert.strictEqual(read("merchant", query), refusal, query)
    assert.strictEqual(read("commerce", "wallet_network=bitcoin"), "VALIDATION_ERROR wallet_network")
  })
})
