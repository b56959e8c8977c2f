/** Files of rows for spreadsheets (RFC 4180; modules/docs/reference/exports.md). */

/** A value of a row. Text may come from anybody; a decimal is exact digits of ours. */
export type Cell =
  | { readonly kind: "text"; readonly value: string | null }
  | { readonly kind: "decimal"; readonly value: string | null }

export const text = (value: string | null): Cell => ({ kind: "text", value })
export const decimal = (value: string | null): Cell => ({ kind: "decimal", value })

/**
 * What a spreadsheet would take for a formula, or could after it dropped leading white space; also as the wide letters
 * of East Asian keyboards, which some take for the same (https://owasp.org/www-community/attacks/CSV_Injection).
 */
const formulaPattern = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/u

const quotePattern = /[",\r\n]/u

/** A cell by RFC 4180. Text that a spreadsheet would run begins with an apostrophe; decimals never do. */
export const csvCell = ({ kind, value }: Cell): string => {
  if (value === null) return ""
  const safe = kind === "text" && formulaPattern.test(value) ? `'${value}` : value
  return quotePattern.test(safe) ? `"${safe.replaceAll("\"", "\"\"")}"` : safe
}

export const csvLine = (cells: ReadonlyArray<Cell>): string => `${cells.map(csvCell).join(",")}\r\n`
