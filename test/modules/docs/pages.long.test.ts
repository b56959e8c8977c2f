/**
 * Goal: the reference, its rules, the guides and every error code can be read by people and machines, and no page runs
 * or loads anything that is not ours. Method: the module's real routes without a socket; every link and every asset a
 * page names is asked for.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { DocsApi } from "../../../modules/docs/api.ts"
import { handlers } from "../../../modules/docs/handlers.ts"
import { escape, guideNames, page, pictureNames, ruleNames } from "../../../modules/docs/pages.ts"
import { errorCodes, meaningOf, statusOf } from "../../../schemas/Errors.ts"
import { Api, apiLayer, kernel } from "../../support/Api.ts"

const routes = HttpApiBuilder.layer(DocsApi).pipe(Layer.provide(handlers), Layer.provide(NodeServices.layer))
const live = apiLayer([DocsApi], routes, kernel([]))

const indexes = ["/docs", "/docs/guides", "/docs/reference", "/docs/errors", "/llms.txt", "/llms-full.txt"]
const pages = [
  ...indexes,
  ...guideNames.map((name) => `/docs/guides/${name}`),
  ...ruleNames.map((name) => `/docs/reference/${name}`),
  ...errorCodes.map((code) => `/docs/errors/${code}`)
]

const linksOf = (text: string) => [...text.matchAll(/(?:href|src)="(\/docs[^"#]*)/g)].map(([, link]) => link ?? "")

/** Links to a heading, of the page at `path` and of others: the page and the heading's id. */
const headingLinks = (path: string, text: string) =>
  [...text.matchAll(/href="(\/docs[^"#]*)?#([^"]+)"/g)].map(([, to = path, id = ""]) => ({ from: path, to, id }))

describe("documentation", () => {
  layer(live)((it) => {
    it.effect("is there, and every link of it within the module leads somewhere", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        const seen = new Set<string>()
        for (const path of pages) {
          const answer = yield* call(path)
          assert.strictEqual(answer.status, 200, path)
          for (const link of linksOf(answer.text)) seen.add(link)
        }
        for (const link of seen) assert.strictEqual((yield* call(link)).status, 200, link)
        assert.isAbove(seen.size, errorCodes.length)
      }))

    it.effect("links to headings that are there, each once on its page", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        const texts = new Map<string, string>()
        for (const path of pages) texts.set(path, (yield* call(path)).text)
        const links = [...texts].flatMap(([path, text]) => headingLinks(path, text))
        assert.isAbove(links.length, errorCodes.length)
        assert.deepStrictEqual(links.filter(({ id, to }) => !texts.get(to)?.includes(`id="${id}"`)), [])
        for (const [path, text] of texts) {
          const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
          assert.lengthOf(new Set(ids), ids.length, path)
        }
      }))

    it.effect("explains every code of the table: its status, its meaning, cause, fix, a request, both bodies", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        for (const code of errorCodes) {
          const { status, text } = yield* call(`/docs/errors/${code}`)
          assert.strictEqual(status, 200, code)
          assert.include(text, `HTTP status ${statusOf(code)}`)
          assert.include(text, escape(JSON.stringify(meaningOf(code))), code)
          for (const heading of ["Cause", "What to do", "A request that causes it"]) {
            assert.match(text, new RegExp(`<h2>${heading}</h2>\\n<p>.{20}`), `${code}: ${heading}`)
          }
          assert.notInclude(text, "127.0.0.1:8080")
        }
      }))

    it.effect("shows the pictures that the guides name", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        for (const name of pictureNames) {
          const { headers, status } = yield* call(`/docs/assets/${name}.webp`)
          assert.deepStrictEqual([status, headers.get("content-type")], [200, "image/webp"])
        }
      }))

    it.effect("answers 404 for what is not there, and 405 for what may not be sent", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        for (
          const path of [
            "/docs/errors/NO_SUCH_CODE",
            "/docs/guides/nope",
            "/docs/guides/..%2Fplugin.ts",
            "/docs/reference/nope",
            "/docs/reference/..%2Fplugin.ts",
            "/docs/assets/style-0.css",
            "/docs/assets/reference-0.js",
            "/docs/assets/nope.webp",
            "/docs/assets/..%2Fstyle.css",
            "/docs/nope"
          ]
        ) {
          assert.strictEqual((yield* call(path)).status, 404, path)
        }
        assert.strictEqual((yield* call("/docs", { method: "POST", body: {} })).status, 405)
      }))

    it.effect("allows no script on a page, and on the reference only ours", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        for (const path of pages.filter((path) => path !== "/docs" && !path.endsWith(".txt"))) {
          const { headers, text } = yield* call(path)
          const policy = headers.get("content-security-policy") ?? ""
          assert.include(policy, "default-src 'none'")
          assert.notMatch(policy, /script-src|unsafe|https?:/)
          assert.notMatch(text, /<script|\son\w+=|\sstyle=/)
        }
        const reference = yield* call("/docs")
        const policy = reference.headers.get("content-security-policy") ?? ""
        assert.match(policy, /script-src 'self';/)
        assert.match(policy, /connect-src 'self'$/)
        assert.notMatch(policy, /unsafe-eval|script-src[^;]*unsafe|https?:/)
        assert.notMatch(reference.text, /<script>|<script(?![^>]*src="\/docs\/assets\/)/)
      }))

    it.effect("keeps assets for ever under the name of their content, and asks again about pages", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        const guide = yield* call("/docs/guides/quickstart")
        assert.strictEqual(guide.headers.get("cache-control"), "public, no-cache")
        const again = yield* call("/docs/guides/quickstart", {
          headers: { "if-none-match": guide.headers.get("etag") ?? "" }
        })
        assert.strictEqual(again.status, 304)
        for (
          const link of [...linksOf(guide.text), ...linksOf((yield* call("/docs")).text)].filter((link) =>
            link.includes("/assets/")
          )
        ) {
          const asset = yield* call(link, { headers: { "accept-encoding": "br" } })
          assert.match(link, /-[0-9a-f]{12}\.(css|js)$/)
          assert.match(asset.headers.get("cache-control") ?? "", /max-age=31536000, immutable/)
          assert.strictEqual(asset.headers.get("content-encoding"), "br")
        }
      }))

    it.effect("draws the reference with the script of the installed package, at a third of its size", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        const [link = ""] = linksOf((yield* call("/docs")).text).filter((one) => one.endsWith(".js"))
        const whole = yield* call(link)
        assert.include(whole.text, "Scalar.createApiReference")
        assert.isAbove(whole.text.length, 1_000_000)
        const packed = yield* call(link, { headers: { "accept-encoding": "br" } })
        assert.isBelow(Number(packed.headers.get("content-length")), 1_000_000)
      }))

    it.effect("tells a language model where everything is, with addresses of this deployment", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        const { text } = yield* call("/llms.txt")
        assert.match(text, /^# Tillwire\n\n> /)
        for (const [, path = ""] of text.matchAll(/\]\(http:\/\/till\.test([^)]*)\)/g)) {
          if (path !== "/openapi.json") assert.strictEqual((yield* call(path)).status, 200, path)
        }
        const full = (yield* call("/llms-full.txt")).text
        for (const code of errorCodes) assert.include(full, `\`${code}\``)
        assert.notInclude(full, "127.0.0.1:8080")
      }))
  })

  layer(Layer.empty)((it) => {
    it.effect("shows text as text", () =>
      Effect.sync(() => {
        assert.strictEqual(escape("<a href=\"x\">'&</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&lt;/a&gt;")
        assert.notInclude(page("<script>", "", "\"><script>"), "<script>")
      }))
  })
})
