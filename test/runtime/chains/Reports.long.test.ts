/**
 * Goal: an operator's report repairs a payment the follower missed, however old it is and whatever failed before, and a
 * report of something that is not on the chain holds its invoice only for a while.
 * Method: real PostgreSQL, commit log and leases; a simulated chain whose driver leaves a transfer out.
 */
import { readingBlocks } from "../../support/Drivers.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule, type Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { baseUnits } from "../../../schemas/Money.ts"
import { type ChainDriver, type ChainEvent, Chains, DriverError } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import {
  lookupPauseMillis,
  maximumMisses,
  noLookups,
  pausedIds,
  step,
  unreadLimitMillis
} from "../../../runtime/chains/ReportLookups.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"

const devnet = "devnet" as const
const missed = "0xmissed"
const invoiceId = "00000000-0000-4000-8000-000000000001"

const inProcess = <A, E>(
  database: TestDatabase,
  work: Effect.Effect<A, E, Chains | Commit | SqlClient.SqlClient | Scope.Scope>
) =>
  work.pipe(
    Effect.scoped,
    Effect.provide(
      Layer.fresh(chainsLayer.pipe(
        Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf())),
        Layer.provideMerge(connect(database))
      )),
      { local: true }
    )
  )

const eventually = <A>(look: Effect.Effect<A | undefined, unknown, SqlClient.SqlClient>) =>
  look.pipe(
    Effect.flatMap((found) => found === undefined ? Effect.fail("not yet") : Effect.succeed(found)),
    Effect.retry(Schedule.spaced(20)),
    Effect.orDie
  )

const journal = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ status: string; handled: string; tx_hash: string; amount: string }>`
    SELECT status, handled, tx_hash, amount::text FROM transfers ORDER BY tx_hash`
})

/** Until the entry of `missed` was dealt with at a status. */
const untilHandled = (status: string) =>
  eventually(Effect.map(journal, (rows) => {
    const row = rows.find(({ tx_hash }) => tx_hash === missed)
    return row?.status === status && row.handled === status ? row : undefined
  }))

const withoutMissed = (event: ChainEvent): ChainEvent =>
  event._tag === "Forward"
    ? { ...event, transfers: event.transfers.filter(({ txHash }) => txHash !== missed) }
    : event

/** A chain whose driver follows past the transfer `missed`; `change` alters the driver further. */
const forgetful = (change: (driver: ChainDriver) => Partial<ChainDriver> = () => ({})) =>
  Effect.gen(function*() {
    const chains = yield* Chains
    const commit = yield* Commit
    const { drivers: [simulated], service } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
    const driver: ChainDriver = {
      ...simulated!,
      follow: (recent, watch) => Stream.map(simulated!.follow(recent, watch), withoutMissed)
    }
    yield* chains.register({ ...driver, ...change(driver) })
    yield* chains.onTransfer((entry) =>
      commit.append({
        merchantId: entry.merchantId,
        environment: entry.environment,
        cause: noCause,
        writes: [chains.markHandled(entry, { blocks: 1, finalized: false })],
        events: []
      })
    )
    const head = Effect.suspend(() => Effect.succeed(chains.status(devnet)[0]?.head ?? undefined))
    // An address that is older than the first block read has its blocks searched, which would find the transfer.
    yield* eventually(head)
    const { matchKey } = yield* chains.allocate({ merchantId: 1, invoiceId, environment: devnet, family: "evm" })
    return { chain: service, chains, head: Effect.map(head, (height) => height!), matchKey }
  })

type Rig = Effect.Success<ReturnType<typeof forgetful>>

/** Pays with the transaction the driver does not see, lets `blocks` more come, and answers where it is. */
const payUnseen = Effect.fnUntraced(function*({ chain, chains, head, matchKey }: Rig, blocks: number) {
  const height = (yield* head) + 1n
  yield* chain.transfer({ network: "base", to: matchKey, tokenAddress: null, amount: baseUnits(5n), txHash: missed })
  yield* chain.mine("base", blocks)
  yield* eventually(Effect.sync(() => chains.status(devnet)[0]!.head === height + BigInt(blocks) ? true : undefined))
  return height
})

const report = ({ chains, matchKey }: Rig, height: bigint, amount = 5n) =>
  chains.report({
    network: "base",
    environment: devnet,
    txHash: missed,
    index: 0,
    kind: "direct",
    matchKey,
    tokenAddress: null,
    amount: baseUnits(amount),
    from: null,
    point: { height, hash: "0xas-the-reporter-saw-it" },
    time: 1
  })

