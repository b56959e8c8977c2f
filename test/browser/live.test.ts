/**
 * Goal: the payment page follows the real service: within a third of a second, in every tab, and through its death and
 * its database's silence.
 * Method: money of the simulated chains, a real browser, a kill without a word, and a line that takes and never gives.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { randomUUID } from "node:crypto"
import type { Page } from "playwright-core"
import { migratedDatabase } from "../support/Database.ts"
import { makeDatabaseProxy } from "../support/DatabaseProxy.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { openContext, openPage, ownMillis, proceedWith } from "./Page.ts"

/** Milliseconds from the commit of an event to the screen it makes (payment page, "What must be seen"). */
const promisedMillis = 300

/** Remembers in the page when each screen came, in epoch milliseconds, before anything else runs in it. */
const watching = `
  window.came = {}
  document.addEventListener("DOMContentLoaded", () => {
    const state = document.getElementById("state")
    if (state) new MutationObserver(() => {
      window.came[document.querySelector("[data-screen]").dataset.screen] ??= Date.now()
    }).observe(state, { childList: true })
  })`

declare const document: any

const shows = (page: Page, screen: string) => Effect.promise(() => page.locator(`[data-screen=${screen}]`).waitFor())

/** What the browser itself says of a line that fails. */
const ofTheBrowser = /^error: (?:Failed to load resource|WebSocket connection to)/

/**
 * A deployment: starts its service, again and again; `database` is where it finds its own, unless it is told another.
 */
const deploy = (database: string) =>
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const config = configOf({ database, chains: [{ use: "simulated" }] })
    const owner = yield* Effect.scope
    return Effect.fnUntraced(function*(ports?: Service["ports"]) {
      const scope = yield* Scope.fork(owner)
      const service = yield* startService({ directory, config, ...ports === undefined ? {} : { ports } }).pipe(
        Scope.provide(scope)
      )
      return { service, close: Scope.close(scope, Exit.void) }
    })
  })

const start = Effect.flatMap(migratedDatabase, ({ url }) => deploy(url))

const bill = Effect.fnUntraced(function*(service: Service) {
  const key = (yield* service.keys).merchant_key
  const made = yield* service.call("/api/v1/invoices", {
    headers: { "x-api-key": key, "idempotency-key": randomUUID() },
    body: { amount_usd: 25 }
  })
  assert.strictEqual(made.status, 200, made.text)
  return { key, id: made.json.invoice_id as string, url: made.json.payment_url as string }
})

/** Pays by the simulator; answers the ids of the events, which say when they were committed. */
const pay = Effect.fnUntraced(
  function*(service: Service, { id, key }: { readonly id: string; readonly key: string }, body: object) {
    const found = yield* service.call(`/api/v1/devnet/invoices/${id}/simulate`, { headers: { "x-api-key": key }, body })
    assert.strictEqual(found.status, 200, found.text)
    return found.json.data.event_ids as ReadonlyArray<string>
  }
)

/** A tab at the payment page with a route chosen, once its socket is open. */
const tabAt = Effect.fnUntraced(function*(context: Parameters<typeof openPage>[0], url: string, symbol?: string) {
  const opened = yield* openPage(context)
  const { page } = opened
  yield* Effect.promise(async () => {
    await page.addInitScript(watching)
    await page.goto(url)
    if (await page.locator("[data-screen=choose]").count() === 1) {
      if (symbol === undefined) await page.getByRole("button", { name: "Continue" }).click()
      else await proceedWith(page, symbol, "Base")
    }
    await page.locator("[data-screen=waiting]").waitFor()
    await page.waitForLoadState("networkidle")
  })
  yield* until(
    "the socket is open",
    Effect.sync(() => opened.requests.some((each) => each.startsWith("ws"))),
    (is) => is
  )
  return opened
})

