/**
 * Goal: the payment page's script is made at every start, wherever that is, or the start says what to do.
 * Method: the real bundler; surroundings of other kinds in a process of their own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import { island } from "../../../modules/checkout/repo.ts"

const repo = new URL("../../../modules/checkout/repo.ts", import.meta.url).href
const modules = new URL("../../../node_modules/", import.meta.url).href

/** Prints the script's length, or why there is none, from a process that does `before` first. */
const made = async (before: string, env: Readonly<Record<string, string>> = {}) => {
  const program = `
    ${before}
    const { Effect } = await import("${modules}effect/dist/index.js")
    const { island } = await import("${repo}")
    console.log(await Effect.runPromise(Effect.match(island, { onSuccess: (text) => text.length, onFailure: (error) => error.message })))`
  const { stderr, stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    env: { ...process.env, ...env }
  })
  return { stderr, stdout: stdout.trim() }
}

describe("the payment page's script", () => {
  it.effect("is one classic script of at most 4 KB compressed, without a word for the console or for its readers", () =>
    Effect.map(island, (text) => {
      assert.isAtMost(gzipSync(text).length, 4 * 1024)
      assert.notMatch(text, /\bimport\b|\bexport\b|\/\*|console/)
      assert.match(text, /^"use strict";\(\(\)=>\{[^]*\}\)\(\);\n$/)
    }))

  it("is the same where the working directory was removed", async () => {
    const directory = mkdtempSync(join(tmpdir(), "till-gone-"))
    const text = await Effect.runPromise(island)
    const before = `process.chdir(${JSON.stringify(directory)}); (await import("node:fs")).rmdirSync(${
      JSON.stringify(directory)
    })`
    assert.deepStrictEqual(await made(before), { stderr: "", stdout: String(text.length) })
  })

  it("that cannot be made is told in one line that says what to do", async () => {
    const { stdout } = await made("", { ESBUILD_BINARY_PATH: process.execPath, NODE_OPTIONS: "" })
    assert.match(
      stdout,
      /^the payment page's script cannot be made: [^\n]+\. Install the packages on this machine[^\n]+npm ci --omit=dev"$/
    )
  })
})
