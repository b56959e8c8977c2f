/**
 * Makes `island.js`, the dashboard's script, of `island.ts` and its parts: `npm run island` after a change of them. It
 * is in the repository, so that a start needs no bundler; a test makes it anew and compares.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { buildBrowserScript } from "../../runtime/pages/BrowserScript.ts"

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export const buildIsland = (): string => buildBrowserScript(at("island.ts"))

if (import.meta.main) writeFileSync(at("island.js"), buildIsland())
