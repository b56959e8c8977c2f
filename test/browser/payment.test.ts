/**
 * Goal: anyone pays the right amount to the right address, and sees it arrive: with a keyboard alone, without
 * JavaScript, without cookies, through restarts; and what merchants and payors write is never more than text. Method: a
 * real browser, the real service, and a token transfer on a real EVM node.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import type { Page } from "playwright-core"
import { until } from "../support/Service.ts"
import { readQr } from "./PageChecks.ts"
import { foreignRequests, openContext, openPage, proceedWith, visit } from "./Page.ts"
import { reachScreen } from "./Screens.ts"
import { type PayableInvoice, PaymentPageService } from "./PaymentPageService.ts"

declare const document: any
declare const window: any
declare const MutationObserver: any

const screenOf = (page: Page) => page.getAttribute("[data-screen]", "data-screen")

/** Waits until the page shows `screen`. */
const shows = (page: Page, screen: string) => page.locator(`[data-screen=${screen}]`).waitFor()

/** Presses Tab until the focus is on what `selector` names; fails after more than any page has. */
const tabTo = async (page: Page, selector: string) => {
  for (let pressed = 0; pressed < 60; pressed++) {
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return
    await page.keyboard.press("Tab")
  }
  assert.fail(`no Tab leads to ${selector}`)
}

/** What the payor's API says to the same session. */
const addressOf = (bill: PayableInvoice, symbol = "USDC") =>
  Effect.flatMap(PaymentPageService, ({ choose }) => choose(bill, symbol))

/** A door before the service that lets no cookie through, as an in-app browser without storage. */
const withoutCookies = (service: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly stop: () => void }>((resume) => {
      const server = createServer((asked, answer) => {
        const { cookie: _, ...headers } = asked.headers
        asked.pipe(
          request(service + asked.url, {
            method: asked.method ?? "GET",
            headers: { ...headers, host: new URL(service).host }
          }, (got) => {
            const { "set-cookie": _, location, ...rest } = got.headers
            const own = `http://${asked.headers.host}`
            answer.writeHead(
              got.statusCode ?? 0,
              location === undefined ? rest : { ...rest, location: location.replace(service, own) }
            )
            got.pipe(answer)
          })
        )
      })
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({
          url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          stop: () => {
            server.close()
            server.closeAllConnections()
          }
        })))
    }),
    ({ stop }) => Effect.sync(stop)
  )

