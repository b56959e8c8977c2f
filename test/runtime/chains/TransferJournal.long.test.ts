/**
 * Goal: whatever happens to a chain or to this process, the journal tells each transfer once and the handler hears of
 * every state it must know.
 * Method: real PostgreSQL, commit log and leases; simulated chains; a recording handler that commits as payments do.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Queue, Schedule, type Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { baseUnits } from "../../../schemas/Money.ts"
import type { RequiredDepth } from "../../../schemas/Network.ts"
import { type ChainEvent, Chains, type JournalEntry } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"

const devnet = "devnet" as const
const usdc = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
const oneBlock: RequiredDepth = { blocks: 1, finalized: false }

/** A process on a database: torn down and built again, it is a restart. */
const process = (database: TestDatabase) =>
  Layer.fresh(chainsLayer.pipe(
    Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf())),
    Layer.provideMerge(connect(database))
  ))

const inProcess = <A, E>(
  database: TestDatabase,
  work: Effect.Effect<A, E, Chains | Commit | SqlClient.SqlClient | Scope.Scope>
) => work.pipe(Effect.scoped, Effect.provide(process(database), { local: true }))

/** Looks until the promise holds; the test's own time limit ends it otherwise. */
const eventually = <A>(look: Effect.Effect<A | undefined, unknown, SqlClient.SqlClient>) =>
  look.pipe(
    Effect.flatMap((found) => found === undefined ? Effect.fail("not yet") : Effect.succeed(found)),
    Effect.retry(Schedule.spaced(20)),
    Effect.orDie
  )

const statuses = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ status: string; handled: string; tx_hash: string }>`
    SELECT status, handled, tx_hash FROM transfers ORDER BY tx_hash`
})

const until = (status: string, count = 1) =>
  eventually(
    Effect.map(statuses, (rows) =>
      rows.length === count && rows.every((row) =>
          row.status === status && row.handled === status
        )
        ? rows
        : undefined)
  )

/** Handles as the payments module does: the mark is in the handler's own commit. */
const recordingHandler = (required: RequiredDepth, fail: (entry: JournalEntry) => boolean = () => false) =>
  Effect.gen(function*() {
    const chains = yield* Chains
    const commit = yield* Commit
    const heard: Array<string> = []
    yield* chains.onTransfer((entry) =>
      Effect.gen(function*() {
        if (fail(entry)) return yield* Effect.fail("refused")
        // Before the mark: whoever sees that a transfer is handled finds it here.
        heard.push(`${entry.status}:${entry.amount}`)
        yield* commit.append({
          merchantId: entry.merchantId,
          environment: entry.environment,
          cause: noCause,
          writes: [chains.markHandled(entry, required)],
          events: []
        })
      })
    )
    return heard
  })

const simulated = Effect.gen(function*() {
  const chains = yield* Chains
  const { drivers, service } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
  for (const driver of drivers) yield* chains.register(driver)
  return service
})

