/**
 * Goal: a person adds a passkey, signs in by it, and gets back in by a recovery code when it is lost.
 * Method: Chromium with a virtual authenticator of the DevTools protocol, the service as it is started, its `login`
 * command.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Hex } from "viem"
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts"
import { linkWallet } from "../support/Merchants.ts"
import { loginLink } from "../journeys/LoginLink.ts"
import { migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import { foreignRequests, openContext, openPage } from "./Page.ts"
import { axeViolations, overflow, smallTargets } from "./PageChecks.ts"

declare const navigator: any
declare const window: any

/** A wallet of the browser with one account, which signs by `window.sign`; `kind` "declines" does not. */
const announceWallet = ({ address, kind }: Record<string, string>) => {
  const answers: Record<string, (params: any) => unknown> = {
    eth_requestAccounts: () => [address],
    eth_chainId: () => "0x2105",
    personal_sign: ([text]) => {
      if (kind === "declines") throw Object.assign(new Error("no"), { code: 4001 })
      return window.sign(text)
    }
  }
  const provider = { request: async ({ method, params }: any) => answers[method]!(params) }
  const detail = Object.freeze({ info: { uuid: "1", name: "MetaMask", rdns: "io.metamask", icon: "" }, provider })
  window.addEventListener(
    "eip6963:requestProvider",
    () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }))
  )
}

/** Wallets that would be more than a name and a picture. */
const announceHostileWallets = () => {
  const provider = { request: async () => null }
  const announce = (name: unknown, rdns: unknown, icon: unknown) =>
    window.dispatchEvent(
      new CustomEvent("eip6963:announceProvider", { detail: { info: { uuid: "1", name, rdns, icon }, provider } })
    )
  const picture = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script></svg>"
  window.addEventListener("eip6963:requestProvider", () => {
    announce("<img src=x onerror=alert(1)>" + "x".repeat(9_000), "one.example", "https://evil.example/track.png")
    announce("{wallet} $& \u202egnp.exe", "two.example", `data:image/svg+xml,${encodeURIComponent(picture)}`)
    announce("<script>alert(1)</script>", "three.example", "data:text/html,<script>alert(1)</script>")
    announce({ toString: () => "object" }, "four.example", "")
    announce(null, "five.example", "javascript:alert(1)")
    window.announceLate = () => announce("late", "six.example", { toString: () => "javascript:alert(1)" })
  })
}

class Dashboard extends Context.Service<Dashboard, {
  readonly url: string
  /** A link for the first owner. */
  readonly link: Effect.Effect<string>
  /** A wallet that signs in for the first owner. */
  readonly account: PrivateKeyAccount
}>()("test/browser/Dashboard") {
  static readonly layer = Layer.effect(
    Dashboard,
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const ports = { http: yield* freePort, rpc: yield* freePort }
      // Browsers know passkeys for a name only.
      const url = `http://localhost:${ports.http}`
      const config = configOf({
        database: (yield* migratedDatabase).url,
        chains: [{ use: "simulated" }],
        http: { publicUrl: url }
      })
      const service = yield* startService({ directory, config, ports })
      const { merchant_id: merchant } = yield* service.keys
      const account = privateKeyToAccount(generatePrivateKey())
      yield* linkWallet(service, merchant, "base", account.address)
      return { url: `${url}/dashboard`, link: loginLink({ service, merchant }), account }
    })
  )
}