layer(PaymentPageService.layer, { excludeTestServices: true })("paying on the page", (it) => {
  it.effect("takes a keyboard alone: a tile, a network, Enter, and the new screen is spoken", () =>
    Effect.gen(function*() {
      const { payableInvoice, pay } = yield* PaymentPageService
      const made = yield* payableInvoice()
      const opened = yield* visit(made.url)
      const { page } = opened
      yield* Effect.promise(async () => {
        const before = await page.title()
        await tabTo(page, "[data-find^='eth ']")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "2. Network for ETH" }).waitFor()
        assert.isTrue(await page.evaluate(() => document.activeElement.matches("[data-find^='eth '][aria-current]")))
        await page.locator("[data-find^='usdc ']").focus()
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "2. Network for USDC" }).waitFor()
        await tabTo(page, "[type=radio]")
        await page.keyboard.press("ArrowDown")
        assert.isTrue(await page.getByRole("button", { name: "Continue with USDC on Arbitrum" }).isVisible())
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("Enter")
        await shows(page, "waiting")
        assert.strictEqual(await page.evaluate(() => document.activeElement.tagName), "H1")
        assert.notStrictEqual(await page.title(), before)
      })
      const { payment_uri, temp_address } = yield* addressOf(made)
      assert.strictEqual(yield* Effect.promise(() => readQr(page)), payment_uri)
      yield* pay(temp_address, 25_000_000n)
      yield* Effect.promise(async () => {
        await shows(page, "paid")
        await page.locator("#live:not(:empty)").waitFor({ state: "attached" })
        assert.include(await page.innerText("#live"), "Payment complete")
        assert.notStrictEqual(await page.evaluate(() => document.activeElement.tagName), "H1")
        assert.include(await page.title(), "Payment complete")
      })
      assert.deepStrictEqual(opened.complaints, [])
      assert.deepStrictEqual(foreignRequests(opened, made.url), [])
    }).pipe(Effect.scoped))

  for (const theme of ["light", "dark"] as const) {
    it.effect(`112: shows the address, the amount and the QR code that the API tells the same session (${theme})`, () =>
      Effect.gen(function*() {
        const made = yield* reachScreen.waiting
        const { estimated_token_amount, payment_uri, temp_address } = yield* addressOf(made)
        const { page } = yield* visit(made.url, { theme, mobile: true, width: 390 })
        yield* Effect.promise(async () => {
          assert.strictEqual(await readQr(page), payment_uri)
          const links = await page.locator("#state a[href]").evaluateAll((all) =>
            all.map((one: any) => one.getAttribute("href"))
          )
          assert.include(links, payment_uri)
          const copied = await page.locator("[data-copy]").evaluateAll((all) => all.map((one: any) => one.dataset.copy))
          assert.include(copied, temp_address)
          assert.isTrue(copied.some((each) => Number(each) === Number(estimated_token_amount)), copied.join())
          await page.goto(`${page.url()}?tab=address`)
          assert.strictEqual(await readQr(page), temp_address)
        })
      }).pipe(Effect.scoped))
  }

  it.effect("asks only for what remains after a part was paid", () =>
    Effect.gen(function*() {
      const made = yield* reachScreen.partial
      const { payment_uri } = yield* addressOf(made)
      assert.match(payment_uri, /uint256=15000000$/)
      const { page } = yield* visit(made.url, { mobile: true, width: 390 })
      yield* Effect.promise(async () => {
        assert.strictEqual(await screenOf(page), "partial")
        assert.strictEqual(await readQr(page), payment_uri)
        assert.isAbove(await page.locator(`#state a[href=${JSON.stringify(payment_uri)}]`).count(), 0)
      })
    }).pipe(Effect.scoped))

  it.effect("changes as soon as the service knows, without a reload", () =>
    Effect.gen(function*() {
      const { payableInvoice, details, pay } = yield* PaymentPageService
      const made = yield* payableInvoice()
      const { temp_address } = yield* addressOf(made)
      const opened = yield* visit(made.url)
      const { page } = opened
      yield* Effect.promise(async () => {
        await page.waitForLoadState("networkidle")
        await page.evaluate(() => {
          const state = document.getElementById("state")
          new MutationObserver(() => {
            const { screen } = document.querySelector("[data-screen]").dataset
            if (screen === "paid") window.paidAt ??= performance.timeOrigin + performance.now()
          }).observe(state, { childList: true, subtree: true, attributes: true })
        })
      })
      yield* pay(temp_address, 25_000_000n)
      yield* details(made, ({ invoice_status }) => invoice_status === "paid")
      const known = performance.timeOrigin + performance.now()
      yield* Effect.promise(async () => {
        await shows(page, "paid")
        const changed: number = await page.evaluate(() => window.paidAt)
        console.log(`from the service's answer to the changed screen: ${Math.round(changed - known)} ms`)
      })
      assert.strictEqual(opened.requests.filter((url) => new URL(url).pathname === `/pay/${made.id}`).length, 3)
    }).pipe(Effect.scoped))

  it.effect("goes on by itself after the service was restarted", () =>
    Effect.gen(function*() {
      const { pay, restart } = yield* PaymentPageService
      const made = yield* reachScreen.waiting
      const { temp_address } = yield* addressOf(made)
      const { page, requests } = yield* visit(made.url)
      yield* Effect.promise(() => page.waitForLoadState("networkidle"))
      const sockets = () => requests.filter((url) => url.startsWith("ws")).length
      const before = sockets()
      assert.isAbove(before, 0)
      yield* restart
      yield* until("a new socket is opened", Effect.sync(sockets), (now) => now > before)
      yield* pay(temp_address, 25_000_000n)
      yield* Effect.promise(() => shows(page, "paid"))
    }).pipe(Effect.scoped))

  it.effect("says that it is offline, and that it is not any more", () =>
    Effect.gen(function*() {
      const made = yield* reachScreen.waiting
      const { context, page } = yield* visit(made.url)
      yield* Effect.promise(async () => {
        await page.waitForLoadState("networkidle")
        await context.setOffline(true)
        await page.locator("#offline").waitFor({ state: "visible" })
        assert.strictEqual(await screenOf(page), "waiting")
        await context.setOffline(false)
        await page.locator("#offline").waitFor({ state: "hidden" })
      })
    }).pipe(Effect.scoped))

  it.effect("works without JavaScript: plain forms, and a button that looks again", () =>
    Effect.gen(function*() {
      const { payableInvoice, pay } = yield* PaymentPageService
      const made = yield* payableInvoice()
      const { complaints, page } = yield* visit(made.url, { javaScript: false })
      yield* Effect.promise(async () => {
        await proceedWith(page, "USDC", "Base")
        await shows(page, "waiting")
      })
      const { payment_uri, temp_address } = yield* addressOf(made)
      assert.strictEqual(yield* Effect.promise(() => readQr(page)), payment_uri)
      yield* pay(temp_address, 25_000_000n)
      yield* until(
        "the payment is shown",
        Effect.promise(async () => {
          await page.getByRole("button", { name: "Check payment" }).click()
          return screenOf(page)
        }),
        (screen) => screen === "paid"
      )
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped))

  for (const javaScript of [true, false]) {
    it.effect(`works where cookies do not come back, ${javaScript ? "live" : "and without JavaScript"}`, () =>
      Effect.gen(function*() {
        const { payableInvoice, pay, service } = yield* PaymentPageService
        const made = yield* payableInvoice()
        const { url } = yield* withoutCookies(service().url)
        const { context, page } = yield* visit(made.url.replace(service().url, url), { javaScript })
        yield* Effect.promise(async () => {
          assert.include(page.url(), "session_token=")
          await proceedWith(page, "USDC", "Base")
          await shows(page, "waiting")
          assert.deepStrictEqual(await context.cookies(), [])
        })
        const { payment_uri, temp_address } = yield* addressOf(made)
        assert.strictEqual(yield* Effect.promise(() => readQr(page)), payment_uri)
        yield* pay(temp_address, 25_000_000n)
        if (javaScript) yield* Effect.promise(() => shows(page, "paid"))
        else {
          yield* until(
            "the payment is shown",
            Effect.promise(async () => {
              await page.getByRole("button", { name: "Check payment" }).click()
              return screenOf(page)
            }),
            (screen) => screen === "paid"
          )
        }
      }).pipe(Effect.scoped))
  }

  it.effect("hands its session over to a cookie: no token stays in the address or in the history", () =>
    Effect.gen(function*() {
      const { payableInvoice, service } = yield* PaymentPageService
      const made = yield* payableInvoice()
      const { context, page } = yield* visit(made.url)
      yield* Effect.promise(async () => {
        assert.strictEqual(page.url(), `${service().url}/pay/${made.id}`)
        assert.strictEqual(await page.evaluate(() => `${window.history.length} ${document.referrer}`), "2 ")
        const [cookie] = (await context.cookies()).filter(({ name }) => name === "till_pay")
        assert.include(cookie, { httpOnly: true, sameSite: "Lax", path: `/pay/${made.id}` })
        assert.notInclude(await page.evaluate(() => document.cookie), "till_pay")
      })
    }).pipe(Effect.scoped))

  it.effect("107: is shown in the frame of an origin the merchant allows, and of no other", () =>
    Effect.gen(function*() {
      const { payableInvoice, merchant } = yield* PaymentPageService
      const made = yield* payableInvoice(
        {},
        yield* merchant({ branding: { frame_ancestors: ["https://shop.example"] } })
      )
      const framed = (origin: string) =>
        Effect.gen(function*() {
          const { complaints, context, page } = yield* openPage(yield* openContext())
          yield* Effect.promise(async () => {
            // Only that the service is on this machine would make the browser ask.
            await context.grantPermissions(["local-network-access"], { origin })
            await page.route(`${origin}/`, (route) =>
              route.fulfill({
                contentType: "text/html",
                body: `<iframe title=pay width=600 height=900 src="${made.url.replaceAll("&", "&amp;")}"></iframe>`
              }))
            await page.goto(`${origin}/`)
          })
          return { complaints, page, frame: page.frameLocator("iframe") }
        })
      const allowed = yield* framed("https://shop.example")
      yield* Effect.promise(async () => {
        await proceedWith(allowed.frame, "USDC", "Base")
        await allowed.frame.locator("[data-screen=waiting]").waitFor()
      })
      const refused = yield* framed("https://evil.example")
      yield* until(
        "the browser refuses",
        Effect.sync(() => refused.complaints.join()),
        (said) => said.includes("frame-ancestors")
      )
      assert.strictEqual(yield* Effect.promise(() => refused.frame.locator("[data-screen]").count()), 0)
    }).pipe(Effect.scoped))

  it.effect("64: shows what merchants and payors wrote as text, whatever it looks like", () =>
    Effect.gen(function*() {
      const { payableInvoice, merchant } = yield* PaymentPageService
      const attacks = [
        "<script>window.hacked=1</script>",
        "\"><img src=x onerror=window.hacked=1>",
        "'><svg/onload=window.hacked=1>",
        "</title></style></textarea><script>window.hacked=1</script>",
        "javascript:window.hacked=1//",
        "{{window.hacked=1}}${window.hacked=1}",
        "&lt;b&gt; &amp; <b>bold</b>"
      ]
      const all = attacks.join(" ")
      for (const attack of [attacks.slice(0, 4).join(" "), attacks.slice(4).join(" ")]) {
        const key = yield* merchant({ branding: { name: attack } }, { name: attack })
        const made = yield* payableInvoice({
          invoice_title: attack,
          description: attack,
          invoice_footer: attack,
          customer_id: attack,
          metadata: { [attack.slice(0, 40)]: attack },
          payment_return_url: new URL(`https://shop.example/done?x=${encodeURIComponent(attack)}`).href
        }, key)
        const opened = yield* visit(made.url)
        yield* Effect.promise(async () => {
          const text = await opened.page.innerText("body")
          assert.isAtLeast(text.split(attack).length - 1, 2, text)
          for (const name of ["lang", "tab", "change", "q"]) {
            await opened.page.goto(`${opened.page.url().split("?")[0]}?${name}=${encodeURIComponent(all)}`)
          }
          const { status } = await opened.page.evaluate(async ([path, value]) => {
            const body = new URLSearchParams({
              action: value!,
              token: value!,
              lang: value!,
              network: value!,
              address: value!,
              what: value!
            })
            const answer = await fetch(path!, { method: "POST", body })
            return { status: answer.status, text: await answer.text() }
          }, [`/pay/${made.id}`, all])
          assert.isBelow(status, 500)
          await opened.page.goto(opened.page.url().split("?")[0]!)
          assert.strictEqual(await opened.page.evaluate(() => window.hacked), undefined)
          assert.strictEqual(await opened.page.locator("img[src=x], svg[onload]").count(), 0)
        })
        assert.deepStrictEqual(opened.complaints.filter((each) => !each.includes("status of 4")), [])
      }
    }).pipe(Effect.scoped))
})
