/**
 * Goal: a disk that fills up in the middle of a backup or of a restore leaves no half file under the name of a whole
 * one, says how much room was needed, and does not concern the service. Method: a small file system in memory.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeSite, run, succeed } from "../support/BackupSite.ts"
import { startService } from "../support/Service.ts"

/** A file system of so many bytes at `path`, until the scope closes. */
const mountSmallDisk = (path: string, bytes: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      mkdirSync(path, { recursive: true })
      const options = ["-t", "tmpfs", "-o", `size=${bytes},mode=0755`, "tmpfs", path]
      const { status, stderr } = spawnSync("mount", options, { encoding: "utf8" })
      assert.strictEqual(status, 0, stderr)
    }),
    () => Effect.sync(() => void spawnSync("umount", ["-l", path]))
  )

/** Whether this process may mount: root may, but not in every container. */
const canMount = process.platform === "linux" && process.getuid?.() === 0
  && spawnSync("unshare", ["--mount", "true"]).status === 0

describe("a disk that fills up", () => {
  it.live.skipIf(!canMount)(
    "in a backup or a restore leaves nothing that looks whole, and the service goes on (needs root that may mount)",
    () =>
      Effect.gen(function*() {
        const { config, file, folder, identity, recipient } = yield* makeSite("127.0.0.1:1")
        const target = join(folder, "one.backup")
        const create = (to: string) => [
          ...["backup", "create", "--to", to, "--recipient", recipient],
          ...["--rate", "1000", "--config", file]
        ]
        const databaseBytes = yield* Effect.scoped(Effect.gen(function*() {
          const service = yield* startService({ directory: folder, config: file })
          const disk = join(folder, "small")
          yield* mountSmallDisk(disk, 1_000_000)
          const { code, text } = yield* run(create(join(disk, "night.backup")), folder)
          assert.strictEqual(code, 1, text)
          assert.match(text.replace(/\s+/g, " "), /the disk is full.* It needs at most .* \d+ MB/)
          assert.deepStrictEqual(readdirSync(disk), [])
          const { merchant_key: key } = yield* service.keys
          const { status } = yield* service.call("/api/v1/invoices", {
            headers: { "x-api-key": key, "idempotency-key": "after-the-disk-was-full" },
            body: { amount_usd: 5 }
          })
          assert.strictEqual(status, 200)
          const made = yield* succeed(["--json", ...create(target)], folder)
          return JSON.parse(made).database_bytes as number
        }))
        renameSync(join(folder, "data"), join(folder, "before"))

        const disk = join(folder, "disk")
        const other = join(folder, "other.json")
        writeFileSync(other, JSON.stringify({ ...config, data: { directory: join(disk, "data") } }))
        const restore = ["restore", "file", target, "--identity", identity, "--config", other]
        // Surely too small; and large enough for the database, but not for the log of changes that belongs to it.
        const cases: ReadonlyArray<readonly [number, RegExp]> = [
          [databaseBytes - 1_000_000, /it needs \d+ MB .* MB free/],
          [databaseBytes + 3_000_000, /the disk is full: it needs \d+ MB/]
        ]
        for (const [bytes, expected] of cases) {
          yield* Effect.scoped(Effect.gen(function*() {
            yield* mountSmallDisk(disk, bytes)
            const { code, text } = yield* run(restore, folder)
            assert.strictEqual(code, 1, text)
            assert.match(text.replace(/\s+/g, " "), expected)
            const left = existsSync(join(disk, "data")) ? readdirSync(join(disk, "data")) : []
            assert.deepStrictEqual(left.filter((name) => /^(postgres|restored)/.test(name)), [], text)
          }))
        }
        rmSync(disk, { recursive: true, force: true })
        yield* succeed(restore, folder)
      }).pipe(Effect.scoped)
  )
})
