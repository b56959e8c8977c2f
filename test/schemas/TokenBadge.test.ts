/** Goal: every token has a picture that can be read, is the same everywhere, and cannot carry anything but letters. */
import { assert, describe, it } from "@effect/vitest"
import { contrast, leastContrast } from "../../schemas/Colour.ts"
import { badgeColour, tokenBadge } from "../../schemas/TokenBadge.ts"

const hostile = [
  "<script>alert(1)</script>",
  "\"><svg onload=alert(1)>",
  "'&<>\"",
  "../../etc/passwd",
  "\u202egnp.exe",
  "",
  "   ",
  "\0",
  "${x}",
  "💩",
  "A".repeat(10_000),
  "\ud800"
]

describe("a token's badge", () => {
  it("shows the first letters of its symbol, in capitals", () => {
    for (
      const [symbol, letters] of [["USDC", "USDC"], ["eth", "ETH"], ["USD₮0", "USD0"], ["wstETH", "WSTE"], [
        "$WIF",
        "WIF"
      ], ["", "?"]] as const
    ) {
      assert.include(tokenBadge(symbol), `>${letters}</text>`)
    }
  })

  it("can be read: white on its colour has the contrast of AA, whatever the symbol", () => {
    for (let index = 0; index < 2_000; index++) {
      const colour = badgeColour(`T${index}`)
      assert.match(colour, /^#[0-9a-f]{6}$/)
      assert.isAtLeast(contrast("#ffffff", colour), leastContrast, `T${index} ${colour}`)
    }
  })

  it("is the same every time and in any case, and tells tokens apart", () => {
    assert.strictEqual(tokenBadge("USDC"), tokenBadge("usdc"))
    assert.strictEqual(badgeColour("USDC"), badgeColour("USDC"))
    const colours = new Set(["USDC", "USDT", "ETH", "BTC", "SOL", "BNB", "AVAX", "TON", "ADA", "SUI"].map(badgeColour))
    assert.isAtLeast(colours.size, 9)
  })

  it("of a hostile symbol is plain letters in one picture", () => {
    for (const symbol of hostile) {
      const badge = tokenBadge(symbol)
      assert.match(
        badge,
        /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 64 64" role="img" aria-label="[\p{L}\p{N}?]{1,12}"><circle [^<>]*\/><text [^<>]*>[\p{L}\p{N}?]{1,12}<\/text><\/svg>$/u,
        JSON.stringify(symbol.slice(0, 40))
      )
      assert.isBelow(badge.length, 500)
    }
  })
})
