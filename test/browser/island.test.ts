/**
 * Goal: the payment page's script follows its server through everything a line and a payor can do, and says nothing
 * else. Method: the script as served, in a real browser under the page's policy, against a server that each test plays
 * itself. Time is the browser's fake clock where a test waits; sockets and fetches are real.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Page } from "playwright-core"
import { PNG } from "pngjs"
import { type WebSocket, WebSocketServer } from "ws"
import { accentCss, css } from "../../modules/checkout/pages.ts"
import { buildIsland } from "../../modules/checkout/build.ts"
import { defaultAccent } from "../../schemas/Colour.ts"
import { openContext, openPage, type Visitor } from "./Page.ts"

const script = buildIsland()

declare const getComputedStyle: any

/** The server's clock at the start of each test, in epoch seconds: far from the browser's, which must not matter. */
const serverNow = 1_900_000_000

const sha256 = (text: string) => createHash("sha256").update(text).digest("base64")

const style = `${css}${accentCss(defaultAccent)}.box{height:100px;overflow:auto}`

interface Screen {
  readonly screen?: string
  readonly body?: string
  /** What `data-ws` carries as its token; null: nothing to follow. */
  readonly token?: string | null
  readonly poll?: number
  readonly now?: number
  /** The last event that is in it. */
  readonly since?: string
  /** What it shows of a price. */
  readonly price?: string
}

/** A server that a test plays: what it answers, and what it was asked. */
class Counter {
  shown: Screen = {}
  /** Answers to fetches of the state, in place of the fragment. */
  answer: ((response: ServerResponse, request: IncomingMessage) => void) | undefined
  /** What becomes of a socket. */
  welcome: (socket: WebSocket) => void = (socket) => this.send(socket, { object: "ws_control", type: "ready" })
  refusesSockets = false
  readonly fetches: Array<IncomingMessage> = []
  readonly attempts: Array<URL> = []
  readonly posts: Array<string> = []
  readonly sockets: Array<WebSocket> = []
  readonly pings: Array<string> = []
  url = ""

  fragment(): string {
    const {
      body = "<h1 tabindex=\"-1\">Waiting for your payment</h1>",
      now = serverNow,
      poll = 3,
      price,
      screen = "waiting",
      since,
      token = "first"
    } = this.shown
    const socket = token === null
      ? ""
      : ` data-ws="${this.url.replace("http", "ws")}/ws/payment?format=event_v1&amp;token=${token}"`
    return `<section data-screen="${screen}" data-title="${screen} · Shop" data-say="Screen ${screen}" data-poll="${poll}" data-now="${now}"${socket}${
      since === undefined ? "" : ` data-since="${since}"`
    }${price === undefined ? "" : ` data-price="${price}"`}>${body}</section>`
  }

  /** Leaves out what differs each time, as the service's own. */
  etag(): string {
    return `"${sha256(this.fragment().replace(/ data-(?:now|since|ws)="[^"]*"/g, ""))}"`
  }

  page(): string {
    return `<!doctype html><html lang="en"><title>first</title><style>${style}</style><main id="pay" data-state="/state?a=1" data-copied="Copied"><p id="offline" role="alert" hidden>No connection</p><div id="state">${this.fragment()}</div><p id="live" role="status"></p></main><script src="/pay.js" defer></script></html>`
  }

