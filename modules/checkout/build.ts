/**
 * Makes `island.js`, the payment page's script, of `island.ts` and its parts, and `claim.js`, the claim page's, of
 * `island/Claim.ts`: `npm run island` after a change of them. They are in the repository, so that a
 * start needs no bundler; a test makes them anew and compares.
 */
import { buildSync } from "esbuild"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/**
 * The oldest browsers the script is written for: the last that run on Windows 7 and 8 (Chrome 109, Firefox 115) and on
 * iPhones of 2017 (Safari 16). Newer machines have newer ones, and browsers inside wallets are those of their system.
 */
const oldestBrowsers = ["chrome109", "firefox115", "safari16"]

/**
 * One classic script, minified. Names of functions are shortened, which saves 17 % of the bytes: the page reports no
 * errors, and whoever reads one in a browser makes the same text again from the same version. It is as strict as the
 * modules it is made of, whatever a `tsconfig.json` says.
 */
const build = (entry: string): string =>
  buildSync({
    entryPoints: [at(entry)],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: oldestBrowsers,
    legalComments: "none",
    charset: "utf8",
    tsconfigRaw: { compilerOptions: { strict: true } }
  }).outputFiles[0]!.text

export const buildIsland = (): string => build("island.ts")

export const buildClaim = (): string => build("island/Claim.ts")

if (import.meta.main) {
  writeFileSync(at("island.js"), buildIsland())
  writeFileSync(at("claim.js"), buildClaim())
}
