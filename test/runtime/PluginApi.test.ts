/** Goal: an author who points at a name of `tillwire/plugin` reads what it is. Method: the text of its declaration. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const source = (file: string) => readFileSync(join(root, file), "utf8")

/** What a file exports of others, with the file it is from. */
const exportsOf = (file: string) =>
  [...source(file).matchAll(/^export (?:type )?\{([^}]*)\} from "(\.[^"]+)"/gm)].flatMap(
    ([, names = "", from = ""]) =>
      names.split(",").map((name) => name.trim().replace(/^type /, "").split(" as ")[0]!).filter((name) => name !== "")
        .map((name) => ({ name, file: normalize(join(dirname(file), from)) }))
  )

/** Whether the declaration of a name has a comment, wherever the file has it from. */
const isDescribed = (name: string, file: string): boolean => {
  const [, before] = new RegExp(`([^\\n]*)\\nexport (?:const|class|interface|type) ${name}\\b`).exec(source(file)) ?? []
  if (before !== undefined) return /\*\/\s*$/.test(before)
  const from = exportsOf(file).find((each) => each.name === name)
  return from !== undefined && isDescribed(name, from.file)
}

describe("tillwire/plugin", () => {
  it("says what each of its names is, and the test kit too", () => {
    const names = ["runtime/PluginApi.ts", "runtime/PluginTesting.ts"].flatMap(exportsOf)
    assert.isAbove(names.length, 100)
    assert.deepStrictEqual(names.filter(({ file, name }) => !isDescribed(name, file)), [])
  })
})
