/** What the server says is to be shown, as text: whether it is that, and how it becomes elements. */

/** Whether a text is a fragment of this page, and not what a gateway or a captive portal put in its place. */
export const isFragment = (text: string): boolean => /^\s*<section\s[^>]*\bdata-screen="/.test(text)

/** Answers whose fragment is shown. A fragment in any other, as of a server in trouble, is a failure like no answer. */
const displayableStatuses = [200, 401, 403, 404, 410]

export const isDisplayable = (status: number, text: string): boolean =>
  displayableStatuses.includes(status) && isFragment(text)

interface Policy {
  readonly createHTML: (text: string) => string
}

interface TrustedTypes {
  readonly createPolicy: (name: string, rules: Policy) => Policy
}

/** Makes elements of fragments, under the policy "pay" that the page allows; it can be made once. */
export const makeParser = () => {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }
  // Where the browser has no Trusted Types, the text goes in as it is.
  const policy = trustedTypes?.createPolicy("pay", { createHTML: (text) => isFragment(text) ? text : "" })
  return (text: string): HTMLElement => {
    const box = document.createElement("div")
    box.innerHTML = policy ? policy.createHTML(text) : text
    return box
  }
}

/** A fragment as text, less what differs each time it is made: two that are alike look alike. */
export const comparableHtml = (box: Element): string => {
  const copy = box.cloneNode(true) as Element
  for (const name of ["data-now", "data-since", "data-ws"]) copy.querySelector("[data-screen]")?.removeAttribute(name)
  for (const clock of copy.querySelectorAll<HTMLElement>("[data-ends]")) clock.replaceWith(clock.dataset.ends!)
  return copy.innerHTML.trim()
}
