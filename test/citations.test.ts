/**
 * Goal: whatever a comment or a page cites can be opened, and says why where it names a rule.
 * Method: reads the comments of every source file and every page of Markdown as text. A path of the project must be
 * there, with its heading; the words by which comments used to cite what is not in the project must not come back.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { anchorOf } from "../modules/docs/repo.ts"
import { removableModules } from "./support/Removal.ts"

const root = decodeURIComponent(new URL("..", import.meta.url).pathname)
const folders = ["schemas", "runtime", "modules", "config", "test", ".adr"]
  .filter((folder) => existsSync(join(root, folder)))

const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .toSorted()

/** Made by tools, or about the banned words themselves. */
const ignoredFiles: ReadonlySet<string> = new Set(["modules/clients/openapi.ts", "test/citations.test.ts"])

const paths = [...folders.flatMap(filesBelow), ...readdirSync(root).filter((name) => name.endsWith(".md"))]
  .filter((path) => /\.(?:ts|cjs|jsonc|css|md)$/.test(path) && !ignoredFiles.has(path))

const readText = (path: string) => readFileSync(join(root, path), "utf8")

/** Strings first, so that `"http://…"` is no comment. */
const literals = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|(\/\/[^\n]*|\/\*[\s\S]*?\*\/)/g

/** A comment, or a whole page of Markdown: its lines as one text, so that a citation may stand on two. */
interface Passage {
  readonly path: string
  readonly line: number
  readonly words: string
}

const withoutMarks = (comment: string) => comment.replaceAll(/\s*\n\s*(?:\*|\/\/)?\s*/g, " ")

/** Lines of `//` one below the other are one comment. */
const joinLineComments = (passages: ReadonlyArray<Passage>): ReadonlyArray<Passage> =>
  passages.reduce<ReadonlyArray<Passage>>((all, passage) => {
    const last = all.at(-1)
    const goesOn = last !== undefined && passage.words.startsWith("//") && last.words.startsWith("//") &&
      last.line + last.words.split("\n").length === passage.line
    return goesOn
      ? [...all.slice(0, -1), { ...last, words: `${last.words}\n${passage.words}` }]
      : [...all, passage]
  }, [])

const lineOf = (whole: string, index: number) => whole.slice(0, index).split("\n").length

const passagesOf = (path: string): ReadonlyArray<Passage> => {
  const whole = readText(path)
  if (path.endsWith(".md")) return [{ path, line: 1, words: whole }]
  const comments = [...whole.matchAll(literals)].flatMap((found) =>
    found[2] === undefined ? [] : [{ path, line: lineOf(whole, found.index), words: found[2] }]
  )
  return joinLineComments(comments).map((passage) => ({ ...passage, words: withoutMarks(passage.words) }))
}

const passages = paths.flatMap(passagesOf)

/** Fails with every breach, one a line. */
const assertNone = (breaches: ReadonlyArray<string>) => assert.strictEqual(breaches.join("\n"), "")

const headings = new Map<string, ReadonlySet<string>>()
const headingsOf = (path: string): ReadonlySet<string> => {
  const cached = headings.get(path) ??
    new Set([...readText(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading)))
  headings.set(path, cached)
  return cached
}

/** A path of the project, perhaps with braces, and with the heading that is meant. */
const citation = /(?<![\w/@.:-])((?:\.adr|schemas|runtime|modules|config|test)\/[\w.{},<>*/-]*[\w}>*/])(?:#([\w-]+))?/g

/** `a/{b,c}.ts` is two paths. */
const expandBraces = (path: string): ReadonlyArray<string> => {
  const [whole, choices] = /\{([^}]*)\}/.exec(path) ?? []
  if (whole === undefined) return [path]
  return (choices ?? "").split(",").flatMap((choice) => expandBraces(path.replace(whole, choice)))
}

/** What stands for many paths names none. */
const isPattern = (path: string) => /[<>*{}]/.test(path)

/** A copy of the project may lack these, and tests about them: who deletes a module keeps what speaks of it. */
const missingFolders = [...removableModules.map((name) => `modules/${name}`), "modules/docs", ".adr"]
  .filter((folder) => !existsSync(join(root, folder)))
const isOfMissingModule = (path: string) =>
  missingFolders.some((folder) => path === folder || path.startsWith(`${folder}/`) || path.startsWith("test/"))

const decisions = folders.includes(".adr") ? readdirSync(join(root, ".adr")) : []

/** Whether a path is there; `.adr/0006` is by its number, `modules/chains/evm` also `modules/chains/evm.ts`. */
const isThere = (path: string): boolean =>
  existsSync(join(root, path)) || existsSync(join(root, `${path}.ts`)) ||
  (/^\.adr\/\d{4}$/.test(path) && decisions.some((name) => name.startsWith(path.slice(".adr/".length))))

const deadCitations = ({ line, path, words }: Passage): ReadonlyArray<string> =>
  [...words.matchAll(citation)].flatMap(([, cited = "", heading]) =>
    expandBraces(cited).filter((one) => !isPattern(one) && !isOfMissingModule(one)).flatMap((one) => {
      if (!isThere(one)) return [`${path}:${line} cites ${one}, which is not there`]
      if (heading === undefined || headingsOf(one).has(heading)) return []
      return [`${path}:${line} cites ${one}#${heading}, which has no such heading`]
    })
  )

/** Citations that nobody can open, and limits without a reason. */
const unopenable: ReadonlyArray<readonly [what: string, pattern: RegExp]> = [
  ["the API reference by a title", /\bAPI\s+reference(?:,|\)|'s|:?\s+")/],
  ["a contract by its section", /§/],
  ["a rule by a number", /(?<![\w-])[A-Z]-\d{2,3}\b/],
  ["a decision by a number", /\bdecision\s+[A-Z]\d/],
  ["a document by its subject", /\(reliability\b|\(design of\b|\bthreats? \d/],
  ["\"ours\" in place of a reason", /\bOurs\b(?=[.:;])|\(ours\)|\bis ours(?=[.;])|\bare ours(?=[.;])/]
]

describe("comments and pages", () => {
  it("were read", () => {
    assert.isAbove(passages.length, 3_000)
    assert.isAbove(passages.flatMap(({ words }) => [...words.matchAll(citation)]).length, 200)
  })

  it("cite only what is in the project, with its heading", () => assertNone(passages.flatMap(deadCitations)))

  it("cite architecture decisions that are there", () => {
    const numbers = decisions.map((name) => Number.parseInt(name, 10))
    assertNone(
      numbers.length === 0 ?
        [] :
        passages.flatMap(({ line, path, words }) =>
          [...words.matchAll(/\bADR (\d+)/g)].filter(([, number]) => !numbers.includes(Number(number)))
            .map(([cited]) => `${path}:${line} cites ${cited}, which is not in .adr`)
        )
    )
  })

  for (const [what, pattern] of unopenable) {
    it(`never cite ${what}: name the path and the heading, or say the reason`, () =>
      assertNone(passages.flatMap(({ line, path, words }) => {
        const match = pattern.exec(words)
        return match === null ? [] : [`${path}:${line} ${words.slice(Math.max(0, match.index - 60), match.index + 30)}`]
      })))
  }
})
