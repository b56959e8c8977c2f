/** The picture of a token: its first letters on a colour of its own. No logo of anybody else's is ever shown. Pure. */
import { readableOn } from "./Colour.ts"

/** Letters on a badge, at most: four can still be read at 24 pixels. */
const maximumLetters = 4

/** Half of the width of a badge, in units of its own. */
const half = 32

/** Sizes of the text by how many letters there are, so that it stays inside the circle. */
const sizes = [0, 34, 28, 23, 19]

const white = "#ffffff"

/** What of a symbol is shown: letters and digits, in capitals. A symbol without any is shown as `?`. */
const lettersOf = (symbol: string, most: number): string =>
  [...symbol.normalize("NFKC").replaceAll(/[^\p{L}\p{N}]/gu, "")].slice(0, most).join("").toUpperCase() || "?"

/** FNV-1a, 32 bits: the same for one symbol in every process and version. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return hash
}

/** A hue of 0 to 360 as a colour of middle strength, `#rrggbb`. */
const colourOf = (hue: number): string => {
  const channel = (offset: number) => {
    const place = (offset + hue / 30) % 12
    const value = 0.45 - 0.6 * 0.45 * Math.max(-1, Math.min(place - 3, 9 - place, 1))
    return Math.round(value * 255).toString(16).padStart(2, "0")
  }
  return `#${channel(0)}${channel(8)}${channel(4)}`
}

/**
 * The colour of a symbol, however its letters are cased: white text on it has a contrast of at least
 * 4.5 (WCAG 2.2, AA).
 */
export const badgeColour = (symbol: string): string => readableOn(colourOf(hashOf(symbol.toLowerCase()) % 360), white)

/** What a badge is drawn from, for whoever draws it into markup of its own; the circle has 64 units across. */
export interface Badge {
  readonly letters: string
  /** `#rrggbb`, on which white text can be read. */
  readonly colour: string
  /** Of the text. */
  readonly size: number
}

/** The badge of a symbol or of a name, with at most so many letters. */
export const badgeOf = (symbol: string, most = maximumLetters): Badge => {
  const letters = lettersOf(symbol, most)
  return { letters, colour: badgeColour(symbol), size: sizes[[...letters].length] ?? sizes[maximumLetters]! }
}

/**
 * The badge of a symbol as an SVG of 64 by 64 units, without scripts, links or fonts of its own. Takes any text: what
 * is no letter and no digit is left out, so that nothing of it can become markup.
 *
 * @example
 * tokenBadge("USDC") // => "<svg xmlns=… >USDC</text></svg>"
 */
export const tokenBadge = (symbol: string): string => {
  const { colour, letters, size } = badgeOf(symbol)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" role="img" aria-label="${letters}">`
    + `<circle cx="${half}" cy="${half}" r="${half}" fill="${colour}"/>`
    + `<text x="${half}" y="${half}" dy=".35em" text-anchor="middle" fill="${white}" font-family="system-ui,sans-serif" `
    + `font-weight="600" font-size="${size}">${letters}</text></svg>`
}
