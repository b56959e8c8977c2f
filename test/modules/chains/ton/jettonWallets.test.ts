/**
 * Goal: no node's wrong word about which account keeps a jetton hides a payment for good, or counts a forged one.
 * Method: endpoints in front of one chain, of which one names another account; the clock is moved.
 */
import { assert, describe, it } from "@effect/vitest"
import { Address, beginCell } from "@ton/core"
import { Clock, Effect, type Scope, Stream } from "effect"
import { FetchHttpClient, type HttpClient } from "effect/http"
import { makeDriver } from "../../../../modules/chains/ton.ts"
import { decideWallet } from "../../../../modules/chains/ton/JettonAnswers.ts"
import { agreedWordMillis, singleWordMillis } from "../../../../modules/chains/ton/JettonWallets.ts"
import type { LocatedTransfer } from "../../../../runtime/Chains.ts"
import { watching } from "../../../support/Drivers.ts"
import { sharedWalletKey, tonOptions, walletsOf } from "../../../support/ton/Driver.ts"
import { type TonEndpoint, TonRig } from "../../../support/TonRig.ts"

const wallet = Address.parse(sharedWalletKey)

/** Names an account of somebody else wherever a method is run. */
const nameOther = (route: string, answer: any) =>
  route === "runGetMethod"
    ? {
      exit_code: 0,
      stack: [{
        type: "cell",
        value: beginCell().storeAddress(Address.parse(`0:${"ee".repeat(32)}`)).endCell().toBoc().toString("base64")
      }]
    }
    : answer

/** A driver with so many endpoints, in front of one chain with one jetton. */
const town = Effect.fnUntraced(function*(endpointCount: number) {
  const rig = yield* Effect.promise(() => TonRig.make())
  const endpoints: Array<TonEndpoint> = []
  for (let count = 0; count < endpointCount; count++) endpoints.push(yield* rig.serve())
  const jetton = yield* Effect.promise(() => rig.deployJetton())
  const options = tonOptions(endpoints.map(({ url }) => url))
  const driver = yield* Effect.orDie(makeDriver(options, { absenceMillis: 0 }))
  const { shared } = yield* walletsOf(driver, sharedWalletKey, `0:${"b1".repeat(32)}`)
  const keys = Array.from({ length: 10 }, (_, number) => shared.targetOf(`inv_${number}`).matchKey)
  const watch = watching([...keys, shared.accountKey], {
    accounts: [{ key: shared.accountKey, isOpen: true }],
    tokens: [jetton.address.toString()]
  })
  const [head] = yield* driver.follow([], watch).pipe(Stream.take(1), Stream.runCollect)
  const start = head?._tag === "Forward" ? head.point : { height: 0n, hash: "" }
  const follow = driver.follow([start], watch)
  /** The amounts that are told until there are so many. */
  const tellUntil = (count: number) =>
    follow.pipe(
      Stream.scan(
        (): ReadonlyArray<LocatedTransfer> => [],
        (all, event) => event._tag === "Forward" ? [...all, ...event.transfers as ReadonlyArray<LocatedTransfer>] : all
      ),
      Stream.filter((all) => all.length >= count),
      Stream.runHead,
      Effect.map((found) => found._tag === "Some" ? found.value.map(({ amount }) => BigInt(amount)) : [])
    )
  const pay = (invoice: number, amount: bigint) =>
    Effect.promise(() => rig.payJetton(jetton, wallet, amount, { text: shared.targetOf(`inv_${invoice}`).memo }))
  return { rig, endpoints, jetton, follow, tellUntil, pay }
})

const live = (
  title: string,
  work: Effect.Effect<void, unknown, HttpClient.HttpClient | Scope.Scope>
) => it.live(title, () => work.pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))

