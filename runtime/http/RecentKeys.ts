/** Keys of recent requests, remembered in bounded memory. */

/** Keys in each of the two sets, at most. */
const setSize = 5_000

/**
 * A function that remembers a key and answers whether it was there already. The last {@link setSize} keys are there for
 * certain, and twice as many at most: older ones are forgotten.
 */
export const makeRecentKeys = (size = setSize): (key: string) => boolean => {
  let newer = new Set<string>()
  let older: ReadonlySet<string> = new Set()
  return (key) => {
    if (newer.has(key)) return true
    if (newer.size === size) {
      older = newer
      newer = new Set()
    }
    newer.add(key)
    return older.has(key)
  }
}
