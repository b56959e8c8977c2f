/** Leads back to the shop once all is paid, where the shop asked for it and the payor does not stop it. */
import type { Announce } from "./Announce.ts"
import { clockText } from "./Clocks.ts"
import { makeTimer } from "./Timer.ts"

/** Whether this page led back before; remembers that it does: who comes back to it wants to see it. */
const wasLedBack = (isLeading?: boolean): boolean => {
  const key = `till_back${location.pathname}`
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
  let left: number | undefined
  let isStopped = wasLedBack()

  const tick = (box: HTMLElement, link: HTMLAnchorElement) => {
    box.querySelector("time")!.textContent = clockText(left!)
    timer.set(1_000, () => {
      // Who pays from another app comes back to a page that has waited.
      if (!document.hidden && --left! <= 0) {
        isStopped = true
        wasLedBack(true)
        link.click()
      } else tick(box, link)
    })
  }

  return () => {
    timer.stop()
    const box = state.querySelector<HTMLElement>("[data-return]")
    const link = box?.previousElementSibling as HTMLAnchorElement | null | undefined
    if (!box || !link || isStopped) return
    box.hidden = false
    box.querySelector("button")!.addEventListener("click", () => {
      isStopped = true
      timer.stop()
      box.hidden = true
      state.querySelector("h1")?.focus()
    })
    if (left === undefined) {
      left = Number(box.dataset.return)
      announce(box.dataset.say)
    }
    tick(box, link)
  }
}
