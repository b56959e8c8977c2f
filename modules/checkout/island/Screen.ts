/** The screen: the newest fragment, and what is done when another takes its place. */
import type { Clocks } from "./Clocks.ts"
import { comparableHtml, makeParser } from "./Fragment.ts"
import { captureInput } from "./InputState.ts"
import type { Announce } from "./Announce.ts"

export interface Screen {
  /** Takes charge of the fragment that came with the page. */
  readonly begin: () => void
  /**
   * The newest section's data, shown or not: `screen`, `title`, `say`; `now`, the server's time, and `ahead`, by how
   * much the merchant's is past it; `ws`, the socket to follow; `since`, the event from which on; `price` (`Price.ts`),
   * empty where it depends on none and absent where any is news; `poll`, the seconds between looks without a socket.
   */
  readonly told: () => DOMStringMap
  /** Takes a fragment, and shows it where a payor would see anything new. */
  readonly show: (text: string) => void
}

/**
 * `prepare` is called for a new screen before what was typed, chosen and reached stands in it again, `refresh` after.
 */
export const makeScreen = (
  state: HTMLElement,
  announce: Announce,
  clocks: Clocks,
  prepare: () => void,
  refresh: () => void
): Screen => {
  const parse = makeParser()
  let data: DOMStringMap = state.querySelector<HTMLElement>("[data-screen]")?.dataset ?? {}
  let currentHtml = comparableHtml(state)
  let isComposing = false
  /** What waits for the end of a composition. */
  let pendingSwap: (() => void) | undefined

  state.addEventListener("compositionstart", () => {
    isComposing = true
  })
  state.addEventListener("compositionend", () => {
    isComposing = false
    // Not within the event: only after it is the text what it comes to.
    setTimeout(() => pendingSwap?.())
  })

  /** Shows what works with a script only, before anything in it can have the focus. */
  const activate = (restoreInput?: () => void) => {
    for (const control of state.querySelectorAll<HTMLElement>("[data-copy],[data-filter]")) control.hidden = false
    prepare()
    restoreInput?.()
    refresh()
    clocks.tick()
  }

  const swap = (box: HTMLElement, next: string) => {
    pendingSwap = undefined
    currentHtml = next
    isComposing = false
    const restoreInput = captureInput(state)
    state.replaceChildren(...box.childNodes)
    activate(restoreInput)
  }

  return {
    told: () => data,
    begin: () => {
      clocks.setBy(data)
      activate()
    },
    show: (text) => {
      const box = parse(text)
      const before = data.screen
      data = (box.firstElementChild as HTMLElement).dataset
      clocks.setBy(data)
      const next = comparableHtml(box)
      pendingSwap = undefined
      if (next === currentHtml) return
      const isOther = data.screen !== before
      // What is composed (a script of many signs, a word on a phone) would be lost; another screen is more than that.
      if (isComposing && !isOther) pendingSwap = () => swap(box, next)
      else swap(box, next)
      document.title = data.title ?? document.title
      if (isOther) announce(data.say)
    }
  }
}
