/** Pages of the run's browser, each in a context of its own, and what happened while they were open. */
import { Effect, type Scope } from "effect"
import { type Browser, type BrowserContext, chromium, type FrameLocator, type Page } from "playwright-core"
import { inject } from "vitest"

/** How long a page may take to show what is waited for: what never comes is told from a busy machine. */
const patienceMillis = 60_000

/** What a visitor comes with. */
export interface Visitor {
  readonly theme?: "light" | "dark"
  /** CSS pixels; default 1280. */
  readonly width?: number
  readonly height?: number
  /** What the browser asks for in `Accept-Language`; default `en`. */
  readonly language?: string
  readonly javaScript?: boolean
  /** Lets tests add scripts of their own (axe) to a page whose policy forbids them. */
  readonly bypassCSP?: boolean
  /** Touch and a mobile viewport. */
  readonly mobile?: boolean
  /** Takes a certificate that nobody vouches for. */
  readonly strangeCertificate?: boolean
}

/** An open page, and what was seen of it since before its first byte. */
export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Addresses asked for, in order, websockets included. */
  readonly requests: ReadonlyArray<string>
  /** Every console message, exception, dialog, and report of the security policy. */
  readonly complaints: ReadonlyArray<string>
}

let connected: Promise<Browser> | undefined

/** The run's browser, connected to once a file. */
const browser = Effect.promise(() => connected ??= chromium.connect(inject("browserEndpoint")))

/** A context without cookies and cache of others; closed with the scope. */
export const openContext = (visitor: Visitor = {}): Effect.Effect<BrowserContext, never, Scope.Scope> =>
  Effect.gen(function*() {
    const running = yield* browser
    const context = yield* Effect.acquireRelease(
      Effect.promise(() =>
        running.newContext({
          colorScheme: visitor.theme ?? "light",
          viewport: { width: visitor.width ?? 1280, height: visitor.height ?? 900 },
          locale: visitor.language ?? "en",
          javaScriptEnabled: visitor.javaScript ?? true,
          bypassCSP: visitor.bypassCSP ?? false,
          ignoreHTTPSErrors: visitor.strangeCertificate ?? false,
          ...visitor.mobile === true ? { hasTouch: true, isMobile: true } : {}
        })
      ),
      (context) => Effect.promise(() => context.close())
    )
    context.setDefaultTimeout(patienceMillis)
    return context
  })

/** An empty page in `context` that is watched from the start. */
export const openPage = (context: BrowserContext): Effect.Effect<OpenPage, never, Scope.Scope> =>
  Effect.gen(function*() {
    const requests: Array<string> = []
    const complaints: Array<string> = []
    const page = yield* Effect.acquireRelease(
      Effect.promise(() => context.newPage()),
      (page) => Effect.promise(() => page.close())
    )
    page.on("request", (request) => requests.push(request.url()))
    page.on("websocket", (socket) => requests.push(socket.url()))
    page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`))
    page.on("pageerror", (error) => complaints.push(`exception: ${error.stack ?? error.message}`))
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    const session = yield* Effect.promise(() => context.newCDPSession(page))
    session.on("Audits.issueAdded", ({ issue }) => {
      if (issue.code === "ContentSecurityPolicyIssue") complaints.push(`policy: ${JSON.stringify(issue.details)}`)
    })
    yield* Effect.promise(() => session.send("Audits.enable"))
    return { page, context, requests, complaints }
  })

/** A page of a visitor of its own, at `url`. */
export const visit = (url: string, visitor: Visitor = {}): Effect.Effect<OpenPage, never, Scope.Scope> =>
  Effect.gen(function*() {
    const opened = yield* openPage(yield* openContext(visitor))
    yield* Effect.promise(() => opened.page.goto(url))
    return opened
  })

/** Chooses a currency, and its network where it has several. */
export const pick = async (page: Page | FrameLocator, symbol: string, network: string): Promise<void> => {
  const tile = page.locator(`.tiles a[data-find^="${symbol.toLowerCase()} "]`)
  await tile.click()
  await page.locator(`.tiles a[data-find^="${symbol.toLowerCase()} "][aria-current]`).waitFor()
  const way = page.getByRole("radio", { name: network })
  if (await way.count() > 0) await way.check()
}

/** Chooses a currency and its network, and goes on with it. */
export const proceedWith = async (page: Page | FrameLocator, symbol: string, network: string): Promise<void> => {
  await pick(page, symbol, network)
  await page.getByRole("button", { name: "Continue" }).click()
}

/** An event's way to the screen: a frame, a request and a drawing. */
const stepsOfAnEvent = 3

/**
 * What this machine takes for so many requests of the page's script, in milliseconds. It lies ready in the service's
 * memory, so nothing that the service does for a page is in it.
 */
export const ownMillis = (page: Page) =>
  Effect.promise(async () => {
    const asked = `(async (at) => {
      await (await fetch(document.querySelector("script[src]").src, { cache: "no-store" })).text()
      return performance.now() - at
    })(performance.now())`
    return stepsOfAnEvent * Math.max(await page.evaluate(asked) as number, await page.evaluate(asked) as number)
  })

/** The requests of a page that went to another origin than `url`'s; data lies in the page itself. */
export const foreignRequests = ({ requests }: OpenPage, url: string): ReadonlyArray<string> => {
  const { host } = new URL(url)
  return requests.filter((each) => !each.startsWith("data:") && new URL(each).host !== host)
}
