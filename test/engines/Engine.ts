/** Browser engines other than Chromium's: where they are, how a page of theirs is driven, and how one is begun. */
import { Effect, type Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"

/** An installation that takes longer counts as impossible. */
const installMillis = 300_000

/** A program that takes longer to say that it is ready has failed. */
const startMillis = 30_000

/** What a visitor comes with. */
export interface Visitor {
  readonly theme?: "light" | "dark"
  /** What the browser asks for in `Accept-Language`; default `en-US`. */
  readonly language?: string
  readonly javaScript?: boolean
  /** `host:port` that every request of the browser goes through. */
  readonly proxy: string
}

/** The one page of a browser that was started for it. */
export interface Tab {
  /** Version of the browser. */
  readonly version: string
  /** Opens an address, and waits for it to be loaded. */
  readonly open: (url: string) => Promise<void>
  readonly back: () => Promise<void>
  /** Runs a function in the page, as the page's own scripts would run; it can use nothing but its arguments. */
  readonly run: <A, Args extends ReadonlyArray<unknown>>(
    inPage: (...args: Args) => A,
    ...args: Args
  ) => Promise<Awaited<A>>
  /** Clicks the middle of the first element that a CSS selector names, as a mouse does. */
  readonly click: (selector: string) => Promise<void>
  /** Presses keys one after the other: characters, or the names below. */
  readonly press: (...keys: ReadonlyArray<string>) => Promise<void>
  /** The size of the page's window, in CSS pixels. */
  readonly resize: (width: number, height: number) => Promise<void>
  /** What is to be seen in the window, as a PNG. */
  readonly picture: () => Promise<Buffer>
}

export interface Engine {
  readonly name: "Firefox" | "WebKit"
  /** Starts the browser with an empty profile; it is gone with the scope. */
  readonly start: (visitor: Visitor) => Effect.Effect<Tab, never, Scope.Scope>
}

/** Keys without a character (WebDriver, "Keyboard actions"). */
export const keys = { tab: "\uE004", enter: "\uE007", space: " ", down: "\uE015" } as const

/** A key pressed and let go, for each. */
export const keyActions = (pressed: ReadonlyArray<string>) => ({
  type: "key",
  id: "keyboard",
  actions: pressed.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }])
})

/** Installs packages of Debian where that can be done; where it cannot, what they would have brought stays missing. */
export const install = (packages: ReadonlyArray<string>): void => {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return
  const run = (...args: ReadonlyArray<string>) =>
    spawnSync("apt-get", args, {
      stdio: ["ignore", "inherit", "inherit"],
      timeout: installMillis,
      killSignal: "SIGKILL"
    })
  run("update")
  run("install", "-y", "--no-install-recommends", ...packages)
}

/**
 * A program that is gone with the scope, and what it printed that says it is ready. Its children go with it: it leads a
 * process group of its own.
 */
export const program = (
  path: string,
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  ready: RegExp
): Effect.Effect<RegExpExecArray, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly found: RegExpExecArray; readonly stop: () => void }>((resume) => {
      const child = spawn(path, args, {
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, ...environment }
      })
      const stop = () => {
        const isRunning = child.exitCode === null && child.signalCode === null
        if (child.pid !== undefined && isRunning) process.kill(-child.pid, "SIGKILL")
      }
      let printed = ""
      let isOver = false
      const over = (exit: Effect.Effect<{ readonly found: RegExpExecArray; readonly stop: () => void }>) => {
        isOver = true
        clearTimeout(timer)
        resume(exit)
      }
      const failed = (why: string) => {
        if (isOver) return
        stop()
        over(Effect.die(new Error(`${path} ${why}: ${printed}`)))
      }
      const timer = setTimeout(() => failed(`is not ready within ${startMillis} ms`), startMillis)
      // What it prints later is read all the same: a full pipe would stop it.
      const read = (chunk: Buffer) => {
        if (isOver) return
        printed += String(chunk)
        const found = ready.exec(printed)
        if (found !== null) over(Effect.succeed({ found, stop }))
      }
      child.stdout.on("data", read)
      child.stderr.on("data", read)
      child.once("error", ({ message }) => failed(message))
      child.once("exit", (code) => failed(`ended with ${code}`))
    }),
    ({ stop }) => Effect.sync(stop)
  ).pipe(Effect.map(({ found }) => found))
