/**
 * Goal: an address receives for one merchant of a deployment and in one way, so that no payment is credited to a
 * stranger, whatever merchants enter and however many at once. Method: two instances on one database, called by HTTP.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { HDKey } from "@scure/bip32"
import { randomBytes, randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { type Account, readAccount } from "../../../modules/chains/evm/Wallet.ts"
import { addressLockSpace } from "../../../runtime/store/Locks.ts"
import type { Family } from "../../../schemas/Network.ts"
import { readTonAddress, tonAddressText, tonRawAddressText } from "../../../schemas/TonAddress.ts"
import type { WalletKind } from "../../../schemas/Wallet.ts"
import type { Answer } from "../../support/Api.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { addressFamilies, instanceOn, newAddress, newAddresses, type WalletService } from "./WalletService.ts"

const accepted = (answer: Answer) => assert.strictEqual(answer.status, 200, answer.text)

/** Refused for all that the reason names, and for nothing that tells whose it is. */
const refused = (answer: Answer, ...reason: ReadonlyArray<string>) => {
  assert.deepStrictEqual([answer.status, answer.json.code], [400, "WALLET_INVALID"], answer.text)
  for (const part of reason) assert.include(answer.json.error, part)
  assert.deepStrictEqual(Object.keys(answer.json), ["error", "code"])
}

const inUse = "already in use in this deployment"

const allocate = ({ chains }: WalletService, merchantId: number, family: Family) =>
  chains.allocate({ merchantId, environment: "devnet", family, invoiceId: randomUUID() })

const newXpub = () => HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey

const sharedFamilies = ["solana", "ton"] as const

const firstAddresses = (answer: Answer): ReadonlyArray<string> => answer.json.first_addresses

const service = Effect.flatMap(migratedDatabase, instanceOn)