describe("which account keeps a jetton", () => {
  it("is the one that more endpoints name, and none where as many name another", () => {
    const decided = (own: string, ...others: ReadonlyArray<string>) => {
      const { isAgreed, isDisputed, wallet } = decideWallet(own, others)
      return [wallet, isAgreed, isDisputed]
    }
    assert.deepStrictEqual(decided("a"), ["a", false, false])
    assert.deepStrictEqual(decided("a", "a"), ["a", true, false])
    assert.deepStrictEqual(decided("a", "b"), [null, false, true])
    assert.deepStrictEqual(decided("a", "b", "b"), ["b", true, true])
    assert.deepStrictEqual(decided("a", "b", "a"), ["a", true, true])
    assert.deepStrictEqual(decided("a", "b", "a", "b"), [null, false, true])
  })

  for (const place of [0, 1]) {
    live(
      `is not read where endpoint ${place + 1} of two names another, and the error names both; it is once they agree`,
      Effect.gen(function*() {
        const { endpoints, follow, pay, tellUntil } = yield* town(2)
        yield* pay(1, 5n)
        const { faults } = endpoints[place]!
        faults.lie = nameOther
        const error = yield* Effect.flip(Stream.runDrain(follow))
        assert.strictEqual(error.kind, "contradiction")
        assert.match(error.reason, /api 1 of 2 names 0:[0-9a-f]{64}, api 2 of 2 names 0:[0-9a-f]{64}/)
        faults.lie = null
        assert.deepStrictEqual(yield* tellUntil(1), [5n])
      })
    )
  }

  live(
    "is the one of two against one, also where the one is asked first",
    Effect.gen(function*() {
      const { endpoints, pay, tellUntil } = yield* town(3)
      endpoints[0]!.faults.lie = nameOther
      yield* pay(1, 5n)
      assert.deepStrictEqual(yield* tellUntil(1), [5n])
    })
  )

  for (
    const { endpointCount, title } of [
      { endpointCount: 1, title: "an hour after the only endpoint named a wrong one" },
      { endpointCount: 2, title: "an hour after one endpoint named a wrong one while the other was away" }
    ]
  ) {
    live(
      `is asked for again ${title}, and what came meanwhile is read`,
      Effect.gen(function*() {
        let movedMillis = 0
        const clock = yield* Clock.Clock
        const moved: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
          currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + movedMillis,
          currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + movedMillis)
        })
        yield* Effect.gen(function*() {
          const { endpoints, pay, rig, tellUntil } = yield* town(endpointCount)
          const [lying, ...others] = endpoints
          lying!.faults.lie = nameOther
          for (const { faults } of others) faults.status = 500
          yield* pay(1, 5n)
          let isOver = false
          yield* Effect.forkScoped(Effect.gen(function*() {
            const asked = () => lying!.calls.get("transactions") ?? 0
            const awaitLooks = Effect.fnUntraced(function*(count: number) {
              for (const end = asked() + count; asked() < end; yield* Effect.sleep(20)) rig.mine(1)
            })
            yield* awaitLooks(3)
            lying!.faults.lie = null
            for (const { faults } of others) faults.status = null
            // The chain goes on for an hour, in which only its clock tells that it does.
            movedMillis = singleWordMillis - 60_000
            rig.mine(singleWordMillis / 1000 - 60)
            yield* pay(2, 6n)
            yield* awaitLooks(3)
            isOver = true
            movedMillis = singleWordMillis + 60_000
            rig.mine(120)
          }))
          const told = yield* tellUntil(2)
          assert.isTrue(isOver)
          assert.deepStrictEqual(told, [5n, 6n])
        }).pipe(Effect.provideService(Clock.Clock, moved))
      })
    )
  }

  live(
    "is asked for once a day where two endpoints name the same, and not with every look",
    Effect.gen(function*() {
      let movedMillis = 0
      const clock = yield* Clock.Clock
      const moved: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + movedMillis,
        currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + movedMillis)
      })
      yield* Effect.gen(function*() {
        const { endpoints, follow, rig } = yield* town(2)
        const asked = () => endpoints.map(({ calls }) => calls.get("runGetMethod") ?? 0)
        let looks = 0
        rig.mine(1)
        yield* follow.pipe(
          Stream.tap((event) =>
            Effect.sync(() => {
              if (event._tag !== "Forward") return
              looks += 1
              if (looks === 5) assert.deepStrictEqual(asked(), [1, 1])
              if (looks === 5) movedMillis = singleWordMillis + 60_000
              if (looks === 10) assert.deepStrictEqual(asked(), [1, 1])
              if (looks === 10) movedMillis = agreedWordMillis + 60_000
              rig.mine(1)
            })
          ),
          Stream.takeUntil(() => looks >= 15),
          Stream.runDrain
        )
        assert.isAtLeast(asked()[0]!, 2)
      }).pipe(Effect.provideService(Clock.Clock, moved))
    })
  )
})
