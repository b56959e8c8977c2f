/** Lists of addresses that merchants send: each address stands in them once. Pure. */

/**
 * A sentence for people about the first entry that an earlier one names already; null: there is none. `keys`: of each
 * entry what all spellings of its address share. The entries must have been read as addresses: they are repeated.
 *
 * @example
 * repeatedEntry(["0xAB…", "0xab…"], ["0xab…", "0xab…"])
 * // => "entry 2 (0xab…) stands in the list twice: entry 1 is the same address"
 */
export const repeatedEntry = (entries: ReadonlyArray<string>, keys: ReadonlyArray<string | null>): string | null => {
  const places = new Map<string | null, number>()
  for (const [place, key] of keys.entries()) {
    const first = places.get(key)
    if (first !== undefined) {
      return `entry ${place + 1} (${entries[place]}) stands in the list twice: entry ${first + 1} is the same address`
    }
    places.set(key, place)
  }
  return null
}
