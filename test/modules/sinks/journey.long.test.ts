/**
 * Goal: every event of every merchant is in the sink, in order, although the service dies and the stream's server stops
 * under load. Method: the load of the crash journey, with both drivers.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { hasNatsServer, makeNatsServer } from "../../fixtures/natsServer.ts"
import { crash } from "../../support/Crash.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { freePort } from "../../support/Ports.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import { testSeed } from "../../support/Seed.ts"
import { configOf, startService, temporaryDirectory, until } from "../../support/Service.ts"

const kills = 1
const callers = 3
const stream = "EVENTS"

/** Ids of a merchant's events in the order in which they came first. */
const firstsOf = (ids: ReadonlyArray<string>) => [...new Set(ids)]

describe("a service with sinks that is killed under load", () => {
  it.live(
    "leaves every event in the files and in the stream, those of a merchant in order",
    () =>
      Effect.gen(function*() {
        const database = yield* migratedDatabase
        const receiver = yield* makeReceiver()
        const directory = yield* temporaryDirectory
        const files = join(directory, "events")
        const nats = hasNatsServer ? yield* makeNatsServer : undefined
        yield* nats?.makeStream(stream, "tillwire.events") ?? Effect.void
        const ports = { http: yield* freePort, rpc: yield* freePort }
        const base = configOf({
          database: database.url,
          chains: [{ use: "simulated", options: { networks: ["base"] } }],
          receivers: [receiver.host],
          webhooks: { retryBaseSeconds: 0.1, retryFactor: 2 }
        })
        const config = {
          ...base,
          modules: [
            ...base.modules,
            { use: "sinks" },
            { use: "sinks/file", options: { directory: files } },
            ...(nats === undefined ? [] : [{ use: "sinks/nats", options: { servers: [nats.url], stream } }])
          ]
        }
        const query = (text: string) =>
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, any>>(text)).pipe(
            Effect.provide(connect(database)),
            Effect.orDie
          )
        const start = startService({ directory, config, ports })
        const report = yield* crash({
          // The stream's server stops at each start of the service, and comes back while it works.
          start: nats === undefined ? start : Effect.tap(start, () => Effect.andThen(nats.stop, nats.start)),
          query,
          receiver,
          kills,
          callers,
          seed: testSeed,
          progress: (line) => console.log(line)
        })
        assert.deepStrictEqual(report.faults, [], `seed ${report.seed}`)

        yield* Effect.scoped(Effect.gen(function*() {
          yield* start
          const behind = `select count(*)::int as n from merchant_streams s
          cross join (select distinct sink from event_sinks) k
          left join event_sink_positions p on p.sink = k.sink and p.merchant_id = s.merchant_id
          where (s.last_ms, s.last_seq) > (coalesce(p.ms, 0), coalesce(p.seq, 0)) and s.last_ms > 0`
          yield* until("the sinks have all events", query(behind), ([row]) => row!["n"] === 0)
        }))

        const rows = yield* query(`select merchant_id, 'evt_' || ms || '-' || seq as id from events
        where type not like 'batch.%' and type not like 'exception.%' and type not like 'balance_transaction.%'
        order by merchant_id, ms, seq`)
        const expected = rows.map((row) => `${row["merchant_id"]} ${row["id"]}`)
        assert.isNotEmpty(expected)

        const inFiles = readdirSync(files).toSorted().flatMap((name) =>
          readFileSync(join(files, name), "utf8").split("\n").filter((line) => line !== "").map((line) => {
            const { event, merchant_id: merchantId } = JSON.parse(line)
            return `${merchantId} ${event.id}`
          })
        )
        assert.deepStrictEqual(firstsOf(inFiles).toSorted(byMerchant), expected)
        if (nats === undefined) return
        const inStream = (yield* nats.messages(stream)).map(({ subject, text }) =>
          `${subject.split(".")[3]} ${JSON.parse(text).id}`
        )
        // The stream drops what comes twice.
        assert.deepStrictEqual(inStream.toSorted(byMerchant), expected)
      }).pipe(Effect.scoped)
  )
})

/** Sorted by merchant alone; sorting keeps the order of the rest. */
const byMerchant = (a: string, b: string): number => Number(a.split(" ")[0]) - Number(b.split(" ")[0])
