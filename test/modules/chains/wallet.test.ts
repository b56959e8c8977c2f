/**
 * Goal: addresses shown to payors are the ones the owner's wallet holds, and no private key is ever accepted.
 * Method: published vectors: the two best-known BIP-39 phrases under BIP-44, EIP-55's own examples.
 */
import { HDKey } from "@scure/bip32"
import { assert, describe, it } from "@effect/vitest"
import { devnetXpub } from "../../../modules/chains/simulated.ts"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import { readAccount, targetOf } from "../../../modules/chains/evm/Wallet.ts"

const abandonXpub =
  "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"
/** BIP-32 test vector 2, chain m. */
const vector2Private =
  "xprv9s21ZrQH143K31xYSDQpPDxsXRTUcvj2iNHm5NUtrGiGG5e2DtALGdso3pGz6ssrdK4PFmM8NSpSBHNqPqm55Qn3LqFtT2emdEXVYsCzC2U"
const vector2Public =
  "xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJY47LJhkJ8UB7WEGuduB"
const vector2Child =
  "xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH"

const account = (xpub: string) => {
  const read = readAccount(xpub)
  if (typeof read === "string") throw new Error(read)
  return read
}

describe("evm wallet", () => {
  it("derives the addresses wallets derive, from the public key alone", () => {
    const junk = account(devnetXpub)
    assert.deepStrictEqual([0, 1, 2].map(junk.address), [
      "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
      "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
    ])
    assert.deepStrictEqual([0, 1].map(account(abandonXpub).address), [
      "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
      "0x6Fac4D18c912343BF86fa7049364Dd4E424Ab9C0"
    ])
    assert.strictEqual(targetOf(junk, 0).matchKey, "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
  })

  it("agrees with BIP-32 vector 2 in public derivation", () => {
    assert.strictEqual(HDKey.fromExtendedKey(vector2Public).deriveChild(0).publicExtendedKey, vector2Child)
  })

  it("has one fingerprint per wallet", () => {
    assert.strictEqual(account(devnetXpub).fingerprint, account(` ${devnetXpub}\n`).fingerprint)
    assert.notStrictEqual(account(devnetXpub).fingerprint, account(abandonXpub).fingerprint)
  })

  it("refuses private keys, phrases, other depths and typing errors, and repeats none of them", () => {
    const refused = [
      [vector2Private, "PRIVATE"],
      [`0x${"ab".repeat(32)}`, "PRIVATE"],
      [Array.from({ length: 12 }, () => "abandon").join(" "), "recovery phrase"],
      [vector2Public, "depth 0"],
      [`${devnetXpub.slice(0, -1)}q`, "checksum"],
      ["", "checksum"]
    ] as const
    for (const [text, reason] of refused) {
      const answer = readAccount(text)
      assert.strictEqual(typeof answer, "string")
      assert.include(answer as string, reason)
      if (text !== "") assert.notInclude(answer as string, text)
    }
  })

  it("writes addresses as EIP-55 does", () => {
    for (
      const address of ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"]
    ) {
      assert.strictEqual(toChecksumAddress(address.toLowerCase()), address)
    }
  })
})
