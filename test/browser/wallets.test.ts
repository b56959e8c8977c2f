/**
 * Goal: whatever a wallet of the browser says or does, the payor is told the truth, is asked to sign what the page
 * names and nothing else, and the page never says "paid" by itself.
 * Method: the page as it is sent, under its policy with Trusted Types, and wallets that behave each in their own way.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { buildIsland } from "../../modules/checkout/build.ts"
import { accentCss, css, page as draw } from "../../modules/checkout/pages.ts"
import { languages } from "../../modules/checkout/pages/Languages.ts"
import { pageHeaders, styleHash } from "../../modules/checkout/pages/PageRequest.ts"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import { walletRequestOf } from "../../modules/checkout/rules/WalletRequest.ts"
import { linkOf, receiver, views } from "../fixtures/paymentViews.ts"
import { openContext, openPage, type Visitor } from "./Page.ts"

declare const window: any
declare const document: any

const origin = "https://pay.example"
const account = "0x71c7656ec7ab88b098defb751b7401b5f6d8976f"
const hash = `0x${"ab".repeat(32)}`
const asked = walletRequestOf(linkOf("25000000"), "base", "devnet")!
const script = buildIsland()
const view = { ...views.waiting, socketUrl: null }
const markup = draw(view, en, { script: "/assets/pay.js", style: { css }, languages })
const headers = pageHeaders({
  publicUrl: origin,
  styles: [styleHash(css), styleHash(accentCss(view.details.branding.accent))],
  frameAncestors: []
})

/** Makes a wallet that behaves so announce itself whenever it is asked to. */
const announceWallet = ({ account, chainId, hash, kind }: Record<string, string>) => {
  window.calls = []
  const isElsewhere = ["other-chain", "unknown-chain", "switch-lies", "cannot-add"].includes(kind!)
  let chain = isElsewhere ? "0x1" : chainId
  let isAdded = false
  const answers: Record<string, (params: any) => unknown> = {
    eth_requestAccounts: () => {
      if (kind === "no-account") return []
      if (kind === "refused") fail(4001)
      if (kind === "locked") fail(4100)
      if (kind === "pending") fail(-32002)
      return kind === "silent" ? new Promise(() => undefined) : [account]
    },
    eth_chainId: () => kind === "number-chain" ? Number(chain) : chain,
    wallet_switchEthereumChain: ([to]) => {
      if ((kind === "unknown-chain" && !isAdded) || kind === "cannot-add") fail(4902)
      if (kind !== "switch-lies") chain = to.chainId
      return null
    },
    wallet_addEthereumChain: () => {
      if (kind === "cannot-add") fail(4200)
      isAdded = true
      return null
    },
    eth_call: () => {
      if (kind === "no-read") fail(-32601)
      return `0x${(kind === "poor" ? 1n : 10n ** 9n).toString(16).padStart(64, "0")}`
    },
    eth_sendTransaction: () => {
      if (kind === "declined") fail(4001)
      if (kind === "gas") fail(-32000, "insufficient funds for gas * price + value")
      if (kind === "broken") fail(-32603, "something")
      return kind === "odd-hash" ? "javascript:alert(1)" : hash
    }
  }
  const fail = (code: number, message = "") => {
    throw Object.assign(new Error(message), { code })
  }
  const provider = {
    request: async ({ method, params }: { method: string; params?: unknown }) => {
      window.calls.push({ method, params })
      return (answers[method] ?? (() => fail(4200)))(params)
    }
  }
  const announce = (name: unknown, rdns: string, icon: string) => {
    const detail = Object.freeze({ info: { uuid: rdns, name, rdns, icon }, provider })
    window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }))
  }
  window.addEventListener("eip6963:requestProvider", () => {
    announce("MetaMask", "io.metamask", "data:image/png;base64,iVBORw0KGgo=")
    announce("MetaMask", "io.metamask", "data:image/png;base64,iVBORw0KGgo=")
    if (kind !== "many") return
    announce(`<img src=x onerror=alert(1)>${"x".repeat(80)}`, "evil.wallet", "https://evil.example/track.png")
    announce({}, "no.name", "")
    window.dispatchEvent(new CustomEvent("eip6963:announceProvider"))
    for (let index = 0; index < 9; index++) announce(`W${index}`, `w${index}.example`, "")
  })
}

/** The page with a wallet that behaves in its way; none where `kind` is null. */
const opened = (kind: string | null, visitor: Visitor = {}) =>
  Effect.gen(function*() {
    const seen = yield* openPage(yield* openContext(visitor))
    const { page } = seen
    const posts: Array<string> = []
    yield* Effect.promise(async () => {
      if (kind !== null) await page.addInitScript(announceWallet, { account, chainId: asked.chainId, hash, kind })
      await page.route(`${origin}/**`, (route) => {
        const request = route.request()
        const { pathname } = new URL(request.url())
        if (request.method() === "POST") {
          posts.push(request.postData() ?? "")
          return route.fulfill({ status: 303, headers: { location: "/pay/1" } })
        }
        if (pathname === "/assets/pay.js") return route.fulfill({ contentType: "text/javascript", body: script })
        return pathname.endsWith("/state")
          ? route.fulfill({ status: 304, headers: { date: new Date().toUTCString() } })
          : route.fulfill({ contentType: "text/html; charset=utf-8", headers, body: markup })
      })
      await page.goto(`${origin}/pay/1`)
    })
    const calls = () => page.evaluate(() => window.calls as Array<{ method: string; params: any }>)
    return { ...seen, posts, calls, press: () => page.locator(".wallets button").first().click() }
  })

