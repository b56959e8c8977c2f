/**
 * Goal: what a machine can judge of the house rules stays true, and a breach says how to mend it.
 * Method: reads every source file as text, with comments and strings blanked where code is judged.
 */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { folderOf } from "../runtime/config/Plugins.ts"

const root = decodeURIComponent(new URL("..", import.meta.url).pathname)
const folders = ["schemas", "runtime", "modules", "config", "test"]

interface SourceFile {
  readonly path: string
  readonly text: string
  /** `text` with the insides of comments and strings blanked; lines and columns stay. */
  readonly code: string
}

const blank = (text: string) => text.replace(/[^\n]/g, " ")

/** Strings first, so that `"http://…"` is no comment. A template with code in it stays as it is. */
const literals = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|(\/\/[^\n]*|\/\*[\s\S]*?\*\/)/g

const codeOf = (text: string) =>
  text.replace(literals, (found, string: string | undefined) =>
    string === undefined
      ? blank(found)
      : string.includes("${")
      ? string
      : `${string[0]}${blank(string.slice(1, -1))}${string[0]}`)

const pathsBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .toSorted()

const paths = folders.flatMap(pathsBelow)
const sources: ReadonlyArray<SourceFile> = paths.filter((path) => path.endsWith(".ts")).map((path) => {
  const text = readFileSync(join(root, path), "utf8")
  return { path, text, code: codeOf(text) }
})
/** This file spells out what it bans. */
const others = sources.filter(({ path }) => path !== "test/tidy.test.ts")
const own = sources.filter(({ path }) => !path.startsWith("test/"))

const lineOf = (text: string, index: number) => text.slice(0, index).split("\n").length

/** Fails with every breach, one a line. */
const none = (breaches: ReadonlyArray<string>) => assert.strictEqual(breaches.join("\n"), "")

interface Ban {
  readonly what: string
  readonly pattern: RegExp
  readonly instead: string
  readonly within: ReadonlyArray<SourceFile>
  /** The files made for it, and why. A folder ends in `/`. */
  readonly except?: Readonly<Record<string, string>>
}

const notRepo = own.filter(({ path }) => path.startsWith("modules/") && !/\/repo(?:\.ts$|\/)/.test(path))

/** Run in merchants' programs, where there is no Effect. */
const published = { "modules/clients/": "published clients: plain promises, no Effect at run time" }

/** Parts of the scripts of pages. */
const inPages = {
  "runtime/pages/island/": "wallets of a browser: its promises, no Effect"
}

/** Runs in payors' browsers, where there is no Effect. */
const inBrowsers = {
  "modules/checkout/island/": "the payment page's script: 4 KB with all it does, no Effect in a browser"
}

/** Runs in the browsers of people who use the dashboard. */
const inDashboards = {
  "modules/dashboard/island/": "the dashboard's scripts: promises of the browser, its passkeys and wallets, no Effect"
}

/** Runs in merchants' browsers, also from a saved file. */
const inWallets = {
  "modules/chains/evm/recovery/": "the recovery page's script: promises of the browser's wallet, no Effect"
}

/** Gigabytes pass through streams of Node and of libraries. */
const inBackups = {
  "runtime/backup/": "streams of Node and of libraries, read by async iteration; Effect.tryPromise stands around each",
  "runtime/store/embedded/BaseBackup.ts": "a stream of the database, read by async iteration"
}

