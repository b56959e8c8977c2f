/**
 * Goal: whoever opens the service's address in a browser learns what it is, how it is, and where to go on; a program
 * that asks there is answered as at any other address that serves nothing.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { join } from "node:path"
import { DocsApi } from "../../../modules/docs/api.ts"
import { handlers } from "../../../modules/docs/handlers.ts"
import { Health } from "../../../runtime/Telemetry.ts"
import { Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"

const health = Layer.mock(Health, {
  register: () => Effect.void,
  report: Effect.succeed({ status: "ok", unavailable: [], degraded: [] } as never)
})
const routes = HttpApiBuilder.layer(DocsApi).pipe(
  Layer.provide(handlers),
  Layer.provide(health),
  Layer.provide(NodeServices.layer)
)
const live = apiLayer([DocsApi], routes, kernel([]))
const servedFrom = (settings: Parameters<typeof settingsLayer>[0]) =>
  apiLayer([DocsApi], routes, kernel([], settingsLayer(settings)))

const browser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" }

layer(live)("the service's address", (it) => {
  it.effect("shows a browser what this is, how it is, and the way to docs, guides and a demo invoice", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const { headers, status, text } = yield* call("/", { headers: browser })
      assert.strictEqual(status, 200)
      assert.match(headers.get("content-type") ?? "", /^text\/html/)
      assert.include(text, "crypto payments service")
      assert.include(text, "devnet")
      assert.match(text, /<p class="status">/)
      for (const link of ["/docs", "/docs/guides", "/docs/guides/quickstart", "/docs/errors", "/health/ready"]) {
        assert.include(text, `href="${link}"`)
      }
      assert.match(text, /api\/v1\/invoices[\s\S]*payment_url/)
    }))

  it.effect("runs no script and asks nobody else", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const { headers, text } = yield* call("/", { headers: browser })
      const policy = headers.get("content-security-policy") ?? ""
      assert.include(policy, "default-src 'none'")
      assert.notMatch(policy, /script-src|unsafe|https?:/)
      assert.notMatch(text, /<script|\son\w+=|\sstyle=/)
      for (const [, address = ""] of text.matchAll(/(?:href|src)="([^"]*)"/g)) assert.match(address, /^(\/|#)/)
      assert.include(headers.get("vary") ?? "", "accept")
      assert.strictEqual(headers.get("cache-control"), "no-store")
    }))

  it.effect("answers a program that nothing is there", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const headers of [{}, { accept: "application/json" }, { accept: "*/*" }]) {
        const answer = yield* call("/", { headers })
        assert.deepStrictEqual([answer.status, (answer.json as any).error.code], [404, "NOT_FOUND"])
        assert.strictEqual(answer.headers.get("vary"), "accept")
      }
    }))

  it.effect("goes by the whole Accept header: weights, letter case and ranges", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const accept of ["TEXT/HTML", "text/*", "text/html;q=0.9"]) {
        assert.strictEqual((yield* call("/", { headers: { accept } })).status, 200, accept)
      }
      for (const accept of ["text/html;q=0", "text/html;q=0, */*", "application/json, text/html;q=0.5"]) {
        assert.strictEqual(
          (yield* call("/", { headers: { accept } })).headers.get("content-type"),
          "application/json",
          accept
        )
      }
    }))

  it.effect("shows a browser a way on from any address that leads nowhere, and a program JSON", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (
        const path of [
          "/docs/",
          "//",
          "/index.html",
          "/Docs",
          "/login?next=/",
          "/docs/nope",
          "/%zz",
          "/docs/guides;a=b"
        ]
      ) {
        const shown = yield* call(path, { headers: browser })
        assert.include([400, 404], shown.status, path)
        assert.match(shown.headers.get("content-type") ?? "", /^text\/html/, path)
        assert.match(shown.headers.get("content-security-policy") ?? "", /^default-src 'none'/, path)
        for (const link of ["/", "/docs", "/docs/guides"]) assert.include(shown.text, `href="${link}"`, path)
        const told = yield* call(path, { headers: { accept: "application/json" } })
        assert.deepStrictEqual(
          [told.status, told.headers.get("content-type")],
          [shown.status, "application/json"],
          path
        )
        for (const { headers } of [shown, told]) assert.include(headers.get("vary") ?? "", "accept", path)
      }
      const wrong = yield* call("/docs", { method: "POST", body: {}, headers: browser })
      assert.deepStrictEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, HEAD"])
      assert.include(wrong.text, "/docs/errors/METHOD_NOT_ALLOWED")
      const hostile = yield* call("/<script>alert(1)</script>", { headers: browser })
      assert.notInclude(hostile.text, "<script")
    }))

  it.effect("leaves the errors of the API and of streams as they are, whoever asks", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const path of ["/api", "/api/v1/nothing", "/API/v1/nothing", "//api/v1", "/ws/nothing"]) {
        const { headers, status } = yield* call(path, { headers: browser })
        assert.deepStrictEqual([status, headers.get("content-type"), headers.get("vary")], [
          404,
          "application/json",
          null
        ], path)
      }
    }))

  it.effect("has an icon, which every page names", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const path of ["/favicon.svg", "/favicon.ico"]) {
        const icon = yield* call(path)
        assert.strictEqual(icon.status, 200, path)
        assert.match(icon.headers.get("content-type") ?? "", /^image\/svg\+xml/)
        assert.match(icon.text, /^<svg /)
        assert.notMatch(icon.text, /<script|href=/)
      }
      for (const path of ["/", "/docs", "/docs/guides", "/docs/errors"]) {
        assert.include((yield* call(path, { headers: browser })).text, "<link rel=\"icon\" href=\"/favicon.svg\"", path)
      }
    }))
})

layer(servedFrom({ dataDirectory: "/srv/till's data" }) as Layer.Layer<Api>)("a data directory elsewhere", (it) => {
  it.effect("is where the pages say that the demo keys are", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const path of ["/", "/docs/errors/INVALID_LIMIT", "/docs/guides/quickstart", "/docs/guides/quickstart.md"]) {
        const text = (yield* call(path, { headers: browser })).text
          .replaceAll(/&(?:quot|#39);/g, (entity) => entity === "&quot;" ? "\"" : "'")
        assert.include(text, `require("/srv/till'\\''s data/demo-keys.json").merchant_key`, path)
        assert.notInclude(text, ".tillwire/", path)
        assert.notInclude(text, "directory where the service was started", path)
      }
    }))
})

const dataDirectory = join(process.cwd(), ".tillwire")

layer(servedFrom({ dataDirectory }) as Layer.Layer<Api>)(
  "a data directory below the one where the service was started",
  (it) => {
    it.effect("is named from there, so that the lines can be copied", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        const { text } = yield* call("/", { headers: browser })
        assert.include(text, "require(&quot;./.tillwire/demo-keys.json&quot;)")
        assert.notInclude(text, process.cwd())
      }))
  }
)

layer(servedFrom({ dataDirectory: "/srv/till", environments: ["devnet", "mainnet"] }) as Layer.Layer<Api>)(
  "a service with real money",
  (it) => {
    it.effect("tells nobody where its files are", () =>
      Effect.gen(function*() {
        const { call } = yield* Api
        for (const path of ["/", "/docs/errors/INVALID_LIMIT", "/docs/guides/quickstart"]) {
          const { text } = yield* call(path, { headers: browser })
          assert.notInclude(text, "/srv/till", path)
          assert.include(text, "KEY=mk_dev_…", path)
        }
      }))
  }
)
