/** Adjustments as they are asked for and told (modules/docs/reference/reconciliation.md#adjustments). Pure. */
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { invalidParameter } from "../../../schemas/InvalidInput.ts"
import { formatUnits, parseUnits, signedUsdDecimal, signedUsdWire } from "../../../schemas/Money.ts"
import { bookValue } from "../../ledger/plugin.ts"
import { readMonth } from "./Periods.ts"
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

/** What a wallet's account holds of the asset. */
export interface WalletBalance {
  readonly account: string
  readonly units: bigint
  readonly usdMillis: bigint
}

export type NewAdjustment = Pick<
  StoredAdjustment,
  "account" | "asset" | "explainsId" | "explainsPeriod" | "note" | "units" | "usdMillis"
>

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

/** An adjustment of what a wallet holds, or what is wrong with the request. `wallets`: those that hold the asset. */
export const readAdjustment = (
  request: AdjustmentRequest,
  wallets: ReadonlyArray<WalletBalance>,
  token: AssetToken | null
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
  if (request.period !== undefined && readMonth(request.period) === null) {
    return invalidParameter("period", "a month of UTC, like 2026-11")
  }
  if (request.explains !== undefined && request.period === undefined) {
    return invalidParameter("period", "sent with `explains`: the month, like 2026-11, whose report has that difference")
  }
  const isLoss = sign === "-"
  if (isLoss && magnitude > wallet.units) {
    return publicError("VALIDATION_ERROR", {
      message: `token_amount: by the books the wallet holds no more than ${
        token === null ? wallet.units : formatUnits(wallet.units, token.decimals)
      }`,
      param: "token_amount"
    })
  }
  if (isLoss && request.amount !== undefined) {
    return invalidParameter("amount", "left out where coins are missing: they take their book value with them")
  }
  const usdMillis = isLoss ? -bookValue(wallet, magnitude) : BigInt(request.amount ?? 0)
  return {
    account: wallet.account,
    asset: request.asset,
    units: isLoss ? -magnitude : magnitude,
    usdMillis,
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
