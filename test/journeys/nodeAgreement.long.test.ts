/**
 * Goal: while one of two nodes is away, small payments go on and large ones wait, as the operator set it. Method: the
 * service as a process over two endpoints of a real EVM node, the second of which stands still after a while; money
 * that really moves.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { anvil } from "../support/Anvil.ts"
import { migratedDatabase } from "../support/Database.ts"
import { frozenAt, nodeProxy } from "../support/NodeProxy.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, startService, temporaryDirectory, until } from "../support/Service.ts"
import { chooseToken, type Invoice, newInvoice, openShop, readInvoice } from "./Shop.ts"

/** A busy machine may hold up the next block for a second or two: that must not pass for a node that stands still. */
const frozenSeconds = 5
const blockMillis = 500

describe("a network with two nodes, of which one stands still", () => {
  it.live("confirms payments below agreementAboveUsd, and from it on when the other node is back", () =>
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000n])
      const first = yield* nodeProxy(node.url)
      const second = yield* nodeProxy(node.url)
      const receiver = yield* makeReceiver()
      const database = yield* migratedDatabase
      const options = {
        network: "base",
        environment: "devnet",
        rpc: [first.url, second.url],
        xpub: devnetXpub,
        startIndex: 10,
        pollMillis: 25,
        agreementAboveUsd: 100,
        frozenSeconds
      }
      // Blocks come all the time, from before the service looks: the first node must never seem to stand still.
      yield* Effect.forkScoped(Effect.repeat(node.mine(1), Schedule.spaced(blockMillis)))
      const config = configOf({ database: database.url, receivers: [receiver.host], chains: [{ use: "evm", options }] })
      const service = yield* startService({ directory: yield* temporaryDirectory, config })
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      const open = Effect.fnUntraced(function*(amountUsd: number) {
        const invoice = yield* newInvoice(shop, { amount_usd: amountUsd })
        return { invoice, address: (yield* chooseToken(shop, invoice, "USDC")).temp_address as string }
      })
      const below = yield* open(99.99)
      const exactly = yield* open(100)
      /** Its parts are small, but who may lose it is the seller of the whole. */
      const inParts = yield* open(150)
      const statusOf = (invoice: Invoice) => Effect.map(readInvoice(shop, invoice.id), ({ status }) => status as string)
      const becomes = (invoice: Invoice, status: string) =>
        until(`invoice is ${status}`, statusOf(invoice), (found) => found === status)

      second.set(frozenAt(BigInt(yield* node.rpc("eth_blockNumber"))))
      yield* node.token("transfer", [exactly.address, 100_000_000n])
      yield* node.token("transfer", [inParts.address, 75_000_000n])
      yield* node.token("transfer", [inParts.address, 75_000_000n])
      yield* node.token("transfer", [below.address, 99_990_000n])
      yield* becomes(below.invoice, "paid")
      // Their transfers are deeper than the one that was confirmed.
      const waiting = yield* Effect.forEach([exactly, inParts], ({ invoice }) => readInvoice(shop, invoice.id))
      assert.deepStrictEqual(waiting.map(({ amount_paid, status }) => [status, amount_paid]), [["unpaid", 0], [
        "unpaid",
        0
      ]])

      second.set("through")
      yield* becomes(exactly.invoice, "paid")
      yield* becomes(inParts.invoice, "paid")
    }).pipe(Effect.scoped))
})
