/**
 * Which transfers of tokens that are not in the catalogue are recorded. Pure: no clock, no SQL.
 *
 * Anybody can make a contract that says thousands of times in one transaction that it moved its worthless token to an
 * address of ours. A customer's wrong token must be recorded, so that it can be given back; a flood must not hold up
 * the payments beside it. Hence the limits below, and no look into the database for what is over them.
 */
import type { ObservedTransfer } from "../Chains.ts"

/** Transfers of one contract recorded for a target, over its whole life: a customer may err more than once. */
export const maximumPerContract = 5
/** Transfers of contracts not in the catalogue recorded for a target, over its whole life. */
export const maximumPerTarget = 20
/** The same of one block over all targets: they fit into one commit beside the payments. */
export const maximumPerBlock = 300

/** What the journal holds of a target's transfers of tokens that are not in the catalogue. */
export interface UnlistedEntry {
  /** Of the transfer, as `keyOf` of {@link admitTransfers} makes it. */
  readonly key: string
  readonly matchKey: string
  readonly tokenAddress: string | null
  readonly isReverted: boolean
}

/** Items of each group in turn: the first of every group, then the second of every group, and so on. */
const interleave = <A>(groups: ReadonlyArray<ReadonlyArray<A>>): ReadonlyArray<A> => {
  const longest = groups.reduce((length, group) => Math.max(length, group.length), 0)
  return Array.from({ length: longest }, (_, place) => groups.flatMap((group) => group.slice(place, place + 1))).flat()
}

/** Each target's transfers with its contracts in turn, and the targets in turn. */
const fairOrder = (transfers: ReadonlyArray<ObservedTransfer>): ReadonlyArray<ObservedTransfer> =>
  interleave(
    [...Map.groupBy(transfers, ({ matchKey }) => matchKey).values()].map((ofTarget) =>
      interleave([
        ...Map.groupBy(ofTarget, ({ tokenAddress }) => tokenAddress).values()
      ].map((ofContract) => ofContract.slice(0, maximumPerContract))).slice(0, maximumPerTarget)
    )
  )

/** A block's transfers as they are recorded. */
export interface ScreenedTransfers {
  /** Of tokens in the catalogue, and native coins, each of which is a transaction of its own: all of them, in order. */
  readonly listed: ReadonlyArray<ObservedTransfer>
  /** Of other tokens: as many as may be recorded, in the order of preference. */
  readonly unlistedTransfers: ReadonlyArray<ObservedTransfer>
  /** Transfers left out. */
  readonly droppedCount: number
}

/** Sorts a block's transfers by `isListed`, and leaves out what would be over the limits whatever the journal holds. */
export const screenTransfers = (
  transfers: ReadonlyArray<ObservedTransfer>,
  isListed: (transfer: ObservedTransfer) => boolean
): ScreenedTransfers => {
  const listedTransfers = transfers.filter(isListed)
  if (listedTransfers.length === transfers.length) {
    return { listed: listedTransfers, unlistedTransfers: [], droppedCount: 0 }
  }
  const unlistedTransfers = fairOrder(transfers.filter((transfer) => !isListed(transfer))).slice(0, maximumPerBlock)
  return {
    listed: listedTransfers,
    unlistedTransfers,
    droppedCount: transfers.length - listedTransfers.length - unlistedTransfers.length
  }
}

/**
 * Those of the unlisted transfers, in order, that the journal holds already (another observation may say that one is on
 * the chain again), or for which their target has room beside what the journal holds of it.
 */
export const admitTransfers = (
  transfers: ReadonlyArray<ObservedTransfer>,
  existing: ReadonlyArray<UnlistedEntry>,
  keyOf: (transfer: ObservedTransfer) => string
): ReadonlyArray<ObservedTransfer> => {
  const existingKeys = new Set(existing.map(({ key }) => key))
  const counts = new Map<string, number>()
  const countOf = (key: string) => counts.get(key) ?? 0
  const contractKey = ({ matchKey, tokenAddress }: Pick<ObservedTransfer, "matchKey" | "tokenAddress">) =>
    `${matchKey} ${tokenAddress}`
  const add = (one: Pick<ObservedTransfer, "matchKey" | "tokenAddress">) => {
    for (const key of [one.matchKey, contractKey(one)]) counts.set(key, countOf(key) + 1)
  }
  for (const entry of existing) if (!entry.isReverted) add(entry)
  return transfers.filter((transfer) => {
    if (existingKeys.has(keyOf(transfer))) return true
    const isFull = countOf(transfer.matchKey) >= maximumPerTarget ||
      countOf(contractKey(transfer)) >= maximumPerContract
    if (!isFull) add(transfer)
    return !isFull
  })
}
