/** Which word of several is spelt most like another one. Pure. */

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
const editDistance = (a: string, b: string): number => {
  const rows: Array<Array<number>> = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(Math.min(
        rows[i - 1]![j]! + 1,
        row[j - 1]! + 1,
        rows[i - 1]![j - 1]! + (isSame ? 0 : 1),
        isSwap ? rows[i - 2]![j - 2]! + 1 : Infinity
      ))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

interface NearWord {
  readonly word: string
  readonly distance: number
}

/** The one of `words` that is spelt most like `text`, whatever the case; the first of several, undefined of none. */
const nearestWord = (text: string, words: Iterable<string>): NearWord | undefined => {
  const lowerText = text.toLowerCase()
  let nearest: NearWord | undefined
  for (const word of words) {
    const distance = editDistance(lowerText, word.toLowerCase())
    if (nearest === undefined || distance < nearest.distance) nearest = { word, distance }
  }
  return nearest
}

/**
 * The one of `words` that `text` is plausibly a misspelling of: at most one edit for every three characters of `text`,
 * and one edit where it is shorter, whatever the case. The first of several that are equally near; undefined: none is
 * near enough.
 *
 * @example
 * misspelledWord("statsu", ["status", "limit"]) // => "status"
 * misspelledWord("tx_hash", ["status", "limit"]) // => undefined
 */
export const misspelledWord = (text: string, words: Iterable<string>): string | undefined => {
  const nearest = nearestWord(text, words)
  return nearest !== undefined && nearest.distance <= Math.max(1, Math.floor(text.length / 3))
    ? nearest.word
    : undefined
}
