import { assert, describe, it } from "@effect/vitest"
import { isLocalOrigin, isOrigin, makeOriginCheck } from "../../../runtime/http/Origins.ts"

describe("origins", () => {
  it("are taken as a browser writes them: https, or http on this very machine", () => {
    for (
      const good of [
        "https://shop.example",
        "https://shop.example:8443",
        "http://localhost:5173",
        "http://127.0.0.1:3000",
        "http://[::1]:3000"
      ]
    ) {
      assert.isTrue(isOrigin(good), good)
    }
    for (
      const bad of [
        "",
        "*",
        "null",
        "shop.example",
        "https://shop.example/",
        "https://shop.example:443",
        "https://Shop.example",
        "http://shop.example",
        "https://*.example",
        "https://a@shop.example",
        "http://localhost.evil.example",
        "file://x",
        "ws://localhost:1"
      ]
    ) {
      assert.isFalse(isOrigin(bad), bad)
    }
    assert.deepStrictEqual(["http://localhost:1", "https://localhost:1", "http://shop.example"].map(isLocalOrigin), [
      true,
      false,
      false
    ])
  })

  it("that may open a stream are the service's own and the listed ones, and no part of them", () => {
    const isAllowed = makeOriginCheck("https://pay.example/base", ["https://dash.example"])
    assert.deepStrictEqual(
      ["https://pay.example", "https://dash.example", "https://pay.example.evil", "http://pay.example", "null", ""].map(
        isAllowed
      ),
      [true, true, false, false, false, false]
    )
    const isAllowedHere = makeOriginCheck("http://127.0.0.1:8080", [])
    assert.deepStrictEqual(
      ["http://127.0.0.1:8080", "http://localhost:8080", "http://localhost:8081", "http://localhost"].map(
        isAllowedHere
      ),
      [true, true, false, false]
    )
  })
})
