/** A real browser, where one is installed: opens a page and tells everything it asked for and complained about. */
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { WebSocket } from "ws"

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The browser's path: `CHROME_PATH`, or the first on the PATH; undefined where there is none. */
export const browserPath: string | undefined = [
  ...process.env["CHROME_PATH"] === undefined ? [] : [process.env["CHROME_PATH"]],
  ...names.flatMap((name) => (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name)))
].find(isExecutable)

/** What happened while a page was open. */
export interface Visit {
  /** Addresses asked for, in order. */
  readonly requests: ReadonlyArray<string>
  /** Console errors and warnings, exceptions, and reports of the security policy. */
  readonly complaints: ReadonlyArray<string>
  /** What the expression came to, once it was not empty. */
  readonly shown: string
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly sessionId?: string
  readonly params?: any
  readonly result?: any
}

/** How long a page may take to show what is waited for. */
const patienceMillis = 30_000

const start = Effect.acquireRelease(
  Effect.callback<{ readonly endpoint: string; readonly stop: () => void }>((resume) => {
    const profile = mkdtempSync(join(tmpdir(), "till-browser-"))
    const child = spawn(browserPath ?? "", [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
      "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
      "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"
    ], { stdio: ["ignore", "ignore", "pipe"] })
    const stop = () => {
      child.once("exit", () => rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
      child.kill("SIGKILL")
    }
    let said = ""
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString()
      const endpoint = /DevTools listening on (ws:\S+)/.exec(said)?.[1]
      if (endpoint !== undefined) resume(Effect.succeed({ endpoint, stop }))
    })
    child.once("exit", (code) => resume(Effect.die(new Error(`the browser ended with ${code}: ${said}`))))
  }),
  ({ stop }) => Effect.sync(stop)
)

/**
 * Opens `url` and evaluates `expression` there until it is a text that is not empty. Every request and complaint from the
 * first byte to then, and for `settleMillis` more, is told.
 */
export const visit = (url: string, expression: string, settleMillis = 1_000): Effect.Effect<Visit, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { endpoint } = yield* start
    const socket = yield* Effect.acquireRelease(
      Effect.callback<WebSocket>((resume) => {
        const opening = new WebSocket(endpoint)
        opening.once("open", () => resume(Effect.succeed(opening)))
      }),
      (open) => Effect.sync(() => open.close())
    )
    const requests: Array<string> = []
    const complaints: Array<string> = []
    const waiting = new Map<number, (result: any) => void>()
    let sent = 0
    const send = (method: string, params: object = {}, sessionId?: string) =>
      Effect.callback<any>((resume) => {
        sent += 1
        waiting.set(sent, (result) => resume(Effect.succeed(result)))
        socket.send(JSON.stringify({ id: sent, method, params, ...sessionId === undefined ? {} : { sessionId } }))
      })
    socket.on("message", (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message
      if (message.id !== undefined) waiting.get(message.id)?.(message.result)
      const { params } = message
      switch (message.method) {
        case "Network.requestWillBeSent":
          requests.push(params.request.url)
          break
        case "Log.entryAdded":
          if (params.entry.level !== "verbose" && params.entry.level !== "info") complaints.push(params.entry.text)
          break
        case "Runtime.consoleAPICalled":
          if (["error", "warning", "assert"].includes(params.type)) {
            complaints.push(params.args.map((one: any) => String(one.value ?? one.description)).join(" "))
          }
          break
        case "Runtime.exceptionThrown":
          complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text)
          break
        case "Audits.issueAdded":
          if (params.issue.code === "ContentSecurityPolicyIssue") complaints.push(JSON.stringify(params.issue))
          break
      }
    })
    const { targetId } = yield* send("Target.createTarget", { url: "about:blank" })
    const { sessionId } = yield* send("Target.attachToTarget", { targetId, flatten: true })
    for (const domain of ["Network", "Log", "Runtime", "Page", "Audits"]) yield* send(`${domain}.enable`, {}, sessionId)
    yield* send("Page.navigate", { url }, sessionId)
    const end = performance.now() + patienceMillis
    let shown = ""
    while (shown === "" && performance.now() < end) {
      yield* Effect.sleep(100)
      const { result } = yield* send("Runtime.evaluate", { expression }, sessionId)
      shown = typeof result?.value === "string" ? result.value : ""
    }
    yield* Effect.sleep(settleMillis)
    return { requests, complaints, shown }
  })
