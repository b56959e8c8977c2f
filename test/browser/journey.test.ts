/**
 * Goal: from `payment_url` to "Payment complete" and back to the shop.
 * Method: a browser, the service, an EVM node; a wallet that knows only the page's "Open in wallet" link.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createWalletClient, encodeFunctionData, erc20Abi, type Hex, http } from "viem"
import { proceedWith, visit } from "./Page.ts"
import { PaymentPageService } from "./PaymentPageService.ts"

/** Does what an EIP-681 link asks for, and nothing else; answers the transaction's hash. */
const walletPays = Effect.fnUntraced(function*(uri: string) {
  const { node } = yield* PaymentPageService
  const { chain, target, to, units, value } =
    /^ethereum:(?<target>0x[0-9a-fA-F]{40})@(?<chain>\d+)(?:\/transfer\?address=(?<to>0x[0-9a-fA-F]{40})&uint256=(?<units>\d+)|\?value=(?<value>\d+))$/
      .exec(uri)?.groups ?? assert.fail(`no wallet reads ${uri}`)
  assert.strictEqual(Number(chain), node.chainId)
  const wallet = createWalletClient({ account: node.accounts[0] as Hex, transport: http(node.url) })
  const data = to === undefined
    ? {}
    : { data: encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to as Hex, BigInt(units!)] }) }
  return yield* Effect.promise(() =>
    wallet.sendTransaction({
      chain: null,
      to: target as Hex,
      ...value === undefined ? {} : { value: BigInt(value) },
      ...data
    })
  )
})

layer(PaymentPageService.layer, { excludeTestServices: true })("a customer", (it) => {
  for (const symbol of ["USDC", "ETH"]) {
    it.effect(`opens the page, pays ${symbol} with a wallet, sees it arrive, and returns to the shop`, () =>
      Effect.gen(function*() {
        const { payableInvoice } = yield* PaymentPageService
        const made = yield* payableInvoice({ payment_return_url: "https://shop.example/done?cart=7" })
        const { page } = yield* visit(made.url, { mobile: true, width: 390, height: 844 })
        const uri = yield* Effect.promise(async () => {
          await proceedWith(page, symbol, "Base")
          await page.getByRole("heading", { name: new RegExp(`^Pay [0-9.]+ ${symbol} on Base$`) }).waitFor()
          return await page.getByRole("link", { name: "Open in wallet" }).getAttribute("href") ?? ""
        })
        const hash = yield* walletPays(uri)
        yield* Effect.promise(async () => {
          await page.getByRole("heading", { name: "Payment complete" }).waitFor()
          assert.include(await page.content(), hash)
          await page.route(
            "https://shop.example/**",
            (route) => route.fulfill({ contentType: "text/html", body: "<title>thanks</title>" })
          )
          const asked = page.waitForRequest("https://shop.example/**")
          await page.getByRole("link", { name: /^Return to/ }).click()
          const request = await asked
          const { origin, pathname, searchParams } = new URL(request.url())
          assert.strictEqual(`${origin}${pathname}`, "https://shop.example/done")
          assert.deepStrictEqual(Object.fromEntries(searchParams), { cart: "7", invoice_id: made.id, status: "paid" })
          assert.isUndefined((await request.allHeaders())["referer"])
        })
      }).pipe(Effect.scoped))
  }

  it.effect("on devnet pays without a wallet, by the drawer of the page", () =>
    Effect.gen(function*() {
      const { payableInvoice } = yield* PaymentPageService
      const made = yield* payableInvoice()
      const { complaints, page } = yield* visit(made.url)
      yield* Effect.promise(async () => {
        await proceedWith(page, "USDC", "Optimism")
        await page.locator("[data-screen=waiting]").waitFor()
        const drawer = page.getByText("Simulate payment")
        await drawer.click()
        await page.getByRole("button", { name: "Pay half", exact: true }).click()
        await page.getByRole("heading", { name: "Part of the payment arrived" }).waitFor()
        await drawer.click()
        await page.getByRole("button", { name: "Pay", exact: true }).click()
        await page.getByRole("heading", { name: "Payment complete" }).waitFor()
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped))
})
