/**
 * Writes every source file in the one form it has: `npm run format`; with `--check` it only names the files that are
 * not in it and fails. The rules are those of Effect's own sources: 120 columns, no semicolons, double quotes.
 */
import { createFromBuffer } from "@dprint/formatter"
import { getPath } from "@dprint/typescript"
import { globSync, readFileSync, writeFileSync } from "node:fs"

const root = decodeURIComponent(new URL("..", import.meta.url).pathname)

/** Made by a generator, in its own form. */
const generated: ReadonlySet<string> = new Set(["modules/clients/openapi.ts"])

const formatter = createFromBuffer(readFileSync(getPath()))
formatter.setConfig({ lineWidth: 120, indentWidth: 2, newLineKind: "lf" }, {
  "arrowFunction.useParentheses": "force",
  operatorPosition: "maintain",
  quoteStyle: "alwaysDouble",
  semiColons: "asi",
  trailingCommas: "never",
  "importDeclaration.sortTypeOnlyImports": "none",
  "module.sortImportDeclarations": "maintain"
})

const isCheck = process.argv.includes("--check")
const changed: Array<string> = []
for (const path of globSync("{schemas,runtime,modules,config,test}/**/*.ts", { cwd: root }).toSorted()) {
  if (generated.has(path) || path.includes("node_modules")) continue
  const fileText = readFileSync(`${root}/${path}`, "utf8")
  const formatted = formatter.formatText({ filePath: path, fileText })
  if (formatted === fileText) continue
  changed.push(path)
  if (!isCheck) writeFileSync(`${root}/${path}`, formatted)
}
if (isCheck && changed.length > 0) {
  console.error(`${changed.join("\n")}\nnot in the project's form: run npm run format`)
  process.exitCode = 1
}
