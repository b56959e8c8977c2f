/** The policy of a new invoice: how much may be missing, and which settings of its merchant hold for it. */
import type { InvoiceSettings } from "../../../schemas/MerchantSettings.ts"
import { type UsdMillis, usdMillis, usdWire } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import type { InvoicePolicy } from "./State.ts"

/**
 * How many usd_millis an invoice may be short and still be paid (modules/docs/reference/invoices.md#tolerance):
 * min(max(floor(amount * bps / 10000), fixed), floor(amount / 10), 100000).
 *
 * @example
 * toleranceOf(usdMillis(50_000n), 50, 10) // => 250
 */
export const toleranceOf = (amount: UsdMillis, basisPoints: number, fixed: number): number => {
  const share = (amount * BigInt(basisPoints)) / 10_000n
  const wanted = share > BigInt(fixed) ? share : BigInt(fixed)
  const cap = amount / 10n < 100_000n ? amount / 10n : 100_000n
  return usdWire(usdMillis(wanted < cap ? wanted : cap))
}

/**
 * The policy a new invoice is created under: the merchant's settings, and what the invoice itself asks for. A commerce
 * invoice ends with its order, so it has no grace (modules/docs/reference/orders.md#accidents).
 */
export const policyOf = (
  settings: InvoiceSettings,
  request: {
    readonly amount: UsdMillis
    readonly commerce: boolean
    readonly toleranceBasisPoints: number | null
    readonly acceptedNetworks: ReadonlyArray<Network> | null
  }
): InvoicePolicy => ({
  tolerance: toleranceOf(
    request.amount,
    request.toleranceBasisPoints ?? settings.payment_tolerance_bps,
    settings.payment_tolerance_amount
  ),
  overpayTolerance: settings.overpay_tolerance_amount,
  latePayment: settings.late_payment_policy,
  lateWindowSeconds: settings.late_window_seconds,
  underpaidGraceSeconds: request.commerce ? 0 : settings.underpaid_grace_seconds,
  partialPayment: settings.partial_payment_policy,
  confirmations: settings.confirmation_policy,
  acceptedNetworks: request.acceptedNetworks
})
