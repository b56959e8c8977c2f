/**
 * Goal: what customers paid to a merchant's forwarders is gathered in the dashboard, one signature for 200 addresses,
 * and the month has nothing left to explain.
 * Method: the dashboard over a real EVM node; a wallet that is not the merchant's signs.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { asPayor, chooseToken, newInvoice, readInvoice } from "../journeys/Shop.ts"
import { until } from "../support/Service.ts"
import { DashboardTown, heldBy } from "./DashboardTown.ts"
import { callsOf, giveWallet } from "./ScriptedWallet.ts"

/** COLLECT_INVOICES names another number: 1,000 are five signatures. */
const invoiceCount = Number(process.env["COLLECT_INVOICES"] ?? 12)

/** Addresses that one signature gathers (modules/docs/guides/collecting.md). */
const addressesPerPart = 200

const dollars = 5
const price = BigInt(dollars) * 1_000_000n

layer(DashboardTown.layer, { excludeTestServices: true, timeout: "15 minutes" })(
  "what was paid to forwarders",
  (it) => {
    it.effect("is gathered by one signature for 200 addresses, and the month agrees with the chain", () =>
      Effect.gen(function*() {
        const { home, node, shop, signIn } = yield* DashboardTown
        const payee = privateKeyToAccount(generatePrivateKey()).address
        const { page } = yield* signIn()
        yield* giveWallet(page, "together")
        yield* Effect.promise(async () => {
          await page.goto(`${home}/wallets`)
          await page.locator("main select[name=family]").selectOption("evm")
          await page.locator("main select[name=kind]").selectOption("forwarder")
          await page.locator("main input[name=value]").fill(payee)
          await page.getByRole("button", { name: "Set this wallet" }).click()
          await page.getByText("It receives from now on.").waitFor()
          assert.deepStrictEqual(await page.locator("main fieldset.checks label").allInnerTexts(), [payee])
        })

        const pay = Effect.gen(function*() {
          const invoice = yield* newInvoice(shop, { amount_usd: dollars })
          yield* until(
            "USDC is offered",
            asPayor(shop, invoice, "available-tokens?mode=network&network=base"),
            (tokens) => tokens.some((each: any) => each.token_symbol === "USDC")
          )
          const { temp_address: address } = yield* chooseToken(shop, invoice, "USDC", "base")
          yield* node.token("transfer", [address, price])
          return invoice.id
        })
        const invoices = yield* Effect.forEach(Array.from({ length: invoiceCount }), () => pay)
        yield* node.mine(100)
        for (const id of invoices) {
          yield* until("it is paid", readInvoice(shop, id), ({ status }) => status === "paid")
        }

        const isGathered = Effect.promise(async () => {
          await page.goto(`${home}/collect`)
          return page.locator("main tbody tr").first().innerText()
        })
        yield* until(
          "all of it is final",
          Effect.andThen(node.mine(1), isGathered),
          (row) => row.split(/\s+/).includes(invoiceCount.toLocaleString("en"))
        )
        const parts = Math.ceil(invoiceCount / addressesPerPart)
        yield* Effect.promise(async () => {
          await page.getByRole("button", { name: "Collect" }).click()
          await page.getByText("The batch is made.").waitFor()
          const batch = page.url().replace(/\?.*$/, "")
          for (let part = 1; part <= parts; part++) {
            await page.goto(batch)
            // The part before keeps its button until it is seen.
            const form = page.locator("form").filter({ has: page.locator(`input[name=part][value="${part}"]`) })
            await form.getByRole("button", { name: "MetaMask" }).click()
            await page.locator("#sign-note").getByText("Sent from").waitFor()
            const sent = (await callsOf(page)).filter(({ method }) => method === "wallet_sendCalls")
            assert.lengthOf(sent, 1, "one signature")
            assert.lengthOf(sent[0]!.params[0].calls, 1, "of one call")
          }
        })
        assert.strictEqual(yield* heldBy(payee), price * BigInt(invoiceCount))
        yield* until(
          "nothing is left to collect",
          Effect.andThen(
            node.mine(2),
            Effect.promise(async () => {
              await page.goto(`${home}/collect`)
              return page.locator("main").innerText()
            })
          ),
          (text) => text.includes("Nothing lies on invoice addresses.")
        )
        yield* Effect.promise(async () => {
          await page.goto(`${home}/periods?period=${new Date().toISOString().slice(0, 7)}`)
          await page.getByText("Every difference is explained.").waitFor()
          const row = await page.locator("main table").first().innerText()
          assert.include(row.replaceAll(",", ""), String(invoiceCount * dollars), "what came by the books")
        })
      }).pipe(Effect.scoped))
  }
)
