/**
 * Goal: whoever asks for an address gets one of its own, however far away its instance is and however busy the others.
 * Method: real PostgreSQL, instances on it, one of them behind a line that delays everything.
 */
import { indexedWalletOf } from "../../support/Drivers.ts"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { make as makeRepo } from "../../../runtime/chains/ChainsRepo.ts"
import { make as makeTargets } from "../../../runtime/chains/Targets.ts"
import { make as makeAddresses } from "../../../runtime/chains/WalletAddresses.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import {
  allocate,
  eventually,
  follow,
  inInstance,
  instance,
  invoiceId,
  markHandled,
  withLatency
} from "./ChainsInstance.ts"

const quiet = { networks: ["base"], blockMillis: 3_600_000 } as const

/** One way of the line; a round trip takes 80 ms. */
const delayMillis = 40

describe("addresses", () => {
  it.live("an instance 80 ms away gets one each time, beside a near one that gives out 30 a second", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { drivers } = yield* makeSimulated(quiet)
      const near = yield* Layer.build(instance(database))
      const far = yield* Layer.build(instance(yield* withLatency(database, delayMillis)))
      yield* follow(drivers).pipe(Effect.provideContext(near))
      yield* follow(drivers).pipe(Effect.provideContext(far))
      let next = 1_000
      const given: Array<string> = []
      const busy = yield* Effect.suspend(() => allocate(next++)).pipe(
        Effect.tap(({ matchKey }) => Effect.sync(() => given.push(matchKey))),
        Effect.forkScoped,
        Effect.repeat(Schedule.spaced(33)),
        Effect.provideContext(near),
        Effect.forkScoped
      )
      const results = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, place) => place),
        (place) => Effect.result(allocate(place)).pipe(Effect.provideContext(far))
      )
      yield* Fiber.interrupt(busy)
      assert.lengthOf(results.filter(({ _tag }) => _tag === "Failure"), 0)
      const keys = [...given, ...results.flatMap((each) => each._tag === "Success" ? [each.success.matchKey] : [])]
      assert.strictEqual(new Set(keys).size, keys.length)
      assert.isAbove(given.length, 20)
    }).pipe(Effect.scoped))

  /** Has another session hold the wallet's turn for so long; done as soon as it does. */
  const holdTurn = Effect.fnUntraced(function*(database: TestDatabase, fingerprint: string, seconds: number) {
    const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
    yield* Effect.forkScoped(
      sql`SELECT pg_advisory_xact_lock(1414089815, hashtext(${fingerprint})), pg_sleep(${seconds})`
    )
    yield* Effect.repeat(
      sql`SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 1414089815 AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      { until: (found) => found.length > 0 }
    )
  })

  it.live("one is given late, and nobody refused, where others hold the wallet's turn for longer than a call waits", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { drivers } = yield* makeSimulated(quiet)
      yield* inInstance(
        database,
        Effect.gen(function*() {
          yield* follow(drivers)
          yield* allocate(1)
          yield* holdTurn(database, indexedWalletOf(drivers[0]!).fingerprint, 2.6)
          assert.isTrue(Exit.isSuccess(yield* Effect.exit(allocate(2))))
        })
      )
    }).pipe(Effect.scoped))

  it.live("one is given late, and nobody refused, where a call is never answered", () =>
    Effect.gen(function*() {
      const wallet = indexedWalletOf((yield* makeSimulated(quiet)).drivers[0]!)
      const database = yield* Layer.build(connect(yield* freshDatabase))
      yield* Effect.gen(function*() {
        const repo = yield* makeRepo
        const addresses = yield* makeAddresses(repo)
        let calls = 0
        const targets = yield* makeTargets(
          {
            ...repo,
            allocate: (asked) => calls++ === 0 ? Effect.never : repo.allocate(asked)
          },
          addresses,
          { heads: () => ({}), awaitCatchUp: () => Effect.void }
        )
        const request = { merchantId: 1, environment: "devnet", family: "evm", invoiceId: invoiceId(1) } as const
        assert.strictEqual((yield* targets.allocate(wallet, request)).address, wallet.derive(0).address)
        assert.isAbove(calls, 1)
      }).pipe(Effect.provideContext(database))
    }).pipe(Effect.scoped))

  it.live("every address is watched by the time it is given out, whoever gave it", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { drivers } = yield* makeSimulated(quiet)
      const instances = [
        yield* Layer.build(instance(database)),
        yield* Layer.build(instance(yield* withLatency(database, 5))),
        yield* Layer.build(instance(yield* withLatency(database, 15)))
      ]
      const watched = yield* Layer.build(instance(database))
      const seen: Array<{ readonly has: (key: string) => boolean; readonly refresh: Effect.Effect<void> }> = []
      const watcher = {
        ...drivers[0]!,
        follow: (...[recent, watch]: Parameters<(typeof drivers)[0]["follow"]>) => {
          seen.push(watch)
          return drivers[0]!.follow(recent, watch)
        }
      }
      yield* follow([watcher]).pipe(Effect.provideContext(watched))
      yield* Effect.repeat(Effect.sleep(5), { until: () => seen.length > 0 })
      for (const each of instances) yield* follow(drivers).pipe(Effect.provideContext(each))
      const unseen: Array<string> = []
      const look = (matchKey: string) =>
        Effect.tap(
          seen[0]!.refresh,
          () => Effect.sync(() => seen[0]!.has(matchKey) ? undefined : unseen.push(matchKey))
        )
      yield* Effect.forEach(instances, (each, which) =>
        Effect.forEach(
          Array.from({ length: 60 }, (_, place) => place),
          (place) =>
            allocate(which * 1_000 + place).pipe(
              Effect.provideContext(each),
              Effect.flatMap(({ matchKey }) => look(matchKey))
            ),
          { concurrency: 4 }
        ), { concurrency: "unbounded" })
      assert.deepStrictEqual(unseen, [])
    }).pipe(Effect.scoped))

  it.live("a start index that is raised later is honoured, one that is lower is not", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { drivers } = yield* makeSimulated(quiet)
      const driver = drivers[0]!
      const at = (startIndex: number, number: number) =>
        Effect.gen(function*() {
          const context = yield* Layer.build(instance(database))
          yield* follow([{ ...driver, wallet: { ...indexedWalletOf(driver), startIndex } }]).pipe(
            Effect.provideContext(context)
          )
          return yield* allocate(number).pipe(Effect.provideContext(context))
        }).pipe(Effect.scoped)
      const address = (index: number) => indexedWalletOf(driver).derive(index).address
      assert.strictEqual((yield* at(0, 1)).address, address(0))
      assert.strictEqual((yield* at(40, 2)).address, address(40))
      assert.strictEqual((yield* at(10, 3)).address, address(41))
    }).pipe(Effect.scoped))

  it.live("a wallet with a gap limit never has more unpaid addresses in a row than its owner's wallet looks through", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { drivers, service } = yield* makeSimulated(quiet)
      const wallet = { ...indexedWalletOf(drivers[0]!), gapLimit: 20 }
      const allocateAll = (from: number, count: number) =>
        Effect.forEach(Array.from({ length: count }, (_, place) => from + place), (number) => allocate(number))
      yield* inInstance(
        database,
        Effect.gen(function*() {
          const chains = yield* Chains
          yield* follow([{ ...drivers[0]!, wallet }])
          yield* markHandled
          const targets = yield* allocateAll(0, 20)
          assert.strictEqual((yield* Effect.flip(allocate(20))).code, "UNSUPPORTED_NETWORK")
          const paid = targets[4]!
          assert.strictEqual(paid.address, wallet.derive(4).address)
          yield* service.transfer({ network: "base", to: paid.matchKey, tokenAddress: null, amount: baseUnits(1n) })
          yield* eventually(
            Effect.map(chains.walletUse(wallet.fingerprint), ({ highestUsedIndex }) => highestUsedIndex ?? undefined)
          )
          const more = yield* allocateAll(20, 5)
          assert.deepStrictEqual(
            more.map(({ address }) => address),
            [20, 21, 22, 23, 24].map((index) => wallet.derive(index).address)
          )
          assert.strictEqual((yield* Effect.flip(allocate(25))).code, "UNSUPPORTED_NETWORK")
          // Those that have one keep it.
          assert.strictEqual((yield* allocate(3)).address, targets[3]!.address)
        })
      )
    }).pipe(Effect.scoped))

  it.live("a wallet with an end keeps a quarter of it from invoices that anybody can make", () =>
    Effect.gen(function*() {
      const { drivers } = yield* makeSimulated(quiet)
      const cases = [
        { gapLimit: 20, size: null },
        { gapLimit: null, size: 20 },
        { gapLimit: 40, size: 20 },
        { gapLimit: null, size: 100, startIndex: 80 }
      ]
      for (const limits of cases) {
        const wallet = { ...indexedWalletOf(drivers[0]!), ...limits }
        yield* inInstance(
          yield* freshDatabase,
          Effect.gen(function*() {
            yield* follow([{ ...drivers[0]!, wallet }])
            yield* markHandled
            const numbers = Array.from({ length: 20 }, (_, number) => number)
            const ofStrangers = yield* Effect.forEach(numbers, (number) => Effect.exit(allocate(number, 1, true)), {
              concurrency: 20
            })
            assert.lengthOf(ofStrangers.filter(Exit.isSuccess), 15)
            const own = yield* Effect.forEach(numbers, (number) => Effect.exit(allocate(100 + number)), {
              concurrency: 20
            })
            assert.lengthOf(own.filter(Exit.isSuccess), 5)
          })
        )
      }
    }).pipe(Effect.scoped))
})
