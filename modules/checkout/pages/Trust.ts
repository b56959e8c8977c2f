/**
 * Below a shop's name: the domain that says that the shop is its own, or the one that the payor returns to. A domain is
 * shown as the DNS spells it, so that letters of other scripts that look alike do not look alike here.
 */
import { moment } from "../../../runtime/pages/Amounts.ts"
import { type Html, html } from "../../../runtime/pages/Html.ts"
import type { View } from "../rules.ts"
import { isolate } from "./Names.ts"
import type { Texts } from "./Texts.ts"

type Details = Pick<View["details"], "branding" | "payment_return_url">

const hostOf = (url: string | null): string | null => url !== null && URL.canParse(url) ? new URL(url).host : null

export const trustLine = (
  { branding: { domain, domain_verified_at: at }, payment_return_url }: Details,
  texts: Texts
): Html | null => {
  if (domain !== null && at !== null) {
    return html`<details class="trust"><summary><span class="visually-hidden">${texts.domainVerified} </span><bdi dir="ltr">${domain}</bdi></summary><p>${
      texts.domainChecked(isolate(texts, domain), isolate(texts, moment(texts.locale, at)))
    }</p></details>`
  }
  const host = hostOf(payment_return_url)
  return host === null ? null : html`<span class="order">${texts.returnsTo(isolate(texts, host))}</span>`
}
