/**
 * Goal: a payment that waits to be credited is noticed, and a stranger who floods an address raises no alarm.
 * Method: rows of the journal, and the part of health that looks at them.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import { healthLayer, staleTransferMillis } from "../../../runtime/chains/Health.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { Health, type HealthCheck } from "../../../runtime/Telemetry.ts"
import { settingsLayer } from "../../support/Api.ts"
import { databaseLayer } from "../../support/Database.ts"

const seen = (id: string, unlisted: boolean) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO transfers (id, merchant_id, version, network, environment, tx_hash,
      tx_index, kind, invoice_id, match_key, amount, height, block_hash, block_time, observed_at, status, handled,
      confirmations, attempts, retry_at, unlisted)
    VALUES (${id}, 1, 1, 'base', 'devnet', ${id}, 0, 'direct', null, 'key', 1, 1, 'hash', 1, 1, 'seen', 'none', 1, 0, 0, ${unlisted})`
  )

layer(databaseLayer)("health", (it) => {
  it.effect("notices a transfer that waits for a minute, and none of a token that nobody lists", () =>
    Effect.gen(function*() {
      const checks: Array<HealthCheck> = []
      yield* Layer.build(healthLayer.pipe(Layer.provide(Layer.mergeAll(
        settingsLayer(),
        Layer.mock(Chains, {
          status: () => [],
          driver: () => undefined,
          markHandled: () => ({ table: "transfers", row: { version: 1 } }),
          assignEntry: () => ({ table: "transfers", row: { version: 1 } })
        }),
        Layer.mock(Health, { register: (check) => Effect.sync(() => void checks.push(check)) })
      ))))
      const { run } = checks.find(({ name }) => name === "transfers")!
      yield* seen("fake", true)
      yield* run
      yield* TestClock.adjust(staleTransferMillis)
      assert.deepStrictEqual(yield* run, [])
      yield* seen("honest", false)
      assert.deepStrictEqual(yield* run, [])
      yield* TestClock.adjust(staleTransferMillis)
      const [finding] = yield* run
      assert.match(finding!.message, /^A transfer waits for being credited since 60 s or longer, and 1 with it: /)
      yield* (yield* SqlClient.SqlClient)`UPDATE transfers SET handled = status WHERE id = 'honest'`
      assert.deepStrictEqual(yield* run, [])
    }))
})
