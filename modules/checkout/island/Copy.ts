/** The copy buttons. */
import { makeTimer } from "./Timer.ts"
import type { Announce } from "./Announce.ts"

/** Milliseconds a copy button says so (Experience, "States"). */
const copiedMillis = 2000

/** The old way, for where there is no clipboard or it is forbidden; whether it was done. */
const copyBySelection = (main: HTMLElement, text: string): boolean => {
  const field = document.createElement("textarea")
  field.value = text
  field.readOnly = true
  field.className = "visually-hidden"
  main.append(field)
  field.select()
  const isDone = document.execCommand("copy")
  field.remove()
  return isDone
}

/** Makes every copy button work, on this screen and on those to come; `main` holds the words for what is copied. */
export const copyIn = (main: HTMLElement, announce: Announce): void => {
  const timer = makeTimer()
  let restoreLabel: (() => void) | undefined

  const confirmCopy = (button: HTMLElement) => {
    restoreLabel?.()
    const label = [...button.childNodes]
    restoreLabel = () => {
      button.replaceChildren(...label)
      restoreLabel = undefined
    }
    button.replaceChildren(main.dataset.copied!)
    announce(main.dataset.copied)
    timer.set(copiedMillis, () => restoreLabel?.())
  }

  const copy = (button: HTMLElement, text: string) => {
    const bySelection = () => {
      const isDone = copyBySelection(main, text)
      button.focus({ preventScroll: true })
      if (isDone) confirmCopy(button)
    }
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => confirmCopy(button), bySelection)
    else bySelection()
  }

  document.addEventListener("click", ({ target }) => {
    const button = (target as Element).closest<HTMLElement>("[data-copy]")
    if (button) copy(button, button.dataset.copy!)
  })
}