const bans: ReadonlyArray<Ban> = [
  {
    what: "Date.now and new Date",
    pattern: /\bDate\.now\b|\bnew Date\b/g,
    instead: "Clock.currentTimeMillis, or a time the caller supplies",
    within: own,
    except: published
  },
  {
    what: "Math.random",
    pattern: /\bMath\.random\b/g,
    instead: "Random, or node:crypto for secrets",
    within: own,
    except: { ...published, ...inBrowsers, ...inDashboards }
  },
  {
    what: "process.env",
    pattern: /\bprocess\.env\b/g,
    instead: "a setting: Settings, or ${env:NAME} in the config",
    within: own,
    except: {
      "runtime/boot/ServiceProcess.ts": "hands the environment to Config.ts",
      "modules/cli/main.ts": "hands the environment to the commands",
      "runtime/boot/HttpProcesses.ts": "the processes that it starts have its environment"
    }
  },
  {
    what: "async and await",
    pattern: /\basync\s*(?:\(|function\b|\w+\s*=>)|(?<!\.)\bawait\s+[\w(]/g,
    instead: "Effect.gen; a promise of a library enters by Effect.tryPromise",
    within: own,
    except: { ...published, ...inPages, ...inBrowsers, ...inDashboards, ...inWallets, ...inBackups }
  },
  {
    what: "try and catch",
    pattern: /(?<![.\w])try\s*\{|\}\s*catch\b/g,
    instead: "Effect.try, Result.try or Option.liftThrowable",
    within: own,
    except: {
      "runtime/store/embedded/": "synchronous file system calls at the start, where absence is an answer",
      ...published,
      ...inBrowsers,
      ...inDashboards,
      ...inWallets,
      ...inBackups
    }
  },
  {
    what: "Number( and parseFloat on money",
    pattern:
      /\b(?:Number|parseFloat)\((?=[^()\n]*\b(?!\w*(?:_at|At)\b)\w*(?:amount|usd|price|rate|balance|paid|owed|baseUnits|base_units)\w*\b)/gi,
    instead: "the functions of schemas/Money.ts: amounts are bigint",
    within: own,
    except: { "schemas/Money.ts": "where money meets the wire" }
  },
  { what: "expect(", pattern: /\bexpect\(/g, instead: "assert of @effect/vitest", within: others },
  {
    what: "Effect.orDie",
    pattern: /\bEffect\.orDie\b/g,
    instead: "a typed error; only repo.ts turns a database fault into a defect",
    within: notRepo,
    except: {
      "modules/tokensources/bundled.ts": "its own data file cannot be wrong at run time",
      "modules/invoices/actor/Expiry.ts":
        "a due row has no caller to tell: after three tries the timer reports the fault"
    }
  },
  {
    what: "enum, namespace and parameter properties",
    pattern:
      /^\s*(?:export\s+)?(?:const\s+)?enum\s|^\s*(?:export\s+)?namespace\s|constructor\([^)]*\b(?:private|public|readonly)\s/gm,
    instead: "erasable TypeScript: Node runs the sources as they are",
    within: sources
  }
]

const isExcepted = (path: string, except: Readonly<Record<string, string>> = {}) =>
  Object.keys(except).some((file) => file === path || file.endsWith("/") && path.startsWith(file))

/** Whoever leaves a module out leaves its exceptions as they are: this file is not theirs. */
const isInTree = (file: string): boolean =>
  !file.startsWith("modules/") || paths.some((path) => path.startsWith(`${file.split("/").slice(0, 2).join("/")}/`))

describe("code", () => {
  for (const { except, instead, pattern, what, within } of bans) {
    it(`holds no ${what}: use ${instead}`, () => {
      none(
        within.filter(({ path }) => !isExcepted(path, except)).flatMap(({ code, path }) =>
          [...code.matchAll(pattern)].map((match) => `${path}:${lineOf(code, match.index)} ${what} -> ${instead}`)
        )
      )
    })
    if (except !== undefined) {
      it(`needs every exception from the ban on ${what}`, () => {
        none(
          Object.keys(except).filter((file) =>
            isInTree(file) &&
            !sources.some(({ code, path }) => isExcepted(path, { [file]: "" }) && code.search(pattern) !== -1)
          ).map((file) => `${file} does no such thing any more: remove the exception`)
        )
      })
    }
  }

  it("names nothing outside the project", () => {
    const outside = new RegExp(["/work", "shared/"].join("/"))
    const everything = [...paths, "package.json", "tsconfig.json"]
    none(
      everything.filter((path) => outside.test(readFileSync(join(root, path), "utf8")))
        .map((path) => `${path} names a path outside the project`)
    )
  })
})

/** Columns of a line, at most: the formatter's `lineWidth`, which cannot divide a string or a comment. */
const maximumColumns = 120

/**
 * A line that is one string, or one template, and what little code holds it: a sentence is found by searching for it.
 */
const isText = (line: string): boolean =>
  line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`?|\/.+\/[gimsuy]*/g, "").length <= 80

describe("lines", () => {
  it(`end at column ${maximumColumns}, but for those that are one text`, () => {
    none(
      sources.filter(({ path }) => path !== "modules/clients/openapi.ts").flatMap(({ path, text }) => {
        let isInTemplate = false
        return text.split("\n").flatMap((line, index) => {
          const wasInTemplate = isInTemplate
          if ((line.match(/(?<!\\)`/g)?.length ?? 0) % 2 === 1) isInTemplate = !isInTemplate
          return line.length <= maximumColumns || wasInTemplate || isInTemplate || isText(line)
            ? []
            : [`${path}:${index + 1} has ${line.length} columns: npm run format, or divide the comment`]
        })
      })
    )
  })
})

