/**
 * Goal: addresses shown to payors are the ones the owner's wallet holds, and no private key is ever accepted.
 * Method: vectors of CIP-19; another library on 200 random accounts; and the ledger itself, which lets the private keys
 * spend what came to addresses that were derived without them.
 */
import { assert, describe, it } from "@effect/vitest"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { bech32 } from "@scure/base"
import { Effect } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { readAccount, readWallet } from "../../../../modules/chains/cardano/Wallet.ts"
import { accountOf, accountsOf } from "../../../support/cardano/Keys.ts"
import { Ledger } from "../../../support/cardano/Ledger.ts"

/** Entropy of the phrase of CIP-19's and CIP-1852's vectors: "test walk nut penalty hip pave soap entry …". */
const phraseEntropy = hexToBytes("df9ed25ed146bf43336a5d7cf7395994")

/** Seeded, so that a failure comes again. */
const entropyOf = (seed: number): Uint8Array =>
  Uint8Array.from(createHash("sha256").update(`cardano ${seed}`).digest().subarray(0, 16))

const written = (prefix: string, bytes: Uint8Array): string => bech32.encode(prefix, bech32.toWords(bytes), 1_000)

const sourceOf = (publicBytes: Uint8Array, environment: "mainnet" | "devnet" = "devnet") => {
  const read = readAccount(written("acct_xvk", publicBytes), environment)
  if (typeof read === "string") throw new Error(read)
  return read
}

