/**
 * Files of lines in a directory, one file for each day (UTC): `events-2026-11-28.ndjson`. A line is
 * `{"merchant_id":…,"event":…}`.
 */
import { Clock, DateTime, Effect, FileSystem, Layer, Path, Schema } from "effect"
import { isAbsolute } from "node:path"
import * as Plugin from "../../../runtime/Plugin.ts"
import { EventSinks, type SinkEvent, SinkUnavailable } from "../plugin.ts"

const name = "sinks/file"

const Options = Schema.Struct({
  /** Where the files are; made where it is missing. Instances that take over from each other must share it. */
  directory: Schema.String.check(Schema.makeFilter(isAbsolute, { expected: "an absolute path" })),
  /** Begin at the oldest event that is stored, or at those of the first start. Default `start`. */
  from: Schema.optionalKey(Schema.Literals(["start", "now"]))
})

/** Owner only: events name customers. */
const fileMode = 0o600
const directoryMode = 0o700

const lineFeed = 10

/** Bytes that are looked through at once for the end of the last whole line. */
const tailBytes = 65_536

/** The bytes of a file up to its last whole line: what a write that was cut off left behind it goes. */
const wholeLength = (file: FileSystem.File, size: number) =>
  Effect.gen(function*() {
    for (let end = size; end > 0;) {
      const start = Math.max(0, end - tailBytes)
      yield* file.seek(BigInt(start), "start")
      const read = yield* file.readAlloc(end - start)
      const at = read._tag === "Some" ? read.value.lastIndexOf(lineFeed) : -1
      if (at >= 0) return start + at + 1
      end = start
    }
    return 0
  })

const lineOf = ({ merchantId, text }: SinkEvent): string => `{"merchant_id":${merchantId},"event":${text}}\n`

/** The file of a moment. Pure. */
export const fileNameAt = (millis: number): string =>
  `events-${DateTime.formatIso(DateTime.makeUnsafe(millis)).slice(0, 10)}.ndjson`

/** Appends to the file of the day and syncs it; a line that an earlier write left half done is cut off first. */
export const makeStore = (directory: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    return (events: ReadonlyArray<SinkEvent>): Effect.Effect<void, SinkUnavailable> =>
      Effect.gen(function*() {
        yield* fs.makeDirectory(directory, { recursive: true, mode: directoryMode })
        const place = path.join(directory, fileNameAt(yield* Clock.currentTimeMillis))
        const file = yield* fs.open(place, { flag: "a+", mode: fileMode })
        const size = Number((yield* file.stat).size)
        const whole = yield* wholeLength(file, size)
        if (whole < size) yield* file.truncate(whole)
        yield* file.writeAll(Buffer.from(events.map(lineOf).join("")))
        yield* file.sync
        // A new file is there after a power loss only when its directory was synced, too.
        if (size === 0) yield* Effect.flatMap(fs.open(directory, { flag: "r" }), (folder) => folder.sync)
      }).pipe(
        Effect.scoped,
        Effect.mapError(({ message }) =>
          new SinkUnavailable({
            reason: `${directory} cannot be written: ${message}. Make room, or let the account write it`
          })
        )
      )
  })

export const plugin = Plugin.make({
  name,
  slot: "modules",
  options: Options,
  needs: { sinks: EventSinks },
  layer: ({ directory, from = "start" }) =>
    Layer.effectDiscard(Effect.gen(function*() {
      yield* (yield* EventSinks).register({ name, from, store: yield* makeStore(directory) })
    }))
})
