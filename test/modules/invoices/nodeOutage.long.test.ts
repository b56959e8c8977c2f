/**
 * Goal: an outage of a real node that is shorter than a minute costs no merchant a payment, and no payor a wrong
 * answer. Method: the till over the real journal and the EVM driver; anvil, which mines on demand, behind a line that
 * is cut.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { makeDriver } from "../../../modules/chains/evm.ts"
import { devnetXpub } from "../../../modules/chains/simulated.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { usdc } from "../../fixtures/tokens.ts"
import { type Anvil, anvil } from "../../support/Anvil.ts"
import { until } from "../../support/Service.ts"
import { type DatabaseProxy, makeDatabaseProxy } from "../../support/DatabaseProxy.ts"
import {
  callerOf,
  choose,
  eventsOf,
  invoiceServiceOn,
  newInvoice,
  newMerchant,
  openExceptions,
  runDue,
  usualPrices
} from "./InvoiceService.ts"

class Town extends Context.Service<Town, { readonly node: Anvil; readonly line: DatabaseProxy }>()("test/NodeOutage") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      const line = yield* makeDatabaseProxy({ host: "127.0.0.1", port: Number(new URL(node.url).port) } as never)
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000n])
      const client = yield* Layer.build(NodeHttpClient.layerUndici)
      const driver = yield* Effect.provide(
        makeDriver({
          network: "base",
          environment: "devnet",
          rpc: [Redacted.make(`http://127.0.0.1:${new URL(line.url).port}`)],
          xpub: Redacted.make(devnetXpub),
          startIndex: 10,
          pollMillis: 25
        }),
        client
      )
      yield* (yield* Chains).register(driver)
      return Town.of({ node, line })
    })
  )
}

const seconds = () => Math.floor(Date.now() / 1000)

/** An invoice of ten dollars and its address. */
const withAddress = Effect.gen(function*() {
  usualPrices()
  const invoice = yield* newInvoice(callerOf(yield* newMerchant), { amount: 10_000 })
  yield* choose(invoice.id, usdc)
  return { id: invoice.id as string, address: (yield* (yield* Chains).target(invoice.id, "evm"))!.address }
})

/** The clock looks at the invoice, which ends at `expiresAt`. */
const look = Effect.fnUntraced(function*(id: string, expiresAt: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE invoices SET created_at = ${expiresAt - 600}, expires_at = ${expiresAt}, due_at = ${expiresAt}
    WHERE id = ${id}::uuid AND due_at IS NOT NULL`
  yield* runDue
  return (yield* (yield* Invoices).find(id))!.invoice.status
})

layer(Town.layer.pipe(Layer.provideMerge(invoiceServiceOn(chainsLayer))), { excludeTestServices: true })(
  "a node that cannot be reached for some seconds",
  (it) => {
    it.effect("loses no payment that it mined in time", () =>
      Effect.gen(function*() {
        const { line, node } = yield* Town
        const { address, id } = yield* withAddress
        yield* line.set("cut")
        yield* node.token("transfer", [address, 10_000_000n])
        const block = yield* node.rpc("eth_getBlockByNumber", "latest", false)
        const expiresAt = Number(block.timestamp)
        assert.strictEqual(yield* look(id, expiresAt), "unpaid")
        yield* line.set("through")
        yield* until("it is paid", Effect.orDie(look(id, expiresAt)), (status) => status === "paid")
        assert.notInclude((yield* eventsOf(id)).map(({ type }) => type), "invoice.expired")
        assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(id), [])
      }))

    it.effect("lets an unpaid invoice expire once it answers again, though it mines no block", () =>
      Effect.gen(function*() {
        const { line } = yield* Town
        const { id } = yield* withAddress
        yield* line.set("cut")
        const expiresAt = seconds()
        assert.strictEqual(yield* look(id, expiresAt), "unpaid")
        yield* line.set("through")
        yield* until("it expired", Effect.orDie(look(id, expiresAt)), (status) => status === "expired")
        assert.isAtMost(seconds() - expiresAt, 20)
        assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(id), [])
      }))
  }
)
