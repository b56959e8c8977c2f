/**
 * Goal: what is taken as an address can be paid, and one wrong character is seen where the network has a checksum.
 * Method: published vectors, and addresses that other implementations make or judge.
 */
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519"
import { Address } from "@ton/core"
import { base58, bech32 } from "@scure/base"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { getAddress, isAddress } from "ethers"
import { readAddress } from "../../schemas/Address.ts"
import type { Environment, Network } from "../../schemas/Network.ts"

const Bytes32 = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(
  Schema.isMinLength(32),
  Schema.isMaxLength(32)
)
const notZero = (bytes: ReadonlyArray<number>) => bytes.some((byte) => byte !== 0)
const hexOf = (bytes: ReadonlyArray<number>) => Buffer.from(bytes).toString("hex")

/** Sources: EIP-55; Solana's token program; TEP-2; Sui's documentation; CIP-19. */
const right: ReadonlyArray<readonly [Network, Environment, string, string?]> = [
  ["base", "mainnet", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
  ["ethereum", "devnet", "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"],
  ["bsc", "mainnet", "0xD1220A0CF47C7B9BE7A2E6BA89F429762E7B9ADB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"],
  ["solana", "mainnet", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"],
  ["ton", "mainnet", "Ef8zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM0vF"],
  ["ton", "mainnet", "EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF"],
  [
    "ton",
    "mainnet",
    "EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff+W72r5gqPrHF",
    "EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF"
  ],
  ["ton", "devnet", "kQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPgpP"],
  [
    "ton",
    "mainnet",
    "0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e",
    "UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA"
  ],
  ["sui", "mainnet", "0x02a212de6a9dfa3a69e22387acfbafbb1a9e591bd9d636e7895dcfc8de05f331"],
  [
    "cardano",
    "mainnet",
    "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3x"
  ],
  ["cardano", "mainnet", "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8"],
  ["cardano", "devnet", "addr_test1vz2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzerspjrlsz"]
]

const wrong: ReadonlyArray<readonly [Network, Environment, string]> = [
  ["base", "mainnet", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed"],
  ["base", "mainnet", "0x0000000000000000000000000000000000000000"],
  ["base", "mainnet", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
  ["base", "mainnet", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe"],
  ["base", "mainnet", "0x5аAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
  ["base", "mainnet", "\u202e0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
  ["base", "mainnet", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\u200b"],
  ["base", "mainnet", " 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
  ["base", "mainnet", "vitalik.eth"],
  ["solana", "mainnet", "11111111111111111111111111111111"],
  ["solana", "mainnet", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5D0"],
  ["solana", "mainnet", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DAA"],
  ["solana", "mainnet", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
  ["ton", "mainnet", "EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHG"],
  ["ton", "mainnet", "kQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPgpP"],
  ["ton", "mainnet", "0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a"],
  ["ton", "mainnet", "1:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e"],
  ["ton", "mainnet", `0:${"0".repeat(64)}`],
  ["sui", "mainnet", "0x2"],
  ["sui", "mainnet", `0x${"0".repeat(64)}`],
  ["sui", "mainnet", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
  ["cardano", "devnet", "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8"],
  ["cardano", "mainnet", "addr_test1vz2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzerspjrlsz"],
  ["cardano", "mainnet", "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl9"],
  ["cardano", "mainnet", "stake1uyehkck0lajq8gr28t9uxnuvgcqrc6070x3k9r8048z8y5gh6ffgw"],
  ["cardano", "mainnet", "Ae2tdPwUPEZFRbyhz3cpfC2CumGzNkFBN2L42rcUc2yjQpEkxDbkPodpMAi"],
  ["cardano", "mainnet", "a".repeat(10_000)]
]

describe("addresses", () => {
  it("reads published addresses in their one form", () => {
    for (const [network, environment, text, kept = text] of right) {
      assert.strictEqual(readAddress(network, environment, text), kept, text)
      assert.strictEqual(readAddress(network, environment, kept), kept, "what is kept is read as itself")
    }
  })

  it("refuses wrong checksums, other networks' and environments', homographs, marks and addresses nobody owns", () => {
    for (const [network, environment, text] of wrong) assert.isNull(readAddress(network, environment, text), text)
  })

  it.prop("agrees with ethers on every case of letters", [Bytes32, Schema.Array(Schema.Boolean)], ([bytes, cases]) => {
    const text = `0x${
      [...hexOf(bytes.slice(0, 20))].map((c, at) => cases[at % 41] === true ? c.toUpperCase() : c).join("")
    }`
    const wanted = isAddress(text) && notZero(bytes.slice(0, 20)) ? getAddress(text) : null
    assert.strictEqual(readAddress("base", "mainnet", text), wanted)
  })

  it.prop(
    "agrees with @ton/core in every flag and form",
    [Bytes32, Schema.Boolean, Schema.Boolean],
    ([bytes, bounceable, testOnly]) => {
      if (!notZero(bytes)) return
      const address = new Address(0, Buffer.from(bytes))
      const friendly = address.toString({ bounceable, testOnly })
      assert.strictEqual(readAddress("ton", "devnet", friendly), friendly)
      assert.strictEqual(readAddress("ton", "mainnet", friendly), testOnly ? null : friendly)
      const raw = address.toRawString()
      assert.strictEqual(readAddress("ton", "mainnet", raw), address.toString({ bounceable: false }))
      assert.strictEqual(readAddress("ton", "devnet", raw), address.toString({ bounceable: false, testOnly: true }))
    }
  )

  it.prop("reads what Solana's and Sui's own tools make", [Bytes32], ([bytes]) => {
    if (!notZero(bytes)) return
    const solana = base58.encode(Uint8Array.from(bytes))
    assert.strictEqual(readAddress("solana", "mainnet", solana), solana)
    const sui = Ed25519Keypair.fromSecretKey(Uint8Array.from(bytes)).toSuiAddress()
    assert.strictEqual(readAddress("sui", "mainnet", sui), sui)
  })

  it.prop(
    "takes a Cardano address of no other type, length or network than its header says",
    [
      Bytes32,
      Bytes32,
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })),
      Schema.Int.check(Schema.isBetween({ minimum: 20, maximum: 64 }))
    ],
    ([a, b, header, length]) => {
      const bytes = Uint8Array.from([header, ...a, ...b]).slice(0, length)
      const text = bech32.encode("addr", bech32.toWords(bytes), 200)
      const type = header >> 4
      const fits = (type <= 3 && length === 57) || (type >= 6 && length === 29) ||
        ((type === 4 || type === 5) && length >= 32 && length <= 47)
      const payable = header % 16 === 1 && type < 8 && fits
      assert.strictEqual(readAddress("cardano", "mainnet", text) !== null, payable)
    }
  )

  it.prop("sees any one changed character where there is a checksum", [Schema.Int, Schema.Int], ([at, by]) => {
    for (const [network, environment, text, kept = text] of right) {
      if (network === "solana" || network === "sui" || text.startsWith("0:") || text !== kept) continue
      const place = 2 + Math.abs(at) % (text.length - 2)
      const alphabet = network === "cardano" ? "qpzry9x8gf2tvdw0s3jn54khce6mua7l" : "0123456789abcdefABCDEF"
      const letter = alphabet[Math.abs(by) % alphabet.length]!
      if (letter === text[place] || network === "base" && letter.toLowerCase() === text[place]!.toLowerCase()) continue
      const changed = text.slice(0, place) + letter + text.slice(place + 1)
      if (network === "base") {
        assert.strictEqual(readAddress(network, environment, changed) !== null, isAddress(changed))
      } else assert.isNull(readAddress(network, environment, changed), changed)
    }
  })
})
