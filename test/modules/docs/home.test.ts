/**
 * Goal: whoever opens the service's address in a browser learns what it is, how it is, and where to go on; a program that
 * asks there is answered as at any other address that serves nothing.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { DocsApi } from "../../../modules/docs/api.ts"
import { handlers } from "../../../modules/docs/handlers.ts"
import { Health } from "../../../runtime/Telemetry.ts"
import { Api, apiLayer, kernel } from "../../support/Api.ts"

const health = Layer.mock(Health, {
  register: () => Effect.void,
  report: Effect.succeed({ status: "ok", unavailable: [], degraded: [] } as never)
})
const routes = HttpApiBuilder.layer(DocsApi).pipe(
  Layer.provide(handlers), Layer.provide(health), Layer.provide(NodeServices.layer)
)
const live = apiLayer([DocsApi], routes, kernel([]))

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
        const { json, status } = yield* call("/", { headers })
        assert.deepStrictEqual([status, (json as any).error.code], [404, "NOT_FOUND"])
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
