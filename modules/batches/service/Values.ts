/** What a batch is worth to the people who approve it (modules/docs/reference/batches.md#approvals). */
import { Effect } from "effect"
import { spotValueOf } from "../../../runtime/Prices.ts"
import type { BatchKind } from "../../../schemas/Batch.ts"
import { baseUnits, type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { type ActValue, isApproved, type RefundState } from "../../refunds/plugin.ts"
import type { PlannedLine } from "../rules.ts"
import type { BatchServices } from "./BatchServices.ts"

type PricedServices = Pick<BatchServices, "catalog" | "prices">

type ValuedLine = Pick<PlannedLine, "amount" | "refundId" | "tokenId" | "units">

/** Lines whose receiver and amount nobody has approved yet: a refund that people approved is approved. */
const unapprovedLines = <Line extends ValuedLine>(
  kind: BatchKind,
  lines: ReadonlyArray<Line>,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<Line> => {
  if (kind !== "refunds") return lines
  const approved = new Set(refunds.filter(isApproved).map(({ id }) => id))
  return lines.filter(({ refundId }) => refundId === null || !approved.has(refundId))
}

/** Lines of one token at the price of now, in one sum, so that rounding takes nothing from each. */
const spotOfToken = ({ catalog, prices }: PricedServices, lines: ReadonlyArray<ValuedLine>) => {
  const tokenId = lines[0]?.tokenId ?? null
  const token = tokenId === null ? undefined : catalog.get(tokenId)
  return token === undefined
    ? Effect.succeed(null)
    : spotValueOf(prices, token, baseUnits(lines.reduce((sum, { units }) => sum + units, 0n)))
}

/**
 * What the people of a batch answer for: the lines that nobody has approved yet, with what they were worth when the
 * batch was made, and now. `refunds`: those that its lines pay.
 */
export const valueToApprove = Effect.fnUntraced(function*(
  services: PricedServices,
  kind: BatchKind,
  lines: ReadonlyArray<ValuedLine>,
  refunds: ReadonlyArray<RefundState>
): Effect.fn.Return<ActValue> {
  const unapproved = unapprovedLines(kind, lines, refunds)
  const byToken = [...Map.groupBy(unapproved, ({ tokenId }) => tokenId).values()]
  const spots = yield* Effect.forEach(byToken, (alike) => spotOfToken(services, alike), { concurrency: 8 })
  const spot = spots.reduce<bigint | null>(
    (sum, value) => (sum === null || value === null ? null : sum + value),
    0n
  )
  const book: UsdMillis = usdMillis(unapproved.reduce((sum, { amount }) => sum + amount, 0n))
  return { book, spot: spot === null ? null : usdMillis(spot) }
})
