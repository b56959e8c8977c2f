/**
 * Settlements of money that came straight from payors: the final payments of one day (UTC), asset and wallet are one
 * (modules/docs/reference/ledger.md#settlements). Nothing moves, so each is an account besides the balance, whose other
 * side is `settled`. Pure.
 */
import { isCounted } from "../../../schemas/Payment.ts"
import { signedUsdDecimal, signedUsdWire } from "../../../schemas/Money.ts"
import { uuidOf } from "../../../schemas/NamedUuid.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { PaymentSettlement, PaymentState } from "../../invoices/plugin.ts"
import { assetOf, type BookOwner, type Entry, unknownWallet } from "./Accounts.ts"
import type { Cause, Postings } from "./Moves.ts"
import { nothingBooked, paymentIdOf } from "./Moves.ts"
import type { AccountBalance, AssetToken } from "./Wire.ts"
import { tokenText } from "./Wire.ts"

/** The other side of every settlement. Accounts between it and {@link settledEnd} are theirs, and all others are not. */
export const settledAccount = "settled"
export const settlementPrefix = `${settledAccount}:`
/** The first name behind those of settlements: the character after their colon. */
export const settledEnd = `${settledAccount};`

const secondsPerDay = 86_400

/** Hex digits of an id: 48 bits, so that it is a number of JSON. Among 10,000 of a merchant two meet once in 5,000,000. */
const idDigits = 12

/** What makes a settlement the same one. */
interface SettlementKey extends BookOwner {
  /** Days since the epoch. */
  readonly day: number
  readonly asset: string
  readonly wallet: string
}

const settlementId = ({ asset, day, environment, merchantId, wallet }: SettlementKey): number => {
  const name = `settlement:${merchantId}:${environment}:${day}:${asset}:${wallet}`
  return Number.parseInt(uuidOf(name).replaceAll("-", "").slice(0, idDigits), 16)
}

/** Sorts by the day. The wallet is last, because anything may be in it. */
const accountOf = (key: SettlementKey): string =>
  `${settlementPrefix}${String(key.day).padStart(6, "0")}:${settlementId(key)}:${key.wallet}`

/** A settlement as its account names it. */
interface NamedSettlement {
  readonly id: number
  readonly day: number
  readonly wallet: string
}

export const readSettlement = (account: string): NamedSettlement => {
  const [, day = "", id = "", ...wallet] = account.split(":")
  return { day: Number.parseInt(day, 10), id: Number.parseInt(id, 10), wallet: wallet.join(":") }
}

const keyOf = (owner: BookOwner, payment: PaymentState): SettlementKey | null => {
  const { settlement } = payment
  const isFinal = settlement?.progress === "settled" && settlement.txHash === null && settlement.settledAt !== null
  return isFinal && isCounted(payment.status)
    ? {
      merchantId: owner.merchantId,
      environment: owner.environment,
      day: Math.floor(settlement.settledAt! / secondsPerDay),
      asset: assetOf(payment.network, payment.metadata.token, payment.tokenId),
      wallet: payment.wallet ?? unknownWallet
    }
    : null
}

/** The settlement of a payment with the id of the group that it is in; null: it is in none, or has it already. */
export const groupedSettlement = (owner: BookOwner, payment: PaymentState): PaymentSettlement | null => {
  const key = keyOf(owner, payment)
  if (key === null || payment.settlement === null) return null
  const id = settlementId(key)
  return payment.settlement.id === id ? null : { ...payment.settlement, id }
}

const entryOf = (owner: BookOwner, payment: PaymentState | undefined): Entry | null => {
  const key = payment === undefined ? null : keyOf(owner, payment)
  return key === null || payment === undefined ? null : {
    debit: accountOf(key),
    credit: settledAccount,
    asset: key.asset,
    units: payment.units,
    usdMillis: payment.amount
  }
}

/**
 * A payment becomes part of a settlement, or is none any more. `previous`: the payment as the books know it; undefined:
 * they do not.
 */
export const bookSettlement = (
  owner: BookOwner,
  previous: PaymentState | undefined,
  payment: PaymentState,
  { idOf, now, source }: Cause
): Postings => {
  const [before, after] = [entryOf(owner, previous), entryOf(owner, payment)]
  const isSame = before !== null && after !== null && before.debit === after.debit && before.units === after.units &&
    before.usdMillis === after.usdMillis
  if (isSame || (before === null && after === null)) return nothingBooked
  const entries: ReadonlyArray<Entry> = [
    ...(before === null ? [] : [{ ...before, debit: before.credit, credit: before.debit }]),
    ...(after === null ? [] : [after])
  ]
  const id = idOf("settlement")
  return {
    transactions: [{
      id,
      type: "settlement",
      startsPending: false,
      amount: (after?.usdMillis ?? 0n) - (before?.usdMillis ?? 0n),
      net: 0n,
      asset: (after ?? before)!.asset,
      units: (after?.units ?? 0n) - (before?.units ?? 0n),
      source,
      reverses: null,
      createdAt: now
    }],
    groups: [{ transactionId: id, kind: "booked", createdAt: now, paymentId: paymentIdOf(source), entries }]
  }
}

/** A settlement on the wire, from its account. */
export const settlementObject = (
  environment: Environment,
  { account, asset, units, usdMillis }: AccountBalance,
  token: AssetToken | null
) => {
  const { day, id, wallet } = readSettlement(account)
  return {
    id,
    object: "settlement",
    environment,
    period_start: day * secondsPerDay,
    period_end: (day + 1) * secondsPerDay,
    asset,
    token: token === null ? null : { id: token.id, symbol: token.symbol, decimals: token.decimals },
    wallet,
    currency: "usd",
    amount_unit: "usd_millis",
    amount: signedUsdWire(usdMillis),
    amount_decimal: signedUsdDecimal(usdMillis),
    units: units.toString(),
    token_amount: tokenText(units, token)
  }
}
