/**
 * Goal: a seed is the same run on every machine, whatever else happens on the server of its database.
 * Method: the same seed runs alone, and while another database of the server has a transaction under way, as the
 * databases of other test files do.
 */
import { assert, describe, it } from "@effect/vitest"
import { Client } from "pg"
import { inject } from "vitest"
import { deliveries } from "./scenarios/deliveries.ts"
import { onStage } from "./ScenarioTests.ts"
import { planOf, run } from "./Simulation.ts"

/** Runs `use` while a transaction that has written is under way in another database of the same server. */
const besideTransaction = async <A>(use: () => Promise<A>): Promise<A> => {
  const server = inject("testServer")
  const client = new Client({ ...server, user: server.username, database: "postgres" })
  await client.connect()
  try {
    await client.query("begin")
    await client.query("select pg_current_xact_id()")
    return await use()
  } finally {
    await client.end()
  }
}

describe("a simulated database", () => {
  it("repeats a seed while a transaction of another database is under way", () =>
    onStage(deliveries, undefined, async (stage) => {
      const alone = await run(stage, planOf(deliveries, 3))
      const beside = await besideTransaction(() => run(stage, alone.plan))
      assert.strictEqual(beside.hash, alone.hash)
    }))
})
