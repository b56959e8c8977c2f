/** The module's one file beside its code: the script of the page, made for browsers when the service starts. */
import { Effect, Schema } from "effect"
import { fileURLToPath } from "node:url"

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/**
 * The oldest browsers the script is written for: the last that run on Windows 7 and 8 (Chrome 109, Firefox 115) and on
 * iPhones of 2017 (Safari 16). Newer machines have newer ones, and browsers inside wallets are those of their system.
 */
const oldestBrowsers = ["chrome109", "firefox115", "safari16"]

/** The script of the payment page could not be made, because esbuild, which makes it, is not there or does not run. */
export class IslandBuildFailed
  extends Schema.TaggedError<IslandBuildFailed>()("IslandBuildFailed", { reason: Schema.String })
{
  override get message() {
    return `the payment page's script cannot be made: ${this.reason}. ` +
      `Install the packages on this machine, with the optional ones: "npm ci --omit=dev"`
  }
}

const buildFailure = (cause: unknown): IslandBuildFailed => {
  const lines = (cause instanceof Error ? cause.message : String(cause)).split("\n").map((line) =>
    line.trim().replace(/\.$/, "")
  )
  // What esbuild writes below its first line is advice to whoever develops with it.
  return new IslandBuildFailed({ reason: lines.find((line) => line !== "") ?? "esbuild does not say why" })
}

/**
 * esbuild asks where it stands. A working directory that was removed gives no answer, and then any other is as good.
 */
const ensureWorkingDirectory = Effect.try({ try: () => process.cwd(), catch: buildFailure }).pipe(
  Effect.catch(() => Effect.sync(() => process.chdir(at("."))))
)

/**
 * One classic script of `island.ts` and its parts, minified: it takes 50 ms and writes nothing. Names of functions are
 * shortened, which saves 17 % of the bytes: the page reports no errors, and whoever reads one in a browser makes the
 * same text again from the same version. It is as strict as the modules it is made of, whatever a `tsconfig.json` says.
 */
export const island: Effect.Effect<string, IslandBuildFailed> = Effect.gen(function*() {
  yield* ensureWorkingDirectory
  // Only a start needs it, and where it is missing the start says what to do.
  const { buildSync } = yield* Effect.tryPromise({ try: () => import("esbuild"), catch: buildFailure })
  const { outputFiles: [file] } = yield* Effect.try({
    try: () =>
      buildSync({
        entryPoints: [at("island.ts")],
        bundle: true,
        write: false,
        minify: true,
        format: "iife",
        target: oldestBrowsers,
        legalComments: "none",
        charset: "utf8",
        tsconfigRaw: { compilerOptions: { strict: true } },
        logLevel: "silent"
      }),
    catch: buildFailure
  })
  return file!.text
})
