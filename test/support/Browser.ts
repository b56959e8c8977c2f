/** A real browser: found where one is installed, else installed where that is possible, and started once for a run. */
import { spawnSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, dirname, join } from "node:path"
import { type BrowserServer, chromium } from "playwright-core"

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]

/** An installation that takes longer counts as impossible. */
const installMillis = 180_000

/** Headless, and asking nothing of anyone on its own. */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage"
]

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const onPath = (name: string): ReadonlyArray<string> =>
  (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name))

/**
 * The browser's path: `CHROME_PATH`, the first on the PATH, or the one that playwright keeps; undefined: there is none.
 */
export const findBrowser = (): string | undefined =>
  [
    ...process.env["CHROME_PATH"] === undefined ? [] : [process.env["CHROME_PATH"]],
    ...names.flatMap(onPath),
    chromium.executablePath()
  ].find(isExecutable)

const succeeds = (command: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"], timeout: installMillis, killSignal: "SIGKILL" })
    .status === 0

const fromPackages = (): boolean =>
  process.getuid?.() === 0 && onPath("apt-get").some(isExecutable) &&
  succeeds("apt-get", "update") &&
  succeeds("apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-noto-core")

const fromPlaywright = (): boolean => {
  const folder = dirname(createRequire(import.meta.url).resolve("playwright-core/package.json"))
  return succeeds(process.execPath, join(folder, "cli.js"), "install", "chromium")
}

/** The browser's path, after an installation where there was none; undefined where that failed too. */
export const browser = (): string | undefined => {
  const found = findBrowser()
  if (found !== undefined) return found
  for (const installed of [fromPackages, fromPlaywright]) {
    const path = installed() ? findBrowser() : undefined
    if (path !== undefined) return path
  }
  return undefined
}

/** Starts the browser for a whole run; who connects to its endpoint opens pages of their own. */
export const launch = (path: string): Promise<BrowserServer> =>
  chromium.launchServer({ executablePath: path, args: flags, headless: true })
