/**
 * Goal: a master key is replaced without anything that was made under it being lost, whatever happens meanwhile.
 * Method: the rotation over real databases with the tables of every module, rows sealed by one key and read by another.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { globSync, readFileSync } from "node:fs"
import type { PublicError } from "../../../schemas/Errors.ts"
import {
  checkValueOf,
  fromMasters,
  idOf,
  layer as secretsLayer,
  type SealedColumn,
  sealedPattern,
  Secrets
} from "../../../runtime/Secrets.ts"
import { keyRetentions } from "../../../runtime/secrets/RetainedKeys.ts"
import * as KeyUses from "../../../runtime/secrets/KeyUses.ts"
import { checkMaster, fingerprintOf } from "../../../runtime/secrets/MasterCheck.ts"
import { addCounts, firstPosition, noCounts, pageRows, type Position } from "../../../runtime/secrets/Reseal.ts"
import { advice, keyLines } from "../../../runtime/secrets/RotationCommand.ts"
import { layer as rotationLayer, Rotation } from "../../../runtime/secrets/Rotation.ts"
import { Settings, SettingsSchema } from "../../../runtime/Settings.ts"
import { runtimeSealedColumns } from "../../../runtime/Tables.ts"
import { connect, migratedDatabase, type TestDatabase } from "../../support/Database.ts"

const master = (fill: number) => Buffer.alloc(32, fill)
const nameOf = (fill: number) => fingerprintOf(checkValueOf(master(fill)))
const modules = new URL("../../../modules/", import.meta.url)

/** What every owner of tables says that a rotation seals anew. */
const declaredColumns: Effect.Effect<ReadonlyArray<SealedColumn>> = Effect.promise(async () => {
  const files = globSync("*/migrations.ts", { cwd: modules.pathname }).toSorted()
  const declared = await Promise.all(files.map((path) => import(new URL(path, modules).href)))
  return [...runtimeSealedColumns, ...declared.flatMap(({ sealedColumns = [] }) => sealedColumns)]
})

interface Started {
  readonly secrets: Secrets["Service"]
  readonly rotation: Rotation["Service"]
  readonly sql: SqlClient.SqlClient
}

let processes = 0

/** A process that started with these keys, the first of which makes new values, until the scope closes. */
const start = Effect.fnUntraced(function*(
  database: TestDatabase,
  fills: ReadonlyArray<number>,
  lostKeys: ReadonlyArray<string> = []
) {
  const columns = yield* declaredColumns
  const settings = Settings.of({
    ...Schema.decodeUnknownSync(SettingsSchema)({
      environments: ["devnet"],
      secrets: { master: fills.map((fill) => master(fill).toString("hex")), lostKeys }
    }),
    publicUrl: "http://localhost",
    dataDirectory: "/nowhere",
    instanceId: `process-${++processes}`
  })
  const context = yield* Layer.build(
    Layer.merge(KeyUses.layer, rotationLayer(columns)).pipe(
      Layer.provideMerge(Layer.effectDiscard(checkMaster)),
      Layer.provideMerge(Layer.fresh(secretsLayer)),
      Layer.provideMerge(Layer.fresh(connect(database))),
      Layer.provide(Layer.succeed(Settings, settings))
    ) as Layer.Layer<Secrets | Rotation | SqlClient.SqlClient, unknown>
  )
  const started: Started = {
    secrets: Context.get(context, Secrets),
    rotation: Context.get(context, Rotation),
    sql: Context.get(context, SqlClient.SqlClient)
  }
  return started
})

/** The message with which a start or a call was refused. */
const refusalOf = <A>(effect: Effect.Effect<A, unknown, any>) =>
  Effect.map(
    Effect.exit(effect as Effect.Effect<A, unknown>),
    (exit) => Exit.isSuccess(exit) ? "none" : (Cause.squash(exit.cause) as Error | PublicError).message
  )

/** How a row of each sealed column comes to be: `n` tells rows apart. A new column needs a line here. */
const rowOf: Readonly<
  Record<string, (sql: SqlClient.SqlClient, n: number, sealed: string) => Effect.Effect<unknown, unknown>>
