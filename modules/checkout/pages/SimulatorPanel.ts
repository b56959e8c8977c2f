/** The panel of the simulator: a first paid invoice needs no wallet. */
import type { View } from "../rules.ts"
import { type Html, html } from "../../../runtime/pages/Html.ts"
import { form, mutedText } from "./Elements.ts"
import type { Texts } from "./Texts.ts"

/**
 * Play money, where the service has some: as closed as its place in a real page is small. After the end only late money
 * can come.
 */
export const simulatorPanel = (view: View, texts: Texts): Html | false => {
  const choices = [
    ["pay", texts.simulatePay],
    ["partial", texts.simulatePartial],
    ["overpay", texts.simulateOver],
    ["late", texts.simulateLate]
  ] as const
  const openChoices = view.payable ? choices : view.details.invoice_status === "expired" ? choices.slice(3) : []
  const buttons = openChoices.map(([what, text]) => html`<button name="what" value="${what}">${text}</button>`)
  return view.simulator && openChoices.length > 0 && html`<details>
    <summary>${texts.simulateTitle}</summary>
    ${mutedText(texts.simulateNote)}${form(view, texts, "simulate", buttons)}
  </details>`
}
