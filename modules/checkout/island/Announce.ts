/** What is spoken to who hears the page. */
import { makeTimer } from "./Timer.ts"

/** A live region speaks a change: the same words twice need a moment of nothing between them, in milliseconds. */
const speechMillis = 50

/** Has a text spoken by a screen reader, in place of what it has not yet begun to speak. */
export type Announce = (text?: string) => void

export const makeAnnounce = (live: HTMLElement): Announce => {
  const timer = makeTimer()
  return (text = "") => {
    live.textContent = ""
    timer.set(speechMillis, () => live.textContent = text)
  }
}
