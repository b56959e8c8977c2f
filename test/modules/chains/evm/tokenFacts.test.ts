/**
 * Goal: whatever a contract answers about itself harms nobody who reads it.
 * Method: properties over any bytes, and the answers of real, old, broken and hostile contracts.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { maximumSymbolLength, readDecimals, readSymbol } from "../../../../modules/chains/evm/TokenFacts.ts"

const word = (value: bigint | number) => BigInt(value).toString(16).padStart(64, "0")

const encoded = (text: string | Buffer, length?: bigint) => {
  const bytes = Buffer.from(text as string)
  const padded = bytes.toString("hex").padEnd(Math.ceil(bytes.length / 32) * 64, "0")
  return `0x${word(32)}${word(length ?? bytes.length)}${padded}`
}

describe("what a contract says of its token", () => {
  it("is read from a string, and from the one word of old contracts", () => {
    assert.strictEqual(readSymbol(encoded("USDC")), "USDC")
    assert.strictEqual(readSymbol(encoded("USD₮0")), "USD₮0")
    assert.strictEqual(readSymbol(`0x${Buffer.from("MKR").toString("hex").padEnd(64, "0")}`), "MKR")
    assert.deepStrictEqual([readDecimals(`0x${word(6)}`), readDecimals(`0x${word(255)}`)], [6, 255])
  })

  it("is nothing where it answers nothing, too much or something else", () => {
    for (
      const answer of [
        "0x",
        "0x0",
        "nonsense",
        encoded(""),
        encoded("\u0000\u200b\u202e"),
        encoded("AB", 2n ** 200n),
        encoded("AB", 64n),
        `0x${word(2n ** 255n)}${word(4)}`,
        `0x${word(0)}`
      ]
    ) assert.isNull(readSymbol(answer), answer)
    for (const answer of ["0x", "0x06", `0x${word(256)}`, `0x${word(2n ** 256n - 1n)}`, `0x${word(6)}00`]) {
      assert.isNull(readDecimals(answer), answer)
    }
  })

  it("shows no control, no mark of direction and no endless text, and stays text where it is markup", () => {
    assert.strictEqual(readSymbol(encoded("US\u202eDC\u0007\n\r\u2066!")), "US DC !")
    assert.strictEqual(readSymbol(encoded("<img src=x onerror=alert(1)>")), "<img src=x onerror=alert(1)>")
    assert.strictEqual(readSymbol(encoded("🦄".repeat(5_000))), "🦄".repeat(maximumSymbolLength))
    assert.strictEqual(readSymbol(encoded(Buffer.from([0xff, 0xfe, 0x41]))), "\ufffd\ufffdA")
  })

  it.effect.prop("is short and visible whatever the bytes are", [
    Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))
  ], ([bytes]) =>
    Effect.sync(() => {
      for (const answer of [`0x${Buffer.from(bytes).toString("hex")}`, encoded(Buffer.from(bytes))]) {
        const symbol = readSymbol(answer)
        const decimals = readDecimals(answer)
        assert.isTrue(symbol === null || ([...symbol].length <= maximumSymbolLength && !/[\p{Cc}\p{Cf}]/u.test(symbol)))
        assert.isTrue(decimals === null || (decimals >= 0 && decimals <= 255))
      }
    }))
})
