/** Goal: a command finds its config as the guide says (modules/docs/guides/cli.md#what-it-talks-to). */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryDirectory } from "../../support/Service.ts"
import { runCommand } from "./CommandLine.ts"

describe("the config file of a command", () => {
  it.live("is that of the directory, and in an empty one the devnet that comes with the service", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const brought = yield* runCommand(["config", "print"], {}, directory)
      assert.strictEqual(brought.code, 0, brought.stderr)
      assert.match(brought.stderr, /^\/.*\/config\/devnet\.jsonc, with/u)
      assert.include(brought.stdout, "\"simulated\"")

      mkdirSync(join(directory, "config"))
      writeFileSync(join(directory, "config/devnet.jsonc"), "{ \"environments\": [\"devnet\"] }")
      const own = yield* runCommand(["config", "print"], {}, directory)
      assert.strictEqual(own.code, 0, own.stderr)
      assert.match(own.stderr, /^config\/devnet\.jsonc, with/u)

      const missing = yield* runCommand(["config", "print"], { TILLWIRE_CONFIG: "other.jsonc" }, directory)
      assert.strictEqual(missing.code, 2)
      assert.include(missing.stderr, "other.jsonc")
    }).pipe(Effect.scoped))
})
