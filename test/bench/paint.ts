/**
 * What a payor with a weak phone on a slow line waits for: from the opening of `payment_url` to the first and the
 * largest thing painted, and how far the page jumps meanwhile. Each load is a browser's first one: nothing is cached,
 * both redirects count.
 */
import { Effect } from "effect"
import type { Browser } from "playwright-core"
import { median, type ReportLine } from "./Report.ts"

/** A slow 4G line, and a processor four times slower than this machine's (experience, budgets). */
const line = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 }
const slowdown = 4

const loads = 5

/** Milliseconds to the first paint, at most (experience, budgets). */
const firstPaintMillis = 1_000

/** Milliseconds after the load in which a late paint or jump would still count. */
const settleMillis = 1_000

declare const window: any
declare const performance: any
declare const PerformanceObserver: any

interface Painted {
  readonly first: number
  readonly largest: number
  readonly shift: number
}

const load = (browser: Browser, url: string): Effect.Effect<Painted> =>
  Effect.promise(async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send("Network.enable")
    await session.send("Network.emulateNetworkConditions", line)
    await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown })
    await page.addInitScript(() => {
      window.seen = { largest: 0, shift: 0 }
      const watch = (type: string, note: (entry: any) => void) =>
        new PerformanceObserver((list: any) => list.getEntries().forEach(note)).observe({ type, buffered: true })
      watch("largest-contentful-paint", ({ startTime }) => window.seen.largest = startTime)
      watch("layout-shift", ({ value }) => window.seen.shift += value)
    })
    await page.goto(url, { waitUntil: "load" })
    await page.waitForTimeout(settleMillis)
    const seen: Painted = await page.evaluate(() => ({
      ...window.seen,
      first: performance.getEntriesByName("first-contentful-paint")[0].startTime
    }))
    await context.close()
    return seen
  })

/** Paints of the list of ways to pay, and of the page with a route chosen. */
export const paint = Effect.fnUntraced(function*(
  browser: Browser,
  bill: Effect.Effect<{ readonly url: string; readonly choose: Effect.Effect<void> }>
) {
  const lines: Array<ReportLine> = []
  for (const [what, chosen] of [["the ways to pay", false], ["address and QR", true]] as const) {
    const seen: Array<Painted> = []
    for (let each = 0; each < loads; each++) {
      const { choose, url } = yield* bill
      if (chosen) yield* choose
      seen.push(yield* load(browser, url))
    }
    const of = (pick: (painted: Painted) => number): number => median(seen.map(pick))
    lines.push(
      {
        section: "page",
        what: `slow 4G, processor / ${slowdown}: first paint of ${what}`,
        value: of(({ first }) => first),
        unit: "ms",
        goal: { atMost: firstPaintMillis },
        note: `from payment_url, both redirects; largest ${of(({ largest }) => largest).toFixed(0)} ms`
      },
      {
        section: "page",
        what: "the same, layout shift",
        value: of(({ shift }) => shift),
        unit: "",
        goal: { atMost: 0 }
      }
    )
  }
  return lines
})
