/**
 * Goal: a payment link says who is paid and for what, and stays short enough for its QR code.
 * Method: random texts of every script; the longest link that they make is drawn as a code.
 */
import { assert, describe, it } from "@effect/vitest"
import { encode } from "uqr"
import { maximumWordLength, paymentWords } from "../../../modules/payments/service/PaymentWords.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { solanaPaymentUri } from "../../../schemas/PaymentUri.ts"
import { seededRandom } from "../../support/Crash.ts"
import { testSeed } from "../../support/Seed.ts"

const key = "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk"

/** Of one byte to four, half a surrogate pair, white space, and what is always encoded. */
const characters = ["a", "Z", " ", "\n", "&", "%", "é", "ü", "漢", "ع", "🍕", "👩‍👩‍👧", "\ud83c", "\udf55"]

const textOf = (random: () => number): string =>
  Array.from({ length: Math.floor(random() * 200) }, () => characters[Math.floor(random() * characters.length)]).join(
    ""
  )

describe("words of a payment link", () => {
  it("are the merchant's name, and the invoice's title, else its description", () => {
    assert.deepStrictEqual(paymentWords("Demo Store", { title: null, description: "Two books" }), {
      label: "Demo Store",
      message: "Two books"
    })
    assert.strictEqual(paymentWords("Demo Store", { title: "Starter", description: "Two books" }).message, "Starter")
    assert.deepStrictEqual(paymentWords(" ", { title: null, description: null }), { label: null, message: null })
  })

  it("are the beginning of what was written, whole characters, and fit into a code of 73 modules", () => {
    const random = seededRandom(testSeed)
    for (let run = 0; run < 500; run++) {
      const [name, title] = [textOf(random), textOf(random)]
      const words = paymentWords(name, { title, description: null })
      for (const [word, text] of [[words.label, name], [words.message, title]] as const) {
        if (word === null) continue
        assert.isTrue(text.toWellFormed().trim().startsWith(word))
        assert.isAtMost(encodeURIComponent(word).length, maximumWordLength)
      }
      const link = solanaPaymentUri(
        { address: key, memo: "0123456789ABCDEF" },
        { address: key, decimals: 9 },
        baseUnits(123_456_789_123_456_789n),
        { ...words, reference: key }
      )
      if (run % 20 === 0) assert.isAtMost(encode(link, { ecc: "L", border: 0 }).size, 73, `seed ${testSeed}`)
      assert.isAtMost(link.length, 458, `seed ${testSeed}`)
    }
  })
})
