/**
 * The place in the events up to which `tillwire listen` is done, in a file of its own for each service, key and
 * receiver: a listener that was killed goes on where it was.
 */
import { Effect, FileSystem, Path, Schema } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { homedir } from "node:os"
import { environment } from "./Environment.ts"
import { commandFailed } from "./Failure.ts"

const CursorFile = Schema.fromJsonString(Schema.Struct({ url: Schema.String, after: Schema.String }))

/** A cursor on disk. */
export interface Cursor {
  readonly read: Effect.Effect<string | undefined>
  readonly write: (id: string) => Effect.Effect<void, ReturnType<typeof commandFailed>>
}

/** The cursor of whoever has the key, at a service, for a receiver. The name tells nothing of the key. */
export const openCursor = Effect.fnUntraced(function*(
  url: string,
  of: { readonly apiKey: string; readonly receiver: string }
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const variables = yield* environment
  const folder = path.join(
    variables["XDG_CONFIG_HOME"] ?? path.join(variables["HOME"] ?? homedir(), ".config"),
    "tillwire"
  )
  const name = createHash("sha256").update(JSON.stringify([url, of.apiKey, of.receiver])).digest("hex").slice(0, 24)
  const file = path.join(folder, `listen-${name}.json`)
  const unwritable = (cause: { readonly message: string }) =>
    commandFailed(
      "failed",
      `the place in the events cannot be kept in ${file}: ${cause.message}`,
      `Make ${folder} writable.`
    )
  yield* Effect.mapError(fs.makeDirectory(folder, { recursive: true, mode: 0o700 }), unwritable)
  const cursor: Cursor = {
    read: fs.readFileString(file).pipe(
      Effect.flatMap(Schema.decodeEffect(CursorFile)),
      Effect.map(({ after }) => after),
      Effect.orElseSucceed(() => undefined)
    ),
    // A file that is renamed into its place is whole, whenever the process is killed.
    write: (after) =>
      Effect.gen(function*() {
        const draft = `${file}.${randomUUID()}`
        yield* fs.writeFileString(draft, JSON.stringify({ url, after }), { mode: 0o600 })
        yield* fs.rename(draft, file)
      }).pipe(Effect.mapError(unwritable))
  }
  return cursor
})
