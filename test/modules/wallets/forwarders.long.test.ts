/**
 * Goal: a merchant types one address and every invoice gets its own, which pays to it only; what it takes to collect is
 * never lost and told to nobody but a person of the merchant's. Method: the real routes, commit log and chains.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createHash, randomUUID } from "node:crypto"
import { forwarderOf } from "../../../modules/chains/evm/ForwarderWallet.ts"
import type { ForwarderFacts } from "../../../runtime/Chains.ts"
import { obstacleOf } from "../../../runtime/chains/ForwarderFacts.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"
import type { Answer } from "../../support/Api.ts"
import { instanceOn, newAddress, simulatedNetworks, type WalletService } from "./WalletService.ts"

const fine: ForwarderFacts = { hasCollector: true, isPayeeContract: false, takesCoin: true }

const service = (facts: () => ForwarderFacts = () => fine, mainnetForwarders = false) =>
  Effect.flatMap(migratedDatabase, (database) =>
    Effect.map(
      instanceOn(
        database,
        Effect.map(simulatedNetworks, (made) => ({
          ...made,
          drivers: made.drivers.map((driver) =>
            driver.readForwarderFacts === null ? driver : { ...driver, readForwarderFacts: () => Effect.sync(facts) }
          )
        })),
        mainnetForwarders
      ),
      (wallets) => ({ wallets, database })
    ))

const put = ({ put: send }: WalletService, key: string, payee: string, more: object = {}) =>
  send(key, "evm", "forwarder", payee, more)

const ok = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.json
}

/** The recovery document of what a person has just set. */
const recoveryAfter = (wallets: WalletService, person: string, setting: Effect.Effect<Answer>) =>
  Effect.gen(function*() {
    ok(yield* setting)
    const { wallets: [current] } = ok(yield* wallets.call(person, "GET", "/evm/recovery"))
    return current
  })

const refused = (answer: Answer, status: number, code: string, says: string) => {
  assert.deepStrictEqual([answer.status, answer.json.error_code ?? answer.json.code], [status, code], answer.text)
  assert.include(answer.text, says)
}

const allocate = ({ chains }: WalletService, merchantId = 31, environment: "devnet" | "mainnet" = "devnet") =>
  chains.allocate({ merchantId, environment, family: "evm", invoiceId: randomUUID() })

const checksumOf = ({ collector, payee, seed }: Record<string, string>) =>
  createHash("sha256").update(`${collector}\n${payee}\n${seed}\n`).digest("hex")

