/**
 * Goal: a database that a released version made can be opened by every later one, and two versions that follow each
 * other run over it together.
 * Method: each migration step of a release is held to the statements that it was released with, and each later step to
 * rules that the older version survives (modules/docs/guides/upgrading.md).
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { connect, emptyDatabase } from "../../support/Database.ts"
import { objectionsTo } from "../../support/MigrationRules.ts"
import { allMigrations } from "../../support/Migrations.ts"
import { fingerprintOfStep, type RunStep, runSteps } from "../../support/MigrationSteps.ts"

const root = new URL("../../../", import.meta.url)
const releases = new URL("test/releases/", root)
const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { readonly version: string }

/** Fingerprints of the steps of a release, by owner and step. */
type ReleasedSteps = Readonly<Record<string, Readonly<Record<string, string>>>>

const stepsFile = (release: string) => new URL(`${release}/steps.json`, releases)
const readSteps = (release: string): ReleasedSteps => JSON.parse(readFileSync(stepsFile(release), "utf8"))

/** Oldest first. */
const released = readdirSync(releases, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }))

const writeIt = "WRITE_RELEASE=1 npm test -- test/runtime/store/releases.test.ts"

/**
 * Steps that an older version does not survive, once the version before them uses none of what they take away:
 * `<owner> <step>`, and the release since which it is unused.
 */
const unusedSince: Readonly<Record<string, string>> = {}

const allSteps = Effect.gen(function*() {
  const owners = yield* Effect.promise(allMigrations)
  return yield* Effect.provide(runSteps(owners), connect(yield* emptyDatabase))
})

const isReleased = ({ owner, step }: RunStep) =>
  released.some((release) => readSteps(release)[owner]?.[step] !== undefined)

describe("the migrations", () => {
  it.effect("of a released version are as they were released: what is new is a step of its own", () =>
    Effect.gen(function*() {
      const steps = yield* allSteps
      if (process.env["WRITE_RELEASE"] === "1") {
        const grouped = Object.groupBy(steps, ({ owner }) => owner)
        const written = Object.fromEntries(
          Object.entries(grouped).map(([owner, own = []]) => [
            owner,
            Object.fromEntries(own.map((each) => [each.step, fingerprintOfStep(each)]))
          ])
        )
        mkdirSync(new URL(`${version}/`, releases), { recursive: true })
        writeFileSync(stepsFile(version), `${JSON.stringify(written, null, 2)}\n`)
      }
      assert.isTrue(existsSync(stepsFile(version)), `no steps of ${version}: ${writeIt}`)
      for (const { owner, statements, step } of steps) assert.isNotEmpty(statements, `${owner} ${step}`)
      const owners = new Set(steps.map(({ owner }) => owner))
      for (const release of released) {
        for (const [owner, fingerprints] of Object.entries(readSteps(release))) {
          // A module that was removed takes its steps with it.
          if (!owners.has(owner)) continue
          for (const [name, fingerprint] of Object.entries(fingerprints)) {
            const found = steps.find((each) => each.owner === owner && each.step === name)
            assert.isDefined(found, `${owner} ${name} of ${release} is gone: put it back as it was`)
            assert.strictEqual(
              fingerprintOfStep(found!),
              fingerprint,
              `${owner} ${name} was changed after ${release}: put it back as it was, and write the change as a new step. `
                + `Only while ${release} is not published yet: ${writeIt}`
            )
          }
        }
      }
    }))

  it.effect("that came after a release are survived by it, or take away what it does not use any more", () =>
    Effect.gen(function*() {
      const later = (yield* allSteps).filter((step) => !isReleased(step))
      const objections = later.flatMap(({ owner, statements, step }) =>
        released.includes(unusedSince[`${owner} ${step}`] ?? "")
          ? []
          : objectionsTo(statements).map((objection) => `${owner} ${step}: ${objection}`)
      )
      assert.deepStrictEqual(objections, [], "see modules/docs/guides/upgrading.md#for-whoever-writes-a-migration")
    }))
})

describe("a migration", () => {
  it("may add what the older version does not know", () => {
    const fine = [
      "ALTER TABLE invoices ADD made_up text",
      "ALTER TABLE invoices ADD COLUMN a text, ADD b integer NOT NULL DEFAULT 0, ADD c numeric(78, 0)",
      "ALTER TABLE invoices ALTER COLUMN a SET DEFAULT 'x', SET (fillfactor = 70)",
      "CREATE INDEX invoices_by_made_up ON invoices (made_up)",
      "DROP INDEX invoices_by_made_up",
      "CREATE FUNCTION made_up_v1() RETURNS void LANGUAGE sql AS $$ DELETE FROM invoices $$",
      "UPDATE invoices SET made_up = 'x' WHERE made_up IS NULL"
    ]
    assert.deepStrictEqual(fine.flatMap((statement) => objectionsTo([statement])), [])
    assert.deepStrictEqual(
      objectionsTo([
        "CREATE TABLE made_up (id text PRIMARY KEY)",
        "CREATE UNIQUE INDEX made_up_by_id ON made_up (id)",
        "ALTER TABLE made_up ADD CONSTRAINT long CHECK (length(id) > 3)",
        "DELETE FROM made_up"
      ]),
      []
    )
  })

  it("is refused where it takes away, renames or forbids what the older version uses", () => {
    const refused = [
      "ALTER TABLE invoices DROP COLUMN amount",
      "ALTER TABLE invoices DROP amount",
      "ALTER TABLE invoices RENAME COLUMN amount TO total",
      "ALTER TABLE invoices RENAME TO bills",
      "ALTER TABLE invoices ADD made_up text NOT NULL",
      "ALTER TABLE invoices ADD a text, ADD made_up text UNIQUE",
      "ALTER TABLE invoices ADD CHECK (amount > 0)",
      "ALTER TABLE ONLY invoices ADD CONSTRAINT positive CHECK (amount > 0)",
      "ALTER TABLE invoices DROP CONSTRAINT invoices_check",
      "ALTER TABLE invoices ALTER COLUMN amount TYPE numeric",
      "ALTER TABLE invoices ALTER amount SET NOT NULL",
      "ALTER TABLE invoices ALTER amount DROP NOT NULL",
      "ALTER TABLE invoices ALTER amount DROP DEFAULT",
      "DROP TABLE invoices",
      "DROP FUNCTION webhook_claim_v1",
      "CREATE OR REPLACE FUNCTION webhook_claim_v1() RETURNS void LANGUAGE sql AS $$ SELECT 1 $$",
      "CREATE UNIQUE INDEX invoices_once ON invoices (amount)",
      "TRUNCATE invoices",
      "DELETE FROM invoices WHERE amount = 0"
    ]
    for (const statement of refused) assert.lengthOf(objectionsTo([statement]), 1, statement)
  })
})
