/**
 * The lines of a part as a list for people and for tools that know nothing of this service: format `csv`. Nothing on
 * the chain keeps it from being paid late or twice (modules/docs/reference/batches.md#exports). Pure.
 */
import { csvLine, decimal, text } from "../../schemas/Csv.ts"
import { formatUnits } from "../../schemas/Money.ts"
import { paymentName } from "./EqualLines.ts"
import type { PayoutExport, PayoutLine, PayoutPart } from "../Payouts.ts"

/** The columns of Safe's CSV app, and the memo, without which some receivers cannot be paid. */
const header = "token_type,token_address,receiver,amount,id,memo\r\n"

/** `tokenType`: what the network calls its tokens. */
export const payoutList = (lines: ReadonlyArray<PayoutLine>, tokenType: string): string =>
  header + lines.map(({ amount, decimals, destination, memo, reference, tokenAddress }) =>
    csvLine([
      text(tokenAddress === null ? "native" : tokenType),
      text(tokenAddress),
      text(destination),
      decimal(formatUnits(amount, decimals)),
      text(reference),
      text(memo)
    ])
  ).join("")

/** A list as an export. `builtAt`: height of the newest block. */
export const listExport = (
  { from, lines }: Pick<PayoutPart, "from" | "lines">,
  tokenType: string,
  builtAt: bigint,
  notices: ReadonlyArray<string>
): PayoutExport => ({
  format: "csv",
  payload: payoutList(lines, tokenType),
  validUntil: null,
  trace: null,
  builtAt,
  inputs: lines.map((line) => paymentName(from, line)),
  isSimulated: false,
  notices: [
    "A list: nothing on the chain keeps it from being paid late, or twice. Pay it once, from the wallet of the batch.",
    ...notices
  ]
})