describe("pages", () => {
  it("make no formats of their own, for one costs more than a page: runtime/pages keeps one of each", () => {
    none(
      sources.filter(({ path }) => /^modules\/[\w-]+\/pages(?:\/|\.ts)/.test(path)).flatMap(({ path, text }) =>
        [...text.matchAll(/new Intl\.\w+/g)].map(({ 0: made, index }) => `${path}:${lineOf(text, index)} ${made}`)
      )
    )
  })
})

describe("functions over 120 lines and files over 500, which the linter refuses", () => {
  it("are excepted with a reason beside each", () => {
    none(
      others.flatMap(({ path, text }) =>
        [...text.matchAll(/oxlint-disable[^\n]*/g)]
          .filter(([directive]) => !/^oxlint-disable(?:-next-line)? [\w/-]+ -- \w/.test(directive))
          .map((match) => `${path}:${lineOf(text, match.index)} ${match[0]}: write the rule, then -- and the reason`)
      )
    )
  })
})

/** Single words that end as participles do and are nouns of the field. */
const nounsLikeParticiples: ReadonlySet<string> = new Set([
  "Branding",
  "Finding",
  "heading",
  "Ping",
  "Pricing",
  "Screening"
])

const participle =
  /^(?:\w+(?:ed|ing)|told|known|shown|made|given|taken|seen|sent|gone|lost|found|done|kept|held|chosen)$/i

describe("exports", () => {
  it("are nouns, verbs or facts, never a bare participle", () => {
    const names = own.flatMap(({ code, path }) =>
      [...code.matchAll(/^export (?:abstract )?(?:const|function|class|type|interface) (\w+)/gm)].map((match) => ({
        name: match[1]!,
        place: `${path}:${lineOf(code, match.index)}`
      }))
    ).filter(({ name }) => /^[A-Za-z][a-z0-9]*$/.test(name) && participle.test(name))
    none([
      ...names.filter(({ name }) => !nounsLikeParticiples.has(name))
        .map(({ name, place }) => `${place} ${name}: what is it that was or is ${name}?`),
      ...[...nounsLikeParticiples].filter((noun) => !names.some(({ name }) => name === noun))
        .map((noun) => `${noun} is exported no more: remove it from the list`)
    ])
  })
})

interface Import {
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
}

