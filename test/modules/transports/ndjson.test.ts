/** Deliveries into files: whole lines, on disk, for those who may. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync
} from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { join } from "node:path"
import { lineOf } from "../../../modules/transports/ndjson/LineFile.ts"
import { plugin } from "../../../modules/transports/ndjson.ts"
import type { DeliveryRequest } from "../../../runtime/Webhooks.ts"
import {
  type DeliveredRequest,
  requestTo,
  transportConformance,
  type TransportLayer,
  transportOf
} from "../../conformance/transports.ts"
import { temporaryDirectory } from "../../support/Service.ts"

type Options = Parameters<typeof plugin.layer>[0]
type FileOptions = Options["files"][number]

const layerOf = (...files: readonly [FileOptions, ...ReadonlyArray<FileOptions>]) =>
  plugin.layer({ files }) as TransportLayer

const linesOf = (path: string): ReadonlyArray<string> => readFileSync(path, "utf8").split("\n").slice(0, -1)

const deliveredIn = (path: string): ReadonlyArray<DeliveredRequest> =>
  linesOf(path).map((line) => {
    const { body, headers } = JSON.parse(line)
    const lower = Object.entries(headers as Record<string, string>).map(([name, value]) => [name.toLowerCase(), value])
    return { body, headers: Object.fromEntries(lower) }
  })

/** Runs `body` with another method for file handles: what a disk does at its end, no test can make a disk do. */
const patched = <A, E>(path: string, method: "appendFile" | "datasync", by: Function, body: Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.promise(async () => {
      const handle = await open(path, "a")
      const prototype = Object.getPrototypeOf(handle)
      await handle.close()
      const real = prototype[method]
      prototype[method] = by
      return () => {
        prototype[method] = real
      }
    }),
    () => body,
    (restore) => Effect.sync(restore)
  )

/** How many descriptors of this process are open on a file. */
const openOn = (path: string): number =>
  readdirSync("/proc/self/fd").filter((fd) =>
    statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false }) !== undefined &&
    readlinkSync(`/proc/self/fd/${fd}`) === path
  ).length

transportConformance(
  "ndjson",
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const path = join(directory, "audit.ndjson")
    return {
      layer: layerOf({ name: "audit", path }, { name: "full", path: join(directory, "full.ndjson"), maximumBytes: 10 }),
      url: "ndjson://audit",
      failing: "ndjson://full",
      refused: "ndjson://elsewhere",
      delivered: Effect.sync(() => deliveredIn(path)),
      held: Effect.sync(() => openOn(path))
    }
  })
)

