/** Signing in by a link, whose token stands in the fragment. */

/** Puts the token of `/dashboard/signin/link#t=…` into the form. It is sent when a person presses the button. */
export const readLink = (): void => {
  const token = new URLSearchParams(location.hash.slice(1)).get("t")
  const field = document.querySelector<HTMLInputElement>("form[data-link] input[name=token]")
  if (token === null || field === null) return
  field.value = token
  // A page that is reloaded, or its address copied, carries no token any more.
  history.replaceState(null, "", location.pathname + location.search)
  field.form?.querySelector<HTMLButtonElement>("button")?.focus()
}