const importPattern = /(?:^|\n)\s*(import|export)\s+(type\s)?([^"';]*?)from\s+"([^"]+)"|\bimport\("([^"]+)"\)/g

/** Names in braces that are all `type x` are gone at run time too. */
const isTypeOnly = (names: string) =>
  /^\s*\{[^}]*\}\s*$/.test(names) &&
  names.replace(/[{}]/g, "").split(",").every((name) => name.trim() === "" || name.trim().startsWith("type "))

const importsOf = ({ path, text }: SourceFile): ReadonlyArray<Import> =>
  [...text.matchAll(importPattern)].flatMap(([, , type, names = "", target, dynamic]) => {
    const specifier = target ?? dynamic ?? ""
    const to = specifier.startsWith("#")
      ? specifier.slice(1)
      : specifier.startsWith(".")
      ? normalize(join(dirname(path), specifier))
      : specifier
    return [{ from: path, to, typeOnly: type !== undefined || dynamic !== undefined || isTypeOnly(names) }]
  })

const imports = sources.flatMap(importsOf)
const inside = (path: string) => folders.some((folder) => path.startsWith(`${folder}/`))

/** What each folder may import of the project. */
const direction: Readonly<Record<string, ReadonlyArray<string>>> = {
  schemas: ["schemas"],
  runtime: ["schemas", "runtime"],
  modules: ["schemas", "runtime", "modules"],
  config: ["schemas", "runtime", "modules", "config"],
  test: folders
}

const top = (path: string) => path.split("/")[0] ?? ""

/** Folders of `modules/` that hold drivers of the runtime's ports, one file each: as the config's slots name them. */
const slotFolders: ReadonlySet<string> = new Set(Object.values(folderOf).filter((folder) => folder !== "."))

/** The folder that holds a driver and its parts: a slot's, or `drivers` of the feature whose port it serves. */
const driverFolderOf = (path: string): string | undefined =>
  slotFolders.has(path.split("/")[1] ?? "")
    ? /^modules\/[^/]+(?=\/)/.exec(path)?.[0]
    : /^modules\/[^/]+\/drivers(?=\/)/.exec(path)?.[0]

/** Whether a file is a driver itself, not one of its parts. */
const isDriverFile = (path: string): boolean => {
  const folder = driverFolderOf(path)
  return folder !== undefined && !path.slice(folder.length + 1).includes("/")
}

/**
 * `modules/invoices/api.ts` belongs to invoices, `modules/chains/evm/Follow.ts` to chains/evm, and
 * `modules/retail/drivers/http/Wire.ts` to retail/http: a driver reaches its feature as any other module does.
 */
const moduleOf = (path: string): string => {
  const [, folder = ""] = path.split("/")
  const drivers = driverFolderOf(path)
  const driver = drivers === undefined
    ? undefined
    : path.slice(drivers.length + 1).split("/")[0]!.replace(/\.(ts|json)$/, "")
  return driver === undefined ? folder : `${folder}/${driver}`
}

const publicFiles = new Set(["plugin.ts", "api.ts", "rpc.ts", "client.ts"])

describe("imports", () => {
  it("go one way: schemas <- runtime <- modules <- config, and test sees all", () => {
    none(
      imports.filter(({ from, to }) => inside(to) && !(direction[top(from)] ?? []).includes(top(to)))
        .map(({ from, to }) =>
          `${from} imports ${to}: ${top(from)} may import ${direction[top(from)]?.join(", ")} only`
        )
    )
  })

  it("carry the .ts extension, which Node needs", () => {
    none(
      imports.filter(({ to }) => inside(to) && !/\.(ts|json)$/.test(to)).map(({ from, to }) => `${from} imports ${to}`)
    )
  })

  it("reach another module by its plugin.ts, api.ts, rpc.ts or client.ts only", () => {
    none(
      imports.filter(({ from, to }) =>
        top(from) === "modules" && top(to) === "modules" && moduleOf(from) !== moduleOf(to)
      )
        .filter(({ from, to }) => {
          const [, folder = "", ...rest] = to.split("/")
          // Drivers of one family share parts: `simulated` derives addresses as `evm` does.
          const drivers = driverFolderOf(to)
          if (drivers !== undefined && from.startsWith(`${drivers}/`)) return false
          if (folder === "clients") return !clientFiles.has(rest.join("/"))
          return slotFolders.has(folder) ? rest.length > 1 : !publicFiles.has(rest.join("/"))
        })
        .map(({ from, to }) => `${from} imports ${to}: export what it needs from plugin.ts, api.ts or rpc.ts`)
    )
  })

  it("of another module's services stand in needs", () => {
    const needsOf = (folder: string) =>
      /\bneeds:\s*\{([^}]*)\}/.exec(sources.find(({ path }) => path === `modules/${folder}/plugin.ts`)?.code ?? "")
        ?.[1] ?? ""
    none(
      imports.filter(({ from, to, typeOnly }) =>
        !typeOnly && top(from) === "modules" && top(to) === "modules" && moduleOf(from) !== moduleOf(to) &&
        driverFolderOf(from) === undefined && (to.endsWith("/plugin.ts") || slotFolders.has(to.split("/")[1] ?? ""))
      ).filter(({ from, to }) => !new RegExp(`\\b${moduleOf(to).split("/").at(-1)}\\b`).test(needsOf(moduleOf(from))))
        .map(({ from, to }) =>
          `${from} imports ${to}: name ${moduleOf(to)} in needs of modules/${moduleOf(from)}/plugin.ts`
        )
    )
  })

  it("of a machine are schemas and pure parts of effect", () => {
    const impure = /\b(?:Effect|Layer|Clock|Random|Ref|Fiber|Queue|PubSub|Stream|Schedule)\b/
    const breaches = own.filter(({ path }) => /\/(?:machine|rules)(?:\.ts$|\/)/.test(path)).flatMap((file) => [
      ...importsOf(file).filter(({ to, typeOnly }) =>
        !typeOnly && top(to) !== "schemas" && to !== "effect" && !to.startsWith("@noble/") &&
        !/\/(?:machine|rules)(?:\.ts$|\/)|plugin\.ts$/.test(to)
      ).map(({ from, to }) => `${from} imports ${to}: a machine imports schemas only`),
      ...[...file.text.matchAll(/import (?!type)\{([^}]*)\} from "effect"/g)].filter(([, names = ""]) =>
        impure.test(names)
      )
        .map(([, names = ""]) => `${file.path} imports {${names}}: a machine has no effects`)
    ])
    none(breaches)
  })

  it("of a machine and of an actor say what the names promise: decide, and a mailbox", () => {
    const machines = own.filter(({ path }) => /^modules\/[^/]+\/machine\.ts$/.test(path))
    const actors = own.filter(({ path }) => /^modules\/[^/]+\/actor\.ts$/.test(path))
    none([
      ...machines.filter(({ code }) => !/export const decide\b/.test(code))
        .map(({ path }) => `${path} exports no decide(state, command): call it rules.ts`),
      ...actors.filter(({ path }) =>
        !own.some((file) =>
          (file.path === path || file.path.startsWith(path.replace(/\.ts$/, "/"))) &&
          importsOf(file).some(({ to }) => to === "runtime/Actors.ts")
        )
      )
        .map(({ path }) => `${path} uses no mailbox of runtime/Actors.ts: call it service.ts`)
    ])
  })

  it("have no cycle, types included", () => {
    const graph = Map.groupBy(imports.filter(({ to }) => inside(to)), ({ from }) => from)
    const done = new Set<string>()
    const breaches: Array<string> = []
    const visit = (path: string, trail: ReadonlyArray<string>) => {
      const at = trail.indexOf(path)
      if (at !== -1) breaches.push(`${[...trail.slice(at), path].join(" -> ")}: move what both need into a third file`)
      if (at !== -1 || done.has(path)) return
      for (const { to } of graph.get(path) ?? []) visit(to, [...trail, path])
      done.add(path)
    }
    for (const path of graph.keys()) visit(path, [])
    none(breaches)
  })
})

