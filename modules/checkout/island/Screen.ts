/** The screen: the newest fragment, and what is done when another takes its place. */
import type { Clocks } from "./Clocks.ts"
import { likeness, makeParser } from "./Fragment.ts"
import { keep } from "./Keep.ts"
import type { Say } from "./Voice.ts"

export interface Screen {
  /** Takes charge of the fragment that came with the page. */
  readonly begin: () => void
  /**
   * The newest section's data, shown or not: `screen`, `title`, `say`; `now`, by which its clocks were drawn; `ws`, the
   * socket to follow; `since`, the event from which on; `price` (`Price.ts`), empty where it depends on none and
   * absent where any is news; `poll`, the seconds between looks without a socket.
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

  /** Shows what works with a script only, before anything in it can have the focus. */
  const wire = (putBack?: () => void) => {
    for (const control of state.querySelectorAll<HTMLElement>("[data-copy],[data-filter]")) control.hidden = false
    putBack?.()
    filter()
    clocks.tick()
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
      if (next === shown) return
      shown = next
      const putBack = keep(state)
      state.replaceChildren(...box.childNodes)
      wire(putBack)
      document.title = told.title ?? document.title
      if (told.screen !== before) say(told.say)
    }
  }
}
