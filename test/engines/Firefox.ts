/**
 * Firefox as it is installed, driven by WebDriver BiDi, which it speaks itself. Playwright 1.65 drives it too, but asks
 * at once for a command (`emulation.setMediaFeaturesOverride`) that Firefox 153 does not have.
 */
import { Effect, type Scope } from "effect"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { WebSocket } from "ws"
import { temporaryDirectory } from "../support/Service.ts"
import { type Engine, keyActions, program, type Tab, type Visitor } from "./Engine.ts"

const places = ["/usr/bin/firefox-esr", "/usr/bin/firefox"]

/** Only the page asks for anything, and all of it goes through the proxy, this machine's own addresses too. */
const preferences = ({ javaScript = true, language = "en-US", proxy, theme = "light" }: Visitor) => {
  const [host, port] = proxy.split(":")
  return {
    "javascript.enabled": javaScript,
    "intl.accept_languages": language,
    "layout.css.prefers-color-scheme.content-override": theme === "dark" ? 0 : 1,
    "network.proxy.type": 1,
    "network.proxy.http": host,
    "network.proxy.http_port": Number(port),
    "network.proxy.ssl": host,
    "network.proxy.ssl_port": Number(port),
    "network.proxy.allow_hijacking_localhost": true,
    "network.proxy.no_proxies_on": "",
    "app.normandy.enabled": false,
    "app.update.enabled": false,
    "browser.safebrowsing.downloads.remote.enabled": false,
    "browser.safebrowsing.malware.enabled": false,
    "browser.safebrowsing.phishing.enabled": false,
    "browser.shell.checkDefaultBrowser": false,
    "browser.startup.page": 0,
    "browser.region.network.url": "",
    "datareporting.policy.dataSubmissionEnabled": false,
    "dom.push.connection.enabled": false,
    "extensions.getAddons.cache.enabled": false,
    "extensions.systemAddon.update.enabled": false,
    "media.gmp-manager.updateEnabled": false,
    "network.captive-portal-service.enabled": false,
    "network.connectivity-service.enabled": false,
    "network.dns.disablePrefetch": true,
    "services.settings.server": "data:,",
    "toolkit.telemetry.server": "data:,"
  }
}

type Send = (method: string, params: object) => Promise<any>

/** A connection on which each command gets its answer. */
const connect = (url: string): Effect.Effect<Send, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<WebSocket>((resume) => {
      const socket = new WebSocket(url)
      socket.once("open", () => resume(Effect.succeed(socket)))
      socket.once("error", (cause) => resume(Effect.die(cause)))
    }),
    (socket) => Effect.sync(() => socket.terminate())
  ).pipe(Effect.map((socket) => {
    const waiting = new Map<number, PromiseWithResolvers<any>>()
    let sent = 0
    socket.on("message", (text) => {
      const { error, id, message, result } = JSON.parse(String(text))
      const asked = waiting.get(id)
      waiting.delete(id)
      if (error === undefined) asked?.resolve(result)
      else asked?.reject(new Error(`${error}: ${message}`))
    })
    socket.on("close", () => {
      for (const { reject } of waiting.values()) reject(new Error("Firefox is gone"))
    })
    return (method, params) => {
      const asked = Promise.withResolvers<any>()
      waiting.set(++sent, asked)
      socket.send(JSON.stringify({ id: sent, method, params }))
      return asked.promise
    }
  }))

const tabOf = async (send: Send): Promise<Tab> => {
  const { capabilities } = await send("session.new", { capabilities: {} })
  // The window it begins with never gets the focus, without which Enter presses no button.
  const { context } = await send("browsingContext.create", { type: "window" })
  const act = (...actions: ReadonlyArray<object>) => send("input.performActions", { context, actions })

  const call = async (text: string, given: ReadonlyArray<object>): Promise<any> => {
    const { exceptionDetails, result } = await send("script.callFunction", {
      functionDeclaration: text,
      arguments: given,
      awaitPromise: true,
      target: { context }
    })
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text)
    return result.value === undefined ? undefined : JSON.parse(result.value)
  }

  return {
    version: capabilities.browserVersion,
    open: async (url) => void await send("browsingContext.navigate", { context, url, wait: "complete" }),
    back: async () => void await send("browsingContext.traverseHistory", { context, delta: -1 }),
    // No promise but the function's own: where scripts are switched off, none is ever kept.
    run: (inPage, ...args) =>
      call(
        `(text) => {
          const made = (${inPage})(...JSON.parse(text))
          return made instanceof Promise ? made.then((value) => JSON.stringify(value)) : JSON.stringify(made)
        }`,
        [{ type: "string", value: JSON.stringify(args) }]
      ),
    click: async (selector) => {
      const locator = { type: "css", value: selector }
      const { nodes } = await send("browsingContext.locateNodes", { context, locator, maxNodeCount: 1 })
      if (nodes.length === 0) throw new Error(`nothing is named by ${selector}`)
      const { sharedId } = nodes[0]
      await call(`(node) => node.scrollIntoView({ block: "center", behavior: "instant" })`, [{ sharedId }])
      const origin = { type: "element", element: { sharedId } }
      await act({
        type: "pointer",
        id: "mouse",
        actions: [
          { type: "pointerMove", x: 0, y: 0, origin },
          { type: "pointerDown", button: 0 },
          { type: "pointerUp", button: 0 }
        ]
      })
    },
    press: async (...pressed) => void await act(keyActions(pressed)),
    resize: async (width, height) =>
      void await send("browsingContext.setViewport", { context, viewport: { width, height } }),
    picture: async () => {
      const { data } = await send("browsingContext.captureScreenshot", { context })
      return Buffer.from(data, "base64")
    }
  }
}

const start = (path: string) => (visitor: Visitor) =>
  Effect.gen(function*() {
    const profile = yield* temporaryDirectory
    const lines = Object.entries(preferences(visitor)).map(([name, value]) =>
      `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`
    )
    writeFileSync(join(profile, "user.js"), lines.join("\n"))
    const [, url] = yield* program(
      path,
      ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"],
      { HOME: profile, MOZ_CRASHREPORTER_DISABLE: "1", MOZ_REMOTE_SETTINGS_DEVTOOLS: "1" },
      /WebDriver BiDi listening on (ws:\S+)/
    )
    const send = yield* connect(`${url}/session`)
    return yield* Effect.promise(() => tabOf(send))
  })

/** Debian's packages of it. */
export const packages = ["firefox-esr", "fonts-noto-core"]

/** Firefox as it is installed; undefined: it is not. */
export const firefox = (): Engine | undefined => {
  const path = places.find(existsSync)
  return path === undefined ? undefined : { name: "Firefox", start: start(path) }
}
