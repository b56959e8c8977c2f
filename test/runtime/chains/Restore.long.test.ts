/**
 * Goal: whatever backup is restored, whenever it was taken and whatever was paid after it, no address of a paid invoice
 * is given out again, and no transfer is credited twice or to another invoice than the one that had its address.
 * Method: real PostgreSQL whose rows are copied and put back, a chain that goes on meanwhile, and a model that
 * remembers every address and payment. Histories are random and named by their seed.
 */
import { indexedWalletOf, readingBlocks } from "../../support/Drivers.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { Chains } from "../../../runtime/Chains.ts"
import {
  backupTimeFault,
  findLowestHeight,
  maximumBackupAgeSeconds,
  restoreWallet,
  skipFault,
  watchCountPerWallet
} from "../../../runtime/chains/Restores.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { allocate, eventually, follow, inInstance, invoiceId, markHandled, usdc } from "./ChainsInstance.ts"

const quiet = { networks: ["base"], blockMillis: 3_600_000 } as const

/** Numbers in [0, 1) that a seed repeats. */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  const mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  const again = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((again ^ (again >>> 14)) >>> 0) / 4_294_967_296
}

const onDatabase = <A, E>(database: TestDatabase, work: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(work, connect(database), { local: true })

/** Runs `statements` of PL/pgSQL for each table, by its name in `t`. */
const forEachTable = (statements: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(`DO $$ DECLARE t text; has_rows boolean; BEGIN
      FOR t IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition LOOP ${statements} END LOOP; END $$`))

/** Copies every row, as of one moment. A table without rows has no copy: to make each would take longest. */
const backUp = (database: TestDatabase) =>
  onDatabase(
    database,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE SCHEMA backup`
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
        yield* forEachTable(`
          EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', t) INTO has_rows;
          IF has_rows THEN EXECUTE format('CREATE TABLE backup.%I AS TABLE public.%I', t, t); END IF;`)
      }))
    })
  )

/** Puts them back. Nobody else is connected then. A backup is older than the leases in it, unless `isFresh`. */
const restore = (database: TestDatabase, isFresh: boolean) =>
  onDatabase(
    database,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* forEachTable(`EXECUTE format('DELETE FROM public.%I', t);`)
        yield* forEachTable(`
          IF to_regclass(format('backup.%I', t)) IS NOT NULL THEN
            EXECUTE format('INSERT INTO public.%I SELECT * FROM backup.%I', t, t);
          END IF;`)
        if (!isFresh) yield* sql`UPDATE leases SET until = '-infinity'`
      }))
    })
  )

interface Payment {
  readonly txHash: string
  /** The invoice that had the address. */
  readonly number: number
}

const journal = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ tx_hash: string; invoice_id: string | null; status: string; handled: string }>`
    SELECT tx_hash, invoice_id, status, handled FROM transfers`
})

const cursor = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT 1 AS there FROM chain_cursors`)[0]
})

const repairOf = (kind: string) =>
  Effect.flatMap(
    Chains,
    (chains) => Effect.map(chains.repairs("devnet"), (repairs) => repairs.find((repair) => repair.kind === kind))
  )

const isDone = Effect.map(repairOf("restore"), (repair) => repair?.status === "done" ? repair : undefined)

