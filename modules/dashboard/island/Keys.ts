/** Keys for whoever works without a mouse: `/` to the search field, `Escape` out of it. */

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]")

export const startKeys = (): void => {
  const search = document.querySelector<HTMLInputElement>("form[role=search] input[type=search]")
  if (search === null) return
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !isTyping(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault()
      search.focus()
    } else if (event.key === "Escape" && event.target === search) search.blur()
  })
}
