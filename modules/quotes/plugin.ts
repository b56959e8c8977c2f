/** Payment quotes: what an invoice costs in one token, at a rate that holds for five minutes. */
import * as Plugin from "../../runtime/Plugin.ts"
import { layer } from "./actor.ts"
import { migrations } from "./migrations.ts"

export { PaymentQuotes } from "./actor.ts"
export { type QuoteRow, type Valuation, valuation } from "./machine.ts"

export const plugin = Plugin.make({
  name: "quotes",
  slot: "modules",
  migrations,
  tables: ["quotes"],
  layer: () => layer
})
