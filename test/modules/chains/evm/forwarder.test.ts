/**
 * Goal: an address that is given out is the one the Collector pays from, and nothing but payee, seed and index decide
 * it.
 * Method: viem's own CREATE2 for any payee, seed and index; the deployed contract itself for some.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { encodeAbiParameters, encodePacked, getContractAddress, type Hex, keccak256, toHex } from "viem"
import { collector, forwarderHash } from "../../../../modules/chains/evm/Contracts.ts"
import {
  forwarderAddress,
  forwarderInitCode,
  forwarderList,
  forwarders,
  forwarderSalt
} from "../../../../modules/chains/evm/Forwarder.ts"
import { toChecksumAddress } from "../../../../schemas/EvmAddress.ts"
import { contractRig } from "../../../support/ContractRig.ts"

const bytes = (size: number) =>
  Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(
    Schema.isBetweenLength(size, size)
  )
const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

const addressFrom = (numbers: ReadonlyArray<number>) => toChecksumAddress(toHex(Uint8Array.from(numbers)))

/** By another library, from the words of the specification. */
const expectedSalt = (seed: Uint8Array, at: number) =>
  keccak256(encodePacked(["bytes", "uint256"], [toHex(seed), BigInt(at)]))
const expectedAddress = (payee: string, salt: Hex) =>
  getContractAddress({
    opcode: "CREATE2",
    from: collector.address as Hex,
    salt: keccak256(encodeAbiParameters([{ type: "address" }, { type: "bytes32" }], [payee as Hex, salt])),
    bytecode: forwarderInitCode as Hex
  })

const payee = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
const seed = Uint8Array.from({ length: 32 }, (_, place) => place)

describe("a forwarder's address", () => {
  it.prop(
    "is CREATE2 of payee, seed and index, as viem computes it",
    [bytes(20), bytes(32), index],
    ([to, from, at]) => {
      const { address, salt } = forwarders(addressFrom(to), Uint8Array.from(from))
      assert.strictEqual(salt(at), expectedSalt(Uint8Array.from(from), at))
      assert.strictEqual(address(at), expectedAddress(addressFrom(to), salt(at) as Hex))
      assert.strictEqual(forwarderAddress(addressFrom(to), salt(at)), address(at))
    }
  )

  it.live("is the one that the deployed Collector answers", () =>
    Effect.scoped(Effect.gen(function*() {
      const { deployFrozen, read } = yield* contractRig("prague")
      yield* deployFrozen("Collector")
      const { address, salt } = forwarders(payee, seed)
      for (const at of [0, 1, 255, 256, 2 ** 31 - 1, Number.MAX_SAFE_INTEGER]) {
        assert.strictEqual(yield* read("Collector", collector.address, "addressOf", [payee, salt(at)]), address(at))
      }
    })))

  it("differs for another payee with the same seed, and for the next index", () => {
    const { address } = forwarders(payee, seed)
    const other = forwarders(`0x${"7".repeat(40)}`, seed)
    const all = [0, 1, 2].flatMap((at) => [address(at), other.address(at)])
    assert.strictEqual(new Set(all).size, all.length)
  })

  it("is the same for every spelling of the payee", () => {
    const { address, fingerprint } = forwarders(payee.toLowerCase(), seed)
    assert.strictEqual(address(7), forwarders(payee, seed).address(7))
    assert.strictEqual(fingerprint, forwarders(payee, seed).fingerprint)
  })
})

describe("forwarders", () => {
  it("have the code whose hash the Collector was built with", () => {
    assert.strictEqual(keccak256(forwarderInitCode as Hex), forwarderHash)
  })

  it("have a fingerprint of Collector, payee and seed", () => {
    const parts = [
      "forwarder\n",
      Buffer.from(collector.address.slice(2), "hex"),
      Buffer.from(payee.slice(2), "hex"),
      seed
    ]
    const hash = createHash("sha256")
    for (const part of parts) hash.update(part)
    assert.strictEqual(forwarders(payee, seed).fingerprint, hash.digest("hex"))
  })

  it("are found again, a page at a time, from payee, seed and an index", () => {
    const found = forwarders(payee, seed)
    const list = forwarderList(found, 198, 3)
    assert.deepStrictEqual(list.map(({ index }) => index), [198, 199, 200])
    for (const { address, index, salt } of list) {
      assert.strictEqual(address, found.address(index))
      assert.strictEqual(salt, forwarderSalt(seed, index))
    }
  })

  it("are refused a seed that is not 32 bytes long", () => {
    assert.throws(() => forwarders(payee, seed.subarray(1)), "a seed has 32 bytes, not 31")
  })
})
