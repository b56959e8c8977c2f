/**
 * Makes `modules/docs/recovery.html` of `page.html` and the script of `Page.ts`: `npm run recovery` after a change of
 * them. It is one file, so that a merchant can save it; it is in the repository, so that a start needs no bundler.
 */
import { buildSync } from "esbuild"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export const buildRecoveryPage = (): string => {
  const script = buildSync({
    entryPoints: [at("Page.ts")],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: ["chrome109", "firefox115", "safari16"],
    legalComments: "none",
    charset: "utf8",
    tsconfigRaw: { compilerOptions: { strict: true } }
  }).outputFiles[0]!.text.trim()
  // A function, because a text would give `$` a meaning. `</script` would end the script where it stands.
  return readFileSync(at("page.html"), "utf8").replace(
    "/* script */",
    () => script.replaceAll("</script", "<\\/script")
  )
}

if (import.meta.main) writeFileSync(at("../../../docs/recovery.html"), buildRecoveryPage())
