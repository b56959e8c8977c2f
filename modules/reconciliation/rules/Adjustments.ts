/** Adjustments as they are asked for and told (modules/docs/reference/reconciliation.md#adjustments). Pure. */
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { invalidParameter } from "../../../schemas/InvalidInput.ts"
import { formatUnits, parseUnits, signedUsdDecimal, signedUsdWire } from "../../../schemas/Money.ts"
import { accounts, bookValue } from "../../ledger/plugin.ts"
import { monthInWords, monthOf, readMonth } from "./Periods.ts"
import type { AssetToken, StoredAdjustment } from "./Report.ts"

export interface AdjustmentRequest {
  readonly asset: string
  readonly token_amount: string
  readonly amount?: number | undefined
  readonly account?: string | undefined
  readonly note: string
  readonly period?: string | undefined
  readonly explains?: string | undefined
}

/** So much of an asset. */
export interface AssetSum {
  readonly units: bigint
  readonly usdMillis: bigint
}

/** What an account holds of the asset. */
export interface WalletBalance extends AssetSum {
  readonly account: string
}

/** What of an asset is the merchant's to lose, by where it stands in the books. */
export interface OwnHoldings {
  readonly available: AssetSum
  /** What it decided to ignore. */
  readonly ignored: AssetSum
}

export type NewAdjustment = Pick<
  StoredAdjustment,
  "account" | "asset" | "explainsId" | "explainsPeriod" | "ignored" | "note" | "units" | "usdMillis"
>

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const atLeastZero = (value: bigint): bigint => (value > 0n ? value : 0n)

/** So much of a holding, and its share of the holding's dollars. */
const partOf = (holding: AssetSum, units: bigint, mostUsd: bigint): AssetSum => ({
  units,
  usdMillis: least(bookValue(holding, units), mostUsd)
})

/** The same part with more of the holding's dollars, `usd` more at most. */
const withMore = (part: AssetSum, holding: AssetSum, usd: bigint): AssetSum =>
  part.units === 0n ? part : {
    units: part.units,
    usdMillis: part.usdMillis + least(usd, atLeastZero(holding.usdMillis - part.usdMillis))
  }

/**
 * What a loss takes from each holding: units from the first as far as it has them, and the book value of what the
 * wallet lost. No holding gives more dollars than it has: others of the same asset were worth more when they came.
 */
const splitLoss = (wallet: AssetSum, first: AssetSum, second: AssetSum, units: bigint): [AssetSum, AssetSum] => {
  const value = bookValue(wallet, units)
  const ofFirst = least(units, atLeastZero(first.units))
  const from = partOf(first, ofFirst, value)
  const rest = partOf(second, units - ofFirst, value - from.usdMillis)
  const whole = withMore(from, first, value - from.usdMillis - rest.usdMillis)
  return [whole, withMore(rest, second, value - whole.usdMillis - rest.usdMillis)]
}

/** A loss as it is taken from what the merchant has: below zero, with the part that is taken from what it ignored. */
const lossOf = (
  wallet: AssetSum,
  { available, ignored }: OwnHoldings,
  units: bigint,
  isOfIgnored: boolean
): Pick<NewAdjustment, "ignored" | "units" | "usdMillis"> => {
  const [first, second] = isOfIgnored
    ? splitLoss(wallet, ignored, available, units)
    : splitLoss(wallet, available, ignored, units)
  const ofIgnored = isOfIgnored ? first : second
  return {
    units: -units,
    usdMillis: -(first.usdMillis + second.usdMillis),
    ignored: { units: -ofIgnored.units, usdMillis: -ofIgnored.usdMillis }
  }
}

const signedPattern = /^(-?)(\d{1,40}(?:\.\d{1,40})?)$/u

/** The one wallet that an adjustment is about, or what is wrong with the request. */
const chooseWallet = (
  asked: string | undefined,
  wallets: ReadonlyArray<WalletBalance>
): WalletBalance | PublicError => {
  const names = wallets.map(({ account }) => account).join(", ")
  if (wallets.length === 0) {
    return publicError("VALIDATION_ERROR", {
      message: "asset: none of your wallets has ever received it; GET /api/v1/balance lists those that they have",
      param: "asset"
    })
  }
  const chosen = asked === undefined ? wallets : wallets.filter(({ account }) => account === asked)
  return chosen.length === 1 ? chosen[0]! : publicError("VALIDATION_ERROR", {
    message: `account: name the wallet that has it, one of ${names}`,
    param: "account"
  })
}

