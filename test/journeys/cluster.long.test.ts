/**
 * Goal: instances with `"cluster": {}` are one service whose work they divide, and a payment is credited whichever of
 * them is killed. Method: two processes of the service over one PostgreSQL and a network that is real.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { anvil } from "../support/Anvil.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, startService, temporaryDirectory, until } from "../support/Service.ts"
import { chooseToken, newInvoice, openShop, readInvoice, type Shop } from "./Shop.ts"

describe("two instances of a cluster", () => {
  it.live(
    "divide the work, and one goes on alone with all of it when the other is killed",
    () =>
      Effect.gen(function*() {
        const node = yield* anvil("base")
        yield* node.token("mint", [node.accounts[0]!, 1_000_000_000_000n])
        const database = yield* migratedDatabase
        const receiver = yield* makeReceiver()
        const options = { network: "base", environment: "devnet", rpc: [node.url], xpub: devnetXpub, startIndex: 10 }
        const config = {
          ...configOf({
            database: database.url,
            receivers: [receiver.host],
            chains: [{ use: "evm", options: { ...options, pollMillis: 25 } }]
          }),
          cluster: {}
        }
        const start = Effect.flatMap(temporaryDirectory, (directory) => startService({ directory, config }))
        const services = yield* Effect.all([start, start], { concurrency: 2 })
        const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
        const owner = services.find(({ dataDirectory }) => existsSync(join(dataDirectory, "demo-keys.json")))!
        const { merchant_key: key } = yield* owner.keys
        for (const { guard } of services) guard(key)
        const shop = yield* openShop(services[0], receiver, key)

        const holders = (pattern: string) =>
          Effect.orDie(sql<{ holder: string }>`SELECT DISTINCT split_part(holder, ':', 1) AS holder FROM leases
          WHERE until > clock_timestamp() AND name LIKE ${pattern}`)
        yield* until("both have work", holders("%"), (found) => found.length === 2)

        const pay = Effect.fnUntraced(function*(through: Shop) {
          const invoice = yield* newInvoice(through, { amount_usd: 5 })
          const shown = yield* chooseToken(through, invoice, "USDC")
          yield* node.token("transfer", [shown.temp_address, 5_000_000n])
          yield* until("the invoice is paid", readInvoice(through, invoice.id), ({ status }) => status === "paid")
        })
        yield* pay(shop)
        yield* services[1].stop("SIGKILL")
        yield* pay(shop)
        yield* until("one has all work", holders("%"), (found) => found.length === 1)
        const health = yield* services[0].call("/health/ready")
        assert.strictEqual(health.status, 200)
        assert.deepStrictEqual(services[0].errors(), [])
      })
  )
})
