/**
 * Goal: what TON costs at its provider is known, and does not grow with the number of open invoices.
 * Method: the driver on a rig that counts calls, whose masterchain makes a block of three seconds between two looks.
 * The counts are those of modules/docs/guides/network-ton.md.
 */
import { assert, describe, it } from "@effect/vitest"
import { Address, toNano } from "@ton/core"
import { Effect, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { makeDriver } from "../../../../modules/chains/ton.ts"
import type { ChainPoint, WatchSet } from "../../../../runtime/Chains.ts"
import { watching } from "../../../support/Drivers.ts"
import { sharedWalletKey, tonOptions, walletsOf } from "../../../support/ton/Driver.ts"
import { TonRig } from "../../../support/TonRig.ts"

/** Seconds between two looks, where the config does not say. */
const lookSeconds = 3

const poolKeys = Array.from({ length: 50 }, (_, index) => `0:${(index + 16).toString(16).padStart(2, "0").repeat(32)}`)

const opened = Effect.gen(function*() {
  const rig = yield* Effect.promise(() => TonRig.make())
  const endpoint = yield* rig.serve()
  const jetton = yield* Effect.promise(() => rig.deployJetton())
  const driver = yield* Effect.orDie(makeDriver(tonOptions([endpoint.url])))
  const { shared } = yield* walletsOf(driver, sharedWalletKey, poolKeys.join(" "))
  const tokens = [jetton.address.toString()]
  const sharedWatch = (invoices: number) =>
    watching(
      [
        shared.accountKey,
        ...Array.from({ length: invoices }, (_, number) => shared.targetOf(`inv_${number}`).matchKey)
      ],
      { accounts: [{ key: shared.accountKey, isOpen: true }], tokens }
    )
  /** Calls of so many looks from `start` on; `between` runs after each of them, and then a block comes. */
  const callsOf = Effect.fnUntraced(function*(
    watch: WatchSet,
    looks: number,
    start: ReadonlyArray<ChainPoint> = [],
    between: (look: number) => Promise<unknown> = () => Promise.resolve()
  ) {
    const counts: Array<number> = []
    let look = 0
    yield* driver.follow(start, watch).pipe(
      Stream.filter(({ _tag }) => _tag === "Finality"),
      Stream.tap(() =>
        Effect.promise(async () => {
          counts.push([...endpoint.calls.values()].reduce((sum, each) => sum + each, 0))
          endpoint.calls.clear()
          await between(++look)
          rig.mine(lookSeconds)
        })
      ),
      Stream.take(looks),
      Stream.runDrain
    )
    return counts
  })
  return { rig, driver, shared, sharedWatch, tokens, callsOf }
})

const test = (title: string, work: (town: Effect.Success<typeof opened>) => Effect.Effect<void, unknown>) =>
  it.live(title, () => Effect.flatMap(opened, work).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))

/** The looks after the first two, which ask for the network and for the accounts in which tokens are kept. */
const firstLooks = 2
const measuredLooks = 8

describe("costs of TON", () => {
  for (const invoices of [1, 10_000]) {
    test(`a look at one wallet with ${invoices} open invoices takes two calls, and the first two take five`, (town) =>
      Effect.gen(function*() {
        const counts = yield* town.callsOf(town.sharedWatch(invoices), firstLooks + measuredLooks)
        assert.deepStrictEqual(counts, [2, 3, ...Array.from({ length: measuredLooks }, () => 2)])
      }))
  }

  test("a look at 50 open addresses takes three calls, and one more for each address at first", ({ callsOf, tokens }) =>
    Effect.gen(function*() {
      const watch = watching(poolKeys, { accounts: poolKeys.map((key) => ({ key, isOpen: true })), tokens })
      const counts = yield* callsOf(watch, firstLooks + measuredLooks)
      assert.deepStrictEqual(counts, [2, 53, ...Array.from({ length: measuredLooks }, () => 3)])
    }))

  test("a payment takes no call beside the look that finds it", ({ callsOf, rig, shared, sharedWatch }) =>
    Effect.gen(function*() {
      const { memo } = shared.targetOf("inv_0")
      const pay = (look: number) =>
        look === 4 ? rig.pay(Address.parse(sharedWalletKey), toNano("1"), { text: memo }) : Promise.resolve()
      const counts = yield* callsOf(sharedWatch(1), firstLooks + measuredLooks, [], pay)
      assert.deepStrictEqual(counts, [2, 3, ...Array.from({ length: measuredLooks }, () => 2)])
    }))

  test("24 hours without the service are caught up in 100 calls", ({ callsOf, driver, rig, sharedWatch }) =>
    Effect.gen(function*() {
      const watch = sharedWatch(1)
      const [first] = yield* driver.follow([], watch).pipe(Stream.take(1), Stream.runCollect)
      assert.strictEqual(first?._tag, "Forward")
      const start = first?._tag === "Forward" ? [first.point] : []
      for (let minutes = 0; minutes < 24 * 60; minutes++) rig.mine(60)
      const counts = yield* callsOf(watch, 30, start)
      // What a look takes once all was read.
      const idle = 2
      const caughtUp = counts.findIndex((calls) => calls === idle)
      assert.deepStrictEqual(counts.slice(caughtUp), Array.from({ length: 30 - caughtUp }, () => idle))
      assert.strictEqual(counts.slice(0, caughtUp).reduce((sum, calls) => sum + calls, 0), 100)
    }))
})
