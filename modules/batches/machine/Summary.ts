/** What a batch comes to, so that a list shows it without its lines. Pure. */
import type { BatchStatus } from "../../../schemas/Batch.ts"
import { type BaseUnits, baseUnits, type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { BatchState, LineState } from "./State.ts"
import { statusOf } from "./Statuses.ts"

/** What the lines of a part pay of one token. */
export interface LineSum extends Pick<LineState, "decimals" | "part" | "symbol" | "tokenAddress" | "tokenId"> {
  readonly lines: number
  readonly units: BaseUnits
  readonly amount: UsdMillis
}

/** A batch without its lines. */
export interface BatchSummary extends Omit<BatchState, "lines"> {
  readonly status: BatchStatus
  /** In the order of the first line of each. */
  readonly sums: ReadonlyArray<LineSum>
}

const sumsOf = (lines: ReadonlyArray<LineState>): ReadonlyArray<LineSum> =>
  [...Map.groupBy(lines, ({ part, tokenAddress }) => JSON.stringify([part, tokenAddress])).values()].map((alike) => {
    const { decimals, part, symbol, tokenAddress, tokenId } = alike[0]!
    return {
      decimals,
      part,
      symbol,
      tokenAddress,
      tokenId,
      lines: alike.length,
      units: baseUnits(alike.reduce((sum, { units }) => sum + units, 0n)),
      amount: usdMillis(alike.reduce((sum, { amount }) => sum + amount, 0n))
    }
  })

export const summaryOf = ({ lines, ...batch }: BatchState): BatchSummary => ({
  ...batch,
  status: statusOf({ ...batch, lines }),
  sums: sumsOf(lines)
})