describe("cardano wallet", () => {
  it("derives the published addresses of the phrase that the standards use", async () => {
    const { publicBytes } = await accountOf(phraseEntropy)
    const address = sourceOf(publicBytes, "mainnet").address(0)
    // Its first half is the payment key hash of CIP-19's vectors, `addr1vx2fxv2…`.
    const enterprise = bech32.fromWords(
      bech32.decode("addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8", 200).words
    )
    const bytes = bech32.fromWords(bech32.decode(address as `addr1${string}`, 200).words)
    assert.strictEqual(
      bytesToHex(Uint8Array.from(bytes.slice(1, 29))),
      bytesToHex(Uint8Array.from(enterprise.slice(1)))
    )
    assert.strictEqual(
      address,
      "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3jcu5d8ps7zex2k2xt3uqxgjqnnj83ws8lhrn648jjxtwqfjkjv7"
    )
  })

  it("gives the addresses of another library for 200 accounts, on both networks", async () => {
    const accounts = (await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((seed) => accountsOf(entropyOf(seed), 25)))).flat()
    assert.lengthOf(accounts, 200)
    for (const [place, account] of accounts.entries()) {
      const index = [0, 1, 19, 1_000, 2 ** 31 - 1][place] ?? place
      const environment = place % 2 === 0 ? "mainnet" : "devnet"
      assert.strictEqual(
        sourceOf(account.publicBytes, environment).address(index),
        account.address(index, environment)
      )
    }
  })

  it("gives addresses whose funds the ledger lets the account's own keys spend, and no other key", async () => {
    const accounts = await Promise.all([1, 2, 3, 4].map((seed) => accountOf(entropyOf(seed))))
    const addresses = accounts.map(({ publicBytes }, place) => sourceOf(publicBytes).address(place))
    const ledger = new Ledger()
    ledger.pay(addresses.map((address) => ({ address, lovelace: 9_000_000n })))
    ledger.mine()
    for (const [place, account] of accounts.entries()) {
      const address = addresses[place]!
      const spend = (index: number) =>
        ledger.pay([{ address: ledger.address, lovelace: 2_000_000n }], {
          from: { address, signer: account.signer(index) }
        })
      assert.throws(() => spend(place + 1))
      assert.lengthOf(spend(place).inputs, 1)
    }
  })

  it("reads an account in each form that wallets write it in, as one wallet", async () => {
    const { publicBytes } = await accountOf(entropyOf(7))
    const forms = [
      written("acct_xvk", publicBytes),
      written("acct_xvk", publicBytes).toUpperCase(),
      written("xpub", publicBytes),
      ` ${bytesToHex(publicBytes)}\n`
    ]
    const prints = forms.map((form) => {
      const read = readAccount(form, "devnet")
      return typeof read === "string" ? read : read.fingerprint
    })
    assert.deepStrictEqual(new Set(prints).size, 1, prints.join("\n"))
    const other = readAccount(forms[0]!, "mainnet")
    assert.notStrictEqual(typeof other === "string" ? other : other.fingerprint, prints[0])
  })

  it("refuses private keys, phrases, other keys and typing errors, and repeats none of them", async () => {
    const { privateBytes, publicBytes } = await accountOf(entropyOf(8))
    const own = written("acct_xvk", publicBytes)
    const refused: ReadonlyArray<readonly [string, string]> = [
      [written("acct_xsk", privateBytes), "PRIVATE"],
      [written("root_xsk", privateBytes), "PRIVATE"],
      [written("xprv", privateBytes), "PRIVATE"],
      [written("ed25519e_sk", privateBytes.subarray(0, 64)), "PRIVATE"],
      [`${written("acct_xsk", privateBytes).slice(0, -1)}`, "PRIVATE"],
      [bytesToHex(privateBytes), "PRIVATE"],
      [bytesToHex(privateBytes.subarray(0, 64)), "PRIVATE"],
      [bytesToHex(privateBytes.subarray(0, 32)), "PRIVATE"],
      [Array.from({ length: 12 }, () => "abandon").join(" "), "recovery phrase"],
      [Array.from({ length: 24 }, () => "abandon").join("\n"), "recovery phrase"],
      [written("root_xvk", publicBytes), "another key"],
      [written("addr_xvk", publicBytes), "another key"],
      [written("acct_shared_xvk", publicBytes), "another key"],
      [`${own.slice(0, -1)}${own.endsWith("q") ? "p" : "q"}`, "checksum"],
      [written("acct_xvk", publicBytes.subarray(0, 32)), "another key"],
      [written("acct_xvk", new Uint8Array(64)), "checksum"],
      [written("acct_xvk", Uint8Array.of(1, ...new Uint8Array(63))), "checksum"],
      [
        "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3",
        "acct_xvk1"
      ],
      ["", "checksum"]
    ]
    for (const [text, reason] of refused) {
      const answer = readAccount(text, "devnet")
      assert.strictEqual(typeof answer, "string", reason)
      assert.include(answer as string, reason)
      if (text !== "") assert.notInclude(answer as string, text.slice(0, 20))
    }
  })

  it("never takes the hex digits of a private key for a public one", async () => {
    for (const { privateBytes } of await accountsOf(Uint8Array.from(randomBytes(16)), 50)) {
      assert.include(String(readAccount(bytesToHex(privateBytes.subarray(0, 64)), "devnet")), "PRIVATE")
    }
  })

  it.effect("reads a list of addresses in its order, and names the entry that is wrong, and repeats it only if it is an address", () =>
    Effect.gen(function*() {
      const { address } = sourceOf((yield* Effect.promise(() => accountOf(entropyOf(9)))).publicBytes)
      const list = [2, 0, 1].map(address)
      const wallet = yield* readWallet("pool", `${list[0]}, ${list[1]}\n${list[2]!.toUpperCase()}`, "devnet")
      assert.isObject(wallet)
      if (typeof wallet === "string" || wallet._tag !== "IndexedWallet") return
      assert.deepStrictEqual([0, 1, 2].map((index) => wallet.derive(index).matchKey), list)
      assert.strictEqual(wallet.size, 3)
      const refusals = yield* Effect.forEach([
        `${list[0]} ${list[0]}`,
        `${list[0]} ${list[1]!.slice(0, -1)}`,
        `${list[0]} ${"ab".repeat(32)}`,
        `stake_test1uqevw2xnsc0pvn9t9r9c7qryfqfeerchgrlm3ea2nefr9hqp8n5xl`
      ], (value) => readWallet("pool", value, "devnet"))
      assert.include(String(refusals[0]), list[0]!, "what was read as an address is no secret")
      assert.deepStrictEqual(
        refusals.map((each) => typeof each === "string" ? each.split(" ").slice(0, 5).join(" ") : ""),
        [
          `entry 2 (${list[0]}) stands in`,
          "entry 2 is no Shelley",
          "entry 2 looks like a",
          "entry 1 is no Shelley"
        ]
      )
      assert.include((yield* readWallet("pool", list.join(" "), "mainnet")) as string, "entry 1 is no Shelley")
      assert.include(
        (yield* readWallet("address", list[0]!, "devnet")) as string,
        "one address cannot tell invoices apart"
      )
    }))
})
