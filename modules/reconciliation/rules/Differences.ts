/**
 * Where chain, books and events disagree, each with its cause (modules/docs/reference/reconciliation.md#causes). Pure.
 */
import type { Span } from "./Periods.ts"

/** Complete for v1. */
export const causes = [
  "unmatched_chain",
  "unmatched_ledger",
  "amount",
  "timing",
  "reorg",
  "fee",
  "dust",
  "unknown_token",
  "external_spend"
] as const
export type Cause = typeof causes[number]

/** Causes that say that something is wrong; the others tell why two figures may differ though both are right. */
const unexplained: ReadonlySet<Cause> = new Set(["unmatched_chain", "unmatched_ledger", "amount"])

export const isExplained = ({ cause, isAdjusted }: Pick<Difference, "cause" | "isAdjusted">): boolean =>
  isAdjusted || !unexplained.has(cause)

/** What a transfer and its booking say of the same money; null: there is none. */
export interface Comparison {
  /** The payment or the exception that the money is of. */
  readonly source: { readonly object: "invoice_payment" | "exception"; readonly id: string }
  readonly asset: string
  readonly chain: {
    readonly units: bigint
    /** Epoch seconds of its block. */
    readonly at: number
    readonly txHash: string
    /** Of a token that is in no list. */
    readonly isUnlisted: boolean
    /** What it means for its payment is decided. */
    readonly isHandled: boolean
  } | null
  readonly ledger: {
    readonly units: bigint
    readonly usdMillis: bigint
    /** Epoch seconds of its first booking. */
    readonly at: number
    /** It takes back money of an earlier period. */
    readonly reversesEarlier: boolean
    /** It was taken back when the period was over, as its chain has it no more. */
    readonly isReversedLater: boolean
  } | null
  /** usd_millis that the payment counts for; null: it counts for zero, or there is none. */
  readonly countedUsdMillis: bigint | null
  /** Why its payment is refused; null: it is not. */
  readonly rejection: string | null
}

export interface Difference {
  readonly cause: Cause
  readonly asset: string
  readonly account: string | null
  /** Chain less books, when the period ends. */
  readonly units: bigint
  /** usd_millis, not below zero: what it is about. */
  readonly usdMillis: bigint
  /** Epoch seconds: since when. */
  readonly at: number
  readonly source: Comparison["source"] | null
  readonly txHash: string | null
  /** A person has accounted for it by an adjustment. */
  readonly isAdjusted: boolean
}

/** Why the two sides of a comparison differ; null: they agree, or the period is not about it. */
export const differenceOf = (
  { asset, chain, countedUsdMillis, ledger, rejection, source }: Comparison,
  period: Span
): Difference | null => {
  const isInPeriod = (seconds: number) => seconds >= period.from && seconds < period.to
  if (!isInPeriod(chain?.at ?? ledger?.at ?? 0) && !isInPeriod(ledger?.at ?? chain?.at ?? 0)) return null
  const counted = countedUsdMillis ?? 0n
  const of = (cause: Cause, usdMillis: bigint, units = (chain?.units ?? 0n) - (ledger?.units ?? 0n)): Difference => ({
    cause,
    asset,
    account: null,
    units,
    usdMillis: usdMillis < 0n ? -usdMillis : usdMillis,
    at: chain?.at ?? ledger?.at ?? 0,
    source,
    txHash: chain?.txHash ?? null,
    isAdjusted: false
  })
  if (ledger === null) {
    if (chain === null) return null
    if (chain.isUnlisted) return of("unknown_token", 0n)
    return of(chain.isHandled ? "unmatched_chain" : "timing", counted)
  }
  if (ledger.reversesEarlier) return of("reorg", ledger.usdMillis, 0n)
  if (ledger.isReversedLater) return of("reorg", ledger.usdMillis)
  if (chain === null) return ledger.units === 0n ? null : of("unmatched_ledger", ledger.usdMillis)
  if (ledger.units > chain.units) return of("unmatched_ledger", ledger.usdMillis - counted)
  if (ledger.units === 0n) return of(chain.isHandled ? "unmatched_chain" : "timing", counted)
  if (ledger.units < chain.units) return of("amount", ledger.usdMillis)
  if (countedUsdMillis !== null && counted !== ledger.usdMillis) return of("amount", ledger.usdMillis - counted)
  const [isOnChain, isBooked] = [chain.at < period.to, ledger.at < period.to]
  if (isInPeriod(chain.at) !== isInPeriod(ledger.at)) {
    const units = isOnChain === isBooked ? 0n : isOnChain ? chain.units : -chain.units
    return of("timing", ledger.usdMillis, units)
  }
  if (rejection === "below_dust") return of("dust", ledger.usdMillis)
  return chain.isUnlisted ? of("unknown_token", ledger.usdMillis) : null
}

