/**
 * Books money that a wallet has sent: payouts of the merchant's own money, and transfers that no refund or payout asked
 * for (modules/docs/reference/ledger.md#payouts). Pure.
 */
import { isPayoutException } from "../../../schemas/Payment.ts"
import { parseUnits } from "../../../schemas/Money.ts"
import { type Network, networks } from "../../../schemas/Network.ts"
import type { ExceptionRecord } from "../../invoices/plugin.ts"
import { accounts, assetOf, chainAccount } from "./Accounts.ts"
import { bookValue } from "./Adjustments.ts"
import { combine, type NameTransaction, nothingBooked, type Postings, type Source, type Transaction } from "./Moves.ts"

/** An amount of an asset that left a wallet. */
export interface SentMoney {
  readonly asset: string
  /** Fingerprint of the wallet; null: it is not a registered wallet. */
  readonly wallet: string | null
  readonly units: bigint
}

/** The stored balance of an account in the asset: below zero for a liability. */
export interface HeldAmount {
  readonly account: string
  readonly units: bigint
  readonly usdMillis: bigint
}

/**
 * The book value of money that leaves: its share of the wallet's book value, and at most the dollars that are
 * available, because `merchant_available` must not become negative. For an unknown wallet, its share of what is
 * available.
 */
export const sentValue = ({ units, wallet }: SentMoney, balances: ReadonlyArray<HeldAmount>): bigint => {
  const holding = (name: string, sign: bigint) => {
    const found = balances.find(({ account }) => account === name)
    return { units: sign * (found?.units ?? 0n), usdMillis: sign * (found?.usdMillis ?? 0n) }
  }
  const available = holding(accounts.available, -1n)
  if (wallet === null) return bookValue(available, units)
  const value = bookValue(holding(chainAccount(wallet), 1n), units)
  const maximum = available.usdMillis > 0n ? available.usdMillis : 0n
  return value < maximum ? value : maximum
}

interface Departure {
  readonly id: string
  readonly type: "payout" | "suspense"
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

const bookDeparture = (
  { asset, credit, debit, id, isMerchants, now, source, type, units, usdMillis }: Departure
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
    paymentId: null,
    entries: [{ debit, credit, asset, units, usdMillis }]
  }]
})

/** The id of a payout's transaction. It comes from the line, so that a line is booked once. */
export const payoutTransaction = (lineId: string, nameTransaction: NameTransaction): string =>
  nameTransaction("payout", lineId, 1)

/** Books a payout of the merchant's own money; `lineId`: `<batch>/<line>`. */
export const bookPayout = (
  lineId: string,
  sent: SentMoney,
  usdMillis: bigint,
  now: number,
  nameTransaction: NameTransaction
): Postings =>
  bookDeparture({
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

/** Money of an exception that left a wallet; null: its transfer is not final, or its amount is unknown. */
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

/**
 * The account that bears the loss of such a transfer, by the decision about its exception. Before the decision the
 * money is missing in `suspense`.
 */
const accountByAction: Readonly<Record<string, string>> = { accept: accounts.available, ignore: accounts.ignored }

/**
 * The entries of an exception about money that was sent. Once its transfer is final, the money is booked out of
 * `suspense`; the decision then moves the loss to the account that bears it. `stored`: the transactions booked before.
 * `usdMillis`: the book value now.
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
  const bearingAccount = accountByAction[exception.resolution?.action ?? ""]
  const isDecided = stored.some(({ type }) => type === "suspense")
  return combine([
    before !== undefined ? nothingBooked : bookDeparture({
      ...common,
      id: nameTransaction("payout", exception.id, 1),
      type: "payout",
      isMerchants: false,
      debit: accounts.suspense,
      credit: chainAccount(sent.wallet)
    }),
    bearingAccount === undefined || isDecided ? nothingBooked : bookDeparture({
      ...common,
      id: nameTransaction("suspense", exception.id, 1),
      type: "suspense",
      isMerchants: bearingAccount === accounts.available,
      debit: bearingAccount,
      credit: accounts.suspense
    })
  ])
}
