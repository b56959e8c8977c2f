/** The reconciliation of a period as JSON (modules/docs/reference/reconciliation.md#the-report). Pure. */
import { formatUnits, signedUsdDecimal, signedUsdWire } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import {
  chainDifferences,
  type ChainReading,
  type Comparison,
  type Difference,
  differenceOf,
  explainedPpm,
  isExplained
} from "./Differences.ts"
import { type AssetAmount, type FlowName, flowNames, type Movement, type WalletFlows, walletFlows } from "./Flows.ts"
import type { Period } from "./Periods.ts"

/** Characters of an adjustment's note, at most. */
export const maximumNote = 500

/** What is known of an asset's token; null: it is in no list. */
export interface AssetToken {
  readonly symbol: string
  readonly decimals: number
}

export type TokenOfAsset = (asset: string) => AssetToken | null

/** Why nobody can say what a wallet holds. */
export const readingGaps = [
  "collected",
  "not_followed",
  "not_offered",
  "too_many_addresses",
  "shared",
  "unknown_wallet",
  "missed"
] as const
export type ReadingGap = typeof readingGaps[number]

/** What a wallet's addresses held of an asset at the first final block that was seen after a month's end. */
export interface WalletReading {
  readonly period: string
  readonly account: string
  readonly asset: string
  /** Null where nobody can say. */
  readonly units: bigint | null
  /** What came between the month's end and that block. */
  readonly laterUnits: bigint
  /** What contracts of a forwarder have ever sent to its payee; it is in `units`. */
  readonly forwardedUnits: bigint
  readonly hasSent: boolean
  readonly block: { readonly height: bigint; readonly hash: string; readonly time: number } | null
  readonly reason: ReadingGap | null
  /** Epoch seconds. */
  readonly readAt: number
}

/** What a person booked to account for a difference. */
export interface StoredAdjustment {
  readonly id: string
  readonly account: string
  readonly asset: string
  readonly units: bigint
  readonly usdMillis: bigint
  /** So much of a loss is taken from what the merchant ignored: below zero, or zero. */
  readonly ignored: { readonly units: bigint; readonly usdMillis: bigint }
  readonly note: string
  readonly explainsPeriod: string | null
  readonly explainsId: string | null
  readonly balanceTransactionId: string
  readonly actor: string
  readonly createdAt: number
}

/** Ages in seconds that divide what waits for a decision: a day, a week, 30 days. */
export const suspenseAges = [86_400, 604_800, 2_592_000] as const

const suspenseGroups = ["under_1_day", "under_7_days", "under_30_days", "older"] as const

/** Open exceptions of one age: its place among {@link suspenseAges}. */
export interface Suspense {
  readonly group: number
  readonly count: number
  readonly usdMillis: bigint
}

/** A month that is closed. */
export interface ClosedPeriod {
  readonly period: string
  /** Canonical JSON of the report. */
  readonly report: string
  readonly previousHash: string
  readonly hash: string
  readonly actor: string
  readonly closedAt: number
}

/** The last closed month of a merchant and environment. */
export interface LastClosedMonth {
  readonly version: number
  readonly period: string
  readonly hash: string
}

/** Count and sum of one source, for one asset. */
export interface SourceCount {
  readonly asset: string
  readonly count: number
  readonly units: bigint
}

/** All that a report is made of. */
export interface ReportInput {
  readonly environment: Environment
  readonly period: Period
  readonly movements: ReadonlyArray<Movement>
  readonly comparisons: ReadonlyArray<Comparison>
  readonly hasMoreComparisons: boolean
  readonly chain: ReadonlyArray<SourceCount>
  readonly ledger: ReadonlyArray<SourceCount>
  /** Null: events are counted for whole quarters of a day only. */
  readonly events: ReadonlyArray<{ readonly key: string; readonly count: number; readonly usdMillis: bigint }> | null
  readonly readings: ReadonlyArray<WalletReading>
  /** The last ones of earlier months. */
  readonly earlierReadings: ReadonlyArray<WalletReading>
  /** Those that account for differences of this month. */
  readonly adjustments: ReadonlyArray<StoredAdjustment>
  readonly suspense: ReadonlyArray<Suspense>
  readonly trialBalance: bigint
  /** Epoch seconds. */
  readonly now: number
}

