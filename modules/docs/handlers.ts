/** Serves the pages: each made at its first request, then kept compressed; nothing else of them stays in memory. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { prefersHtml } from "../../runtime/http/Accept.ts"
import { type Asset, immutable, makeAsset, revalidate, serve } from "../../runtime/http/Asset.ts"
import { ErrorPages } from "../../runtime/Http.ts"
import { LocalCalls } from "../../runtime/LocalCalls.ts"
import { demoKeysFile, Settings } from "../../runtime/Settings.ts"
import { Health } from "../../runtime/Telemetry.ts"
import { type ErrorCode, errorCodes, publicError } from "../../schemas/Errors.ts"
import { apiVersion } from "../../schemas/Event.ts"
import { DocsApi } from "./api.ts"
import * as Pages from "./pages.ts"
import { errorMain, llmsFull } from "./pages/errors.ts"
import * as Repo from "./repo.ts"
import * as Operations from "../../runtime/Operations.ts"

const html = "text/html; charset=utf-8"
const plain = "text/plain; charset=utf-8"
const script = "text/javascript; charset=utf-8"

const commonHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()"
}

const basePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Guides, rules and errors run no script at all. */
const pageHeaders = {
  ...commonHeaders,
  "content-security-policy": `${basePolicy}; style-src 'self'; img-src 'self' data:`
}

/**
 * The reference runs one script of ours and asks this origin only. Its styles are made by that script while it runs, so
 * they cannot be named by a hash: `'unsafe-inline'` is for them and for nothing else.
 */
const referenceHeaders = {
  ...commonHeaders,
  "content-security-policy":
    `${basePolicy}; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; ` +
    "connect-src 'self'"
}

/**
 * The recovery page holds a seed for a while: it runs its own script, named by its hash, and may connect to nobody.
 */
const recoveryHeaders = (text: string) => ({
  ...commonHeaders,
  "content-security-policy": `${basePolicy}; script-src '${Pages.inlineHash(text, "script")}'; ` +
    `style-src '${Pages.inlineHash(text, "style")}'; img-src 'self' data:`
})

const isErrorCode = (text: string): text is ErrorCode => (errorCodes as ReadonlyArray<string>).includes(text)

const send = (asset: Asset, cacheControl: string, headers: Readonly<Record<string, string>>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => serve(asset, request, cacheControl, headers))

