/** `tillwire restore`: a backup put where there is no database yet, or a mark on what other tools have restored. */
import { Effect, FileSystem, Option, Path } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { BackupError } from "../../../runtime/backup/BackupError.ts"
import { markRestored } from "../../../runtime/backup/Declaration.ts"
import { restoreBackup } from "../../../runtime/backup/Restore.ts"
import { backupTimeFault } from "../../../runtime/chains/Restores.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { checkValueOf, parseMaster } from "../../../runtime/Secrets.ts"
import { backupText, identityFlag, readIdentities, withProgress } from "../Backups.ts"
import { wrongUse } from "../Failure.ts"
import { answer } from "../Output.ts"
import { loadConfig } from "../ServiceConfig.ts"
import { timeText } from "../TimeText.ts"

const nextStep = "The next start tells the networks before it serves anybody: addresses of lost invoices are passed "
  + "over, and the blocks since then are read again."

const readDirectory = Effect.gen(function*() {
  const { config } = yield* loadConfig
  const path = yield* Path.Path
  return { config, dataDirectory: path.resolve(config.settings.data.directory) }
})

/** A date, a time and how far it is from UTC. Without that it would be of whichever zone the reader thinks. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/

const momentOf = Effect.fnUntraced(function*(archive: Option.Option<string>, to: Option.Option<string>) {
  if (Option.isNone(archive) && Option.isNone(to)) return undefined
  if (Option.isNone(archive) || Option.isNone(to)) {
    return yield* wrongUse("--archive and --to need each other", "Name the directory of the archive and the moment.")
  }
  const millis = timePattern.test(to.value) ? Date.parse(to.value) : Number.NaN
  return Number.isNaN(millis)
    ? yield* wrongUse(`"${to.value}" is no moment`, "Write date, time and zone, such as 2026-11-28T18:00:00Z.")
    : { archive: archive.value, seconds: millis / 1000 }
})

const file = Command.make("file", {
  file: Argument.File("file").pipe(Argument.withDescription("The backup")),
  identity: identityFlag,
  archive: Flag.Directory("archive").pipe(
    Flag.withDescription("With --to: the directory of store.options.archive, or a copy of it"),
    Flag.optional
  ),
  to: Flag.String("to").pipe(
    Flag.withMetavar("time"),
    Flag.withDescription("The moment to restore, such as 2026-11-28T18:00:00Z; else that of the backup"),
    Flag.optional
  )
}, ({ archive, file: backup, identity, to }) =>
  Effect.gen(function*() {
    const moment = yield* momentOf(archive, to)
    const identities = yield* readIdentities(identity)
    const { config, dataDirectory } = yield* readDirectory
    const given = config.settings.secrets?.master
    const masterKeys = given === undefined
      ? null
      : given.flatMap((text) => Option.toArray(Option.map(parseMaster(text), checkValueOf)))
    const description = yield* withProgress("restored", (onProgress) =>
      restoreBackup({ path: backup, identities, dataDirectory, masterKeys, moment, onProgress }))
    yield* answer(
      {
        object: "restore",
        data_directory: dataDirectory,
        ...description,
        ...(moment === undefined ? {} : { restored_to: moment.seconds })
      },
      () =>
        `${dataDirectory} is restored${moment === undefined ? "" : ` as of ${timeText(moment.seconds)}`}: `
        + `${backupText(description)}. ${nextStep}`
    )
  })).pipe(Command.withDescription("Put a backup where there is no database yet"))

const declare = Command.make("declare", {
  backupTime: Flag.Int("backup-time").pipe(Flag.withDescription("When the backup was begun, in epoch seconds"))
}, ({ backupTime }) =>
  Effect.gen(function*() {
    const fault = backupTimeFault(backupTime, yield* nowSeconds)
    if (fault !== null) return yield* wrongUse(`--backup-time cannot be used: ${fault}`)
    const { dataDirectory } = yield* readDirectory
    const fs = yield* FileSystem.FileSystem
    yield* fs.makeDirectory(dataDirectory, { recursive: true, mode: 0o700 })
    yield* Effect.try({
      try: () => markRestored(dataDirectory, backupTime),
      catch: (cause) =>
        new BackupError({
          what: `${dataDirectory} cannot be marked: ${String(cause)}.`,
          hint: "The account that runs this must be able to write there."
        })
    })
    yield* answer(
      { object: "restore", data_directory: dataDirectory, backup_time: backupTime },
      () => `${dataDirectory} is marked as restored from a backup of ${timeText(backupTime)}. ${nextStep}`
    )
  })).pipe(Command.withDescription("Only mark a database that other tools have restored"))

export const command = Command.make("restore").pipe(
  Command.withSubcommands([file, declare]),
  Command.withExamples([
    { command: "tillwire restore file night.backup --identity identity.txt", description: "The embedded database" },
    {
      command:
        "tillwire restore file night.backup --identity identity.txt --archive /archive --to 2026-11-28T18:00:00Z",
      description: "To a moment after it"
    },
    { command: "tillwire restore declare --backup-time 1795874153", description: "After pgBackRest or pg_restore" }
  ])
)