const amountObject = ({ units, usdMillis }: AssetAmount, token: AssetToken | null) => ({
  amount: signedUsdWire(usdMillis),
  amount_decimal: signedUsdDecimal(usdMillis),
  units: units.toString(),
  token_amount: token === null ? null : formatUnits(units, token.decimals)
})

const readingOf = (
  readings: ReadonlyArray<WalletReading>,
  { account, asset }: Pick<WalletFlows, "account" | "asset">
): WalletReading | undefined => readings.find((each) => each.account === account && each.asset === asset)

/** What was read, as it is compared with the books; null: nothing was. */
const comparable = (reading: WalletReading | undefined): ChainReading | null =>
  reading?.units == null || reading.block === null
    ? null
    : { units: reading.units - reading.laterUnits, hasSent: reading.hasSent, at: reading.block.time }

const chainObject = (reading: WalletReading | undefined, token: AssetToken | null) => {
  const compared = comparable(reading)
  return {
    chain_balance: compared === null ? null : {
      units: compared.units.toString(),
      token_amount: token === null ? null : formatUnits(compared.units, token.decimals)
    },
    as_of: reading?.block == null ? null : {
      height: reading.block.height.toString(),
      hash: reading.block.hash,
      time: reading.block.time
    },
    chain_balance_reason: compared === null ? reading?.reason ?? "not_read_yet" : null
  }
}

/**
 * What was collected since the reading before, as it left addresses and as it came to the payee: all of it is in the
 * wallet's one account, so the books have no entry of it, and the two cancel out.
 */
const withCollected = (
  row: WalletFlows,
  reading: WalletReading | undefined,
  before: WalletReading | undefined
): WalletFlows => {
  if (reading?.units == null) return row
  const units = reading.forwardedUnits - (before?.forwardedUnits ?? 0n)
  const { closing } = row
  const usdMillis = closing.units <= 0n || units <= 0n ? 0n : units * closing.usdMillis / closing.units
  const collected = { units, usdMillis }
  return { ...row, flows: { ...row.flows, collected_in: collected, collected_out: collected } }
}

const walletObject = (row: WalletFlows, reading: WalletReading | undefined, token: AssetToken | null) => ({
  asset: row.asset,
  symbol: token?.symbol ?? null,
  account: row.account,
  opening: amountObject(row.opening, token),
  ...Object.fromEntries(flowNames.map((name) => [name, amountObject(row.flows[name], token)])) as Readonly<
    Record<FlowName, ReturnType<typeof amountObject>>
  >,
  closing: amountObject(row.closing, token),
  ...chainObject(reading, token)
})

const differenceObject = (difference: Difference, token: AssetToken | null, now: number) => ({
  cause: difference.cause,
  is_explained: isExplained(difference),
  asset: difference.asset,
  account: difference.account,
  amount: signedUsdWire(difference.usdMillis),
  amount_decimal: signedUsdDecimal(difference.usdMillis),
  units: difference.units.toString(),
  token_amount: token === null ? null : formatUnits(difference.units, token.decimals),
  age_seconds: Math.max(0, now - difference.at),
  payment_id: difference.source?.object === "invoice_payment" ? difference.source.id : null,
  exception_id: difference.source?.object === "exception" ? difference.source.id : null,
  tx_hash: difference.txHash,
  url: difference.source?.object === "exception" ? `/api/v1/exceptions/${difference.source.id}` : null
})

const sourceObject = ({ asset, count, units }: SourceCount) => ({ asset, count, units: units.toString() })

