/**
 * Goal: what a transaction pays us is read from its own bytes, whatever else it holds, and nothing else is.
 * Method: another CBOR library writes what ours reads; random bytes; transactions that the ledger's rules have passed.
 */
import { assert, describe, it } from "@effect/vitest"
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import { encode } from "cborg"
import { arrayAt, booleanAt, bytesAt, endOf, mapAt, unsignedAt } from "../../../../modules/chains/cardano/Cbor.ts"
import {
  assetPlaces,
  isCarrier,
  paysWatched,
  readTransaction,
  transfersOf
} from "../../../../modules/chains/cardano/Transactions.ts"
import { addressBytes, enterpriseAddress, Ledger, type RigOutput } from "../../../support/cardano/Ledger.ts"

const hex = (text: string) => hexToBytes(text.replace(/ /g, ""))

/** The same on every run. */
const makeRandom = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

/** What another library can write and the ledger can hold. */
const randomItem = (random: (below: number) => number, depth: number): unknown => {
  const list = () => Array.from({ length: random(5) }, () => randomItem(random, depth - 1))
  switch (random(depth > 0 ? 6 : 4)) {
    case 0:
      return random(2) === 0 ? random(2 ** 31) : BigInt(random(2 ** 31)) * BigInt(random(2 ** 31))
    case 1:
      return Uint8Array.from({ length: random(90) }, () => random(256))
    case 2:
      return random(2) === 0
    case 3:
      return "Ada ₳ ".repeat(random(8))
    case 4:
      return list()
    default:
      return new Map(list().map((value, key) => [key, value]))
  }
}

/** What our reader makes of an item that the other library wrote. */
const assertSame = (data: Uint8Array, offset: number, item: unknown): void => {
  if (typeof item === "bigint" || typeof item === "number") {
    assert.strictEqual(unsignedAt(data, offset), BigInt(item))
  } else if (item instanceof Uint8Array) {
    assert.deepStrictEqual([...bytesAt(data, offset) ?? [-1]], [...item])
  } else if (typeof item === "boolean") {
    assert.strictEqual(booleanAt(data, offset), item)
  } else if (Array.isArray(item)) {
    const offsets = arrayAt(data, offset)!
    assert.lengthOf(offsets, item.length)
    for (const [place, each] of item.entries()) assertSame(data, offsets[place]!, each)
  } else if (item instanceof Map) {
    const pairs = mapAt(data, offset)!
    assert.lengthOf(pairs, item.size)
    for (const [place, [key, value]] of [...item].entries()) {
      assertSame(data, pairs[place]![0], key)
      assertSame(data, pairs[place]![1], value)
    }
  }
}