describe("an address of a receiving wallet", () => {
  for (const family of addressFamilies) {
    it.live(`of ${family} stands in one merchant's lists, in either environment, and the entry is named`, () =>
      Effect.gen(function*() {
        const wallets = yield* service
        const [mine = "", ...rest] = newAddresses(family, 3)
        accepted(yield* wallets.put("911911911", family, "pool", [mine, ...rest].join("\n")))
        const [other = ""] = newAddresses(family, 1)
        const answer = yield* wallets.put("12", family, "pool", [other, mine].join(","))
        refused(answer, "entry 2", mine, inUse)
        assert.notInclude(answer.text, "911911911")
        assert.deepStrictEqual((yield* wallets.call("12", "GET", "")).json.wallets, [])
        // What was refused took nothing.
        accepted(yield* wallets.put("13", family, "pool", other))
        // Its owner may list it again: the same list, and a longer one.
        accepted(yield* wallets.put("911911911", family, "pool", [mine, ...rest].join(" ")))
        const longer = [mine, ...rest, ...newAddresses(family, 1)].join(" ")
        accepted(yield* wallets.put("911911911", family, "pool", longer))
        // Also where the owner does not use it any more: what was given out is watched for ever.
        accepted(yield* wallets.call("911911911", "DELETE", `/${family}`))
        refused(yield* wallets.put("12", family, "pool", mine), "entry 1", inUse)
      }).pipe(Effect.scoped))

    it.live(`of ${family} stands once in a list, and the entry is named`, () =>
      Effect.gen(function*() {
        const wallets = yield* service
        const [one = "", two = ""] = newAddresses(family, 2)
        refused(yield* wallets.put("11", family, "pool", [one, two, one].join("\n")), "entry 3", one, "entry 1")
      }).pipe(Effect.scoped))
  }

  it.live("is the same in every spelling of it", () =>
    Effect.gen(function*() {
      const wallets = yield* service
      const [ton = "", evm = "", sui = "", cardano = ""] = [
        newAddress.ton(),
        newAddress.evm(),
        newAddress.sui(),
        newAddress.cardano()
      ]
      const account = readTonAddress(ton)!
      const spellings: ReadonlyArray<readonly [Family, string, string]> = [
        ["ton", ton, tonRawAddressText(account)],
        ["ton", ton, tonAddressText(account, { bounceable: true, testOnly: false })],
        ["ton", ton, tonRawAddressText(account).toUpperCase()],
        ["evm", evm, evm.toLowerCase()],
        ["evm", evm, `0x${evm.slice(2).toUpperCase()}`],
        ["sui", sui, `0x${sui.slice(2).toUpperCase()}`],
        ["cardano", cardano, cardano.toUpperCase()]
      ]
      for (const [family, one] of spellings) accepted(yield* wallets.put("11", family, "pool", one))
      for (const [family, one, other] of spellings) {
        refused(yield* wallets.put("12", family, "pool", other), "entry 1", inUse)
        refused(yield* wallets.put("11", family, "pool", `${one} ${other}`), "entry 2", "entry 1")
      }
      accepted(yield* wallets.put("11m", "evm", "pool", evm.toLowerCase()))
      refused(yield* wallets.put("12m", "evm", "pool", evm.toLowerCase()), "entry 1", inUse)
    }).pipe(Effect.scoped))

  for (const family of sharedFamilies) {
    it.live(`of ${family} that many invoices share stands in nobody's list, and no listed one is shared`, () =>
      Effect.gen(function*() {
        const wallets = yield* service
        const [shared = "", listed = "", given = "", free = ""] = newAddresses(family, 4)
        accepted(yield* wallets.put("11", family, "address", shared))
        refused(yield* wallets.put("12", family, "pool", `${free}\n${shared}`), "entry 2", shared, inUse)
        refused(yield* wallets.put("12", family, "address", shared), shared, inUse)
        accepted(yield* wallets.put("12", family, "pool", `${given}\n${listed}`))
        refused(yield* wallets.put("11", family, "address", listed), listed, inUse)
        // The same of a merchant's own: a payment without its memo would pay the invoice that has the address alone.
        refused(yield* wallets.put("11", family, "pool", `${free}\n${shared}`), "entry 2", shared, "share")
        yield* allocate(wallets, 12, family)
        refused(yield* wallets.put("12", family, "address", given), given, "invoice")
        // What no invoice was given may become the shared one; then no invoice is given it.
        accepted(yield* wallets.put("12", family, "address", listed))
        accepted(yield* wallets.put("12", family, "pool", `${given}\n${listed}`))
        assert.strictEqual((yield* Effect.flip(allocate(wallets, 12, family))).code, "UNSUPPORTED_NETWORK")
        // Going back to what was shared before is no new wallet.
        accepted(yield* wallets.put("11", family, "pool", free))
        accepted(yield* wallets.put("11", family, "address", shared))
      }).pipe(Effect.scoped))
  }

  it.live("that another merchant's key derives is refused, before it was given out and after", () =>
    Effect.gen(function*() {
      const wallets = yield* service
      const owner = yield* wallets.put("11", "evm", "xpub", newXpub())
      accepted(owner)
      const [first = "", second = ""] = firstAddresses(owner)
      refused(yield* wallets.put("12", "evm", "pool", `${newAddress.evm()} ${second}`), "entry 2", second, inUse)
      assert.strictEqual((yield* allocate(wallets, 11, "evm")).address, first)
      refused(yield* wallets.put("12", "evm", "pool", first.toLowerCase()), "entry 1", first, inUse)
      accepted(yield* wallets.put("11", "evm", "pool", [second, first].join(" ")))
    }).pipe(Effect.scoped))

  it.live("that a list has keeps the key which derives it from another merchant", () =>
    Effect.gen(function*() {
      const wallets = yield* service
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
      const shown = yield* wallets.put("11", "evm", "xpub", account.publicExtendedKey)
      const [, second = ""] = firstAddresses(shown)
      const other = yield* service
      accepted(yield* other.put("12", "evm", "pool", second))
      refused(yield* other.put("11", "evm", "xpub", account.publicExtendedKey), "address 1", second, inUse)
      accepted(yield* other.put("12", "evm", "xpub", account.publicExtendedKey))
    }).pipe(Effect.scoped))

  it.live("of the deployment's own wallet is nobody's", () =>
    Effect.gen(function*() {
      const wallets = yield* service
      for (const family of addressFamilies) {
        const { address } = yield* allocate(wallets, 9, family)
        refused(yield* wallets.put("11", family, "pool", `${newAddress[family]()} ${address}`), "entry 2", inUse)
      }
      for (const family of sharedFamilies) {
        const { address } = yield* allocate(wallets, 9, family)
        refused(yield* wallets.put("11", family, "address", address), inUse)
      }
    }).pipe(Effect.scoped))

  it.live("is one merchant's when several ask for it at once, on two instances", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const instances = [yield* instanceOn(database), yield* instanceOn(database)]
      const race = (calls: ReadonlyArray<readonly [key: string, family: Family, kind: WalletKind, value: string]>) =>
        Effect.forEach(
          calls,
          ([key, family, kind, value], place) => instances[place % 2]!.put(key, family, kind, value),
          { concurrency: "unbounded" }
        )
      const statuses = (answers: ReadonlyArray<Answer>) => answers.map(({ status }) => status).toSorted()
      for (let round = 0; round < 5; round++) {
        for (const family of ["evm", "ton"] as const) {
          const [mine = "", ...rest] = newAddresses(family, 60)
          const lists = [rest.slice(0, 20), rest.slice(20, 40), rest.slice(40)]
          const answers = yield* race(
            lists.map((list, place) => [`2${place}`, family, "pool", [...list, mine].join(" ")] as const)
          )
          assert.deepStrictEqual(statuses(answers), [200, 400, 400], answers.map(({ text }) => text).join())
          for (const each of answers.filter(({ status }) => status === 400)) refused(each, mine, inUse)
        }
        for (const family of sharedFamilies) {
          const address = newAddress[family]()
          const answers = yield* race([["31", family, "address", address], ["32", family, "pool", address]])
          assert.deepStrictEqual(statuses(answers), [200, 400])
        }
        const xpub = newXpub()
        const second = (readAccount(xpub) as Account).address(1)
        const answers = yield* race([["41", "evm", "xpub", xpub], ["42", "evm", "pool", second]])
        assert.deepStrictEqual(statuses(answers), [200, 400])
      }
    }).pipe(Effect.scoped))

  it.live("is shared or an invoice's own, when it is given out while its owner makes it the shared one", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const instances = [yield* instanceOn(database), yield* instanceOn(database)]
      for (let merchant = 50; merchant < 66; merchant++) {
        const address = newAddress.solana()
        accepted(yield* instances[0]!.put(String(merchant), "solana", "pool", address))
        const [put, given] = yield* Effect.all([
          instances[0]!.put(String(merchant), "solana", "address", address),
          Effect.result(allocate(instances[1]!, merchant, "solana"))
        ], { concurrency: "unbounded" })
        const isShared = put.status === 200
        // Given to an invoice alone, or with a memo, or not at all; never both alone and shared.
        const isAlone = given._tag === "Success" && given.success.memo === null
        assert.isFalse(isShared && isAlone, put.text)
      }
    }).pipe(Effect.scoped))

  it.live("is kept for ever, so a merchant can name so many and no more", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const wallets = yield* instanceOn(database)
      const pool = newAddresses("evm", 3)
      accepted(yield* wallets.put("11", "evm", "pool", pool.join(" ")))
      yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) =>
          sql`INSERT INTO address_claims SELECT 'evm:' || n, 11, false FROM generate_series(1, ${100_000 - 4}::int) n`
      ).pipe(Effect.provide(connect(database), { local: true }))
      refused(yield* wallets.put("11", "evm", "pool", newAddresses("evm", 2).join(" ")), "100000 addresses")
      accepted(yield* wallets.put("11", "evm", "pool", newAddress.evm()))
      refused(yield* wallets.put("11", "evm", "pool", newAddress.evm()), "100000 addresses")
      accepted(yield* wallets.put("11", "evm", "pool", pool.join(" ")))
      accepted(yield* wallets.put("12", "evm", "pool", newAddress.evm()))
    }).pipe(Effect.scoped))

  it("is locked by the number that the functions of the database name", () => {
    for (const name of ["claim_addresses_v1", "allocate_targets_v1"]) {
      const text = readFileSync(new URL(`../../../runtime/store/sql/${name}.sql`, import.meta.url), "utf8")
      assert.include(text, String(addressLockSpace))
    }
  })
})
