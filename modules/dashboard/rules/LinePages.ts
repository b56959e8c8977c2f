/** Lines of a batch a page at a time: a batch has hundreds, and a screen shows one hundred. Pure. */

export const linesPerPage = 100

/** A page of lines; `hasMore` is in the direction of paging. */
export interface LinePage<Line> {
  readonly lines: ReadonlyArray<Line>
  readonly hasMore: boolean
}

const isLineNumber = (text: string): boolean => /^\d{1,9}$/.test(text)

/**
 * The lines behind one of them, or those before it; both null: the first ones. A number that is no line's stands
 * between its neighbours. Null: a cursor is no number.
 */
export const pageOfLines = <Line extends { readonly line: number }>(
  lines: ReadonlyArray<Line>,
  { after, before }: { readonly after: string | null; readonly before: string | null }
): LinePage<Line> | null => {
  const cursor = after ?? before
  if (cursor !== null && !isLineNumber(cursor)) return null
  if (after === null && before !== null) {
    const found = lines.filter(({ line }) => line < Number(before))
    return { lines: found.slice(-linesPerPage), hasMore: found.length > linesPerPage }
  }
  const found = after === null ? lines : lines.filter(({ line }) => line > Number(after))
  return { lines: found.slice(0, linesPerPage), hasMore: found.length > linesPerPage }
}
