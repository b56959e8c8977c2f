/** `tillwire backup`: the embedded database in an encrypted file, beside the running service or while it is stopped. */
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import { Console, Effect, Path } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { constants, setPriority } from "node:os"
import { takeBackup } from "../../../runtime/backup/Backup.ts"
import { verifyBackup } from "../../../runtime/backup/Restore.ts"
import { recipientPattern } from "../../../runtime/store/Embedded.ts"
import { rateLimits } from "../../../runtime/store/embedded/BaseBackup.ts"
import { backupText, identityFlag, identityPattern, readIdentities, withProgress } from "../Backups.ts"
import { environment } from "../Environment.ts"
import { commandFailed, wrongUse } from "../Failure.ts"
import { answer } from "../Output.ts"
import { loadConfig } from "../ServiceConfig.ts"

const key = Command.make("key", {}, () =>
  Effect.gen(function*() {
    const identity = yield* Effect.promise(() => generateX25519Identity())
    const recipient = yield* Effect.promise(() => identityToRecipient(identity))
    // The form of `age-keygen`, with or without --json: it is kept as a file.
    yield* Console.log(`# recipient: ${recipient}\n${identity}`)
  })).pipe(
    Command.withDescription("Print a new identity, which reads backups, and its recipient, which only makes them")
  )

const verify = Command.make("verify", {
  file: Argument.File("file").pipe(Argument.withDescription("The backup")),
  identity: identityFlag
}, ({ file, identity }) =>
  Effect.gen(function*() {
    const identities = yield* readIdentities(identity)
    const description = yield* withProgress("checked", (onProgress) => verifyBackup(file, identities, onProgress))
    yield* answer({ object: "backup", file, ...description }, () => `${file} is whole: ${backupText(description)}`)
  })).pipe(
    Command.withDescription(
      "Read a backup to its end and compare every file that PostgreSQL's manifest names; write nothing"
    )
  )

const recipientsOf = Effect.fnUntraced(function*(given: ReadonlyArray<string>) {
  const variable = (yield* environment)["TILLWIRE_BACKUP_RECIPIENT"] ?? ""
  const recipients = given.length > 0 ? given : variable.split(",").filter((each) => each !== "")
  if (recipients.length === 0) {
    return yield* wrongUse("nobody could read the backup", "Name a recipient: --recipient age1…")
  }
  const wrong = recipients.find((recipient) => !recipientPattern.test(recipient))
  if (wrong === undefined) return recipients
  return yield* identityPattern.test(wrong)
    ? wrongUse(
      "that is an identity, which reads backups",
      "Make a new one, and name its recipient: it begins with age1."
    )
    : wrongUse(`"${wrong}" is no recipient`, "It begins with age1.")
})

/**
 * Compressing and encrypting take a processor, which is the service's whenever it wants it. A system may not let a
 * process lower its own priority: then `--rate` alone holds it back.
 */
const lowerPriority = Effect.ignore(Effect.try(() => setPriority(constants.priority.PRIORITY_LOW)))

const create = Command.make("create", {
  to: Flag.String("to").pipe(Flag.withMetavar("file"), Flag.withDescription("The file to write; it must not be there")),
  recipients: Flag.String("recipient").pipe(
    Flag.withDescription("Who can read it, age1…; more of them by more of these. Else TILLWIRE_BACKUP_RECIPIENT"),
    Flag.atLeast(0)
  ),
  rate: Flag.Int("rate").pipe(
    Flag.withMetavar("MB/s"),
    Flag.withDescription(
      `Megabytes a second that are read, ${rateLimits.atLeast} to ${rateLimits.atMost}: the service needs the rest`
    ),
    Flag.withDefault(rateLimits.default)
  )
}, ({ rate, recipients: given, to }) =>
  Effect.gen(function*() {
    const recipients = yield* recipientsOf(given)
    if (rate < rateLimits.atLeast || rate > rateLimits.atMost) {
      return yield* wrongUse(
        `--rate ${rate} cannot be used`,
        `It is in megabytes a second, ${rateLimits.atLeast} to ${rateLimits.atMost}.`
      )
    }
    yield* lowerPriority
    const { config } = yield* loadConfig
    if (config.store.use !== "embedded") {
      return yield* commandFailed(
        "usage",
        "this config uses a PostgreSQL of its own",
        "Back it up with PostgreSQL's tools, such as pgBackRest or pg_dump: guide Backup."
      )
    }
    const path = yield* Path.Path
    const dataDirectory = path.resolve(config.settings.data.directory)
    const { bytes, description, fileBytes } = yield* withProgress("read", (onProgress) =>
      takeBackup({ dataDirectory, target: to, recipients, rate, onProgress }))
    yield* answer({ object: "backup", file: to, bytes, file_bytes: fileBytes, ...description }, () =>
      `${to}: ${(fileBytes / 1e6).toFixed(1)} MB of ${(bytes / 1e6).toFixed(1)} MB, ${backupText(description)}`)
  })).pipe(Command.withDescription("Write the embedded database to a file"))

export const command = Command.make("backup").pipe(
  Command.withSubcommands([create, verify, key]),
  Command.withExamples([
    { command: "tillwire backup key > identity.txt", description: "Once, away from the machine of the service" },
    { command: "tillwire backup create --to night.backup --recipient age1…", description: "Each night" },
    { command: "tillwire backup verify night.backup --identity identity.txt", description: "Is it whole?" }
  ])
)
