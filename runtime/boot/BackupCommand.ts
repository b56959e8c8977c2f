/** `backup` and `restore` of the command line: their words, what they print, and what they call. */
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import { Console, DateTime, Effect, FileSystem, Option, Path } from "effect"
import { parseArgs, type ParseArgsOptionsConfig } from "node:util"
import { type BackupResult, takeBackup } from "../backup/Backup.ts"
import { BackupError } from "../backup/BackupError.ts"
import { markRestored } from "../backup/Declaration.ts"
import type { BackupDescription } from "../backup/Description.ts"
import { restoreBackup, verifyBackup } from "../backup/Restore.ts"
import { backupTimeFault } from "../chains/Restores.ts"
import { nowSeconds } from "../Clock.ts"
import { load } from "../Config.ts"
import { checkValueOf, parseMaster } from "../Secrets.ts"

/** What `backup` and `restore` take. */
export const backupUsage = `usage: node runtime/main.ts backup key
       node runtime/main.ts backup --to <file> --recipient age1… [--config <file>]
       node runtime/main.ts backup verify <file> --identity <file>
       node runtime/main.ts restore <file> --identity <file> [--config <file>]
       node runtime/main.ts restore --declare --backup-time <epoch seconds> [--config <file>]

  backup key     prints a new identity, which reads backups: keep it away from this machine. Its recipient is in the
                 second line, and makes backups
  backup         writes the embedded database to a file, beside the running service or while it is stopped
  backup verify  reads a backup to its end and compares every file; writes nothing
  restore        puts a backup where there is no database yet. The next start tells the networks before it serves
  restore --declare   only marks a database that other tools have restored

  --recipient    of the backup; more of them by more of these. Also by the variable TILLWIRE_BACKUP_RECIPIENT
  --identity     the file with the line AGE-SECRET-KEY-1…`

const options = {
  config: { type: "string", default: "config/devnet.jsonc" },
  to: { type: "string" },
  recipient: { type: "string", multiple: true },
  identity: { type: "string" },
  declare: { type: "boolean" },
  "backup-time": { type: "string" }
} satisfies ParseArgsOptionsConfig

/** Words that cannot be read. */
const misused = (what: string) => new BackupError({ what, hint: `\n\n${backupUsage}` })

const read = (words: ReadonlyArray<string>) =>
  Effect.try({
    try: () => parseArgs({ args: [...words], options, allowPositionals: true }),
    catch: (cause) => misused(cause instanceof Error ? cause.message : String(cause))
  })

type Values = Effect.Success<ReturnType<typeof read>>["values"]

const recipientPattern = /^age1[0-9a-z]{58,}$/
const identityPattern = /^AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{58,}$/

/** Milliseconds between two lines of progress: a terminal is rewritten, a log is not. */
const progressMillis = 500

/** Writes how far it is to standard error of a terminal, in one line. */
const progressOf = (what: string) => {
  let last = -progressMillis
  return (bytes: number) => {
    const now = performance.now()
    if (!process.stderr.isTTY || now - last < progressMillis) return
    last = now
    process.stderr.write(`\r${what}: ${(bytes / 1e6).toFixed(0)} MB`)
  }
}

const endProgress = Effect.sync(() => void (process.stderr.isTTY && process.stderr.write("\r\u001b[K")))

const timeOf = (seconds: number): string => DateTime.formatIso(DateTime.makeUnsafe(seconds * 1000))

const wordsOf = ({ backup_time, postgres, version }: BackupDescription): string =>
  `begun at ${timeOf(backup_time)} (backup_time ${backup_time}), by version ${version}, PostgreSQL ${postgres}`

const dataDirectoryOf = Effect.fnUntraced(function*(file: string) {
  const config = yield* load({ file, environment: process.env })
  const path = yield* Path.Path
  return { config, dataDirectory: path.resolve(config.settings.data.directory) }
})

const identitiesOf = Effect.fnUntraced(function*({ identity }: Values) {
  if (identity === undefined) return yield* misused("Name the file of the identity: --identity <file>.")
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.mapError(
    fs.readFileString(identity),
    (error) => new BackupError({ what: `${identity} cannot be read: ${error.message}.`, hint: "Name the file again." })
  )
  const found = text.split("\n").map((line) => line.trim()).filter((line) => identityPattern.test(line))
  if (found.length > 0) return found
  return yield* new BackupError({
    what: `${identity} holds no identity.`,
    hint: "It needs a line that begins with AGE-SECRET-KEY-1."
  })
})

