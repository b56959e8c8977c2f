/**
 * What becomes of wallets and networks once the operator says that a backup was restored. Invoices made after the
 * backup are lost, and their customers may still pay: nobody else may be given their addresses, and what arrives there
 * is watched and looked for in the blocks since then. Pure, but for the search, which reads blocks through its
 * argument.
 */
import { Effect } from "effect"

/** Oldest backup that can be declared: what is older is read again in parts, by `chains.rescan`. */
export const maximumBackupAgeSeconds = 90 * 86_400

/** Addresses of a wallet that are passed over, at most; and by default where the wallet has no end. */
export const maximumSkip = 1_000

/** Addresses of each wallet that are watched from the backup's counter on. */
export const restoreWatchCount = 1_000

/** Seconds after the declaration for which those addresses are watched: 7 days. */
export const restoreWatchSeconds = 7 * 86_400

/**
 * Blocks are read again from so long before the backup on: the clocks of a chain, of whoever made the backup and of
 * this service may differ by so much.
 */
export const restoreMarginSeconds = 900

/**
 * Seconds after a start, and after a declaration, for which wallets that are not read yet are waited for. Those that
 * nobody uses any more are never read.
 */
export const walletWaitSeconds = 60

/** Wallets that an answer names, at most. */
export const maximumNamedWallets = 1_000

/** Why a time cannot be that of the backup, for people; null: it can. */
export const backupTimeFault = (backupTime: number, now: number): string | null => {
  const earliest = now - maximumBackupAgeSeconds
  return backupTime >= earliest && backupTime <= now
    ? null
    : "`backup_time` is the moment the backup was begun, in epoch seconds, not in the future and at most 90 days ago: " +
      `${earliest} to ${now}, and it was ${backupTime}`
}

/** Why so many addresses cannot be passed over, for people; null: they can. */
export const skipFault = (skip: number | null): string | null =>
  skip === null || (skip >= 0 && skip <= maximumSkip)
    ? null
    : `\`skip\` is a number of addresses of each wallet, 0 to ${maximumSkip}, and it was ${skip}`

/** A wallet as a declaration finds it. */
export interface WalletState {
  readonly fingerprint: string
  /** The index to be given out next. */
  readonly nextIndex: number
  /** Addresses it has; null: it has no end, or it is not known here. */
  readonly size: number | null
  /** As `gapLimit` of `IndexedWallet` (runtime/Chains.ts): no lost invoice was given an address further on. */
  readonly gapLimit: number | null
}

/** What a declaration made of a wallet. */
export interface WalletRestore {
  readonly fingerprint: string
  /** Where its counter stood at the declaration; addresses from here up to `watchedTo` are watched. */
  readonly fromIndex: number
  /** Its counter never stands below it again. */
  readonly toIndex: number
  readonly watchedTo: number
}

const clampIndex = (index: number, size: number | null): number => size === null ? index : Math.min(index, size)

/**
 * A declaration for one wallet: the addresses of lost invoices are passed over. A list would come to its end by that,
 * so there it is only what was asked for (`skip`, null: nothing was). `before`: of an earlier call for the same backup,
 * which is only ever extended.
 */
export const restoreWallet = (
  { fingerprint, gapLimit, nextIndex, size }: WalletState,
  skip: number | null,
  watchCount: number,
  before: WalletRestore | undefined
): WalletRestore => {
  const fromIndex = before?.fromIndex ?? nextIndex
  const defaultSkip = size === null ? maximumSkip : 0
  // A larger list may have become a smaller one: the counter never goes back.
  const end = Math.max(fromIndex, clampIndex(fromIndex + Math.min(skip ?? defaultSkip, gapLimit ?? maximumSkip), size))
  return {
    fingerprint,
    fromIndex,
    toIndex: Math.max(before?.toIndex ?? 0, end),
    watchedTo: before?.watchedTo ?? Math.max(fromIndex, clampIndex(fromIndex + watchCount, size))
  }
}

/** Addresses watched of each of `wallets` so that there are `capacity` of all together. */
export const watchCountPerWallet = (wallets: number, capacity: number): number =>
  Math.max(0, Math.min(restoreWatchCount, Math.floor(capacity / Math.max(1, wallets))))

/**
 * The lowest height that is not too early, `head` if all below it are: times of blocks grow with their heights. Looks
 * back in growing steps, because nodes may have pruned the oldest blocks, then halves what is left.
 */
export const findLowestHeight = Effect.fnUntraced(function*<E>(
  head: bigint,
  isTooEarly: (height: bigint) => Effect.Effect<boolean, E>
) {
  let high = head
  let low = -1n
  for (let step = 1n; high - step >= 0n; step *= 2n) {
    const height = high - step
    if (yield* isTooEarly(height)) {
      low = height
      break
    }
    high = height
  }
  while (high - low > 1n) {
    const middle = (high + low) / 2n
    if (yield* isTooEarly(middle)) low = middle
    else high = middle
  }
  return high
})