/** What a wallet held on its chain when the period had ended. */
export interface ChainReading {
  /** Base units, less what came after the period's end. */
  readonly units: bigint
  /** Whether an address of it has ever sent something: the proof that its owner spends from it. */
  readonly hasSent: boolean
  /** Epoch seconds of the block. */
  readonly at: number
}

/** What the books say that a wallet holds at the end of the period. */
export interface BookedBalance {
  readonly asset: string
  readonly account: string
  readonly closing: { readonly units: bigint; readonly usdMillis: bigint }
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value)

/** The part of `gap` that `known` explains: of the same direction, and no more than there is. */
const explainedPart = (gap: bigint, known: bigint): bigint => {
  if (gap === 0n || known === 0n || (gap < 0n) !== (known < 0n)) return 0n
  return magnitude(gap) < magnitude(known) ? gap : known
}

/**
 * Where wallets hold more or less than the books say and what is known already does not explain it. Only who has sent
 * can have spent: any other shortfall, and whatever is too much, is a wrong amount.
 */
export const chainDifferences = (
  holdings: ReadonlyArray<BookedBalance & { readonly reading: ChainReading | null }>,
  known: ReadonlyArray<Pick<Difference, "account" | "asset" | "units">>
): ReadonlyArray<Difference> => {
  const keyOf = (asset: string, account: string | null) => `${asset} ${account ?? ""}`
  const knownUnits = new Map<string, bigint>()
  for (const { account, asset, units } of known) {
    knownUnits.set(keyOf(asset, account), (knownUnits.get(keyOf(asset, account)) ?? 0n) + units)
  }
  const explain = (gap: bigint, key: string): bigint => {
    const left = knownUnits.get(key) ?? 0n
    const explained = explainedPart(gap, left)
    knownUnits.set(key, left - explained)
    return gap - explained
  }
  return holdings.flatMap(({ account, asset, closing, reading }): ReadonlyArray<Difference> => {
    if (reading === null) return []
    // What names its wallet explains that one only; what does not, whichever wallet of the asset comes first.
    const units = explain(explain(reading.units - closing.units, keyOf(asset, account)), keyOf(asset, null))
    if (units === 0n) return []
    return [{
      cause: units < 0n && reading.hasSent ? "external_spend" : "amount",
      asset,
      account,
      units,
      usdMillis: closing.units <= 0n ? 0n : magnitude(units) * closing.usdMillis / closing.units,
      at: reading.at,
      source: null,
      txHash: null,
      isAdjusted: false
    }]
  })
}

/** Parts of a million of what was received that no difference leaves in doubt. */
export const explainedPpm = (receivedUsdMillis: bigint, differences: ReadonlyArray<Difference>): number => {
  const doubtful = differences.reduce(
    (sum, difference) => isExplained(difference) ? sum : sum + difference.usdMillis,
    0n
  )
  const hasDoubt = differences.some((difference) => !isExplained(difference))
  if (receivedUsdMillis <= 0n) return hasDoubt ? 0 : 1_000_000
  const share = Number((receivedUsdMillis - doubtful) * 1_000_000n / receivedUsdMillis)
  // A difference worth less than a millionth is one all the same.
  return Math.max(0, hasDoubt ? Math.min(share, 999_999) : share)
}
