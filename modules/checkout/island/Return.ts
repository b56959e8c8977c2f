/** Opens the shop's return link once all is paid, where the shop asked for it and the payor does not stop it. */
import type { Announce } from "./Announce.ts"
import { clockText } from "./Clocks.ts"
import { makeTimer } from "./Timer.ts"

/**
 * Whether this page has opened the return link before in this tab: who comes back wants to see the page. `isReturning`
 * stores that it does so now.
 */
const hasReturned = (isReturning?: boolean): boolean => {
  const key = "till" + location.pathname
  try {
    if (isReturning) sessionStorage[key] = ""
    return sessionStorage[key] !== undefined
  } catch {
    // Without storage the page returns on each visit, and the payor can stop it each time.
    return false
  }
}

/** Makes the function to call for each new screen: it starts the countdown, or continues that of the screen before. */
export const startReturn = (state: HTMLElement, announce: Announce): () => void => {
  const timer = makeTimer()
  let secondsLeft = 0
  let isStopped = hasReturned()

  const tick = (box: HTMLElement) => {
    box.querySelector("time")!.textContent = clockText(secondsLeft)
    timer.set(1000, () => {
      // The countdown waits while the page is hidden, so that who pays in another app still sees it.
      if (document.hidden || --secondsLeft > 0) tick(box)
      else {
        isStopped = true
        hasReturned(true)
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
    if (!secondsLeft) {
      secondsLeft = Number(box.dataset.return)
      announce(box.dataset.say)
    }
    tick(box)
  }
}