const topLevel: ReadonlySet<string> = new Set([
  ...folders,
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "README.md",
  "LICENSE",
  "Dockerfile",
  "compose.yaml",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md"
])

/** Made by tools and in no commit. */
const made: ReadonlySet<string> = new Set(["node_modules", "dist"])

/** The one folder of `modules/` that is no plugin: what the package publishes, a file for each of its names. */
const clientFiles = new Set([
  "client.ts",
  "fetch.ts",
  "webhooks.ts",
  "openapi.ts",
  "types.ts",
  "build.ts",
  "package.json"
])

/** Whether a file is of the command line: its entry, a file for each command, and what these share. */
const isCommandLine = (file: string): boolean =>
  file === "main.ts" || /^commands\/[a-z-]+\.ts$/.test(file) || /^(?:\w+\/)?[A-Z]\w*\.ts$/.test(file)

/** The files of a module, by their jobs. */
const moduleFiles = new Set([
  "plugin.ts",
  "machine.ts",
  "rules.ts",
  "actor.ts",
  "service.ts",
  "repo.ts",
  "api.ts",
  "rpc.ts",
  "operator.ts",
  "handlers.ts",
  "migrations.ts",
  "pages.ts",
  "island.ts",
  "build.ts",
  "client.ts"
])

/** Of many parts each: beside `pages.ts`, a folder of its name holds them. */
const partFolders: ReadonlySet<string> = new Set([
  "machine",
  "rules",
  "actor",
  "service",
  "repo",
  "api",
  "handlers",
  "pages",
  "island"
])

