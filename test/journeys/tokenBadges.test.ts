/**
 * Goal: the picture of every token that the service names is there, for any page that shows it, and is kept by who has
 * it. Method: the catalogue and a payor's choice of a running service are walked, and each `photo_uri` is asked for.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { assertStatus } from "./Shop.ts"
import { ask, Tenants, tenants } from "./Tenants.ts"

layer(tenants, { excludeTestServices: true })("a token's photo_uri", (it) => {
  it.effect("leads to a badge for each token of the catalogue, in both environments, and for what a payor may choose", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const uris = new Set<string>()
      for (const environment of ["devnet", "mainnet"]) {
        for (let offset = 0, total = 1; offset < total; offset += 200) {
          const path = `/api/v1/merchant/tokens/search?environment=${environment}&limit=200&offset=${offset}`
          const page = assertStatus(200, yield* ask(service, a.merchant, path))
          total = page.total
          for (const { photo_uri } of page.tokens) uris.add(photo_uri)
        }
      }
      const made = assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } })
      )
      const offered = assertStatus(
        200,
        yield* service.call("/api/v1/payments/available-tokens?mode=all", { headers: made.payment_session_headers })
      )
      for (const { photo_uri } of offered) uris.add(photo_uri)
      assert.isAbove(uris.size, 10)
      for (const uri of uris) {
        const { headers, status, text } = yield* service.call(uri)
        assert.strictEqual(status, 200, uri)
        assert.match(String(headers["content-type"]), /^image\/svg\+xml/)
        assert.match(text, /^<svg [\s\S]*<\/svg>$/)
        assert.match(String(headers["cache-control"]), /^public, max-age=\d{5,}$/)
        assert.strictEqual(headers["x-content-type-options"], "nosniff")
        assert.include(String(headers["content-security-policy"]), "default-src 'none'")
        assert.strictEqual(headers["cross-origin-resource-policy"], "cross-origin")
        const again = yield* service.call(uri, { headers: { "if-none-match": String(headers.etag) } })
        assert.strictEqual(again.status, 304, uri)
      }
    }))

  it.effect("carries nothing of a hostile symbol, and nothing else is there", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const hostile = yield* service.call(`/assets/tokens/${encodeURIComponent("\"><script>alert(1)</script>")}.svg`)
      assert.strictEqual(hostile.status, 200)
      assert.notMatch(hostile.text, /script|alert\(/i)
      for (const path of ["usdc", "usdc.png", "usdc.svg.exe", "%2e%2e%2fusdc", "x".repeat(200) + ".svg"]) {
        assert.strictEqual((yield* service.call(`/assets/tokens/${path}`)).status, 404, path)
      }
    }))
})
