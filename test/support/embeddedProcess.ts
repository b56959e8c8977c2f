/**
 * A service reduced to its store, for tests that start, kill and double it: prints one JSON line when the store is
 * ready and one when it failed or was lost, and serves until it is told to stop.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { StoreGuard, storeLayer } from "../../runtime/Store.ts"

const dataDirectory = process.argv[2] ?? ""

const say = (line: object) => Effect.sync(() => process.stdout.write(`${JSON.stringify(line)}\n`))

const service = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create table if not exists acknowledged (n bigint generated always as identity)`
  yield* sql`insert into acknowledged default values`
  const [row] = yield* sql<{ n: bigint; uid: string }>`select count(*) as n from acknowledged`
  yield* say({ ready: Number(row?.n) })
  return yield* (yield* StoreGuard).awaitLoss
})

service.pipe(
  Effect.provide(storeLayer("embedded", { maxConnections: 2, allowRoot: false }, dataDirectory, ["devnet"])),
  Effect.tapError((error) => say({ failed: error.message })),
  Effect.provide(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
