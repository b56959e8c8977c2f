/**
 * Makes `dist/` before the package is packed: JavaScript and types of what it exports, because Node strips no types
 * below `node_modules`. Nothing at run time needs it, and it is in no commit.
 */
import { buildSync } from "esbuild"
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const dist = join(root, "dist")
const modules = join(root, "modules")
const entry = (name: string) => ({ in: join(modules, "clients", `${name}.ts`), out: name })

/** Modules that come and go bring the client of their calls. */
const optionalClients = readdirSync(modules).filter((name) =>
  name !== "clients" && existsSync(join(modules, name, "client.ts"))
)

rmSync(dist, { recursive: true, force: true })

buildSync({
  entryPoints: [
    ...["fetch", "webhooks", "client"].map(entry),
    ...optionalClients.map((name) => ({ in: join(modules, name, "client.ts"), out: name }))
  ],
  outdir: dist,
  bundle: true,
  // Effect is the reader's own: two copies of it do not know each other's values. What reads addresses is small.
  external: ["effect", "effect/*"],
  format: "esm",
  target: "es2022",
  platform: "neutral"
})

const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")
const compilation = spawnSync(process.execPath, [
  compiler,
  "--project",
  join(root, "modules", "clients", "tsconfig.json")
], {
  stdio: "inherit"
})

process.exitCode = compilation.status ?? 1