const suspenseObject = (groups: ReadonlyArray<Suspense>) =>
  suspenseGroups.map((age, place) => {
    const found = groups.find(({ group }) => group === place)
    const usdMillis = found?.usdMillis ?? 0n
    return {
      age,
      count: found?.count ?? 0,
      amount: signedUsdWire(usdMillis),
      amount_decimal: signedUsdDecimal(usdMillis)
    }
  })

const unitsOf = (adjustments: ReadonlyArray<StoredAdjustment>): bigint =>
  adjustments.reduce((sum, { units }) => sum + units, 0n)

/** Adjustments that name the difference's payment or exception, in its asset. */
const ownAdjustments = (
  { asset, source }: Difference,
  adjustments: ReadonlyArray<StoredAdjustment>
): ReadonlyArray<StoredAdjustment> =>
  adjustments.filter((each) => each.explainsId === source?.id && each.asset === asset)

/** Whether adjustments of a difference come to what it is about. */
const isAdjusted = ({ units }: Difference, own: ReadonlyArray<StoredAdjustment>): boolean =>
  // A difference in dollars alone has no units that could be booked: what was found stands in the note.
  own.length > 0 && (units === 0n || unitsOf(own) === units)

/** What is different in a period, what is wrong first. */
export const differencesIn = (
  { adjustments, comparisons, movements, period, readings }: Omit<ReportInput, "earlierReadings" | "trialBalance">
): ReadonlyArray<Difference> => {
  const found = comparisons.flatMap((each) => {
    const difference = differenceOf(each, period)
    return difference === null
      ? []
      : [{ ...difference, isAdjusted: isAdjusted(difference, ownAdjustments(difference, adjustments)) }]
  })
  // What was booked before the month's end is in its closing: that much of a difference explains no gap any more.
  const left = found.map((difference) => ({
    ...difference,
    units: difference.units -
      unitsOf(ownAdjustments(difference, adjustments).filter(({ createdAt }) => createdAt < period.to))
  }))
  // What is booked after the month's end is not in its closing; an adjustment of one payment stands for its difference.
  const booked = adjustments.filter(({ createdAt, explainsId }) => explainsId === null && createdAt >= period.to)
  const holdings = walletFlows(movements).map((row) => ({ ...row, reading: comparable(readingOf(readings, row)) }))
  return [...found, ...chainDifferences(holdings, [...left, ...booked])]
    .toSorted((a, b) => Number(isExplained(a)) - Number(isExplained(b)))
}

/** The report of a period that is not closed. */
export const reportObject = (input: ReportInput, tokenOf: TokenOfAsset) => {
  const { chain, earlierReadings, environment, events, hasMoreComparisons, ledger, movements, now, period, readings } =
    input
  const rows = walletFlows(movements)
  const differences = differencesIn(input)
  const received = rows.reduce((sum, { flows }) => sum + flows.received.usdMillis + flows.unmatched.usdMillis, 0n)
  return {
    object: "reconciliation" as const,
    environment,
    period: period.name,
    from: period.from,
    to: period.to,
    currency: "usd" as const,
    amount_unit: "usd_millis" as const,
    wallets: rows.map((row) => {
      const reading = readingOf(readings, row)
      const withMemo = withCollected(row, reading, readingOf(earlierReadings, row))
      return walletObject(withMemo, reading, tokenOf(row.asset))
    }),
    sources: {
      chain: chain.map(sourceObject),
      ledger: ledger.map(sourceObject),
      events: events === null ? null : events.map(({ count, key, usdMillis }) => ({
        token: key,
        count,
        amount: signedUsdWire(usdMillis),
        amount_decimal: signedUsdDecimal(usdMillis)
      }))
    },
    differences: differences.map((difference) => differenceObject(difference, tokenOf(difference.asset), now)),
    has_more_differences: hasMoreComparisons,
    explained_ppm: explainedPpm(received, differences),
    suspense: suspenseObject(input.suspense),
    ledger_trial_balance: signedUsdWire(input.trialBalance)
  }
}

export type Report = ReturnType<typeof reportObject>
