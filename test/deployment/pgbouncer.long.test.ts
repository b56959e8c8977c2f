/**
 * Goal: a pooler before the database is either sound or refused at the start, with a sentence that says what to do.
 * Method: the real pgbouncer, in each of its modes, in front of the real PostgreSQL.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { chmodSync, writeFileSync } from "node:fs"
import { connect as connectSocket } from "node:net"
import { join } from "node:path"
import type { StoreError } from "../../runtime/store/StoreError.ts"
import * as Postgres from "../../runtime/store/Postgres.ts"
import { makeSessionWatch, sessionSettings } from "../../runtime/store/Sessions.ts"
import { storeLayer, type StoreOptions } from "../../runtime/Store.ts"
import { connect, migratedDatabase, type TestDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { configOf, startService, temporaryDirectory, until } from "../support/Service.ts"

const isInstalled = spawnSync("pgbouncer", ["--version"]).error === undefined

/** The account `nobody`: pgbouncer does not run as root. */
const nobody = { uid: 65_534, gid: 65_534 }

interface Pooler {
  /** `session`, `transaction` or `statement`. */
  readonly mode: string
  /** Settings of a connection that it drops without a word. */
  readonly ignored?: ReadonlyArray<string>
}

/** A pooler of its own before a database, which ends with the scope. */
const startPooler = Effect.fnUntraced(function*(database: TestDatabase, { ignored = [], mode }: Pooler) {
  const port = yield* freePort
  const folder = yield* temporaryDirectory
  chmodSync(folder, 0o755)
  const users = join(folder, "users.txt")
  writeFileSync(users, `"${database.username}" "${database.password ?? ""}"\n`)
  const file = join(folder, "pgbouncer.ini")
  const writeSettings = (poolMode: string) =>
    writeFileSync(
      file,
      `[databases]
* = host=${database.host} port=${database.port} user=${database.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
auth_file = ${users}
pool_mode = ${poolMode}
default_pool_size = 40
ignore_startup_parameters = ${["extra_float_digits", ...ignored].join(",")}
`
    )
  writeSettings(mode)
  let log = ""
  const pooler = yield* Effect.acquireRelease(
    Effect.sync((): ChildProcess => {
      const child = spawn("pgbouncer", [file], {
        stdio: ["ignore", "ignore", "pipe"],
        ...(process.getuid?.() === 0 ? nobody : {})
      })
      child.stderr.on("data", (text) => log += String(text))
      return child
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const reloads = Effect.sync(() => log.split("re-reading config").length - 1)
  yield* until(
    "the pooler answers",
    Effect.callback<boolean>((resume) => {
      const socket = connectSocket(port, "127.0.0.1")
      socket.once("connect", () => {
        socket.destroy()
        resume(Effect.succeed(true))
      })
      socket.once("error", () => resume(Effect.succeed(false)))
    }),
    (answers) => answers
  )
  return {
    url: `postgresql://${database.username}@127.0.0.1:${port}/${database.database}`,
    /** Gives it another mode while it runs, as an operator would. Once it says so, it does nothing before it reads. */
    setMode: Effect.fnUntraced(function*(next: string) {
      const before = yield* reloads
      writeSettings(next)
      pooler.kill("SIGHUP")
      yield* until("the pooler reads its settings", reloads, (count) => count > before)
    })
  }
})

const poolerUrl = (database: TestDatabase, pooler: Pooler) =>
  Effect.map(startPooler(database, pooler), ({ url }) => url)

type Source = StoreOptions["postgres"]["sessionSettings"]

const openStore = (url: string, source: Source) =>
  Effect.provide(
    SqlClient.SqlClient,
    storeLayer("postgres", { url: Redacted.make(url), maxConnections: 4, sessionSettings: source }, "/unused", []),
    { local: true }
  )

const refusal = (url: string, source: Source): Effect.Effect<StoreError> =>
  Effect.orDie(Effect.flip(openStore(url, source)))

/** Runs the statements that a refusal names, as the operator would. */
const runHint = (database: TestDatabase, hint: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => Effect.forEach(hint.match(/ALTER ROLE [^;]+;/g) ?? [], (statement) => sql.unsafe(statement))
  ).pipe(
    Effect.provide(connect(database), { local: true }),
    Effect.orDie
  )

const behindPooler = describe.skipIf(!isInstalled)

behindPooler("a store behind pgbouncer", () => {
  it.live("says how the role gets the settings that the pooler refuses, and serves a merchant once it has them", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const url = yield* poolerUrl(database, { mode: "session" })
      const refused = yield* refusal(url, "connection")
      assert.include(refused.what, "refuses the settings of a session")
      assert.include(refused.hint, "\"sessionSettings\": \"role\"")

      const lacking = yield* refusal(url, "role")
      assert.include(lacking.what, "statement_timeout is '0', not '30s'")
      assert.lengthOf(yield* runHint(database, lacking.hint), Object.keys(sessionSettings).length)

      // Sessions that the pooler opened before do not have them: another pooler has none of those.
      const config = configOf({ database: database.url, chains: [{ use: "simulated" }] })
      const { setMode, url: goodUrl } = yield* startPooler(database, { mode: "session" })
      const options = { url: goodUrl, sessionSettings: "role" }
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: { ...config, store: { use: "postgres", options } }
      })
      const { merchant_key: key } = yield* service.keys
      const create = (number: number) =>
        service.call("/api/v1/invoices", {
          headers: { "x-api-key": key, "idempotency-key": `behind-a-pooler-${number}` },
          body: { amount_usd: 5 }
        })
      const created = yield* create(0)
      assert.strictEqual(created.status, 200, created.text)

      // The pooler is set to another mode and back: what fails meanwhile must not fail afterwards.
      yield* setMode("transaction")
      yield* Effect.forEach(Array.from({ length: 60 }), (_, number) => create(number), {
        concurrency: 12,
        discard: true
      })
      yield* setMode("session")
      const numbers = Array.from({ length: 60 }, (_, number) => 100 + number)
      const answers = yield* Effect.forEach(numbers, create, { concurrency: 12 })
      assert.deepStrictEqual(answers.filter(({ status }) => status !== 200).map(({ text }) => text), [])
    }).pipe(Effect.scoped))

  it.live("is refused where settings are dropped without a word", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const ignored = Object.keys(sessionSettings).map((name) => name.toLowerCase())
      const url = yield* poolerUrl(database, { mode: "session", ignored })
      assert.include((yield* refusal(url, "connection")).what, "statement_timeout is '0', not '30s'")
    }).pipe(Effect.scoped))

  it.live("lends no session that a pooler left in a transaction, and says in health that it keeps none", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const first = yield* refusal(yield* poolerUrl(database, { mode: "session" }), "role")
      yield* runHint(database, first.hint)
      const { setMode, url } = yield* startPooler(database, { mode: "session" })
      const options = { url: Redacted.make(url), maxConnections: 8, sessionSettings: "role" as const }
      const store = yield* Layer.build(Postgres.layer(options))
      const sql = Context.get(store, SqlClient.SqlClient)
      const findings = yield* Effect.provideContext(makeSessionWatch("the pooler", 0), store)
      // Transactions that end well and badly, as many at once as there are connections.
      const work = Effect.forEach(
        Array.from({ length: 200 }, (_, index) => index),
        (index) =>
          Effect.exit(sql.withTransaction(Effect.gen(function*() {
            yield* sql`select ${index}::int`
            if (index % 3 === 0) yield* sql`select 1 / (${index}::int - ${index}::int)`
          }))),
        { concurrency: 8, discard: true }
      )
      yield* work
      assert.deepStrictEqual(yield* findings, [])
      for (let round = 0; round < 3; round++) {
        yield* setMode("transaction")
        yield* work
        const [told] = yield* until("health tells", findings, (found) => found.length > 0)
        assert.include(told!.message, "now gives one connection the sessions of several")
        yield* setMode("session")
        yield* until("it keeps sessions again", findings, (found) => found.length === 0)
        const answers = yield* Effect.forEach(
          Array.from({ length: 50 }),
          () => Effect.result(sql`select 1 as one`),
          { concurrency: 8 }
        )
        assert.deepStrictEqual(answers.filter(Result.isFailure), [])
      }
    }).pipe(Effect.scoped))

  it.live("is refused where a connection has the sessions of several", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const direct = yield* refusal(yield* poolerUrl(database, { mode: "session" }), "role")
      yield* runHint(database, direct.hint)
      const refused = yield* refusal(yield* poolerUrl(database, { mode: "transaction" }), "role")
      assert.include(refused.what, "the sessions of several")
      assert.include(refused.hint, "pool_mode = session")
    }).pipe(Effect.scoped))
})
