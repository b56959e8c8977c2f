/**
 * Goal: whatever a wallet of the browser says or does, the payor is told the truth, is asked to sign what the page
 * names and nothing else, and the page never says "paid" by itself.
 * Method: the page as it is sent, under its policy with Trusted Types, and wallets that behave each in their own way.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { buildIsland } from "../../modules/checkout/build.ts"
import { accentCss, css, fragment, page as draw } from "../../modules/checkout/pages.ts"
import { languages } from "../../modules/checkout/pages/Languages.ts"
import { pageHeaders, styleHash } from "../../modules/checkout/pages/PageRequest.ts"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import { walletRequestOf } from "../../modules/checkout/rules/WalletRequest.ts"
import { addressFor, linkOf, receiver, views } from "../fixtures/paymentViews.ts"
import { openContext, openPage, type Visitor } from "./Page.ts"
import { until } from "../support/Service.ts"

declare const window: any
declare const document: any

const origin = "https://pay.example"
const account = "0x71c7656ec7ab88b098defb751b7401b5f6d8976f"
const hash = `0x${"ab".repeat(32)}`
const asked = walletRequestOf(linkOf("25000000"), "base", "devnet")!
const script = buildIsland()
const view = { ...views.waiting, socketUrl: null }
const drawOf = (amount: string) =>
  draw({ ...view, address: addressFor(amount) }, en, { script: "/assets/pay.js", style: { css }, languages })
const markup = drawOf("25.000000")
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
      if (kind === "slow") return new Promise((resolve) => window.answer = () => resolve([account]))
      return kind === "silent" || kind === "two" ? new Promise(() => undefined) : [account]
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
      if (kind === "waits") return new Promise(() => undefined)
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
    const name = kind === "odd-name" ? "$& {amount} \u202e\u2069 $' \u05d0" : "MetaMask"
    announce(name, "io.metamask", "data:image/png;base64,iVBORw0KGgo=")
    announce(name, "io.metamask", "data:image/png;base64,iVBORw0KGgo=")
    if (kind === "two") announce("Rabby", "io.rabby", "")
    window.announceLate = () => announce("Rabby", "io.rabby", "")
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
    const served = { markup, state: "" }
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
        if (served.state !== "" && pathname.endsWith("/state")) {
          return route.fulfill({ contentType: "text/html; charset=utf-8", headers, body: served.state })
        }
        return pathname.endsWith("/state")
          ? route.fulfill({ status: 304, headers: { date: new Date().toUTCString() } })
          : route.fulfill({ contentType: "text/html; charset=utf-8", headers, body: served.markup })
      })
      await page.goto(`${origin}/pay/1`)
    })
    const calls = () => page.evaluate(() => window.calls as Array<{ method: string; params: any }>)
    return { ...seen, served, posts, calls, press: () => page.locator(".wallets button").first().click() }
  })

/** A wallet's name as it stands in a sentence. */
const isolated = (name: string) => `\u2068${name}\u2069`

const metaMask = isolated("MetaMask")

