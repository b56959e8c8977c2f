/**
 * Goal: whatever is wrong with a plugin from outside, the start is refused with one sentence that says which file, what
 * is wrong and what to do; and nothing of it is taken for another fault.
 * Method: a folder with a config and its packages, as an operator has it, is checked by the command line: once for all
 * broken plugins, because all problems are reported together, and once for those that are fine.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const root = decodeURIComponent(new URL("../../..", import.meta.url).pathname)
const folder = mkdtempSync(join(tmpdir(), "till-plugins-"))

const write = (name: string, text: string) => {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}

/** A package that an operator installed beside the config. */
const install = (name: string, files: Readonly<Record<string, string>>, manifest: object = {}) => {
  write(
    `node_modules/${name}/package.json`,
    JSON.stringify({ name, version: "1.0.0", type: "module", exports: { import: "./index.js" }, ...manifest })
  )
  for (const [file, text] of Object.entries(files)) write(`node_modules/${name}/${file}`, text)
}

const imports = `import { Effect, Layer, Schema } from "effect"\nimport { make } from "tillwire/plugin"\n`

/** The text of a module whose plugin has these fields beside, or in the place of, those of a good one. */
const pluginWith = (fields: string) =>
  `${imports}export const plugin = { api: 1, name: "acme", slot: "modules", layer: () => Layer.empty, ${fields} }`

const check = (uses: ReadonlyArray<readonly [slot: string, use: string]>) => {
  write(
    "tillwire.json",
    JSON.stringify({
      environments: ["devnet"],
      ...Object.fromEntries(
        [...Map.groupBy(uses, ([slot]) => slot)].map(([slot, entries]) => [slot, entries.map(([, use]) => ({ use }))])
      )
    })
  )
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [join(root, "modules/cli/main.ts"), "config", "check", "--config", join(folder, "tillwire.json")],
    { encoding: "utf8", cwd: tmpdir() }
  )
  return { status, output: `${stdout}${stderr}`.replaceAll(`${folder}/`, "") }
}

interface Refusal {
  readonly promise: string
  readonly use: string
  /** What is installed, by its files. */
  readonly files?: Readonly<Record<string, string>>
  readonly manifest?: object
  /** What the operator reads of it. */
  readonly sentence: string
}

const unnamed = "write `export const plugin = make({ … })` with `make` of \"tillwire/plugin\""