layer(Dashboard.layer, { excludeTestServices: true })("a person's account", (it) => {
  it.effect("gets a passkey, by which its person signs in", () =>
    Effect.gen(function*() {
      const { link, url } = yield* Dashboard
      const { complaints, context, page } = yield* openPage(yield* openContext())
      const first = yield* link
      yield* Effect.promise(async () => {
        const devTools = await context.newCDPSession(page)
        await devTools.send("WebAuthn.enable")
        await devTools.send("WebAuthn.addVirtualAuthenticator", {
          options: {
            protocol: "ctap2",
            transport: "internal",
            hasResidentKey: true,
            hasUserVerification: true,
            isUserVerified: true,
            automaticPresenceSimulation: true
          }
        })
        await page.goto(first)
        await page.getByRole("button", { name: "Continue" }).click()
        await page.getByRole("link", { name: "Your account" }).click()
        await page.getByLabel("Name of the new passkey").fill("Laptop")
        // A browser makes no passkey for a page that is behind another file's.
        await page.bringToFront()
        await page.getByRole("button", { name: "Add a passkey" }).click()
        const outcome = page.locator("[role=alert], #passkey-fault:not(:empty), .note[role=status]").first()
        assert.include(await outcome.textContent(), "The passkey is added.")
        assert.strictEqual(await page.getByRole("row", { name: /Laptop/ }).count(), 1)

        await page.getByRole("button", { name: "Sign out", exact: true }).first().click()
        await page.goto(url)
        await page.getByRole("button", { name: "Sign in with a passkey" }).click()
        await page.getByRole("link", { name: "Your account" }).click()
        await page.getByRole("row", { name: /Passkey Here/ }).waitFor()

        await page.getByRole("row", { name: /Laptop/ }).getByRole("button", { name: "Remove" }).click()
        // What it opened ends with it: this session too.
        await page.getByRole("heading", { name: "Sign in" }).waitFor()
        await page.getByRole("button", { name: "Sign in with a passkey" }).click()
        await page.getByText("This passkey is unknown here, or was removed").waitFor()
      })
      // Chromium notes what a sign-out clears, and that the removed passkey was refused.
      assert.deepStrictEqual(complaints.filter((one) => !/^info: Clear-Site-Data|status of 401/.test(one)), [])
    }).pipe(Effect.scoped))

  it.effect("is read by everybody, on a small dark screen as on a large light one", () =>
    Effect.gen(function*() {
      const { link } = yield* Dashboard
      for (const visitor of [{ theme: "light", width: 1280 }, { theme: "dark", width: 390 }] as const) {
        const { page } = yield* openPage(yield* openContext({ ...visitor, bypassCSP: true }))
        const address = yield* link
        yield* Effect.promise(async () => {
          await page.goto(address)
          await page.getByRole("button", { name: "Continue" }).click()
          await page.getByRole("link", { name: "Your account" }).click()
          await page.getByRole("button", { name: "Add a passkey" }).waitFor()
          assert.deepStrictEqual(await axeViolations(page), [])
          assert.strictEqual(await overflow(page), 0)
          assert.deepStrictEqual(await smallTargets(page), [])
        })
      }
    }).pipe(Effect.scoped))

  it.effect("is read from right to left where its person chose Arabic, and back again", () =>
    Effect.gen(function*() {
      const { link } = yield* Dashboard
      for (const visitor of [{ theme: "light", width: 1280 }, { theme: "dark", width: 390 }] as const) {
        const { page } = yield* openPage(yield* openContext({ ...visitor, bypassCSP: true }))
        const address = yield* link
        yield* Effect.promise(async () => {
          await page.goto(address)
          await page.getByRole("button", { name: "Continue" }).click()
          await page.getByRole("link", { name: "Your account" }).click()
          await page.getByLabel("Language").selectOption({ label: "العربية" })
          await page.getByLabel("Time zone").selectOption("Asia/Riyadh")
          await page.getByRole("button", { name: "Save", exact: true }).click()
          await page.getByRole("heading", { name: "حسابكم" }).waitFor()
          assert.strictEqual(await page.locator("html").getAttribute("dir"), "rtl")
          for (const path of ["account", "", "payments/new", "limits", "periods"]) {
            await page.goto(page.url().replace(/(devnet)(\/.*)?$/, `$1/${path}`).replace(/\/$/, ""))
            // Of the labels of a chart axe cannot tell the background; they are left to the eye, as in English.
            const found = (await axeViolations(page)).filter((one) => !one.includes("contains an image node"))
            assert.deepStrictEqual(found, [], path)
            assert.strictEqual(await overflow(page), 0, path)
            assert.deepStrictEqual(await smallTargets(page), [], path)
          }
          if (visitor.width > 1_000) {
            const menu = await page.getByRole("navigation").first().boundingBox()
            assert.isAbove(menu!.x, visitor.width / 2, "the menu begins the line")
          }
          await page.goto(page.url().replace(/periods$/, "account"))
          await page.getByLabel("اللغة").selectOption("en")
          await page.getByRole("button", { name: "حفظ", exact: true }).click()
          await page.getByRole("heading", { name: "Your account" }).waitFor()
        })
      }
    }).pipe(Effect.scoped))

  it.effect("is signed in to by a wallet that is linked, and by no other", () =>
    Effect.gen(function*() {
      const { account, url } = yield* Dashboard
      const stranger = privateKeyToAccount(generatePrivateKey())
      const cases = [
        [account, "signs", { heading: "Overview" }],
        [account, "declines", { says: "You declined in" }],
        [stranger, "signs", { heading: "Sign in" }]
      ] as const
      for (const [wallet, kind, expected] of cases) {
        const { complaints, page } = yield* openPage(yield* openContext())
        yield* Effect.promise(async () => {
          await page.exposeFunction("sign", (raw: Hex) => wallet.signMessage({ message: { raw } }))
          await page.addInitScript(announceWallet, { address: wallet.address, kind })
          await page.goto(`${url}/signin`)
          await page.getByRole("button", { name: "MetaMask" }).click()
          if ("says" in expected) await page.locator("#wallet-note").getByText(expected.says).waitFor()
          else if (wallet === account) await page.getByRole("heading", { name: expected.heading }).waitFor()
          else await page.getByRole("alert").waitFor()
          assert.deepStrictEqual(complaints.filter((each) => !each.includes("Failed to load")), [])
        })
      }
    }).pipe(Effect.scoped))

  it.effect("shows names of wallets as text and their pictures only where they are data, whatever they say", () =>
    Effect.gen(function*() {
      const { url } = yield* Dashboard
      const opened = yield* openPage(yield* openContext())
      const { complaints, page } = opened
      yield* Effect.promise(async () => {
        await page.addInitScript(announceHostileWallets)
        await page.goto(`${url}/signin`)
        const buttons = page.locator(".wallets button")
        await buttons.first().waitFor()
        await page.evaluate(() => window.announceLate())
        const shown = await buttons.allTextContents()
        const isolated = (name: string) => `\u2068${name}\u2069`
        const script = "<script>alert(1)</script>"
        assert.deepStrictEqual(shown.map((text: string) => text.replace("Sign in with ", "")), [
          isolated("<img src=x onerror=alert(1)>xxxxx".slice(0, 32)),
          isolated("{wallet} $& gnp.exe"),
          isolated(script),
          isolated("late")
        ])
        assert.strictEqual(await page.locator(".wallets script, .wallets a, .wallets iframe").count(), 0)
        const pictures = await page.locator(".wallets img").evaluateAll((all: Array<any>) => all.map(({ src }) => src))
        assert.lengthOf(pictures, 1)
        assert.match(pictures[0]!, /^data:image\/svg/)
      })
      assert.deepStrictEqual(complaints, [])
      assert.deepStrictEqual(foreignRequests(opened, url), [])
    }).pipe(Effect.scoped))

  it.effect("needs a name for a passkey, and says what the browser says where it makes none", () =>
    Effect.gen(function*() {
      const { link } = yield* Dashboard
      const { context, page } = yield* openPage(yield* openContext())
      const first = yield* link
      yield* Effect.promise(async () => {
        const devTools = await context.newCDPSession(page)
        await devTools.send("WebAuthn.enable")
        await page.goto(first)
        await page.getByRole("button", { name: "Continue" }).click()
        await page.getByRole("link", { name: "Your account" }).click()
        await page.evaluate(() => {
          navigator.credentials.create = () => Promise.reject(new Error("The operation was not allowed"))
        })
        const button = page.getByRole("button", { name: "Add a passkey" })
        await button.click()
        assert.isTrue(await page.getByLabel("Name of the new passkey").evaluate((field: any) => !field.checkValidity()))
        await page.getByLabel("Name of the new passkey").fill("Phone")
        await button.click()
        await page.getByText("The operation was not allowed").waitFor()
        assert.isTrue(await button.isEnabled())
      })
    }).pipe(Effect.scoped))

  it.effect("links a wallet of the browser, by which its person signs in from then on", () =>
    Effect.gen(function*() {
      const { link, url } = yield* Dashboard
      const account = privateKeyToAccount(generatePrivateKey())
      const { complaints, context, page } = yield* openPage(yield* openContext())
      const first = yield* link
      yield* Effect.promise(async () => {
        await context.exposeFunction("sign", (raw: Hex) => account.signMessage({ message: { raw } }))
        await context.addInitScript(announceWallet, { address: account.address, kind: "signs" })
        await page.goto(first)
        await page.getByRole("button", { name: "Continue" }).click()
        await page.getByRole("link", { name: "Your account" }).click()
        await page.getByRole("button", { name: /Link .*MetaMask/ }).click()
        await page.getByText("The wallet is linked.").waitFor()
        await page.getByRole("row", { name: account.address }).waitFor()
        await page.getByRole("button", { name: "Sign out", exact: true }).first().click()
        await page.goto(url)
        await page.getByRole("button", { name: /Sign in with .*MetaMask/ }).click()
        await page.getByRole("link", { name: "Your account" }).click()
        await page.getByRole("row", { name: /Wallet Here/ }).waitFor()
      })
      assert.deepStrictEqual(complaints.filter((one) => !one.startsWith("info: Clear-Site-Data")), [])
    }).pipe(Effect.scoped))

  it.effect("signs out everywhere, and gets back in by a recovery code, which is shown once", () =>
    Effect.gen(function*() {
      const { link, url } = yield* Dashboard
      const ownerLink = yield* link
      const { page: owner } = yield* openPage(yield* openContext())
      const { page } = yield* openPage(yield* openContext())
      const { page: elsewhere } = yield* openPage(yield* openContext())
      yield* Effect.promise(async () => {
        await owner.goto(ownerLink)
        await owner.getByRole("button", { name: "Continue" }).click()
        await owner.getByRole("link", { name: "Your account" }).click()
        await owner.getByRole("button", { name: "Make new codes" }).click()
        await owner.getByRole("alert").getByText("e-mail").waitFor()

        await owner.getByRole("link", { name: "Team" }).click()
        await owner.getByLabel("E-mail").fill("ines@shop.example")
        await owner.getByRole("button", { name: "Invite" }).click()
        const invitation = await owner.getByText("/dashboard/invitation#t=").textContent()
        await page.goto(invitation!)
        await page.getByLabel("Name").fill("Ines Roth")
        await page.getByRole("button", { name: "Join" }).click()
        await page.getByRole("link", { name: "Your account" }).click()
        await page.getByRole("button", { name: "Make new codes" }).click()
        await page.getByText("shown this once").waitFor()
        const codes = await page.locator("main li").allTextContents()
        assert.strictEqual(new Set(codes).size, 10)
        await page.getByRole("link", { name: "I have stored it" }).click()
        assert.notInclude(await page.content(), codes[0]!)

        await elsewhere.goto(`${url}/signin`)
        await elsewhere.getByText("Lost your passkey?").click()
        await elsewhere.getByLabel("E-mail").fill("ines@shop.example")
        await elsewhere.getByLabel("Recovery code").fill(codes[0]!)
        await elsewhere.getByRole("button", { name: "Use a recovery code" }).click()
        await elsewhere.getByRole("link", { name: "Your account" }).click()
        await elsewhere.getByRole("row", { name: /Recovery code Here/ }).waitFor()
        await page.reload()
        await page.getByRole("heading", { name: "Sign in" }).waitFor()

        await elsewhere.getByRole("button", { name: "Sign out everywhere" }).click()
        await elsewhere.getByRole("heading", { name: "Sign in" }).waitFor()
      })
    }).pipe(Effect.scoped))
})
