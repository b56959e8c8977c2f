/** A QR code as text for a terminal: two rows of modules in each line, by half blocks. Pure. */
import { encode } from "uqr"

/** White modules on each side (ISO/IEC 18004). */
const quietZone = 4

/** Dark on light whatever the terminal's colours are: scanners read inverted codes badly. */
const onWhite = (line: string) => `\u001b[30;47m${line}\u001b[0m`

/**
 * `coloured`: drawn black on white by colours of the terminal; else by blocks alone, which suits a light terminal and
 * a file.
 */
export const qrText = (text: string, coloured: boolean): string => {
  const { data, size } = encode(text, { ecc: "L", border: 0 })
  const isDark = (row: number, column: number): boolean => data[row]?.[column] === true
  const lines: Array<string> = []
  for (let row = -quietZone; row < size + quietZone; row += 2) {
    let line = ""
    for (let column = -quietZone; column < size + quietZone; column++) {
      const upper = isDark(row, column)
      const lower = isDark(row + 1, column)
      line += upper ? lower ? "█" : "▀" : lower ? "▄" : " "
    }
    lines.push(coloured ? onWhite(line) : line.trimEnd())
  }
  return lines.join("\n")
}
