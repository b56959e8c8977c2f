/** Leads back to the shop once all is paid, where the shop asked for it and the payor does not stop it. */
import type { Announce } from "./Announce.ts"
import { clockText } from "./Clocks.ts"
import { makeTimer } from "./Timer.ts"

/** Whether this page led back before; remembers that it does: who comes back to it wants to see it. */
const wasLedBack = (isLeading?: boolean): boolean => {
  const key = "till" + location.pathname
  try {
    if (isLeading) sessionStorage[key] = ""
    return sessionStorage[key] !== undefined
  } catch {
    // Without storage a second look leads back again, which can be stopped as well.
    return false
  }
}

/** Answers what is to be called for each new screen: it begins to count, or goes on where the screen before was. */
export const leadBack = (state: HTMLElement, announce: Announce): () => void => {
  const timer = makeTimer()
  let left = 0
  let isStopped = wasLedBack()

  const tick = (box: HTMLElement) => {
    box.querySelector("time")!.textContent = clockText(left)
    timer.set(1000, () => {
      // Who pays from another app comes back to a page that has waited.
      if (document.hidden || --left > 0) tick(box)
      else {
        isStopped = true
        wasLedBack(true)
        const link = box.previousElementSibling as HTMLElement
        link.click()
      }
    })
  }

  return () => {
    const box = state.querySelector<HTMLElement>("[data-return]")
    timer.stop()
    if (!box || isStopped) return
    box.hidden = false
    box.querySelector("button")!.addEventListener("click", () => {
      isStopped = box.hidden = true
      timer.stop()
      state.querySelector("h1")?.focus()
    })
    if (!left) {
      left = Number(box.dataset.return)
      announce(box.dataset.say)
    }
    tick(box)
  }
}
