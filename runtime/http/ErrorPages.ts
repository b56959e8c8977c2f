/** Which module renders the refusals of which addresses. */
import { Effect, Layer } from "effect"
import { type ErrorPage, ErrorPages, type PageChoice, type RenderErrorPage } from "../Http.ts"
import { prefersHtml } from "./Accept.ts"

/** The body of a page, and its media type. */
export const errorPageBody = (page: ErrorPage): { readonly text: string; readonly contentType: string } =>
  "html" in page
    ? { text: page.html, contentType: "text/html; charset=utf-8" }
    : { text: JSON.stringify(page.json), contentType: "application/json" }

/** A printable character that needs no escape in a path, escaped all the same. */
const needless = /%[2-7][0-9a-f]/gi

/** The path of a URL as the router reads it: escapes, doubled slashes and capitals make no difference. */
const pathOf = (url: string): string =>
  url.replace(/[?#;].*$/s, "")
    .replace(needless, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)))
    .replace(/\/+/g, "/")
    .toLowerCase()

/** Paths whose errors programs read, whatever else they take. */
const ofPrograms = /^\/(?:api|ws)(?:\/|$)/

const json: PageChoice = { render: undefined, dependsOnAccept: false }

/** Kept in memory: modules register when they start. */
export const layer: Layer.Layer<ErrorPages> = Layer.sync(ErrorPages, () => {
  const renderers: Array<readonly [above: string, render: RenderErrorPage]> = []
  let renderForBrowsers: RenderErrorPage | undefined
  return ErrorPages.of({
    register: (path, render) => Effect.sync(() => void renderers.push([path, render])),
    registerForBrowsers: (render) => Effect.sync(() => void (renderForBrowsers = render)),
    choose: ({ headers, url }) => {
      const path = pathOf(url)
      const render = renderers.find(([above]) => path === above || path.startsWith(`${above}/`))?.[1]
      if (render !== undefined) return { render, dependsOnAccept: false }
      if (renderForBrowsers === undefined || ofPrograms.test(path)) return json
      return { render: prefersHtml(headers["accept"]) ? renderForBrowsers : undefined, dependsOnAccept: true }
    }
  })
})
