/** The payment page at `payment_url`. Without it the API is the same, and merchants bring their own page. */
import { Layer } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"

export const plugin = Plugin.make({
  name: "checkout",
  slot: "modules",
  layer: () => Layer.empty
})
