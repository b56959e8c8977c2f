/** The drawer of the simulator: a first paid invoice needs no wallet. */
import type { View } from "../machine.ts"
import { html, type Html } from "./Html.ts"
import { form, soft } from "./Parts.ts"
import type { Texts } from "./Texts.ts"

/**
 * Play money, where the service has some: as closed as its place in a real page is small. After the end only late money
 * can come.
 */
export const drawer = (view: View, texts: Texts): Html | false => {
  const choices = [
    ["pay", texts.simulatePay],
    ["partial", texts.simulatePartial],
    ["overpay", texts.simulateOver],
    ["late", texts.simulateLate]
  ] as const
  const open = view.payable ? choices : view.details.invoice_status === "expired" ? choices.slice(3) : []
  const buttons = open.map(([what, text]) => html`<button name="what" value="${what}">${text}</button>`)
  return view.simulator && open.length > 0 && html`<details>
    <summary>${texts.simulateTitle}</summary>
    ${soft(texts.simulateNote)}${form(view, texts, "simulate", buttons)}
  </details>`
}
