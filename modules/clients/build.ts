/**
 * Makes what programs import of the two packages, before they are packed, because Node strips no types below
 * `node_modules`: in `dist/` the clients on Effect and what plugins are written and tested with, and in `dist/sdk/` the
 * package `@tillwire/sdk`, which needs nothing (`npm pack ./dist/sdk`). Nothing at run time needs them, and they are in
 * no commit.
 */
import { build, buildSync, type Plugin } from "esbuild"
import { spawnSync } from "node:child_process"
import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const dist = join(root, "dist")
const modules = join(root, "modules")
const sdk = join(dist, "sdk")
const sdkFiles = ["fetch", "webhooks"]
const entry = (name: string) => ({ in: join(modules, "clients", `${name}.ts`), out: name })

/** Bundles for any runtime. */
const options = {
  bundle: true,
  format: "esm",
  target: "es2022",
  platform: "neutral"
} as const

/** Modules that come and go bring the client of their calls. */
const optionalClients = readdirSync(modules).filter((name) =>
  name !== "clients" && existsSync(join(modules, name, "client.ts"))
)

/** Features whose drivers anybody may write: those that `exports` of the package names. */
const featuresWithDrivers = readdirSync(modules).filter((name) =>
  existsSync(join(modules, name, "drivers")) && existsSync(join(modules, name, "plugin.ts"))
)

rmSync(dist, { recursive: true, force: true })

// Browsers load it as well, so it is as small as it can be with its own names.
buildSync({ ...options, entryPoints: sdkFiles.map(entry), outdir: sdk, minifyWhitespace: true, minifySyntax: true })

buildSync({
  ...options,
  entryPoints: [
    entry("client"),
    ...optionalClients.map((name) => ({ in: join(modules, name, "client.ts"), out: name }))
  ],
  outdir: dist,
  // What they share is in the package once.
  splitting: true,
  chunkNames: "client-[name]-[hash]",
  // Effect is the reader's own: two copies of it do not know each other's values. What reads addresses is small.
  external: ["effect", "effect/*"]
})

/**
 * `@effect/platform-node` loads undici by a file that names all its exports with `export *`. What a CommonJS package
 * exports is only seen at run time, so they are named here one by one.
 */
const undiciByName: Plugin = {
  name: "undici-by-name",
  setup: ({ onLoad }) => {
    const names = Object.keys(createRequire(import.meta.url)("undici")).filter((name) => /^[A-Za-z]\w*$/.test(name))
    onLoad({ filter: /\/platform-node\/dist\/Undici\.js$/ }, ({ path }) => ({
      contents: `import undici from "undici"\nexport const { ${names.join(", ")} } = undici\nexport default undici`,
      resolveDir: dirname(path)
    }))
  }
}

await build({
  ...options,
  plugins: [undiciByName],
  platform: "node",
  target: "es2024",
  entryPoints: [
    { in: join(root, "runtime", "PluginApi.ts"), out: "plugin" },
    { in: join(root, "runtime", "PluginTesting.ts"), out: "plugin-testing" },
    ...featuresWithDrivers.map((name) => ({ in: join(modules, name, "plugin.ts"), out: `plugin-${name}` }))
  ],
  outdir: dist,
  // One copy of the ports for both: a driver registers where the test kit looks.
  splitting: true,
  chunkNames: "plugin-[name]-[hash]",
  // As above. The other packages are built in, because npm installs none of them with this one.
  external: ["effect", "effect/*"],
  // What is built in is in part CommonJS, which asks for Node's modules by `require`.
  minify: true,
  keepNames: true,
  banner: { js: `import { createRequire as requireOf } from "node:module"\nconst require = requireOf(import.meta.url)` }
})

const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")
const compilation = spawnSync(process.execPath, [
  compiler,
  "--project",
  join(root, "modules", "clients", "tsconfig.json")
], {
  stdio: "inherit"
})

if (compilation.status !== 0) process.exit(compilation.status ?? 1)

for (const name of sdkFiles) {
  copyFileSync(join(dist, "types", "modules", "clients", `${name}.d.ts`), join(sdk, `${name}.d.ts`))
}
// As it is: the compiler would write each field on a line of its own, which takes twice the space.
copyFileSync(join(modules, "clients", "openapi.ts"), join(sdk, "openapi.d.ts"))
// They are of that package alone.
for (const name of [...sdkFiles, "openapi"]) rmSync(join(dist, "types", "modules", "clients", `${name}.d.ts`))
copyFileSync(join(modules, "clients", "package.json"), join(sdk, "package.json"))
copyFileSync(join(root, "LICENSE"), join(sdk, "LICENSE"))