const printKey = Effect.gen(function*() {
  const identity = yield* Effect.promise(() => generateX25519Identity())
  const recipient = yield* Effect.promise(() => identityToRecipient(identity))
  yield* Console.log(`${identity}\n# recipient: ${recipient}`)
})

const printResult = ({ bytes, description, file, fileBytes }: BackupResult) =>
  Console.log(
    `${file}: ${(fileBytes / 1e6).toFixed(1)} MB of ${(bytes / 1e6).toFixed(1)} MB, ${wordsOf(description)}`
  )

const backup = Effect.fnUntraced(function*(values: Values) {
  const recipients = values.recipient ?? (process.env["TILLWIRE_BACKUP_RECIPIENT"] ?? "").split(",").filter(Boolean)
  if (values.to === undefined) return yield* misused("Say where the backup goes: --to <file>.")
  if (recipients.length === 0) return yield* misused("Say who can read it: --recipient age1….")
  const wrong = recipients.find((recipient) => !recipientPattern.test(recipient))
  if (wrong !== undefined) {
    return yield* misused(
      identityPattern.test(wrong)
        ? "That is an identity, which reads backups and belongs on no command line: make a new one, and name its recipient."
        : `"${wrong}" is no recipient: it begins with age1.`
    )
  }
  const { config, dataDirectory } = yield* dataDirectoryOf(values.config)
  if (config.settings.store?.use === "postgres") {
    return yield* new BackupError({
      what: "This config uses a PostgreSQL of its own.",
      hint: "Back it up with PostgreSQL's tools, such as pgBackRest or pg_dump: see the guide Backup."
    })
  }
  const onProgress = progressOf("read")
  const result = yield* Effect.ensuring(
    takeBackup({ dataDirectory, target: values.to, recipients, onProgress }),
    endProgress
  )
  return yield* printResult(result)
})

const verify = Effect.fnUntraced(function*(file: string, values: Values) {
  const identities = yield* identitiesOf(values)
  const description = yield* Effect.ensuring(verifyBackup(file, identities, progressOf("checked")), endProgress)
  yield* Console.log(`${file} is whole: ${wordsOf(description)}`)
})

const nextSteps = "The next start tells the networks, before it serves anybody: addresses of lost invoices are passed "
  + "over, and the blocks since then are read again."

const declare = Effect.fnUntraced(function*(values: Values) {
  const text = values["backup-time"] ?? ""
  const fault = /^\d{1,11}$/.test(text) ? backupTimeFault(Number(text), yield* nowSeconds) : "Say when it was begun."
  if (fault !== null) return yield* misused(`--backup-time: ${fault}`)
  const { dataDirectory } = yield* dataDirectoryOf(values.config)
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(dataDirectory, { recursive: true, mode: 0o700 })
  yield* Effect.tryPromise({
    try: () => markRestored(dataDirectory, Number(text)),
    catch: (cause) => new BackupError({ what: `${dataDirectory} cannot be marked: ${String(cause)}.`, hint: "" })
  })
  yield* Console.log(`${dataDirectory} is marked as restored from a backup of ${timeOf(Number(text))}. ${nextSteps}`)
})

const restore = Effect.fnUntraced(function*(file: string, values: Values) {
  const identities = yield* identitiesOf(values)
  const { config, dataDirectory } = yield* dataDirectoryOf(values.config)
  const given = config.settings.secrets?.master
  const onProgress = progressOf("restored")
  const description = yield* Effect.ensuring(
    restoreBackup({
      path: file,
      identities,
      dataDirectory,
      masterKeys: given === undefined
        ? null
        : given.flatMap((text) => Option.toArray(Option.map(parseMaster(text), checkValueOf))),
      onProgress
    }),
    endProgress
  )
  yield* Console.log(`${dataDirectory} is restored: ${wordsOf(description)}. ${nextSteps}`)
})

/** Runs `backup …` and `restore …`. */
export const runBackupCommand = (command: "backup" | "restore", words: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { positionals: [first, second, ...more], values } = yield* read(words)
    if (more.length > 0) return yield* misused(`cannot read "${more[0]}"`)
    if (command === "backup") {
      if (first === undefined) return yield* backup(values)
      if (first === "key" && second === undefined) return yield* printKey
      if (first === "verify" && second !== undefined) return yield* verify(second, values)
      return yield* misused(`cannot read "backup ${first}"`)
    }
    if (values.declare === true && first === undefined) return yield* declare(values)
    if (values.declare !== true && first !== undefined && second === undefined) return yield* restore(first, values)
    return yield* misused("Name the backup, or --declare.")
  })
