/**
 * Goal: payouts of one merchant that become final at the same moment take no more dollars out of the books than they
 * hold, in one instance and in several. Method: a whole devnet over HTTP. SQL makes all batches due (`due_at`, and
 * `checkAt` in `batches.parts`), so that one run of the timer searches the chain for all of them. What two instances
 * decide at once is made by asking for both bookings before the first is stored.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { accounts, isChainAccount, Ledger, readAsset } from "../../../modules/ledger/plugin.ts"
import { chainPrefix } from "../../../modules/ledger/rules.ts"
import { type BookEntries, Books } from "../../../runtime/Books.ts"
import { Commit, Conflict, noCause } from "../../../runtime/Commit.ts"
import { baseUnits } from "../../../schemas/Money.ts"
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

  it.effect("and adjustments that instances decide at once take what is left: the second is decided again", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const owner = { merchantId: shop.merchantId, environment: "devnet" } as const
      const services = (yield* DevnetService).services as unknown as Context.Context<Books | Commit | Ledger>
      const [books, commit, ledger] = [
        Context.get(services, Books),
        Context.get(services, Commit),
        Context.get(services, Ledger)
      ]
      const { invoice_id: id } = yield* ask(shop.key, "/api/v1/invoices", {
        amount_usd: 50,
        accepted_networks: ["base"]
      })
      yield* ask(shop.key, `/api/v1/devnet/invoices/${id}/simulate`, { action: "pay", network: "base" })
      const balanceOf = (named: (account: string) => boolean) =>
        Effect.map(ledger.balances(owner), (balances) => balances.find(({ account }) => named(account))!)
      const { account, asset } = yield* balanceOf(isChainAccount)
      const append = ({ balances, events, writes }: BookEntries) =>
        commit.append({ ...owner, cause: noCause, writes, balances, events })
      /** One of 40 tokens. */
      const bookPayout = (line: number) =>
        books.payout({
          ...owner,
          id: `batch/${line}`,
          network: "base",
          tokenAddress: readAsset(asset).address,
          units: baseUnits(40_000_000n),
          wallet: account.slice(chainPrefix.length)
        })
      const bookLoss = (units: bigint, usdMillis: bigint) =>
        ledger.adjust(owner, {
          id: randomUUID(),
          account,
          asset,
          units,
          usdMillis,
          ignored: { units: 0n, usdMillis: 0n },
          now: 1
        })
      const decided = [yield* bookPayout(1), yield* bookPayout(2), yield* bookLoss(-20_000_000n, -20_000n)] as const
      yield* append(decided[0])
      for (const late of [decided[1], decided[2]]) {
        const error = yield* Effect.flip(append(late))
        assert.deepStrictEqual({ ...error }, { ...new Conflict({ table: "account_balances" }) })
      }
      yield* append(yield* bookLoss(-4_000_000n, -4_000n))
      yield* append(yield* bookPayout(2))
      const available = yield* balanceOf((name) => name === accounts.available)
      assert.deepStrictEqual([available.units, available.usdMillis], [34_000_000n, 0n])
    }))
})
