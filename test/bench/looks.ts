/**
 * What a look at the chain costs a network where other networks have 10,000 receiving wallets with an open invoice
 * each: before it reads a block, it learns what was given out since the look before. Beside it, the same with one
 * wallet; and with a wallet in use, that another address was taken from.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { make as makeRepo } from "../../runtime/chains/ChainsRepo.ts"
import { make as makeTargets } from "../../runtime/chains/Targets.ts"
import { make as makeAddresses } from "../../runtime/chains/WalletAddresses.ts"
import { migrate } from "../../runtime/Migrate.ts"
import { sessionSettings } from "../../runtime/store/Sessions.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, type DatabaseServer } from "./Database.ts"
import { median, quantile, type ReportLine } from "./Report.ts"

const many = 10_000
const looksPerRound = 200
/** The first looks of a round are not counted. */
const warmUp = 50

/** The wallets, each with an address for an open invoice and forty derived ahead. */
const fill = Effect.fnUntraced(function*(wallets: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO wallet_counters (fingerprint, merchant_id, version, next_index)
    SELECT 'wallet' || n, 0, 1, 1 FROM generate_series(1, ${wallets}::int) n`
  yield* sql`INSERT INTO wallet_batches (fingerprint, batch) SELECT 'wallet' || n, 1
    FROM generate_series(1, ${wallets}::int) n`
  yield* sql`INSERT INTO wallet_addresses (fingerprint, wallet_index, family, address, match_key, batch)
    SELECT 'wallet' || n, i, 'evm', 'address' || n || '-' || i, 'key' || n || '-' || i, 1
    FROM generate_series(1, ${wallets}::int) n, generate_series(1, 40) i`
  yield* sql`INSERT INTO receive_targets (id, merchant_id, version, family, match_key, invoice_id, environment, address,
      fingerprint, wallet_index, created_at)
    SELECT 'evm:key' || n || '-0', 1, 1, 'evm', 'key' || n || '-0', 'invoice' || n, 'mainnet', 'address' || n || '-0',
      'wallet' || n, 0, 1 FROM generate_series(1, ${wallets}::int) n`
  yield* sql.unsafe("VACUUM ANALYZE")
})

/** Milliseconds of each look. */
const timed = Effect.fnUntraced(function*(look: Effect.Effect<void>, between: Effect.Effect<unknown, unknown>) {
  const millis: Array<number> = []
  for (let count = 0; count < warmUp + looksPerRound; count++) {
    yield* Effect.orDie(between)
    const start = performance.now()
    yield* look
    if (count >= warmUp) millis.push(performance.now() - start)
  }
  return millis
})

/** The looks of one side: at rest, and each after another address was given out; and the first of all. */
const measure = (server: DatabaseServer, database: string, wallets: number, rounds: number) =>
  Effect.gen(function*() {
    yield* createDatabase(server, database)
    return yield* Effect.gen(function*() {
      yield* migrate("runtime", runtimeMigrations)
      yield* fill(wallets)
      const sql = yield* SqlClient.SqlClient
      const repo = yield* makeRepo
      const addresses = yield* makeAddresses(repo)
      const start = performance.now()
      const targets = yield* makeTargets(repo, addresses, { heads: () => ({}), awaitCatchUp: () => Effect.void })
      const first = performance.now() - start
      const { refresh } = targets.watch("solana", "mainnet")
      const use = sql`UPDATE wallet_counters SET next_index = next_index + 1, version = version + 1
        WHERE fingerprint = 'wallet1'`
      const idle: Array<number> = []
      const inUse: Array<number> = []
      for (let round = 0; round < rounds; round++) {
        idle.push(...yield* timed(refresh, Effect.void))
        inUse.push(...yield* timed(refresh, use))
      }
      return { first, idle, inUse }
    }).pipe(
      Effect.scoped,
      Effect.provide(
        PgClient.layer({
          host: server.host,
          username: "postgres",
          database,
          maxConnections: 4,
          startupParameters: sessionSettings
        }).pipe(Layer.orDie),
        { local: true }
      ),
      Effect.orDie
    )
  })

export const looks = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    const one = yield* measure(server, "looks_one", 1, rounds)
    const all = yield* measure(server, "looks_many", many, rounds)
    const note = (side: typeof one, kind: "idle" | "inUse") =>
      `${median(side[kind]).toFixed(3)} ms, p99 ${quantile(side[kind], 0.99).toFixed(3)} ms`
    for (const kind of ["idle", "inUse"] as const) {
      progress(`looks ${kind}: with 1 wallet ${note(one, kind)}; with ${many} ${note(all, kind)}`)
    }
    return [
      {
        section: "looks",
        what: `a network's look beside ${many.toLocaleString("en")} wallets with an open invoice each`,
        value: median(all.idle),
        unit: "ms",
        goal: { atMost: 0.4 },
        note: `${note(all, "idle")}; beside 1 wallet ${note(one, "idle")}`
      },
      {
        section: "looks",
        what: "the same while one of the wallets gives out an address before each look",
        value: median(all.inUse),
        unit: "ms",
        note: `${note(all, "inUse")}; beside 1 wallet ${note(one, "inUse")}`
      },
      {
        section: "looks",
        what: `the first look after a start, which reads ${many.toLocaleString("en")} wallets`,
        value: all.first,
        unit: "ms"
      }
    ]
  })
