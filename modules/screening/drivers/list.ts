/**
 * A plain file of addresses that the operator keeps, read at the start and again whenever it changes. At the start a
 * file that cannot be read ends it; later the last good list stays, because half a list would let addresses pass.
 */
import { Effect, FileSystem, Layer, Option, Result, Schedule, Schema } from "effect"
import { isAbsolute } from "node:path"
import { ConfigInvalid } from "../../../runtime/Config.ts"
import * as Plugin from "../../../runtime/Plugin.ts"
import { parseList, Screenings } from "../plugin.ts"

const name = "screening/list"

/** Bytes of a file, at most: about 500,000 addresses. */
const maximumBytes = 32 * 1024 * 1024

/** Seconds between two looks at the file, unless configured. */
const defaultCheckSeconds = 5

const Options = Schema.Struct({
  /** The file, a line `<network> <address>` for each address; `#` begins a comment. */
  file: Schema.String.check(Schema.makeFilter(isAbsolute, { expected: "an absolute path" })),
  /** Seconds between two looks whether it has changed, 1 to 3600; default 5. */
  checkSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600 })))
})

const makeReader = (file: string) =>
  Effect.map(FileSystem.FileSystem, (fs) => ({
    /** Another text whenever the file is another one; null: it is not there. */
    stamp: fs.stat(file).pipe(
      Effect.map(({ ino, mtime, size }) =>
        `${Option.getOrUndefined(ino)} ${Option.getOrUndefined(mtime)?.getTime()} ${size}`
      ),
      Effect.orElseSucceed(() => null)
    ),
    /** Its addresses; the failure is a sentence that names the fix. */
    keys: Effect.gen(function*() {
      const { size } = yield* fs.stat(file).pipe(
        Effect.mapError(() => "it is not there, or may not be read: create it, and let the service read it")
      )
      if (size > maximumBytes) return yield* Effect.fail(`it has ${size} bytes: ${maximumBytes} are read at most`)
      const text = yield* fs.readFileString(file).pipe(
        Effect.mapError(() => "it may not be read: let the account of the service read it")
      )
      return yield* Effect.fromResult(parseList(text))
    })
  }))

export const plugin = Plugin.make({
  name,
  slot: "modules",
  options: Options,
  needs: { screening: Screenings },
  layer: ({ checkSeconds = defaultCheckSeconds, file }) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const screenings = yield* Screenings
      const { keys: readKeys, stamp: readStamp } = yield* makeReader(file)
      let stamp = yield* readStamp
      let listed = yield* Effect.mapError(
        readKeys,
        (reason) => new ConfigInvalid({ report: `${file}: ${reason}`, count: 1 })
      )

      // The stamp is read before the file: a change during the reading is found at the next look.
      const look = Effect.gen(function*() {
        const next = yield* readStamp
        if (next === stamp) return
        stamp = next
        const found = yield* Effect.result(readKeys)
        if (Result.isFailure(found)) {
          return yield* Effect.logError(
            `the file of screened addresses cannot be used, so the list of before still holds: ${found.failure}`
          ).pipe(Effect.annotateLogs({ file, addresses: listed.size }))
        }
        listed = found.success
        yield* Effect.logInfo("the file of screened addresses was read again").pipe(
          Effect.annotateLogs({ file, addresses: listed.size })
        )
      })

      yield* screenings.register({
        name,
        isListed: ({ keys }) => Effect.sync(() => keys.some((key) => listed.has(key)))
      })
      yield* Effect.forkScoped(Effect.andThen(
        Effect.sleep(`${checkSeconds} seconds`),
        Effect.repeat(look, Schedule.spaced(`${checkSeconds} seconds`))
      ))
    }))
})
