/**
 * Goal: what is asked about the addresses of one merchant costs the same however many the others have. Method: a table
 * of many targets, and the plan of the very statement.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Client } from "pg"
import { make } from "../../../runtime/chains/ChainsRepo.ts"
import { connect, freshDatabase } from "../../support/Database.ts"
import { makePlanRecorder, nodesOf } from "../../support/PlanRecorder.ts"

const count = 20_000

/** Pages of the table are about 400; of an index a level or two. */
const fewPages = 10

const fill =
  `insert into receive_targets (id, merchant_id, version, family, match_key, invoice_id, environment, address,
    fingerprint, wallet_index, created_at)
  select 'evm:' || n, 1 + n % 2, 1, 'evm', n::text, gen_random_uuid()::text, 'mainnet', n::text, 'shared', n, n
  from generate_series(1, ${count}) n`

it.live("whether a merchant ever had an address is found in a few pages", () =>
  Effect.scoped(Effect.gen(function*() {
    const database = yield* freshDatabase
    const recorder = yield* makePlanRecorder(database)
    yield* Effect.promise(async () => {
      const client = new Client({ connectionString: database.url })
      await client.connect()
      await client.query(fill)
      await client.query("vacuum analyze receive_targets")
      await client.end()
    })
    const url = new URL(recorder.url)
    const recorded = connect({ ...database, host: url.hostname, port: Number(url.port) })
    yield* Effect.gen(function*() {
      const { hasTargets } = yield* make
      const ask = (merchantId: number, environment: "devnet" | "mainnet") =>
        Effect.gen(function*() {
          yield* recorder.take
          const has = yield* hasTargets({ merchantId, environment, family: "evm" })
          yield* Effect.sleep(50)
          const pages = (yield* recorder.take).filter(({ text }) => text.includes("receive_targets"))
            .flatMap(({ plan }) => nodesOf(plan).slice(0, 1))
            .map((node) => (node["Shared Hit Blocks"] ?? 0) + (node["Shared Read Blocks"] ?? 0))
          assert.isNotEmpty(pages)
          return { has, isCheap: Math.max(...pages) <= fewPages }
        })
      assert.deepStrictEqual(yield* ask(1, "mainnet"), { has: true, isCheap: true })
      assert.deepStrictEqual(yield* ask(1, "devnet"), { has: false, isCheap: true })
      assert.deepStrictEqual(yield* ask(3, "mainnet"), { has: false, isCheap: true })
    }).pipe(Effect.provide(recorded))
  })))
