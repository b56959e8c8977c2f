/** The module's files: guides, rules, stylesheet, and the reference's script out of the installed `effect`. */
import { Effect, FileSystem, Path } from "effect"
import type { Marked, Tokens } from "marked"
import { findPackageJSON } from "node:module"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import {
  escape,
  type Guide,
  guideDescriptions,
  guideNames,
  keyLine,
  type pictureNames,
  ruleAbouts,
  ruleNames
} from "./pages.ts"

/**
 * The addresses that guides and rules are written with, for calls and for websockets; a reader sees this deployment's
 * own.
 */
const documentedAddress = "http://127.0.0.1:8080"
const documentedSocketAddress = "ws://127.0.0.1:8080"

const withAddress = (text: string, publicUrl: string): string =>
  text.replaceAll(documentedAddress, publicUrl).replaceAll(documentedSocketAddress, publicUrl.replace(/^http/, "ws"))

/** How the guides are written where they read the demo merchant's keys; a reader sees this deployment's own file. */
const writtenKeyLine =
  /(\w+)=\$\(node -p 'require\("\.\/\.tillwire\/demo-keys\.json"\)\.(merchant_key|commerce_key)'\)/g
const writtenKeysFile = "`.tillwire/demo-keys.json`"

const withKeys = (text: string, keysPath: string | null): string =>
  text
    .replaceAll(writtenKeyLine, (_, variable: string, field: "merchant_key" | "commerce_key") =>
      keyLine(variable, field, keysPath))
    .replaceAll(writtenKeysFile, () =>
      keysPath === null ? "`demo-keys.json` of its data directory" : `\`${keysPath}\``)

/** The anchor of a heading. */
export const anchorOf = (text: string): string =>
  text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "")

/** Loaded with the first guide. Raw HTML is shown as text; wide tables and code can be scrolled with the keyboard. */
const loadMarkdown = Effect.map(Effect.promise(() => import("marked")), ({ Marked }) =>
  new Marked({
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
      heading({ depth, text, tokens }: Tokens.Heading) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      code: ({ text }: Tokens.Code) => `<pre tabindex="0"><code>${escape(text)}</code></pre>\n`
    },
    hooks: {
      postprocess: (html) =>
        html.replaceAll("<table>", "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table>")
          .replaceAll("</table>", "</table></div>")
    }
  }))

const titleOf = (text: string): string => /^# (.+)$/m.exec(text)?.[1] ?? ""

const guideOf = (name: string, description: string, text: string, markdown: Marked): Guide => ({
  name,
  title: titleOf(text),
  description,
  markdown: text,
  html: markdown.parse(text, { async: false })
})

const decompress = promisify(gunzip)

/** The literal that the bundle's one export holds. */
const literalOf = (source: string): string => source.slice(source.indexOf("\""), source.lastIndexOf("\"") + 1)

/** Files that came with the program: one that is missing is a broken installation, so a defect. */
export const make = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* Effect.orDie(path.fromFileUrl(new URL(".", import.meta.url)))
  const read = (name: string) => Effect.orDie(fs.readFileString(path.join(folder, name)))

  const pagesIn = <Name extends string>(
    below: string,
    names: ReadonlyArray<Name>,
    about: Readonly<Record<Name, string>>,
    ofDeployment: (text: string) => string
  ): Effect.Effect<ReadonlyArray<Guide>> =>
    Effect.flatMap(
      loadMarkdown,
      (markdown) =>
        Effect.forEach(names, (name) =>
          Effect.map(read(`${below}/${name}.md`), (text) =>
            guideOf(name, about[name], ofDeployment(text), markdown)))
    )

  return {
    stylesheet: read("style.css"),

    /** A picture of the dashboard. */
    picture: (name: typeof pictureNames[number]) =>
      Effect.orDie(fs.readFile(path.join(folder, "assets", `${name}.webp`))),

    /** A page that is one file with its script and style, made by modules/chains/evm/recovery/build.ts. */
    recoveryPage: read("recovery.html"),

    /** The guides in reading order, with the addresses and the file of keys of this deployment. */
    guides: (publicUrl: string, keysPath: string | null) =>
      pagesIn("guides", guideNames, guideDescriptions, (text) => withKeys(withAddress(text, publicUrl), keysPath)),

    /** The reference's pages in reading order, with the same addresses. */
    rules: (publicUrl: string) => pagesIn("reference", ruleNames, ruleAbouts, (text) => withAddress(text, publicUrl)),

    /**
     * Scalar's script, 3 MB. Read as text and not imported, so that no module cache keeps it. A bundle has it
     * compressed in this folder, the sources take it from the installed `effect`. The test of the reference fails if
     * another version of `effect` keeps it elsewhere.
     */
    scalar: Effect.suspend(() => {
      // Only where it is asked for: beside a bundle there is no package of that name.
      const fromEffect = Effect.suspend(() => {
        const home = path.dirname(findPackageJSON("effect", import.meta.url) ?? "")
        return fs.readFileString(path.join(home, "dist", "http-api", "internal", "httpApiScalar.js"))
      }).pipe(Effect.orDie, Effect.map((source) => JSON.parse(literalOf(source)) as string))
      return fs.readFile(path.join(folder, "scalar.js.gz")).pipe(
        Effect.flatMap((bytes) => Effect.promise(() => decompress(bytes))),
        Effect.map((bytes) => bytes.toString()),
        Effect.catch(() => fromEffect),
        Effect.tap(Effect.yieldNow)
      )
    })
  }
})
