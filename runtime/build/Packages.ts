/**
 * Packages of third parties that the lock file names, and what is said of those that a deployment runs: notices of
 * their licences, and a bill of materials. The code of most is built into the bundle, so npm installs it for nobody; it
 * is given away all the same.
 */
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
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
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
  /** Names of the packages that it imports, from its own dependencies or from beside it. */
  readonly imports: ReadonlyArray<string>
  /** Whether npm installs it with the service: a program of its own. */
  readonly isProgram: boolean
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
      imports: Object.keys({ ...entry.dependencies, ...entry.peerDependencies }),
      isProgram: entry.dev !== true && entry.devOptional !== true,
      isInstalled: existsSync(join(root, folder, "package.json"))
    }]
  ).toSorted((a, b) => a.folder < b.folder ? -1 : 1)
}

/** Folders of the service's sources, and the files in them that only build it. */
const sourceFolders = ["schemas", "runtime", "modules"]
const isOfBuilds = (file: string): boolean =>
  /(?:^|\/)build(?:\.ts$|\/)|^modules\/clients\/types\.ts$|^runtime\/pages\/BrowserScript\.ts$/.test(file)

/** A package that a source names to import it: `from "…"`, `import "…"`, `import("…")`; types are gone at run time. */
const importPattern = /^(?!\s*(?:\*|\/\/|import type\b)).*?(?:\bfrom |\bimport ?\(?)"([^".#/][^"]*)"/gm

const packageIn = (specifier: string): string => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/")

/** Names of the packages that the service's sources import. */
const importedNames = (): ReadonlySet<string> =>
  new Set(
    sourceFolders.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .map((file) => `${folder}/${file}`)
        .filter((file) => file.endsWith(".ts") && !isOfBuilds(file))
        .flatMap((file) => [...readFileSync(join(root, file), "utf8").matchAll(importPattern)])
        .map(([, specifier = ""]) => packageIn(specifier))
    )
  )

/** What the package in `folder` imports by `name`: its own copy, or the nearest one above. */
const resolveIn = (
  byFolder: ReadonlyMap<string, LockedPackage>,
  folder: string,
  name: string
): LockedPackage | undefined => {
  const found = byFolder.get(`${folder === "" ? "" : `${folder}/`}node_modules/${name}`)
  if (found !== undefined || folder === "") return found
  return resolveIn(byFolder, folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/"))), name)
}

/** What `@effect/platform-node` wants beside it for a client of Redis, which nothing of the service loads. */
const unusedPeers = new Set(["redis"])

/** The packages that the service is made of: those that its sources import, and all that these import; no types. */
const parts = (all: ReadonlyArray<LockedPackage>): ReadonlyArray<LockedPackage> => {
  const byFolder = new Map(all.map((each) => [each.folder, each]))
  const found = new Set<LockedPackage>()
  const add = (folder: string, name: string): void => {
    const one = resolveIn(byFolder, folder, name)
    if (one === undefined || found.has(one) || isOfTypes(one) || unusedPeers.has(name)) return
    found.add(one)
    for (const imported of one.imports) add(one.folder, imported)
  }
  for (const name of importedNames()) add("", name)
  return all.filter((each) => found.has(each))
}

const isOfTypes = ({ name }: LockedPackage): boolean => /^(?:@types\/|undici-types$)/.test(name)

/** The packages of which anything is given away: programs that npm installs with the service, and parts of it. */
export const shippedPackages = (): {
  readonly programs: ReadonlyArray<LockedPackage>
  readonly parts: ReadonlyArray<LockedPackage>
} => {
  const all = lockedPackages()
  return { programs: all.filter(({ isProgram }) => isProgram), parts: parts(all) }
}

/** What a package says of its licence: the files of that name in its folder, in order. */
const licenceText = ({ folder }: LockedPackage): string =>
  readdirSync(join(root, folder))
    .filter((name) => /^(licen[cs]e|notice|copying|copyright)/i.test(name)).toSorted()
    .map((name) => readFileSync(join(root, folder, name), "utf8").replaceAll("\r\n", "\n").trim())
    .join("\n\n")

const title = ({ licence, name, version }: LockedPackage): string => `${name} ${version} (${licence ?? "no licence"})`

/** The licences of everything that the service contains or is installed with, as Markdown. */
export const thirdPartyNotices = (): string => {
  const { parts: bundled, programs } = shippedPackages()
  const byText = Map.groupBy(bundled, licenceText)
  return [
    "# Notices of third parties",
    "Tillwire contains code of the packages below, or is installed with them.",
    "## Programs beside it",
    "Each brings the text of its licence, and of those of its parts, in its own folder of `node_modules`.",
    programs.map((each) => `- ${title(each)}`).join("\n"),
    "## Parts of it",
    ...[...byText].flatMap(([text, packages]) => [
      packages.map((each) => `### ${title(each)}`).join("\n\n"),
      ["```text", text, "```"].join("\n")
    ])
  ].join("\n\n") + "\n"
}

/** As the package registry spells it in a URL. */
const packageUrl = ({ name, version }: LockedPackage): string => `pkg:npm/${name.replace("@", "%40")}@${version}`

/** Digest of an integrity string such as `sha512-…`, as CycloneDX writes it. */
const hashOf = (integrity: string) => {
  const [algorithm = "", digest = ""] = integrity.split("-")
  return { alg: algorithm.replace("sha", "SHA-"), content: Buffer.from(digest, "base64").toString("hex") }
}

/** Everything that the service contains, and the programs it is installed with, in the form of CycloneDX 1.6. */
export const billOfMaterials = (version: string): string => {
  const { parts: bundled, programs } = shippedPackages()
  const componentOf = (type: string) => (each: LockedPackage) => ({
    type,
    "bom-ref": packageUrl(each),
    name: each.name,
    version: each.version,
    purl: packageUrl(each),
    ...each.licence === undefined ? {} : { licenses: [{ expression: each.licence }] },
    ...each.integrity === undefined ? {} : { hashes: [hashOf(each.integrity)] }
  })
  return JSON.stringify({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "application", "bom-ref": "tillwire", name: "tillwire", version } },
    components: [...programs.map(componentOf("application")), ...bundled.map(componentOf("library"))]
  })
}