  respond(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? "", this.url).pathname
    if (path === "/pay.js") {
      response.setHeader("content-type", "text/javascript").end(script)
    } else if (request.method === "POST") {
      this.posts.push(request.url ?? "")
      response.writeHead(303, { location: "/" }).end()
    } else if (path === "/state") {
      this.fetches.push(request)
      if (this.answer !== undefined) this.answer(response, request)
      else if (request.headers["if-none-match"] === this.etag()) response.writeHead(304, { etag: this.etag() }).end()
      else response.writeHead(200, { "content-type": "text/html", etag: this.etag() }).end(this.fragment())
    } else {
      response.writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": `default-src 'none'; script-src 'self'; style-src 'sha256-${
          sha256(style)
        }'; img-src 'self' data:; connect-src 'self' ${
          this.url.replace("http", "ws")
        }; form-action 'self'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types pay`
      }).end(path === "/favicon.ico" ? "" : this.page())
    }
  }

  /** Frames that were sent this way. */
  sent = 0

  send(socket: WebSocket, frame: object): void {
    this.sent++
    socket.send(JSON.stringify(frame))
  }

  /** An event on the newest socket. */
  event(id = "evt_1-1"): void {
    this.send(this.sockets.at(-1)!, { object: "event", id, type: "invoice.updated" })
  }
}

const counter = Effect.acquireRelease(
  Effect.callback<{ readonly counter: Counter; readonly stop: () => void }>((resume) => {
    const played = new Counter()
    const server = createServer((request, response) => played.respond(request, response))
    const sockets = new WebSocketServer({ noServer: true })
    server.on("upgrade", (request, stream, head) => {
      played.attempts.push(new URL(request.url ?? "", played.url))
      if (played.refusesSockets) return stream.end("HTTP/1.1 503 Service Unavailable\r\n\r\n")
      sockets.handleUpgrade(request, stream, head, (socket) => {
        played.sockets.push(socket)
        socket.on("message", (text) => played.pings.push(String(text)))
        played.welcome(socket)
      })
    })
    server.listen(0, "127.0.0.1", () => {
      played.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      resume(Effect.succeed({
        counter: played,
        stop: () => {
          for (const socket of sockets.clients) socket.terminate()
          server.closeAllConnections()
          server.close()
        }
      }))
    })
  }),
  ({ stop }) => Effect.sync(stop)
)

interface Scene {
  readonly counter: Counter
  readonly page: Page
  readonly complaints: ReadonlyArray<string>
  /**
   * Loads the page, and waits until it follows where there is something to follow: and, where the fragment does not say
   * from which event on, until it has looked for what it missed.
   */
  readonly open: () => Promise<void>
  /** Freezes the browser's clock; `pass` then lets time go by, once all is `answered`. */
  readonly freeze: () => Promise<void>
  readonly pass: (millis: number) => Promise<void>
  /** As `pass`, and of what is due many times it fires one: a laptop that slept. */
  readonly skip: (millis: number) => Promise<void>
  /** Lets time go by in steps until something is so; gives the milliseconds it took. */
  readonly passUntil: (isSo: () => boolean, most: number, step?: number) => Promise<number>
  /** Waits until the browser has every frame that was sent. */
  readonly heard: () => Promise<void>
  /** Waits until every fetch and connection has its answer: time that went by before would be a slow line's. */
  readonly answered: () => Promise<void>
  /** What the live region has said, in order. */
  readonly said: () => Promise<ReadonlyArray<string>>
}

/** Waits in real time; fails by the name of what it waits for. */
const until = async (what: string, isSo: () => boolean | Promise<boolean>, millis = 30_000) => {
  const end = Date.now() + millis
  while (!await isSo()) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/**
 * Notes what is said, when a connection was tried and failed by the browser's clock, and how many fetches, bodies and
 * connections have no answer yet. What the page does with an answer it has done by the next look at this number, which
 * is a task of its own.
 */
const listening = `
  window.said = []
  window.attempts = []
  window.onTheWay = 0
  const fetchAsBefore = window.fetch
  window.fetch = (...asked) => {
    window.onTheWay++
    return fetchAsBefore(...asked).finally(() => window.onTheWay--)
  }
  const textAsBefore = Response.prototype.text
  Response.prototype.text = function () {
    window.onTheWay++
    return textAsBefore.call(this).finally(() => window.onTheWay--)
  }
  window.WebSocket = class extends WebSocket {
    constructor(url) {
      super(url)
      window.onTheWay++
      const attempt = { began: Date.now() }
      window.attempts.push(attempt)
      this.addEventListener("close", () => attempt.ended = Date.now())
      let isAnswered = false
      for (const answer of ["open", "close"]) this.addEventListener(answer, () => {
        if (!isAnswered) window.onTheWay--
        isAnswered = true
      })
    }
  }
  document.addEventListener("DOMContentLoaded", () => {
    const live = document.getElementById("live")
    if (live) new MutationObserver(() => { if (live.textContent) window.said.push(live.textContent) }).observe(live, { childList: true })
  })`

/** A line that fails is told by the browser itself; the script adds nothing, and its policy is never broken. */
const ofTheBrowser = /^error: (?:Failed to load resource|WebSocket connection to)/

const scene = (promise: string, play: (scene: Scene) => Promise<void>, visitor: Visitor = {}) =>
  it.live(promise, () =>
    Effect.gen(function*() {
      const { counter: played } = yield* counter
      const opened = yield* openPage(yield* openContext(visitor))
      const { complaints, page } = opened
      yield* Effect.promise(async () => {
        let received = 0
        page.on("websocket", (socket) => socket.on("framereceived", () => received++))
        await page.addInitScript(listening)
        let isFrozen = false
        const answered = () => until("all is answered", async () => await page.evaluate("window.onTheWay") === 0)
        const pass = async (millis: number) => {
          await answered()
          await page.clock.runFor(millis)
        }
        const passUntil = async (isSo: () => boolean, most: number, step = 100) => {
          for (let passed = 0; passed <= most; passed += step) {
            if (isSo()) return passed
            await pass(step)
          }
          // What the last step began is on its way in real time.
          await until(`it comes within ${most} ms`, isSo)
          return most
        }
        await play({
          counter: played,
          page,
          complaints,
          pass,
          skip: async (millis: number) => {
            await answered()
            await page.clock.fastForward(millis)
          },
          open: async () => {
            await page.goto(played.url)
            if (played.shown.token === null || played.refusesSockets) return
            await until("the page follows", () => played.sockets.length === 1)
            if (played.shown.since !== undefined) return
            if (isFrozen) await passUntil(() => played.fetches.length === 1, 2000)
            else await until("it has looked once", () => played.fetches.length === 1)
            await answered()
          },
          freeze: async () => {
            await page.clock.install()
            await page.clock.pauseAt(Date.now() + 60_000)
            isFrozen = true
          },
          passUntil,
          answered,
          heard: () => until("the frames are there", () => received >= played.sent),
          said: () => page.evaluate("window.said")
        })
      })
      assert.deepStrictEqual(complaints.filter((each) => !ofTheBrowser.test(each)), [])
    }).pipe(Effect.scoped))

const paid = { screen: "paid", body: "<h1 tabindex=\"-1\">Payment complete</h1>" }
const heading = (page: Page) => page.locator("#state h1")
const isFocused = (page: Page, selector: string) =>
  page.evaluate(`document.activeElement === document.querySelector(${JSON.stringify(selector)})`) as Promise<boolean>

describe("news of the payment", () => {
  scene("changes the screen within 300 ms, its title and what is spoken, and leaves the focus alone", async (
    { counter, freeze, open, page, pass, passUntil, said }
  ) => {
    await freeze()
    await open()
    counter.shown = paid
    counter.event()
    // By the browser's clock, which stands still while this machine works.
    await passUntil(() => counter.fetches.length === 2, 300)
    await page.getByText("Payment complete").waitFor()
    assert.strictEqual(await page.title(), "paid · Shop")
    await pass(300)
    await until("it is spoken", async () => (await said()).length > 0)
    assert.deepStrictEqual(await said(), ["Screen paid"])
    assert.isFalse(await isFocused(page, "h1"))
  })

  scene("that comes in a burst makes one fetch, and one more for what came meanwhile", async ({ counter, open }) => {
    await open()
    const held: Array<ServerResponse> = []
    const first = counter.fetches.length
    counter.answer = (response) => held.push(response)
    for (let id = 0; id < 20; id++) counter.event(`evt_1-${id}`)
    await until("the state is fetched", () => held.length === 1)
    for (let id = 20; id < 40; id++) counter.event(`evt_1-${id}`)
    counter.send(counter.sockets[0]!, { object: "ws_control", type: "confirmations" })
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.strictEqual(counter.fetches.length, first + 1)
    counter.answer = undefined
    counter.shown = { body: "<h1>in between</h1>" }
    held[0]!.writeHead(200, { etag: "\"old\"" }).end(counter.fragment())
    counter.shown = paid
    await until("the wish is granted", () => counter.fetches.length === first + 2)
  })

  scene(
    "from between the page and its socket comes by the socket, and none costs no fetch",
    async ({ counter, open, page }) => {
      const quote = {
        object: "payment_quote",
        network: "base",
        supported_token_id: 1,
        estimated_token_amount_remaining: "25.000000",
        quote_valid_until: serverNow + 300,
        quote_status: "available"
      }
      const price = `base 1 25.000000 ${serverNow + 300} available`
      const tell = (socket: WebSocket, shown: object) =>
        counter.send(socket, {
          object: "event",
          id: "evt_9-9",
          type: "payment_quote.updated",
          data: { object: { ...quote, ...shown } }
        })
      counter.welcome = (socket) => {
        counter.send(socket, { object: "ws_control", type: "ready" })
        tell(socket, { quote_expires_in_seconds: 299 })
      }
      counter.shown = { since: "evt_4-1", price }
      await open()
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.strictEqual(counter.fetches.length, 0)
      tell(counter.sockets[0]!, { estimated_token_amount_remaining: "25.100000" })
      await until("the price is looked at", () => counter.fetches.length === 1)

      counter.welcome = (socket) => {
        counter.shown = { ...paid, since: "evt_5-2", price: "" }
        counter.send(socket, { object: "ws_control", type: "ready" })
        counter.send(socket, { object: "ws_control", type: "replay_start", since: "evt_4-1" })
        for (const id of ["evt_5-1", "evt_5-2"]) counter.send(socket, { object: "event", id, type: "invoice.updated" })
        counter.send(socket, { object: "ws_control", type: "replay_complete", count: 2, last_event_id: "evt_5-2" })
        tell(socket, {})
      }
      await page.reload()
      await page.getByText("Payment complete").waitFor()
      assert.strictEqual(counter.fetches.length, 2)
    }
  )

  scene("that changes nothing swaps nothing, by the tag and by the text", async ({ counter, open, page }) => {
    await open()
    await page.evaluate("document.querySelector('h1').mark = 1")
    counter.shown = { now: serverNow + 9, token: "second" }
    counter.event()
    await until("the state is fetched", () => counter.fetches.length === 2)
    assert.strictEqual(counter.fetches[1]!.headers["if-none-match"], counter.etag())
    counter.answer = (response) => response.writeHead(200).end(counter.fragment())
    counter.event()
    await until("the state is fetched", () => counter.fetches.length === 3)
    // An answer of its own: what came before it is handled by then.
    await page.evaluate("fetch('/state')")
    assert.strictEqual(await page.evaluate("document.querySelector('h1').mark"), 1)
  })

  scene("that it does not know, and noise, mean nothing", async ({ counter, open }) => {
    await open()
    for (const text of ["", "{", "null", "[1]", `{"object":"new"}`, `{"object":"ws_control","type":"new"}`]) {
      counter.sockets[0]!.send(text)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.deepStrictEqual([counter.fetches.length, counter.attempts.length], [1, 1])
  })
})

describe("a broken line", () => {
  scene("is taken up where it broke, with a fetch of the state at once", async ({ counter, open, page }) => {
    counter.shown = { since: "evt_4-1" }
    await open()
    assert.strictEqual(counter.attempts[0]!.searchParams.get("since"), "evt_4-1")
    counter.shown = { body: "<h1>seen</h1>", since: "evt_5-7" }
    counter.event("evt_5-7")
    await page.getByText("seen").waitFor()
    counter.sockets[0]!.close(1001)
    await until("the page is back", () => counter.attempts.length === 2)
    assert.strictEqual(counter.attempts[1]!.searchParams.get("since"), "evt_5-7")
    assert.strictEqual(counter.fetches.length, 2)
  })

  scene("is not taken up at a place that the server has forgotten", async ({ counter, open, page }) => {
    counter.shown = { since: "evt_1-1" }
    await open()
    counter.shown = { body: "<h1>seen</h1>" }
    counter.send(counter.sockets[0]!, { object: "ws_control", type: "resync_required" })
    await until("the state is fetched", () => counter.fetches.length === 1)
    await page.getByText("seen").waitFor()
    counter.sockets[0]!.close(1001)
    await until("the page is back", () => counter.attempts.length === 2)
    assert.isNull(counter.attempts[1]!.searchParams.get("since"))
  })

  scene(
    "is tried again after 0.5 s and later and later, at most 30 s, and polled each data-poll seconds meanwhile",
    async (
      { answered, counter, freeze, open, page, pass, passUntil, skip }
    ) => {
      await freeze()
      counter.refusesSockets = true
      await open()
      const step = 200
      for (let attempt = 1; attempt <= 8; attempt++) {
        const fetched = attempt === 1 ? 0 : counter.fetches.length
        let waited = 0
        for (; counter.attempts.length < attempt; waited += step) {
          await pass(step)
          await answered()
        }
        // Three failures and more: the state comes by polling, about each three seconds.
        if (attempt >= 6) assert.isAtLeast(counter.fetches.length - fetched, Math.floor(waited / 3500))
        if (attempt <= 3) assert.isAtMost(counter.fetches.length - fetched, 1)
        await until("the failure is noticed", () => counter.fetches.length > fetched)
      }
      const most = [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
      // By the browser's clock: a failure may come while a step goes by, and then its pause is a part of this step.
      const attempts = await page.evaluate("window.attempts") as ReadonlyArray<Record<"began" | "ended", number>>
      const waits = attempts.slice(1).map(({ began }, at) => began - attempts[at]!.ended)
      assert.lengthOf(waits, most.length)
      waits.forEach((wait, at) => {
        assert.isAtLeast(wait, most[at]! / 2)
        // No connection is tried while a poll is under way.
        assert.isAtMost(wait, most[at]! + step)
      })
      assert.isTrue(await page.locator("#offline").isHidden())
      counter.refusesSockets = false
      counter.welcome = () => {}
      await passUntil(() => counter.sockets.length === 1, 31_000)
      const settled = counter.fetches.length + 1
      counter.send(counter.sockets[0]!, { object: "ws_control", type: "ready" })
      await passUntil(() => counter.fetches.length === settled, 2000)
      await skip(20_000)
      assert.strictEqual(counter.fetches.length, settled)
    }
  )

  scene("looks once a minute at what no event tells, with a sign of life, and not while nobody sees the page", async (
    { counter, freeze, heard, open, page, pass }
  ) => {
    await freeze()
    counter.welcome = (socket) => counter.send(socket, { object: "ws_control", type: "ready" })
    await open()
    await until("it is ready", () => counter.fetches.length === 1)
    const beatAfter = async (millis: number) => {
      await pass(millis)
      counter.send(counter.sockets[0]!, { object: "ws_control", type: "heartbeat", server_time: serverNow })
      await heard()
      await pass(100)
    }
    await beatAfter(30_000)
    assert.strictEqual(counter.fetches.length, 1)
    counter.shown = { screen: "waiting", body: "<p>Base has trouble</p>" }
    await beatAfter(31_000)
    await page.getByText("Base has trouble").waitFor()
    assert.strictEqual(counter.fetches.length, 2)
    await page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    await beatAfter(50_000)
    await beatAfter(50_000)
    assert.strictEqual(counter.fetches.length, 2)
  })

  scene("that hears nothing for 60 s, or no answer to a ping, is given up", async (
    { counter, freeze, heard, open, page, pass, passUntil }
  ) => {
    await freeze()
    counter.welcome = (socket) => counter.send(socket, { object: "ws_control", type: "ready" })
    await open()
    await until("it is ready", () => counter.fetches.length === 1)
    await pass(40_000)
    counter.send(counter.sockets[0]!, { object: "ws_control", type: "heartbeat", server_time: serverNow })
    await heard()
    await pass(40_000)
    assert.strictEqual(counter.attempts.length, 1)
    await passUntil(() => counter.attempts.length === 2, 23_000)
    // One as the line was lost, and one as it was there again.
    await passUntil(() => counter.fetches.length === 3, 2000)
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await until("the ping is there", () => counter.pings.length === 1)
    assert.deepStrictEqual(JSON.parse(counter.pings[0]!), { object: "ws_ping" })
    // 5 s for the answer, and 1 to 2 s until the next attempt.
    await passUntil(() => counter.attempts.length === 3, 7500)
  })

  scene("whose token has ended comes back with the token of a new fragment", async ({ counter, open }) => {
    await open()
    counter.shown = { token: "second" }
    counter.send(counter.sockets[0]!, { object: "ws_error", code: "TOKEN_EXPIRED", retryable: true })
    counter.sockets[0]!.close(4401)
    await until("the page is back", () => counter.attempts.length === 2)
    assert.strictEqual(counter.attempts[1]!.searchParams.get("token"), "second")
    assert.isTrue(counter.fetches.slice(1).some(({ headers }) => headers["if-none-match"] === undefined))
  })

  scene(
    "whose token ends while the state is on its way comes back with the token of the next fragment",
    async ({ counter, open }) => {
      await open()
      let answer = () => {}
      counter.answer = (response) => {
        const old = counter.fragment()
        answer = () => response.writeHead(200, { etag: counter.etag() }).end(old)
      }
      counter.event()
      await until("the state is fetched", () => counter.fetches.length === 2)
      counter.send(counter.sockets[0]!, { object: "ws_error", code: "TOKEN_EXPIRED", retryable: true })
      counter.sockets[0]!.close(4401)
      await until("the socket is closed", () => counter.sockets[0]!.readyState === 3)
      counter.answer = undefined
      counter.shown = { token: "second" }
      answer()
      await until("the page is back", () => counter.attempts.length === 2)
      assert.strictEqual(counter.attempts[1]!.searchParams.get("token"), "second")
    }
  )

  scene("whose token ended while nobody listened comes back as well", async ({ counter, open }) => {
    await open()
    counter.refusesSockets = true
    // The tag leaves the token out: only who asks without one gets it.
    counter.shown = { token: "second" }
    counter.sockets[0]!.close(1001)
    await until("the page tries", () => counter.attempts.length === 2)
    counter.refusesSockets = false
    await until("the page is back", () => counter.sockets.length === 2)
    assert.strictEqual(counter.attempts.at(-1)!.searchParams.get("token"), "second")
  })

  scene("shows the banner over the last screen, and is well again by itself", async ({ counter, open, page }) => {
    await open()
    await page.context().setOffline(true)
    await page.locator("#offline").waitFor({ state: "visible" })
    assert.strictEqual(await heading(page).innerText(), "Waiting for your payment")
    counter.shown = paid
    await page.context().setOffline(false)
    await page.getByText("Payment complete").waitFor()
    await page.locator("#offline").waitFor({ state: "hidden" })
  })

  scene("that is back is looked at there and then", async ({ freeze, open, page }) => {
    await freeze()
    await open()
    await page.context().setOffline(true)
    await page.locator("#offline").waitFor({ state: "visible" })
    // The browser's clock stands still: no timer is waited for.
    await page.context().setOffline(false)
    await page.locator("#offline").waitFor({ state: "hidden" })
  })

  for (
    const [what, status, type, text] of [
      [
        "the page of a captive portal",
        200,
        "text/html",
        "<html><body><section>Log in to the free network</section></body></html>"
      ],
      ["the fault of a gateway", 502, "text/html", "<html><h1>502 Bad Gateway</h1></html>"],
      ["a fragment of a server in trouble", 500, "text/html", `<section data-screen="failed"><h1>Oops</h1></section>`],
      ["a detour", 302, "text/html", ""],
      ["nothing at all", 200, "text/plain", ""]
    ] as const
  ) {
    scene(`never shows ${what}`, async ({ counter, open, page }) => {
      await open()
      counter.answer = (response) =>
        response.writeHead(status, {
          "content-type": type,
          ...status === 302 ? { location: "https://portal.example/" } : {}
        }).end(text)
      counter.event()
      await page.locator("#offline").waitFor({ state: "visible" })
      assert.strictEqual(await heading(page).innerText(), "Waiting for your payment")
      counter.answer = undefined
      counter.shown = paid
      await page.getByText("Payment complete").waitFor()
      assert.isTrue(await page.locator("#offline").isHidden())
    })
  }
})

describe("the payor's return to the page", () => {
  scene("asks at once, and asks not twice for one return", async ({ counter, open, page }) => {
    await open()
    await page.evaluate("dispatchEvent(new Event('focus')); document.dispatchEvent(new Event('visibilitychange'))")
    await until("the state is fetched", () => counter.fetches.length === 2)
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.strictEqual(counter.fetches.length, 2)
  })

  scene("out of the browser's cache opens the socket that leaving had closed", async ({ counter, open, page }) => {
    await open()
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    await until("the socket is closed", () => counter.sockets[0]!.readyState === 3)
    assert.strictEqual(counter.attempts.length, 1)
    counter.shown = paid
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    await page.getByText("Payment complete").waitFor()
    await until("the page is back", () => counter.attempts.length === 2)
  })
})

describe("the end", () => {
  scene(
    "of what there is to follow closes the socket and asks no more",
    async ({ counter, freeze, open, page, passUntil, skip }) => {
      await freeze()
      await open()
      counter.shown = { ...paid, token: null }
      await until("it is ready", () => counter.fetches.length === 1)
      counter.event()
      await passUntil(() => counter.fetches.length === 2, 300)
      await page.getByText("Payment complete").waitFor()
      await until("the socket is closed", () => counter.sockets[0]!.readyState === 3)
      const asked = counter.fetches.length
      for (let seconds = 0; seconds < 90; seconds += 10) await skip(10_000)
      assert.deepStrictEqual([counter.fetches.length, counter.attempts.length], [asked, 1])
    }
  )

  for (const status of [401, 404, 410]) {
    scene(`of the session (${status}) shows what the server says of it, for good`, async ({ counter, open, page }) => {
      await open()
      counter.shown = { screen: "ended", body: "<h1>This page has ended</h1>", token: null }
      counter.answer = (response) => response.writeHead(status, { "content-type": "text/html" }).end(counter.fragment())
      counter.event()
      await page.getByText("This page has ended").waitFor()
      assert.isTrue(await page.locator("#offline").isHidden())
      await until("the socket is closed", () => counter.sockets[0]!.readyState === 3)
      const asked = counter.fetches.length
      await page.evaluate("dispatchEvent(new Event('focus')); dispatchEvent(new Event('online'))")
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.deepStrictEqual([counter.fetches.length, counter.attempts.length], [asked, 1])
    })
  }
})

describe("what the payor has", () => {
  const rows = ["usdc base usd coin", "usdt base tether", "sol solana", "ada cardano"]
  const ways = ["Base", "Solana", "Optimism", "Arbitrum"]
  const found = JSON.stringify(["Nothing found", ...rows.map((_, at) => `${at + 1} found`)]).replaceAll("\"", "&quot;")
  const list = (extra = "") =>
    `<h1 tabindex="-1">Choose how to pay</h1><input type="search" data-filter data-found="${found}" aria-label="Search" hidden>${
      rows.map((row, at) =>
        `<a href="/?currency=${row.slice(0, 4).trim()}" data-tile data-find="${row}"${
          at === 0 ? " aria-current=\"true\"" : ""
        }>${row}</a>`
      ).join("")
    }<form method="post" action="/"><fieldset>${
      ways.map((way, at) =>
        `<label><input type="radio" name="token" value="${at}" data-go="Continue on ${way}" required${
          at === 0 ? " checked" : ""
        }>${way}${extra}</label>`
      ).join("")
    }</fieldset><button id="go">Continue</button></form>`

  scene(
    "chosen, typed, opened, reached and scrolled to is there in the next fragment",
    async ({ counter, open, page }) => {
      const body = (extra: string) =>
        `${
          list(extra)
        }<details><summary>Refund</summary><input name="address" value=""></details><div id="box" class="box"><p>${extra}</p><svg width="10" height="4000"></svg></div>`
      counter.shown = { screen: "choose", body: body("") }
      await open()
      await page.getByText("Refund").click()
      await page.locator("[name=address]").fill("0xabc")
      await page.locator("[value='2']").check()
      await page.getByLabel("Search").fill("s o l")
      await page.evaluate(
        "document.querySelector('[type=search]').focus(); document.querySelector('[type=search]').setSelectionRange(1, 2)"
      )
      await page.evaluate("document.getElementById('box').scrollTop = 700; scrollTo(0, 90)")
      const scrolled = await page.evaluate("scrollY")
      counter.shown = { screen: "choose", body: body(" now") }
      counter.event()
      await page.getByText("Optimism now").waitFor()
      assert.strictEqual(await page.locator("#go").textContent(), "Continue on Optimism")
      assert.deepStrictEqual(
        await page.evaluate(`({
        typed: document.querySelector('[type=search]').value,
        caret: [document.activeElement.selectionStart, document.activeElement.selectionEnd],
        focus: document.activeElement.type,
        chosen: document.querySelector('[name=token]:checked').value,
        shown: [...document.querySelectorAll('[data-find]')].filter((row) => !row.hidden).length,
        address: document.querySelector('[name=address]').value,
        isOpen: document.querySelector('details').open,
        box: document.getElementById('box').scrollTop,
        page: scrollY
      })`),
        {
          typed: "s o l",
          caret: [1, 2],
          focus: "search",
          chosen: "2",
          shown: 2,
          address: "0xabc",
          isOpen: true,
          box: 700,
          page: scrolled
        }
      )
    }
  )

  scene("chosen from the start stays chosen where the server would choose another by now", async (
    { counter, open, page }
  ) => {
    counter.shown = { screen: "choose", body: list(), since: "evt_1-1" }
    await open()
    const other = list(" now").replace(" checked", "").replace(`data-go="Continue on Arbitrum"`, "$& checked")
    counter.shown = { screen: "choose", body: other }
    counter.event()
    await page.getByText("Optimism now").waitFor()
    assert.strictEqual(await page.locator("[name=token]:checked").getAttribute("value"), "0")
    assert.strictEqual(await page.locator("#go").textContent(), "Continue on Base")
  })

  scene("chosen that cannot be had any more gives way to what the server offers", async ({ counter, open, page }) => {
    counter.shown = { screen: "choose", body: list(), since: "evt_1-1" }
    await open()
    await page.locator("[value='2']").check()
    counter.shown = { screen: "choose", body: list(" now").replace(`value="2"`, `value="2" disabled`) }
    counter.event()
    await page.getByText("Optimism now").waitFor()
    assert.strictEqual(await page.locator("[name=token]:checked").getAttribute("value"), "0")
  })

  scene("on a phone, finds the code folded on whatever screen it comes, and as it was left after that", async (
    { counter, open, page }
  ) => {
    const waiting = (text: string) => ({
      body: `<details id="scan" open><summary>Code</summary></details><p>${text}</p>`
    })
    counter.shown = { screen: "quote_ended", body: "<p>ended</p>", since: "evt_1-1" }
    await open()
    const shows = async (text: string) => {
      counter.shown = waiting(text)
      counter.event()
      await page.getByText(text).waitFor()
      return page.locator("#scan").evaluate((one: any) => one.open)
    }
    assert.isFalse(await shows("first"))
    await page.getByText("Code").click()
    assert.isTrue(await shows("second"))
  }, { mobile: true })

  scene(
    "half typed, in a script that is composed, is typed to its end before the same screen is drawn anew",
    async ({ counter, open, page }) => {
      counter.shown = { screen: "choose", body: list(), since: "evt_1-1" }
      await open()
      const search = page.getByLabel("Search")
      await search.focus()
      const keyboard = await page.context().newCDPSession(page)
      const compose = (text: string) =>
        keyboard.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length })
      await compose("bas")
      counter.shown = { screen: "choose", body: list(" now") }
      counter.event()
      await until("the state is fetched", () => counter.fetches.length === 1)
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.strictEqual(await page.getByText("Solana now").count(), 0)
      await compose("base")
      await keyboard.send("Input.insertText", { text: "base" })
      await page.getByText("Solana now").waitFor()
      assert.strictEqual(await search.inputValue(), "base")
      assert.isTrue(await isFocused(page, "[type=search]"))
      await compose("x")
      counter.shown = paid
      counter.event()
      await page.getByText("Payment complete").waitFor()
    }
  )

  scene(
    "typed into the search leaves the currencies with its words, speaks their count once, and keeps the one shown",
    async (
      { counter, open, page, said }
    ) => {
      counter.shown = { screen: "choose", body: list(), token: null }
      await open()
      const shown = async () =>
        (await page.locator("[data-find]:visible").allInnerTexts()).map((text) => text.split(" ")[0])
      const search = page.getByLabel("Search")
      await search.pressSequentially("base usd")
      assert.deepStrictEqual(await shown(), ["usdc", "usdt"])
      await until("it is spoken", async () => (await said()).length > 0)
      assert.deepStrictEqual(await said(), ["2 found"])
      await search.fill("solana")
      assert.deepStrictEqual(await shown(), ["usdc", "sol"])
      await search.fill("solana nothing")
      assert.deepStrictEqual(await shown(), ["usdc"])
      await until("it is spoken", async () => (await said()).includes("Nothing found"))
      await search.fill("")
      assert.deepStrictEqual(await shown(), ["usdc", "usdt", "sol", "ada"])
    }
  )

  scene(
    "is a keyboard: search, Enter to the found, arrows through the networks, Enter to go on",
    async ({ counter, open, page }) => {
      counter.shown = { screen: "choose", body: list(), token: null }
      await open()
      await page.keyboard.press("Tab")
      await page.keyboard.type("cardano")
      await page.keyboard.press("Enter")
      assert.deepStrictEqual(counter.posts, [])
      assert.isTrue(await isFocused(page, "[data-find^=ada]"))
      await page.keyboard.press("Tab")
      await page.keyboard.press("ArrowDown")
      assert.isTrue(await isFocused(page, "[value='1']"))
      assert.isTrue(await page.locator("[value='1']").isChecked())
      assert.strictEqual(await page.locator("#go").textContent(), "Continue on Solana")
      // Closed on its way to the next page, a page may never answer.
      const next = page.waitForEvent("load")
      await page.keyboard.press("Enter")
      await next
      assert.strictEqual(counter.posts.length, 1)
    }
  )

  scene(
    "pressed, a currency, brings its networks without a new page, is asked for from then on, and keeps the focus",
    async ({ counter, open, page }) => {
      counter.shown = { screen: "choose", body: list(), since: "evt_1-1" }
      await open()
      await page.evaluate("window.kept = true")
      counter.shown = { screen: "choose", body: list(" of sol") }
      await page.locator("[data-find^=sol]").click()
      await page.getByText("Base of sol").waitFor()
      assert.strictEqual(counter.fetches.at(-1)!.url, "/state?a=1&currency=sol")
      counter.shown = { screen: "choose", body: list(" again") }
      counter.event()
      await page.getByText("Base again").waitFor()
      assert.strictEqual(counter.fetches.at(-1)!.url, "/state?a=1&currency=sol")
      assert.strictEqual(new URL(page.url()).search, "?currency=sol")
      assert.isTrue(await page.evaluate("window.kept"))
      assert.isTrue(await isFocused(page, "[data-find^=sol]"))
      await page.reload()
      assert.isFalse(await isFocused(page, "h1"))
    }
  )

  scene("done moves the focus to the heading of the page that it leads to, once", async ({ counter, open, page }) => {
    counter.shown = { screen: "choose", body: list(), token: null }
    await open()
    assert.isFalse(await isFocused(page, "h1"))
    const next = page.waitForEvent("load")
    await page.getByRole("button", { name: "Continue" }).click()
    await next
    await until("the heading has the focus", () => isFocused(page, "h1"))
    await page.reload()
    assert.isFalse(await isFocused(page, "h1"))
  })

  scene(
    "in the clipboard says so, on the button and aloud, and for two seconds",
    async ({ counter, freeze, open, page, pass, said }) => {
      await freeze()
      counter.shown = {
        body:
          `<h1>x</h1><button type="button" data-copy="25.00" aria-label="Copy: Amount" hidden>Copy</button><input id="paste">`
      }
      await open()
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
      const button = page.getByLabel("Copy: Amount")
      await button.click()
      await until("it is copied", async () => await button.innerText() === "Copied")
      await pass(100)
      assert.deepStrictEqual(await said(), ["Copied"])
      await button.click()
      // Behind the writing in the clipboard's queue: the second copy is done by then.
      await page.evaluate("navigator.clipboard.readText()")
      await pass(1800)
      assert.strictEqual(await button.innerText(), "Copied")
      await pass(300)
      assert.strictEqual(await button.innerText(), "Copy")
      assert.strictEqual(await page.evaluate("navigator.clipboard.readText()"), "25.00")
    }
  )

  for (
    const [where, before] of [
      ["there is no clipboard", "Object.defineProperty(navigator, 'clipboard', { value: undefined })"],
      ["the clipboard is forbidden", "navigator.clipboard.writeText = () => Promise.reject(new Error('no'))"]
    ] as const
  ) {
    scene(`copied where ${where} is in it all the same`, async ({ counter, open, page }) => {
      await page.addInitScript(before)
      counter.shown = {
        body:
          `<h1>x</h1><button type="button" data-copy="0x12" aria-label="Copy: Address" hidden>Copy</button><input id="paste">`
      }
      await open()
      const button = page.getByLabel("Copy: Address")
      await button.click()
      await until("it is copied", async () => await button.innerText() === "Copied")
      assert.isTrue(await isFocused(page, "button"))
      assert.strictEqual(await page.locator("textarea").count(), 0)
      await page.locator("#paste").focus()
      await page.keyboard.press("Control+V")
      assert.strictEqual(await page.locator("#paste").inputValue(), "0x12")
    })
  }
})

describe("the clock of a price", () => {
  const clock = (left: number) =>
    `<h1>x</h1><p class="timer price"><span>Price held for</span><time data-ends="${serverNow + left}" data-from="${
      serverNow + left - 900
    }" data-say-5="5 minutes left" data-say-1="1 minute left">old</time></p><progress data-ends="${
      serverNow + left
    }" data-from="${serverNow + left - 900}" max="900" value="900"></progress>`

  const isUrgent = (page: Page) =>
    page.evaluate("[...document.querySelectorAll('[data-ends]')].map((clock) => clock.dataset.urgent !== undefined)")

  for (const theme of ["light", "dark"] as const) {
    scene(
      `changes its colour and its bar's to the warning's in its last quarter (${theme})`,
      async ({ counter, open, page }) => {
        const colours = async () => {
          const bar = PNG.sync.read(await page.locator("progress").screenshot())
          // On the middle line, behind the round end: what has passed of 15 minutes is on the other side.
          const at = 4 * (bar.width * (bar.height >> 1) + 8)
          return {
            time: await page.locator("time").evaluate((time: any) => getComputedStyle(time).color),
            bar: `rgb(${[...bar.data.subarray(at, at + 3)].join(", ")})`
          }
        }
        /** The colour that a name of the style has in this theme. */
        const named = (name: string) =>
          page.locator("main").evaluate((main: any, name: string) => {
            main.style.setProperty("background-color", `var(${name})`)
            return getComputedStyle(main).backgroundColor
          }, name)
        counter.shown = { body: clock(300), token: null }
        await open()
        assert.deepStrictEqual(await colours(), { time: await named("--soft"), bar: await named("--accent") })
        counter.shown = { body: clock(200), token: null }
        await page.reload()
        assert.deepStrictEqual(await colours(), { time: await named("--warn"), bar: await named("--warn") })
      },
      { theme }
    )
  }

  scene("runs by the server's time: the payor's clock and its jumps change nothing", async (
    { counter, freeze, heard, open, page, pass }
  ) => {
    await freeze()
    counter.shown = { body: clock(272) }
    await open()
    const left = async () =>
      (await page.locator("time").innerText()).split(":").reduce((sum, part) => sum * 60 + Number(part), 0)
    const before = await left()
    assert.closeTo(before, 271, 1)
    await page.clock.setSystemTime(new Date("2040-01-01T00:00:00Z"))
    await pass(10_000)
    assert.closeTo(await left(), before - 10, 1)
    assert.closeTo(await page.evaluate("document.querySelector('progress').value") as number, before - 10, 1)
    counter.send(counter.sockets[0]!, { object: "ws_control", type: "heartbeat", server_time: serverNow + 100 })
    await heard()
    await pass(1000)
    assert.closeTo(await left(), 171, 1)
  })

  scene(
    "never goes back for what is told in whole seconds and comes late",
    async ({ counter, freeze, open, page, pass }) => {
      await freeze()
      counter.shown = { body: clock(272), since: "evt_1-1" }
      await open()
      const shown: Array<number> = []
      for (let quarter = 1; quarter <= 20; quarter++) {
        await pass(250)
        const [minutes = 0, seconds = 0] = (await page.locator("time").innerText()).split(":").map(Number)
        shown.push(minutes * 60 + seconds)
        // As it was a tenth of a second ago, without its fraction.
        counter.send(counter.sockets[0]!, {
          object: "ws_control",
          type: "heartbeat",
          server_time: serverNow + Math.floor(quarter / 4 - 0.1)
        })
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      shown.forEach((left, at) => {
        if (at > 0) assert.include([0, 1], shown[at - 1]! - left, shown.join())
        assert.isAtMost(shown.filter((other) => other === left).length, 4, shown.join())
      })
    }
  )

  scene("is spoken at 5 minutes and at 1 minute only, shown in its last quarter only, and asks at its end", async (
    { counter, freeze, open, page, pass, passUntil, said, skip }
  ) => {
    await freeze()
    counter.shown = { body: clock(310), token: null }
    await open()
    await skip(5000)
    assert.deepStrictEqual([await said(), await isUrgent(page)], [[], [false, false]])
    await skip(9000)
    await pass(1000)
    assert.deepStrictEqual([await said(), await isUrgent(page)], [["5 minutes left"], [false, false]])
    await skip(74_000)
    await pass(1000)
    assert.deepStrictEqual([await said(), await isUrgent(page)], [["5 minutes left"], [true, true]])
    await skip(199_000)
    await pass(1000)
    assert.deepStrictEqual([await said(), counter.fetches.length], [["5 minutes left", "1 minute left"], 0])
    counter.shown = { screen: "quote_ended", body: "<h1>Price needs a refresh</h1>", token: null }
    await passUntil(() => counter.fetches.length > 0, 300_000, 500)
    await page.getByText("Price needs a refresh").waitFor()
    const asked = counter.fetches.length
    assert.strictEqual(await page.locator("time").count(), 0)
    await skip(30_000)
    assert.strictEqual(counter.fetches.length, asked)
  })
})