> = {
  "retained_keys.sealed_key": (sql, n, sealed) =>
    sql`INSERT INTO retained_keys (label, key_id, sealed_key) VALUES (${`test${n}`}, ${n % 256}, ${sealed})`,
  "webhook_endpoints.sealed_secret": (sql, n, sealed) =>
    sql`INSERT INTO webhook_endpoints (id, merchant_id, version, commerce_only, url, status, filters, api_version,
        sealed_secret, created_at, updated_at)
      VALUES (${`we_${n}`}, 1, 1, false, 'https://x.example', 'enabled', '{*}', '1', ${sealed}, 1, 1)`,
  "webhook_endpoints.sealed_previous_secret": (sql, n, sealed) =>
    sql`INSERT INTO webhook_endpoints (id, merchant_id, version, commerce_only, url, status, filters, api_version,
        sealed_secret, sealed_previous_secret, previous_secret_expires_at, created_at, updated_at)
      VALUES (${`wp_${n}`}, 1, 1, false, 'https://x.example', 'enabled', '{*}', '1', ${sealed}, ${sealed}, 1, 1, 1)`,
  "idempotency.sealed_body": (sql, n, sealed) =>
    sql`INSERT INTO idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body)
      VALUES (1, 'devnet', ${`POST /x ${n}`}, 'f', 200, ${sealed})`,
  "mail_messages.sealed_content": (sql, n, sealed) =>
    sql`INSERT INTO mail_messages (merchant_id, id, version, environment, kind, sealed_content, status, attempts,
        created_at, due_at)
      VALUES (1, ${`m${n}`}, 1, 'devnet', 'claim', ${sealed}, 'waiting', 0, 1, 1)`,
  "customer_erasures.sealed_customer_id": (sql, n, sealed) =>
    sql`INSERT INTO customer_erasures (merchant_id, environment, customer, version, sealed_customer_id, until,
        requested_at, due_at)
      VALUES (1, 'devnet', ${`c${n}`}, 1, ${sealed}, gen_random_uuid(), 1, 1)`
}

const nameOfColumn = ({ column, table }: SealedColumn) => `${table}.${column}`

/** What one row holds of each column: texts as people write them, long and empty ones too. */
const plainOf = (column: SealedColumn, n: number) =>
  column.label === "retained" ? "QQ==" : n % 7 === 0 ? "" : `${nameOfColumn(column)} ${n} é€`.repeat(1 + (n % 5))

/** Adds `count` rows to every column, sealed by `secrets`. */
const fill = Effect.fnUntraced(function*({ secrets, sql }: Started, count: number) {
  for (const column of yield* declaredColumns) {
    const insert = rowOf[nameOfColumn(column)]
    assert.isDefined(insert, `a row with ${nameOfColumn(column)}: add one to rowOf`)
    yield* sql.withTransaction(
      Effect.forEach(
        Array.from({ length: count }),
        (_, n) => insert!(sql, n, secrets.seal(column.label, plainOf(column, n))),
        { discard: true }
      )
    )
  }
})

/** All sealed values of a column. */
const valuesOf = (sql: SqlClient.SqlClient, { column, table }: SealedColumn) =>
  Effect.map(
    sql.unsafe<{ sealed: string }>(`SELECT ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`),
    (rows) => rows.map(({ sealed }) => sealed)
  )

/** A whole pass, or `pages` of one. */
const pass = Effect.fnUntraced(function*({ rotation }: Started, pages = Infinity) {
  let counts = noCounts
  let at: Position | null = firstPosition
  for (let n = 0; at !== null && n < pages; n++) {
    const found: Effect.Success<ReturnType<Rotation["Service"]["page"]>> = yield* rotation.page(at, true)
    counts = addCounts(counts, found.counts)
    at = found.next
  }
  return counts
})

