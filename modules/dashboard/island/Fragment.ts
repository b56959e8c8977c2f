/** Pages of the dashboard as text, and how they become elements. */

interface Policy {
  readonly createHTML: (text: string) => string
}

interface TrustedTypes {
  readonly createPolicy: (name: string, rules: Policy) => Policy
}

/** Whether a text is a page of the dashboard or what is new of one, and not what a gateway put in its place. */
const isPage = (text: string): boolean => /^<(?:!doctype html><html[^]*<)?main id="main"/.test(text)

/** Makes the `main` of a page's text, under a policy that the page allows; null: the text is no page. */
export const makeReader = (name: "dashboard" | "dashboard-sign") => {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }
  // Where the browser has no Trusted Types, the text goes in as it is.
  const policy = trustedTypes?.createPolicy(name, { createHTML: (text) => text })
  return (text: string): HTMLElement | null =>
    isPage(text)
      ? new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html").querySelector("main")
      : null
}
