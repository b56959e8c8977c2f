/**
 * Lines that are found on the chain by wallet, token, receiver and amount alone, because their transfer carries no
 * name: lines of a list, and lines whose text is the receiver's memo. If two such lines are equal and can be paid at
 * the same time, one transfer would be taken for both. Pure.
 */
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { PayoutLine, PayoutPart } from "../Payouts.ts"

/** The name of such a line among {@link PayoutExport.inputs}: only one open part may have it. */
export const paymentName = (
  from: string,
  { amount, destination, tokenAddress }: Pick<PayoutLine, "amount" | "destination" | "tokenAddress">
): string => `payment ${from} ${tokenAddress ?? "native"} ${destination} ${amount}`

/**
 * Why a line of a part could be confused with another one; null: none can. `isNameless`: whether a line is found by
 * these four alone. `isList`: two equal lines of the part itself are refused too, because a list pays them separately.
 */
export const refusalOfEqualLines = (
  { from, lines }: Pick<PayoutPart, "from" | "lines">,
  isNameless: (line: PayoutLine) => boolean,
  spentInputs: ReadonlySet<string>,
  isList: boolean
): PublicError | null => {
  const names = new Set<string>()
  for (const [place, line] of lines.entries()) {
    if (!isNameless(line)) continue
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
