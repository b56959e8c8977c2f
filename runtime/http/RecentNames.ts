/** Names met a short time ago, remembered in bounded memory. */

/** Names in each of the two sets, at most. */
const setSize = 5_000

/**
 * A function that remembers a name and says whether it was met before. It knows the last {@link setSize} names for
 * certain, at most twice as many, and forgets the older ones.
 */
export const makeRecentNames = (size = setSize): (name: string) => boolean => {
  let newer = new Set<string>()
  let older: ReadonlySet<string> = new Set()
  return (name) => {
    if (newer.has(name)) return true
    if (newer.size === size) {
      older = newer
      newer = new Set()
    }
    newer.add(name)
    return older.has(name)
  }
}
