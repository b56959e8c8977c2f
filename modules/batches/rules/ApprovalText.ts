/** What of a batch people sign when they approve it (modules/docs/reference/approvals.md#what-is-signed). Pure. */
import { formatUnits, usdDecimal, usdMillis } from "../../../schemas/Money.ts"
import type { ApprovedContent } from "../../refunds/plugin.ts"
import type { BatchState, LineState } from "../machine/State.ts"

/** What the lines of one token pay, in words. */
const totalOf = (lines: ReadonlyArray<LineState>): string => {
  const [{ decimals, symbol, tokenAddress }] = lines as [LineState]
  const units = lines.reduce((sum, line) => sum + line.units, 0n)
  return `${formatUnits(units, decimals)} ${symbol}, ${tokenAddress ?? "the network's own coin"}`
}

/** The content hash stands for all lines in their order; the sums are for whoever reads. */
export const approvedBatch = (
  { contentHash, environment, from, id, kind, lines, merchantId, network }: BatchState
): ApprovedContent => {
  const byToken = [...Map.groupBy(lines, ({ tokenAddress }) => tokenAddress).values()]
  const amount = usdMillis(lines.reduce((sum, line) => sum + line.amount, 0n))
  return {
    object: "batch",
    id,
    merchantId,
    environment,
    lines: [
      ["Kind", kind],
      ...byToken.map((each) => ["Pays", totalOf(each)] as const),
      ["Payments", String(lines.length)],
      ["Network", network],
      ["From", from ?? ""],
      ["Amount", `${usdDecimal(amount)} USD`],
      ["Content", contentHash]
    ]
  }
}
