/** Goal: the first view of the payment page fits one initial congestion window, and nothing jumps on it. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { brotliDecompressSync, gzipSync } from "node:zlib"
import type { Screen } from "../../modules/checkout/rules.ts"
import { openContext, openPage, visit } from "./Page.ts"
import { reachScreen } from "./Screens.ts"
import { PaymentPageService } from "./PaymentPageService.ts"

declare const PerformanceObserver: any
declare const window: any

const kilobyte = 1_024

/** Bytes over the wire, headers included, and requests of the first view (`experience`, budgets). */
const mostBytes = 14 * kilobyte
const mostRequests = 3

/** Bytes of each part, compressed. */
const mostHtml = 8 * kilobyte
const mostScript = 5.5 * kilobyte
const mostStyle = 4 * kilobyte

const bytesOf = async (url: string, encoding: "br" | "gzip", headers: Record<string, string> = {}) => {
  const { request } = await import("node:http")
  return new Promise<{ bytes: Buffer; encoding: string | undefined }>((resolve, reject) => {
    request(url, { headers: { ...headers, "accept-encoding": encoding } }, (answer) => {
      const chunks: Array<Buffer> = []
      answer.on("data", (chunk: Buffer) => chunks.push(chunk))
      answer.once("end", () => resolve({ bytes: Buffer.concat(chunks), encoding: answer.headers["content-encoding"] }))
    }).once("error", reject).end()
  })
}

/** A browser that notes in `window.shifts` what jumps without the payor's doing. */
const watching = (width: number) =>
  Effect.tap(
    openContext({ mobile: width < 1_000, width }),
    (context) =>
      Effect.promise(() =>
        context.addInitScript(() => {
          window.shifts = []
          new PerformanceObserver((list: any) => {
            for (const { hadRecentInput, value, sources } of list.getEntries()) {
              if (!hadRecentInput) {
                window.shifts.push(`${value} ${sources.map(({ node }: any) => node?.outerHTML?.slice(0, 80))}`)
              }
            }
          }).observe({ type: "layout-shift", buffered: true })
        })
      )
  )

/** A page that is sent by the test, piece by piece. */
const byHand = Effect.acquireRelease(
  Effect.callback<{ readonly asked: Promise<ServerResponse>; readonly port: number; readonly close: () => void }>(
    (resume) => {
      const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>()
      const server = createServer((request, response) => {
        response.setHeader("content-type", "text/html; charset=utf-8")
        if (request.url === "/") resolve(response)
        else response.writeHead(404).end()
      })
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({
          asked,
          port: (server.address() as AddressInfo).port,
          close: () => {
            server.closeAllConnections()
            server.close()
          }
        })))
    }
  ),
  ({ close }) => Effect.sync(close)
)

layer(PaymentPageService.layer, { excludeTestServices: true })("the first view", (it) => {
  for (const screen of ["choose", "waiting"] satisfies ReadonlyArray<Screen>) {
    it.effect(`of ${screen} stays within its budgets`, () =>
      Effect.gen(function*() {
        const { url } = yield* reachScreen[screen]
        const first = yield* visit(url)
        const { context } = first
        const clean = first.page.url()
        const cookies = (yield* Effect.promise(() => context.cookies())).map(({ name, value }) => `${name}=${value}`)
          .join("; ")
        const opened = yield* openPage(context)
        const session = yield* Effect.promise(() => context.newCDPSession(opened.page))
        let wire = 0
        session.on("Network.loadingFinished", ({ encodedDataLength }) => {
          wire += encodedDataLength
        })
        yield* Effect.promise(async () => {
          await session.send("Network.enable")
          await session.send("Network.setCacheDisabled", { cacheDisabled: true })
          await opened.page.goto(clean)
          await opened.page.waitForLoadState("networkidle")
        })
        const html = yield* Effect.promise(() => bytesOf(clean, "br", { cookie: cookies }))
        const script = opened.requests.find((each) => each.endsWith(".js"))!
        const island = yield* Effect.promise(() => bytesOf(script, "br"))
        const text = brotliDecompressSync(html.bytes).toString()
        const style = gzipSync(
          [...text.matchAll(/<style[^>]*>([\s\S]*?)<\/style>/g)].map(([, css]) => css).join("")
        ).length
        console.log(
          `${screen}: ${wire} bytes and ${opened.requests.length} requests; HTML ${html.bytes.length} br, ` +
            `script ${island.bytes.length} br, style ${style} gz`
        )
        assert.deepStrictEqual([html.encoding, island.encoding], ["br", "br"])
        assert.isAtMost(wire, mostBytes)
        assert.isAtMost(
          opened.requests.filter((each) => !each.startsWith("data:")).length,
          mostRequests,
          opened.requests.join()
        )
        assert.isAtMost(html.bytes.length, mostHtml)
        assert.isAtMost(island.bytes.length, mostScript)
        assert.isAtMost(style, mostStyle)
      }).pipe(Effect.scoped))
  }

  it.effect("does not jump while it loads", () =>
    Effect.gen(function*() {
      for (const screen of ["choose", "waiting"] as const) {
        const made = yield* reachScreen[screen]
        for (const width of [390, 1280]) {
          const { page } = yield* openPage(yield* watching(width))
          yield* Effect.promise(async () => {
            await page.goto(made.url)
            await page.waitForLoadState("networkidle")
            assert.deepStrictEqual(await page.evaluate(() => window.shifts), [], `${screen} ${width}`)
          })
        }
      }
    }).pipe(Effect.scoped))

  it.effect("does not jump where its head comes in pieces", () =>
    Effect.gen(function*() {
      const { url } = yield* reachScreen.choose
      const first = yield* visit(url)
      const html = yield* Effect.promise(async () => (await first.context.request.get(first.page.url())).text())
      const pieces = html.split(/(?=<div class="who">|<p class="due">|<span class="order">|<main)/)
      for (const width of [390, 1280]) {
        const { page } = yield* openPage(yield* watching(width))
        const { asked, port } = yield* byHand
        yield* Effect.promise(async () => {
          const opened = page.goto(`http://127.0.0.1:${port}/`)
          const response = await asked
          for (const [at, last] of [".logo", ".who b", ".order", ".due", "main"].entries()) {
            response.write(pieces[at])
            await page.locator(last).waitFor({ state: "attached" })
            await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
          }
          response.end()
          await opened
          assert.deepStrictEqual(await page.evaluate(() => window.shifts), [], String(width))
        })
      }
    }).pipe(Effect.scoped))
})
