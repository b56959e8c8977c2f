/**
 * Goal: the port asks nothing of a driver that a chain of unspent outputs, without tokens and memos, cannot give.
 * Method: the driver of `test/support/bitcoin.ts` in a copy of the tree to which it was added, on a ledger of
 * bitcoinjs-lib's transactions; addresses are checked by bitcoinjs-lib and by the examples of BIP-84 and BIP-350.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { base58, base58check } from "@scure/base"
import { HDKey } from "@scure/bip32"
import { sha256 } from "@noble/hashes/sha2.js"
import { address as addresses, networks, payments } from "bitcoinjs-lib"
import { Effect, Layer, Redacted, References, Schema, type Scope, Stream } from "effect"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { chainConformance, type TestedChain } from "../../conformance/chains.ts"
import { disturbancesOf, everySecond } from "../../conformance/chains/Disturbances.ts"
import { addBitcoin, copyProgram } from "../../support/AddedNetwork.ts"
import { bitcoinNode } from "../../support/BitcoinNode.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { indexedWalletOf, watching } from "../../support/Drivers.ts"

const copy = mkdtempSync(join(tmpdir(), "till-bitcoin-"))
copyProgram(copy)
addBitcoin(copy)
for (const path of ["test/conformance", "test/support", "test/fixtures", "test/runtime/chains/ChainsInstance.ts"]) {
  cpSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), join(copy, path), { recursive: true })
}
afterAll(() => rmSync(copy, { recursive: true }))

/** A module of the copy, typed as the file that it was made from. */
const fromCopy = (path: string) => import(/* @vite-ignore */ pathToFileURL(join(copy, path)).href)
const { makeDriver }: typeof import("../../support/bitcoin.ts") = await fromCopy("modules/chains/bitcoin.ts")
const { readAccount }: typeof import("../../support/bitcoin/Wallet.ts") = await fromCopy(
  "modules/chains/bitcoin/Wallet.ts"
)
const { readAddress }: typeof import("../../../schemas/Address.ts") = await fromCopy("schemas/Address.ts")
const { runHistory }: typeof import("../../conformance/histories.ts") = await fromCopy("test/conformance/histories.ts")
const { bitcoin }: typeof import("../../support/BitcoinNetwork.ts") = await fromCopy("schemas/networks/bitcoin.ts")

/** Account 0 of the phrase "abandon ... about" (BIP-84, "Test vectors"). */
const zpub =
  "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"

/** The same key as others write it. */
const withVersion = (version: number): string => {
  const coder = base58check(sha256)
  const bytes = coder.decode(zpub)
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(0, version)
  return coder.encode(bytes)
}
const vpub = withVersion(0x045f_1cf6)

const driverOn = (url: string, more: { readonly pollMillis?: number } = {}) =>
  Effect.flatMap(Layer.build(NodeHttpClient.layerUndici), (client) =>
    Effect.provide(
      makeDriver({
        network: bitcoin.name as never,
        environment: "devnet",
        api: Redacted.make(url),
        xpub: Redacted.make(vpub),
        pollMillis: 20,
        ...more
      }),
      client
    ))

/** Every second call is refused. */
const refusals = () => {
  const isSecond = everySecond()
  return () => isSecond() ? { status: 503, body: "" } : null
}

const bitcoinChain: Effect.Effect<TestedChain, never, Scope.Scope> = Effect.gen(function*() {
  const node = yield* bitcoinNode
  const openDriver = Effect.orDie(driverOn(node.url))
  const driver = yield* openDriver
  return {
    driver,
    openDriver,
    target: (invoice) => indexedWalletOf(driver).derive(invoice),
    unit: 1_000n,
    token: null,
    pay: ({ address }, _token, amount) => node.pay([{ address, amount }]),
    payMany: (to, amount) => node.pay(to.map(({ address }) => ({ address, amount }))),
    mine: node.mine,
    rollback: { drop: node.drop, reinclude: node.reinclude },
    dropTransaction: null,
    disturbances: disturbancesOf<ReturnType<typeof refusals>>(node.set, { errors: refusals }),
    shared: null,
    payWithFee: null,
    payInVain: null
  }
})

chainConformance("bitcoin, added to a copy", bitcoinChain)