const words = {
  sent: en.walletSent(metaMask),
  declined: en.walletDeclined(metaMask),
  locked: en.walletLocked(metaMask),
  busy: en.walletBusy(metaMask),
  chain: en.walletChain(metaMask, "Base"),
  funds: en.walletFunds("25.00 USDC", "Base"),
  fee: en.walletFee("ETH", "Base"),
  unknown: en.walletUnknown(metaMask)
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
          await page.locator("#wallet-note").getByText(words[says], { exact: true }).waitFor()
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
        if (isHinted) yield* until("the page tells of it", Effect.sync(() => posts.length), (count) => count > 0)
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
        assert.strictEqual(name, `Pay with ${isolated(`<img src=x onerror=alert(1)>${"x".repeat(80)}`.slice(0, 32))}`)
        assert.strictEqual(await page.evaluate(() => document.querySelectorAll(".wallets img").length), 1)
      })
    }).pipe(Effect.scoped))

  it.live("that was asked is named, is asked once at a time, and the last used comes first", () =>
    Effect.gen(function*() {
      const { calls, page, press } = yield* opened("silent")
      yield* Effect.promise(async () => {
        await press()
        const asking = en.walletAsking(
          metaMask,
          "25.00 USDC",
          "Base",
          `${receiver.slice(0, 6)}…${receiver.slice(-4)}`
        )
        await page.locator("#wallet-note").getByText(asking, { exact: true }).waitFor()
        await press()
        await page.locator("#wallet-note").getByText(words.busy, { exact: true }).waitFor()
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
        await page.locator("#wallet-note").getByText(en.walletSilent(metaMask), { exact: true }).waitFor()
        await press()
        await page.locator("#wallet-note").getByText(words.busy, { exact: true }).waitFor()
        assert.lengthOf(await calls(), 1)
      })
    }).pipe(Effect.scoped))

  it.live("that has sent is not asked again without a question", () =>
    Effect.gen(function*() {
      const { calls, page, press } = yield* opened("plain")
      yield* Effect.promise(async () => {
        const sent = async () => (await calls()).filter(({ method }) => method === "eth_sendTransaction").length
        await press()
        await page.locator("#wallet-note").getByText(words.sent, { exact: true }).waitFor()
        await page.reload()
        await press()
        await page.locator("#wallet-note").getByText(en.walletAgain("25.00 USDC", "25.00 USDC"), { exact: true })
          .waitFor()
        assert.strictEqual(await sent(), 0, "of the page that was loaded again")
        await press()
        await page.locator("#wallet-note").getByText(words.sent, { exact: true }).waitFor()
        assert.strictEqual(await sent(), 1)
      })
    }).pipe(Effect.scoped))

  it.live("that has sent is not asked again without a question either where the amount has changed since", () =>
    Effect.gen(function*() {
      const { calls, page, press, served } = yield* opened("plain")
      yield* Effect.promise(async () => {
        await press()
        await page.locator("#wallet-note").getByText(words.sent, { exact: true }).waitFor()
        served.markup = drawOf("24.900000")
        await page.reload()
        await press()
        const again = en.walletAgain("25.00 USDC", "24.90 USDC")
        await page.locator("#wallet-note").getByText(again, { exact: true }).waitFor()
        assert.deepStrictEqual(await calls(), [])
      })
    }).pipe(Effect.scoped))

  it.live("that has sent is told of until the network shows something, and what remains is asked for after a question", () =>
    Effect.gen(function*() {
      const { calls, page, press, served } = yield* opened("plain")
      yield* Effect.promise(async () => {
        await press()
        await page.locator("#wallet-note").getByText(words.sent, { exact: true }).waitFor()
        for (const shown of [{ ...view, address: addressFor("24.900000") }, { ...views.partial, socketUrl: null }]) {
          served.state = `${fragment(shown, en)}`
          await page.evaluate(() => window.dispatchEvent(new Event("focus")))
          await page.getByText(shown.screen === "partial" ? "10.00 USDC" : "24.90 USDC").first().waitFor()
          assert.strictEqual(await page.locator("#wallet-note").isVisible(), shown.screen !== "partial")
        }
        await press()
        const again = en.walletAgain("25.00 USDC", "10.00 USDC")
        await page.locator("#wallet-note").getByText(again, { exact: true }).waitFor()
        assert.lengthOf((await calls()).filter(({ method }) => method === "eth_sendTransaction"), 1)
      })
    }).pipe(Effect.scoped))

  const repeats: ReadonlyArray<readonly [kind: string, asksFirst: boolean]> = [
    ["waits", true],
    ["broken", true],
    ["declined", false],
    ["gas", false]
  ]
  for (const [kind, asksFirst] of repeats) {
    it.live(`that is "${kind}" is ${asksFirst ? "" : "not "}taken for one that may have sent, after a new load`, () =>
      Effect.gen(function*() {
        const { calls, page, press } = yield* opened(kind)
        yield* Effect.promise(async () => {
          const isAskedForMoney = () => window.calls.some(({ method }: any) => method === "eth_sendTransaction")
          await press()
          await page.waitForFunction(isAskedForMoney)
          if (kind !== "waits") {
            await page.locator("#wallet-note").getByText(
              words[kind === "gas" ? "fee" : asksFirst ? "unknown" : "declined"]
            )
              .waitFor()
          }
          await page.reload()
          await press()
          if (asksFirst) {
            await page.locator("#wallet-note").getByText(en.walletAgain("25.00 USDC", "25.00 USDC"), { exact: true })
              .waitFor()
            assert.deepStrictEqual(await calls(), [])
          } else await page.waitForFunction(isAskedForMoney)
        })
      }).pipe(Effect.scoped))
  }

  it.live("is not asked to send where another tab has asked meanwhile", () =>
    Effect.gen(function*() {
      const { calls, page, press } = yield* opened("slow")
      yield* Effect.promise(async () => {
        await press()
        await page.waitForFunction(() => window.answer !== undefined)
        await page.evaluate(() => {
          const transfer = { amount: "24.90 USDC", at: Date.now() }
          window.localStorage.till_sent = JSON.stringify({ [window.location.pathname]: transfer })
          window.answer()
        })
        const again = en.walletAgain("24.90 USDC", "25.00 USDC")
        await page.locator("#wallet-note").getByText(again, { exact: true }).waitFor()
        assert.notInclude((await calls()).map(({ method }) => method), "eth_sendTransaction")
      })
    }).pipe(Effect.scoped))

  it.live("is asked first, and not by a double click, also where the browser keeps nothing", () =>
    Effect.gen(function*() {
      const { calls, page, press } = yield* opened("plain")
      yield* Effect.promise(async () => {
        await page.evaluate(() => {
          const fail = () => {
            throw new Error("no storage")
          }
          Object.defineProperty(window, "localStorage", { get: fail })
        })
        await press()
        await page.locator("#wallet-note").getByText(words.sent, { exact: true }).waitFor()
        await page.locator(".wallets button").first().dblclick()
        const again = en.walletAgain("25.00 USDC", "25.00 USDC")
        await page.locator("#wallet-note").getByText(again, { exact: true }).waitFor()
        assert.lengthOf((await calls()).filter(({ method }) => method === "eth_sendTransaction"), 1)
      })
    }).pipe(Effect.scoped))

  const changes: ReadonlyArray<readonly [what: string, change: () => void]> = [
    ["another amount is asked for", () => {
      document.querySelector(".wallets").dataset.ask += " "
    }],
    ["there is nothing to pay any more", () => {
      document.querySelector(".wallets").remove()
    }]
  ]
  for (const [what, change] of changes) {
    it.live(`is not asked to send where ${what} by the time it answers`, () =>
      Effect.gen(function*() {
        const { calls, page, posts, press } = yield* opened("slow")
        yield* Effect.promise(async () => {
          await press()
          await page.waitForFunction(() => window.answer !== undefined)
          await page.evaluate(change)
          await page.evaluate(() => window.answer())
          await page.locator("#live").getByText(en.walletChanged, { exact: true }).waitFor()
          assert.notInclude((await calls()).map(({ method }) => method), "eth_sendTransaction")
        })
        assert.deepStrictEqual(posts, [])
      }).pipe(Effect.scoped))
  }

  it.live("shows its name as it is, whatever signs are in it, and apart from the sentence", () =>
    Effect.gen(function*() {
      const { page, press } = yield* opened("odd-name")
      const name = isolated("$& {amount}  $' \u05d0")
      yield* Effect.promise(async () => {
        assert.strictEqual(await page.locator(".wallets button").textContent(), en.walletPay(name))
        await press()
        await page.locator("#wallet-note").waitFor()
        await page.waitForFunction(() => window.calls.some(({ method }: any) => method === "eth_sendTransaction"))
        await page.waitForFunction(
          (text) => document.getElementById("wallet-note").textContent === text,
          en.walletSent(name)
        )
      })
    }).pipe(Effect.scoped))

  it.live("that is still asking is named where another one is pressed", () =>
    Effect.gen(function*() {
      const { page, press } = yield* opened("two")
      yield* Effect.promise(async () => {
        await press()
        await page.locator(".wallets button").nth(1).click()
        await page.locator("#wallet-note").getByText(words.busy, { exact: true }).waitFor()
      })
    }).pipe(Effect.scoped))

  it.live("that comes late is added at the end, and leaves the focus and the other wallets where they are", () =>
    Effect.gen(function*() {
      const { page } = yield* opened("plain")
      yield* Effect.promise(async () => {
        await page.evaluate(() => window.localStorage.till_wallet = "io.rabby")
        await page.locator(".wallets button").first().focus()
        await page.evaluate(() => window.announceLate())
        const names = await page.locator(".wallets button").allTextContents()
        assert.deepStrictEqual(names, ["MetaMask", "Rabby"].map((name) => en.walletPay(isolated(name))))
        assert.strictEqual(await page.evaluate(() => document.activeElement.textContent), names[0])
      })
    }).pipe(Effect.scoped))

  it.live("that has sent is told of in green, and one that has not as a warning, each spoken once", () =>
    Effect.gen(function*() {
      for (const [kind, tone] of [["plain", "good"], ["declined", "warn"]] as const) {
        const { page, press } = yield* opened(kind)
        const text = words[kind === "plain" ? "sent" : "declined"]
        yield* Effect.promise(async () => {
          await press()
          await page.locator(`#wallet-note.${tone}`).getByText(text, { exact: true }).waitFor()
          const spoken = page.locator("[role=status],[role=alert],[aria-live]").getByText(text, { exact: true })
          await spoken.waitFor({ state: "attached" })
          assert.strictEqual(await spoken.count(), 1)
        })
      }
    }).pipe(Effect.scoped))
})
