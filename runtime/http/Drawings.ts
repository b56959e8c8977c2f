/** Who draws the refusals of which addresses. */
import { Effect, Layer } from "effect"
import { type Draw, Drawings } from "../Http.ts"

/** A printable character that needs no escape in a path, escaped all the same. */
const needless = /%[2-7][0-9a-f]/gi

/** The path of a URL as the router reads it: escapes, doubled slashes and capitals make no difference. */
const pathOf = (url: string): string =>
  url.replace(/[?#;].*$/s, "")
    .replace(needless, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)))
    .replace(/\/+/g, "/")
    .toLowerCase()

/** Kept in memory: modules register when they start. */
export const layer: Layer.Layer<Drawings> = Layer.sync(Drawings, () => {
  const known: Array<readonly [above: string, draw: Draw]> = []
  return Drawings.of({
    register: (path, draw) => Effect.sync(() => void known.push([path, draw])),
    find: (url) => {
      const path = pathOf(url)
      return known.find(([above]) => path === above || path.startsWith(`${above}/`))?.[1]
    }
  })
})
