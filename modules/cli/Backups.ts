/** What the commands about backups share: keys, sentences, progress. */
import { Effect, FileSystem } from "effect"
import { Flag } from "effect/cli"
import type { BackupDescription } from "../../runtime/backup/Description.ts"
import { commandFailed } from "./Failure.ts"
import { timeText } from "./TimeText.ts"

export const identityPattern = /^AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{58,}$/

/** `--identity`: who reads a backup. */
export const identityFlag = Flag.File("identity").pipe(
  Flag.withDescription("The file with the line AGE-SECRET-KEY-1…, as `tillwire backup key` prints it")
)

/** The identities of a file. */
export const readIdentities = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.mapError(
    fs.readFileString(file),
    ({ message }) => commandFailed("usage", `${file} cannot be read: ${message}`)
  )
  const identities = text.split("\n").map((line) => line.trim()).filter((line) => identityPattern.test(line))
  return identities.length > 0
    ? identities
    : yield* commandFailed("usage", `${file} holds no identity`, "It needs a line that begins with AGE-SECRET-KEY-1.")
})

/** Milliseconds between two updates of the line. */
const progressMillis = 500

const writeLine = (text: string) => void (process.stderr.isTTY && process.stderr.write(`\r${text}\u001b[K`))

/** Shows on a terminal how far `work` is, in megabytes and in one line, which is gone at its end. */
export const withProgress = <A, E, R>(
  what: string,
  work: (onProgress: (bytes: number) => void) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let shownAt = -progressMillis
    const onProgress = (bytes: number) => {
      const now = performance.now()
      if (now - shownAt < progressMillis) return
      shownAt = now
      writeLine(`${what}: ${(bytes / 1e6).toFixed(0)} MB`)
    }
    return Effect.ensuring(work(onProgress), Effect.sync(() => writeLine("")))
  })

/** What a backup is, for people. */
export const backupText = ({ backup_time, postgres, version }: BackupDescription): string =>
  `begun at ${timeText(backup_time)} (backup_time ${backup_time}), by version ${version}, PostgreSQL ${postgres}`
