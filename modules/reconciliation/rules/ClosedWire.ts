/** Closed months as JSON and as a file for spreadsheets (modules/docs/reference/reconciliation.md#closing). Pure. */
import { type Cell, csvLine, decimal, text } from "../../../schemas/Csv.ts"
import { flowNames } from "./Flows.ts"
import type { ClosedPeriod, Report } from "./Report.ts"

/** What the list tells of a closed month. */
export const closedObject = ({ actor, closedAt, hash, period, previousHash }: ClosedPeriod) => ({
  object: "closed_period" as const,
  period,
  previous_hash: previousHash,
  hash,
  actor,
  closed_at: closedAt
})

/** JSON text of a closed month with its report, whose bytes are those that were hashed. */
export const closedText = (closed: ClosedPeriod): string => {
  const fields = JSON.stringify(closedObject(closed))
  return `${fields.slice(0, -1)},"report":${closed.report}}`
}

const holdings = ["opening", ...flowNames, "closing"] as const

/** Columns of the file: version 1. */
export const closedColumns: ReadonlyArray<string> = [
  "period",
  "asset",
  "symbol",
  "account",
  ...holdings.flatMap((name) => [`${name}_units`, `${name}_usd`]),
  "chain_balance_units",
  "chain_balance_reason",
  "hash"
]

/** A row for each asset of each wallet. */
export const closedCsv = ({ hash, period, report }: ClosedPeriod): string => {
  const { wallets } = JSON.parse(report) as Report
  const rows = wallets.map((wallet): ReadonlyArray<Cell> => [
    text(period),
    text(wallet.asset),
    text(wallet.symbol),
    text(wallet.account),
    ...holdings.flatMap((name) => [decimal(wallet[name].units), decimal(wallet[name].amount_decimal)]),
    decimal(wallet.chain_balance?.units ?? null),
    text(wallet.chain_balance_reason),
    text(hash)
  ])
  return [closedColumns.map(text), ...rows].map(csvLine).join("")
}
