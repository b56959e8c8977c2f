/**
 * Makes `island.js`, the dashboard's script, of `island.ts` and its parts, and `sign.js`, for pages with something to
 * sign, of `island/Sign.ts`: `npm run island` after a change of them. They are in the repository, so that a start needs
 * no bundler; a test makes them anew and compares.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { buildBrowserScript } from "../../runtime/pages/BrowserScript.ts"

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export const buildIsland = (): string => buildBrowserScript(at("island.ts"))

export const buildSign = (): string => buildBrowserScript(at("island/Sign.ts"))

if (import.meta.main) {
  writeFileSync(at("island.js"), buildIsland())
  writeFileSync(at("sign.js"), buildSign())
}
