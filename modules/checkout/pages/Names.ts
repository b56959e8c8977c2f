/** How a page calls things: networks, the merchant, the invoice, amounts, and what is too long to read. */
import { formatUnits } from "../../../schemas/Money.ts"
import { shopAmountOf, type ShopPrice, type ShopRounding } from "../../payments/plugin.ts"
import type { View } from "../rules.ts"
import { currencyAmount, dollars } from "../../../runtime/pages/Amounts.ts"
import type { Texts } from "./Texts.ts"

/** Letters of scripts from right to left. */
const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/** A name or amount inside a sentence of the other direction keeps its order, and leaves the sentence its own. */
export const isolate = ({ direction }: Texts, text: string): string =>
  direction === "rtl" || rightToLeft.test(text) ? `\u2068${text}\u2069` : text

/** How the merchant is called on the page. */
export const merchantOf = ({ details }: Pick<View, "details">): string => details.branding.name || details.merchant_name

/** The last eight of the 36 characters: enough to name an invoice to a person. The first ones tell its minute only. */
export const shortId = (id: string): string => `#${id.slice(-8)}`

/** Characters up to which an address or a hash is read as it is. */
const shortFrom = 14

/**
 * The start and the end of what is too long to read.
 *
 * @example
 * shortened("0x8c9D3F0b1a2E4C5d6f708192A3b4c5D6E7f8781D") // => "0x8c9D…781D"
 */
export const shorten = (text: string): string =>
  text.length <= shortFrom ? text : `${text.slice(0, 6)}…${text.slice(-4)}`

/** A decimal of US dollars as the page's language writes it. */
export const usd = (texts: Texts, decimal: string): string => isolate(texts, dollars(texts.locale, decimal))

/** usd_millis of the wire as a decimal. */
export const decimalOf = (millis: number): string => formatUnits(BigInt(millis), 3)

/** An amount in the shop's currency, formatted for the page's language. */
export const shopAmountText = ({ locale }: Texts, { currency, digits }: ShopPrice, amount: string): string =>
  currencyAmount(locale, currency, amount, digits)

/**
 * usd_millis that an invoice asks for or has received, as text: first in the shop's currency, where it has one, then in
 * dollars. The amount to send is never shown so, because it is an amount of a token.
 *
 * @example
 * priceText({ details, shopPrice: euros }, en, 10_000, "received") // => "€9.00 ($10.00)"
 */
export const priceText = (
  { details, shopPrice }: Pick<View, "details" | "shopPrice">,
  texts: Texts,
  millis: number,
  rounding: ShopRounding
): string => {
  const inDollars = usd(texts, decimalOf(millis))
  if (shopPrice === null) return inDollars
  const amount = shopAmountOf(shopPrice, BigInt(millis), BigInt(details.amount), rounding)
  return `${isolate(texts, shopAmountText(texts, shopPrice, amount))} (${inDollars})`
}
