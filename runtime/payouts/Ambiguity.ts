/**
 * Payments that only token, receiver and amount tell: lines of a list, and those whose text is the receiver's. Two of
 * them that can be executed at one time would each be found for both. Pure.
 */
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { PayoutLine, PayoutPart } from "../Payouts.ts"

/** What such a payment of a wallet is called among {@link PayoutExport.inputs}: one part at a time may have it. */
export const paymentName = (
  from: string,
  { amount, destination, tokenAddress }: Pick<PayoutLine, "amount" | "destination" | "tokenAddress">
): string => `payment ${from} ${tokenAddress ?? "native"} ${destination} ${amount}`

/**
 * Why lines of a part cannot be told from others; null: they can. `chosen`: those that only these three tell. `isList`:
 * no two of them may be alike either.
 */
export const refusalOfAmbiguity = (
  { from, lines }: Pick<PayoutPart, "from" | "lines">,
  chosen: (line: PayoutLine) => boolean,
  spentInputs: ReadonlySet<string>,
  isList: boolean
): PublicError | null => {
  const names = new Set<string>()
  for (const [place, line] of lines.entries()) {
    if (!chosen(line)) continue
    const name = paymentName(from, line)
    if (spentInputs.has(name) || (isList && names.has(name))) {
      return publicError("LINES_AMBIGUOUS", {
        message: `Line ${place + 1} pays the same amount to the same receiver as ` +
          (spentInputs.has(name) ? "another part that is not over: wait until it is" : "another line of the list"),
        details: { line: place + 1 }
      })
    }
    names.add(name)
  }
  return null
}
