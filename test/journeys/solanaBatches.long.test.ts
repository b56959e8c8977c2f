/**
 * Goal: a transaction that somebody changed before it was signed costs a merchant on Solana what it moved elsewhere,
 * and nothing beside it. Method: the service on mainnet's rules, the real machine of Solana, and a wallet that signs
 * the export twice: changed, and as it was given out.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { judgeBatches } from "../support/batches/BatchJudgement.ts"
import { look, mine } from "../support/batches/BatchSteps.ts"
import { approveAt, openBatchShop, read, type StepContext, write } from "../support/batches/Operators.ts"
import { solanaWorld } from "../support/batches/Worlds.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { rollOf } from "../support/money/Shop.ts"

const openTown = Effect.gen(function*() {
  const database = yield* migratedDatabase
  const sql = Context.get(yield* Effect.orDie(Layer.build(connect(database))), SqlClient.SqlClient)
  const query = (text: string) => Effect.orDie(sql.unsafe<Record<string, any>>(text))
  return yield* solanaWorld({ url: database.url, query }, 1)
})

it.live(
  "a refund that a changed transaction left out waits until nobody can sign it any more",
  () =>
    Effect.gen(function*() {
      const { chain, deployment } = yield* openTown
      for (const isSignedAgain of [true, false]) {
        const shop = yield* openBatchShop(deployment, chain, { seed: isSignedAgain ? 1 : 2, withRefunds: true })
        const context: StepContext = { deployment, chain, shop, roll: rollOf(1) }
        const made = yield* write(context, "/api/v1/batches", {
          kind: "refunds",
          network: chain.network,
          from: shop.wallet,
          valid_for_seconds: 300,
          refund_ids: shop.obligations.map(({ refundId }) => refundId)
        }, "person")
        const { id } = made.json.data
        const batch = { id, kind: "refunds", lines: shop.obligations } as const
        shop.batches.push(batch)
        yield* approveAt(context, `/api/v1/batches/${id}`, "person")
        const given = yield* write(context, `/api/v1/batches/${id}/export`, { part: 1, format: "solana" }, "person")
        const { payload, valid_until: validUntil } = given.json.data
        shop.given.push({ batch, format: "solana", payload, validUntil })
        const state = Effect.map(
          read(context, `/api/v1/batches/${id}?expand=lines`),
          ({ lines, parts, status }: any) => [
            status,
            parts[0].status,
            lines.map((line: any) => line.status)
          ]
        )
        const sign = (how: "as_given" | "changed_destination") =>
          chain.sign(shop.wallet, payload, how, shop.thief, id).pipe(
            Effect.andThen(mine(context, chain.finality + 2)),
            Effect.andThen(look(context))
          )

        yield* sign("changed_destination")
        assert.deepStrictEqual(yield* state, ["open", "seen", ["pending", "paid", "paid"]])
        // Looks that no longer reach back to it must not forget that somebody has executed it.
        for (let turn = 0; turn < 3; turn++) {
          yield* mine(context, 20)
          yield* look(context)
          assert.deepStrictEqual(yield* state, ["open", "seen", ["pending", "paid", "paid"]])
        }
        const { refundId } = shop.obligations[0]!
        const retried = yield* write(context, `/api/v1/refunds/${refundId}/retry`, {}, "person")
        assert.strictEqual(retried.json.error.code, "REFUND_IN_BATCH", "or another batch would pay it as well")

        if (isSignedAgain) yield* sign("as_given")
        yield* chain.pass(1)
        yield* look(context)
        const end = isSignedAgain ? ["paid", "paid", ["paid", "paid", "paid"]] : [
          "partly_paid",
          "mismatch",
          ["mismatch", "paid", "paid"]
        ]
        assert.deepStrictEqual(yield* state, end)
        yield* judgeBatches(context)
        assert.deepStrictEqual(shop.faults, [])
      }
    }).pipe(Effect.scoped)
)
