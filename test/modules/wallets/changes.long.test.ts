/**
 * Goal: whatever a merchant does to its wallet, who was given an address pays the invoice with it, and no address is
 * given out twice. Method: instances on one database and one simulated chain, wallets set by HTTP.
 */
import { assert, describe, it } from "@effect/vitest"
import { bech32 } from "@scure/base"
import { Effect } from "effect"
import { ed25519 } from "@noble/curves/ed25519.js"
import { HDKey } from "@scure/bip32"
import { randomBytes, randomUUID } from "node:crypto"
import { type AddressSource, readAccount } from "../../../modules/chains/cardano/Wallet.ts"
import type { AllocatedTarget } from "../../../runtime/Chains.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { eventually } from "../../runtime/chains/ChainsInstance.ts"
import {
  addressFamilies,
  type AddressFamily,
  instanceOn,
  newAddress,
  newAddresses,
  simulatedNetworks,
  type WalletService
} from "./WalletService.ts"

const networkOf = { evm: "base", solana: "solana", ton: "ton", sui: "sui", cardano: "cardano" } as const

const allocate = (
  { chains }: WalletService,
  family: AddressFamily,
  invoiceId: string = randomUUID(),
  merchantId = 11
) => chains.allocate({ merchantId, environment: "devnet", family, invoiceId })

const set = (wallets: WalletService, family: AddressFamily, kind: "xpub" | "pool" | "address", value: string) =>
  Effect.map(wallets.put("11", family, kind, value), ({ status, text }) => assert.strictEqual(status, 200, text))

/** Pays a target and waits until the journal has it for the invoice. */
const credited = (
  { chains, simulated }: WalletService,
  family: AddressFamily,
  invoiceId: string,
  { matchKey }: AllocatedTarget
) =>
  Effect.gen(function*() {
    yield* simulated.transfer({
      network: networkOf[family],
      to: matchKey,
      tokenAddress: null,
      amount: baseUnits(7_000_000n)
    })
    const [entry] = yield* eventually(
      Effect.map(chains.transfers(invoiceId), (entries) => entries.length === 0 ? undefined : entries)
    )
    assert.deepStrictEqual([entry!.invoiceId, entry!.matchKey, entry!.amount], [invoiceId, matchKey, 7_000_000n])
  })

const evmXpub = () => HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey

/** An account's public key of Cardano (CIP-5), to which nobody has the private one. */
const cardanoXpub = () =>
  bech32.encode(
    "acct_xvk",
    bech32.toWords(Uint8Array.of(...ed25519.getPublicKey(randomBytes(32)), ...randomBytes(32))),
    1_000
  )

describe("invoices that nobody has paid yet", () => {
  const wallets: Readonly<
    Record<AddressFamily, ReadonlyArray<readonly [kind: "xpub" | "pool" | "address", value: () => string]>>
  > = {
    evm: [["xpub", evmXpub], ["pool", () => newAddresses("evm", 3).join(" ")], ["xpub", evmXpub]],
    solana: [["address", newAddress.solana], ["pool", () => newAddresses("solana", 3).join(" ")], [
      "address",
      newAddress.solana
    ]],
    ton: [["pool", () => newAddresses("ton", 3).join(" ")], ["address", newAddress.ton], [
      "pool",
      () => newAddress.ton()
    ]],
    sui: [["pool", () => newAddresses("sui", 3).join(" ")], ["pool", newAddress.sui]],
    cardano: [["xpub", cardanoXpub], ["pool", () => newAddresses("cardano", 3).join(" ")], ["xpub", cardanoXpub]]
  }
  for (const family of addressFamilies) {
    it.live(`of ${family} are paid at the address they were given, whatever wallet is set since or removed`, () =>
      Effect.gen(function*() {
        const database = yield* migratedDatabase
        const service = yield* instanceOn(database)
        const given: Array<{ readonly invoiceId: string; readonly target: AllocatedTarget }> = []
        const give = Effect.gen(function*() {
          const invoiceId = randomUUID()
          given.push({ invoiceId, target: yield* allocate(service, family, invoiceId) })
        })
        const values = wallets[family].map(([kind, value]) => [kind, value()] as const)
        for (const [kind, value] of values) {
          yield* set(service, family, kind, value)
          yield* give
        }
        // Back to the first: its counter goes on.
        yield* set(service, family, ...values[0]!)
        yield* give
        assert.strictEqual((yield* service.call("11", "DELETE", `/${family}`)).status, 200)
        yield* give
        assert.strictEqual(new Set(given.map(({ target }) => target.matchKey)).size, given.length)
        for (const { invoiceId, target } of given) {
          assert.deepStrictEqual(yield* allocate(service, family, invoiceId), target, "an address stays")
          yield* credited(service, family, invoiceId, target)
        }
      }).pipe(Effect.scoped))
  }

  it.live("of ton keep apart what a key derives, what a list has and what is shared, in whatever order they come", () =>
    Effect.gen(function*() {
      const service = yield* instanceOn(yield* migratedDatabase)
      const [listed = "", shared = ""] = newAddresses("ton", 2)
      yield* set(service, "ton", "pool", listed)
      const alone = yield* allocate(service, "ton")
      yield* set(service, "ton", "address", shared)
      const [one, other] = [yield* allocate(service, "ton"), yield* allocate(service, "ton")]
      assert.deepStrictEqual([one.address, other.address, one.memo === other.memo], [shared, shared, false])
      yield* set(service, "ton", "pool", listed)
      assert.strictEqual((yield* Effect.flip(allocate(service, "ton"))).code, "UNSUPPORTED_NETWORK")
      yield* set(service, "ton", "address", shared)
      assert.strictEqual((yield* allocate(service, "ton")).address, shared)
      assert.notStrictEqual(alone.address, shared)
    }).pipe(Effect.scoped))
})

