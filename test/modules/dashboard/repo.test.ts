/** Goal: the scripts of the dashboard in the repository are what their sources make, and small. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { brotliCompressSync } from "node:zlib"
import { buildIsland, buildSign } from "../../../modules/dashboard/build.ts"
import { island, sign, stylesheet } from "../../../modules/dashboard/repo.ts"

const scripts = [
  ["the dashboard's script", island, buildIsland, 6],
  ["the script of what is signed", sign, buildSign, 4]
] as const

layer(NodeFileSystem.layer)("a script of the dashboard", (it) => {
  for (const [name, text, build, kilobytes] of scripts) {
    it.effect(`is what its sources make, at most ${kilobytes} KB compressed: ${name}`, () =>
      Effect.map(text, (found) => {
        assert.strictEqual(found, build(), "after a change of them, npm run island")
        assert.isAtMost(brotliCompressSync(found).length, kilobytes * 1024)
        assert.notMatch(found, /\/\*|console/)
      }))
  }

  it.effect("comes beside a stylesheet of at most 5 KB compressed", () =>
    Effect.map(stylesheet, (text) => assert.isAtMost(brotliCompressSync(text).length, 5 * 1024)))
})
