/**
 * Goal: a wallet of the browser pays a batch as people approved it, is asked for nothing but the export, and what the
 * page shows of it comes from the network.
 * Method: the dashboard over a real EVM node; wallets that behave each in their own way, with the node's accounts.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { until } from "../support/Service.ts"
import { approvalScript } from "../support/ApprovalScript.ts"
import { linkWallet } from "../support/Merchants.ts"
import { DashboardTown, givePasskey, heldBy, joinAs } from "./DashboardTown.ts"
import { foreignRequests } from "./Page.ts"
import { callsOf, giveWallet } from "./ScriptedWallet.ts"

declare const window: any

/** Opens a refund of an invoice for `to`, in the pages; answers its path. */
const refundTo = async (page: Page, home: string, invoice: string, to: string) => {
  await page.goto(`${home}/payments/${invoice}/refund`)
  await page.locator("input[name=amount_mode][value=full]").check()
  await page.locator("input[name=where][value=address]").check()
  await page.locator("main select[name=network]").selectOption("base")
  await page.locator("input[name=address]").fill(to)
  await page.getByRole("button", { name: "Create refund" }).click()
  await page.getByText("The refund is opened.").waitFor()
  return new URL(page.url()).pathname
}

const approveAs = async (page: Page, url: string, says: string) => {
  await page.goto(url)
  await page.getByRole("button", { name: "Approve" }).click()
  await page.getByText(says, { exact: true }).waitFor()
}

/** A batch of a refund to a new address, which two people approved and one gives out, as its maker sees it. */
const approvedBatch = (owner: Page, admin: Page, dollars: number) =>
  Effect.gen(function*() {
    const { home, node, paidInvoice, wallet } = yield* DashboardTown
    const invoice = yield* paidInvoice(dollars)
    const to = yield* Effect.map(node.rpc("eth_blockNumber"), (height: string) =>
      `0x${"d0".repeat(18)}${BigInt(height).toString(16).padStart(4, "0")}`)
    return yield* Effect.promise(async () => {
      const refund = await refundTo(owner, home, invoice, to)
      const url = new URL(refund, home).href
      await approveAs(owner, url, "Approved. Another person must approve it too.")
      await approveAs(admin, url, "Approved.")
      await owner.goto(`${home}/batches`)
      await owner.locator("main select[name=network]").selectOption("base")
      await owner.locator("input[name=from]").fill(wallet)
      await owner.getByRole("button", { name: "Make a batch" }).click()
      await owner.getByText("The batch is made.").waitFor()
      const batch = owner.url().replace(/\?.*$/, "")
      await approveAs(admin, batch, "Approved.")
      await owner.goto(batch)
      return { refund: url, batch, to }
    })
  })