describe("the page of a real invoice", () => {
  it.live("shows a payment within 300 ms of its commit", () =>
    Effect.gen(function*() {
      const { service } = yield* (yield* start)()
      const took: Array<number> = []
      for (let turn = 0; turn < 3; turn++) {
        const made = yield* bill(service)
        const { complaints, page } = yield* tabAt(yield* openContext(), made.url)
        const events = yield* pay(service, made, { action: "pay" })
        yield* shows(page, "paid")
        const came = (yield* Effect.promise(() => page.evaluate("window.came.paid"))) as number
        const after = came - Number(/^evt_(\d+)-/.exec(events.at(-1)!)![1])
        assert.isAbove(after, 0, "the screen cannot come before the commit")
        took.push(after - (yield* ownMillis(page)))
        assert.deepStrictEqual(complaints, [])
      }
      // The middle one of three: a slow page delays each, a machine that stands still for a moment one.
      assert.isAtMost(took.toSorted((a, b) => a - b)[1]!, promisedMillis, took.join())
    }).pipe(Effect.scoped))

  it.live("shows within 300 ms of its socket's being ready what came before, and asks for nothing where nothing came", () =>
    Effect.gen(function*() {
      const { service } = yield* (yield* start)()
      const context = yield* openContext()
      const asked = ({ requests }: { readonly requests: ReadonlyArray<string> }) =>
        requests.filter((each) => new URL(each).pathname.endsWith("/state")).length

      const late = yield* bill(service)
      yield* tabAt(context, late.url)
      const opened = yield* openPage(context)
      let readyAt = 0
      let events: ReadonlyArray<string> = []
      const greeted = new Promise<void>((resolve) =>
        opened.page.on("websocket", (socket) =>
          socket.on("framereceived", ({ payload }) => {
            const { type } = JSON.parse(String(payload))
            if (type !== "ready") return
            readyAt = Date.now()
            resolve()
          }))
      )
      yield* Effect.promise(async () => {
        await opened.page.addInitScript(watching)
        // A slow line: the page is there, and its script, which opens the socket, is on its way.
        let release = () => {}
        const held = new Promise<void>((resolve) => {
          release = resolve
        })
        await opened.page.route("**/assets/*.js", async (route) => {
          await held
          await route.continue()
        })
        await opened.page.goto(late.url, { waitUntil: "commit" })
        await opened.page.locator("[data-screen=waiting]").waitFor()
        events = await Effect.runPromise(pay(service, late, { action: "pay" }))
        release()
        await opened.page.locator("[data-screen=paid]").waitFor()
        await greeted
      })
      const came = (yield* Effect.promise(() => opened.page.evaluate("window.came.paid"))) as number
      assert.isAtMost(came - readyAt - (yield* ownMillis(opened.page)), promisedMillis)
      assert.strictEqual(asked(opened), 1)

      const quiet = yield* bill(service)
      const tab = yield* tabAt(context, quiet.url)
      // An event of the same merchant's other invoice is none of this payor's business.
      const since = yield* Effect.promise(async () => {
        await opened.page.reload()
        return opened.page.locator("[data-screen]").getAttribute("data-since")
      })
      assert.strictEqual(since, events.at(-1))
      yield* Effect.promise(() => tab.page.reload())
      yield* pay(service, quiet, { action: "pay" })
      yield* shows(tab.page, "paid")
      assert.isAtMost(asked(tab), 2)
    }).pipe(Effect.scoped))

  it.live("in two tabs follows the same payment, and goes on where it was when the service is killed and comes back", () =>
    Effect.gen(function*() {
      const run = yield* start
      const first = yield* run()
      const made = yield* bill(first.service)
      const context = yield* openContext()
      const tabs = [yield* tabAt(context, made.url), yield* tabAt(context, made.url)]
      yield* pay(first.service, made, { action: "partial" })
      for (const { page } of tabs) yield* shows(page, "partial")
      yield* first.service.stop("SIGKILL")
      for (const { page } of tabs) yield* Effect.promise(() => page.locator("#offline").waitFor({ state: "visible" }))
      for (const { page } of tabs) yield* shows(page, "partial")
      yield* first.close
      const sockets = () => tabs.map(({ requests }) => requests.filter((each) => each.startsWith("ws")).length)
      const before = sockets()
      const { service } = yield* run(first.service.ports)
      for (const { page } of tabs) yield* Effect.promise(() => page.locator("#offline").waitFor({ state: "hidden" }))
      yield* until("both are back", Effect.sync(sockets), (now) => now.every((count, at) => count > before[at]!))
      yield* pay(service, made, { action: "pay" })
      for (const { complaints, page } of tabs) {
        yield* shows(page, "paid")
        assert.deepStrictEqual(complaints.filter((each) => !ofTheBrowser.test(each)), [])
      }
    }).pipe(Effect.scoped))

  it.live("goes by the merchant's time, which is ahead on devnet, whoever tells the time", () =>
    Effect.gen(function*() {
      const { service } = yield* (yield* start)()
      const made = yield* bill(service)
      const { complaints, page } = yield* tabAt(yield* openContext(), made.url, "ETH")
      const left = Effect.promise(async () => {
        const [minutes = 0, seconds = 0] = (await page.locator(".clock[data-countdown] time").innerText()).split(":")
          .map(Number)
        return minutes * 60 + seconds
      })
      // The price of a coin is held for five minutes, and has a clock in its last 75 seconds only.
      yield* shows(page, "waiting")
      assert.strictEqual(yield* Effect.promise(() => page.locator(".clock[data-countdown] time").count()), 0)
      const advanced = yield* service.call("/api/v1/devnet/clock/advance", {
        headers: { "x-api-key": made.key, "idempotency-key": randomUUID() },
        body: { seconds: 230 }
      })
      assert.strictEqual(advanced.status, 200, advanced.text)
      yield* Effect.promise(async () => {
        const opening = page.waitForEvent("websocket")
        await page.reload()
        const socket = await opening
        await socket.waitForEvent("framereceived", ({ payload }) => String(payload).includes("\"ready\""))
        // Back to the page: the socket is asked for a sign of life, and the state for what is new.
        const beat = socket.waitForEvent("framereceived", ({ payload }) => String(payload).includes("\"heartbeat\""))
        for (const status of [200, 304]) {
          const answer = page.waitForResponse((response) => response.url().includes("/state"))
          await page.evaluate("dispatchEvent(new Event('focus'))")
          assert.strictEqual((await answer).status(), status)
        }
        await beat
        // The clock's next second.
        const shown = await page.locator(".clock[data-countdown] time").innerText()
        await page.waitForFunction(
          (text) => document.querySelector(".clock[data-countdown] time")?.textContent !== text,
          shown
        )
      })
      assert.isAtMost(yield* left, 70)
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped))

  it.live("keeps its screen under a banner while the database does not answer, and then shows what happened meanwhile", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const line = yield* makeDatabaseProxy(database)
      const { service } = yield* (yield* deploy(line.url))()
      // Another instance, whose line holds: what it does meanwhile is news to the first one.
      const { service: beside } = yield* (yield* deploy(database.url))()
      const made = yield* bill(service)
      const context = yield* openContext()
      const open = yield* tabAt(context, made.url)
      const late = yield* openPage(context)
      yield* line.set("held")
      // The payor does nothing with the page, and opens the link once more.
      yield* Effect.promise(() => late.page.goto(made.url))
      yield* Effect.promise(() => open.page.locator("#offline").waitFor({ state: "visible" }))
      yield* shows(open.page, "waiting")
      yield* shows(late.page, "unavailable")
      yield* pay(beside, made, { action: "pay" })
      yield* line.set("through")
      yield* shows(open.page, "paid")
      yield* Effect.promise(() => open.page.locator("#offline").waitFor({ state: "hidden" }))
      yield* Effect.promise(() => late.page.getByRole("link", { name: "Try again" }).click())
      yield* shows(late.page, "paid")
      assert.strictEqual(late.page.url(), made.url.slice(0, made.url.indexOf("?")))
      const complaints = [...open.complaints, ...late.complaints]
      assert.deepStrictEqual(complaints.filter((each) => !ofTheBrowser.test(each)), [])
    }).pipe(Effect.scoped))
})