describe("CBOR", () => {
  it("reads what another library writes", () => {
    const random = makeRandom(1)
    for (let round = 0; round < 2_000; round++) {
      const item = randomItem(random, 4)
      const data = encode(item)
      assert.strictEqual(endOf(data, 0), data.length)
      assertSame(data, 0, item)
    }
  })

  it("reads strings in chunks, lists without a length, tags and large integers, which other libraries refuse", () => {
    assert.deepStrictEqual([...bytesAt(hex("5f 4101 420203 ff"), 0)!], [1, 2, 3])
    assert.deepStrictEqual([...bytesAt(hex("c2 5f 41 01 42 0000 ff"), 0)!], [1, 0, 0])
    assert.strictEqual(unsignedAt(hex("c2 5f 41 01 42 0000 ff"), 0), 65_536n)
    assert.strictEqual(unsignedAt(hex("1b ffffffffffffffff"), 0), 2n ** 64n - 1n)
    assert.strictEqual(unsignedAt(hex("1800"), 0), 0n)
    assert.lengthOf(arrayAt(hex("d90102 82 01 02"), 0)!, 2)
    assert.lengthOf(arrayAt(hex("9f 01 9f ff 02 ff"), 0)!, 3)
    assert.lengthOf(mapAt(hex("bf 01 02 03 9f ff ff"), 0)!, 2)
    for (
      const text of [
        "d8799f0102ff",
        "d905009f01ff",
        "d8668218019f01ff",
        "d8184101",
        "d81e820102",
        "f7",
        "fb3ff0000000000000"
      ]
    ) {
      assert.strictEqual(endOf(hex(text), 0), text.length / 2)
    }
  })

  it("refuses what is cut short, and never fails otherwise, whatever the bytes", () => {
    for (
      const text of [
        "",
        "5f41",
        "8201",
        "9f01",
        "1b00",
        "ff",
        "5f6101ff",
        "bf01ff".slice(0, 4),
        "5b7fffffffffffffff",
        "9b7fffffffffffffff"
      ]
    ) {
      assert.isNull(endOf(hex(text), 0), text)
    }
    const random = makeRandom(2)
    for (let round = 0; round < 20_000; round++) {
      const data = Uint8Array.from({ length: random(40) }, () => random(256))
      for (const read of [endOf, arrayAt, mapAt, bytesAt, unsignedAt, booleanAt]) read(data, 0)
      readTransaction(data)
    }
  })

  it("passes over data that is nested as deep as a transaction is long", () => {
    const depth = 16_000
    const data = concatBytes(new Uint8Array(depth).fill(0x81), Uint8Array.of(0))
    assert.strictEqual(endOf(data, 0), depth + 1)
  })
})

const receiver = enterpriseAddress(new Uint8Array(32).fill(5))
const other = enterpriseAddress(new Uint8Array(32).fill(6))
const isWatched = (address: string) => address === receiver

const readHex = (cbor: string) => {
  const read = readTransaction(hexToBytes(cbor))
  if (read === null) throw new Error("not read")
  return read
}

const found = (cbor: string, sources: ReadonlyArray<string> = [other]) =>
  transfersOf(readHex(cbor), isWatched, sources).map(({ amount, from, index, tokenAddress }) => [
    index,
    tokenAddress,
    BigInt(amount),
    from
  ])

