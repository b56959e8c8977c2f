/** The engines of a run, and a page of the service in one of them. */
import { Effect, type Scope } from "effect"
import { PaymentPageService } from "../browser/PaymentPageService.ts"
import { until } from "../support/Service.ts"
import { makeRecordingProxy, type RecordingProxy } from "./RecordingProxy.ts"
import { type Engine, install, type Tab, type Visitor } from "./Engine.ts"
import * as Firefox from "./Firefox.ts"
import * as WebKit from "./WebKit.ts"

declare const document: any

const all = {
  Firefox: { find: Firefox.firefox, packages: Firefox.packages },
  WebKit: { find: WebKit.webkit, packages: WebKit.packages }
} as const

/** Those that are installed. */
export const engines = (): ReadonlyArray<Engine> => Object.values(all).flatMap(({ find }) => find() ?? [])

/** Installs what is missing where that can be done; answers the names of those that still are. */
export const installMissing = (): ReadonlyArray<string> => {
  for (const { find, packages } of Object.values(all)) if (find() === undefined) install(packages)
  return Object.entries(all).flatMap(([name, { find }]) => find() === undefined ? [name] : [])
}

/** How long a page may take to show what is waited for. */
const patienceMillis = 30_000

/** A page of a browser of its own, and the door it goes through. */
export interface EngineView {
  readonly tab: Tab
  readonly door: RecordingProxy
}

/** Starts the engine for one visitor, of whom nobody knows anything yet. */
export const openView = (
  engine: Engine,
  as: Omit<Visitor, "proxy"> = {}
): Effect.Effect<EngineView, never, Scope.Scope | PaymentPageService> =>
  Effect.gen(function*() {
    const { service } = yield* PaymentPageService
    const door = yield* makeRecordingProxy(service().url)
    const tab = yield* engine.start({ ...as, proxy: door.host })
    return { tab, door }
  })

/** The name of the screen that is shown; undefined: none, as while another page is on its way. */
export const screenOf = (tab: Tab): Promise<string | undefined> =>
  tab.run(() => document.querySelector("[data-screen]")?.dataset.screen as string | undefined).catch(() => undefined)

/** Waits for a screen. */
export const waitForScreen = ({ tab }: EngineView, screen: string): Effect.Effect<unknown> =>
  until(`the page shows ${screen}`, Effect.promise(() => screenOf(tab)), (found) => found === screen, patienceMillis)

/** Waits until a selector names something that is to be seen; `is` false: until it does not. */
export const waitForElement = ({ tab }: EngineView, selector: string, is = true): Effect.Effect<unknown> => {
  const look = (wanted: string): boolean =>
    document.querySelector(wanted)?.checkVisibility({ visibilityProperty: true }) === true
  const looked = Effect.promise(() => tab.run(look, selector).catch(() => undefined))
  return until(`${selector} is ${is ? "" : "not "}seen`, looked, (found) => found === is, patienceMillis)
}

/** Waits until the page follows the service over its socket. */
export const waitForSocket = ({ door }: EngineView): Effect.Effect<unknown> =>
  until("the socket is open", Effect.sync(() => door.sockets()), (open) => open > 0, patienceMillis)

/** Chooses a currency on its first network, and goes on with it. */
export const choose = Effect.fnUntraced(function*(seen: EngineView, symbol: string) {
  yield* Effect.promise(() => seen.tab.click(`.tiles a[data-find^="${symbol} "]`))
  yield* waitForElement(seen, `.tiles a[data-find^="${symbol} "][aria-current]`)
  yield* Effect.promise(() => seen.tab.click(".ways button.main"))
})
