/** Bars of a series, drawn on the server, with the same numbers as a table. */
import { type Html, html } from "../../../runtime/pages/Html.ts"

export interface Bar {
  readonly label: string
  /** Drawn as high as this is beside the highest; the text is what is read. */
  readonly value: number
  readonly text: string
}

const width = 700
const height = 190
const left = 8

/** `sentence` is what the picture says, for whoever does not see it. */
export const barChart = (sentence: string, bars: ReadonlyArray<Bar>): Html => {
  const highest = Math.max(1, ...bars.map(({ value }) => value))
  const step = (width - left) / Math.max(1, bars.length)
  const heightOf = (value: number) => Math.round((value / highest) * (height - 10))
  return html`<svg class="chart" viewBox="0 0 ${width} ${height + 22}" role="img" aria-label="${sentence}">
    <line x1="${left}" x2="${width}" y1="${height}" y2="${height}"/><g class="bars">${
    bars.map(({ text, value }, index) =>
      html`<rect x="${(left + index * step).toFixed(1)}" width="${(step * 0.75).toFixed(1)}" y="${
        height - heightOf(value)
      }" height="${heightOf(value)}" rx="2"><title>${text}</title></rect>`
    )
  }</g>${
    bars.map(({ label }, index) =>
      index % Math.max(1, Math.ceil(bars.length / 6)) === 0
      && html`<text x="${(left + index * step).toFixed(1)}" y="${height + 16}">${label}</text>`
    )
  }</svg>`
}
