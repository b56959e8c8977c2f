/** The merchant's colour on the payment page: made readable in light and dark, whatever it is. */
import { defaultAccent, readableOn, textOn } from "../../../schemas/Colour.ts"

/** What the accent stands on: page, card and field of `Style.ts`, in light and in dark. */
export const backgrounds = {
  light: ["#f3f4f7", "#ffffff", "#f5f6f9"],
  dark: ["#0c0d12", "#171a23", "#1d212c"]
} as const

/** `#rrggbb`, as the merchant settings take it. */
const colourPattern = /^#[0-9a-f]{6}$/

/** The accent and the text on it, in light and in dark; each pair, and the accent on its grounds, reaches 4.5:1. */
export const accentOf = (colour: string) => {
  const accent = colourPattern.test(colour) ? colour : defaultAccent
  const light = readableOn(accent, ...backgrounds.light)
  const dark = readableOn(accent, ...backgrounds.dark)
  return { light, onLight: textOn(light), dark, onDark: textOn(dark) }
}

const cssOf = (colour: string): string => {
  const { dark, light, onDark, onLight } = accentOf(colour)
  return `:root{--accent-light:${light};--on-light:${onLight};--accent-dark:${dark};--on-dark:${onDark}}`
}

/** Colours whose stylesheets are kept, at most; the oldest is forgotten first. */
const cacheCapacity = 1_000

const cache = new Map<string, string>()

/** The second stylesheet of a page, which only names colours. Kept: to find a readable colour takes many trials. */
export const accentCss = (colour: string): string => {
  const cached = cache.get(colour)
  if (cached !== undefined) return cached
  const css = cssOf(colour)
  if (cache.size >= cacheCapacity) cache.delete(cache.keys().next().value!)
  cache.set(colour, css)
  return css
}