describe("a file of deliveries", () => {
  const promise = (what: string, body: (path: string) => Effect.Effect<unknown, unknown, Scope.Scope>) =>
    it.live(
      what,
      () => Effect.flatMap(temporaryDirectory, (directory) => body(join(directory, "audit.ndjson"))).pipe(Effect.scoped)
    )
  const opened = (path: string, more: Partial<FileOptions> = {}) =>
    transportOf(layerOf({ name: "audit", path, ...more }))
  const to = (n = 1, more: Partial<DeliveryRequest> = {}) => requestTo("ndjson://audit", n, more)

  promise(
    "belongs to its owner alone, and names the delivery, the event and the attempt",
    (path) =>
      Effect.gen(function*() {
        const { send } = yield* opened(path)
        yield* send(to(7, { attempt: 3 }))
        assert.strictEqual(statSync(path).mode & 0o777, 0o600)
        assert.deepInclude(JSON.parse(linesOf(path)[0]!), {
          delivery_id: "whd_7",
          event_id: "evt_1700000000000-7",
          attempt: 3
        })
      })
  )

  promise(
    "is open to the merchants it is for, under no other spelling, and hides from the rest",
    (path) =>
      Effect.gen(function*() {
        const { check, send } = yield* opened(path, { merchants: [1, 3] })
        yield* check("ndjson://audit", to())
        const { reason } = yield* Effect.flip(check("ndjson://nothing", to()))
        assert.deepInclude(yield* Effect.flip(check("ndjson://audit", to(1, { merchantId: 2 }))), { reason })
        assert.deepInclude(yield* Effect.flip(send(to(1, { merchantId: 2 }))), { reason, isOurFault: false })
        for (
          const url of [
            "ndjson://AUDIT",
            "ndjson://audit/",
            "ndjson://audit/../x",
            "ndjson:///etc/passwd",
            "ndjson:audit"
          ]
        ) {
          assert.deepInclude(yield* Effect.flip(check(url, to())), { reason }, url)
        }
        assert.strictEqual(readFileSync(path, "utf8"), "")
      })
  )

  promise("goes on in a new line where a crash cut the last one off", (path) =>
    Effect.gen(function*() {
      writeFileSync(path, "{\"whole\":1}\n{\"torn")
      const { send } = yield* opened(path)
      yield* send(to())
      assert.deepStrictEqual(linesOf(path).slice(0, 2), ["{\"whole\":1}", "{\"torn"])
      assert.deepInclude(JSON.parse(linesOf(path)[2]!), { delivery_id: "whd_1" })
    }))

  promise("is made anew after it was moved away", (path) =>
    Effect.gen(function*() {
      const { send } = yield* opened(path)
      yield* send(to(1))
      renameSync(path, `${path}.1`)
      yield* send(to(2))
      assert.deepStrictEqual([linesOf(`${path}.1`).length, linesOf(path).length], [1, 1])
      assert.strictEqual(openOn(`${path}.1`), 0)
    }))

  promise(
    "is never larger than it may be, and takes deliveries again once it was moved",
    (path) =>
      Effect.gen(function*() {
        const bytes = Buffer.byteLength(lineOf(to())) + 1
        const { send } = yield* opened(path, { maximumBytes: 2 * bytes })
        const results = yield* Effect.forEach([1, 2, 3, 4], (n) => Effect.result(send(to(n))), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(results.map(({ _tag }) => _tag), ["Success", "Success", "Failure", "Failure"])
        assert.deepInclude(yield* Effect.flip(send(to(5))), {
          isOurFault: false,
          timedOut: false,
          reason: `the file is full: it may have ${2 * bytes} bytes`
        })
        assert.strictEqual(statSync(path).size, 2 * bytes)
        renameSync(path, `${path}.1`)
        yield* send(to(5))
      })
  )

  promise("that cannot be written is a fault of ours, and is used again when it can", (path) =>
    Effect.gen(function*() {
      const { send } = yield* opened(path)
      renameSync(path, `${path}.1`)
      mkdirSync(path)
      assert.deepInclude(yield* Effect.flip(send(to(1))), {
        isOurFault: true,
        reason: "the file cannot be written (EISDIR)"
      })
      rmdirSync(path)
      yield* send(to(2))
      assert.strictEqual(linesOf(path).length, 1)
    }))

  promise("that is a pipe, or has no directory, stops the start", (path) =>
    Effect.gen(function*() {
      execFileSync("mkfifo", [path])
      assert.deepInclude(yield* Effect.flip(opened(path)), { reason: "the path is no file" })
      const nowhere = yield* Effect.flip(opened(join(path, "..", "nowhere", "x")))
      assert.deepInclude(nowhere, { reason: "the file cannot be written (ENOENT)" })
    }))

  promise(
    "on a full disk is a fault of ours, and the line it cut off spoils no other",
    (path) =>
      Effect.gen(function*() {
        const { send } = yield* opened(path)
        yield* patched(
          path,
          "appendFile",
          function(this: FileHandle, text: string) {
            return this.write(text.slice(0, 20)).then(() =>
              Promise.reject(Object.assign(new Error(), { code: "ENOSPC" }))
            )
          },
          Effect.gen(function*() {
            assert.deepInclude(yield* Effect.flip(send(to(1))), {
              isOurFault: true,
              reason: "the file cannot be written (ENOSPC)"
            })
          })
        )
        yield* send(to(2))
        const [cut, whole] = linesOf(path)
        assert.strictEqual(cut!.length, 20)
        assert.deepInclude(JSON.parse(whole!), { delivery_id: "whd_2" })
      })
  )

  promise("is flushed once for many deliveries", (path) =>
    Effect.gen(function*() {
      let flushes = 0
      const { send } = yield* opened(path)
      yield* patched(path, "datasync", function(this: FileHandle) {
        flushes++
        return this.sync()
      }, Effect.forEach(Array.from({ length: 64 }, (_, n) => n), (n) => send(to(n)), { concurrency: "unbounded" }))
      assert.strictEqual(linesOf(path).length, 64)
      assert.isAtLeast(flushes, 1)
      assert.isAtMost(flushes, 8)
    }))
})
