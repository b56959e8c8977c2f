/** Balances and balance transactions as JSON (modules/docs/reference/ledger.md). Pure. */
import { formatUnits, signedUsdDecimal, signedUsdWire } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { accounts, type Entry, isChainAccount } from "./Accounts.ts"
import type { Group, Transaction } from "./Moves.ts"

/** An entry as it is stored. */
export interface StoredEntry extends Entry {
  readonly kind: Group["kind"]
  readonly createdAt: number
}

/** A balance transaction with the entries of its groups, as a merchant is shown it. */
export interface TransactionWithEntries extends Transaction {
  readonly environment: Environment
  readonly entries: ReadonlyArray<StoredEntry>
}

/** The same as the database has it. */
export interface StoredTransaction extends TransactionWithEntries {
  /** The order of the list. */
  readonly bookedMicros: bigint
}

/** What one account holds of one asset: debited less credited. */
export interface AccountBalance {
  readonly account: string
  readonly asset: string
  readonly units: bigint
  readonly usdMillis: bigint
}

/** What is known of an asset's token; null: it is in no list. */
export interface AssetToken {
  readonly id: number
  readonly symbol: string
  readonly decimals: number
}

export type TokenOfAsset = (asset: string) => AssetToken | null

export const tokenText = (units: bigint, token: AssetToken | null): string | null =>
  token === null ? null : formatUnits(units, token.decimals)

const statusOf = ({ entries, startsPending }: TransactionWithEntries): "pending" | "available" | "voided" => {
  if (!startsPending) return "available"
  const end = entries.find(({ kind }) => kind !== "booked")
  return end === undefined ? "pending" : end.kind === "posted" ? "available" : "voided"
}

const availableAt = ({ createdAt, entries, startsPending }: TransactionWithEntries): number | null =>
  startsPending ? entries.find(({ kind }) => kind === "posted")?.createdAt ?? null : createdAt

/** The balance transaction: exactly the fields of modules/docs/reference/ledger.md#balance-transactions. */
export const transactionObject = (transaction: TransactionWithEntries, tokenOf: TokenOfAsset) => {
  const { amount, asset, net, units } = transaction
  return {
    id: transaction.id,
    object: "balance_transaction",
    type: transaction.type,
    status: statusOf(transaction),
    amount: signedUsdWire(amount),
    amount_decimal: signedUsdDecimal(amount),
    fee: 0,
    fee_decimal: signedUsdDecimal(0n),
    net: signedUsdWire(net),
    net_decimal: signedUsdDecimal(net),
    currency: "usd",
    amount_unit: "usd_millis",
    asset,
    units: units.toString(),
    token_amount: asset === null ? null : tokenText(units, tokenOf(asset)),
    source: transaction.source,
    reverses: transaction.reverses,
    environment: transaction.environment,
    created_at: transaction.createdAt,
    available_at: availableAt(transaction),
    entries: transaction.entries.map((entry) => ({
      kind: entry.kind,
      debit: entry.debit,
      credit: entry.credit,
      asset: entry.asset,
      units: entry.units.toString(),
      usd_millis: signedUsdWire(entry.usdMillis),
      created_at: entry.createdAt
    }))
  }
}

/** What is owed to the merchant or waits: accounts that hold it below zero, so each is shown with the sign turned. */
const shownAccounts = {
  available: accounts.available,
  pending: accounts.pending,
  refund_payable: accounts.refundPayable,
  suspense: accounts.suspense,
  ignored: accounts.ignored
} as const

interface Sum {
  readonly units: bigint
  readonly usdMillis: bigint
}

const total = (balances: ReadonlyArray<AccountBalance>): Sum => ({
  units: balances.reduce((sum, { units }) => sum + units, 0n),
  usdMillis: balances.reduce((sum, { usdMillis }) => sum + usdMillis, 0n)
})

const negated = ({ units, usdMillis }: Sum): Sum => ({ units: -units, usdMillis: -usdMillis })

const sumObject = ({ units, usdMillis }: Sum, token: AssetToken | null) => ({
  amount: signedUsdWire(usdMillis),
  amount_decimal: signedUsdDecimal(usdMillis),
  units: units.toString(),
  token_amount: tokenText(units, token)
})

/** The balance: usd_millis of each kind, and of each asset what of it is where. */
export const balanceObject = (
  environment: Environment,
  balances: ReadonlyArray<AccountBalance>,
  tokenOf: TokenOfAsset
) => {
  const of = (name: keyof typeof shownAccounts, among: ReadonlyArray<AccountBalance>): Sum =>
    negated(total(among.filter(({ account }) => account === shownAccounts[name])))
  const names = ["available", "pending", "refund_payable", "suspense", "ignored"] as const
  const amounts = names.flatMap((name) => {
    const { usdMillis } = of(name, balances)
    return [[name, signedUsdWire(usdMillis)], [`${name}_decimal`, signedUsdDecimal(usdMillis)]] as const
  })
  return {
    object: "balance",
    environment,
    currency: "usd",
    amount_unit: "usd_millis",
    ...Object.fromEntries(amounts),
    assets: [...Map.groupBy(balances, ({ asset }) => asset)].map(([asset, rows]) => {
      const token = tokenOf(asset)
      return {
        asset,
        token: token === null ? null : { id: token.id, symbol: token.symbol, decimals: token.decimals },
        ...Object.fromEntries(names.map((name) => [name, sumObject(of(name, rows), token)])),
        chain: sumObject(total(rows.filter(({ account }) => isChainAccount(account))), token)
      }
    })
  }
}
