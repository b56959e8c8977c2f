/** Whether what a database holds fits this build and this config: its tables, and the master keys it was used with. */
import { Effect, FileSystem, Option, Path, Result } from "effect"
import { SqlClient } from "effect/sql"
import { migrationSets } from "../../../runtime/boot/Kernel.ts"
import type { LoadedConfig } from "../../../runtime/Config.ts"
import { readMigrationState } from "../../../runtime/Migrate.ts"
import { checkKeys, type GivenKeys, rememberedKeys } from "../../../runtime/secrets/MasterCheck.ts"
import { checkValueOf, masterFile, parseMaster } from "../../../runtime/Secrets.ts"
import { fail, type Finding, ok, warn } from "./Findings.ts"

/** The tables of a module, with the steps that its database has and those that it lacks. */
export interface TablesState {
  readonly name: string
  readonly applied: ReadonlyArray<string>
  readonly pending: ReadonlyArray<string>
}

const tables = "database tables"

/** What doctor says of the tables of all modules. Pure. */
export const tableFinding = (states: ReadonlyArray<TablesState>): Finding => {
  if (states.every(({ applied }) => applied.length === 0)) {
    return ok(tables, "There are none: the first start makes them.")
  }
  const behind = states.filter(({ pending }) => pending.length > 0)
  return behind.length === 0
    ? ok(tables, "They are those of this version.")
    : warn(
      tables,
      `Steps are still to run: ${behind.map(({ name, pending }) => `${name} ${pending.join(" ")}`).join(", ")}.`,
      "Back up, then run them: tillwire migrate up. The next start runs them otherwise."
    )
}

const master = "master key"

/** The keys that a start would have; undefined: the config's own check says what is wrong with them. */
const givenKeys = Effect.fnUntraced(function*({ settings }: LoadedConfig) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(path.resolve(settings.data.directory), masterFile)
  const isFile = settings.secrets === undefined
  const texts = isFile
    ? yield* fs.readFileString(file).pipe(Effect.map((text) => [text.trim()]), Effect.orElseSucceed(() => []))
    : settings.secrets.master
  const keys = texts.flatMap((text) => Option.toArray(parseMaster(text)))
  if (keys.length < texts.length) return undefined
  return {
    values: keys.map(checkValueOf),
    keptIn: isFile ? file : "secrets.master",
    isFile,
    isFileAbsent: isFile && keys.length === 0,
    lostKeys: settings.secrets?.lostKeys ?? []
  } satisfies GivenKeys
})

const examineMaster = Effect.fnUntraced(function*(config: LoadedConfig) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass('master_keys') IS NOT NULL AS exists`
  if (found?.exists !== true) return []
  const keys = yield* rememberedKeys
  const given = yield* givenKeys(config)
  if (keys.length === 0 || given === undefined) return []
  const decision = checkKeys({ keys, sealedValues: "none" }, given)
  return [
    Result.match(decision, {
      onSuccess: () => ok(master, "It is the one that the database was used with."),
      onFailure: ({ fix, what }) => fail(master, what, fix)
    })
  ]
})

/** What the database holds, read and not changed. Needs a role that may read the tables. */
export const examineContents = (
  config: LoadedConfig
): Effect.Effect<ReadonlyArray<Finding>, never, SqlClient.SqlClient | FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    const states = yield* Effect.forEach(
      migrationSets(config),
      ({ migrations, name }) => readMigrationState(name, migrations)
    )
    return [tableFinding(states), ...(yield* examineMaster(config))]
  }).pipe(
    Effect.catchTag("StoreError", ({ hint, what }) => Effect.succeed([fail(tables, what, hint)])),
    Effect.catchTag("SqlError", ({ message }) =>
      Effect.succeed([fail(
        tables,
        `They cannot be read: ${message}`,
        "Let the role of store.options.url own them, or GRANT it all rights on the tables of the schema."
      )]))
  )
