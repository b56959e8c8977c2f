/** Goal: the scripts of the pages in the repository are what their sources make, and small. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { buildClaim, buildIsland } from "../../../modules/checkout/build.ts"
import { claimScript, island } from "../../../modules/checkout/repo.ts"

layer(NodeFileSystem.layer)("the payment page's script", (it) => {
  it.effect("is what its sources make: after a change of them, npm run island", () =>
    Effect.map(island, (text) => assert.strictEqual(text, buildIsland())))

  it.effect("is one classic script of at most 5.5 KB compressed, without a word for the console or for its readers", () =>
    Effect.map(island, (text) => {
      assert.isAtMost(brotliCompressSync(text).length, 5.5 * 1024)
      assert.notMatch(text, /\bimport\b|\bexport\b|\/\*|console/)
      assert.match(text, /^"use strict";\(\(\)=>\{[^]*\}\)\(\);\n$/)
    }))
})

layer(NodeFileSystem.layer)("the claim page's script", (it) => {
  it.effect("is what its sources make, one classic script without a word for the console or for its readers", () =>
    Effect.map(claimScript, (text) => {
      assert.strictEqual(text, buildClaim())
      assert.isAtMost(gzipSync(text).length, 2 * 1024)
      assert.notMatch(text, /\bimport\b|\bexport\b|\/\*|console/)
      assert.match(text, /^"use strict";\(\(\)=>\{[^]*\}\)\(\);\n$/)
    }))
})
