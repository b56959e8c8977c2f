/** Goal: a file says what the rows say, whatever they hold, and no cell of a payor's words is run by a spreadsheet. */
import { assert, describe, it } from "@effect/vitest"
import { metadataCell, readMetadataKeys, readRange } from "../../../modules/exports/rules.ts"
import { csvLine, decimal, text } from "../../../schemas/Csv.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { makeRandom } from "../../fixtures/histories.ts"

/** A reader of RFC 4180, letter by letter. */
const parse = (file: string): ReadonlyArray<ReadonlyArray<string>> => {
  const rows: Array<Array<string>> = []
  let row: Array<string> = []
  let cell = ""
  let place = 0
  while (place < file.length) {
    if (file[place] === "\"") {
      place += 1
      while (file[place] !== "\"" || file[place + 1] === "\"") {
        if (file[place] === "\"") place += 1
        cell += file[place]
        place += 1
      }
      place += 1
    } else if (file[place] === ",") {
      row.push(cell)
      cell = ""
      place += 1
    } else if (file.startsWith("\r\n", place)) {
      rows.push([...row, cell])
      row = []
      cell = ""
      place += 2
    } else {
      cell += file[place]
      place += 1
    }
  }
  return rows
}

const letters = [
  "=",
  "+",
  "-",
  "@",
  "＝",
  "＋",
  "－",
  "＠",
  "\t",
  "\r",
  "\n",
  "\r\n",
  "\"",
  ",",
  "'",
  "a",
  "é",
  "💸",
  "\u0000",
  "1"
]

const roll = makeRandom(26)

const list = <A>(length: number, make: () => A): ReadonlyArray<A> => Array.from({ length }, make)

/** Text of up to six letters that are hard for a file. */
const hostile = () => list(roll(7), () => letters[roll(letters.length)]!).join("")

describe("a CSV file", () => {
  it("holds every text as it was, but for the apostrophe before what a spreadsheet would run", () => {
    for (const rows of list(2000, () => list(roll(5), () => list(2 + roll(4), hostile)))) {
      const read = parse(rows.map((row) => csvLine(row.map(text))).join(""))
      const expected = rows.map((row) =>
        row.map((value) => /^[=+\-@＝＋－＠\t\r\n]/u.test(value) ? `'${value}` : value)
      )
      assert.deepStrictEqual(read, expected)
    }
  })

  it("changes no number, not even a negative one", () => {
    assert.strictEqual(csvLine([decimal("-12.500"), text("-12.500"), decimal(null)]), "-12.500,'-12.500,\r\n")
  })

  it("writes metadata as its own text, other values as JSON, and finds no key of the language", () => {
    assert.deepStrictEqual(metadataCell({ a: "=1+1" }, "a"), text("=1+1"))
    assert.deepStrictEqual(metadataCell({ a: { b: 1 } }, "a"), text("{\"b\":1}"))
    assert.deepStrictEqual(metadataCell({}, "constructor"), text(null))
  })
})

describe("the question of an export", () => {
  it("is a span of at most 366 days, in seconds", () => {
    assert.deepStrictEqual(readRange({ from: "0", to: "31622400" }), { from: 0, to: 31_622_400 })
    for (
      const [from, to, param] of [["0", "31622401", "to"], ["5", "5", "from"], ["x", "5", "from"], ["1", "y", "to"]]
    ) {
      const refusal = readRange({ from: from!, to: to! })
      assert.instanceOf(refusal, PublicError)
      assert.strictEqual((refusal as PublicError).param, param)
    }
  })

  it("names at most 20 different keys of metadata", () => {
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`)
    assert.deepStrictEqual(readMetadataKeys(keys.join(",")), keys)
    for (const sent of [[...keys, "more"].join(","), "a,a", "", "a,,b"]) {
      assert.instanceOf(readMetadataKeys(sent), PublicError, sent)
    }
  })
})
