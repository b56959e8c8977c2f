/**
 * Which accounts are to be asked for their transactions: those that have changed not long ago, and each of them now and
 * then. A look at the balances of 100 accounts is one call, a look at the transactions of one account is one too.
 */

/** Slots by which a node's index of accounts may lie behind its head: 16 s, an assumption on the safe side. */
export const indexLagSlots = 40n

/** Slots that every look goes back beyond the last one: more than the index lags, and a minute at 0.4 s a slot. */
export const overlapSlots = 150n

/**
 * Slots after which an account is asked though it has not changed: what came and went between two looks leaves its
 * balance as it was. 30 s; with the lag of the index it is less than the overlap.
 */
export const sweepSlots = 75n

/** Accounts that are asked though they have not changed, in one look at most. */
export const sweptPerLook = 20

/** Accounts that are asked for their transactions in one look, at most. */
export const listedPerLook = 500

/** Every n-th look has those accounts too in which no invoice is open. */
export const closedAccountsEvery = 15

/** Seconds of a slot that is slow: twice as long as they take by the design (solana.com/docs/references/terminology). */
export const slotSeconds = 0.8

/**
 * Seconds before a head up to which everything was told: the lag of the index. What came and went between two looks is
 * found by a sweep, and may be told later than its invoice expires; it pays the invoice all the same.
 */
export const settledSeconds = Number(indexLagSlots) * slotSeconds

/**
 * Slots for which an account is asked from where it changed until its index shows the transaction that changed it: an
 * hour. A node whose index is further behind than {@link overlapSlots} would else never be asked for it again.
 */
export const indexPatienceSlots = 9_000n

interface AccountState {
  /** What tells one state of its balance from another; null: there is no account. Undefined: not looked at yet. */
  mark: string | null | undefined
  /**
   * It has changed: asked in every look until a new transaction is listed, and once more at this slot, when the index
   * shows all that the change came of.
   */
  activeUntil: bigint
  hasNews: boolean
  /** Where its balance was seen to change; null: it was not since it is looked at. */
  changedSlot: bigint | null
  /** Its transactions up to this slot were told. */
  listedAt: bigint
}

/** An account whose transactions are to be listed, from a slot on. */
export interface DueAccount {
  readonly key: string
  readonly from: bigint
}

export interface AccountBook {
  /** Accounts that are not known are due from `since` on. */
  readonly add: (keys: ReadonlyArray<string>, since: bigint) => void
  /** Takes what a look at balances has shown. */
  readonly observe: (key: string, mark: string | null, slot: bigint) => void
  /**
   * Those of `keys` that are to be asked at a head, the most urgent first. `safeHeight`: where following may go on
   * from after a restart once these were told; it is below the head where there were too many for one look.
   */
  readonly due: (keys: ReadonlyArray<string>, head: bigint) => {
    readonly accounts: ReadonlyArray<DueAccount>
    readonly safeHeight: bigint
  }
  /** Its transactions up to a head were listed; `hasNews`: there was one that was not known. */
  readonly onListed: (key: string, head: bigint, hasNews: boolean) => void
  /** Following goes on from an older slot: what came after it is told again. */
  readonly rewind: (slot: bigint) => void
}

const isActive = ({ activeUntil, hasNews, listedAt }: AccountState, head: bigint): boolean =>
  listedAt < activeUntil && (!hasNews || head >= activeUntil)

/** Whether a change of its balance is still to be found among its transactions. */
const isUnexplained = ({ changedSlot, hasNews }: AccountState, head: bigint): boolean =>
  changedSlot !== null && !hasNews && head < changedSlot + indexPatienceSlots

interface KnownAccount {
  readonly key: string
  readonly state: AccountState
}

/** The one that was listed longest ago comes first. */
const byListing = (one: KnownAccount, other: KnownAccount): number => Number(one.state.listedAt - other.state.listedAt)

export const makeAccountBook = (): AccountBook => {
  const states = new Map<string, AccountState>()
  return {
    add: (keys, since) => {
      for (const key of keys) {
        if (!states.has(key)) {
          states.set(key, {
            mark: undefined,
            activeUntil: -1n,
            hasNews: false,
            changedSlot: null,
            listedAt: since
          })
        }
      }
    },
    observe: (key, mark, slot) => {
      const state = states.get(key)
      if (state === undefined || state.mark === mark) return
      // Of one that is seen for the first time and is none, a sweep is enough: nothing is there.
      const isNew = state.mark === undefined && mark === null
      if (state.mark !== undefined) state.changedSlot = slot
      state.mark = mark
      if (isNew) return
      state.activeUntil = slot + indexLagSlots
      state.hasNews = false
    },
    due: (keys, head) => {
      const known = keys.flatMap((key) => {
        const state = states.get(key)
        return state === undefined ? [] : [{ key, state }]
      })
      const active = known.filter(({ state }) => isActive(state, head)).sort(byListing)
      const swept = known
        .filter(({ state }) => !isActive(state, head) && head - state.listedAt >= sweepSlots)
        .sort(byListing)
        .slice(0, sweptPerLook)
      const left = active[listedPerLook]
      return {
        accounts: [...active.slice(0, listedPerLook), ...swept]
          .map(({ key, state }) => ({ key, from: state.listedAt - overlapSlots })),
        safeHeight: left === undefined ? head : left.state.listedAt + overlapSlots - indexLagSlots
      }
    },
    onListed: (key, head, hasNews) => {
      const state = states.get(key)
      if (state === undefined) return
      if (hasNews) state.hasNews = true
      if (state.listedAt < head && !isUnexplained(state, head)) state.listedAt = head
    },
    rewind: (slot) => {
      for (const state of states.values()) {
        if (state.listedAt <= slot) continue
        state.listedAt = slot
        state.activeUntil = slot + 1n
        state.hasNews = false
      }
    }
  }
}
