/**
 * Which accounts are to be listed, that is, asked for their transactions: those whose balance has changed lately, and
 * every other one after a while. The balances of 100 accounts cost one call, a list of one account's transactions too.
 */

/** Slots by which a node's index of accounts may lie behind its head: 16 s, an assumption on the safe side. */
export const indexLagSlots = 40n

/** Slots that every list goes back beyond the one before: more than the index lags, and a minute at 0.4 s a slot. */
export const overlapSlots = 150n

/**
 * Slots after which an account is listed though its balance is as it was: what came and went between two looks leaves
 * no other trace. 30 s; with the lag of the index it is less than the overlap.
 */
export const unchangedSlots = 75n

/** Accounts that are listed in one look though their balances are as they were, at most. */
export const unchangedPerLook = 20

/** Accounts that are listed in one look because they changed, at most. */
export const changedPerLook = 500

/** Every n-th look has those accounts too in which no invoice is open. */
export const closedAccountsEvery = 15

/** Seconds of a slot that is slow: twice as long as they take by the design (solana.com/docs/references/terminology). */
export const slotSeconds = 0.8

/**
 * Seconds by which the index of accounts may lie behind a head: transfers of that time may not have been emitted. What
 * came and went between two looks may be emitted later than its invoice expires; it pays the invoice all the same.
 */
export const indexLagSeconds = Number(indexLagSlots) * slotSeconds

/**
 * Slots for which an account is listed from where it changed until its index shows the transaction that changed it: an
 * hour. Without it, an index further behind than {@link overlapSlots} would never be read for that transaction again.
 */
export const maximumIndexLagSlots = 9_000n

interface AccountState {
  /** Its balance as text; null: there is no account. Undefined: it was not looked at yet. */
  balance: string | null | undefined
  /**
   * Its balance has changed: it is listed in every look until a new transaction is found, and once more at this slot,
   * when the index shows everything that made the change.
   */
  activeUntil: bigint
  /** Whether a new transaction was found since its balance changed. */
  hasNews: boolean
  /** Where its balance was seen to change last; null: it has not changed since the first look. */
  changedSlot: bigint | null
  /** Its transactions up to this slot were listed. */
  listedTo: bigint
}

/** An account whose transactions are to be listed, from a slot on. */
export interface DueAccount {
  readonly key: string
  readonly from: bigint
}

export interface AccountBook {
  /** Takes accounts in that are not in the book: their transactions are listed from `since` on. */
  readonly add: (keys: ReadonlyArray<string>, since: bigint) => void
  /** Takes the balance of an account at a slot; null: there is no such account. */
  readonly observe: (key: string, balance: string | null, slot: bigint) => void
  /**
   * Those of `keys` that are to be listed at a head, the most urgent first. `safeHeight`: from where following may go
   * on after a restart once these were read; it is below the head where there were too many for one look.
   */
  readonly due: (keys: ReadonlyArray<string>, head: bigint) => {
    readonly accounts: ReadonlyArray<DueAccount>
    readonly safeHeight: bigint
  }
  /** Its transactions up to a head were listed; `hasNews`: one of them was new. */
  readonly onListed: (key: string, head: bigint, hasNews: boolean) => void
  /** Following goes on from an older slot: what came after it is listed again. */
  readonly rewind: (slot: bigint) => void
}

const isActive = ({ activeUntil, hasNews, listedTo }: AccountState, head: bigint): boolean =>
  listedTo < activeUntil && (!hasNews || head >= activeUntil)

/** Whether the transaction that changed its balance has not been listed yet. */
const isUnexplained = ({ changedSlot, hasNews }: AccountState, head: bigint): boolean =>
  changedSlot !== null && !hasNews && head < changedSlot + maximumIndexLagSlots

interface BookEntry {
  readonly key: string
  readonly state: AccountState
}

/** The account that was listed longest ago comes first. */
const byListing = (one: BookEntry, other: BookEntry): number => Number(one.state.listedTo - other.state.listedTo)

export const makeAccountBook = (): AccountBook => {
  const states = new Map<string, AccountState>()
  return {
    add: (keys, since) => {
      for (const key of keys) {
        if (!states.has(key)) {
          states.set(key, {
            balance: undefined,
            activeUntil: -1n,
            hasNews: false,
            changedSlot: null,
            listedTo: since
          })
        }
      }
    },
    observe: (key, balance, slot) => {
      const state = states.get(key)
      if (state === undefined || state.balance === balance) return
      // Where there is no account at the first look nothing can be listed yet.
      const isEmpty = state.balance === undefined && balance === null
      if (state.balance !== undefined) state.changedSlot = slot
      state.balance = balance
      if (isEmpty) return
      state.activeUntil = slot + indexLagSlots
      state.hasNews = false
    },
    due: (keys, head) => {
      const entries = keys.flatMap((key) => {
        const state = states.get(key)
        return state === undefined ? [] : [{ key, state }]
      })
      const active = entries.filter(({ state }) => isActive(state, head)).sort(byListing)
      const unchanged = entries
        .filter(({ state }) => !isActive(state, head) && head - state.listedTo >= unchangedSlots)
        .sort(byListing)
        .slice(0, unchangedPerLook)
      const firstLeftOut = active[changedPerLook]
      return {
        accounts: [...active.slice(0, changedPerLook), ...unchanged]
          .map(({ key, state }) => ({ key, from: state.listedTo - overlapSlots })),
        safeHeight: firstLeftOut === undefined ? head : firstLeftOut.state.listedTo + overlapSlots - indexLagSlots
      }
    },
    onListed: (key, head, hasNews) => {
      const state = states.get(key)
      if (state === undefined) return
      if (hasNews) state.hasNews = true
      if (state.listedTo < head && !isUnexplained(state, head)) state.listedTo = head
    },
    rewind: (slot) => {
      for (const state of states.values()) {
        if (state.listedTo <= slot) continue
        state.listedTo = slot
        state.activeUntil = slot + 1n
        state.hasNews = false
      }
    }
  }
}
