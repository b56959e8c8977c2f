/** Whether `data.directory` may be used, before anything is written into it. */
import { Effect, FileSystem, Schema } from "effect"
import type { Environment } from "../../schemas/Network.ts"

/** The data directory cannot be used: what is wrong and what to do. */
export class DataDirectoryUnusable extends Schema.TaggedError<DataDirectoryUnusable>()("DataDirectoryUnusable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** Permission bit of "anybody may write". */
const writableByAnybody = 0o002

/**
 * Refuses what is no directory, and on mainnet a directory that any user of the machine may write to: whoever may write
 * there may replace the key file, the operator's token and the database. On devnet, where there is only play money, it
 * is a warning. A group may write: Kubernetes gives volumes to a group (`fsGroup`). Where there is nothing yet, the
 * part that needs the directory makes it with mode 0700.
 */
export const checkDataDirectory = Effect.fnUntraced(function*(
  directory: string,
  environments: ReadonlyArray<Environment>
): Effect.fn.Return<void, DataDirectoryUnusable, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(directory).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.undefined),
    // Also where a part of the path is a file (ENOTDIR) or may not be entered (EACCES): the message names the path.
    Effect.mapError((error) =>
      new DataDirectoryUnusable({
        reason:
          `${directory} cannot be used as the data directory: ${error.message}. Set data.directory to a directory that `
          + "this user may read and write, or to a new path in one."
      })
    )
  )
  if (info === undefined) return
  if (info.type !== "Directory") {
    return yield* new DataDirectoryUnusable({
      reason:
        `${directory} is a file, and data.directory must be a directory: set data.directory to a directory or a new path, `
        + "or move that file away."
    })
  }
  // Windows has no such bits: Node answers 0o666 for everything.
  if (process.platform === "win32" || (info.mode & writableByAnybody) === 0) return
  const mode = (info.mode & 0o7777).toString(8).padStart(4, "0")
  const reason =
    `Any user of this machine may write to the data directory ${directory} (mode ${mode}) and so replace the `
    + `service's keys and its database. Close it: chmod o-w ${directory}`
  if (environments.includes("mainnet")) return yield* new DataDirectoryUnusable({ reason })
  yield* Effect.logWarning(reason)
})
