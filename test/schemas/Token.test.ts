/**
 * Goal: every spelling of a token's address is the same token, and no two tokens are one.
 * Method: spellings are made by the networks' own libraries, of random bytes.
 */
import { assert, describe, it } from "@effect/vitest"
import { base58 } from "@scure/base"
import { normalizeStructTag } from "@mysten/sui/utils"
import { Address } from "@ton/core"
import { Schema } from "effect"
import { getAddress } from "ethers"
import { type Network, networkFamilies, networks } from "../../schemas/Network.ts"
import { tokenAddress, tokenKey } from "../../schemas/Token.ts"

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const Bytes32 = Schema.Array(Byte).check(Schema.isMinLength(32), Schema.isMaxLength(32))
const hexOf = (bytes: ReadonlyArray<number>) => Buffer.from(bytes).toString("hex")
const isZero = (bytes: ReadonlyArray<number>) => bytes.every((byte) => byte === 0)

/** Letters in the cases that `cases` says, one after the other. */
const withCases = (text: string, cases: ReadonlyArray<boolean>) =>
  [...text].map((each, at) => cases[at % (cases.length + 1)] === true ? each.toUpperCase() : each.toLowerCase()).join(
    ""
  )

const keyOf = (network: Network, address: string) => tokenKey({ network, environment: "mainnet", address })

/** All of them are one token, which is told of as `address`. */
const areOneToken = (network: Network, spellings: ReadonlyArray<string>, address: string) => {
  for (const text of spellings) {
    assert.strictEqual(tokenAddress(network, text), address, text)
    assert.strictEqual(keyOf(network, text), keyOf(network, address), text)
  }
}

describe("the address of a token", () => {
  it.prop("on TON is one in every flag, alphabet and form", [Bytes32, Schema.Boolean], ([bytes, isMasterchain]) => {
    if (isZero(bytes)) return
    const account = new Address(isMasterchain ? -1 : 0, Buffer.from(bytes))
    const friendly = [true, false].flatMap((bounceable) =>
      [true, false].flatMap((testOnly) =>
        [true, false].map((urlSafe) => account.toString({ bounceable, testOnly, urlSafe }))
      )
    )
    const raw = account.toRawString()
    areOneToken("ton", [...friendly, raw, raw.toUpperCase()], raw)
  })

  it.prop(
    "on Sui is one with a short package and a padded one, as Sui's own tools say",
    [Bytes32, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 32 })), Schema.Array(Schema.Boolean)],
    ([bytes, length, cases]) => {
      const digits = hexOf(bytes.slice(0, length))
      const address = normalizeStructTag(`0x${digits}::usdc::USDC`)
      const short = digits.replace(/^0+(?=.)/, "")
      const spellings = [digits, short, digits.padStart(64, "0"), withCases(short, cases)]
      areOneToken("sui", spellings.map((each) => `0x${each}::usdc::USDC`), address)
      assert.notStrictEqual(keyOf("sui", address), keyOf("sui", address.replace("::USDC", "::Usdc")))
    }
  )

  it.prop(
    "on EVM networks is one in every case of letters",
    [Bytes32, Schema.Array(Schema.Boolean)],
    ([bytes, cases]) => {
      const twenty = bytes.slice(0, 20)
      if (isZero(twenty)) return
      const digits = hexOf(twenty)
      areOneToken("base", [digits, withCases(digits, cases)].map((each) => `0x${each}`), getAddress(`0x${digits}`))
    }
  )

  it.prop(
    "on Cardano is one with a dot after the policy and without, in either case",
    [Bytes32, Schema.Array(Byte).check(Schema.isMaxLength(32)), Schema.Array(Schema.Boolean)],
    ([bytes, name, cases]) => {
      const policy = hexOf(bytes.slice(0, 28))
      const address = `${policy}${hexOf(name)}`
      areOneToken("cardano", [address, `${policy}.${hexOf(name)}`, withCases(address, cases)], address)
    }
  )

  it.prop("on Solana has one spelling, in which case tells", [Bytes32], ([bytes]) => {
    if (isZero(bytes)) return
    const address = base58.encode(Uint8Array.from(bytes))
    areOneToken("solana", [address], address)
    assert.notStrictEqual(keyOf("solana", address), keyOf("solana", address.toLowerCase()))
  })

  it("is null for what is none, however long", () => {
    const wrong = ["", "native", "0x", "0x2", "::", "0x2::sui", "0x2::sui::SUI<0x2::a::B>", "EQ", `0:${"0".repeat(64)}`]
    for (const network of networks) {
      for (const text of [...wrong, "0x2::sui::SUI ", "a".repeat(100_000), "€".repeat(48)]) {
        assert.isNull(tokenAddress(network, text), `${network} ${text.slice(0, 80)}`)
      }
    }
  })

  it("of one network's form is none of another family's", () => {
    const examples: Readonly<Record<string, string>> = {
      evm: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
      solana: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
      ton: "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs",
      sui: "0x2::sui::SUI",
      cardano: "c48cbb3d5e57ed56e276bc45f99ab39abe94e6cd7ac39fb402da47ad0014df105553444d"
    }
    for (const { name, tokenAddress: read } of networkFamilies) {
      for (const [family, text] of Object.entries(examples)) {
        assert.strictEqual(read(text) !== null, family === name, `${family} as ${name}`)
      }
    }
  })
})
