/** The search among the currencies. */
import { makeTimer } from "./Timer.ts"
import type { Announce } from "./Announce.ts"

/** Whether a currency is found: it has every word that was typed, in any order. */
export const isFound = (row: string, query: string): boolean =>
  query.toLowerCase().split(/\s+/).every((word) => row.includes(word))

/** Milliseconds without a key before the count of what is found is spoken. */
const typingMillis = 500

/** Shows the currencies that are found, wherever they are; gives the words for their count. */
const filter = (state: HTMLElement, input: HTMLInputElement): string | undefined => {
  const rows = [...state.querySelectorAll<HTMLElement>("[data-find]")]
  const found = rows.filter(({ dataset }) => isFound(dataset.find!, input.value))
  // The one whose networks are shown stays in sight.
  for (const row of rows) row.hidden = !found.includes(row) && !row.matches("[aria-current]")
  const more = state.querySelector<HTMLDetailsElement>("#more")
  if (more && input.value) more.open = true
  return (JSON.parse(input.dataset.found ?? "[]") as ReadonlyArray<string>)[found.length]
}

/** Makes the search work on every screen that has one; what it gives filters a new screen by what is typed already. */
export const searchIn = (state: HTMLElement, announce: Announce): () => void => {
  const timer = makeTimer()
  state.addEventListener("input", ({ target }) => {
    const input = target as HTMLInputElement
    if (!input.matches("[data-filter]")) return
    const found = filter(state, input)
    timer.set(typingMillis, () => announce(found))
  })
  state.addEventListener("keydown", (key) => {
    const input = key.target as HTMLInputElement
    if (key.key !== "Enter" || key.isComposing || !input.matches("[data-filter]")) return
    // Enter in the search goes to what was found, not on with it: the payor has not seen it yet.
    key.preventDefault()
    const rows = [...state.querySelectorAll<HTMLElement>("[data-find]")]
    rows.find(({ dataset }) => isFound(dataset.find!, input.value))?.focus()
  })
  return () => {
    for (const input of state.querySelectorAll<HTMLInputElement>("[data-filter]")) filter(state, input)
  }
}
