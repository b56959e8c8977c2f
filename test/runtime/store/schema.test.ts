/**
 * Goal: a change of the database is seen in review as what it is: `test/schema.sql` holds what all migrations make.
 * Method: the migrations of the runtime and of each module on an empty database, read back from PostgreSQL's catalog.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { migrate } from "../../../runtime/Migrate.ts"
import { connect, emptyDatabase } from "../../support/Database.ts"
import { allMigrations } from "../../support/Migrations.ts"
import { dumpSchema } from "../../support/SchemaDump.ts"

const schemaFile = new URL("../../schema.sql", import.meta.url)
const writeIt = "WRITE_SCHEMA=1 npx vitest run --config test/vitest.config.ts test/runtime/store/schema.test.ts"
const heading = `-- What the migrations make, by owner. Written by: ${writeIt}\n`
const sectionOf = (owner: string) => `\n-- ${owner}\n\n`

describe("the schema", () => {
  it.effect("of every owner's tables is the one in test/schema.sql", () =>
    Effect.gen(function*() {
      const all = (yield* Effect.promise(allMigrations)).map(({ migrations, name }) => ({
        name: name === "runtime" ? name : `modules/${name}`,
        migrate: migrate(name, migrations)
      }))
      const database = yield* emptyDatabase
      const sections = yield* Effect.provide(dumpSchema(all), connect(database))
      if (process.env["WRITE_SCHEMA"] === "1") {
        writeFileSync(
          schemaFile,
          heading + sections.map(({ owner, text }) => sectionOf(owner) + text).join("")
        )
      }
      const committed = readFileSync(schemaFile, "utf8")
      for (const { owner, text } of sections) {
        const [, from = ""] = committed.split(sectionOf(owner))
        assert.strictEqual(from.split("\n-- modules/")[0], text, `${owner} differs. If that is meant: ${writeIt}`)
      }
    }))
})
