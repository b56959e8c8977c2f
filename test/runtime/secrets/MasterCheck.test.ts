/**
 * Goal: a service never starts on a database whose API keys and secrets it cannot read, and says what to do instead.
 * Method: the check over real databases, with keys given by the setting and by the key file.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, FileSystem, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  checkValueOf,
  layer as secretsLayer,
  masterFile,
  Secrets,
  type SecretsError
} from "../../../runtime/Secrets.ts"
import { checkMaster, fingerprintOf } from "../../../runtime/secrets/MasterCheck.ts"
import { Settings, SettingsSchema } from "../../../runtime/Settings.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"

const key = (fill: number) => Buffer.alloc(32, fill).toString("hex")
const nameOf = (fill: number) => fingerprintOf(checkValueOf(Buffer.alloc(32, fill)))

interface Given {
  /** Absent: the file of `directory`. */
  readonly master?: ReadonlyArray<string>
  readonly lostKeys?: ReadonlyArray<string>
  readonly directory?: string
}

/** What a start with these keys does before anything else uses them. */
const start = <A = void>(
  database: TestDatabase,
  given: Given,
  then?: Effect.Effect<A, unknown, SqlClient.SqlClient | Secrets>
) =>
  Effect.andThen(checkMaster, then ?? Effect.void).pipe(
    Effect.provide(
      Layer.fresh(secretsLayer).pipe(
        Layer.provideMerge(Layer.fresh(connect(database))),
        Layer.provideMerge(Layer.succeed(
          Settings,
          Settings.of({
            ...Schema.decodeUnknownSync(SettingsSchema)({
              environments: ["devnet"],
              ...(given.master === undefined
                ? {}
                : { secrets: { master: given.master, lostKeys: given.lostKeys ?? [] } })
            }),
            publicUrl: "http://localhost",
            dataDirectory: given.directory ?? "/nowhere",
            instanceId: "test"
          })
        ))
      ),
      { local: true }
    ),
    Effect.exit
  )

const refusalOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "started"
  const error = Cause.squash(exit.cause) as SecretsError
  assert.strictEqual(error._tag, "SecretsError", Cause.pretty(exit.cause))
  return error.message
}

/** An endpoint's secret as an older build left it, sealed by the keys of this start. */
const sealedEndpoint = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const sealed = (yield* Secrets).seal("webhook", "whsec_x")
  yield* sql`INSERT INTO webhook_endpoints (id, merchant_id, version, commerce_only, url, status, filters, api_version,
      sealed_secret, created_at, updated_at)
    VALUES ('we_1', 1, 1, false, 'https://x.example', 'enabled', '{*}', '1', ${sealed}, 1, 1)`
  yield* sql`DELETE FROM master_keys`
})