describe("transactions", () => {
  it("names every output to a watched address by its place, with the hash that the ledger gives", () => {
    const ledger = new Ledger()
    const transaction = ledger.pay([
      { address: other, lovelace: 2_000_000n },
      { address: receiver, lovelace: 3_000_000n },
      { address: receiver, lovelace: 4_000_000n }
    ])
    assert.strictEqual(readHex(transaction.cbor).txHash, transaction.txHash)
    assert.deepStrictEqual(found(transaction.cbor), [
      [assetPlaces, null, 3_000_000n, other],
      [2 * assetPlaces, null, 4_000_000n, other]
    ])
    assert.isFalse(paysWatched(readHex(ledger.pay([{ address: other, lovelace: 2_000_000n }]).cbor), isWatched))
  })

  it("reads past Plutus data over 64 bytes, which is a string in chunks (trap 2)", () => {
    const ledger = new Ledger()
    const datum = Uint8Array.of(0x5f, 0x58, 64, ...new Uint8Array(64), 0x44, 1, 2, 3, 4, 0xff)
    const { cbor } = ledger.pay([{ address: receiver, lovelace: 5_000_000n, datum }])
    assert.deepStrictEqual(found(cbor), [[0, null, 5_000_000n, other]])
    // The same within the witnesses, as data that scripts are given is.
    const bytes = hexToBytes(cbor)
    const [body, witnesses] = arrayAt(bytes, 0)!
    const withData = concatBytes(
      Uint8Array.of(0x84),
      bytes.subarray(body, witnesses),
      Uint8Array.of(0xa1, 4, 0x9f),
      datum,
      Uint8Array.of(0xff, 0xf5, 0xf6)
    )
    assert.deepStrictEqual(transfersOf(readTransaction(withData)!, isWatched, []).length, 1)
  })

  it("reports other assets under policy and name, and not the ADA that only carries them", () => {
    const ledger = new Ledger()
    const names = new Map([["tUSD", 25_000_000n], ["NFT", 1n]])
    const carried = (lovelace: bigint): RigOutput => ({
      address: receiver,
      lovelace,
      assets: new Map([[ledger.policy, names]])
    })
    const unit = (name: string) => `${ledger.policy}${Buffer.from(name).toString("hex")}`
    const assets = [[1, unit("NFT"), 1n, other], [2, unit("tUSD"), 25_000_000n, other]]
    assert.deepStrictEqual(found(ledger.pay([carried(1_500_000n)], { mint: names }).cbor), assets)
    assert.deepStrictEqual(found(ledger.pay([carried(50_000_000n)], { mint: names }).cbor), [
      [0, null, 50_000_000n, other],
      ...assets
    ])
  })

  it("takes for a carrier whatever the ledger accepts as the least, and no payment of ten times that", () => {
    const ledger = new Ledger()
    for (const size of [1, 3, 12, 40]) {
      const names = new Map(Array.from({ length: size }, (_, place) => [`asset ${place}`.padEnd(32, "x"), 5n] as const))
      const least = (lovelace: bigint): bigint => {
        const output = { address: receiver, lovelace, assets: new Map([[ledger.policy, names]]) }
        const isEnough = (() => {
          try {
            ledger.pay([output], { mint: names })
            return true
          } catch {
            return false
          }
        })()
        return isEnough ? lovelace : least(lovelace + 100_000n)
      }
      const assets = [...names].map(([name]) => ({
        unit: `${ledger.policy}${Buffer.from(name).toString("hex")}`,
        quantity: 5n
      }))
      const minimum = least(900_000n)
      assert.isTrue(isCarrier({ lovelace: minimum, assets }), `${size} assets, ${minimum}`)
      assert.isFalse(isCarrier({ lovelace: 10n * minimum, assets }))
    }
    assert.isFalse(isCarrier({ lovelace: 1_000_000n, assets: [] }))
  })

  it("counts nothing of a transaction whose scripts failed, but what comes back of its collateral (trap 14)", () => {
    const body = new Map<number, unknown>([
      [0, [[new Uint8Array(32), 0]]],
      [1, [[addressBytes(receiver), 5_000_000], [addressBytes(other), 7]]],
      [2, 1],
      [13, [[new Uint8Array(32), 1]]],
      [16, new Map<number, unknown>([[0, addressBytes(receiver)], [1, 3_000_000]])]
    ])
    const transaction = (isValid: boolean, fields: Map<number, unknown>) =>
      Buffer.from(encode([fields, new Map(), isValid, null])).toString("hex")
    assert.deepStrictEqual(found(transaction(true, body)), [[0, null, 5_000_000n, other]])
    assert.deepStrictEqual(found(transaction(false, body)), [[2 * assetPlaces, null, 3_000_000n, other]])
    body.delete(16)
    assert.deepStrictEqual(found(transaction(false, body)), [])
  })

  it("counts no change: what an address sends to itself", () => {
    const ledger = new Ledger()
    const { cbor } = ledger.pay([{ address: receiver, lovelace: 3_000_000n }])
    assert.deepStrictEqual(found(cbor, [receiver]), [])
  })

  it("does not take a transaction of a form that it does not know for one that pays nobody", () => {
    const output = [addressBytes(receiver), 5_000_000]
    const forms: ReadonlyArray<unknown> = [
      [new Map([[1, [output]]]), new Map()],
      [new Map([[1, [[addressBytes(receiver)]]]]), new Map(), true, null],
      [new Map([[1, [[addressBytes(receiver), "5"]]]]), new Map(), true, null],
      [new Map([[1, [output]]]), new Map(), 1, null],
      [new Map([[2, 5]]), new Map(), true, null],
      [new Map([[1, [output]]]), new Map(), true, null, 5],
      { body: 5 }
    ]
    for (const form of forms) assert.isNull(readTransaction(encode(form)))
    assert.isNull(readTransaction(concatBytes(encode(forms[0]), Uint8Array.of(0))))
  })
})