const words = {
  sent: en.walletSent("MetaMask"),
  declined: en.walletDeclined("MetaMask"),
  locked: en.walletLocked("MetaMask"),
  busy: en.walletBusy("MetaMask"),
  chain: en.walletChain("MetaMask", "Base"),
  funds: en.walletFunds("25.00 USDC", "Base"),
  fee: en.walletFee("ETH", "Base"),
  unknown: en.walletUnknown("MetaMask")
}

const behaviours: ReadonlyArray<readonly [kind: string, says: keyof typeof words, asksForMoney: boolean]> = [
  ["plain", "sent", true],
  ["number-chain", "sent", true],
  ["other-chain", "sent", true],
  ["unknown-chain", "sent", true],
  ["no-read", "sent", true],
  ["odd-hash", "sent", true],
  ["many", "sent", true],
  ["switch-lies", "chain", false],
  ["cannot-add", "chain", false],
  ["refused", "declined", false],
  ["no-account", "locked", false],
  ["locked", "locked", false],
  ["pending", "busy", false],
  ["poor", "funds", false],
  ["declined", "declined", true],
  ["gas", "fee", true],
  ["broken", "unknown", true]
]

describe("a wallet of the browser", () => {
  for (const [kind, says, asksForMoney] of behaviours) {
    it.live(`that is "${kind}": the page says "${words[says]}"`, () =>
      Effect.gen(function*() {
        const { calls, complaints, page, posts, press, requests } = yield* opened(kind)
        yield* Effect.promise(async () => {
          await page.locator(".wallets button").first().waitFor()
          assert.deepStrictEqual(await calls(), [], "nothing is asked before a press")
          assert.strictEqual(await page.locator(".wallets button").count(), kind === "many" ? 6 : 1)
          await press()
          await page.locator("#asked").getByText(words[says], { exact: true }).waitFor()
          const made = await calls()
          const sent = made.filter(({ method }) => method === "eth_sendTransaction")
          const { data, to, value } = asked
          assert.deepStrictEqual(
            sent.map(({ params }) => params),
            asksForMoney ? [[{ from: account, to, value, data }]] : []
          )
          const known = /^(eth_(requestAccounts|chainId|call|sendTransaction)|wallet_(switch|add)EthereumChain)$/
          for (const { method } of made) assert.match(method, known)
          assert.strictEqual(
            await page.getAttribute("[data-screen]", "data-screen"),
            "waiting",
            "never paid by the page"
          )
        })
        const isHinted = says === "sent" && kind !== "odd-hash"
        assert.deepStrictEqual(posts, isHinted ? [new URLSearchParams({ action: "sent", hash }).toString()] : [])
        assert.deepStrictEqual(requests.filter((url) => !/^(https:\/\/pay\.example\/|data:)/.test(url)), [])
        assert.deepStrictEqual(complaints, [])
      }).pipe(Effect.scoped))
  }

  it.live("that is none leaves no trace, with a script and without", () =>
    Effect.gen(function*() {
      for (const javaScript of [true, false]) {
        const { page } = yield* opened(null, { javaScript })
        assert.isTrue(yield* Effect.promise(() => page.locator(".wallets").isHidden()))
      }
    }).pipe(Effect.scoped))

  it.live("shows its name as text and at most so much of it, and asks no other site for a picture", () =>
    Effect.gen(function*() {
      const { page } = yield* opened("many")
      yield* Effect.promise(async () => {
        const name = await page.locator(".wallets button").nth(1).textContent()
        assert.strictEqual(name, `Pay with ${`<img src=x onerror=alert(1)>${"x".repeat(80)}`.slice(0, 32)}`)
        assert.strictEqual(await page.evaluate(() => document.querySelectorAll(".wallets img").length), 1)
      })
    }).pipe(Effect.scoped))

  it.live("that was asked is named, is asked once at a time, and the last used comes first", () =>
    Effect.gen(function*() {
      const { calls, page, press } = yield* opened("silent")
      yield* Effect.promise(async () => {
        await press()
        const asking = en.walletAsking(
          "MetaMask",
          "25.00 USDC",
          "Base",
          `${receiver.slice(0, 6)}…${receiver.slice(-4)}`
        )
        await page.locator("#asked").getByText(asking, { exact: true }).waitFor()
        await press()
        await page.locator("#asked").getByText(words.busy, { exact: true }).waitFor()
        assert.lengthOf(await calls(), 1)
        assert.strictEqual(await page.evaluate(() => window.localStorage.till_wallet), "io.metamask")
      })
    }).pipe(Effect.scoped))

  it.live("that does not answer in two minutes is told of, and is not asked again: it may still be confirmed", () =>
    Effect.gen(function*() {
      const { calls, page, press } = yield* opened("silent")
      yield* Effect.promise(async () => {
        await page.clock.install()
        await press()
        await page.clock.fastForward(121_000)
        await page.locator("#asked").getByText(en.walletSilent("MetaMask"), { exact: true }).waitFor()
        await press()
        await page.locator("#asked").getByText(words.busy, { exact: true }).waitFor()
        assert.lengthOf(await calls(), 1)
      })
    }).pipe(Effect.scoped))

  it.live("that has sent is not asked again without a question", () =>
    Effect.gen(function*() {
      const { calls, page, press } = yield* opened("plain")
      yield* Effect.promise(async () => {
        const sent = async () => (await calls()).filter(({ method }) => method === "eth_sendTransaction").length
        await press()
        await page.locator("#asked").getByText(words.sent, { exact: true }).waitFor()
        await page.reload()
        await press()
        await page.locator("#asked").getByText(en.walletAgain("25.00 USDC"), { exact: true }).waitFor()
        assert.strictEqual(await sent(), 0, "of the page that was loaded again")
        await press()
        await page.locator("#asked").getByText(words.sent, { exact: true }).waitFor()
        assert.strictEqual(await sent(), 1)
      })
    }).pipe(Effect.scoped))
})
