/** The list of ways to pay: a tile shows the networks of its currency here, and the button says what is chosen. */

/**
 * Makes the tiles of every screen ask for the state of their currency, by `move`, and gives what makes the button say
 * the way that is chosen.
 */
export const pickIn = (main: HTMLElement, state: HTMLElement, move: (url: string) => void): () => void => {
  const name = () => {
    const way = state.querySelector<HTMLElement>("[data-go]:checked")
    if (way) document.getElementById("go")!.textContent = way.dataset.go!
  }
  state.addEventListener("change", name)
  state.addEventListener("click", (event) => {
    const tile = (event.target as Element).closest<HTMLAnchorElement>("[data-tile]")
    if (!tile || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    const url = new URL(main.dataset.state!, tile.href)
    url.searchParams.set("currency", new URL(tile.href).searchParams.get("currency")!)
    // So the page that is loaded again shows the same.
    history.replaceState(null, "", tile.href)
    move(url.href)
  })
  return name
}
