/** What play money does to an invoice: how much a simulated payment carries. Pure. */
import { type BaseUnits, baseUnits } from "../../schemas/Money.ts"
import type { SimulateRequest } from "./api.ts"

type Action = (typeof SimulateRequest.Type)["action"]

/**
 * Base units of a simulated transfer where the caller names no amount; `asked` pays what remains. A part is half of it,
 * too much is a tenth more; both rounded up, so that one base unit is a payment too.
 *
 * @example
 * simulatedUnits("partial", baseUnits(5n)) // => 3n
 * simulatedUnits("overpay", baseUnits(5n)) // => 6n
 */
export const simulatedUnits = (action: Action, asked: BaseUnits): BaseUnits => {
  switch (action) {
    case "partial":
      return baseUnits((asked + 1n) / 2n)
    case "overpay":
      return baseUnits(asked + (asked + 9n) / 10n)
    default:
      return asked
  }
}