/**
 * What of an asset is the merchant's to lose: what is available, and what it decided to ignore. The rest waits for a
 * decision or for its chain, or is promised to payors.
 */
export const ownHoldings = (balances: ReadonlyArray<WalletBalance>): OwnHoldings => {
  const held = (name: string): AssetSum => {
    const found = balances.find(({ account }) => account === name)
    return { units: -(found?.units ?? 0n), usdMillis: -(found?.usdMillis ?? 0n) }
  }
  return { available: held(accounts.available), ignored: held(accounts.ignored) }
}

/**
 * An adjustment of what a wallet holds, or what is wrong with the request. `wallets`: those that hold the asset.
 * `own`: what of it a loss can be taken from, in all of them. `isOfIgnored`: what it explains is money that was
 * ignored.
 */
export const readAdjustment = (
  request: AdjustmentRequest,
  wallets: ReadonlyArray<WalletBalance>,
  own: OwnHoldings,
  isOfIgnored: boolean,
  token: AssetToken | null,
  now: number
): NewAdjustment | PublicError => {
  const wallet = chooseWallet(request.account, wallets)
  if (isPublicError(wallet)) return wallet
  const [, sign, digits = ""] = signedPattern.exec(request.token_amount) ?? []
  const magnitude = parseUnits(digits, token?.decimals ?? 0)
  if (magnitude === undefined || magnitude === 0n) {
    const unit = token === null ? "whole base units, as the token is in no list" : `at most ${token.decimals} decimals`
    return invalidParameter("token_amount", `a decimal like "-12.5", not 0: ${unit}`)
  }
  if (request.note.trim() === "") return invalidParameter("note", "a text that says why: an auditor reads it")
  const period = request.period === undefined ? undefined : readMonth(request.period)
  if (period === null) return invalidParameter("period", monthInWords)
  if (period !== undefined && period.from > now) {
    return publicError("VALIDATION_ERROR", {
      message: `period: ${period.name} has not begun, so it has no difference that could be accounted for: name the ` +
        `month whose report has it, ${monthOf(now).name} or one before it`,
      param: "period"
    })
  }
  if (request.explains !== undefined && request.period === undefined) {
    return invalidParameter("period", "sent with `explains`: the month, like 2026-11, whose report has that difference")
  }
  const isLoss = sign === "-"
  const textOf = (units: bigint) => (token === null ? units.toString() : formatUnits(units, token.decimals))
  if (isLoss && magnitude > wallet.units) {
    return publicError("VALIDATION_ERROR", {
      message: `token_amount: by the books the wallet holds no more than ${textOf(wallet.units)}`,
      param: "token_amount"
    })
  }
  const most = atLeastZero(own.available.units + own.ignored.units)
  if (isLoss && magnitude > most) {
    return publicError("VALIDATION_ERROR", {
      message: `token_amount: only ${textOf(most)} of the asset is available to you, and ` +
        "the rest is pending, in suspense or kept for refunds: wait until its payments are final, decide on its " +
        "exceptions or cancel its refunds, then book this again",
      param: "token_amount"
    })
  }
  if (isLoss && request.amount !== undefined) {
    return invalidParameter("amount", "left out where coins are missing: they take their book value with them")
  }
  const gain = { units: magnitude, usdMillis: BigInt(request.amount ?? 0), ignored: { units: 0n, usdMillis: 0n } }
  return {
    ...(isLoss ? lossOf(wallet, own, magnitude, isOfIgnored) : gain),
    account: wallet.account,
    asset: request.asset,
    note: request.note,
    explainsPeriod: request.period ?? null,
    explainsId: request.explains?.toLowerCase() ?? null
  }
}

export const adjustmentObject = (adjustment: StoredAdjustment, token: AssetToken | null) => ({
  id: adjustment.id,
  object: "adjustment" as const,
  account: adjustment.account,
  asset: adjustment.asset,
  units: adjustment.units.toString(),
  token_amount: token === null ? null : formatUnits(adjustment.units, token.decimals),
  amount: signedUsdWire(adjustment.usdMillis),
  amount_decimal: signedUsdDecimal(adjustment.usdMillis),
  note: adjustment.note,
  period: adjustment.explainsPeriod,
  explains: adjustment.explainsId,
  balance_transaction_id: adjustment.balanceTransactionId,
  created_at: adjustment.createdAt
})
