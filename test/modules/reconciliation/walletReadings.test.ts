/**
 * Goal: what a wallet holds when a month has ended is read once, at the right block, and a gap says why there is none.
 * Method: real PostgreSQL and commits at times that the test says; what a chain answers is the test's.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Chains, DriverError, type WalletBalances } from "../../../runtime/Chains.ts"
import { Commit } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { migrate } from "../../../runtime/Migrate.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { migrations as invoiceMigrations } from "../../../modules/invoices/migrations.ts"
import { migrations as ledgerMigrations } from "../../../modules/ledger/migrations.ts"
import { migrations, tables } from "../../../modules/reconciliation/migrations.ts"
import { makeRepo } from "../../../modules/reconciliation/repo.ts"
import { readMonth } from "../../../modules/reconciliation/rules.ts"
import { readWallets } from "../../../modules/reconciliation/service/WalletReadings.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"

const month = readMonth("2026-11")!
const owner = { merchantId: 1, environment: "devnet" } as const

const heldAt = (time: number, units = 500n): WalletBalances => ({
  _tag: "Balances",
  point: { height: 9n, hash: "0x9", time },
  balances: [baseUnits(units)],
  forwarded: [baseUnits(units / 5n)],
  hasSent: true
})

/** Runs the source of readings at a moment, with what the chain answers; says when it is due again and what is stored. */
const readingAt = Effect.fnUntraced(function*(seconds: number, answer: Effect.Effect<WalletBalances, DriverError>) {
  const clock = yield* Clock.Clock
  // Waiting goes on as ever: only what the time is differs.
  const moved: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
    currentTimeMillisUnsafe: () => seconds * 1000,
    currentTimeMillis: Effect.succeed(seconds * 1000)
  })
  const repo = yield* makeRepo
  const chains = { walletBalances: () => answer } as unknown as Chains["Service"]
  const source = yield* readWallets({ chains, commit: yield* Commit, repo })
  // A page of wallets, and the end of the round.
  yield* source.run(seconds * 1000, source.batchSize)
  yield* source.run(seconds * 1000, source.batchSize)
  const nextMillis = yield* Effect.provideService(source.nextDueMillis, Clock.Clock, moved)
  const stored = yield* repo.readings(owner, month.name!)
  return { nextMillis, stored }
})

const account = "chain:wallet1"

const withWallet = <A, E>(
  work: Effect.Effect<A, E, Commit | SqlClient.SqlClient>,
  merchants: ReadonlyArray<number> = [1],
  name = account
) =>
  Effect.gen(function*() {
    const database = yield* migratedDatabase
    yield* Effect.gen(function*() {
      yield* migrate("invoices", invoiceMigrations)
      yield* migrate("ledger", ledgerMigrations)
      yield* migrate("reconciliation", migrations)
    }).pipe(Effect.provide(connect(database), { local: true }))
    return yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (const merchant of merchants) {
        yield* sql`INSERT INTO account_balances (merchant_id, environment, account, asset, units, usd_millis)
          VALUES (${merchant}, 'devnet', ${name}, 'base:native', 500, 5)`
      }
      return yield* work
    }).pipe(
      Effect.provide(
        Layer.fresh(commitLayer([...runtimeTables, ...tables]).pipe(Layer.provideMerge(connect(database)))),
        { local: true }
      )
    )
  }).pipe(Effect.scoped)

const afterEnd = month.to + 7_200

describe("the reading of a wallet", () => {
  it.live("is kept once, with its block, when a final block after the month's end is there", () =>
    withWallet(Effect.gen(function*() {
      const early = yield* readingAt(afterEnd, Effect.succeed(heldAt(month.to - 1)))
      assert.deepStrictEqual(early.stored, [])
      const { stored: [reading] } = yield* readingAt(afterEnd, Effect.succeed(heldAt(month.to + 30)))
      assert.deepInclude(reading, { account, asset: "base:native", units: 500n, laterUnits: 0n, hasSent: true })
      assert.strictEqual(reading!.forwardedUnits, 100n)
      assert.deepStrictEqual(reading!.block, { height: 9n, hash: "0x9", time: month.to + 30 })
      const again = yield* readingAt(afterEnd + 60, Effect.succeed(heldAt(month.to + 90, 7n)))
      assert.deepStrictEqual(again.stored, [reading])
    })))

  it.live("takes off what came between the month's end and its block", () =>
    withWallet(Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO receive_targets (id, merchant_id, version, family, match_key, invoice_id, environment,
          address, fingerprint, wallet_index, created_at)
        VALUES ('evm:key', 1, 1, 'evm', 'key', 'inv', 'devnet', 'address', 'wallet1', 0, 1)`
      const transfer = (place: number, height: number, time: number) =>
        sql`INSERT INTO transfers (id, merchant_id, version, network, environment, tx_hash, tx_index, kind, invoice_id,
            match_key, token_address, amount, sender, height, block_hash, block_time, observed_at, status, handled,
            required_blocks, required_finalized, confirmations, attempts, retry_at)
          VALUES (${`t${place}`}, 1, 1, 'base', 'devnet', ${`0x${place}`}, 0, 'direct', 'inv', 'key', NULL,
            ${10 ** place}, NULL, ${height}, '0x', ${time}, 1, 'confirmed', 'confirmed', 1, false, 1, 0, 0)`
      yield* transfer(1, 5, month.to - 10)
      yield* transfer(2, 8, month.to + 10)
      yield* transfer(3, 10, month.to + 50)
      const { stored: [reading] } = yield* readingAt(afterEnd, Effect.succeed(heldAt(month.to + 30)))
      assert.strictEqual(reading!.laterUnits, 100n)
    })))

  it.live("waits a minute for a chain that does not answer, and says that it was missed a day after", () =>
    withWallet(Effect.gen(function*() {
      const silent = yield* readingAt(
        afterEnd,
        Effect.fail(new DriverError({ network: "base", reason: "no node answers" }))
      )
      assert.deepStrictEqual([silent.stored, silent.nextMillis], [[], (afterEnd + 60) * 1_000])
      const { stored: [reading] } = yield* readingAt(month.to + 200_000, Effect.succeed(heldAt(month.to + 199_000)))
      assert.deepInclude(reading, { units: null, reason: "missed", block: null })
    })))

  it.live("says why there is none: a wallet that several share, one that is unknown, a driver that reads none", () =>
    Effect.gen(function*() {
      const unreadable = Effect.succeed<WalletBalances>({ _tag: "Unreadable", reason: "not_offered" })
      const reasonOf = (found: { readonly stored: ReadonlyArray<{ readonly reason: string | null }> }) =>
        found.stored.map(({ reason }) => reason)
      const one = yield* withWallet(readingAt(afterEnd, unreadable))
      assert.deepStrictEqual(reasonOf(one), ["not_offered"])
      const shared = yield* withWallet(readingAt(afterEnd, unreadable), [1, 2])
      assert.deepStrictEqual(reasonOf(shared), ["shared"])
      const unknown = yield* withWallet(readingAt(afterEnd, unreadable), [1], "chain:unknown")
      assert.deepStrictEqual(reasonOf(unknown), ["unknown_wallet"])
    }))
})
