/**
 * Goal: whatever is wrong with a config is told at once, at its place, with what to do; nothing wrong starts.
 * Method: configs written to a folder of their own and loaded as the service loads them, reports compared whole.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path, Redacted } from "effect"
import { load } from "../../../runtime/Config.ts"

const fixture = (name: string) => decodeURIComponent(new URL(`../../fixtures/plugins/${name}`, import.meta.url).pathname)
const acme = fixture("acme-prices.ts")

interface Given {
  readonly text: string
  readonly environment?: Readonly<Record<string, string>>
  readonly files?: Readonly<Record<string, string>>
}

/** Loads `text` from `c.jsonc` in a folder of its own, beside `files`. */
const loading = ({ environment = {}, files = {}, text }: Given) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const folder = yield* fs.makeTempDirectoryScoped()
    for (const [name, content] of Object.entries({ ...files, "c.jsonc": text })) {
      yield* fs.writeFileString(path.join(folder, name), content)
    }
    const file = path.join(folder, "c.jsonc")
    const short = (report: string) => report.replaceAll(`${folder}/`, "")
    return yield* load({ file, environment }).pipe(Effect.mapError((error) => short(error.report)))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const reportOf = (given: Given) => Effect.flip(Effect.asVoid(loading(given)))

describe("a config", () => {
  it.effect("of one line has every default", () =>
    Effect.gen(function*() {
      const { picked, settings } = yield* loading({ text: `{ "environments": ["devnet"] }` })
      assert.deepStrictEqual(settings, {
        environments: ["devnet"],
        http: { host: "127.0.0.1", port: 8080 },
        rpc: { host: "127.0.0.1", port: 8081 },
        data: { directory: ".tillwire" },
        store: { use: "embedded" },
        chains: [],
        prices: [],
        tokenSources: [],
        transports: [],
        modules: [],
        webhooks: {},
        telemetry: { logs: "auto", level: "info" }
      })
      assert.deepStrictEqual(picked, [])
    }))

  it.effect("may have comments, trailing commas and references", () =>
    Effect.gen(function*() {
      const { picked, settings } = yield* loading({
        text: `{
          // play money
          "environments": ["devnet",],
          "data": { "directory": "/var/\${env:NAME}/till" },
          "prices": [{ "use": "${acme}", "options": { "rate": "1.5", "key": "\${file:./key}" } }],
        }`,
        environment: { NAME: "lib" },
        files: { key: "s3cret\n" }
      })
      assert.strictEqual(settings.data.directory, "/var/lib/till")
      const options = picked[0]?.options as { readonly key: Redacted.Redacted }
      assert.strictEqual(Redacted.value(options.key), "s3cret")
    }))
})

describe("a wrong config", () => {
  const cases: ReadonlyArray<Given & { readonly promise: string; readonly report: string }> = [
    {
      promise: "tells all problems at once, in the order of the file",
      text: `{
  "environments": ["testnet"],
  "http": { "prot": 8080, "host": 7 },
  "rpc": { "port": 99999 },
  "prices": [{ "use": "krakn" }],
  "data": { "directory": "\${env:DATA_DIRECTORY}" }
}`,
      report: `c.jsonc: 6 problems
  c.jsonc:2:20  environments[0]: expected "devnet" | "mainnet"
    2 |   "environments": ["testnet"],
      |                    ^^^^^^^^^
  c.jsonc:3:13  http.prot: unknown key "prot". Did you mean "port"?
    3 |   "http": { "prot": 8080, "host": 7 },
      |             ^^^^^^
  c.jsonc:3:35  http.host: expected string
    3 |   "http": { "prot": 8080, "host": 7 },
      |                                   ^
  c.jsonc:4:20  rpc.port: expected a value between 0 and 65535
    4 |   "rpc": { "port": 99999 },
      |                    ^^^^^
  c.jsonc:5:23  prices[0].use: no built-in plugin "krakn" in prices, and no package of that name. Did you mean "kraken"?
    5 |   "prices": [{ "use": "krakn" }],
      |                       ^^^^^^^
  c.jsonc:6:27  data.directory: environment variable DATA_DIRECTORY is not set
    6 |   "data": { "directory": "\${env:DATA_DIRECTORY}" }
      |                           ^^^^^^^^^^^^^^^^^^^^^`
    }
  ]
  for (const { promise, report, ...given } of cases) {
    it.effect(promise, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* reportOf(given), report)
      }))
  }
})
