/**
 * Goal: an address that a payor is shown is the very one that the owner's wallet derives. Method: `HDKey`, which owners'
 * wallets and other libraries agree with, at many keys and indices; and the two cases in which a child is missing.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { HDKey } from "@scure/bip32"
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { childPoint, childPointsOf } from "../../../runtime/chains/ChildKeys.ts"

const { Point } = secp256k1
const bytesOf = (text: string) => createHash("sha256").update(text).digest()

describe("a child of a public key", () => {
  it("is the one that HDKey derives", () => {
    for (let number = 0; number < 20; number++) {
      const account = HDKey.fromMasterSeed(bytesOf(`seed ${number}`)).derive("m/44'/60'/0'")
      const branch = HDKey.fromExtendedKey(account.publicExtendedKey).deriveChild(0)
      const pointAt = childPointsOf(branch)
      const indices = [0, 1, 2 ** 31 - 1, ...[1, 2, 3, 4].map((at) => bytesOf(`${number} ${at}`).readUInt32BE(0) >>> 1)]
      for (const index of indices) {
        const expected = branch.deriveChild(index).publicKey!
        assert.strictEqual(bytesToHex(pointAt(index).toBytes(true)), bytesToHex(expected), `${number}/${index}`)
      }
    }
  })

  it("has an index that a public key has children at", () => {
    const pointAt = childPointsOf(HDKey.fromMasterSeed(bytesOf("seed")))
    for (const index of [-1, 2 ** 31, 0.5, NaN]) assert.throws(() => pointAt(index), RangeError)
  })

  it("is missing where BIP-32 has none: a number from the order on, or a sum of nothing", () => {
    const parent = Point.BASE.multiply(5n)
    assert.isNull(childPoint(parent, Point.Fn.toBytes(Point.Fn.ORDER - 5n)))
    const order = hexToBytes(Point.Fn.ORDER.toString(16))
    assert.isNull(childPoint(parent, order))
    assert.isNull(childPoint(parent, new Uint8Array(32).fill(0xff)))
    assert.isTrue(childPoint(parent, new Uint8Array(32))!.equals(parent))
  })
})