export const handlers = Operations.group(
  DocsApi,
  "docs",
  // oxlint-disable-next-line max-lines-per-function -- the routes of one group, each a few lines
  Effect.fn(function*(group) {
    const { dataDirectory, environments, publicUrl } = yield* Settings
    const keysPath = Pages.keysPathOf(environments, `${dataDirectory}/${demoKeysFile}`, process.cwd())
    const drawings = yield* ErrorPages
    const health = yield* Health
    const localCalls = yield* LocalCalls
    const repo = yield* Repo.make

    const style = yield* Effect.flatMap(repo.stylesheet, (text) => makeAsset(text, "text/css; charset=utf-8"))
    const reference = yield* Effect.cached(
      Effect.flatMap(repo.scalar, (scalar) => {
        const text = Pages.referenceScript(scalar)
        // 3 MB: requests are answered between its parts.
        return Effect.andThen(Effect.yieldNow, makeAsset(text, script))
      })
    )

    const styleName = `style-${style.hash}.css`
    const scriptName = ({ hash }: Asset) => `reference-${hash}.js`
    const fullPage = (title: string, main: string) => Pages.page(title, main, `/docs/assets/${styleName}`)

    /** Keeps what `make` makes under `key`. The keys are names of files and codes that exist, so there are few. */
    const assetCache = new Map<string, Asset>()
    const cachedAsset = (
      key: string,
      contentType: string,
      make: Effect.Effect<string | Uint8Array>
    ): Effect.Effect<Asset> => {
      const cached = assetCache.get(key)
      if (cached !== undefined) return Effect.succeed(cached)
      return Effect.flatMap(make, (text) => makeAsset(text, contentType)).pipe(
        Effect.tap((asset) => Effect.sync(() => assetCache.set(key, asset)))
      )
    }

    const showPage = (key: string, title: string, main: Effect.Effect<string>) =>
      Effect.flatMap(
        cachedAsset(key, html, Effect.map(main, (inner) => fullPage(title, inner))),
        (asset) => send(asset, revalidate, pageHeaders)
      )
    const showText = (key: string, text: Effect.Effect<string>) =>
      Effect.flatMap(cachedAsset(key, plain, text), (asset) => send(asset, revalidate, commonHeaders))

    const notFoundPage = Effect.succeed(
      HttpServerResponse.text(fullPage("Not found", Pages.missingMain), {
        status: 404,
        contentType: html,
        headers: pageHeaders
      })
    )

    yield* drawings.registerForBrowsers((error) => ({
      html: fullPage(error.code === "NOT_FOUND" ? "Not found" : error.code, Pages.refusalMain(error)),
      headers: pageHeaders
    }))

    const showIcon = Effect.flatMap(
      cachedAsset("icon", "image/svg+xml", Effect.succeed(Pages.icon)),
      (asset) => send(asset, revalidate, commonHeaders)
    )

    const recovery = yield* Effect.cached(Effect.gen(function*() {
      const text = yield* repo.recoveryPage
      return { asset: yield* makeAsset(text, html), headers: recoveryHeaders(text) }
    }))
    const guides = yield* Effect.cached(repo.guides(publicUrl, keysPath))
    const rules = yield* Effect.cached(repo.rules(publicUrl))

    /**
     * The page that one of `all` is, or its Markdown where `.md` is added to its name. `kind` keeps both sorts apart.
     */
    const showOne = Effect.fnUntraced(function*(
      kind: string,
      all: Effect.Effect<ReadonlyArray<Pages.Guide>>,
      requestedName: string
    ) {
      const isMarkdown = requestedName.endsWith(".md")
      const name = isMarkdown ? requestedName.slice(0, -".md".length) : requestedName
      const match = (yield* all).find((one) => one.name === name)
      if (match === undefined) return yield* notFoundPage
      return yield* isMarkdown
        ? showText(`${kind} markdown ${name}`, Effect.succeed(match.markdown))
        : showPage(`${kind} ${name}`, match.title, Effect.succeed(match.html))
    })

    return group
      .handle("reference", () =>
        Effect.flatMap(reference, (asset) =>
          Effect.flatMap(
            cachedAsset("reference", html, Effect.succeed(Pages.referencePage(`/docs/assets/${scriptName(asset)}`))),
            (page) => send(page, revalidate, referenceHeaders)
          )))
      .handle(
        "asset",
        Effect.fnUntraced(function*({ params }) {
          if (params.name === styleName) return yield* send(style, immutable, commonHeaders)
          const picture = Pages.pictureNames.find((name) => `${name}.webp` === params.name)
          if (picture !== undefined) {
            const asset = yield* cachedAsset(`picture ${picture}`, "image/webp", repo.picture(picture))
            return yield* send(asset, revalidate, commonHeaders)
          }
          if (!params.name.startsWith("reference-")) return yield* notFoundPage
          const asset = yield* reference
          return params.name === scriptName(asset) ? yield* send(asset, immutable, commonHeaders) : yield* notFoundPage
        })
      )
      .handle("guides", () => showPage("guides", "Guides", Effect.map(guides, Pages.guidesMain)))
      .handle("guide", ({ params }) => showOne("guide", guides, params.name))
      .handle("rules", () => showPage("rules", "Reference", Effect.map(rules, Pages.rulesMain)))
      .handle("rule", ({ params }) => showOne("rule", rules, params.name))
      .handle("errors", () => showPage("errors", "Errors", Effect.sync(Pages.errorsMain)))
      .handle("error", ({ params }) =>
        isErrorCode(params.code)
          ? showPage(
            `error ${params.code}`,
            params.code,
            Effect.succeed(errorMain(params.code, { publicUrl, keysPath }))
          )
          : notFoundPage)
      .handle(
        "recovery",
        () => Effect.flatMap(recovery, ({ asset, headers }) => send(asset, revalidate, headers))
      )
      .handle(
        "home",
        Effect.fnUntraced(function*() {
          const { headers } = yield* HttpServerRequest.HttpServerRequest
          // Browsers name HTML; programs that ask for anything are answered as at any address where nothing is.
          if (!prefersHtml(headers["accept"])) return yield* publicError("NOT_FOUND")
          const { status } = yield* health.report
          const text = fullPage(
            "A crypto payments service",
            Pages.homeMain({
              publicUrl,
              environments,
              status,
              apiVersion,
              keysPath,
              hasDashboard: localCalls.serves("/dashboard")
            })
          )
          return HttpServerResponse.text(text, {
            contentType: html,
            headers: { ...pageHeaders, "cache-control": "no-store", vary: "accept" }
          })
        })
      )
      .handle("icon", () => showIcon)
      .handle("defaultIcon", () => showIcon)
      .handle(
        "llms",
        () => showText("llms", Effect.zipWith(guides, rules, (some, others) => Pages.llms(some, others, publicUrl)))
      )
      .handle(
        "llmsFull",
        () => showText("llms-full", Effect.zipWith(guides, rules, (some, others) => llmsFull([...some, ...others])))
      )
  })
)