/** One history: `lost` invoices are made after the backup. */
const history = Effect.fnUntraced(function*(seed: number, lost: number, isDeclared = false) {
  const next = random(seed)
  const below = (limit: number) => Math.floor(next() * limit)
  const database = yield* freshDatabase
  const { drivers, service } = yield* makeSimulated(quiet)
  const addresses = new Map<number, string>()
  const payments: Array<Payment> = []
  const pay = Effect.fnUntraced(function*(number: number) {
    const to = addresses.get(number)!
    const { txHash } = yield* service.transfer({ network: "base", to, tokenAddress: usdc, amount: baseUnits(5n) })
    payments.push({ txHash, number })
  })
  const open = (number: number) => Effect.map(allocate(number), ({ matchKey }) => void addresses.set(number, matchKey))
  const payAny = Effect.suspend(() => pay([...addresses.keys()][below(addresses.size)]!))
  const before = 1 + below(12)

  yield* inInstance(
    database,
    Effect.gen(function*() {
      yield* markHandled
      yield* follow(drivers)
      for (let number = 0; number < before; number++) {
        yield* open(number)
        if (next() < 0.4) yield* payAny
      }
      // Where no block was ever read there is nothing to go on from: a follower starts at the head.
      yield* eventually(cursor)
      yield* backUp(database)
      for (let number = before; number < before + lost; number++) {
        yield* open(number)
        if (next() < 0.5 && !(isDeclared && seed === 1)) yield* payAny
      }
      // Further ahead than is watched without a word: only blocks that are read again show it.
      if (isDeclared && lost > 0) yield* pay(before + lost - 1)
    })
  )
  const backupTime = Math.floor(Date.now() / 1000)
  const afterwards = below(6)
  for (let count = 0; count < (isDeclared && seed === 1 ? 0 : afterwards); count++) yield* payAny
  yield* pay(0)
  const newest = payments.at(-1)!.txHash
  yield* restore(database, seed === 1)

  const paid = new Set(payments.map(({ number }) => addresses.get(number)!))
  yield* inInstance(
    database,
    Effect.gen(function*() {
      yield* markHandled
      yield* follow(drivers)
      if (isDeclared) {
        const chains = yield* Chains
        // Everything was followed by now: what was not watched yet is found only in blocks that are read again.
        yield* eventually(Effect.map(journal, (rows) => rows.find(({ tx_hash }) => tx_hash === newest)))
        const declare = chains.declareRestore("devnet", backupTime, null)
        const answers = yield* Effect.all([declare, declare], { concurrency: 2 })
        assert.deepStrictEqual(answers[0].wallets, answers[1].wallets)
        yield* Effect.forEach([...addresses.keys()].filter(() => next() < 0.1), pay, { discard: true })
      }
      for (let number = 1_000; number < 1_030; number++) {
        const { matchKey } = yield* allocate(number)
        assert.isFalse(paid.has(matchKey), `seed ${seed}: the address of a paid invoice was given out again`)
        const owner = [...addresses].find(([known, key]) => (isDeclared || known < before) && key === matchKey)
        assert.isUndefined(owner, `seed ${seed}: the address of invoice ${owner?.[0]} was given out again`)
      }
      if (isDeclared) {
        yield* Effect.forEach([...addresses.keys()].filter(() => next() < 0.1), pay, { discard: true })
        const answer = yield* Effect.flatMap(Chains, (chains) => chains.declareRestore("devnet", backupTime, null))
        assert.deepStrictEqual(answer.wallets.map(({ fromIndex, toIndex }) => toIndex - fromIndex), [1_000])
        yield* eventually(isDone)
      }
      const rows = yield* eventually(Effect.map(journal, (found) =>
        found.length === payments.length &&
          found.every(({ handled, status }) => status === "confirmed" && handled === status)
          ? found
          : undefined))
      for (const { number, txHash } of payments) {
        const entries = rows.filter((row) => row.tx_hash === txHash)
        assert.deepStrictEqual(
          entries.map(({ invoice_id }) => invoice_id),
          [number < before ? invoiceId(number) : null],
          `seed ${seed}: ${txHash} of invoice ${number}`
        )
      }
    })
  )
})

describe("a restored backup", () => {
  it.live("that lost fewer than 20 addresses gives none of a paid invoice out again, and credits nothing twice", () =>
    Effect.forEach(
      Array.from({ length: 12 }, (_, place) => place + 1),
      (seed) => history(seed, seed === 1 ? 19 : Math.floor(random(seed * 977)() * 20)).pipe(Effect.scoped),
      { discard: true }
    ))

  it.live(
    "that is declared gives no lost invoice's address out again, paid or open, and credits nothing twice",
    () =>
      Effect.forEach(
        [1, 2, 3],
        (seed) => history(seed, seed === 1 ? 60 : Math.floor(random(seed * 977)() * 80), true).pipe(Effect.scoped),
        {
          discard: true
        }
      )
  )
})

