/**
 * Goal: the guides for people who write no programs name what the dashboard shows, word by word.
 * Method: what stands in bold is looked for among the dashboard's own texts.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync, statSync } from "node:fs"
import { en } from "../../../modules/dashboard/pages/texts/en.ts"
import { guideNames, pictureNames } from "../../../modules/docs/pages.ts"
import { guideNamed } from "../../fixtures/guides.ts"

const shopGuides = guideNames.filter((name) => name === "shop" || name.startsWith("shop-"))

/** Texts with something filled in are looked for by what stands around it. */
const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value === "function") return [String(value("", "", "")).trim()]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : []
}

const boldOf = (markdown: string): ReadonlyArray<string> =>
  [...markdown.matchAll(/\*\*([^*]+)\*\*/g)].map(([, text = ""]) => text.replaceAll(/\s+/g, " "))

const picturesOf = (markdown: string): ReadonlyArray<string> =>
  [...markdown.matchAll(/!\[[^\]]+\]\((?:\.\.|modules\/docs)\/assets\/(\w+)\.webp\)/g)].map(([, name = ""]) => name)

const mostPictureBytes = 60 * 1_024

describe("the guides for people who write no programs", () => {
  it("name what stands on the screen exactly so", () => {
    const texts = new Set(textsOf(en))
    for (const name of shopGuides) {
      const bold = boldOf(guideNamed(name))
      assert.isNotEmpty(bold, name)
      assert.deepStrictEqual(bold.filter((text) => !texts.has(text)), [], name)
    }
  })

  it("show no code and no call", () => {
    for (const name of shopGuides) assert.notMatch(guideNamed(name), /```|\/api\/|curl/, name)
  })

  it("begin at one page that leads to all of them", () => {
    const start = guideNamed("shop")
    for (const name of shopGuides) if (name !== "shop") assert.include(start, `(/docs/guides/${name})`)
  })

  it("show every picture there is, small, as the README does", () => {
    const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8")
    assert.sameMembers(guideNames.flatMap((name) => [...picturesOf(guideNamed(name))]), [...pictureNames])
    const ofDashboard = shopGuides.flatMap((name) => [...picturesOf(guideNamed(name))])
    assert.isNotEmpty(ofDashboard)
    assert.sameMembers([...picturesOf(readme)], ofDashboard)
    for (const name of pictureNames) {
      const { size } = statSync(new URL(`../../../modules/docs/assets/${name}.webp`, import.meta.url))
      assert.isAtMost(size, mostPictureBytes, name)
    }
  })
})
