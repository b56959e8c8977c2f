/**
 * Goal: a merchant's long list of addresses makes nobody else wait. Method: the largest list through the real routes,
 * commit log and chains; between turns of the event loop the processor time of this thread is taken, which other
 * processes of a busy machine do not lengthen.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { randomBytes, randomUUID } from "node:crypto"
import * as Actors from "../../../runtime/Actors.ts"
import { Chains } from "../../../runtime/Chains.ts"
import * as ChainsJournal from "../../../runtime/chains/TransferJournal.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { maximumPoolSize } from "../../../modules/chains/evm/Wallet.ts"
import { WalletsApi } from "../../../modules/wallets/api.ts"
import { migrations, tables } from "../../../modules/wallets/migrations.ts"
import { plugin } from "../../../modules/wallets/plugin.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { Api, apiLayer, kernel } from "../../support/Api.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

/**
 * Milliseconds of processor time in one turn of the event loop, at most. Checking 5,000 addresses takes 70 to 200 in
 * all; parsing the body, writing the row and a collection of garbage come in turns of their own.
 */
const turnMillis = 30

/** For which a merchant's wallet is not read again, and a little more. */
const laterMillis = 2_100

const verify = (key: string) =>
  Effect.succeed({
    merchantId: Number.parseInt(key, 10),
    environment: "devnet",
    scope: "merchant",
    kind: "key",
    credential: `key_${key}`,
    apiVersion: "2026-01-15",
    ...operatorKey
  } as Principal)

const readings: Array<string> = []

const drivers = Layer.effectDiscard(Effect.gen(function*() {
  const chains = yield* Chains
  const { drivers: [driver] } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
  yield* chains.register({
    ...driver!,
    readWallet: (kind, value) => {
      readings.push(value)
      return driver!.readWallet(kind, value)
    }
  })
}))

const served = apiLayer(
  [WalletsApi],
  Layer.mergeAll(
    plugin.layer({}),
    Layer.effectDiscard(Effect.flatMap(Credentials, (credentials) => credentials.register(verify)))
  ) as never,
  drivers.pipe(
    Layer.provideMerge(ChainsJournal.layer),
    Layer.provideMerge(Layer.mergeAll(Actors.layer, catalogOf())),
    Layer.provideMerge(kernel([{ name: "wallets", migrations, tables }]))
  )
) as unknown as Layer.Layer<Api | Chains>

const pool = (size: number) => Array.from({ length: size }, () => `0x${randomBytes(20).toString("hex")}`)

/** The most processor time that a turn of the event loop took while `act` ran. */
const longestTurn = <A, E, R>(act: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    let [longest, isOver] = [0, false]
    let before = process.threadCpuUsage()
    const look = () => {
      const { system, user } = process.threadCpuUsage(before)
      longest = Math.max(longest, (system + user) / 1_000)
      before = process.threadCpuUsage()
      if (!isOver) setImmediate(look)
    }
    setImmediate(look)
    const value = yield* act
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    isOver = true
    return { longest, value }
  })

const put = (merchant: number, value: string) =>
  Effect.flatMap(
    Api,
    ({ call }) =>
      call("/api/v1/merchant/wallets/evm", {
        method: "PUT",
        headers: { "x-api-key": String(merchant) },
        body: { kind: "pool", value }
      })
  )

const allocate = (merchantId: number) =>
  Effect.flatMap(
    Chains,
    (chains) => chains.allocate({ merchantId, environment: "devnet", family: "evm", invoiceId: randomUUID() })
  )

layer(served as Layer.Layer<Api | Chains>)("a list of 5,000 addresses", (it) => {
  it.effect("is checked once, in short turns, and read back from memory by the invoices that follow", () =>
    Effect.gen(function*() {
      // What is compiled at its first use is none of the list's time.
      yield* put(1, pool(50).join("\n"))
      yield* allocate(1)
      const other = yield* longestTurn(put(5, pool(maximumPoolSize).join("\n")))
      const addresses = pool(maximumPoolSize)
      readings.length = 0
      const stored = yield* longestTurn(put(2, addresses.join("\n")))
      assert.strictEqual(stored.value.status, 200, stored.value.text)
      // Garbage may be collected in any turn; what the list itself takes is in both.
      assert.isBelow(Math.min(stored.longest, other.longest), turnMillis)
      const turns: Array<number> = []
      for (let round = 0; round < 3; round++) {
        yield* TestClock.adjust(laterMillis)
        const given = yield* longestTurn(Effect.all([allocate(2), allocate(2)], { concurrency: 2 }))
        turns.push(given.longest)
        for (const { address } of given.value) assert.include(addresses, address.toLowerCase())
      }
      assert.isBelow(Math.min(...turns), turnMillis)
      assert.strictEqual(readings.length, 1)
      // The same list is the same work only where it is the same text, whoever gives it.
      const refused = yield* longestTurn(put(3, addresses.join("\n")))
      assert.strictEqual(refused.value.json.code, "WALLET_INVALID")
      assert.isBelow(Math.min(refused.longest, (yield* longestTurn(put(3, addresses.join("\n")))).longest), turnMillis)
      assert.strictEqual(readings.length, 1)
      yield* put(2, addresses.join(","))
      assert.strictEqual(readings.length, 2)
    }))

  it.effect("with a mistake at its end says which entry is wrong, and is not remembered", () =>
    Effect.gen(function*() {
      const wrong = [...pool(maximumPoolSize - 1), "0x00"].join(" ")
      const turns: Array<number> = []
      for (let round = 0; round < 2; round++) {
        readings.length = 0
        const refused = yield* longestTurn(put(4, wrong))
        assert.strictEqual(refused.value.json.code, "WALLET_INVALID")
        assert.include(refused.value.text, "entry 5000")
        turns.push(refused.longest)
        assert.strictEqual(readings.length, 1)
      }
      assert.isBelow(Math.min(...turns), turnMillis)
    }))
})
