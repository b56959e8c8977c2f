/**
 * Goal: a wallet is what its owner means, and no secret is ever taken or repeated.
 * Method: `@ton/core` with the published codes of the wallets is the oracle for subwallets.
 */
import { assert, describe, it } from "@effect/vitest"
import { Address, contractAddress } from "@ton/core"
import { Effect } from "effect"
import { subwalletAccount, walletVersions } from "../../../../modules/chains/ton/Subwallets.ts"
import { maximumPoolSize, readWallet } from "../../../../modules/chains/ton/Wallet.ts"
import { accountKeyOf } from "../../../../modules/chains/ton/Account.ts"
import type { IndexedWallet, SharedWallet } from "../../../../runtime/Chains.ts"
import type { WalletKind } from "../../../../schemas/Wallet.ts"
import { tonState } from "../../../support/SignInWallets.ts"

const publicKey = Buffer.from("5f3c".repeat(16), "hex")

/** W5's wallet id: its client context, mixed with the network's number (`@ton/ton`). */
const v5Id = (subwallet: number, globalId: number) => ((0x8000_0000 | subwallet) ^ globalId) >>> 0

const addressOf = (version: "v4r2" | "v5r1", walletId: number) =>
  contractAddress(0, tonState(version, publicKey, { walletId }))

const read = (kind: WalletKind, value: string, environment: "devnet" | "mainnet" = "mainnet") =>
  Effect.runPromise(readWallet(environment)(kind, value))

describe("wallets of TON", () => {
  it("derive the subwallets that @ton/core derives from the whole code", () => {
    const [v5, v4] = walletVersions
    for (let index = 0; index < 20; index++) {
      assert.strictEqual(
        accountKeyOf(subwalletAccount(v4!, publicKey, index, "mainnet")),
        addressOf("v4r2", 698_983_191 + index).toRawString()
      )
      for (const [environment, globalId] of [["mainnet", -239], ["devnet", -3]] as const) {
        assert.strictEqual(
          accountKeyOf(subwalletAccount(v5!, publicKey, index, environment)),
          addressOf("v5r1", v5Id(index, globalId)).toRawString()
        )
      }
    }
  })

  it("take a public key only with the address that belongs to it (trap 5)", async () => {
    const key = publicKey.toString("hex")
    assert.match(await read("xpub", key) as string, /PRIVATE key or a seed/)
    for (const version of ["v4r2", "v5r1"] as const) {
      const first = addressOf(version, version === "v4r2" ? 698_983_191 : v5Id(0, -239))
      const wallet = await read("xpub", `${key} ${first.toString({ bounceable: false })}`) as IndexedWallet
      assert.strictEqual(wallet.derive(0).matchKey, first.toRawString())
      assert.strictEqual(new Set([0, 1, 2].map((index) => wallet.derive(index).matchKey)).size, 3)
    }
    const other = addressOf("v4r2", 698_983_192).toString({ bounceable: false })
    assert.match(await read("xpub", `${key} ${other}`) as string, /not the first wallet/)
  })

  it("never take a secret, and never repeat one", async () => {
    const seed = "ab".repeat(32)
    const phrase = Array.from({ length: 24 }, () => "abandon").join(" ")
    for (const kind of ["address", "pool", "xpub"] as const) {
      for (const secret of [seed, `0x${seed}`, seed + seed, phrase]) {
        const answer = await read(kind, secret)
        assert.isString(answer)
        assert.notInclude(answer as string, secret.slice(0, 10))
      }
    }
  })

  it("take one address in any spelling, and show it as wallets are paid", async () => {
    const address = addressOf("v4r2", 698_983_191)
    const spellings = [address.toString(), address.toString({ urlSafe: false }), address.toRawString()]
    const wallets = await Promise.all(spellings.map((text) => read("address", ` ${text} `))) as Array<SharedWallet>
    assert.strictEqual(new Set(wallets.map(({ fingerprint }) => fingerprint)).size, 1)
    const [{ accountKey, address: shown, targetOf }] = wallets as [SharedWallet]
    assert.strictEqual(shown, address.toString({ bounceable: false }))
    assert.strictEqual(accountKey, address.toRawString())
    const { matchKey, memo } = targetOf("inv_1")
    assert.strictEqual(matchKey, `${accountKey}:${memo}`)
  })

  it("refuse what is no address of the network", async () => {
    const address = addressOf("v4r2", 698_983_191)
    const testOnly = address.toString({ testOnly: true })
    assert.match(await read("address", testOnly) as string, /test network/)
    assert.isObject(await read("address", testOnly, "devnet"))
    const swapped = address.toString().replace(/(.)$/, (last) => last === "A" ? "B" : "A")
    const wrong = [swapped, "", "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", `0:${"0".repeat(64)}`]
    for (const text of wrong) assert.isString(await read("address", text))
  })

  it("take a list in order, without a doubled one in another spelling", async () => {
    const addresses = [0, 1, 2].map((index) => addressOf("v4r2", 698_983_191 + index))
    const pool = await read("pool", addresses.map((each) => each.toString()).join(",\n")) as IndexedWallet
    assert.strictEqual(pool.size, 3)
    assert.deepStrictEqual(
      [0, 1, 2].map((index) => pool.derive(index).matchKey),
      addresses.map((each) => each.toRawString())
    )
    assert.match(await read("pool", `${addresses[0]} ${addresses[0]!.toRawString()}`) as string, /twice/)
    assert.match(await read("pool", `${addresses[0]} nonsense`) as string, /^entry 2/)
    const many = Array.from(
      { length: maximumPoolSize + 1 },
      (_, index) => Address.parseRaw(`0:${index.toString(16).padStart(64, "1")}`).toRawString()
    ).join(" ")
    assert.match(await read("pool", many) as string, /at most/)
  })
})
