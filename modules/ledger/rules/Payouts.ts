/**
 * Money that a wallet has sent: payouts of the merchant's own, and transfers that nothing owed
 * (modules/docs/reference/ledger.md#payouts). Pure.
 */
import { isPayoutException } from "../../../schemas/Payment.ts"
import { parseUnits } from "../../../schemas/Money.ts"
import { type Network, networks } from "../../../schemas/Network.ts"
import type { ExceptionRecord } from "../../invoices/plugin.ts"
import { accounts, assetOf, chainAccount } from "./Accounts.ts"
import { bookValue } from "./Adjustments.ts"
import { combine, type NameTransaction, nothingBooked, type Postings, type Source, type Transaction } from "./Moves.ts"

/** So much of an asset that left a wallet. */
export interface SentMoney {
  readonly asset: string
  /** Fingerprint of the wallet; null: it is none that is known. */
  readonly wallet: string | null
  readonly units: bigint
}

/** What an account holds of the asset, as it is kept: below zero for what is owed. */
export interface HeldAmount {
  readonly account: string
  readonly units: bigint
  readonly usdMillis: bigint
}

/**
 * The book value of money that leaves: its share of what the wallet holds, and no more dollars than are available, as
 * an adjustment takes it. Of a wallet that is not known, its share of what is available.
 */
export const sentValue = ({ units, wallet }: SentMoney, balances: ReadonlyArray<HeldAmount>): bigint => {
  const holding = (name: string, sign: bigint) => {
    const found = balances.find(({ account }) => account === name)
    return { units: sign * (found?.units ?? 0n), usdMillis: sign * (found?.usdMillis ?? 0n) }
  }
  const available = holding(accounts.available, -1n)
  if (wallet === null) return bookValue(available, units)
  const value = bookValue(holding(chainAccount(wallet), 1n), units)
  const most = available.usdMillis > 0n ? available.usdMillis : 0n
  return value < most ? value : most
}

interface Leaving {
  readonly id: string
  readonly type: "adjustment" | "payout"
  readonly asset: string
  readonly units: bigint
  readonly usdMillis: bigint
  /** Whether it leaves the merchant's balance. */
  readonly isMerchants: boolean
  readonly source: Source
  readonly debit: string
  readonly credit: string
  readonly now: number
}

const leave = (
  { asset, credit, debit, id, isMerchants, now, source, type, units, usdMillis }: Leaving
): Postings => ({
  transactions: [{
    id,
    type,
    startsPending: false,
    amount: -usdMillis,
    net: isMerchants ? -usdMillis : 0n,
    asset,
    units: -units,
    source,
    reverses: null,
    createdAt: now
  }],
  groups: [{
    transactionId: id,
    kind: "booked",
    createdAt: now,
    entries: [{ debit, credit, asset, units, usdMillis }]
  }]
})

/** The transaction of a payout: of its line, so that it is booked once. */
export const payoutTransaction = (lineId: string, nameTransaction: NameTransaction): string =>
  nameTransaction("payout", lineId, 1)

/** A payout of the merchant's own that was paid; `lineId`: `<batch>/<line>`. */
export const bookPayout = (
  lineId: string,
  sent: SentMoney,
  usdMillis: bigint,
  now: number,
  nameTransaction: NameTransaction
): Postings =>
  leave({
    ...sent,
    id: payoutTransaction(lineId, nameTransaction),
    type: "payout",
    usdMillis,
    isMerchants: true,
    source: { object: "batch_line", id: lineId },
    debit: accounts.available,
    credit: chainAccount(sent.wallet),
    now
  })

const isNetwork = (text: unknown): text is Network => networks.some((network) => network === text)

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null)

/** Money of an exception that has left a wallet for good; null: its transfer is not final, or nothing is known of it. */
export const sentByException = ({ evidence }: Pick<ExceptionRecord["exception"], "evidence">): SentMoney | null => {
  const { network, token_amount, token_amount_unit, token_decimals } = evidence
  if (evidence.final !== "yes" || !isNetwork(network) || typeof token_amount !== "string") return null
  const decimals = token_amount_unit === "token" && typeof token_decimals === "number" ? token_decimals : 0
  const units = parseUnits(token_amount, decimals)
  return units === undefined || units === 0n ? null : {
    asset: assetOf(network, { address: textOrNull(evidence.token) }, null),
    wallet: textOrNull(evidence.wallet),
    units
  }
}

/** Whether an exception is about money that left a wallet, which is never booked as received. */
export const isAboutSentMoney = ({ type }: Pick<ExceptionRecord["exception"], "type">): boolean =>
  isPayoutException(type)

/** What a decision says of money that nothing owed: who bears it. Undecided it is missing in `suspense`. */
const bearers: Readonly<Record<string, string>> = { accept: accounts.available, ignore: accounts.ignored }

/**
 * The groups of an exception about money that was sent: once its transfer is final it is missing in `suspense`, and a
 * decision puts the loss where it belongs. `stored`: its own transactions. `usdMillis`: its book value now.
 */
export const bookSentByException = (
  exception: ExceptionRecord["exception"],
  { nameTransaction, now, stored, usdMillis }: {
    readonly stored: ReadonlyArray<Pick<Transaction, "amount" | "type">>
    readonly usdMillis: bigint
    readonly now: number
    readonly nameTransaction: NameTransaction
  }
): Postings => {
  const sent = sentByException(exception)
  if (sent === null) return nothingBooked
  const before = stored.find(({ type }) => type === "payout")
  const value = before === undefined ? usdMillis : -before.amount
  const common = { ...sent, usdMillis: value, source: { object: "exception", id: exception.id }, now } as const
  const bearer = bearers[exception.resolution?.action ?? ""]
  const isDecided = stored.some(({ type }) => type === "adjustment")
  return combine([
    before !== undefined ? nothingBooked : leave({
      ...common,
      id: nameTransaction("payout", exception.id, 1),
      type: "payout",
      isMerchants: false,
      debit: accounts.suspense,
      credit: chainAccount(sent.wallet)
    }),
    bearer === undefined || isDecided ? nothingBooked : leave({
      ...common,
      id: nameTransaction("adjustment", exception.id, 1),
      type: "adjustment",
      isMerchants: bearer === accounts.available,
      debit: bearer,
      credit: accounts.suspense
    })
  ])
}