const refusals: ReadonlyArray<Refusal> = [
  {
    promise: "a package that is not there",
    use: "@acme/absent",
    sentence: "package \"@acme/absent\" is not installed: npm install @acme/absent"
  },
  {
    promise: "an import of a package that is not there, by its own name",
    use: "acme-import",
    files: { "index.js": "import \"./prices.js\"", "prices.js": "import \"@acme/rates/feed\"" },
    sentence:
      "\"acme-import\" cannot be loaded: node_modules/acme-import/prices.js imports \"@acme/rates\", which is not "
      + "installed: npm install @acme/rates where the plugin is, and tell its author to name it in \"dependencies\""
  },
  {
    promise: "an import of a file that the package does not hold",
    use: "acme-file",
    files: { "index.js": "import \"./rules.js\"" },
    sentence:
      "\"acme-file\" cannot be loaded: node_modules/acme-file/index.js imports node_modules/acme-file/rules.js, "
      + "and there is no such file"
  },
  {
    promise: "a require of a package that is not there",
    use: "acme-require",
    files: { "index.cjs": "require(\"left-pad\")" },
    manifest: { exports: "./index.cjs" },
    sentence:
      "\"acme-require\" cannot be loaded: node_modules/acme-require/index.cjs imports \"left-pad\", which is not "
      + "installed: npm install left-pad"
  },
  {
    promise: "a name that the service's effect does not have",
    use: "acme-export",
    files: { "index.js": "import { Effects } from \"effect\"" },
    sentence:
      "\"acme-export\" cannot be loaded: node_modules/acme-export/index.js:1 imports \"Effects\" of \"effect\", "
      + "which has no such export"
  },
  {
    promise: "a part that the service's effect does not have",
    use: "acme-part",
    files: { "index.js": "import \"effect/unstable/http\"" },
    sentence: "\"acme-part\" cannot be loaded: node_modules/acme-part/index.js imports \"effect/unstable/http\": this "
      + "service's version of effect has no such part"
  },
  {
    promise: "a feature of the service that has no drivers",
    use: "acme-inside",
    files: { "index.js": "import \"tillwire/plugin/invoices\"" },
    sentence:
      "\"acme-inside\" cannot be loaded: node_modules/acme-inside/index.js imports \"tillwire/plugin/invoices\": a "
      + "plugin has \"tillwire/plugin\", and of features with drivers \"tillwire/plugin/mail\""
  },
  {
    promise: "the test kit in a running service",
    use: "acme-kit",
    files: { "index.js": "import \"tillwire/plugin/testing\"" },
    sentence:
      "\"acme-kit\" cannot be loaded: node_modules/acme-kit/index.js imports \"tillwire/plugin/testing\": that is "
      + "for the tests of a plugin"
  },
  {
    promise: "an entry that the package does not name",
    use: "acme-entry",
    files: { "index.js": "" },
    manifest: { exports: { "./other": "./index.js" } },
    sentence: "\"acme-entry\" cannot be loaded: \"exports\" of node_modules/acme-entry/package.json does not name \".\""
  },
  {
    promise: "TypeScript in a package",
    use: "acme-types",
    files: { "index.ts": "export const plugin: number = 1" },
    manifest: { exports: "./index.ts" },
    sentence:
      "\"acme-types\" cannot be loaded: node_modules/acme-types/index.ts is TypeScript, which Node does not read "
      + "below node_modules"
  },
  {
    promise: "a file that is no program",
    use: "acme-syntax",
    files: { "index.js": "export const plugin = = 1" },
    sentence: "\"acme-syntax\" cannot be read as a program: Unexpected token '='"
  },
  {
    promise: "a plugin that throws while it is loaded, with the line",
    use: "acme-throw",
    files: { "index.js": "\nthrow new Error(\"no licence\")" },
    sentence: "\"acme-throw\" threw an error while it was loaded: no licence (node_modules/acme-throw/index.js:2)"
  },
  {
    promise: "a plugin that throws nothing while it is loaded",
    use: "acme-null",
    files: { "index.js": "throw null" },
    sentence: "\"acme-null\" threw an error while it was loaded: null"
  },
  {
    promise: "a package without a plugin",
    use: "acme-none",
    files: { "index.js": "export const other = 1" },
    sentence: `"acme-none" exports no \`plugin\`: ${unnamed}`
  },
  {
    promise: "a package whose plugin is its default export",
    use: "acme-default",
    files: {
      "index.js": `${imports}export default make({ api: 1, name: "a", slot: "modules", layer: () => Layer.empty })`
    },
    sentence: `"acme-default" exports no \`plugin\`, only a default export: ${unnamed}`
  },
  {
    promise: "a plugin for another version of the plugin API",
    use: "acme-later",
    files: { "index.js": pluginWith("name: \"acme-later\", api: 2") },
    sentence: "\"acme-later\" cannot run here: \"acme-later\" is made for plugin API 2, and this service has 1."
  },
  {
    promise: "a plugin that names no version of the plugin API",
    use: "acme-undated",
    files: { "index.js": pluginWith("name: \"acme-undated\", api: undefined") },
    sentence:
      "\"acme-undated\" does not say for which plugin API \"acme-undated\" is made: write `api: 1` in its `make`"
  },
  {
    promise: "a name that no table can begin with",
    use: "acme-name",
    files: { "index.js": pluginWith("name: \"Acme Points\"") },
    sentence: "\"acme-name\" has the name \"Acme Points\": write at most 40 lower-case letters and digits"
  },
  {
    promise: "a name whose tables would be those of a part of the service",
    use: "acme-reserved",
    files: { "index.js": pluginWith("name: \"invoices\"") },
    sentence: "\"acme-reserved\" has the name \"invoices\", which a part of the service has: rename the plugin"
  },
  {
    promise: "a table of another module",
    use: "acme-table",
    files: { "index.js": pluginWith("name: \"acme-table\", tables: [\"acme_table_rows\", \"invoices\"]") },
    sentence:
      "\"acme-table\" has a `tables` that cannot be used: it names \"invoices\", and tables of this plugin begin "
      + "with \"acme_table_\": those of others are not its to write"
  },
  {
    promise: "a slot that no config has",
    use: "acme-slot",
    files: { "index.js": pluginWith("slot: \"wallets\"") },
    sentence: "\"acme-slot\" has a `slot` that cannot be used: it must be one of \"tokenSources\", \"prices\""
  },
  {
    promise: "options that are no schema",
    use: "acme-options",
    files: { "index.js": pluginWith("options: { url: String }") },
    sentence: "\"acme-options\" has a `options` that cannot be used: it must be a Schema of \"effect\""
  },
  {
    promise: "a step of its tables that is no effect",
    use: "acme-step",
    files: { "index.js": pluginWith("migrations: { \"0001_initial\": \"CREATE TABLE acme_rows ()\" }") },
    sentence: "\"acme-step\" has a `migrations` that cannot be used: it has a step \"0001_initial\" that is no Effect"
  },
  {
    promise: "a name that the built-in plugins and packages do not have, by what is spelt like it",
    use: "invoice",
    sentence: "no built-in plugin \"invoice\" in modules, and no package of that name. Did you mean \"invoices\"?"
  },
  {
    promise: "two plugins of one name",
    use: "acme-second",
    files: { "index.js": pluginWith("name: \"acme-first\"") },
    sentence: "the plugin \"acme-first\" is here twice: remove one of the entries"
  }
]

