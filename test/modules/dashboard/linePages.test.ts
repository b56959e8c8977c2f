import { assert, describe, it } from "@effect/vitest"
import { type LinePage, linesPerPage, pageOfLines } from "../../../modules/dashboard/rules/LinePages.ts"

const linesOf = (count: number) => Array.from({ length: count }, (_, index) => ({ line: index + 1 }))

const numbersOf = (lines: ReadonlyArray<{ readonly line: number }>) => lines.map(({ line }) => line)

describe("the lines of a batch", () => {
  it("are all shown, each once, by going on from page to page, and the same ones on the way back", () => {
    for (const count of [0, 1, 99, 100, 101, 200, 250]) {
      const all = linesOf(count)
      const pages: Array<ReadonlyArray<number>> = []
      for (let after: string | null = null;;) {
        const page: LinePage<{ readonly line: number }> = pageOfLines(all, { after, before: null })!
        pages.push(numbersOf(page.lines))
        assert.isAtMost(page.lines.length, linesPerPage)
        if (!page.hasMore) break
        after = String(page.lines.at(-1)!.line)
      }
      assert.deepStrictEqual(pages.flat(), numbersOf(all), String(count))
      for (let place = pages.length - 1; place > 0; place--) {
        const page = pageOfLines(all, { after: null, before: String(pages[place]![0]) })!
        assert.deepStrictEqual(numbersOf(page.lines), pages[place - 1])
        assert.strictEqual(page.hasMore, place > 1)
      }
    }
  })

  it("are asked for by a number, whether or not a line has it", () => {
    assert.deepStrictEqual(pageOfLines(linesOf(3), { after: "999", before: null }), { lines: [], hasMore: false })
    for (const cursor of ["", "x", "-1", "1e3", "1.5", "9".repeat(40)]) {
      assert.isNull(pageOfLines(linesOf(3), { after: cursor, before: null }), cursor)
      assert.isNull(pageOfLines(linesOf(3), { after: null, before: cursor }), cursor)
    }
  })
})