describe("a rotation of the master key", () => {
  it.live("knows every sealed column of the schema, and every label that something is sealed under", () =>
    Effect.gen(function*() {
      const { sql } = yield* start(yield* migratedDatabase, [1])
      const declared = yield* declaredColumns
      const found = yield* sql<{ name: string }>`SELECT table_name || '.' || column_name AS name
        FROM information_schema.columns WHERE table_schema = 'public' AND column_name LIKE 'sealed\_%' ORDER BY name`
      assert.deepStrictEqual(found.map(({ name }) => name), declared.map(nameOfColumn).toSorted())

      const root = new URL("../../../", import.meta.url).pathname
      const sources = globSync(["runtime/**/*.ts", "modules/**/*.ts"], { cwd: root })
        .filter((path) => !path.includes("node_modules")).map((path) => readFileSync(`${root}${path}`, "utf8"))
      const labels = new Set(
        sources.flatMap((text) => [...text.matchAll(/\.seal\(\s*"(\w+)"/g)].map(([, label]) => label))
      )
      assert.deepStrictEqual([...labels].toSorted(), [...new Set(declared.map(({ label }) => label))].toSorted())
      for (const { label } of declared.filter(({ label }) => keyRetentions[label].keptSeconds !== "resealed")) {
        assert.include(["personal", "mail"], label, "its key is retained for what it hashes")
      }
    }).pipe(Effect.scoped))

  it("is told of the columns by each module that has some", () => {
    for (const path of globSync("*/migrations.ts", { cwd: modules.pathname })) {
      const folder = path.slice(0, path.indexOf("/"))
      const plugin = readFileSync(new URL(`${folder}/plugin.ts`, modules), "utf8")
      const declares = readFileSync(new URL(path, modules), "utf8").includes("export const sealedColumns")
      assert.strictEqual(/^ {2}sealedColumns,$/m.test(plugin), declares, path)
    }
  })

  it.live("seals every value anew, so that the new key alone opens all and the old one none", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const count = pageRows + 7
      yield* Effect.scoped(Effect.flatMap(start(database, [1]), (old) => fill(old, 40)))
      const both = yield* start(database, [2, 1])
      const { secrets, sql } = yield* Effect.succeed(both)
      // More than a page of one kind; half of it is new already.
      yield* sql.withTransaction(Effect.gen(function*() {
        const old = yield* fromMasters([master(1)])
        for (let n = 40; n < count; n++) {
          const maker = n % 2 === 0 ? secrets : old
          yield* rowOf["idempotency.sealed_body"]!(sql, n, maker.seal("reply", `${n}`))
        }
      }))
      const counts = yield* pass(both)
      // The endpoints of one column are rows of the other: 40 with one value, 40 with two.
      assert.strictEqual(counts.resealed, 40 * 7 + Math.floor((count - 40) / 2))
      assert.deepInclude(counts, { older: 0, closed: 0 })
      assert.deepInclude(yield* pass(both), { resealed: 0, older: 0, closed: 0 })
      const [fresh, old] = [yield* fromMasters([master(2)]), yield* fromMasters([master(1)])]
      for (const column of yield* declaredColumns) {
        const values = yield* valuesOf(sql, column)
        assert.isAtLeast(values.length, 40)
        const plain = values.map((sealed) => fresh.open(column.label, sealed))
        const expected = Array.from({ length: 40 }, (_, n) => plainOf(column, n))
        for (const text of expected) assert.include(plain, text, nameOfColumn(column))
        assert.notInclude(plain, undefined)
        assert.isUndefined(values.map((sealed) => old.open(column.label, sealed)).find((text) => text !== undefined))
      }
    }).pipe(Effect.scoped))

  it.live("that ended in the middle goes on with what is left, and two at once do it together", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      yield* Effect.scoped(Effect.flatMap(start(database, [1]), (old) => fill(old, 60)))
      const one = yield* start(database, [2, 1])
      const other = yield* start(database, [2, 1])
      const first = yield* pass(one, 2)
      assert.isAbove(first.resealed, 0)
      const together = yield* Effect.all([pass(one), pass(other)], { concurrency: 2 })
      const rest = addCounts(together[0], together[1])
      assert.isAtMost(first.resealed + rest.resealed, 60 * 7)
      yield* pass(one)
      assert.deepInclude(yield* pass(other), { resealed: 0, older: 0, closed: 0 })
      const fresh = yield* fromMasters([master(2)])
      for (const column of yield* declaredColumns) {
        for (const sealed of yield* valuesOf(one.sql, column)) assert.isDefined(fresh.open(column.label, sealed))
      }
    }).pipe(Effect.scoped))

  it.live("never undoes a change that came between, waits for no row, and makes a writer that read before lose its race", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const old = yield* Effect.scoped(Effect.gen(function*() {
        const started = yield* start(database, [1])
        yield* rowOf["webhook_endpoints.sealed_secret"]!(started.sql, 1, started.secrets.seal("webhook", "before"))
        return started.secrets
      }))
      const both = yield* start(database, [2, 1])
      const { sql } = yield* start(database, [2, 1])
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`UPDATE webhook_endpoints SET sealed_secret = ${old.seal("webhook", "after")}, version = 2`
        assert.deepInclude(yield* pass(both), { resealed: 0, older: 1 })
      }))
      assert.deepInclude(yield* pass(both), { resealed: 1, older: 0 })
      const [row] = yield* sql<{ sealed: string; version: bigint }>`
        SELECT sealed_secret AS sealed, version FROM webhook_endpoints`
      assert.strictEqual(both.secrets.open("webhook", row!.sealed), "after")
      assert.strictEqual(Number(row!.version), 3)
    }).pipe(Effect.scoped))

  it.live("counts what a lost key sealed, and leaves it as it is", () =>
    Effect.gen(function*() {
      const both = yield* start(yield* migratedDatabase, [2, 1])
      const lost = (yield* fromMasters([master(9)])).seal("reply", "x")
      yield* rowOf["idempotency.sealed_body"]!(both.sql, 1, lost)
      assert.deepInclude(yield* pass(both), { resealed: 0, older: 0, closed: 1 })
      assert.deepStrictEqual(yield* valuesOf(both.sql, runtimeSealedColumns.at(-1)!), [lost])
    }).pipe(Effect.scoped))

  it("tells by the first two letters which key sealed a text", () => {
    for (let id = 0; id < 256; id++) {
      for (let next = 0; next < 256; next++) {
        const sealed = Buffer.of(id, next, 7).toString("base64")
        assert.isTrue(new RegExp(sealedPattern(id)).test(sealed))
        assert.isFalse(new RegExp(sealedPattern((id + 1 + next % 255) % 256)).test(sealed))
      }
    }
  })
})