describe("a wallet of one address", () => {
  it.live("trap 10: shows that address once, as its only first address", () =>
    Effect.gen(function*() {
      const service = yield* instanceOn(yield* migratedDatabase)
      for (const family of ["solana", "ton"] as const) {
        const [shared = ""] = newAddresses(family, 1)
        const { json } = yield* service.put("11", family, "address", shared)
        assert.deepStrictEqual(json.first_addresses, [shared], family)
      }
    }).pipe(Effect.scoped))
})

describe("a wallet that comes to its end", () => {
  it.live("is not begun again when its invoices end, and goes on where a longer list is sent", () =>
    Effect.gen(function*() {
      const service = yield* instanceOn(yield* migratedDatabase)
      const list = newAddresses("evm", 3)
      yield* set(service, "evm", "pool", list.join(" "))
      const given = yield* Effect.forEach(list, () => allocate(service, "evm"))
      const left = (yield* service.call("11", "GET", "")).json.wallets[0].addresses_left
      assert.strictEqual(left, 0)
      for (let again = 0; again < 3; again++) {
        assert.strictEqual((yield* Effect.flip(allocate(service, "evm"))).code, "UNSUPPORTED_NETWORK")
        yield* set(service, "evm", "pool", list.join("\n"))
      }
      const longer = [...list, ...newAddresses("evm", 2)]
      yield* set(service, "evm", "pool", longer.join(" "))
      const more = [yield* allocate(service, "evm"), yield* allocate(service, "evm")]
      assert.deepStrictEqual([...given, ...more].map(({ address }) => address), longer)
    }).pipe(Effect.scoped))

  it.live("of Cardano gives out 20 unpaid addresses in a row, over two instances and restarts, and no more", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const chain = Effect.succeed(yield* simulatedNetworks)
      const xpub = cardanoXpub()
      const account = readAccount(xpub, "devnet") as AddressSource
      const invoices = Array.from({ length: 30 }, () => randomUUID())
      const ask = (service: WalletService, invoiceId: string) =>
        Effect.map(
          Effect.result(allocate(service, "cardano", invoiceId)),
          (result) => result._tag === "Success" ? result.success.address : result.failure.code
        )
      const answersOf = (services: ReadonlyArray<WalletService>) =>
        Effect.forEach(invoices, (invoiceId, place) => ask(services[place % services.length]!, invoiceId), {
          concurrency: "unbounded"
        })
      const before = yield* Effect.gen(function*() {
        const services = [yield* instanceOn(database, chain), yield* instanceOn(database, chain)]
        yield* set(services[0]!, "cardano", "xpub", xpub)
        const answers = yield* answersOf(services)
        assert.strictEqual(answers.filter((answer) => answer === "UNSUPPORTED_NETWORK").length, 10)
        assert.strictEqual(new Set(answers).size, 21)
        return answers
      }).pipe(Effect.scoped)
      const after = yield* Effect.gen(function*() {
        const services = [yield* instanceOn(database, chain), yield* instanceOn(database, chain)]
        assert.deepStrictEqual(yield* answersOf(services), before)
        assert.strictEqual((yield* services[0]!.call("11", "GET", "")).json.wallets[0].addresses_left, 0)
        // Another wallet and this one again: the counter and what was paid are the wallet's.
        yield* set(services[1]!, "cardano", "pool", newAddress.cardano())
        yield* set(services[1]!, "cardano", "xpub", xpub)
        assert.deepStrictEqual(yield* answersOf(services), before)
        const paid = invoices[before.indexOf(account.address(4))]!
        yield* credited(services[0]!, "cardano", paid, yield* allocate(services[0]!, "cardano", paid))
        return yield* answersOf(services)
      }).pipe(Effect.scoped)
      // 20 beyond the one that was paid.
      assert.sameMembers(
        [...new Set(after)],
        ["UNSUPPORTED_NETWORK", ...Array.from({ length: 25 }, (_, index) => account.address(index))]
      )
    }).pipe(Effect.scoped))
})
