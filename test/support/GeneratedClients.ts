/** Clients that other people's generators make of the document of a running service, compiled and run as programs. */
import { Effect } from "effect"
import { build } from "esbuild"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import type { Service } from "./Service.ts"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const generators = createRequire(createRequire(import.meta.url).resolve("tillwire-test-generators/package.json"))

const run = (words: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}): Effect.Effect<string> =>
  Effect.callback((resume) => {
    execFile(
      process.execPath,
      [...words],
      { cwd: root, env: { ...process.env, ...environment }, maxBuffer: 2 ** 24 },
      (error, said, complained) =>
        resume(error === null ? Effect.succeed(said) : Effect.die(new Error(`${said}\n${complained}`)))
    )
  })

/** A folder within the project, so that generated code finds the packages it imports; removed with the scope. */
const workshop = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(root, ".generated-"))
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const compile = (folder: string, program: string) =>
  Effect.gen(function*() {
    writeFileSync(join(folder, "program.ts"), program)
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          module: "ESNext",
          moduleResolution: "Bundler",
          target: "ES2022",
          lib: ["ES2023", "DOM", "DOM.Iterable"],
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          types: ["node"]
        },
        files: ["program.ts"]
      })
    )
    yield* run([generators.resolve("typescript/bin/tsc"), "--project", folder])
    yield* Effect.promise(() =>
      build({
        entryPoints: [join(folder, "program.ts")],
        outfile: join(folder, "program.mjs"),
        bundle: true,
        platform: "node",
        format: "esm"
      })
    )
    return join(folder, "program.mjs")
  })

/** The command, for Node, that makes a client in `folder` of the document there. */
export type Generator = (folder: string, document: string) => ReadonlyArray<string>

/** Makes `./sdk`. */
export const heyApi: Generator = (folder, document) => [
  "--import",
  join(root, "test/generators/olderTypescript.mjs"),
  join(root, "node_modules/@hey-api/openapi-ts/dist/run.mjs"),
  "-i",
  document,
  "-o",
  join(folder, "sdk"),
  "-c",
  "@hey-api/client-fetch",
  "--no-log-file"
]

/** Makes `./openapi`, the types that `openapi-fetch` takes. */
export const openapiTypescript: Generator = (folder, document) => [
  join(root, "node_modules/tillwire-test-generators/node_modules/openapi-typescript/bin/cli.js"),
  document,
  "-o",
  join(folder, "openapi.ts")
]

/**
 * Type-checks `program` beside the client that `generator` makes, runs it with the service's URL and `words`, answers
 * its output.
 */
export const driveGenerated = (generator: Generator, service: Service, program: string, words: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const folder = yield* workshop
    const document = join(folder, "openapi.json")
    writeFileSync(document, (yield* service.call("/openapi.json")).text)
    yield* run(generator(folder, document))
    return yield* run([yield* compile(folder, program), service.url, ...words])
  }).pipe(Effect.scoped)