describe("a wallet of kind forwarder", () => {
  it.live("gives each invoice an address of its own, which its recovery document alone can name", () =>
    Effect.scoped(Effect.gen(function*() {
      const { wallets } = yield* service()
      const payee = newAddress.evm()
      const wallet = ok(yield* put(wallets, "p31", payee.toLowerCase()))
      const { wallets: [recovery] } = ok(yield* wallets.call("p31", "GET", "/evm/recovery"))
      assert.include(wallet, { kind: "forwarder", next_index: 0, addresses_left: null })
      assert.include(recovery, { payee, next_index: 0, is_current: true, confirmed_at: null })
      const derived = forwarderOf(recovery.payee, recovery.seed.slice(2))
      assert(typeof derived !== "string")
      for (const index of [0, 1]) {
        assert.strictEqual((yield* Effect.orDie(allocate(wallets))).address, derived.derive(index).address)
      }
      assert.deepStrictEqual(wallet.first_addresses, [0, 1, 2].map((index) => derived.derive(index).address))
      assert.strictEqual(wallet.payee, payee)
      const read = ok(yield* wallets.call("p31", "GET", "/evm/recovery"))
      assert.deepStrictEqual(read.wallets, [{ ...recovery, next_index: 2 }])
      const { address } = derived.derive(1)
      assert.deepStrictEqual(ok(yield* wallets.call("31", "GET", `/evm/proof?address=${address}`)), {
        address,
        payee,
        salt: derived.forwarder!.saltOf(1),
        collector: recovery.collector,
        init_code_hash: recovery.init_code_hash
      })
      const others = yield* wallets.call("32", "GET", `/evm/proof?address=${address}`)
      refused(others, 404, "NOT_FOUND", "No invoice of yours")
      const list = yield* wallets.call("31", "GET", "")
      assert.notInclude(list.text, recovery.seed.slice(2), "the list tells no seed")
      assert.deepStrictEqual(ok(yield* wallets.call("p32", "GET", "/evm/recovery")), { wallets: [] }, "nor another's")
    })))

  it.live("keeps the seed of every payee for ever, and gives it again for the same payee", () =>
    Effect.scoped(Effect.gen(function*() {
      const { database, wallets } = yield* service()
      const [one, other] = [newAddress.evm(), newAddress.evm()]
      const first = yield* recoveryAfter(wallets, "p31", put(wallets, "p31", one))
      const second = yield* recoveryAfter(wallets, "p31", put(wallets, "p31", other))
      assert.notStrictEqual(first.seed, second.seed)
      assert.strictEqual(ok(yield* wallets.call("31", "DELETE", "/evm")).success, true)
      const kept = ok(yield* wallets.call("p31", "GET", "/evm/recovery")).wallets
      assert.sameDeepMembers(kept, [{ ...first, is_current: false }, { ...second, is_current: false }])
      assert.strictEqual((yield* recoveryAfter(wallets, "p31", put(wallets, "p31", one))).seed, first.seed)
      const { wallets: [current] } = ok(yield* wallets.call("p31", "GET", "/evm/recovery"))
      assert.include(current, { seed: first.seed, is_current: true })
      const told = yield* Effect.provide(
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT data::text AS text FROM events`),
        connect(database)
      )
      assert.notInclude(JSON.stringify(told), first.seed.slice(2))
    })))

  it.live("is one where a person sets the same payee twenty times at once", () =>
    Effect.scoped(Effect.gen(function*() {
      const { wallets } = yield* service()
      const payee = newAddress.evm()
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => put(wallets, "p31", payee)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(answers.map((each) => ok(each).first_addresses[0])).size, 1)
      assert.lengthOf(ok(yield* wallets.call("p31", "GET", "/evm/recovery")).wallets, 1)
    })))

  it.live("tells the seed to nobody who repeats a person's call", () =>
    Effect.scoped(Effect.gen(function*() {
      const { wallets } = yield* service(() => fine, true)
      for (const [person, key] of [["p31", "31"], ["p31m", "k31m"]] as const) {
        const headers = { "idempotency-key": randomUUID() }
        const body = { kind: "forwarder", value: newAddress.evm() }
        const recovery = yield* recoveryAfter(wallets, person, wallets.call(person, "PUT", "/evm", body, headers))
        const seed = recovery.seed.slice(2)
        const repeat = yield* wallets.call(key, "PUT", "/evm", body, headers)
        assert.notInclude(repeat.text, seed)
        const environment = person === "p31" ? "devnet" : "mainnet"
        const checksum = { checksum: checksumOf(recovery), environment }
        const confirmed = yield* wallets.call(person, "POST", "/evm/recovery/confirm", checksum, {
          "idempotency-key": randomUUID()
        })
        assert.deepStrictEqual(Object.keys(ok(confirmed)), ["payee", "confirmed_at"])
      }
    })))

  it.live("pays nobody's invoice with what is collected to its payee", () =>
    Effect.scoped(Effect.gen(function*() {
      const { wallets } = yield* service()
      const payee = newAddress.evm()
      ok(yield* put(wallets, "p31", payee))
      for (const key of ["31", "32"]) {
        refused(yield* wallets.put(key, "evm", "pool", payee), 400, "WALLET_INVALID", "entry 1")
      }
      ok(yield* put(wallets, "p31", payee))
      const listed = newAddress.evm()
      ok(yield* wallets.put("33", "evm", "pool", listed))
      refused(yield* put(wallets, "p31", listed), 400, "WALLET_INVALID", "invoices are paid to here")
    })))

  it.live("is a person's to set and to read: a key is refused", () =>
    Effect.scoped(Effect.gen(function*() {
      const { wallets } = yield* service()
      const says = "Only a person may do this"
      refused(yield* put(wallets, "31", newAddress.evm()), 403, "CREDENTIAL_NOT_ALLOWED", says)
      refused(yield* wallets.call("31", "GET", "/evm/recovery"), 403, "CREDENTIAL_NOT_ALLOWED", says)
      refused(
        yield* wallets.call("31", "POST", "/evm/recovery/confirm", { checksum: "0".repeat(64) }),
        403,
        "CREDENTIAL_NOT_ALLOWED",
        says
      )
    })))

  it.live("is refused for a payee whose money nobody could take", () =>
    Effect.scoped(Effect.gen(function*() {
      const { wallets } = yield* service()
      const mine = yield* recoveryAfter(wallets, "p31", put(wallets, "p31", newAddress.evm()))
      const given = (yield* Effect.orDie(allocate(wallets))).address
      for (
        const [payee, says] of [
          ["0x0000000000000000000000000000000000000004", "nobody could take the money"],
          [mine.collector, "nobody could take the money"],
          ["0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "nobody could take the money"],
          [`0x${"f".repeat(40)}`, "nobody could take the money"],
          ["0x000000000000000000000000000000000000dEaD", "nobody could take the money"],
          [`0x${"0".repeat(40)}`, "the zero address, which nobody owns"],
          [given, "an address that invoices are paid to here"],
          ["0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "right checksum"]
        ] as const
      ) refused(yield* put(wallets, "p33", payee), 400, "WALLET_INVALID", says)
      const solana = yield* wallets.put("p33", "solana", "forwarder", newAddress.solana())
      refused(solana, 400, "WALLET_INVALID", "only EVM networks have them")
      refused(yield* put(wallets, "p33", newAddress.evm(), { start_index: 3 }), 400, "VALIDATION_ERROR", "leave it out")
    })))

  it.live("is not offered on a network without its contract, and is as soon as somebody puts it there", () =>
    Effect.scoped(Effect.gen(function*() {
      let facts = { ...fine, hasCollector: false }
      const { wallets } = yield* service(() => facts)
      ok(yield* put(wallets, "p31", newAddress.evm()))
      const target = yield* Effect.orDie(allocate(wallets))
      const obstacle = (isCoin = false) => wallets.chains.obstacleTo(target, "base", "devnet", isCoin)
      assert.strictEqual(yield* obstacle(), "COLLECTOR_MISSING")
      facts = fine
      const { wallets: later } = yield* service(() => ({ ...fine, isPayeeContract: true, takesCoin: false }))
      ok(yield* put(later, "p31", newAddress.evm()))
      const other = yield* Effect.orDie(allocate(later))
      assert.strictEqual(yield* later.chains.obstacleTo(other, "base", "devnet", true), "PAYEE_REFUSES_COIN")
      assert.isNull(yield* later.chains.obstacleTo(other, "base", "devnet", false))
      assert.isNull(yield* later.chains.obstacleTo({ fingerprint: "of an xpub" }, "base", "devnet", true))
    })))

  it.live("waits on mainnet for the operator, and for the checksum that only who has the document can name", () =>
    Effect.scoped(Effect.gen(function*() {
      const devnetOnly = yield* service()
      refused(yield* put(devnetOnly.wallets, "p31m", newAddress.evm()), 400, "WALLET_INVALID", "mainnetForwarders")
      const { wallets } = yield* service(() => fine, true)
      const recovery = yield* recoveryAfter(wallets, "p31m", put(wallets, "p31m", newAddress.evm()))
      const target = yield* Effect.orDie(allocate(wallets, 31, "mainnet"))
      const obstacle = wallets.chains.obstacleTo(target, "base", "mainnet", false)
      assert.strictEqual(yield* obstacle, "RECOVERY_UNCONFIRMED")
      const confirm = (checksum: string, key = "p31m") =>
        wallets.call(key, "POST", "/evm/recovery/confirm", { checksum, environment: "mainnet" })
      refused(yield* confirm("0".repeat(64)), 400, "VALIDATION_ERROR", "SHA-256")
      refused(yield* confirm(checksumOf(recovery), "p32m"), 400, "VALIDATION_ERROR", "no forwarder of yours")
      assert.isNumber(ok(yield* confirm(checksumOf(recovery))).confirmed_at)
      assert.isNull(yield* obstacle)
    })))
})

describe("what stands against a network", () => {
  const facts = (...each: ReadonlyArray<readonly ["base" | "optimism", Partial<ForwarderFacts> | null]>) =>
    new Map(each.map(([network, more]) => [network, more === null ? null : { ...fine, ...more }]))

  it("is that the payee is a contract on another network only", () => {
    const both = facts(["base", { isPayeeContract: true }], ["optimism", {}])
    assert.isNull(obstacleOf(both, "base", true, false))
    assert.strictEqual(obstacleOf(both, "optimism", false, false), "PAYEE_MISSING")
    const later = facts(["base", null], ["optimism", {}])
    assert.strictEqual(obstacleOf(later, "optimism", false, true), "PAYEE_MISSING", "also while that one is away")
  })

  it("is that it could not be asked, and never what another one said", () => {
    const one = facts(["base", null], ["optimism", {}])
    assert.strictEqual(obstacleOf(one, "base", false, false), "NETWORK_DEGRADED")
    assert.isNull(obstacleOf(one, "optimism", false, false))
    assert.strictEqual(obstacleOf(facts(["base", { takesCoin: false }]), "base", true, false), "PAYEE_REFUSES_COIN")
  })
})
