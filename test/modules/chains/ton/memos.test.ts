/**
 * Goal: a memo leads to its invoice and to no other, however people type it.
 * Method: properties over seeded invoices, with every mistake of one character.
 */
import { assert, describe, it } from "@effect/vitest"
import { beginCell, comment } from "@ton/core"
import { commentIn } from "../../../../modules/chains/ton/Comment.ts"
import { memoCodeOf, memoCodesIn, memoLength, readMemoCode } from "../../../../modules/chains/ton/MemoCode.ts"

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const codes = Array.from({ length: 500 }, (_, number) => memoCodeOf(`inv_${number}`))

describe("memos", () => {
  it("come from the invoice's id alone, so that deployments on one wallet never collide (trap 8)", () => {
    assert.strictEqual(memoCodeOf("inv_1"), memoCodeOf("inv_1"))
    assert.strictEqual(new Set(codes).size, codes.length)
    for (const code of codes) assert.match(code, new RegExp(`^[${alphabet}]{${memoLength}}$`))
  })

  it("are read in every way that people type them", () => {
    for (const code of codes.slice(0, 50)) {
      const spellings = [
        code,
        code.toLowerCase(),
        ` ${code}\n`,
        code.replace(/(.{4})(?=.)/g, "$1-"),
        code.replace(/(.{4})(?=.)/g, "$1 "),
        code.replaceAll("0", "o").replaceAll("1", "l"),
        `Invoice ${code}, thanks`
      ]
      for (const text of spellings) assert.include(memoCodesIn(text), code, text)
    }
  })

  it("notice every wrong character", () => {
    for (const code of codes.slice(0, 20)) {
      for (let place = 0; place < memoLength; place++) {
        for (const character of alphabet.replace(code[place]!, "")) {
          assert.isNull(readMemoCode(code.slice(0, place) + character + code.slice(place + 1)))
        }
      }
    }
  })

  it("are found in no other text", () => {
    for (const text of ["", "thanks", "0".repeat(11), "Ü".repeat(12), "1234567890123", "x".repeat(10_000)]) {
      assert.deepStrictEqual(memoCodesIn(text), [])
    }
  })

  it("are read from comments of any length, and from no other body", () => {
    const long = `${codes[0]} ${"🜁".repeat(400)}`
    assert.isTrue(commentIn(comment(long).beginParse())!.startsWith(codes[0]!))
    assert.strictEqual(commentIn(comment(codes[1]!).beginParse()), codes[1])
    assert.strictEqual(commentIn(comment("").beginParse()), "")
    const others = [
      beginCell(),
      beginCell().storeUint(0, 31),
      beginCell().storeUint(0x2167da4b, 32).storeStringTail(codes[0]!),
      beginCell().storeUint(0, 33)
    ]
    for (const other of others) assert.isNull(commentIn(other.endCell().beginParse()))
  })
})
