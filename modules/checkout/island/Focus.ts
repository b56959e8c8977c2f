/** Where the focus starts: at the heading, where the payor's own doing has led to this page. */

/** Whether the payor asked for this page; remembers whether they ask for the next. */
const exchangeNavigationFlag = (next: boolean): boolean => {
  try {
    const wasOwnNavigation = sessionStorage.till !== undefined
    if (next) sessionStorage.till = ""
    else delete sessionStorage.till
    return wasOwnNavigation
  } catch {
    // Without storage the focus starts at the top, as on any page.
    return false
  }
}

/** Moves the focus to the heading of a page that was asked for by a form or a link of the page before. */
export const focusHeading = (state: HTMLElement): void => {
  document.addEventListener("submit", () => exchangeNavigationFlag(true))
  document.addEventListener("click", ({ defaultPrevented, target }) => {
    // What a link brings into this page leaves the focus at the link.
    if (defaultPrevented) return
    const link = (target as Element).closest<HTMLAnchorElement>("a[href]")
    if (link?.origin === location.origin && link.pathname === location.pathname && link.hash === "") {
      exchangeNavigationFlag(true)
    }
  })
  if (exchangeNavigationFlag(false)) state.querySelector("h1")?.focus()
}
