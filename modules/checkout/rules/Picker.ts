/** The two steps of the list of ways to pay: a currency, then one of its networks. Pure. */
import { descriptorOf } from "../../../schemas/Network.ts"
import type { AvailableToken } from "../../payments/api.ts"

type PaymentMethod = Pick<
  typeof AvailableToken.Type,
  | "id"
  | "min_amount"
  | "network"
  | "network_fee_usd"
  | "supports_stable_settlement"
  | "token_symbol"
  | "unavailable_reason"
>

/** Why a way to pay cannot be taken now. */
export type Obstacle = "network" | "price" | "minimum" | "other"

/** What stands against paying `remaining` usd_millis this way; null: nothing. */
export const obstacleTo = (method: PaymentMethod, remaining: number): Obstacle | null => {
  if (method.unavailable_reason === "NETWORK_DEGRADED") return "network"
  if (method.unavailable_reason === "RATE_STALE") return "price"
  if (method.unavailable_reason !== null) return "other"
  return method.min_amount > remaining ? "minimum" : null
}

/** What a way to pay costs, for its place in the list: one whose fee is not known comes last. */
const feeOf = ({ network_fee_usd }: PaymentMethod): number => network_fee_usd ?? Number.MAX_VALUE

/** A currency, and the ways to pay with it: what can be paid now first, then the networks that cost least. */
export interface Currency<Method> {
  readonly symbol: string
  readonly methods: ReadonlyArray<Method>
}

/** What the list shows: every currency, the one whose networks are shown, and the way that is chosen from the start. */
export interface Picker<Method> {
  readonly currencies: ReadonlyArray<Currency<Method>>
  readonly current: Currency<Method> | null
  readonly preselected: Method | null
}

export interface PickerInput<Method> {
  /** In the order of `sortPaymentMethods`. */
  readonly tokens: ReadonlyArray<Method>
  /** usd_millis that remain to be paid. */
  readonly remaining: number
  /** The symbol that the payor asks for; null, or one that is not listed: none. */
  readonly currency: string | null
  /** The token chosen before. */
  readonly preselectedToken: number | null
}

/**
 * The list of ways to pay in its two steps. Currencies are in the order of their first way to pay, but what can be paid
 * on more networks comes first among those that can be paid, and among dollar coins. The currency is the one asked for,
 * else that of the way chosen before, else the first.
 */
export const pickerOf = <Method extends PaymentMethod>(
  { currency, preselectedToken, remaining, tokens }: PickerInput<Method>
): Picker<Method> => {
  const isFree = (method: Method): boolean => obstacleTo(method, remaining) === null
  const rank = ({ methods: [first] }: Currency<Method>): number =>
    first === undefined ? 0 : (isFree(first) ? 0 : 2) + (first.supports_stable_settlement ? 0 : 1)
  const bySymbol = Map.groupBy(tokens, ({ token_symbol }) => token_symbol)
  const currencies = [...bySymbol].map(([symbol, methods]) => ({
    symbol,
    methods: methods.toSorted((a, b) =>
      Number(isFree(b)) - Number(isFree(a)) ||
      feeOf(a) - feeOf(b) ||
      descriptorOf(a.network).paymentListRank - descriptorOf(b.network).paymentListRank
    )
  })).sort((a, b) => rank(a) - rank(b) || b.methods.length - a.methods.length)
  const remembered = tokens.find((method) => method.id === preselectedToken && isFree(method))
  const symbol = bySymbol.has(currency ?? "") ? currency : remembered?.token_symbol ?? currencies[0]?.symbol
  const current = currencies.find((each) => each.symbol === symbol) ?? null
  const preselected = current?.methods.find(({ id }) => id === remembered?.id) ?? current?.methods.find(isFree) ?? null
  return { currencies, current, preselected }
}

/** The way to pay with the lowest fee, where several can be paid now and no other of them costs as little; else null. */
export const cheapestOf = <Method extends PaymentMethod>(
  methods: ReadonlyArray<Method>,
  remaining: number
): Method | null => {
  const [first, second] = methods.filter((method) => obstacleTo(method, remaining) === null)
    .toSorted((a, b) => feeOf(a) - feeOf(b))
  return first !== undefined && second !== undefined && feeOf(first) < feeOf(second) ? first : null
}
