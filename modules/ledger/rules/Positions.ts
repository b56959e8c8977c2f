/**
 * Where money that was received is: a function of how its payment, or its exception, stands
 * (modules/docs/reference/ledger.md#what-is-booked). Pure.
 */
import { isCounted } from "../../../schemas/Payment.ts"
import {
  type Aggregate,
  amountIfAccepted,
  type ExceptionRecord,
  hasLeft,
  type PaymentState,
  unmatchedTransfer
} from "../../invoices/plugin.ts"
import { type Account, accounts, assetOf } from "./Accounts.ts"

/** Types of balance transactions that bring money somewhere. */
export type ArrivalType = "payment" | "credit" | "suspense"

/** So much money in one account, and the wallet that received it. */
export interface Position {
  readonly account: Account
  readonly asset: string
  readonly wallet: string | null
  readonly units: bigint
  readonly usdMillis: bigint
  /** What its balance transaction is called. */
  readonly type: ArrivalType
}

/**
 * Whether both are as many units of an asset on the same wallet, and worth the same, in whichever accounts they are.
 */
export const hasSameValue = (a: Position, b: Position): boolean =>
  a.asset === b.asset && a.wallet === b.wallet && a.units === b.units && a.usdMillis === b.usdMillis

export const isSamePosition = (a: Position | null, b: Position | null): boolean =>
  a === null || b === null ? a === b : a.account === b.account && hasSameValue(a, b)

/**
 * The money of a payment; null: it is not on its chain. What counts is the merchant's, pending until it is there to
 * stay. What is refused waits in `suspense` for a decision.
 */
export const paymentPosition = (
  { exceptions }: Pick<Aggregate, "exceptions">,
  payment: PaymentState
): Position | null => {
  if (payment.status === "reverted") return null
  const money = {
    asset: assetOf(payment.network, payment.metadata.token, payment.tokenId),
    wallet: payment.wallet ?? null,
    units: payment.units,
    usdMillis: amountIfAccepted(payment) ?? payment.amount
  }
  if (payment.status !== "rejected") {
    const account = isCounted(payment.status) ? accounts.available : accounts.pending
    return { ...money, account, usdMillis: payment.amount, type: "payment" }
  }
  const last = exceptions.findLast(({ paymentId, type }) =>
    paymentId === payment.id && type === payment.metadata.exception
  )
  return { ...money, ...refusedPlace(last?.resolution?.action, payment.confirmedAt !== null) }
}

/** Where money is that pays no invoice, by what was decided on it. */
const refusedPlace = (action: string | undefined, isFinal: boolean): Pick<Position, "account" | "type"> =>
  action === "credit"
    ? { account: isFinal ? accounts.available : accounts.pending, type: "credit" }
    : { account: action === "ignore" ? accounts.ignored : accounts.suspense, type: "suspense" }

/**
 * The money of an exception without an invoice; null: it left its chain, or an invoice has it now. Such an exception
 * opens once its transfer is final. While a refund of it stands it is in `suspense`, out of which the refund takes it.
 */
export const unmatchedPosition = (
  exception: Pick<ExceptionRecord["exception"], "amount" | "evidence" | "resolution" | "status">
): Position | null => {
  const { amount, resolution } = exception
  const transfer = hasLeft(exception) || resolution?.action === "assign" ? null : unmatchedTransfer(exception)
  return transfer === null ? null : {
    ...refusedPlace(resolution?.action, true),
    asset: assetOf(transfer.network, transfer.token, null),
    wallet: transfer.wallet,
    units: transfer.units,
    usdMillis: amount
  }
}

/** usd_millis that a paid invoice is short of: tolerated, or waived by a person. */
export const waivedAmount = ({ amount, amountPaid, status }: Aggregate["invoice"]): bigint =>
  status === "paid" && amountPaid < amount ? amount - amountPaid : 0n
