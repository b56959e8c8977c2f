/** Which indexes the recovery page looks at, and when it has seen enough. Pure. */
import { maximumAddressesPerCall } from "../Contracts.ts"
import { recoveryGap } from "../Forwarder.ts"

/** `index` is the next one to look at, `end` the first one that is not looked at any more. */
export interface ScanState {
  readonly index: number
  readonly end: number
}

/** Begins at 0: addresses below `nextIndex` were given out, and those behind it may have been since. */
export const startScan = (nextIndex: number): ScanState => ({ index: 0, end: nextIndex + recoveryGap })

/** How many indexes are looked at in one step; 0 when the scan has ended. */
export const stepSize = ({ end, index }: ScanState): number =>
  Math.min(maximumAddressesPerCall, Math.max(0, end - index))

/**
 * What is left after a step. `lastUsed` is the highest index of the step whose address holds something or held
 * something once; null: none does.
 */
export const afterStep = (state: ScanState, lastUsed: number | null): ScanState => ({
  index: state.index + stepSize(state),
  end: lastUsed === null ? state.end : Math.max(state.end, lastUsed + 1 + recoveryGap)
})

/**
 * Finds what a group test finds, by halves: `count` answers how many things lie on some salts, and `full` is how many
 * there would be if each of them held everything that is looked for.
 */
export const findHolding = async <Entry>(
  entries: ReadonlyArray<Entry>,
  perEntry: number,
  count: (entries: ReadonlyArray<Entry>) => Promise<number>
): Promise<ReadonlyArray<Entry>> => {
  const found = await count(entries)
  if (found === 0) return []
  if (entries.length === 1 || found === entries.length * perEntry) return entries
  const middle = Math.ceil(entries.length / 2)
  return [
    ...await findHolding(entries.slice(0, middle), perEntry, count),
    ...await findHolding(entries.slice(middle), perEntry, count)
  ]
}
