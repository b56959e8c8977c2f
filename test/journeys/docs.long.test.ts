/**
 * Goal: what the documentation tells a reader to do works word by word. Method: the quickstart's own code blocks are
 * run by a shell against a real service (`test/browser/` opens the reference).
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { execFile } from "node:child_process"
import { dirname } from "node:path"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, type Service, startService, temporaryDirectory } from "../support/Service.ts"

const service: Effect.Effect<Service, never, Scope.Scope> = Effect.gen(function*() {
  const { url } = yield* migratedDatabase
  const config = configOf({ database: url, chains: [{ use: "simulated" }] })
  return yield* startService({
    directory: yield* temporaryDirectory,
    config: { ...config, modules: [...config.modules, { use: "docs" }] }
  })
})

const shell = (script: string, folder: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    execFile("bash", ["-euo", "pipefail", "-c", script], { cwd: folder }, (error, said, complained) =>
      resume(error === null ? Effect.succeed(said) : Effect.die(new Error(`${complained}\n${said}`, { cause: error }))))
  })

/** What a reader of the guide is to type once the service runs. */
const blocksOf = (markdown: string) =>
  [...markdown.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join("\n")

describe("documentation of a running service", () => {
  it.live("leads through the quickstart to a paid invoice", () =>
    Effect.gen(function*() {
      const running = yield* service
      yield* running.keys
      const script = blocksOf((yield* running.call("/docs/guides/quickstart.md")).text)
      assert.include(script, `BASE=${running.url}`)
      const said = (yield* shell(script, dirname(running.dataDirectory))).trim().split("\n")
      assert.strictEqual(said[0], "paid")
      assert.includeMembers(said, ["invoice.created", "invoice_payment.created", "invoice.updated", "invoice.paid"])
    }).pipe(Effect.scoped))

  it.live("answers its OpenAPI document compressed, once, to any page", () =>
    Effect.gen(function*() {
      const running = yield* service
      const first = yield* running.call("/openapi.json")
      assert.strictEqual(first.json.openapi, "3.1.0")
      assert.deepStrictEqual(first.json.servers.map(({ url }: { url: string }) => url), [running.url])
      assert.strictEqual(first.headers["access-control-allow-origin"], "*")
      const packed = yield* running.call("/openapi.json", { headers: { "accept-encoding": "br" } })
      assert.strictEqual(packed.headers["content-encoding"], "br")
      assert.isBelow(Number(packed.headers["content-length"]), first.text.length / 10)
      const again = yield* running.call("/openapi.json", { headers: { "if-none-match": first.headers.etag ?? "" } })
      assert.strictEqual(again.status, 304)
    }).pipe(Effect.scoped))
})