describe("files", () => {
  it("at the top level are the five folders and standard files", () => {
    none(
      readdirSync(root).filter((name) => !name.startsWith(".") && !topLevel.has(name) && !made.has(name))
        .map((name) => `${name}: put it in one of ${folders.join(", ")}`)
    )
  })

  it("are named by their job, not utils, common, helpers, misc or manager", () => {
    none(
      paths.filter((path) =>
        /(?:^|[/.-])(?:utils?|commons?|helpers?|misc|managers?)(?=[/.-]|$)|(?:Utils?|Helpers?|Manager)\.ts$/i.test(path)
      )
        .map((path) => `${path}: name it by what it does`)
    )
  })

  it("of a module have the names that say what is in them", () => {
    none(
      paths.filter((path) => top(path) === "modules").filter((path) => {
        const [, folder = "", ...rest] = path.split("/")
        if (driverFolderOf(path) !== undefined) return false
        if (folder === "clients") return path.endsWith(".ts") && !clientFiles.has(rest.join("/"))
        if (folder === "cli") return path.endsWith(".ts") && !isCommandLine(rest.join("/"))
        if (partFolders.has(rest[0] ?? "") && paths.includes(`modules/${folder}/${rest[0]}.ts`)) return false
        return path.endsWith(".ts") && (rest.length > 1 || !moduleFiles.has(rest.join("/")))
      }).map((path) => `${path}: a module's files are ${[...moduleFiles].join(", ")}`)
    )
  })

  it("of a driver are one file, and a folder of its own for its parts", () => {
    const drivers = new Set(paths.filter(isDriverFile))
    none(
      paths.filter((path) => driverFolderOf(path) !== undefined && !isDriverFile(path)).filter((path) => {
        const folder = driverFolderOf(path)!
        return !drivers.has(`${folder}/${path.slice(folder.length + 1).split("/")[0]}.ts`)
      }).map((path) => `${path}: no driver file beside its folder`)
    )
  })

  it("of a module include plugin.ts, and each plugin file exports plugin", () => {
    const plugins = own.filter(({ path }) => /^modules\/[^/]+\/plugin\.ts$/.test(path) || isDriverFile(path))
    none(
      plugins.filter(({ code }) => !/export const plugin\b/.test(code)).map(({ path }) => `${path} exports no plugin`)
    )
  })
})
