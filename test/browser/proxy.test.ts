/**
 * Goal: the payment page works where operators run it: behind a proxy that ends TLS, under a path of a host that is not
 * the service's own. Method: a proxy of Node's `https`, which takes the path off and passes everything on, sockets too.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { type IncomingMessage, request } from "node:http"
import { createServer } from "node:https"
import { type AddressInfo, connect } from "node:net"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import { foreignRequests, openContext, openPage } from "./Page.ts"

/** Under which the proxy serves the service. */
const prefix = "/till"

const pem = (name: "cert" | "key"): string =>
  readFileSync(new URL(`../support/tls/${name}.pem`, import.meta.url), "utf8")

/** The path that the service sees; what does not lie under the prefix is none of it. */
const within = ({ url = "" }: IncomingMessage): string | undefined =>
  url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : undefined

/** Passes on to whichever port `target` names by then. */
const proxy = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly target: { port: number }; readonly stop: () => void }>((resume) => {
    const target = { port: 0 }
    const headersOf = ({ headers, socket }: IncomingMessage) => ({
      ...headers,
      "x-forwarded-for": socket.remoteAddress
    })
    const server = createServer({ cert: pem("cert"), key: pem("key") }, (asked, answer) => {
      const path = within(asked)
      if (path === undefined) return void answer.writeHead(404).end()
      const { method = "GET" } = asked
      const passed = request(
        { host: "127.0.0.1", port: target.port, path, method, headers: headersOf(asked) },
        (answered) => {
          answer.writeHead(answered.statusCode ?? 502, answered.headers)
          answered.pipe(answer)
        }
      )
      passed.once("error", () => answer.writeHead(502).end())
      asked.pipe(passed)
    })
    server.on("upgrade", (asked, socket) => {
      const onward = connect(target.port, "127.0.0.1", () => {
        const lines = Object.entries(headersOf(asked)).map(([name, value]) => `${name}: ${String(value)}`)
        onward.write(`GET ${within(asked) ?? "/"} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`)
        onward.pipe(socket).pipe(onward)
      })
      for (const [one, other] of [[socket, onward], [onward, socket]] as const) one.on("error", () => other.destroy())
    })
    const stop = () => {
      server.close()
      server.closeAllConnections()
    }
    server.listen(0, "127.0.0.1", () => {
      resume(
        Effect.succeed({ url: `https://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`, target, stop })
      )
    })
  }),
  ({ stop }) => Effect.sync(stop)
)

describe("the payment page behind a proxy", () => {
  it.live("is paid over https under a path: its session is a Secure cookie of that path, its socket is wss", () =>
    Effect.gen(function*() {
      const { target, url } = yield* proxy
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: (yield* migratedDatabase).url,
          chains: [{ use: "simulated" }],
          http: { publicUrl: url, trustProxy: ["127.0.0.0/8"] }
        })
      })
      target.port = service.ports.http
      const { json: made } = yield* service.call("/api/v1/invoices", {
        headers: { "x-api-key": (yield* service.keys).merchant_key, "idempotency-key": randomUUID() },
        body: { amount_usd: 25 }
      })
      assert.isTrue(made.payment_url.startsWith(`${url}/pay/`), made.payment_url)
      const context = yield* openContext({ strangeCertificate: true })
      const opened = yield* openPage(context)
      const { complaints, page, requests } = opened
      yield* Effect.promise(async () => {
        await page.goto(made.payment_url)
        assert.strictEqual(page.url(), `${url}/pay/${made.invoice_id}`)
        await page.getByRole("button", { name: "Continue" }).click()
        await page.getByText("Simulate payment").click()
        await page.getByRole("button", { name: "Pay half" }).click()
        await page.locator("[data-screen=partial]").waitFor()
        await page.getByRole("button", { name: "Change" }).waitFor()
        await page.getByRole("combobox").selectOption("de")
        await page.getByRole("button", { name: "Change" }).click()
        await page.locator("html[lang=de]").waitFor()
        await page.waitForLoadState("load")
      })
      const cookies = yield* Effect.promise(() => context.cookies())
      const session = cookies.find(({ name }) => name === "till_pay")
      assert.deepInclude(session, {
        path: `${prefix}/pay/${made.invoice_id}`,
        secure: true,
        httpOnly: true,
        sameSite: "Lax"
      })
      assert.isTrue(
        cookies.every(({ path, secure }) => secure && path.startsWith(`${prefix}/pay`)),
        JSON.stringify(cookies)
      )
      const sockets = requests.filter((each) => /^wss?:/.test(each))
      assert.isNotEmpty(sockets)
      assert.isTrue(
        sockets.every((each) => each.startsWith(`wss${url.slice("https".length)}/ws/payment?`)),
        sockets.join()
      )
      // Paid elsewhere: what changes the screen is the socket.
      yield* service.call(`/api/v1/devnet/invoices/${made.invoice_id}/simulate`, {
        headers: { "x-api-key": (yield* service.keys).merchant_key },
        body: { action: "pay" }
      })
      yield* Effect.promise(() => page.locator("[data-screen=paid]").waitFor())
      assert.deepStrictEqual([complaints, foreignRequests(opened, url)], [[], []])
    }).pipe(Effect.scoped))
})
