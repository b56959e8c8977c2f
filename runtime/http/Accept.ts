/** Which form of an answer a caller takes where there are two, HTML and JSON (RFC 9110, section 12.5.1). Pure. */

interface MediaRange {
  readonly range: string
  /** 0 to 1; 0: not taken at all. */
  readonly weight: number
}

const weightPattern = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/**
 * The ranges of an `Accept` in lower case. A weight that is none counts as 0, and other parameters make no difference.
 */
const rangesOf = (accept: string): ReadonlyArray<MediaRange> =>
  accept.toLowerCase().split(",").map((entry) => {
    const [range = "", ...parameters] = entry.split(";").map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith("q="))
    return { range, weight: weight === undefined ? 1 : Number(weightPattern.exec(weight)?.[1] ?? 0) }
  })

/** The weight of the first of `names` that is there: they are told from the most exact range to the widest. */
const weightOf = (ranges: ReadonlyArray<MediaRange>, names: ReadonlyArray<string>): number => {
  for (const name of names) {
    const found = ranges.find(({ range }) => range === name)
    if (found !== undefined) return found.weight
  }
  return 0
}

/**
 * Whether a caller with this `Accept` is answered in HTML where JSON is the other choice. Browsers name HTML, and
 * programs that take anything expect JSON: any type at all does not ask for a page.
 *
 * @example
 * prefersHtml("text/html,application/xhtml+xml,application/xml;q=0.9,*\/*;q=0.8") // => true
 * prefersHtml("text/html;q=0") // => false
 */
export const prefersHtml = (accept: string | undefined): boolean => {
  const ranges = rangesOf(accept ?? "")
  const html = weightOf(ranges, ["text/html", "text/*"])
  return html > 0 && html >= weightOf(ranges, ["application/json", "application/*", "*/*"])
}
