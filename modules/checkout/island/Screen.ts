/** The screen: the newest fragment, and what is done when another takes its place. */
import type { Clocks } from "./Clocks.ts"
import { likeness, makeParser } from "./Fragment.ts"
import { keep } from "./Keep.ts"
import type { Say } from "./Voice.ts"

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

/** `filter` is called for a new screen once what was typed stands in it again. */
export const makeScreen = (state: HTMLElement, say: Say, clocks: Clocks, filter: () => void): Screen => {
  const parse = makeParser()
  let told: DOMStringMap = state.querySelector<HTMLElement>("[data-screen]")?.dataset ?? {}
  let shown = likeness(state)
  let isComposing = false
  /** What waits for the end of a composition. */
  let waiting: (() => void) | undefined

  state.addEventListener("compositionstart", () => {
    isComposing = true
  })
  state.addEventListener("compositionend", () => {
    isComposing = false
    // Not within the event: only after it is the text what it comes to.
    setTimeout(() => waiting?.())
  })

  /** Shows what works with a script only, before anything in it can have the focus. */
  const wire = (putBack?: () => void) => {
    for (const control of state.querySelectorAll<HTMLElement>("[data-copy],[data-filter]")) control.hidden = false
    putBack?.()
    filter()
    clocks.tick()
  }

  const swap = (box: HTMLElement, next: string) => {
    waiting = undefined
    shown = next
    isComposing = false
    const putBack = keep(state)
    state.replaceChildren(...box.childNodes)
    wire(putBack)
  }

  return {
    told: () => told,
    begin: () => {
      clocks.setBy(told)
      wire()
    },
    show: (text) => {
      const box = parse(text)
      const before = told.screen
      told = (box.firstElementChild as HTMLElement).dataset
      clocks.setBy(told)
      const next = likeness(box)
      waiting = undefined
      if (next === shown) return
      const isOther = told.screen !== before
      // What is composed (a script of many signs, a word on a phone) would be lost; another screen is more than that.
      if (isComposing && !isOther) waiting = () => swap(box, next)
      else swap(box, next)
      document.title = told.title ?? document.title
      if (isOther) say(told.say)
    }
  }
}
