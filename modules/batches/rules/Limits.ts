/** The limits for payouts of a merchant's own money (modules/docs/reference/batches.md#limits). Pure. */
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../../schemas/Money.ts"

/** usd_millis; null: no limit. */
export interface PayoutLimits {
  readonly batch: UsdMillis | null
  readonly day: UsdMillis | null
}

const daySeconds = 86_400

/** The UTC day of a time by the merchant's clock: `from` its first second to the first second of the next day. */
export const dayOf = (now: number): { readonly from: number; readonly to: number } => {
  const from = Math.floor(now / daySeconds) * daySeconds
  return { from, to: from + daySeconds }
}

const refusal = (setting: string, scope: string, limit: UsdMillis, requested: UsdMillis | null, used: bigint) =>
  publicError("PAYOUT_LIMIT_EXCEEDED", {
    message: requested === null
      ? `A token of this batch has no price now, so nobody can say whether it is below ${setting}: pay it in a batch ` +
        "once it has one, or have a person take the limit away"
      : `${setting}: this batch comes to ${usdDecimal(requested)} USD, and ${scope} may come to ${
        usdDecimal(limit)
      } USD` +
        (used === 0n ? "" : `, of which ${usdDecimal(usdMillis(used))} are used`),
    details: {
      limit: usdWire(limit),
      requested: requested === null ? null : usdWire(requested),
      used: usdWire(usdMillis(used))
    }
  })

/**
 * Why payouts are over a limit; null: they are not. `requested`: their value at the prices of now; null: a price is
 * missing. `usedOfDay`: the value of the day's other payouts.
 */
export const limitRefusal = (
  { batch, day }: PayoutLimits,
  requested: UsdMillis | null,
  usedOfDay: bigint
): PublicError | null => {
  if (batch !== null && (requested === null || requested > batch)) {
    return refusal("payout_limit_batch", "one batch", batch, requested, 0n)
  }
  return day !== null && (requested === null || requested + usedOfDay > day)
    ? refusal("payout_limit_day", "all batches of a day", day, requested, usedOfDay)
    : null
}
