/**
 * What the payments of a block come to when it was read again: confirmed, taken back or undecided, and the transfers in
 * it that the journal lacks. Pure.
 */
import type { ChainPoint, Corroboration, FoundTransfer, JournalEntry, ObservedTransfer } from "../Chains.ts"
import { transferKey } from "./TransferIdentity.ts"

/** What became of the entries of a block, and the transfers in it that the journal lacks. */
export interface BlockDecision {
  readonly confirm: ReadonlyArray<string>
  readonly revert: ReadonlyArray<string>
  readonly undecidedIds: ReadonlyArray<string>
  readonly missing: ReadonlyArray<ObservedTransfer>
  /**
   * Whether another look must tell what is in the block: it could not be read, or as many show a transfer as do not.
   */
  readonly isInconclusive: boolean
}

/**
 * A credit by a difference of balances is in no block's transfers: `ChainDriver.balanceAt` asks two endpoints.
 */
export const isOfBalance = (entry: JournalEntry): boolean => entry.txHash.startsWith("balance:")

/** A transfer with all that it says: readings of one that name different amounts show different things. */
const factKey = (
  transfer: Pick<ObservedTransfer, "amount" | "index" | "matchKey" | "tokenAddress" | "txHash">
): string => `${transferKey(transfer)}:${transfer.tokenAddress}:${transfer.amount}`

/**
 * What a block's entries come to. `deepEntries`: those that are deep enough; `entries`: all of the block; `isListed`:
 * tokens of the catalogue, for others are left out of the journal on purpose. Null where one reading differs from the
 * journal: all endpoints have to be asked.
 */
export const decideBlock = (
  deepEntries: ReadonlyArray<JournalEntry>,
  entries: ReadonlyArray<JournalEntry>,
  corroboration: Corroboration,
  isThorough: boolean,
  isListed: (transfer: Pick<ObservedTransfer, "tokenAddress">) => boolean
): BlockDecision | null => {
  const inconclusive = { confirm: [], revert: [], undecidedIds: [], missing: [], isInconclusive: true }
  const ids = deepEntries.map(({ id }) => id)
  if (corroboration._tag === "Disagreed") return { ...inconclusive, undecidedIds: ids }
  if (corroboration._tag === "Unavailable") {
    if (isThorough) return { ...inconclusive, undecidedIds: ids }
    const undecidedIds = deepEntries.filter(({ requiredDepth }) => requiredDepth?.agreement === true).map(({ id }) =>
      id
    )
    return { ...inconclusive, confirm: ids.filter((id) => !undecidedIds.includes(id)), undecidedIds }
  }
  const { hasAllAnswers, readings } = corroboration
  const transferCounts = new Map<string, { readonly transfer: ObservedTransfer; readonly times: number }>()
  for (const transfer of readings.flat()) {
    const key = factKey(transfer)
    transferCounts.set(key, { transfer, times: (transferCounts.get(key)?.times ?? 0) + 1 })
  }
  const timesOf = (entry: JournalEntry) => transferCounts.get(factKey(entry))?.times ?? 0
  const isMajority = (times: number) => times * 2 > readings.length
  const knownKeys = new Set([...entries, ...deepEntries].map(transferKey))
  const missing = [...transferCounts].filter(([, { transfer }]) =>
    !knownKeys.has(transferKey(transfer)) && isListed(transfer)
  )
  // Nobody but the endpoint that it was read from has shown it, where others are configured.
  const isSingleSource = corroboration._tag === "Alone" && !hasAllAnswers
  const unconfirmed = deepEntries.filter((entry) =>
    !isMajority(timesOf(entry)) || (isSingleSource && entry.requiredDepth?.agreement === true)
  )
  if (!isThorough && (unconfirmed.length > 0 || missing.length > 0)) return null
  const revert = hasAllAnswers ? unconfirmed.filter((entry) => timesOf(entry) === 0).map(({ id }) => id) : []
  return {
    confirm: deepEntries.filter((entry) => !unconfirmed.includes(entry)).map(({ id }) => id),
    revert,
    undecidedIds: unconfirmed.map(({ id }) => id).filter((id) => !revert.includes(id)),
    missing: missing.filter(([, { times }]) => isMajority(times)).map(([, { transfer }]) => transfer),
    isInconclusive: missing.some(([, { times }]) => times * 2 === readings.length)
  }
}

/** Blocks in which a search found more transfers than the journal has. */
export const blocksWithMissingTransfers = (
  found: ReadonlyArray<FoundTransfer>,
  entries: ReadonlyArray<JournalEntry>
): ReadonlyArray<ChainPoint> => {
  const keyOf = (
    hash: string,
    each: { txHash: string; matchKey: string; tokenAddress: string | null; amount: bigint }
  ) => `${hash}:${each.txHash}:${each.matchKey}:${each.tokenAddress}:${each.amount}`
  const journalCounts = new Map<string, number>()
  for (const entry of entries) {
    const key = keyOf(entry.blockHash, entry)
    journalCounts.set(key, (journalCounts.get(key) ?? 0) + 1)
  }
  const blocks = new Map<string, ChainPoint>()
  for (const each of found) {
    const key = keyOf(each.point.hash, each)
    const remaining = journalCounts.get(key) ?? 0
    if (remaining === 0) blocks.set(each.point.hash, each.point)
    else journalCounts.set(key, remaining - 1)
  }
  return [...blocks.values()]
}

/** Whether endpoints have answered and show different things: nothing but an operator ends that. */
export const isContested = (corroboration: Corroboration): boolean =>
  corroboration._tag === "Agreed" || (corroboration._tag === "Alone" && corroboration.hasAllAnswers)
