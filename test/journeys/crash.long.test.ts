/**
 * Goal: what the service has answered survives kill -9, and so do the events and webhooks of it.
 * Method: the short form of `npm run bench -- crash`: the real process on a real PostgreSQL, killed under load.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { crash } from "../support/Crash.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { testSeed } from "../support/Seed.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"

const kills = 4
const callers = 3

describe("a service killed under load", () => {
  it.live(
    "loses nothing it has answered, tells every change once, and delivers every event",
    () =>
      Effect.gen(function*() {
        const database = yield* migratedDatabase
        const receiver = yield* makeReceiver()
        const directory = yield* temporaryDirectory
        const ports = { http: yield* freePort, rpc: yield* freePort }
        const config = configOf({
          database: database.url,
          chains: [{ use: "simulated", options: { networks: ["base"] } }],
          receivers: [receiver.host],
          webhooks: { retryBaseSeconds: 0.1, retryFactor: 2 }
        })
        const report = yield* crash({
          start: startService({ directory, config, ports }),
          query: (text) =>
            Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, any>>(text)).pipe(
              Effect.provide(connect(database)),
              Effect.orDie
            ),
          receiver,
          kills,
          callers,
          seed: testSeed,
          progress: (line) => console.log(line)
        })
        assert.deepStrictEqual(report.faults, [], `seed ${report.seed}`)
        assert.isAbove(report.invoices, 20)
        assert.isAbove(report.payments, 0)
        assert.strictEqual(report.deliveries, report.events)
      }).pipe(Effect.scoped),
    300_000
  )
})
