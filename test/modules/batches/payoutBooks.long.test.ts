/**
 * Goal: payouts of one merchant that become final at the same moment take no more dollars out of the books than they
 * hold. Method: a whole devnet over HTTP. SQL makes all batches due (`due_at`, and `checkAt` in `batches.parts`), so
 * that one run of the timer searches the chain for all of them.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../modules/ledger/plugin.ts"
import { until } from "../../support/Service.ts"
import { DevnetService, okData } from "../simulator/DevnetService.ts"
import { approve, ask, giveOut, look, mine, newShop, payout, payoutsBatch, play, read } from "./BatchShop.ts"

/** Base units of USDC: 40 + 41 + 42 + 43 tokens are paid out, and 50 were received. */
const overdrawnUnits = 116_000_000n

layer(DevnetService.layer, { excludeTestServices: true })("payouts in the books", (it) => {
  it.effect("that become final at the same moment take no more dollars than the books hold", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const { services } = yield* DevnetService
      const sql = Context.get(services, SqlClient.SqlClient)
      const { invoice_id: id } = yield* ask(shop.key, "/api/v1/invoices", {
        amount_usd: 50,
        accepted_networks: ["base"]
      })
      yield* ask(shop.key, `/api/v1/devnet/invoices/${id}/simulate`, { action: "pay", network: "base" })
      const batches = yield* Effect.forEach(
        ["40", "41", "42", "43"],
        Effect.fnUntraced(function*(amount) {
          const batch = okData(yield* payoutsBatch(shop.key, [yield* payout(amount)]))
          yield* approve(shop, batch)
          okData(yield* giveOut(shop.key, batch))
          yield* play(shop, batch)
          return batch
        })
      )
      yield* mine("base", 5)
      yield* Effect.orDie(sql`UPDATE batches SET version = version + 1, due_at = 1,
        parts = regexp_replace(parts::text, '"checkAt": ?[0-9]+', '"checkAt": 1')::json WHERE merchant_id = ${shop.merchantId}`)
      yield* look(shop, batches[0]!)
      for (const batch of batches) {
        yield* until(
          "the batch is paid",
          read(shop, batch) as Effect.Effect<any, never, DevnetService>,
          ({ status }) => status === "paid"
        )
      }
      const ledger = Context.get(services as unknown as Context.Context<Ledger>, Ledger)
      const balances = yield* ledger.balances({ merchantId: shop.merchantId, environment: "devnet" })
      const available = balances.filter(({ account }) => account === "merchant_available")
      assert.deepStrictEqual(available.map(({ units, usdMillis }) => [units, usdMillis]), [[overdrawnUnits, 0n]])
    }))
})
