/**
 * Goal: whatever backup is restored, whenever it was taken and whatever was paid after it, no address of a paid invoice is
 * given out again, and no transfer is credited twice or to another invoice than the one that had its address.
 * Method: real PostgreSQL whose rows are copied and put back, a chain that goes on meanwhile, and a model that remembers
 * every address and payment. Histories are random and named by their seed.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { allocate, eventually, follow, inInstance, invoiceId, markHandled, usdc } from "./Rig.ts"

const quiet = { networks: ["base"], blockMillis: 3_600_000 } as const

/** Numbers in [0, 1) that a seed repeats. */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  const mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  const again = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((again ^ (again >>> 14)) >>> 0) / 4_294_967_296
}

const tables = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<{ name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`
  return found.map(({ name }) => name)
})

const onDatabase = <A, E>(database: TestDatabase, work: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(work, connect(database), { local: true })

/** Copies every row, as of one moment. */
const backUp = (database: TestDatabase) =>
  onDatabase(database, Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const names = yield* tables
    yield* sql`CREATE SCHEMA backup`
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
      for (const name of names) yield* sql.unsafe(`CREATE TABLE backup."${name}" AS TABLE public."${name}"`)
    }))
  }))

/** Puts them back. Nobody else is connected then. A backup is older than the leases in it, unless `isFresh`. */
const restore = (database: TestDatabase, isFresh: boolean) =>
  onDatabase(database, Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const names = yield* tables
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql.unsafe(`TRUNCATE ${names.map((name) => `public."${name}"`).join(", ")}`)
      for (const name of names) yield* sql.unsafe(`INSERT INTO public."${name}" SELECT * FROM backup."${name}"`)
      if (!isFresh) yield* sql`UPDATE leases SET until = '-infinity'`
    }))
  }))

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
  Effect.flatMap(Chains, (chains) =>
    Effect.map(chains.repairs("devnet"), (repairs) => repairs.find((repair) => repair.kind === kind)))

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
  const open = (number: number) =>
    Effect.map(allocate(number), ({ matchKey }) => void addresses.set(number, matchKey))
  const payAny = Effect.suspend(() => pay([...addresses.keys()][below(addresses.size)]!))
  const before = 1 + below(12)

  yield* inInstance(database, Effect.gen(function*() {
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
  }))
  const backupTime = Math.floor(Date.now() / 1000)
  const afterwards = below(6)
  for (let count = 0; count < (isDeclared && seed === 1 ? 0 : afterwards); count++) yield* payAny
  yield* pay(0)
  const newest = payments.at(-1)!.txHash
  yield* restore(database, seed === 1)

  const paid = new Set(payments.map(({ number }) => addresses.get(number)!))
  yield* inInstance(database, Effect.gen(function*() {
    yield* markHandled
    yield* follow(drivers)
    if (isDeclared) {
      const chains = yield* Chains
      // Everything was followed by now: what was not watched yet is found only in blocks that are read again.
      yield* eventually(Effect.map(journal, (rows) => rows.find(({ tx_hash }) => tx_hash === newest)))
      const declare = chains.restored("devnet", backupTime, null)
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
      const answer = yield* Effect.flatMap(Chains, (chains) => chains.restored("devnet", backupTime, null))
      assert.deepStrictEqual(answer.wallets.map(({ fromIndex, toIndex }) => toIndex - fromIndex), [1_000])
      yield* eventually(isDone)
    }
    const rows = yield* eventually(Effect.map(journal, (found) =>
      found.length === payments.length && found.every(({ handled, status }) => status === "confirmed" && handled === status)
        ? found
        : undefined)).pipe(Effect.timeout("20 seconds"))
    for (const { number, txHash } of payments) {
      const entries = rows.filter((row) => row.tx_hash === txHash)
      assert.deepStrictEqual(
        entries.map(({ invoice_id }) => invoice_id),
        [number < before ? invoiceId(number) : null],
        `seed ${seed}: ${txHash} of invoice ${number}`
      )
    }
  }))
})

describe("a restored backup", () => {
  it.live("that lost fewer than 20 addresses gives none of a paid invoice out again, and credits nothing twice", () =>
    Effect.forEach(Array.from({ length: 12 }, (_, place) => place + 1), (seed) =>
      history(seed, seed === 1 ? 19 : Math.floor(random(seed * 977)() * 20)).pipe(Effect.scoped), { discard: true }))

  it.live("that is declared gives no lost invoice's address out again, paid or open, and credits nothing twice", () =>
    Effect.forEach([1, 2, 3], (seed) =>
      history(seed, seed === 1 ? 60 : Math.floor(random(seed * 977)() * 80), true).pipe(Effect.scoped), { discard: true }),
    120_000)
})
