/**
 * Goal: an operator may report a transfer by the address and the hash that payors, the API and explorers show, and a
 * hash of another chain is refused.
 * Method: the pure rules, on every family.
 */
import { assert, describe, it } from "@effect/vitest"
import { base58 } from "@scure/base"
import { reportedHash, reportedMatchKey } from "../../../runtime/chains/ReportedNames.ts"
import { tonAddressText, tonRawAddressText } from "../../../schemas/TonAddress.ts"

const account = { workchain: 0 as const, hash: new Uint8Array(32).fill(0xab) }
const raw = tonRawAddressText(account)
const memo = "7F3K9QTM2XVP"
const hex = "Ab".repeat(32)
const bytes = (length: number) => new Uint8Array(length).fill(0xab)

describe("the receiver of a report", () => {
  it("on TON is the account in any of its spellings, with a memo where the invoice has one", () => {
    const spellings = [true, false].map((bounceable) => tonAddressText(account, { bounceable, testOnly: false }))
    for (const address of [raw, raw.toUpperCase(), ...spellings]) {
      assert.strictEqual(reportedMatchKey("ton", "mainnet", address), raw)
      assert.strictEqual(reportedMatchKey("ton", "mainnet", `${address}:${memo}`), `${raw}:${memo}`)
      assert.strictEqual(reportedMatchKey("ton", "mainnet", `${address}:${memo.toLowerCase()}`), `${raw}:${memo}`)
    }
    const testOnly = tonAddressText(account, { bounceable: false, testOnly: true })
    assert.strictEqual(reportedMatchKey("ton", "devnet", `${testOnly}:${memo}`), `${raw}:${memo}`)
    // Nobody is shown an address of the test network on mainnet: it is left as it is, and matches no invoice.
    assert.strictEqual(reportedMatchKey("ton", "mainnet", testOnly), testOnly)
  })

  it("on Solana is the wallet, with a memo where the invoice has one", () => {
    const wallet = base58.encode(bytes(32))
    assert.strictEqual(reportedMatchKey("solana", "mainnet", wallet), wallet)
    assert.strictEqual(reportedMatchKey("solana", "mainnet", `${wallet}:${memo.toLowerCase()}`), `${wallet}:${memo}`)
  })

  it("on the other families is the address in either case", () => {
    const sui = `0x${hex}`
    assert.strictEqual(reportedMatchKey("sui", "mainnet", sui), sui.toLowerCase())
    const evm = `0x${"aB".repeat(20)}`
    for (const text of [evm, evm.toLowerCase(), `0x${"AB".repeat(20)}`]) {
      assert.strictEqual(reportedMatchKey("base", "mainnet", text), evm.toLowerCase())
    }
    const cardano = "addr1vpu5vlrf4xkxv2qpwngf6cjhtw542ayty80v8dyr49rf5eg0yu80w"
    assert.strictEqual(reportedMatchKey("cardano", "mainnet", cardano.toUpperCase()), cardano)
    // No text is a memo there.
    assert.strictEqual(reportedMatchKey("base", "mainnet", `${evm}:${memo}`), `${evm}:${memo}`.toLowerCase())
  })
})

describe("the hash of a report", () => {
  it("has one spelling, whichever of the chain's it was written in", () => {
    const lower = hex.toLowerCase()
    assert.strictEqual(reportedHash("base", `0x${hex}`), `0x${lower}`)
    assert.strictEqual(reportedHash("cardano", hex), lower)
    const base64 = Buffer.from(lower, "hex").toString("base64")
    const base64Url = Buffer.from(lower, "hex").toString("base64url")
    for (const text of [hex, lower, base64, base64Url, `${base64Url}=`]) {
      assert.strictEqual(reportedHash("ton", text), lower)
    }
    for (const [network, length] of [["solana", 64], ["sui", 32]] as const) {
      const text = base58.encode(bytes(length))
      assert.strictEqual(reportedHash(network, text), text)
    }
  })

  it("is refused in a form that no transaction of the family has", () => {
    const lower = hex.toLowerCase()
    const refused = [
      ["base", lower],
      ["base", ` 0x${lower}`],
      ["base", `0x${lower}0`],
      ["base", `balance:0x${lower}:1`],
      ["cardano", `0x${lower}`],
      ["cardano", `${lower} `],
      ["ton", `0x${lower}`],
      ["ton", Buffer.from(bytes(31)).toString("base64")],
      ["ton", `${Buffer.from(bytes(32)).toString("base64")}=`],
      ["solana", base58.encode(bytes(32))],
      ["solana", lower],
      ["sui", base58.encode(bytes(64))],
      ["sui", `0x${lower}`]
    ] as const
    for (const [network, text] of refused) assert.isNull(reportedHash(network, text), `${network} ${text}`)
  })
})
