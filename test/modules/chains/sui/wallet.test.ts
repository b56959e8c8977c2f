/**
 * Goal: addresses shown to payors are the ones the owner's wallet holds, and no private key is ever accepted.
 * Method: Sui's own SDK derives the same addresses with the private key; its published test phrase.
 */
import { Secp256k1Keypair, Secp256k1PublicKey } from "@mysten/sui/keypairs/secp256k1"
import { HDKey } from "@scure/bip32"
import { mnemonicToSeedSync } from "@scure/bip39"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { IndexedWallet } from "../../../../runtime/Chains.ts"
import { devnetXpub } from "../../../../modules/chains/simulated.ts"
import { maximumPoolSize, readWallet } from "../../../../modules/chains/sui/Wallet.ts"

/** The test phrase of Sui's SDK (packages/sui/test/unit/cryptography/secp256k1-keypair.test.ts). */
const phrase =
  "film crazy soon outside stand loop subway crumble thrive popular green nuclear struggle pistol arm wife phrase warfare march wheat nephew ask sunny firm"
const firstAddress = "0x9e8f732575cc5386f8df3c784cd3ed1b53ce538da79926b2ad54dcc1197d2532"
const account = HDKey.fromMasterSeed(mnemonicToSeedSync(phrase)).derive("m/54'/784'/0'")
const xpub = account.publicExtendedKey

const read = (kind: "address" | "pool" | "xpub", value: string) => Effect.runSync(readWallet(kind, value))

const walletOf = (kind: "pool" | "xpub", value: string): IndexedWallet => {
  const wallet = read(kind, value)
  if (typeof wallet === "string" || wallet._tag !== "IndexedWallet") throw new Error(String(wallet))
  return wallet
}

const address = (digit: string): string => `0x${digit.repeat(64)}`

describe("sui wallet", () => {
  it("derives 200 of 200 addresses that Sui's SDK derives, from the public key alone", () => {
    const wallet = walletOf("xpub", `${xpub} ${firstAddress}`)
    assert.strictEqual(wallet.derive(0).address, firstAddress)
    for (const index of [...Array.from({ length: 199 }, (_, place) => place), 2_147_483_647]) {
      const { publicKey } = account.deriveChild(0).deriveChild(index)
      assert.strictEqual(wallet.derive(index).address, new Secp256k1PublicKey(publicKey!).toSuiAddress())
    }
    const signing = Secp256k1Keypair.deriveKeypair(phrase, "m/54'/784'/0'/0/7")
    assert.deepStrictEqual(wallet.derive(7), {
      address: signing.toSuiAddress(),
      matchKey: signing.toSuiAddress(),
      memo: null
    })
    assert.isNull(wallet.size)
  })

  it("trap 6: an xpub comes with its first address, and one of an EVM network is refused", () => {
    const refused = [
      [xpub, "its first address must come with it: send the key, a space, and the first address"],
      [`${xpub} ${walletOf("xpub", `${xpub} ${firstAddress}`).derive(1).address}`, "not the first one of this xpub"],
      [devnetXpub, "looks like one of an EVM network"],
      [`${devnetXpub} ${firstAddress}`, "not the first one of this xpub"],
      [`${devnetXpub} 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266`, "no address of Sui"],
      [`${xpub} ${firstAddress} ${address("a")}`, "expected an xpub and one address"]
    ] as const
    for (const [value, reason] of refused) {
      const sentence = read("xpub", value)
      assert.include(sentence, reason)
      assert.notInclude(String(sentence), xpub)
    }
    assert.strictEqual(
      walletOf("xpub", ` ${xpub}\n${firstAddress.toUpperCase().replace("0X", "0x")} `).fingerprint,
      walletOf("xpub", `${xpub} ${firstAddress}`).fingerprint
    )
  })

  it("reads a list of addresses in its order, and refuses what is none and what stands twice", () => {
    const wallet = walletOf("pool", `${address("A")},\n ${address("b")};${address("c")}`)
    assert.deepStrictEqual([wallet.size, wallet.derive(0).matchKey, wallet.derive(2).matchKey], [
      3,
      address("a"),
      address("c")
    ])
    assert.notStrictEqual(
      wallet.fingerprint,
      walletOf("pool", `${address("b")} ${address("a")} ${address("c")}`).fingerprint
    )
    assert.include(read("pool", `${address("a")} 0x2`), "entry 2 is not an address of Sui")
    assert.include(read("pool", address("0")), "entry 1 is not an address")
    assert.include(read("pool", `${address("a")} ${address("A")}`), "twice")
    const many = Array.from(
      { length: maximumPoolSize + 1 },
      (_, place) => `0x${(place + 1).toString(16).padStart(64, "0")}`
    )
    assert.include(read("pool", many.join(" ")), `at most ${maximumPoolSize}`)
    assert.strictEqual(walletOf("pool", many.slice(1).join(" ")).size, maximumPoolSize)
  })

  it("refuses private keys, phrases, other depths and one address for all, and repeats none of them", () => {
    const secret = Secp256k1Keypair.deriveKeypair(phrase, "m/54'/784'/0'/0/0").getSecretKey()
    const refused = [
      ["xpub", account.privateExtendedKey, "PRIVATE"],
      ["pool", secret, "PRIVATE"],
      ["pool", `${address("a")} ${secret}`, "PRIVATE"],
      ["xpub", phrase, "recovery phrase"],
      ["pool", phrase, "recovery phrase"],
      ["xpub", account.deriveChild(0).publicExtendedKey, "depth 4"],
      ["xpub", `${xpub.slice(0, -1)}q`, "checksum"],
      ["xpub", "", "checksum"],
      ["address", address("a"), "send a pool of addresses"]
    ] as const
    for (const [kind, value, reason] of refused) {
      const sentence = String(read(kind, value))
      assert.include(sentence, reason)
      if (value.length > 20) assert.notInclude(sentence, value.slice(0, 20))
    }
  })
})
