import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { callerBehind, inRanges, isAddressRange, prefixesOf } from "../../../runtime/http/Addresses.ts"

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const Address = Schema.Tuple([Byte, Byte, Byte, Byte])
const Bits = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 32 }))

const numberOf = (bytes: ReadonlyArray<number>) => bytes.reduce((sum, byte) => sum * 256 + byte, 0)

describe("address ranges", () => {
  it("are addresses of both families with or without a length of prefix, and nothing else", () => {
    for (
      const range of ["192.0.2.1", "10.0.0.0/8", "0.0.0.0/0", "::1", "2001:db8::/32", "::ffff:192.0.2.1", "::/128"]
    ) {
      assert.isTrue(isAddressRange(range), range)
    }
    for (
      const range of [
        "",
        "10.0.0",
        "10.0.0.0/33",
        "::/129",
        "10.0.0.0/",
        "10.0.0.0/8/8",
        "a.example",
        "10.0.0.0/-1",
        "fe80::1%eth0",
        "010.0.0.1",
        "10.0.0.0/8 "
      ]
    ) {
      assert.isFalse(isAddressRange(range), range)
    }
  })

  it.prop("hold exactly the addresses that share their first bits", [Address, Address, Bits], ([one, other, bits]) => {
    const size = 2 ** (32 - bits)
    const shares = Math.floor(numberOf(one) / size) === Math.floor(numberOf(other) / size)
    assert.strictEqual(inRanges([`${one.join(".")}/${bits}`])(other.join(".")), shares)
    assert.isTrue(inRanges(["203.0.113.7", one.join(".")])(`::ffff:${one.join(".")}`))
  })

  it("hold no text that is no address", () => {
    const everything = inRanges(["0.0.0.0/0", "::/0"])
    assert.isTrue(everything("2001:db8::1"))
    for (const text of ["", "unknown", "192.0.2.1:80", "192.0.2.1, 192.0.2.2"]) assert.isFalse(everything(text), text)
    assert.isFalse(inRanges([])("192.0.2.1"))
  })
})

describe("the ranges that an address counts in", () => {
  const names = (address: string) => prefixesOf(address).map(({ name, limitFactor }) => `${name} x${limitFactor}`)

  it("are of IPv4 the address alone, and of IPv6 its link, its home and its site, however it is written", () => {
    assert.deepStrictEqual(names("192.0.2.1"), ["192.0.2.1 x1"])
    assert.deepStrictEqual(names("::ffff:192.0.2.1"), ["192.0.2.1 x1"])
    assert.deepStrictEqual(names("unknown"), ["unknown x1"])
    const expected = ["2001:db8:1:ab02::/64 x1", "2001:db8:1:ab00::/56 x4", "2001:db8:1::/48 x16"]
    for (const same of ["2001:db8:1:ab02::1", "2001:0DB8:0001:AB02:0:0:0:9", "2001:db8:1:ab02:ffff::"]) {
      assert.deepStrictEqual(names(same), expected, same)
    }
    assert.deepStrictEqual(names("2001:db8::1"), [
      "2001:db8:0:0::/64 x1",
      "2001:db8:0:0::/56 x4",
      "2001:db8:0::/48 x16"
    ])
    assert.deepStrictEqual(names("::"), ["0:0:0:0::/64 x1", "0:0:0:0::/56 x4", "0:0:0::/48 x16"])
  })

  const Group = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))
  const Prefix = Schema.Tuple([Group, Group, Group, Group])

  it.prop("are shared exactly by the addresses below the same prefix", [
    Prefix,
    Prefix,
    Schema.Literals([0, 1, 2, 3, 4])
  ], ([one, other, same]) => {
    const near = [...one.slice(0, same), ...other.slice(same)]
    const written = (groups: ReadonlyArray<number>) => `${groups.map((group) => group.toString(16)).join(":")}::7`
    const [a, b] = [prefixesOf(written(one)), prefixesOf(written(near))]
    const isSame = [
      one.every((group, index) => group === near[index]),
      one.slice(0, 3).every((group, index) => group === near[index]) && one[3]! >> 8 === near[3]! >> 8,
      one.slice(0, 3).every((group, index) => group === near[index])
    ]
    assert.deepStrictEqual(a.map(({ name }, index) => name === b[index]!.name), isSame)
  })
})

describe("the caller of a request", () => {
  const caller = (trusted: ReadonlyArray<string>, peer: string | null, forwarded?: string) =>
    callerBehind(trusted)({
      remoteAddress: peer === null ? Option.none() : Option.some(peer),
      headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded }
    } as never)

  it("is its peer, whatever it claims, unless the peer is a trusted proxy", () => {
    assert.strictEqual(caller([], "203.0.113.7", "192.0.2.1"), "203.0.113.7")
    assert.strictEqual(caller(["10.0.0.0/8"], "203.0.113.7", "192.0.2.1"), "203.0.113.7")
    assert.strictEqual(caller([], "::ffff:203.0.113.7"), "203.0.113.7")
    assert.isNull(caller(["10.0.0.0/8"], null, "192.0.2.1"))
  })

  it("is the last hop before the trusted ones, so that what it wrote itself names nobody", () => {
    const behind = (forwarded?: string) => caller(["10.0.0.0/8", "::1"], "::ffff:10.0.0.1", forwarded)
    assert.strictEqual(behind("203.0.113.7"), "203.0.113.7")
    assert.strictEqual(behind("192.0.2.1, 203.0.113.7"), "203.0.113.7")
    assert.strictEqual(behind("192.0.2.1, 203.0.113.7, 10.0.0.2,::1"), "203.0.113.7")
    assert.strictEqual(behind("192.0.2.1, nonsense"), "10.0.0.1")
    assert.strictEqual(behind("10.0.0.3, 10.0.0.2"), "10.0.0.3")
    assert.strictEqual(behind(""), "10.0.0.1")
    assert.strictEqual(behind(), "10.0.0.1")
    assert.strictEqual(behind(Array.from({ length: 5_000 }, () => "10.0.0.2").join()), "10.0.0.2")
  })
})
