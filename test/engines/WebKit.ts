/** WebKit as GTK's MiniBrowser, driven by its own WebDriver on a screen that nobody sees. */
import { Effect } from "effect"
import { existsSync, globSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../support/Ports.ts"
import { temporaryDirectory } from "../support/Service.ts"
import { type Engine, keyActions, program, type Tab, type Visitor } from "./Engine.ts"

const driver = "/usr/bin/WebKitWebDriver"
const screen = "/usr/bin/Xvfb"
const browsers = "/usr/{lib,libexec}/**/webkit2gtk-4.*/MiniBrowser"

/** Without it the toolbar of the window keeps a page from being narrower than 447 pixels. */
const narrowToolbar = `window * {
  min-width: 0; padding: 0; margin: 0; border-width: 0; font-size: 1px; -gtk-icon-transform: scale(0.1);
}`

/** How WebDriver names an element in its answers. */
const element = "element-6066-11e4-a52e-4f735466cecf"

/** One request to the driver; the answer's value. */
const request = async (method: string, url: string, body?: object): Promise<any> => {
  const answer = await fetch(url, { method, ...body === undefined ? {} : { body: JSON.stringify(body) } })
  const { value } = await answer.json() as { readonly value: any }
  if (!answer.ok) throw new Error(`${value.error}: ${value.message}`)
  return value
}

const tabOf = (session: string, version: string): Tab => {
  const post = (path: string, body: object) => request("POST", `${session}/${path}`, body)
  const run: Tab["run"] = async (inPage, ...args) => {
    const script = `const [text, done] = arguments
      const run = async () => JSON.stringify(await (${inPage})(...JSON.parse(text)))
      run().then((text) => done({ text }), (cause) => done({ cause: String(cause) }))`
    const { cause, text } = await post("execute/async", { script, args: [JSON.stringify(args)] })
    if (cause !== undefined) throw new Error(cause)
    return text === undefined || text === null ? undefined : JSON.parse(text)
  }
  return {
    version,
    open: (url) => post("url", { url }),
    back: () => post("back", {}),
    run,
    click: async (selector) => {
      const found = await post("element", { using: "css selector", value: selector })
      await post(`element/${found[element]}/click`, {})
    },
    press: (...pressed) => post("actions", { actions: [keyActions(pressed)] }),
    // The window's own edge is not the page's.
    resize: async (width, height) => {
      await post("window/rect", { width, height: height + 100 })
      const edge = height + 100 - await run(() => (globalThis as any).innerHeight as number)
      await post("window/rect", { width, height: height + edge })
    },
    picture: async () => Buffer.from(await request("GET", `${session}/screenshot`), "base64")
  }
}

const start = (path: string) => ({ javaScript = true, language = "en-US", proxy, theme = "light" }: Visitor) =>
  Effect.gen(function*() {
    const home = yield* temporaryDirectory
    const screenArgs = ["-displayfd", "1", "-screen", "0", "1600x1600x24", "-nolisten", "tcp"]
    const [, display] = yield* program(screen, screenArgs, {}, /^(\d+)$/m)
    mkdirSync(join(home, "gtk-3.0"))
    writeFileSync(join(home, "gtk-3.0", "gtk.css"), narrowToolbar)
    const port = yield* freePort
    const url = `http://127.0.0.1:${port}`
    yield* program("/bin/sh", ["-c", `${driver} --port=${port} & echo begun; wait`], {
      DISPLAY: `:${display}`,
      LANG: `${language.replace("-", "_")}.UTF-8`,
      LANGUAGE: language.replace("-", "_"),
      HOME: home,
      XDG_CONFIG_HOME: home,
      XDG_RUNTIME_DIR: home,
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1"
    }, /begun/)
    const isUp = Effect.promise(() => request("GET", `${url}/status`).then(() => true, () => false))
    yield* Effect.repeat(Effect.delay(isUp, "20 millis"), { until: (is) => is, times: 500 })
    const capabilities = {
      "webkitgtk:browserOptions": {
        binary: path,
        args: [
          "--automation",
          `--enable-javascript=${javaScript}`,
          "--javascript-can-access-clipboard=true",
          ...theme === "dark" ? ["--dark-mode"] : []
        ]
      },
      proxy: { proxyType: "manual", httpProxy: proxy, sslProxy: proxy, noProxy: [] }
    }
    const made = yield* Effect.promise(() =>
      request("POST", `${url}/session`, { capabilities: { alwaysMatch: capabilities } })
    )
    return tabOf(`${url}/session/${made.sessionId}`, made.capabilities.browserVersion)
  })

/** Debian's packages of it. */
export const packages = ["webkit2gtk-driver", "xvfb", "fonts-noto-core"]

/** WebKit as it is installed; undefined: it is not. */
export const webkit = (): Engine | undefined => {
  const path = globSync(browsers)[0]
  if (!existsSync(driver) || !existsSync(screen) || path === undefined) return undefined
  return { name: "WebKit", start: start(path) }
}
