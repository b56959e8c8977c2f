/**
 * How often, and until when, the block of a reported transfer is read to find the transfer in it. Pure: no clock, no
 * SQL.
 *
 * A report holds its invoice open, so it must not wait for ever: it is found, or it ends. The state is in memory; after
 * a restart the lookups of what is still waiting begin anew.
 */
import type { Environment } from "../../schemas/Network.ts"

/** The lookups for one reported transfer so far. */
export interface Lookup {
  /** Reads of its block in which it was not. */
  readonly misses: number
  /** Tries since the last read in which no node gave the block. */
  readonly failures: number
  /** When the first try was, in milliseconds of a clock that nobody sets. */
  readonly since: number
  /** There is no further try before it, by the same clock. */
  readonly dueAt: number
}

/** Lookups by journal entry. What is not in it is due at once. */
export type Lookups = ReadonlyMap<string, Lookup>

export const noLookups: Lookups = new Map()

/** What a try came to for the entries of one block. */
export interface LookupOutcome {
  /** `found`: in the block; `missed`: the block was read and it was not in it; `unread`: no node gave the block. */
  readonly _tag: "found" | "missed" | "unread"
  readonly ids: ReadonlyArray<string>
}

/** Reads of its block, from whatever node, that may miss a transfer before it counts as not on the chain. */
export const maximumMisses = 4

/**
 * Milliseconds for which no node need give the block before the report is ended: 24 h, the longest outage provided for.
 */
export const unreadLimitMillis = 86_400_000

/** Milliseconds after the first miss or failure; five times more after each further one. Test networks are quick. */
const firstPauseMillis: Readonly<Record<Environment, number>> = { mainnet: 1_000, devnet: 100 }

/** Milliseconds between two tries, at most: 5 min. */
const longestPauseMillis = 300_000

/** Milliseconds to wait after so many tries in vain. */
export const lookupPauseMillis = (environment: Environment, tries: number): number =>
  Math.min(longestPauseMillis, firstPauseMillis[environment] * 5 ** Math.min(tries - 1, 10))

/** The lookups after a try, and the entries whose lookups are over: nothing waits for those any more. */
export const step = (
  lookups: Lookups,
  { _tag, ids }: LookupOutcome,
  monotonicMillis: number,
  environment: Environment
): { readonly lookups: Lookups; readonly expiredIds: ReadonlyArray<string> } => {
  const next = new Map(lookups)
  const expiredIds: Array<string> = []
  for (const id of ids) {
    const before = lookups.get(id) ?? { misses: 0, failures: 0, since: monotonicMillis, dueAt: monotonicMillis }
    const misses = _tag === "missed" ? before.misses + 1 : before.misses
    const failures = _tag === "unread" ? before.failures + 1 : 0
    const isOver = misses >= maximumMisses || (_tag === "unread" && monotonicMillis - before.since >= unreadLimitMillis)
    if (_tag === "found" || isOver) next.delete(id)
    else {
      const pause = lookupPauseMillis(environment, _tag === "missed" ? misses : failures)
      next.set(id, { ...before, misses, failures, dueAt: monotonicMillis + pause })
    }
    if (isOver && _tag !== "found") expiredIds.push(id)
  }
  return { lookups: next, expiredIds }
}

/** Entries whose next try is not due yet. */
export const pausedIds = (lookups: Lookups, monotonicMillis: number): ReadonlyArray<string> =>
  [...lookups].filter(([, { dueAt }]) => dueAt > monotonicMillis).map(([id]) => id)
