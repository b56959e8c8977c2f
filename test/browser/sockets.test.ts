/** Attacks on websockets by a real browser: which pages open which websocket. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import { visit } from "./Page.ts"

/** A page of another origin, as a browser serves it. */
const foreignPage = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly stop: () => void }>((resume) => {
    const server = createServer((_, response) =>
      response.setHeader("content-type", "text/html").end("<title>page</title>")
    )
    server.listen(
      0,
      "127.0.0.1",
      () =>
        resume(Effect.succeed({
          url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          stop: () => server.close()
        }))
    )
  }),
  ({ stop }) => Effect.sync(stop)
)

/** What a socket that the page at `from` opens comes to: `open <first frame's type>` or `closed <code>`. */
const socketIn = (from: string, address: string) =>
  Effect.scoped(Effect.gen(function*() {
    const { page } = yield* visit(from)
    return yield* Effect.promise(() =>
      page.evaluate((url) =>
        new Promise<string>((resolve) => {
          const socket = new WebSocket(url)
          socket.addEventListener("message", ({ data }) => resolve(`open ${JSON.parse(data).type}`))
          socket.addEventListener("close", ({ code }) => resolve(`closed ${code}`))
        }), address)
    )
  }))

describe("websockets in a browser", () => {
  it.live("/ws/payment opens from any page, and a ticketed stream from a listed one only", () =>
    Effect.gen(function*() {
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: (yield* migratedDatabase).url,
          chains: [{ use: "simulated" }],
          http: { allowedOrigins: ["https://dash.example"] }
        })
      })
      const headers = { "x-api-key": (yield* service.keys).merchant_key }
      const base = service.url.replace("http", "ws")
      const { url: elsewhere } = yield* foreignPage
      const { json: made } = yield* service.call("/api/v1/invoices", {
        headers: { ...headers, "idempotency-key": "opened-by-a-browser" },
        body: { amount_usd: 5 }
      })
      const { json: offered } = yield* service.call("/api/v1/merchant/tokens", { headers })
      const { json: address } = yield* service.call("/api/v1/payments/payment-addresses", {
        headers: made.payment_session_headers,
        body: {
          network: "base",
          token_id: offered.tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC").id
        }
      })
      const { endpoint, token } = address.ws_connection
      assert.strictEqual(yield* socketIn(elsewhere, `${base}${endpoint}?format=event_v1&token=${token}`), "open ready")
      const ticket = Effect.map(
        service.call("/api/v1/ws/token", { headers, body: { scope: "merchant" } }),
        ({ json }) => `${base}/ws/merchant/events?token=${json.data.token}`
      )
      assert.strictEqual(yield* socketIn(elsewhere, yield* ticket), "closed 1006")
      assert.strictEqual(yield* socketIn(`${service.url}/health/live`, yield* ticket), "open ready")
    }).pipe(Effect.scoped))
})