describe("a reported transfer", () => {
  it.live("is confirmed also when its block is older than the blocks the follower keeps", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const rig = yield* forgetful()
          const height = yield* payUnseen(rig, 140)
          yield* report(rig, height)
          yield* untilHandled("confirmed")
        })
      )
    }).pipe(Effect.scoped))

  it.live("is confirmed although the first tries to read its block failed", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* inProcess(
        database,
        Effect.gen(function*() {
          let failures = 3
          const rig = yield* forgetful((driver) =>
            readingBlocks(driver, (readBlock) => (...args) =>
              failures-- > 0
                ? Effect.fail(new DriverError({ network: "base", reason: "no node answers" }))
                : readBlock(...args))
          )
          const height = yield* payUnseen(rig, 5)
          yield* report(rig, height)
          yield* untilHandled("confirmed")
          assert.isBelow(failures, 0)
        })
      )
    }).pipe(Effect.scoped))

  it.live(
    "is ended when it is not on the chain, and is looked for again when it is reported again",
    () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        yield* inProcess(
          database,
          Effect.gen(function*() {
            const rig = yield* forgetful()
            const height = yield* payUnseen(rig, 140)
            assert.strictEqual(yield* report(rig, height + 1n), "reported")
            yield* untilHandled("reverted")
            // The operator corrects the height, and the amount is read from the chain.
            assert.strictEqual(yield* report(rig, height, 6n), "reported")
            const row = yield* untilHandled("confirmed")
            assert.strictEqual(row.amount, "5")
            assert.strictEqual(yield* report(rig, height + 1n), "confirmed")
            assert.strictEqual((yield* journal).length, 1)
          })
        )
      }).pipe(Effect.scoped)
  )

  it.live("is refused above the blocks the chain can have", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* inProcess(
        database,
        Effect.gen(function*() {
          const rig = yield* forgetful()
          const refused = yield* Effect.flip(report(rig, (yield* rig.head) + 1_000_000n))
          assert.strictEqual(`${refused.code} ${refused.param}`, "VALIDATION_ERROR height")
          assert.deepStrictEqual(yield* journal, [])
        })
      )
    }).pipe(Effect.scoped))
})

describe("a native payment that blocks did not show", () => {
  const credited = Effect.map(
    journal,
    (rows) => rows.filter(({ status }) => status !== "reverted").reduce((sum, { amount }) => sum + BigInt(amount), 0n)
  )

  const isRescanned = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return (yield* sql`SELECT FROM chain_repairs WHERE status = 'done'`).length > 0 ? true : undefined
  })

  for (const repair of ["a report", "a rescan"] as const) {
    it.live(`is credited once, by its balance, when ${repair} finds its transfer later`, () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        yield* inProcess(
          database,
          Effect.gen(function*() {
            let paidAt: bigint | null = null
            const rig = yield* forgetful(() => ({
              balanceAt: (_address, _token, height) =>
                Effect.succeed({ balance: baseUnits(paidAt !== null && height >= paidAt ? 5n : 0n), hasSent: false })
            }))
            yield* rig.chains.reconcile(invoiceId, "base", devnet)
            paidAt = (yield* rig.head) + 1n
            const height = yield* payUnseen(rig, 3)
            assert.strictEqual(height, paidAt)
            yield* eventually(Effect.map(credited, (sum) => sum === 5n ? true : undefined))
            if (repair === "a report") {
              yield* report(rig, height)
              yield* untilHandled("reverted")
            } else {
              yield* rig.chains.rescan("base", devnet, height, height)
              yield* eventually(isRescanned)
            }
            assert.strictEqual(yield* credited, 5n)
          })
        )
      }).pipe(Effect.scoped))
  }
})

describe("looks for reported transfers", () => {
  const found = (looks = noLookups, tag: "found" | "missed" | "unread", now: number) =>
    step(looks, { _tag: tag, ids: ["a"] }, now, "mainnet")

  it("end after so many reads without the transfer, with a growing pause between them", () => {
    let looks = noLookups
    let now = 0
    const pauses: Array<number> = []
    for (let read = 1; read < maximumMisses; read++) {
      const next = found(looks, "missed", now)
      assert.deepStrictEqual([next.expiredIds, pausedIds(next.lookups, now)], [[], ["a"]])
      pauses.push(next.lookups.get("a")!.dueAt - now)
      looks = next.lookups
      now = next.lookups.get("a")!.dueAt
      assert.deepStrictEqual(pausedIds(looks, now), [])
    }
    assert.deepStrictEqual(pauses, [1_000, 5_000, 25_000])
    assert.deepStrictEqual(found(looks, "missed", now), { lookups: noLookups, expiredIds: ["a"] })
  })

  it("go on for 24 h where no node gives the block, and no longer", () => {
    const first = found(noLookups, "unread", 0).lookups
    assert.deepStrictEqual(found(first, "unread", unreadLimitMillis - 1).expiredIds, [])
    assert.deepStrictEqual(found(first, "unread", unreadLimitMillis), { lookups: noLookups, expiredIds: ["a"] })
    assert.strictEqual(lookupPauseMillis("mainnet", 50), 300_000)
  })

  it("are prunedBlock once the transfer is found", () => {
    const missedOnce = found(noLookups, "missed", 0).lookups
    assert.deepStrictEqual(found(missedOnce, "found", 1), { lookups: noLookups, expiredIds: [] })
  })
})