const promise = (name: string, body: Effect.Effect<unknown, unknown, any>) =>
  it.live(
    name,
    () => (body as Effect.Effect<unknown, unknown, never>).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

describe("the service does not start", () => {
  promise(
    "with another key than its database was used with, and says which, where it was, and what is lost",
    Effect.gen(function*() {
      const database = yield* freshDatabase
      assert.strictEqual(refusalOf(yield* start(database, { master: [key(1)] })), "started")
      assert.strictEqual(refusalOf(yield* start(database, { master: [key(1)] })), "started")
      const said = refusalOf(yield* start(database, { master: [key(2)] }))
      for (
        const part of [
          `belongs to the master key ${nameOf(1)}, in use since 20`,
          `from secrets.master, and secrets.master gives ${nameOf(2)}`,
          `Put the key ${nameOf(1)} into secrets.master again, after the new one if you are replacing it.`,
          "Without it no API key, session or webhook secret in this database works;",
          `set secrets.lostKeys to ["${nameOf(1)}"]`
        ]
      ) assert.include(said, part)
      assert.notInclude(said, key(1))
      assert.notInclude(said, key(2))
    })
  )

  promise(
    "where the key file of a kept database is lost: it says so, how to go on, and makes no new key",
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      const database = yield* freshDatabase
      const file = `${directory}/${masterFile}`
      assert.strictEqual(refusalOf(yield* start(database, { directory })), "started")
      assert.deepStrictEqual(yield* fs.readDirectory(directory), [masterFile])
      const first = yield* fs.readFileString(file)
      const name = fingerprintOf(checkValueOf(Buffer.from(first.trim(), "hex")))
      yield* fs.remove(file)
      for (const _ of ["first", "second"]) {
        const said = refusalOf(yield* start(database, { directory }))
        assert.match(said, /^The master key is missing: this database belongs to the master key/)
        assert.include(said, `in use since`)
        assert.include(
          said,
          `from ${file}, and ${file} is missing. Put the key ${name} back into ${file}, from your copy`
        )
        assert.include(said, "set secrets.master to a new key (openssl rand -hex 32) and secrets.lostKeys to")
        assert.deepStrictEqual(yield* fs.readDirectory(directory), [])
      }
      yield* fs.writeFileString(file, first)
      assert.strictEqual(refusalOf(yield* start(database, { directory })), "started")
    })
  )

  promise(
    "where the key file is lost and the database of an older build holds sealed values",
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      const database = yield* freshDatabase
      assert.strictEqual(refusalOf(yield* start(database, { directory }, sealedEndpoint)), "started")
      yield* fs.remove(`${directory}/${masterFile}`)
      const said = refusalOf(yield* start(database, { directory }))
      assert.include(said, `${directory}/${masterFile} is missing, and this database holds values sealed with the key`)
      assert.deepStrictEqual(yield* fs.readDirectory(directory), [])
    })
  )

  promise(
    "with another key file than its database was used with",
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      const database = yield* freshDatabase
      assert.strictEqual(refusalOf(yield* start(database, { directory })), "started")
      yield* fs.writeFileString(`${directory}/${masterFile}`, key(2))
      const said = refusalOf(yield* start(database, { directory }))
      assert.include(said, `${directory}/${masterFile} gives ${nameOf(2)}`)
      assert.include(said, "set secrets.master to a new key (openssl rand -hex 32) and secrets.lostKeys to")
    })
  )

  promise(
    "on a database of an older build that holds what its key cannot open; one that opens it is remembered",
    Effect.gen(function*() {
      const database = yield* freshDatabase
      assert.strictEqual(refusalOf(yield* start(database, { master: [key(1)] }, sealedEndpoint)), "started")
      const said = refusalOf(yield* start(database, { master: [key(2)] }))
      assert.include(said, "no key of secrets.master opens the sealed values in this database")
      assert.include(said, "set secrets.lostKeys to [\"unknown\"]")
      // Refusing remembered nothing.
      assert.strictEqual(refusalOf(yield* start(database, { master: [key(1)] })), "started")
      assert.include(refusalOf(yield* start(database, { master: [key(2)] })), `belongs to the master key ${nameOf(1)}`)
    })
  )

  promise(
    "as the second of two that begin at once on an empty database with different keys",
    Effect.gen(function*() {
      for (let round = 0; round < 5; round++) {
        const database = yield* freshDatabase
        const ends = yield* Effect.forEach([1, 2], (fill) => start(database, { master: [key(fill)] }), {
          concurrency: 2
        })
        assert.lengthOf(ends.filter(Exit.isSuccess), 1)
        const [, refused] = ends.map(refusalOf).toSorted((a, b) => Number(b === "started") - Number(a === "started"))
        assert.include(refused!, "belongs to the master key")
      }
    })
  )
})

describe("a master key", () => {
  promise(
    "is one for two that begin at once over an empty database and share their data directory",
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      for (let round = 0; round < 5; round++) {
        const directory = `${yield* fs.makeTempDirectoryScoped()}/data`
        const database = yield* freshDatabase
        const ends = yield* Effect.forEach([1, 2], () => start(database, { directory }), { concurrency: 2 })
        assert.deepStrictEqual(ends.map(refusalOf), ["started", "started"])
        assert.deepStrictEqual(yield* fs.readDirectory(directory), [masterFile])
        assert.strictEqual((yield* fs.stat(`${directory}/${masterFile}`)).mode & 0o777, 0o600)
      }
    })
  )

  promise(
    "is replaced by putting the new one first; from then on neither starts alone while the old one is not retired",
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const said: Array<string> = []
      for (const fills of [[1], [1, 2], [1], [2, 1], [2, 1], [1], [2], [1, 2], [1]]) {
        const exit = yield* start(database, { master: fills.map(key) })
        said.push(refusalOf(exit) === "started" ? "started" : "refused")
      }
      assert.deepStrictEqual(said, [
        "started",
        "started",
        "started",
        "started",
        "started",
        "refused",
        "refused",
        "started",
        "refused"
      ])
      const missing = refusalOf(yield* start(database, { master: [key(2)] }))
      assert.include(missing, `belongs to the master key ${nameOf(1)}`)
      const wrong = refusalOf(yield* start(database, { master: [key(1), key(3)] }))
      assert.include(wrong, `belongs to the master key ${nameOf(2)}, in use since 20`)
      assert.include(wrong, `secrets.master gives ${nameOf(1)}, ${nameOf(3)}.`)
      assert.include(wrong, "the rotation is not finished: `secrets rotate --finish` says when this key can be removed")
    })
  )

  promise(
    "that is lost for good is given up by its name, and by that of no other",
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* start(database, { master: [key(1)] })
      const withLost = (lostKeys: ReadonlyArray<string>) =>
        Effect.map(start(database, { master: [key(2)], lostKeys }), (exit) => refusalOf(exit) === "started")
      assert.isFalse(yield* withLost([nameOf(3)]))
      assert.isFalse(yield* withLost(["unknown"]))
      assert.isTrue(yield* withLost([nameOf(1)]))
      assert.isTrue(yield* withLost([]))
    })
  )
})
