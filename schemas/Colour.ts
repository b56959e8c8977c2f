/** Colours as merchants send them, and whether people can read one on another (WCAG 2.2, "contrast ratio"). */

/** The colour of a merchant that has chosen none (modules/docs/reference/settings.md#branding). */
export const defaultAccent = "#2a4fd8"

/** `#rrggbb` as three numbers of 0 to 255. */
type Channels = readonly [number, number, number]

const channelsOf = (colour: string): Channels => [
  Number.parseInt(colour.slice(1, 3), 16),
  Number.parseInt(colour.slice(3, 5), 16),
  Number.parseInt(colour.slice(5, 7), 16)
]

const hexOf = (channels: Channels): string =>
  `#${channels.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`

const linear = (channel: number): number =>
  channel <= 10 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4

const luminance = (colour: string): number => {
  const [red, green, blue] = channelsOf(colour)
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/** Contrast that text needs against what it stands on (WCAG 2.2, 1.4.3, AA). */
export const leastContrast = 4.5

/**
 * The contrast of two colours `#rrggbb`, 1 to 21, whichever is the text.
 *
 * @example
 * contrast("#ffffff", "#000000") // => 21
 */
export const contrast = (one: string, other: string): number => {
  const [dark, light] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** Whether text in one of the colours can be read on the other. */
export const isReadable = (one: string, other: string): boolean => contrast(one, other) >= leastContrast

/** Steps from a colour to white or black in which {@link readableOn} looks. */
const steps = 32

const mix = (from: Channels, to: number, step: number): string =>
  hexOf(from.map((channel) => Math.round(channel + (to - channel) * step / steps)) as unknown as Channels)

/**
 * The colour nearest to `colour` that reads on every one of `grounds`: itself, else lighter or darker in its own hue.
 * The grounds must be all dark or all light; between them no colour may be left, and white or black is answered.
 */
export const readableOn = (colour: string, ...grounds: ReadonlyArray<string>): string => {
  const towards = grounds.every((ground) => luminance(ground) < 0.18) ? 255 : 0
  const channels = channelsOf(colour)
  const candidates = Array.from({ length: steps + 1 }, (_, step) => mix(channels, towards, step))
  return candidates.find((one) => grounds.every((ground) => isReadable(one, ground))) ?? candidates[steps]!
}

/** White or black, whichever reads better on `ground`; one of them always reaches {@link leastContrast}. */
export const textOn = (ground: string): string =>
  contrast("#ffffff", ground) >= contrast("#000000", ground) ? "#ffffff" : "#000000"