describe("a plugin from outside", () => {
  let report = ""
  let status: number | null = null

  beforeAll(() => {
    install("acme-first", { "index.js": pluginWith("name: \"acme-first\"") })
    for (const { files, manifest, use } of refusals) if (files !== undefined) install(use, files, manifest)
    const found = check([["modules", "acme-first"], ...refusals.map(({ use }) => ["modules", use] as const)])
    report = found.output
    status = found.status
    return () => rmSync(folder, { recursive: true, force: true })
  })

  for (const { promise, sentence } of refusals) {
    it(`is refused in one sentence: ${promise}`, () => assert.include(report, sentence))
  }

  it("ends the start with the code of a config that cannot be used, and with nothing but such sentences", () => {
    assert.strictEqual(status, 2)
    assert.include(report, `tillwire.json: ${refusals.length} problems`)
    assert.notInclude(report, "    at ")
  })

  it("is found beside the config, as a file of TypeScript and as a package, by the service's own effect", () => {
    install("effect", { "index.js": "throw new Error(\"the effect of the plugin\")" }, {
      exports: { ".": "./index.js" }
    })
    install("tillwire", { "index.js": "" }, { exports: { "./plugin": "./index.js" } })
    install("@acme/points", {
      "index.js": `${imports}export { plugin } from "./points.cjs"`,
      "points.cjs": `const { Layer } = require("effect"), { make } = require("tillwire/plugin")
        exports.plugin = make({ api: 1, name: "acme-points", slot: "modules", layer: () => Layer.empty })`
    })
    write(
      "plugins/acme-price.ts",
      `${imports}export const plugin = make({ api: 1, name: "acme-price", slot: "prices", layer: () => Layer.empty })`
    )
    const { output, status } = check([["modules", "@acme/points"], ["prices", "./plugins/acme-price.ts"]])
    assert.strictEqual(output, `tillwire.json is fine\n`)
    assert.strictEqual(status, 0)
  })
})
