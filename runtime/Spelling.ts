/** Which word of several is spelt most like another one. Pure. */

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
const editDistance = (a: string, b: string): number => {
  const rows: Array<Array<number>> = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(Math.min(
        rows[i - 1]![j]! + 1,
        row[j - 1]! + 1,
        rows[i - 1]![j - 1]! + (same ? 0 : 1),
        swapped ? rows[i - 2]![j - 2]! + 1 : Infinity
      ))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

/** A word and how far another one is from it, in edits. */
export interface NearWord {
  readonly word: string
  readonly distance: number
}

/** The one of `words` that is spelt most like `text`, whatever the case; the first of several, undefined of none. */
export const nearestWord = (text: string, words: Iterable<string>): NearWord | undefined => {
  const written = text.toLowerCase()
  let nearest: NearWord | undefined
  for (const word of words) {
    const distance = editDistance(written, word.toLowerCase())
    if (nearest === undefined || distance < nearest.distance) nearest = { word, distance }
  }
  return nearest
}
