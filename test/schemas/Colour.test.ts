/**
 * Goal: people can read what stands in a merchant's colour.
 * Method: contrasts that WCAG's own examples give, and every colour of a grid through the choices.
 */
import { assert, describe, it } from "@effect/vitest"
import { contrast, isReadable, leastContrast, readableOn, textOn } from "../../schemas/Colour.ts"
import { accentOf, backgrounds } from "../../modules/checkout/pages/Accent.ts"

const parts = ["00", "33", "5a", "80", "a6", "cc", "ff"]
const colours = parts.flatMap((red) => parts.flatMap((green) => parts.map((blue) => `#${red}${green}${blue}`)))

describe("contrast", () => {
  it("is as WCAG computes it, whichever colour is the text", () => {
    assert.strictEqual(contrast("#ffffff", "#000000"), 21)
    assert.strictEqual(contrast("#777777", "#777777"), 1)
    assert.approximately(contrast("#767676", "#ffffff"), 4.54, 0.005)
    assert.approximately(contrast("#ffffff", "#777777"), 4.48, 0.005)
    assert.isTrue(isReadable("#767676", "#ffffff"))
    assert.isFalse(isReadable("#777777", "#ffffff"))
  })

  it("of text on any colour is enough", () => {
    for (const colour of colours) assert.isAtLeast(contrast(textOn(colour), colour), leastContrast, colour)
  })

  it("of an accent on the page, and of text on the accent, is enough in light and in dark", () => {
    for (const colour of colours) {
      const { dark, light, onDark, onLight } = accentOf(colour)
      for (const ground of backgrounds.light) assert.isAtLeast(contrast(light, ground), leastContrast, colour)
      for (const ground of backgrounds.dark) assert.isAtLeast(contrast(dark, ground), leastContrast, colour)
      assert.isAtLeast(contrast(onLight, light), leastContrast, colour)
      assert.isAtLeast(contrast(onDark, dark), leastContrast, colour)
    }
  })

  it("leaves alone a colour that can be read", () => {
    assert.strictEqual(readableOn("#2a4fd8", "#ffffff"), "#2a4fd8")
    assert.strictEqual(accentOf("#2a4fd8").light, "#2a4fd8")
    assert.strictEqual(accentOf("red;}body{display:none").light, "#2a4fd8")
  })
})
