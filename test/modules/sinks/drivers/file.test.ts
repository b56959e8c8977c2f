/** Goal: files of events that any program can read line by line, whatever interrupted the writing. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileNameAt, makeStore, plugin } from "../../../../modules/sinks/drivers/file.ts"
import { sinkConformance, sinkEvent, type SinkLayer, type StoredText } from "../../../conformance/sinks.ts"
import { temporaryDirectory } from "../../../support/Service.ts"

/** The lines of all files, as another program reads them. */
const linesIn = (directory: string): ReadonlyArray<StoredText> =>
  readdirSync(directory).toSorted().flatMap((file) =>
    readFileSync(join(directory, file), "utf8").split("\n").filter((line) => line !== "").map((line) => {
      const { event, merchant_id: merchantId } = JSON.parse(line)
      return { merchantId, text: JSON.stringify(event) }
    })
  )

sinkConformance(
  "file",
  Effect.map(temporaryDirectory, (root) => {
    const directory = join(root, "events")
    return {
      layer: plugin.layer({ directory }) as SinkLayer,
      stored: Effect.sync(() => linesIn(directory)),
      // A file where the directory was: also who may write everything cannot write there.
      away: Effect.sync(() => {
        renameSync(directory, `${directory}.kept`)
        writeFileSync(directory, "")
      }),
      back: Effect.sync(() => {
        renameSync(directory, `${directory}.file`)
        renameSync(`${directory}.kept`, directory)
      }),
      dropsRepeats: false
    }
  })
)

describe("a file of events", () => {
  it.effect("is named by the day, in UTC", () =>
    Effect.sync(() => {
      assert.strictEqual(fileNameAt(Date.UTC(2026, 10, 28, 23, 59, 59, 999)), "events-2026-11-28.ndjson")
      assert.strictEqual(fileNameAt(Date.UTC(2026, 10, 29)), "events-2026-11-29.ndjson")
    }))

  it.live("loses a half line that a crash left, however long, and can be read by its owner only", () =>
    Effect.gen(function*() {
      const directory = join(yield* temporaryDirectory, "events")
      const store = yield* makeStore(directory)
      yield* store([sinkEvent(1, 0)])
      const [name] = readdirSync(directory)
      const file = join(directory, name!)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      for (const half of ["{\"merchant_id\":99,\"ev", "x".repeat(200_000)]) {
        appendFileSync(file, half)
        yield* store([sinkEvent(1, 1)])
        assert.isFalse(readFileSync(file, "utf8").includes(half))
      }
      assert.deepStrictEqual(linesIn(directory).map(({ text }) => text), [0, 1, 1].map((n) => sinkEvent(1, n).text))
      writeFileSync(file, "x".repeat(100_000))
      yield* store([sinkEvent(1, 2)])
      assert.deepStrictEqual(linesIn(directory).map(({ text }) => text), [sinkEvent(1, 2).text])
      assert.isTrue(existsSync(file))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
})
