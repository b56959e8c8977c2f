/**
 * Goal: who starts the service on a Node that cannot run it is told in one sentence what to do. Method: the command of
 * `npm start` on the pinned Node, which says it is an older one; what an older one could not read is looked for in the
 * text.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: { readonly start: string }
  readonly optionalDependencies: Readonly<Record<string, string>>
}
const firstFiles = ["runtime/memory.cjs", "runtime/cache.cjs"]

/** The packages of Node itself, by platform: each brings its file, and the lock file its hash. */
const nodePackages = new Map(
  Object.entries(manifest.optionalDependencies).flatMap(([name, version]) =>
    name.startsWith("node-") ? [[name.slice("node-".length), version] as const] : []
  )
)

/** What `npm start` says in a tree that holds what it loads first, on a Node that says it is `version` on `platform`. */
const startedOn = (
  version: string,
  installed: "nothing" | "packages" | "packages and Node",
  [platform, arch] = ["linux", "x64"]
) => {
  const folder = mkdtempSync(join(tmpdir(), "start-"))
  try {
    mkdirSync(join(folder, "runtime"))
    for (const file of firstFiles) cpSync(join(root, file), join(folder, file))
    if (installed !== "nothing") mkdirSync(join(folder, "node_modules/effect"), { recursive: true })
    if (installed === "packages and Node") {
      mkdirSync(join(folder, `node_modules/node-${platform}-${arch}`))
    }
    writeFileSync(
      join(folder, "older.cjs"),
      `Object.defineProperty(process, "version", { value: "v${version}" })
      Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })
      Object.defineProperty(process, "platform", { value: "${platform}" })
      Object.defineProperty(process, "arch", { value: "${arch}" })`
    )
    const [program, ...words] = manifest.scripts.start.split(" ")
    assert.strictEqual(program, "node")
    const { status, stderr, stdout } = spawnSync(process.execPath, ["--require", "./older.cjs", ...words], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: "" }
    })
    return { status, stderr, stdout }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("npm start", () => {
  it("says what to do where the Node that it brings was left out, and the system's is too old", () => {
    for (const version of ["12.22.12", "18.12.1", "20.20.2", "22.23.3"]) {
      assert.deepStrictEqual(startedOn(version, "packages"), {
        status: 1,
        stdout: "",
        stderr: `Tillwire needs Node 24 or newer and this is v${version}: run \`npm ci --include=optional\`, `
          + "which installs the one it brings, and start again.\n"
      })
    }
  })

  it("says to install Node where the registry has none for the platform", () => {
    for (const platform of [["darwin", "arm64"], ["darwin", "x64"], ["freebsd", "x64"], ["win32", "arm64"]] as const) {
      const { status, stderr } = startedOn("20.20.2", "packages", [...platform])
      assert.strictEqual(status, 1)
      assert.match(
        stderr,
        /^Tillwire needs Node 24 or newer and this is v20\.20\.2: install Node 24 \(https:\/\/nodejs\.org\), [^\n]+\n$/
      )
    }
  })

  it("says to start it by npm where the Node it brings is there and another one was taken", () => {
    const { status, stderr } = startedOn("20.20.2", "packages and Node")
    assert.strictEqual(status, 1)
    assert.match(
      stderr,
      /^Tillwire needs Node 24 or newer and this is v20\.20\.2: start it with `npm start`, [^\n]+\n$/
    )
  })

  it("says to install the packages first where there are none, on any Node", () => {
    for (const version of ["12.22.12", "20.20.2", process.versions.node]) {
      assert.deepStrictEqual(startedOn(version, "nothing"), {
        status: 1,
        stdout: "",
        stderr: "Tillwire's packages are not installed: run `npm ci` in this folder and start again.\n"
      })
    }
  })

  it("is not needed for a guide's commands: they take the Node that npm installed, too", () => {
    const guides = join(root, "modules/docs/guides")
    const texts = [join(root, "README.md"), ...readdirSync(guides).map((name) => join(guides, name))]
    for (const file of texts) assert.notMatch(readFileSync(file, "utf8"), /(?<!npx )node runtime\/main\.ts/, file)
  })

  it("begins with words and options that every Node reads, and asks for the version that is pinned", () => {
    const text = firstFiles.map((file) => readFileSync(join(root, file), "utf8")).join("").replaceAll(
      /\/\*[^]*?\*\//g,
      ""
    )
    assert.notMatch(text, /=>|\b(const|let|class|import|export|async|await)\b|\?\.|\?\?|\$\{|node:/)
    const [version = ""] = nodePackages.values()
    assert.include(text, `var oldestMajor = ${Number.parseInt(version, 10)}\n`)
    assert.deepStrictEqual([...new Set(nodePackages.values())], [version])
    assert.include(text, `var platformsWithNode = ${JSON.stringify([...nodePackages.keys()]).replaceAll(",", ", ")}\n`)
    const options = manifest.scripts.start.split(" ").filter((word) => word.startsWith("--")).map((word) =>
      word.split("=")[0]
    )
    assert.deepStrictEqual(options, ["--require", "--require", "--config"])
  })
})

/** The options that a process runs with once it loaded the file that decides them, and whether it is the same one. */
const optionsOf = (given: ReadonlyArray<string>, nodeOptions?: string) => {
  const file = join(root, "runtime/memory.cjs")
  const { pid, stdout } = spawnSync(
    process.execPath,
    [...given, "--require", file, "--eval", "console.log(JSON.stringify([process.pid, ...process.execArgv]))"],
    { encoding: "utf8", env: nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions } }
  )
  const [own, ...options] = JSON.parse(stdout) as [number, ...Array<string>]
  assert.strictEqual(own, pid)
  return options.filter((option) => /space-size/.test(option))
}

describe.skipIf(process.platform === "win32")("the options of V8", () => {
  it("are those of the service, in the process that was started", () => {
    assert.deepStrictEqual(optionsOf([]), ["--max-semi-space-size=4", "--initial-old-space-size=48"])
  })

  it("are the operator's where the command line or NODE_OPTIONS names them", () => {
    assert.deepStrictEqual(optionsOf(["--max-semi-space-size=16"]), [
      "--initial-old-space-size=48",
      "--max-semi-space-size=16"
    ])
    assert.deepStrictEqual(optionsOf([], "--max_semi_space_size=32"), ["--initial-old-space-size=48"])
  })
})
