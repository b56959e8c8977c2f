/**
 * Goal: for any order of export, execution, expiry, reorganisation and crash no line is ever paid twice by guarded
 * exports, and every unguarded second transfer raises an exception before it is final.
 * Method: the short form of `npm run bench -- histories --family batches`: seeded histories against the service on
 * mainnet's rules, a real EVM node, the real machines of Solana and TON, or a ledger with the rules of Sui or, on a
 * devnet, Cardano, and three endpoints. Two processes and their kills are for the bench.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { batchHistory } from "../support/batches/BatchHistory.ts"
import { cardanoWorld, evmWorld, solanaWorld, suiWorld, tonWorld } from "../support/batches/Worlds.ts"
import { connect, migratedDatabase } from "../support/Database.ts"

/** `BATCH_SEEDS=7 npx vitest run … test/journeys/batchHistories.long.test.ts` runs seven, beginning with `BATCH_SEED`. */
const count = Number(process.env["BATCH_SEEDS"] ?? 1)
const first = Number(process.env["BATCH_SEED"] ?? 1)
const steps = Number(process.env["BATCH_STEPS"] ?? 30)

/** For each history on a machine that is busy with others; alone it takes 3 s. */
const limitMillis = 300_000

it.live.each([
  { network: "an EVM network", open: evmWorld },
  { network: "Solana", open: solanaWorld },
  { network: "TON", open: tonWorld },
  { network: "Sui", open: suiWorld, tonWorld },
  { network: "Cardano", open: cardanoWorld }
])(
  "no line is paid twice, and every second transfer is told, after histories of whatever may happen on $network",
  ({ open }) =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const sql = Context.get(yield* Effect.orDie(Layer.build(connect(database))), SqlClient.SqlClient)
      const query = (text: string) => Effect.orDie(sql.unsafe<Record<string, any>>(text))
      const { chain, deployment } = yield* open({ url: database.url, query }, 1)
      const wrong: Array<string> = []
      for (let seed = first; seed < first + count; seed++) {
        const { faults, steps: taken } = yield* batchHistory(deployment, chain, { seed, steps, kills: 0 })
        if (faults.length > 0) wrong.push(`seed ${seed}: ${faults.join("\n")}\nafter ${taken.join(" ")}`)
      }
      assert.strictEqual(wrong.join("\n\n"), "")
    }).pipe(Effect.scoped),
  limitMillis * count
)
