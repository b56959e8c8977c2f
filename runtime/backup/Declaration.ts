/**
 * The mark of a restore, a file of the data directory, and what the service does about it at its next start, before
 * anybody is served: modules end what may have been taken back since (`Restores`), and networks and wallets are told
 * (`Chains.declareRestore`), so that nobody is given an address that a lost invoice was given.
 */
import { Duration, Effect, Schedule, Schema } from "effect"
import { existsSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import type { PublicError } from "../../schemas/Errors.ts"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { Chains } from "../Chains.ts"
import { Restores } from "../Restores.ts"
import { Settings } from "../Settings.ts"
import { replaceDataFile } from "../store/embedded/Files.ts"
import { reasonOf, StoreError } from "../store/StoreError.ts"

/** The mark while it is not declared. */
const pendingName = "restored.json"

/** It stays under this name, for people. */
const declaredName = (backupTime: number): string => `restored-${backupTime}-declared.json`

const Mark = Schema.fromJsonString(Schema.Struct({ backup_time: EpochSeconds }))

/** Marks the database of a data directory as restored from a backup begun then. On disk when it is done. */
export const markRestored = (dataDirectory: string, backupTime: number): void =>
  replaceDataFile(dataDirectory, pendingName, `${JSON.stringify({ backup_time: backupTime })}\n`)

const readMark = (path: string) =>
  Effect.try({
    try: () => Schema.decodeUnknownSync(Mark)(readFileSync(path, "utf8")).backup_time,
    catch: (cause) =>
      new StoreError({
        what: `${path} says that this database was restored, and cannot be read: ${reasonOf(cause)}.`,
        hint: `Write {"backup_time": <epoch seconds at which the backup was begun>} into it, and start again.`
      })
  })

/** Wallets are read after a start, which takes a minute at most (`walletWaitSeconds`). */
const walletPatience = Schedule.spaced(Duration.seconds(1)).pipe(Schedule.upTo({ duration: Duration.seconds(90) }))

const isWalletsMissing = ({ code }: PublicError): boolean => code === "SERVICE_UNAVAILABLE"

/** An environment that follows no network has nothing to declare. */
const isUnfollowed = ({ code, param }: PublicError): boolean => code === "VALIDATION_ERROR" && param === "environment"

/**
 * Declares a marked restore, once, after what modules do about it: the mark gets another name when every environment
 * was told. To tell it once more
 * changes nothing, so a start that is killed in between repeats it.
 */
export const declareRestored: Effect.Effect<void, StoreError, Chains | Restores | Settings> = Effect.gen(function*() {
  const { dataDirectory, environments } = yield* Settings
  const path = join(dataDirectory, pendingName)
  if (!existsSync(path)) return
  const backupTime = yield* readMark(path)
  yield* Effect.mapError((yield* Restores).perform, (error) =>
    new StoreError({
      what: `This database was restored from a backup, and not everything was ended that must be: ${error.message}.`,
      hint: "Nobody is served until it is. Mend it and start again; see the guide Backup."
    }))
  const chains = yield* Chains
  yield* Effect.forEach(environments, (environment) =>
    chains.declareRestore(environment, backupTime, null).pipe(
      Effect.retry({ while: isWalletsMissing, schedule: walletPatience }),
      Effect.asVoid,
      Effect.catchIf(isUnfollowed, () => Effect.logInfo("no network to tell of the restore", { environment })),
      Effect.mapError((error) =>
        new StoreError({
          what: `This database was restored from a backup, and its networks could not be told: ${error.message}.`,
          hint: "Nobody is served until they are. Mend it and start again; see the guide Backup."
        })
      )
    ), { discard: true })
  yield* Effect.sync(() => renameSync(path, join(dataDirectory, declaredName(backupTime))))
})