describe("the journal of the copy", () => {
  it.live("is as the chain is after a random history", () =>
    Effect.gen(function*() {
      yield* runHistory(yield* bitcoinChain, yield* migratedDatabase, 1)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Fatal")))
})

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const Bytes32 = Schema.Array(Byte).check(Schema.isMinLength(32), Schema.isMaxLength(32))
const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

const accountOf = (text: string, environment: "devnet" | "mainnet") => {
  const account = readAccount(text, environment)
  if (typeof account === "string") throw new Error(account)
  return account
}

describe("a wallet of Bitcoin", () => {
  it("has the addresses of BIP-84's examples, however its key is written, and on no other network", () => {
    for (const text of [zpub, withVersion(0x0488_b21e)]) {
      const { address } = accountOf(text, "mainnet")
      assert.strictEqual(address(0), "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu")
      assert.strictEqual(address(1), "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g")
      assert.isString(readAccount(text, "devnet"))
    }
    assert.strictEqual(accountOf(zpub, "mainnet").fingerprint, accountOf(vpub, "devnet").fingerprint)
    assert.isString(readAccount(vpub, "mainnet"))
  })

  it.prop("has the addresses that bitcoinjs-lib makes of its keys", [Index], ([index]) => {
    const pubkey = HDKey.fromExtendedKey(withVersion(0x0488_b21e)).deriveChild(0).deriveChild(index).publicKey!
    for (const [environment, network] of [["mainnet", networks.bitcoin], ["devnet", networks.testnet]] as const) {
      const { address } = accountOf(environment === "mainnet" ? zpub : vpub, environment)
      assert.strictEqual(address(index), payments.p2wpkh({ pubkey, network }).address)
      assert.strictEqual(readAddress(bitcoin.name as never, environment, address(index)), address(index))
    }
  })

  it("is refused where it is a private key, another account's level or misspelt, and its text is not repeated", () => {
    const phrase = HDKey.fromMasterSeed(new Uint8Array(32).fill(7))
    const wrong = [
      phrase.privateExtendedKey,
      phrase.publicExtendedKey,
      `${zpub.slice(0, -1)}1`,
      "",
      base58.encode(new Uint8Array(78))
    ]
    for (const text of wrong) {
      const answer = readAccount(text, "mainnet")
      assert.isString(answer)
      if (text !== "") assert.notInclude(answer as string, text)
    }
  })
})

describe("an address of Bitcoin", () => {
  const read = (environment: "devnet" | "mainnet", text: string) =>
    readAddress(bitcoin.name as never, environment, text)

  it.prop("is read as bitcoinjs-lib writes it, in its own environment and in either case", [Bytes32], ([bytes]) => {
    const programs = [[0, bytes.slice(0, 20)], [0, bytes], [1, bytes], [2, bytes.slice(0, 2)]] as const
    for (const [version, program] of programs) {
      const text = addresses.toBech32(Uint8Array.from(program), version, "bc")
      assert.strictEqual(read("mainnet", text), text)
      assert.strictEqual(read("mainnet", text.toUpperCase()), text)
      assert.isNull(read("devnet", text))
    }
    assert.isNull(read("mainnet", addresses.toBech32(Uint8Array.from(bytes.slice(0, 24)), 0, "bc")))
  })

  it("of BIP-350's wrong examples is none", () => {
    const wrong = [
      "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",
      "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",
      "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",
      "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R",
      "bc1pw5dgrnzv",
      "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav",
      "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P",
      "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf",
      "bc1gmk9yu",
      "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"
    ]
    for (const text of wrong) assert.isNull(read("mainnet", text), text)
  })
})

describe("a bad node of Bitcoin", () => {
  const watch = watching([accountOf(vpub, "devnet").address(0)])

  it.live("is refused at the start where it is on another chain, and its URL is not told", () =>
    Effect.gen(function*() {
      const node = yield* bitcoinNode
      node.set((path) =>
        path === "/blocks/0"
          ? {
            status: 200,
            body: JSON.stringify([{
              id: "0".repeat(64),
              height: 0,
              timestamp: 0,
              tx_count: 1,
              previousblockhash: null
            }])
          }
          : null
      )
      const error = yield* Effect.flip(driverOn(node.url))
      assert.match(error.reason, /^api 1 of 1 has another first block/)
      assert.notInclude(error.reason, node.url)
    }).pipe(Effect.scoped))

  it.live("that leaves transactions of a block out, or tells one twice, is not believed", () =>
    Effect.gen(function*() {
      const node = yield* bitcoinNode
      const driver = yield* driverOn(node.url)
      yield* node.pay([{ address: accountOf(vpub, "devnet").address(0), amount: 1_000n }])
      const read = (path: string): Effect.Effect<any> =>
        Effect.promise(async () => (await fetch(`${node.url}${path}`)).json())
      const [tip] = yield* read("/blocks")
      const path = `/block/${tip.id}/txs/0`
      const [coinbase] = yield* read(path)
      for (const lie of [[coinbase], [coinbase, coinbase]]) {
        node.set((asked) => asked === path ? { status: 200, body: JSON.stringify(lie) } : null)
        const failure = yield* Effect.flip(Stream.runDrain(driver.follow([], watch)))
        assert.include(failure.reason, "do not have its transactions")
      }
      node.set(null)
      const [forward] = yield* Stream.runCollect(Stream.take(driver.follow([], watch), 1))
      assert.strictEqual(forward?._tag === "Forward" && forward.transfers.length, 1)
    }).pipe(Effect.scoped))

  it.live("of whose chain nothing is known any more stops the follower, which says so", () =>
    Effect.gen(function*() {
      const node = yield* bitcoinNode
      const driver = yield* driverOn(node.url)
      const gone = [{ height: 3n, hash: "1".repeat(64) }, { height: 2n, hash: "2".repeat(64) }]
      const failure = yield* Effect.flip(Stream.runDrain(driver.follow(gone, watch)))
      assert.strictEqual(failure.condition, "no_common_block")
    }).pipe(Effect.scoped))
})