describe("the end of a rotation", () => {
  it.live("is not needed of a key that was given up as lost", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      yield* Effect.scoped(start(database, [1]))
      yield* Effect.scoped(start(database, [2], [nameOf(1)]))
      const { rotation } = yield* start(database, [2])
      assert.deepStrictEqual((yield* rotation.keys).map(({ name, retired }) => [name, retired === null]), [
        [nameOf(1), false],
        [nameOf(2), true]
      ])
    }).pipe(Effect.scoped))

  it.live("lets the old key be removed: what it hashed is still found, what it signed ends when it would have ended", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const old = yield* Effect.scoped(Effect.gen(function*() {
        const started = yield* start(database, [1])
        yield* fill(started, 3)
        yield* started.sql`DELETE FROM retained_keys`
        return started.secrets
      }))
      const both = yield* start(database, [2, 1])
      const after = yield* both.rotation.finish(false)
      assert.deepStrictEqual(after.map(({ name, retired }) => [name, retired === null]), [
        [nameOf(1), false],
        [nameOf(2), true]
      ])
      const alone = yield* start(database, [2])
      for (const label of ["pepper", "personal", "receipt", "session", "jwt", "mail"] as const) {
        const [newest, retained] = alone.secrets.keys(label)
        assert.strictEqual(newest.id, idOf(master(2)))
        assert.isTrue(retained!.key.equals(old.keys(label)[0].key), label)
      }
      for (const label of ["webhook", "reply", "retained"] as const) assert.lengthOf(alone.secrets.keys(label), 1)
      const ends = yield* alone.sql<{ label: string }>`SELECT label FROM retained_keys WHERE ends_at IS NOT NULL
        AND ends_at BETWEEN now() + interval '59 minutes' AND now() + interval '61 minutes' ORDER BY label`
      assert.deepStrictEqual(ends.map(({ label }) => label), ["jwt", "mail"])
      yield* alone.sql`UPDATE retained_keys SET ends_at = now() WHERE ends_at IS NOT NULL`
      const later = yield* start(database, [2])
      assert.lengthOf(later.secrets.keys("jwt"), 1)
      assert.lengthOf(later.secrets.keys("pepper"), 2)
    }).pipe(Effect.scoped))

  it.live("can be repeated with the next key: what was retained once stays", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const [first] = (yield* start(database, [1])).secrets.keys("pepper")
      for (const fills of [[2, 1], [3, 2]]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const started = yield* start(database, fills)
          yield* started.sql`DELETE FROM master_key_uses WHERE check_value <> ${checkValueOf(master(fills[0]!))}`
          yield* started.rotation.finish(false)
          assert.deepStrictEqual(yield* started.rotation.finish(false), yield* started.rotation.keys)
        }))
      }
      const { secrets } = yield* start(database, [3])
      assert.deepStrictEqual(
        secrets.keys("pepper").map(({ id }) => id).toSorted(),
        [1, 2, 3].map((fill) => idOf(master(fill))).toSorted()
      )
      assert.isTrue(secrets.keys("pepper").find(({ id }) => id === first.id)!.key.equals(first.key))
    }).pipe(Effect.scoped))

  it.live("of a key that others know keeps nothing by which they open doors", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      yield* Effect.scoped(start(database, [1]))
      yield* Effect.scoped(Effect.flatMap(start(database, [2, 1]), ({ rotation }) => rotation.finish(true)))
      const { secrets } = yield* start(database, [2])
      for (const label of ["session", "receipt", "jwt"] as const) assert.lengthOf(secrets.keys(label), 1, label)
      assert.lengthOf(secrets.keys("pepper"), 2)
    }).pipe(Effect.scoped))

  it.live("is refused while a process still makes values with the old key, and names it", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const both = yield* Effect.scoped(Effect.gen(function*() {
        yield* start(database, [1, 2])
        const started = yield* start(database, [2, 1])
        const said = yield* refusalOf(started.rotation.finish(false))
        assert.match(
          said,
          new RegExp(`the process process-\\d+ still makes new values with the master key ${nameOf(1)}`)
        )
        assert.include(said, `put ${nameOf(2)} first in its secrets.master and restart it`)
        assert.strictEqual((yield* started.rotation.keys).find(({ name }) => name === nameOf(1))?.retired, null)
      }))
      assert.isUndefined(both)
      // Both have stopped. One that puts the old key first again adopts it, and the other cannot retire it.
      const late = yield* start(database, [2, 1])
      yield* Effect.scoped(start(database, [1, 2]))
      assert.include(
        yield* refusalOf(late.rotation.finish(false)),
        `another was started later with ${nameOf(1)} first`
      )
    }).pipe(Effect.scoped))

  it.live("leaves no way back: a start with the retired key first is refused by its name", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      yield* Effect.scoped(start(database, [1]))
      yield* Effect.scoped(Effect.flatMap(start(database, [2, 1]), ({ rotation }) => rotation.finish(false)))
      const said = yield* refusalOf(Effect.scoped(start(database, [1, 2])))
      assert.include(said, `the master key ${nameOf(1)} was retired on 20`)
      assert.include(said, `Put ${nameOf(2)} first again`)
      assert.strictEqual(yield* refusalOf(Effect.scoped(start(database, [2, 1]))), "none")
    }).pipe(Effect.scoped))

  it.live("keeps a new key out whose id is that of a retained one", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      yield* Effect.scoped(start(database, [1]))
      yield* Effect.scoped(Effect.flatMap(start(database, [2, 1]), ({ rotation }) => rotation.finish(false)))
      const twin = Array.from({ length: 255 }, (_, fill) => fill).find((fill) =>
        fill > 2 && idOf(master(fill)) === idOf(master(1))
      )
      assert.isDefined(twin)
      assert.include(yield* refusalOf(Effect.scoped(start(database, [twin!, 2]))), "make another key")
      assert.strictEqual(yield* refusalOf(Effect.scoped(start(database, [2]))), "none")
    }).pipe(Effect.scoped))
})

