/**
 * Goal: what stands still goes on once an operator says so: a settlement that waits for a decision, and a network of
 * which no followed block is on the chain any more. Method: the real service behind a node that is exchanged for one of
 * another history, acted on by the command line and by HTTP, each of which leaves its trace in the audit log.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { runCommand } from "../modules/cli/CommandLine.ts"
import { type Anvil, anvil, usdc } from "../support/Anvil.ts"
import { migratedDatabase } from "../support/Database.ts"
import { type NodeProxy, nodeProxy } from "../support/NodeProxy.ts"
import { rpcCall } from "../support/OperatedService.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, exchange, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { assertStatus, chooseToken, newInvoice, openShop, readInvoice, type Shop } from "./Shop.ts"

const adminToken = "journey-operator-credential-0123456789"

/** Where both chains begin: a devnet whose chain is young is taken for one that was set up anew, and needs no operator. */
const firstBlock = "30000"
/** Blocks of the second chain: those below what was followed of the first one are final. */
const laterBlocks = 200

class Office extends Context.Service<Office, {
  readonly first: Anvil
  readonly second: Anvil
  readonly proxy: NodeProxy
  readonly service: Service
  readonly shop: Shop
}>()("test/journeys/operatorRepairs/Office") {
  static readonly layer = Layer.effect(
    Office,
    Effect.gen(function*() {
      const tenMinutesAgo = String(Math.floor(Date.now() / 1000) - 600)
      // Another beginning, another history: nothing of the first chain is on the second.
      const [first, second, database, receiver] = yield* Effect.all([
        anvil("base", "devnet", undefined, undefined, ["--number", firstBlock]),
        anvil("base", "devnet", undefined, undefined, ["--number", firstBlock, "--timestamp", tenMinutesAgo]),
        migratedDatabase,
        makeReceiver()
      ], { concurrency: "unbounded" })
      yield* Effect.forEach([first, second], (node) => node.token("mint", [node.accounts[0]!, 1_000_000_000_000n]))
      yield* first.mine(10)
      yield* second.mine(laterBlocks)
      const proxy = yield* nodeProxy(first.url)
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: {
          ...configOf({
            database: database.url,
            receivers: [receiver.host],
            chains: [{
              use: "evm",
              options: {
                network: "base",
                environment: "devnet",
                rpc: [proxy.url],
                xpub: devnetXpub,
                startIndex: 10,
                pollMillis: 25
              }
            }]
          }),
          admin: { token: adminToken }
        }
      })
      service.guard(adminToken)
      const { merchant_key: key } = yield* service.keys
      return Office.of({ first, second, proxy, service, shop: yield* openShop(service, receiver, key) })
    })
  )
}

const read = (path: string) =>
  Effect.gen(function*() {
    const { service } = yield* Office
    const headers = { authorization: `Bearer ${adminToken}` }
    return assertStatus(200, yield* exchange(service.rpcUrl, `/admin/v1${path}`, { headers })).data
  })

/** `tillwire admin …` by alice; answers what it prints. */
const admin = (...words: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { service } = yield* Office
    const { code, stderr, stdout } = yield* runCommand(["admin", ...words, "--json"], {
      TILLWIRE_ADMIN_URL: service.rpcUrl,
      TILLWIRE_ADMIN_TOKEN: adminToken,
      TILLWIRE_OPERATOR: "alice"
    })
    assert.strictEqual(code, 0, stderr)
    return JSON.parse(stdout)
  })

/** An invoice that a transfer of `node` pays. */
const paidInvoice = Effect.fnUntraced(function*(node: Anvil, dollars: number) {
  const { shop } = yield* Office
  const invoice = yield* newInvoice(shop, { amount_usd: dollars })
  const { temp_address: address } = yield* chooseToken(shop, invoice, "USDC")
  yield* node.token("transfer", [address, BigInt(dollars) * 1_000_000n], { at: usdc })
  yield* node.mine(10)
  return yield* until("it is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
})

const baseNetwork = Effect.map(read("/networks?environment=devnet"), ({ data: [network] }) => network)

layer(Office.layer, { excludeTestServices: true })("an operator", (it) => {
  it.effect("has a settlement that waits for a decision go on, and the merchant gets its money", () =>
    Effect.gen(function*() {
      const { first, service, shop } = yield* Office
      const { id } = yield* paidInvoice(first, 12)
      const headers = { "x-api-key": shop.key }
      const payment = Effect.map(
        service.call(`/api/v1/invoices/${id}/payments`, { headers }),
        (answer) => assertStatus(200, answer).data[0]
      )
      const { id: paymentId } = yield* payment
      const report = (report: object) => rpcCall(service, "settlements.report", { payment_id: paymentId, report })
      assert.isDefined((yield* report({ status: "review", reason: "the bank asks who paid" })).value)
      const stuck = yield* admin("settlements", "stuck")
      assert.lengthOf(stuck.data, 1)
      assert.deepInclude(stuck.data[0], { payment_id: paymentId, settlement_status: "manual" })
      assert.include(stuck.data[0].reason, "the bank asks who paid")

      const retried = yield* admin("settlements", "retry", paymentId)
      assert.deepInclude(retried, { object: "settlement", payment_id: paymentId, is_open: true })
      assert.notInclude(["manual", "failed"], retried.settlement_status)
      assert.deepStrictEqual((yield* read("/settlements/stuck")).data, [])
      const settled = { status: "settled", tx_hash: "0xforwarded", network: "base", amount: null }
      assert.isDefined((yield* report(settled)).value)
      assert.strictEqual((yield* payment).settlement_status, "settled")
      const { data: entries } = yield* read("/audit-log?environment=devnet&merchant_id=1&action=settlement.retry")
      assert.lengthOf(entries, 1)
      assert.match(entries[0].actor, /:alice$/)
      assert.deepInclude(entries[0].before, { settlement_status: "manual" })
    }))

  it.effect("has a network go on of which no followed block is on the chain, and payments there count again", () =>
    Effect.gen(function*() {
      const { proxy, second, service } = yield* Office
      proxy.lead(second.url)
      const lost = yield* until(
        "no followed block is there",
        baseNetwork,
        ({ condition }) => condition === "no_common_block"
      )
      assert.isFalse(lost.healthy)
      const publicState = yield* service.call("/api/v1/networks/status")
      assert.strictEqual(assertStatus(200, publicState).data.data[0].condition, "no_common_block")

      const asked = yield* admin("networks", "reanchor", "base", "--environment", "devnet")
      assert.deepInclude(asked, { object: "repair", kind: "reanchor", network: "base" })
      const { repairs } = yield* until(
        "it goes on",
        Effect.tap(baseNetwork, () => second.mine(1)),
        ({ condition, repairs }) => condition === "ok" && repairs.some(({ status }: any) => status === "done")
      )
      assert.deepInclude(repairs.find(({ kind }: any) => kind === "reanchor"), { status: "done", reason: null })
      yield* paidInvoice(second, 7)
      const { data: entries } = yield* read("/audit-log?environment=devnet&action=network.reanchor")
      assert.lengthOf(entries, 1)
      assert.match(entries[0].actor, /:alice$/)
    }))
})
