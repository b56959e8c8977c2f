/** The price of an invoice in the currency of its shop, beside the dollars that it asks for. Pure. */
import { formatUnits, type Rate } from "../../../schemas/Money.ts"

/** What a shop asked for in its own currency. */
export interface ShopPrice {
  /** ISO 4217, such as `EUR`; never dollars, which an invoice has anyway. */
  readonly currency: string
  /** As the shop asked for it: a plain decimal. */
  readonly amount: string
  /** Digits of the currency's minor unit. */
  readonly digits: number
  /** Dollars that one of the currency was when the invoice was made. */
  readonly rate: Rate
}

/**
 * `received` rounds down to the minor unit, so that no more is shown than was received. `remaining` rounds up, so that
 * no less is shown than is still due. Both are in the merchant's favour.
 */
export type ShopRounding = "received" | "remaining"

/** usd_millis in a shop's currency, at the rate of the invoice, as a decimal with all digits of its minor unit. */
export const inShopCurrency = (
  { digits, rate }: Pick<ShopPrice, "digits" | "rate">,
  millis: bigint,
  rounding: ShopRounding
): string => {
  const dividend = millis * 10n ** BigInt(digits) * rate.denominator
  const divisor = 1_000n * rate.numerator
  return formatUnits(rounding === "received" ? dividend / divisor : (dividend + divisor - 1n) / divisor, digits)
}

/** {@link inShopCurrency}, except that the whole price is exactly the amount that the shop asked for. */
export const shopAmountOf = (
  price: ShopPrice,
  millis: bigint,
  invoiceMillis: bigint,
  rounding: ShopRounding
): string => millis === invoiceMillis ? price.amount : inShopCurrency(price, millis, rounding)