describe("secrets status", () => {
  const key = (name: string, retired: string | null, processes: ReadonlyArray<string> = []) => ({
    name,
    kept_in: "secrets.master",
    since: "2026-11-01",
    retired,
    is_configured: true,
    processes
  })
  const keys = [key("aaaaaaaa", null), key("bbbbbbbb", null, ["one", "two"])]

  it("says in turn what an operator does next, and when the old key may go", () => {
    assert.strictEqual(
      advice(keys, { ...noCounts, older: 3 }),
      "3 values are sealed under an older key: run secrets rotate."
    )
    assert.match(advice(keys, noCounts), /Run secrets rotate --finish before you remove it from secrets\.master\.$/)
    assert.match(advice([key("aaaaaaaa", "2026-11-28"), keys[1]!], noCounts), /^One master key is needed\./)
    assert.match(advice(keys, { ...noCounts, closed: 2 }), /2 values are sealed under a key that is not configured/)
  })

  it("names each key by what cannot give it away, where it is kept, and who makes values with it", () => {
    assert.deepStrictEqual(keyLines([key("aaaaaaaa", "2026-11-28"), keys[1]!]), [
      "aaaaaaaa  retired on 2026-11-28, in use since 2026-11-01 from secrets.master",
      "bbbbbbbb  needed, in use since 2026-11-01 from secrets.master, makes new values in 2 running processes"
    ])
  })
})