const invoice = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`

const allocate = (number: number, merchantId = 1) =>
  Effect.flatMap(
    Chains,
    (chains) => chains.allocate({ merchantId, invoiceId: invoice(number), environment: devnet, family: "evm" })
  )

describe("chain journal", () => {
  it.live("tells the handler of a transfer at first sight and when it is deep enough", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const chain = yield* simulated
          const heard = yield* recordingHandler(oneBlock)
          const { matchKey } = yield* allocate(1)
          yield* chain.transfer({ network: "base", to: matchKey, tokenAddress: usdc, amount: baseUnits(7n) })
          yield* until("confirmed")
          assert.deepStrictEqual(heard, ["seen:7", "confirmed:7"])
        })
      )
    }).pipe(Effect.scoped))

  it.live("waits for the required depth, reverts what a reorg dropped and revives it by its key", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const chain = yield* simulated
          const heard = yield* recordingHandler({ blocks: 3, finalized: false })
          const { matchKey } = yield* allocate(1)
          const kept = yield* chain.transfer({
            network: "base",
            to: matchKey,
            tokenAddress: usdc,
            amount: baseUnits(5n)
          })
          yield* until("seen")
          yield* chain.mine("base", 1)
          yield* chain.mine("base", 1)
          yield* until("confirmed")
          const sql = yield* SqlClient.SqlClient
          const height = Effect.map(sql<{ height: bigint }>`SELECT height FROM transfers`, ([row]) => row!.height)
          const first = yield* height
          yield* chain.reorg("base", 3, { shift: 1 })
          // The handler need not hear of it: it may be confirmed again before anybody was told that it had gone.
          yield* eventually(Effect.map(height, (now) => now > first ? true : undefined))
          yield* until("confirmed")
          yield* chain.reorg("base", 4, { drop: [kept.txHash] })
          yield* until("reverted")
          assert.strictEqual(heard[heard.length - 1], "reverted:5")
          assert.strictEqual((yield* statuses).length, 1)
        })
      )
    }).pipe(Effect.scoped))

  it.live("journals transfers once over restarts, and goes on where it stood", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const first = yield* inProcess(
        database,
        Effect.gen(function*() {
          const chain = yield* simulated
          const { matchKey } = yield* allocate(1)
          yield* chain.transaction(
            "base",
            [1n, 2n, 3n].map((amount) => ({
              network: "base" as const,
              to: matchKey,
              tokenAddress: usdc,
              amount: baseUnits(amount)
            }))
          )
          yield* eventually(Effect.map(statuses, (rows) => rows.length === 3 ? true : undefined))
          return matchKey
        })
      )
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const chain = yield* simulated
          const heard = yield* recordingHandler(oneBlock)
          yield* chain.transfer({ network: "base", to: first, tokenAddress: null, amount: baseUnits(4n) })
          yield* until("confirmed", 4)
          assert.deepStrictEqual([...heard].sort(), [1, 2, 3, 4].flatMap((n) => [`confirmed:${n}`, `seen:${n}`]).sort())
        })
      )
    }).pipe(Effect.scoped))

  it.live("says what is final from what is stored, and doubts for good what was final and left its chain", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const chains = yield* Chains
          const { drivers: [driver] } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
          const chain = yield* Queue.unbounded<ChainEvent>()
          yield* chains.register({ ...driver!, environment: "mainnet", follow: () => Stream.fromQueue(chain) })
          yield* recordingHandler(oneBlock)
          const { matchKey } = yield* chains.allocate({
            merchantId: 1,
            invoiceId: invoice(1),
            environment: "mainnet",
            family: "evm"
          })
          const block = (height: bigint, amount: bigint | null, fork = "a") =>
            Queue.offer(chain, {
              _tag: "Forward",
              point: { height, hash: `0x${height}${fork}` },
              time: Math.floor(Date.now() / 1000),
              isCatchingUp: false,
              transfers: amount === null ? [] : [{
                txHash: `0x${amount}`,
                index: 0,
                kind: "direct",
                matchKey,
                tokenAddress: usdc,
                amount: baseUnits(amount),
                from: null
              }]
            })
          const finalized = (height: bigint) => Queue.offer(chain, { _tag: "Finality", finalized: height })
          const known = Effect.map(
            chains.finality([invoice(1)]),
            (found) => Object.fromEntries(found.map(({ finality, id }) => [id.split(":")[2], finality]))
          )
          const becomes = (wanted: Readonly<Record<string, string>>) =>
            eventually(
              Effect.map(known, (found) => JSON.stringify(found) === JSON.stringify(wanted) ? true : undefined)
            )

          yield* finalized(99n)
          yield* block(100n, 1n)
          yield* until("confirmed")
          assert.deepStrictEqual(yield* known, { "0x1": "waiting" })
          yield* finalized(100n)
          yield* block(101n, 2n)
          yield* until("confirmed", 2)
          yield* becomes({ "0x1": "final", "0x2": "waiting" })
          yield* Queue.offer(chain, { _tag: "Rollback", to: { height: 99n, hash: "0x99a" } })
          yield* becomes({ "0x1": "reorged_after_finality", "0x2": "waiting" })
          assert.deepStrictEqual((yield* statuses).map(({ status }) => status), ["confirmed", "reverted"])
          yield* finalized(150n)
          yield* block(160n, 3n, "b")
          yield* eventually(
            Effect.map(statuses, (rows) => rows.length === 3 && rows[2]!.status === "confirmed" ? true : undefined)
          )
          assert.strictEqual((yield* known)["0x1"], "reorged_after_finality")
        })
      )
      // Another process knows as much, before it has looked at the chain.
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const found = yield* (yield* Chains).finality([invoice(1)])
          assert.strictEqual(found.find(({ id }) => id.includes("0x1:"))?.finality, "reorged_after_finality")
        })
      )
    }).pipe(Effect.scoped))

  it.live("asks the handler again after a failure, and holds up no other invoice meanwhile", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const chain = yield* simulated
          let refusals = 2
          // Until the other one's payment is confirmed, whenever that one is made.
          const isRefused = ({ amount }: JournalEntry): boolean =>
            amount === 1n && (refusals-- > 0 || !heard.includes("confirmed:2"))
          const heard: ReadonlyArray<string> = yield* recordingHandler(oneBlock, isRefused)
          for (const [number, amount] of [[1, 1n], [2, 2n]] as const) {
            const { matchKey } = yield* allocate(number)
            yield* chain.transfer({ network: "base", to: matchKey, tokenAddress: null, amount: baseUnits(amount) })
          }
          yield* until("confirmed", 2)
          assert.deepStrictEqual(heard.slice(0, 2), ["seen:2", "confirmed:2"])
          assert.deepStrictEqual(heard.slice(2), ["seen:1", "confirmed:1"])
        })
      )
    }).pipe(Effect.scoped))

  it.live("never gives two invoices one address: 100 at once, two merchants on one wallet, two processes", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const numbers = Array.from({ length: 50 }, (_, place) => place)
      const many = (offset: number, merchantId: number) =>
        inProcess(
          database,
          Effect.gen(function*() {
            yield* simulated
            const once = yield* Effect.forEach(numbers, (number) => allocate(offset + number, merchantId), {
              concurrency: "unbounded"
            })
            const again = yield* Effect.forEach(numbers, (number) => allocate(offset + number, merchantId))
            assert.deepStrictEqual(once, again)
            return once.map(({ matchKey }) => matchKey)
          })
        )
      const found = (yield* Effect.all([many(0, 1), many(50, 2)], { concurrency: 2 })).flat()
      assert.strictEqual(new Set(found).size, 100)
    }).pipe(Effect.scoped))

  it.live("sees a payment to a target another process allocated just now", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const chosen = yield* Deferred.make<string>()
      const journalled = yield* Deferred.make<void>()
      const followed = yield* Deferred.make<void>()
      const follower = inProcess(
        database,
        Effect.gen(function*() {
          const chain = yield* simulated
          const chains = yield* Chains
          yield* eventually(Effect.sync(() => chains.status(devnet)[0]?.head == null ? undefined : true))
          yield* Deferred.succeed(followed, undefined)
          const to = yield* Deferred.await(chosen)
          yield* chain.transfer({ network: "base", to, tokenAddress: null, amount: baseUnits(9n) })
          yield* eventually(Effect.map(statuses, (rows) => rows.length === 1 ? true : undefined))
          yield* Deferred.succeed(journalled, undefined)
        })
      )
      const allocator = inProcess(
        database,
        Effect.gen(function*() {
          yield* Deferred.await(followed)
          yield* simulated
          yield* Deferred.succeed(chosen, (yield* allocate(1)).matchKey)
          yield* Deferred.await(journalled)
        })
      )
      yield* Effect.all([follower, allocator], { concurrency: 2 })
    }).pipe(Effect.scoped))

  it.live("counts a reported transfer only when the driver here sees it too", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const chains = yield* Chains
          const chain = yield* simulated
          const heard = yield* recordingHandler(oneBlock)
          const { matchKey } = yield* allocate(1)
          const { txHash } = yield* chain.transfer({
            network: "base",
            to: matchKey,
            tokenAddress: null,
            amount: baseUnits(3n)
          })
          yield* until("confirmed")
          const report = (tx: string, network: "base" | "arbitrum") =>
            chains.report({
              network,
              environment: devnet,
              txHash: tx,
              index: 0,
              kind: "direct",
              matchKey,
              tokenAddress: null,
              amount: baseUnits(3n),
              from: null,
              point: { height: chains.status(devnet)[0]!.head!, hash: "0xaa" },
              time: 1
            })
          yield* report(txHash, "base")
          yield* report("0xinvented", "base")
          yield* report("0xelsewhere", "arbitrum")
          yield* eventually(Effect.map(statuses, (rows) =>
            rows.find((row) => row.tx_hash === "0xelsewhere")?.handled === "confirmed"
              ? true
              : undefined))
          yield* chain.mine("base", 3)
          const rows = yield* eventually(Effect.map(statuses, (found) =>
            found.every(({ handled }) =>
                handled !== "none"
              )
              ? found
              : undefined))
          assert.deepStrictEqual(
            rows.map((row) => `${row.tx_hash === txHash ? "real" : row.tx_hash} ${row.status}`).sort(),
            [
              "0xelsewhere confirmed",
              "0xinvented seen",
              "real confirmed"
            ]
          )
          assert.strictEqual(
            heard.filter((each) => each === "confirmed:3").length,
            2
          )
        })
      )
    }).pipe(Effect.scoped))
})
