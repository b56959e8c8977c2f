import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { locationOf, objection, PostgresOptions } from "../../../runtime/store/Postgres.ts"
import { storeLayer } from "../../../runtime/Store.ts"
import { storeSuite } from "../../conformance/store.ts"
import { emptyDatabase, freshDatabase } from "../../support/Database.ts"
import type { TestDatabase } from "../../support/Database.ts"

const open = (database: Pick<TestDatabase, "url">) =>
  storeLayer(
    "postgres",
    { url: Redacted.make(database.url), maxConnections: 4, sessionSettings: "connection" },
    "/unused",
    ["devnet"]
  )

storeSuite("postgres", Layer.unwrap(Effect.map(emptyDatabase, open)))

const failure = (database: Pick<TestDatabase, "url">) =>
  Effect.flip(Effect.provide(SqlClient.SqlClient, open(database), { local: true }))

describe("the postgres store's checks", () => {
  it.live("name a missing database, and do not show the URL", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const error = yield* failure({ url: database.url.replace(database.database, "nowhere") })
      assert.include(error.message, "no such database")
      assert.notInclude(error.message, database.username + ":")
      assert.notInclude(error.message, "postgresql://")
    }))

  it.live("do not wait for a login that is refused", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const error = yield* failure({ url: database.url.replace(`//${database.username}`, "//nobody_here:hush") })
      assert.include(error.message, "refused the login")
      assert.notInclude(error.message, "hush")
    }))

  it.effect("refuse what cannot hold the service's state, and say what to do", () =>
    Effect.sync(() => {
      const good = { version: 150_000, version_text: "15.0", encoding: "UTF8", standby: false }
      assert.isUndefined(objection(good))
      assert.include(objection({ ...good, version: 140_019, version_text: "14.19" })?.what, "14.19 is too old")
      assert.include(objection({ ...good, encoding: "LATIN1" })?.hint, "encoding 'UTF8'")
      assert.include(objection({ ...good, standby: true })?.what, "read-only")
    }))

  it.effect("take a URL only, keep it out of sight, and default to 10 connections", () =>
    Effect.gen(function*() {
      const decode = Schema.decodeUnknownEffect(PostgresOptions)
      const options = yield* decode({ url: "postgresql://till:hush@db.example:5433/till?sslmode=require" })
      assert.strictEqual(options.maxConnections, 10)
      assert.notInclude(JSON.stringify(options) + String(options.url), "hush")
      assert.strictEqual(locationOf(options.url), "db.example:5433/till")
      const error = yield* Effect.flip(decode({ url: "mysql://till:hush@db/till" }))
      assert.notInclude(String(error), "hush")
    }))
})
