/**
 * Goal: an address of ours is known in every form that its owner has, and nobody else's is taken for it. Method: forms
 * of each family, made by other libraries or by what the drivers use.
 */
import { ed25519 } from "@noble/curves/ed25519.js"
import { assert, describe, it } from "@effect/vitest"
import { base58, bech32 } from "@scure/base"
import { Address } from "@ton/core"
import { randomBytes } from "node:crypto"
import { associatedTokenAccount, tokenProgram } from "../../modules/chains/solana/Addresses.ts"
import { referenceOf, sharedTargetOf } from "../../modules/chains/solana/PaymentCode.ts"
import { readAddress } from "../../schemas/Address.ts"
import { type Environment, type Family, familyRecord } from "../../schemas/Network.ts"
import { isOnCurve } from "../../schemas/SolanaAddress.ts"

interface Target {
  readonly address: string
  readonly matchKey: string
  readonly memo: string | null
}

/** Whether an address is a target's owner's, as the kernel asks. */
const isOwn = (family: Family, target: Target, address: string): boolean => {
  const { addressKeys, ownerKeys } = familyRecord(family)
  const known = new Set([target.matchKey, ...ownerKeys(target)])
  return addressKeys(address).some((key) => known.has(key))
}

const bytes = (length: number) => new Uint8Array(randomBytes(length))

const cardanoPrefixes = { mainnet: "addr", devnet: "addr_test" } as const

/** A Shelley address (CIP-19) of a header type, of a payment part and what follows it. */
const cardano = (environment: Environment, type: number, payment: Uint8Array, rest = new Uint8Array()): string => {
  const header = type << 4 | (environment === "mainnet" ? 1 : 0)
  const words = bech32.toWords(Uint8Array.of(header, ...payment, ...rest))
  const text = bech32.encode(cardanoPrefixes[environment], words, 128)
  assert.strictEqual(readAddress("cardano", environment, text), text)
  return text
}

describe("an address of ours", () => {
  it("of Cardano is known with any stake part, a pointer or none, and no other payment key's is", () => {
    for (const environment of ["mainnet", "devnet"] as const) {
      for (let round = 0; round < 200; round++) {
        const payment = bytes(28)
        const address = cardano(environment, 0, payment, bytes(28))
        const target = { address, matchKey: address, memo: null }
        for (
          const form of [
            cardano(environment, 6, payment),
            cardano(environment, 0, payment, bytes(28)),
            cardano(environment, 2, payment, bytes(28)),
            cardano(environment, 4, payment, Uint8Array.of(1, 2, 3)),
            address
          ]
        ) assert.isTrue(isOwn("cardano", target, form), form)
        const stake = bytes(28)
        const near = payment.slice()
        near[27]! ^= 0x10
        for (const other of [bytes(28), near]) {
          assert.isFalse(isOwn("cardano", target, cardano(environment, 0, other, stake)))
          assert.isFalse(isOwn("cardano", target, cardano(environment, 6, other)))
        }
      }
    }
  })

  it("of Solana is known as the wallet and as the reference of an invoice's payment link", () => {
    const wallet = base58.encode(ed25519.getPublicKey(bytes(32)))
    const target = sharedTargetOf(wallet, "0198c0de-0000-7000-8000-000000000001")
    assert.isTrue(isOwn("solana", target, wallet))
    assert.isTrue(isOwn("solana", target, referenceOf(wallet, target.memo!)))
    const other = sharedTargetOf(wallet, "0198c0de-0000-7000-8000-000000000002")
    assert.isFalse(isOwn("solana", target, referenceOf(wallet, other.memo!)))
    assert.isFalse(isOwn("solana", target, base58.encode(ed25519.getPublicKey(bytes(32)))))
  })

  it("of TON is known in every friendly form and raw", () => {
    const account = new Address(0, Buffer.from(bytes(32)))
    const shown = account.toString({ bounceable: false, testOnly: true })
    const raw = account.toRawString()
    for (
      const target of [
        { address: shown, matchKey: raw, memo: null },
        { address: shown, matchKey: `${raw}:ABC`, memo: "ABC" }
      ]
    ) {
      for (const bounceable of [true, false]) {
        for (const testOnly of [true, false]) {
          for (const urlSafe of [true, false]) {
            const form = readAddress("ton", "devnet", account.toString({ bounceable, testOnly, urlSafe }))!
            assert.isTrue(isOwn("ton", target, form), form)
          }
        }
      }
      assert.isTrue(isOwn("ton", target, readAddress("ton", "devnet", raw.toUpperCase())!))
      assert.isFalse(isOwn("ton", target, new Address(-1, account.hash).toString()))
    }
  })

  it("of Sui is known in either case, and is no address without its leading zeros", () => {
    const digits = `00${randomBytes(31).toString("hex")}`
    const target = { address: `0x${digits}`, matchKey: `0x${digits}`, memo: null }
    assert.isTrue(isOwn("sui", target, readAddress("sui", "mainnet", `0x${digits.toUpperCase()}`)!))
    for (const short of [digits.slice(1), digits.slice(2), digits.replace(/^0+/, "")]) {
      assert.isNull(readAddress("sui", "mainnet", `0x${short}`))
    }
  })

  it("of EVM is known in any case", () => {
    const digits = randomBytes(20).toString("hex")
    const target = { address: `0x${digits}`, matchKey: `0x${digits}`, memo: null }
    for (const form of [`0x${digits}`, `0x${digits.toUpperCase()}`]) {
      assert.isTrue(isOwn("evm", target, readAddress("base", "mainnet", form)!))
    }
  })
})

describe("an address that is no wallet's", () => {
  it("of Solana is every one that no key signs for, token accounts before all, by the rule of the chain", () => {
    const { isWallet } = familyRecord("solana")
    const wallet = base58.encode(ed25519.getPublicKey(bytes(32)))
    assert.isTrue(isWallet(wallet))
    assert.isFalse(
      isWallet(associatedTokenAccount(wallet, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", tokenProgram))
    )
    let onCurve = 0
    for (let round = 0; round < 500; round++) {
      const candidate = bytes(32)
      let expected = true
      try {
        ed25519.Point.fromBytes(candidate, true)
      } catch {
        expected = false
      }
      if (expected) onCurve++
      assert.strictEqual(isOnCurve(candidate), expected, base58.encode(candidate))
    }
    assert.isAbove(onCurve, 150)
    assert.isBelow(onCurve, 350)
  })

  it("is the contract, mint, master or package of a token, by the token's address in any spelling", () => {
    const usdc = "a1ec7fc00a6f40db9693ad1415d0c193ad3906494428cf252621037bd7117e29"
    assert.strictEqual(familyRecord("sui").contractKey(`0x${usdc}::usdc::USDC`), `0x${usdc}`)
    assert.strictEqual(familyRecord("sui").contractKey("0x2::sui::SUI"), `0x${"2".padStart(64, "0")}`)
    assert.isNull(readAddress("sui", "mainnet", `0x${"2".padStart(64, "0")}`), "one of Sui's own is nobody's")
    const master = new Address(0, Buffer.from(bytes(32)))
    assert.strictEqual(familyRecord("ton").contractKey(master.toString()), master.toRawString())
    assert.strictEqual(familyRecord("evm").contractKey("0xAbC"), "0xabc")
    assert.isNull(familyRecord("cardano").contractKey("ab"))
  })
})
