/**
 * Goal: the package works for people who install it: plain JavaScript, with types, without our sources' tools.
 * Method: it is packed as it would be published and unpacked below a project's `node_modules`; a program there runs, and a
 * typed one is checked by the compiler.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const root = decodeURIComponent(new URL("../../..", import.meta.url).pathname)
const folder = mkdtempSync(join(tmpdir(), "till-package-"))
const installed = join(folder, "node_modules", "tillwire")

const run = (command: string, words: ReadonlyArray<string>, cwd = folder): string =>
  execFileSync(command, words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

const program = `
import { createClient, TillwireError } from "tillwire/fetch"
import { verify } from "tillwire/webhooks"
import { IdempotencyKey, make, TillwireApi } from "tillwire/client"

const client = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: "mk_dev_x", attempts: 1 })
const code = await client.get("/api/v1/events").catch((error) => error instanceof TillwireError ? error.code : "?")
const verdict = await verify("{}", {}, ["whsec_AAAA"])
console.log(code, verdict.ok ? "ok" : verdict.reason, typeof make, "invoices" in TillwireApi.groups, IdempotencyKey.key)
`

const typed = `
import { createClient } from "tillwire/fetch"
import { verify, type Reason } from "tillwire/webhooks"
import { make } from "tillwire/client"
import { Effect } from "effect"

const client = createClient({ baseUrl: "https://pay.test", apiKey: "mk_dev_x" })
export const total: Promise<number> = client.get("/api/v1/invoices").then((page) => page.total)
export const reason = async (): Promise<Reason | undefined> => {
  const verdict = await verify("{}", new Headers(), [])
  return verdict.ok ? undefined : verdict.reason
}
export const statuses = Effect.gen(function*() {
  const tillwire = yield* make({ baseUrl: "https://pay.test" })
  const page = yield* tillwire.invoices.list({ query: {} })
  return page.data.map(({ status }) => status satisfies "unpaid" | "underpaid" | "paid" | "expired" | "canceled")
})
// @ts-expect-error a page has no such field
client.get("/api/v1/invoices").then((page) => page.nope)
`

describe("the package", () => {
  beforeAll(() => {
    const [packed] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", folder], root)) as [{ filename: string }]
    mkdirSync(installed, { recursive: true })
    run("tar", ["-xzf", join(folder, packed.filename), "-C", installed, "--strip-components", "1"])
    // What npm would fetch for it is already here.
    symlinkSync(join(root, "node_modules", "effect"), join(folder, "node_modules", "effect"))
    write("package.json", JSON.stringify({ name: "shop", type: "module", private: true }))
    return () => rmSync(folder, { recursive: true, force: true })
  }, 120_000)

  it("runs in a project that only knows JavaScript", () => {
    write("program.mjs", program)
    const said = run(process.execPath, ["program.mjs"]).trim()
    assert.strictEqual(said, "NETWORK_ERROR missing_header function true tillwire/client/IdempotencyKey")
  })

  it("is typed for one that is strict about types", () => {
    write("typed.ts", typed)
    write("tsconfig.json", JSON.stringify({
      compilerOptions: {
        module: "NodeNext", target: "ES2022", lib: ["ES2024", "DOM", "DOM.Iterable"], strict: true, noEmit: true,
        types: [], skipLibCheck: false, exactOptionalPropertyTypes: true
      },
      files: ["typed.ts"]
    }))
    const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")
    assert.strictEqual(run(process.execPath, [compiler, "--project", "."]), "")
  }, 120_000)

  it("holds no test, no data and no secret", () => {
    const names = run("tar", ["-tzf", join(folder, readPacked())])
    assert.notMatch(names, /package\/(test|\.tillwire|\.ci|node_modules)\//)
    assert.include(names, "package/dist/fetch.js")
  })
})

const readPacked = () => {
  const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { name: string; version: string }
  return `${name}-${version}.tgz`
}