layer(DashboardTown.layer, { excludeTestServices: true })("a batch in the browser", (it) => {
  it.effect("refunds a customer: two people approve, a wallet signs, and the network says it is done", () =>
    Effect.gen(function*() {
      const { home, node, signIn } = yield* DashboardTown
      const owner = yield* signIn()
      const admin = yield* joinAs(owner.page, "admin")
      const { page } = owner
      const { batch, refund } = yield* approvedBatch(page, admin.page, 600)
      yield* giveWallet(page, "together")
      yield* Effect.promise(async () => {
        await page.goto(batch)
        const button = page.getByRole("button", { name: "MetaMask" })
        await button.waitFor()
        assert.deepStrictEqual(await callsOf(page), [], "nothing is asked before a press")
        const told = page.waitForResponse((response) => (response.request().postData() ?? "").includes("action=sent"))
        const answered = page.waitForResponse((response) =>
          response.request().method() === "POST" && response.request().postData()!.includes("action=export")
        )
        await button.click()
        const text = await (await answered).text()
        await page.locator("#sign-note").getByText("Sent from").waitFor()
        const payload = JSON.parse(/data-payload[^>]*>([^<]*)</.exec(text)![1]!.replaceAll("&quot;", "\""))
        const asked = (await callsOf(page)).filter(({ method }) => /send/i.test(method))
        assert.deepStrictEqual(asked, [{ method: "wallet_sendCalls", params: payload }], "the export and nothing else")
        assert.strictEqual(payload[0].chainId, `0x${node.chainId.toString(16)}`)
        await told
        for (
          let looks = 0;
          looks < 100 && !(await page.locator(".head .chip").first().textContent())!.includes("Done");
          looks++
        ) {
          await page.waitForTimeout(200)
          await page.reload()
        }
        assert.strictEqual(await page.locator(".head .chip").first().textContent(), "Done")
        await page.goto(refund)
        assert.strictEqual(await page.locator(".head .chip").first().textContent(), "Done")
        assert.deepStrictEqual(foreignRequests(owner, home), [])
        assert.deepStrictEqual(owner.complaints.filter((each) => !each.startsWith("error: Failed to load")), [])
      })
    }).pipe(Effect.scoped))

  it.effect("is paid by an older wallet one transaction after the other, and goes on where it broke off", () =>
    Effect.gen(function*() {
      const { signIn } = yield* DashboardTown
      const owner = yield* signIn()
      const admin = yield* signIn("admin@shop.example")
      const { page } = owner
      const { batch, to } = yield* approvedBatch(page, admin.page, 700)
      yield* giveWallet(page, "old")
      yield* Effect.promise(async () => {
        await page.goto(batch)
        await page.evaluate(() => window.breaks = true)
        await page.getByRole("button", { name: "MetaMask" }).click()
        await page.locator("#sign-note").getByText("could not send it").waitFor()
        await page.goto(batch)
        const told = page.waitForResponse((response) => (response.request().postData() ?? "").includes("action=sent"))
        await page.getByRole("button", { name: "MetaMask" }).click()
        await page.locator("#sign-note").getByText("Sent from").waitFor()
        const sent = (await callsOf(page)).filter(({ method }) => method === "eth_sendTransaction")
        assert.lengthOf(sent, 1, "the first one is in a block already, and is not asked for again")
        await told
      })
      yield* until("the receiver has the money", heldBy(to), (held) => held === 700_000_000n)
    }).pipe(Effect.scoped))

  it.effect("stays as it is, in words, where a wallet does not pay, whoever it says it is", () =>
    Effect.gen(function*() {
      const { signIn } = yield* DashboardTown
      const owner = yield* signIn()
      const admin = yield* signIn("admin@shop.example")
      const { batch, to } = yield* approvedBatch(owner.page, admin.page, 800)
      for (
        const [kind, says] of [
          ["declines", "You declined in"],
          ["has-it", "has this already"],
          ["other", "This batch is paid from"],
          ["stuck", "can not use this network"],
          ["old-breaks", "Nothing is known to be sent"]
        ] as const
      ) {
        const { page } = yield* signIn()
        yield* giveWallet(page, kind)
        yield* Effect.promise(async () => {
          await page.goto(batch)
          await page.getByRole("button", { name: "MetaMask" }).click()
          await page.locator("#sign-note").getByText(says).waitFor()
          await page.reload()
          assert.strictEqual(await page.locator(".head .chip").first().textContent(), "Given out", kind)
        })
      }
      assert.strictEqual(yield* heldBy(to), 0n)
      const { page: admins } = admin
      yield* Effect.promise(async () => {
        await admins.goto(batch)
        await admins.getByText("Sent from another wallet?").click()
        await admins.locator("input[name=tx_hash]").fill(`0x${"ab".repeat(32)}`)
        await admins.getByRole("button", { name: "Look there" }).click()
        await admins.getByText("We look there.").waitFor()
        assert.strictEqual(
          await admins.locator(".head .chip").first().textContent(),
          "Given out",
          "a hint proves nothing"
        )
      })
    }).pipe(Effect.scoped))

  it.effect("can be exported without a script, and is not for those who may not", () =>
    Effect.gen(function*() {
      const { signIn } = yield* DashboardTown
      const owner = yield* signIn()
      const admin = yield* signIn("admin@shop.example")
      const { batch } = yield* approvedBatch(owner.page, admin.page, 900)
      const viewer = yield* joinAs(owner.page, "viewer")
      const { page } = yield* signIn(undefined, { javaScript: false })
      yield* Effect.promise(async () => {
        await page.goto(batch)
        await page.locator("select[name=format]").selectOption("safe")
        await page.getByRole("button", { name: "Show it" }).click()
        assert.include(await page.locator("pre").textContent(), "txBuilderVersion")
        const refused = await viewer.page.goto(batch)
        assert.strictEqual(refused!.status(), 403)
      })
    }).pipe(Effect.scoped))

  it.effect("is approved by signatures of what it says, of a passkey and of a wallet, which anybody can check", () =>
    Effect.gen(function*() {
      const { home, paidInvoice, service, shop, signIn, wallet } = yield* DashboardTown
      const { merchant_id: merchant } = yield* service.keys
      yield* linkWallet(service, merchant, "base", wallet)
      const owner = yield* signIn()
      const admin = yield* signIn("admin@shop.example")
      yield* givePasskey(admin)
      yield* giveWallet(owner.page, "together")
      const invoice = yield* paidInvoice(1_000)
      const refund = yield* Effect.promise(async () => {
        const path = await refundTo(owner.page, home, invoice, `0x${"e1".repeat(20)}`)
        const url = new URL(path, home).href
        await owner.page.goto(url)
        assert.include(await owner.page.locator("#approval-text").textContent(), "Pays: 1000.000000 USDC")
        await owner.page.getByRole("button", { name: /Approve with .*MetaMask/ }).click()
        await owner.page.getByText("Approved. Another person must approve it too.").waitFor()
        await admin.page.goto(url)
        // What says something else than the page is shown, and not signed.
        await admin.page.bringToFront()
        // In one step: the page follows what happens, and would draw the text anew.
        await admin.page.getByRole("button", { name: "Approve", exact: true }).evaluate((button) => {
          button.ownerDocument.querySelector("#approval-text")!.textContent = "Pays: 1 USDC"
          button.click()
        })
        await admin.page.getByText("This has changed since you opened the page.").waitFor()
        assert.include(await admin.page.locator("#approval-text").textContent(), "Pays: 1000.000000 USDC")
        await admin.page.getByRole("button", { name: "Approve", exact: true }).click()
        await admin.page.getByText("Approved.", { exact: true }).waitFor()
        return path.split("/").at(-1)!
      })
      const read = yield* service.call(`/api/v1/refunds/${refund}/approvals`, { headers: { "x-api-key": shop.key } })
      const { data } = JSON.parse(read.text).data
      const check = yield* approvalScript
      for (const approval of data) assert.isTrue(yield* Effect.promise(() => check(approval)), approval.text)
      assert.sameMembers(data.map(({ signature }: any) => signature.type), ["passkey", "wallet"])
      assert.deepStrictEqual(foreignRequests(admin, home), [])
      assert.deepStrictEqual(admin.complaints, [])
    }).pipe(Effect.scoped))
})