const Height = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5_000_000 }))

describe("the declaration that a backup was restored", () => {
  it.live("is refused with unit and range where it cannot be, and writes nothing", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { drivers } = yield* makeSimulated(quiet)
      yield* inInstance(
        database,
        Effect.gen(function*() {
          yield* follow(drivers)
          const chains = yield* Chains
          // An address that is given out before the first block would have earlier blocks read: a repair.
          yield* eventually(Effect.sync(() => chains.status("devnet")[0]?.head ?? undefined))
          yield* allocate(1)
          const now = Math.floor(Date.now() / 1000)
          const refused = (...args: Parameters<typeof chains.declareRestore>) =>
            Effect.map(
              Effect.flip(chains.declareRestore(...args)),
              ({ code, message, param }) => ({ code, message, param })
            )
          const inMillis = yield* refused("devnet", Date.now(), null)
          assert.deepInclude(inMillis, { code: "VALIDATION_ERROR", param: "backup_time" })
          assert.include(inMillis.message, "in epoch seconds, not in the future and at most 90 days ago")
          assert.strictEqual((yield* refused("devnet", now - 91 * 86_400, null)).param, "backup_time")
          assert.include((yield* refused("devnet", now, 1_001)).message, "0 to 1000")
          assert.strictEqual((yield* refused("devnet", now, -1)).param, "skip")
          assert.deepInclude(yield* refused("mainnet", now, null), { code: "VALIDATION_ERROR", param: "environment" })
          const sql = yield* SqlClient.SqlClient
          assert.lengthOf(yield* sql`SELECT 1 FROM restores`, 0)
          assert.strictEqual((yield* chains.walletUse(drivers[0]!.wallet!.fingerprint)).nextIndex, 1)
          assert.lengthOf(yield* chains.repairs("devnet"), 0)
        })
      )
    }).pipe(Effect.scoped))

  it.live(
    "holds through a restart, moves on when more is named, and touches no wallet that came later",
    () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        const { drivers: [driver], service } = yield* makeSimulated(quiet)
        const fingerprint = driver!.wallet!.fingerprint
        const backupTime = Math.floor(Date.now() / 1000)
        const use = Effect.flatMap(Chains, (chains) => chains.walletUse(fingerprint))
        yield* inInstance(
          database,
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* follow([{ ...driver!, ...readingBlocks(driver!, () => () => Effect.never) }])
            yield* allocate(1)
            yield* service.mine("base", 3)
            const first = yield* chains.declareRestore("devnet", backupTime, 7)
            assert.deepInclude(first.wallets[0], {
              fingerprint,
              family: "evm",
              fromIndex: 1,
              toIndex: 8,
              watchedTo: 1_001
            })
            assert.deepInclude(first.networks[0], { network: "base", kind: "restore", status: "waiting" })
            assert.strictEqual((yield* use).nextIndex, 8)
          })
        )
        yield* inInstance(
          database,
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* follow([driver!])
            yield* eventually(isDone)
            assert.strictEqual((yield* chains.declareRestore("devnet", backupTime, 7)).wallets[0]!.toIndex, 8)
            yield* chains.watchWallet({ ...indexedWalletOf(driver!), fingerprint: "later", startIndex: 0 }, "evm")
            const sql = yield* SqlClient.SqlClient
            yield* sql`INSERT INTO wallet_counters (fingerprint, merchant_id, version, next_index) VALUES ('later', 0, 1, 3)`
            yield* chains.declareRestore("devnet", backupTime, 9)
            assert.strictEqual((yield* use).nextIndex, 10)
            assert.strictEqual((yield* chains.walletUse("later")).nextIndex, 3)
            assert.strictEqual((yield* chains.declareRestore("devnet", backupTime, 2)).wallets[0]!.toIndex, 10)
          })
        )
      }).pipe(Effect.scoped)
  )

  it.live("waits for the wallets to be read after a start, and passes over no list that nobody named a number for", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { drivers: [driver] } = yield* makeSimulated(quiet)
      yield* inInstance(
        database,
        Effect.gen(function*() {
          const chains = yield* Chains
          const sql = yield* SqlClient.SqlClient
          yield* follow([driver!])
          yield* sql`INSERT INTO wallet_counters (fingerprint, merchant_id, version, next_index) VALUES ('list', 0, 1, 3)`
          const declare = chains.declareRestore("devnet", Math.floor(Date.now() / 1000), null)
          assert.strictEqual((yield* Effect.flip(declare)).code, "SERVICE_UNAVAILABLE")
          assert.lengthOf(yield* sql`SELECT 1 FROM restores`, 0)
          yield* chains.watchWallet({ ...indexedWalletOf(driver!), fingerprint: "list", size: 40 }, "evm")
          const { wallets } = yield* declare
          const moved = wallets.map((
            { fingerprint, fromIndex, toIndex }
          ) => [fingerprint === "list", toIndex - fromIndex])
          assert.sameDeepMembers(moved, [[true, 0], [false, 1_000]])
        })
      )
    }).pipe(Effect.scoped))

  it("passes over 1,000 of a wallet without an end, and of a list only what was named, up to its end", () => {
    const before = (size: number | null, gapLimit: number | null = null) => ({
      fingerprint: "a",
      nextIndex: 5,
      size,
      gapLimit
    })
    assert.deepStrictEqual(restoreWallet(before(null), null, 1_000, undefined), {
      fingerprint: "a",
      fromIndex: 5,
      toIndex: 1_005,
      watchedTo: 1_005
    })
    assert.deepInclude(restoreWallet(before(9), null, 1_000, undefined), { toIndex: 5, watchedTo: 9 })
    assert.deepInclude(restoreWallet(before(9), 2, 1_000, undefined), { toIndex: 7 })
    assert.deepInclude(restoreWallet(before(9), 50, 1_000, undefined), { toIndex: 9 })
    assert.deepInclude(restoreWallet(before(3), 50, 1_000, undefined), { fromIndex: 5, toIndex: 5, watchedTo: 5 })
    assert.deepInclude(restoreWallet(before(null, 20), null, 1_000, undefined), { toIndex: 25, watchedTo: 1_005 })
    assert.deepStrictEqual([
      watchCountPerWallet(1, 200_000),
      watchCountPerWallet(400, 200_000),
      watchCountPerWallet(9, 0)
    ], [1_000, 500, 0])
  })

  it("is of the last 90 days and of at most 1,000 addresses", () => {
    const now = 1_800_000_000
    const faults = [now, now - maximumBackupAgeSeconds, now + 1, now - maximumBackupAgeSeconds - 1]
      .map((time) => backupTimeFault(time, now) !== null)
    assert.deepStrictEqual(faults, [false, false, true, true])
    assert.deepStrictEqual([null, 0, 1_000, 1_001, -1].map((skip) => skipFault(skip) !== null), [
      false,
      false,
      false,
      true,
      true
    ])
  })

  it.effect.prop(
    "finds the first block since a time in few looks, none of them far below it",
    [Height, Height],
    ([head, wanted]) =>
      Effect.gen(function*() {
        let looks = 0
        let lowest = head
        const found = yield* findLowestHeight(BigInt(head), (height) =>
          Effect.sync(() => {
            looks += 1
            lowest = Math.min(lowest, Number(height))
            return height < BigInt(wanted)
          }))
        assert.strictEqual(found, BigInt(Math.min(head, wanted)))
        assert.isAtMost(looks, 50)
        assert.isAtLeast(lowest, head - 2 * Math.max(0, head - wanted) - 1)
      })
  )
})
