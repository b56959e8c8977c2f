/**
 * Goal: a backup that was taken beside the running service brings back all that was acknowledged before it, and nobody
 * is given an address that a lost invoice was given. Method: the real commands and the real service on its embedded
 * database, killed, restored and started again.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../support/Ports.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { seededRandom } from "../support/Crash.ts"
import { testSeed } from "../support/Seed.ts"
import { createInvoice, makeSite, pay, run, statusOf, succeed } from "../support/BackupSite.ts"
import { startService, until } from "../support/Service.ts"

describe("a backup of the running embedded database", () => {
  it.live(
    "brings back all that was acknowledged before it, gives no lost address again, and repeats webhooks",
    () =>
      Effect.gen(function*() {
        const receiver = yield* makeReceiver()
        const { file, folder, identity, recipient } = yield* makeSite(receiver.host)
        const ports = { http: yield* freePort, rpc: yield* freePort }
        const directory = folder
        const start = startService({ directory, config: file, ports })
        const target = join(folder, "one.backup")

        const before: Array<{ readonly id: string; readonly address: string; readonly status: string }> = []
        const lost = new Set<string>()
        const key = yield* Effect.scoped(Effect.gen(function*() {
          const service = yield* start
          const { merchant_key: made } = yield* service.keys
          yield* service.call("/api/v1/webhooks", {
            headers: { "x-api-key": made },
            body: { url: receiver.url("/hooks"), enabled_events: ["*"] }
          })
          for (let count = 0; count < 4; count++) {
            const { address, id } = yield* createInvoice(service, made)
            if (count % 2 === 0) yield* pay(service, made, id)
            before.push({ id, address, status: count % 2 === 0 ? "paid" : "unpaid" })
          }
          const during = Effect.forever(createInvoice(service, made)).pipe(Effect.ignore)
          yield* Effect.raceFirst(
            succeed(["backup", "create", "--to", target, "--recipient", recipient, "--config", file], folder),
            during
          )
          for (let count = 0; count < 4; count++) lost.add((yield* createInvoice(service, made)).address)
          yield* service.stop("SIGKILL")
          return made
        }))
        assert.strictEqual(statSync(target).mode & 0o777, 0o600)
        assert.notInclude(readFileSync(target).toString("latin1"), key, "it is encrypted")
        assert.include(yield* succeed(["backup", "verify", target, "--identity", identity], folder), "is whole")

        const refused = yield* run(["restore", "file", target, "--identity", identity, "--config", file], folder)
        assert.strictEqual(refused.code, 1)
        assert.include(refused.text, "holds a database already")
        renameSync(join(folder, "data"), join(folder, "broken"))
        yield* succeed(["restore", "file", target, "--identity", identity, "--config", file], folder)
        assert.isTrue(existsSync(join(folder, "data", "restored.json")))

        const service = yield* start
        assert.isFalse(existsSync(join(folder, "data", "restored.json")), "it was declared before anybody was served")
        for (const { id, status } of before) assert.strictEqual(yield* statusOf(service, key, id), status, id)
        const given = new Set(before.map(({ address }) => address))
        for (let count = 0; count < 6; count++) {
          const { address } = yield* createInvoice(service, key)
          assert.isFalse(given.has(address) || lost.has(address), `${address} was given out before`)
          given.add(address)
        }
        const { json } = yield* service.call("/api/v1/events?limit=100&type=invoice.paid", {
          headers: { "x-api-key": key }
        })
        const events: ReadonlyArray<string> = json.data.data.map(({ id }: any) => id)
        assert.lengthOf(events, 2)
        yield* until(
          "what was told before the backup is delivered at least once",
          Effect.sync(() => receiver.arrivals().map(({ body }) => JSON.parse(String(body)).id)),
          (delivered) => events.every((id) => delivered.includes(id))
        )
      }).pipe(Effect.scoped),
    300_000
  )
})

/** A backup of a service that has stopped; each test restores it into a folder of its own. */
class StoppedSite extends Context.Service<StoppedSite, {
  readonly identity: string
  readonly target: string
  /** The command that made it. */
  readonly create: ReadonlyArray<string>
  /** A folder with a config file that is as the one of the site but for its data directory, which is not there yet. */
  readonly openFolder: (name: string, more?: object) => { readonly folder: string; readonly file: string }
}>()("test/journeys/backup/StoppedSite") {
  static readonly layer = Layer.effect(
    StoppedSite,
    Effect.gen(function*() {
      const { config, file, folder, identity, recipient } = yield* makeSite("127.0.0.1:1")
      yield* Effect.scoped(startService({ directory: folder, config: file }))
      const target = join(folder, "one.backup")
      // The service is stopped: the command starts the database by itself, and nobody needs the rest of the disk.
      const create = ["backup", "create", "--to", target, "--recipient", recipient, "--rate", "1000", "--config", file]
      yield* succeed(create, folder)
      const openFolder = (name: string, more: object = {}) => {
        const own = join(folder, name)
        mkdirSync(own)
        const ownFile = join(own, "config.json")
        writeFileSync(ownFile, JSON.stringify({ ...config, data: { directory: join(own, "data") }, ...more }))
        return { folder: own, file: ownFile }
      }
      return { identity, target, create, openFolder }
    })
  )
}

layer(StoppedSite.layer, { excludeTestServices: true })(
  "a backup of a stopped embedded database",
  (it) => {
    it.effect(
      "that is cut, changed, for another key or of another master key is refused, and nothing is left",
      () =>
        Effect.gen(function*() {
          const { create, identity, openFolder, target } = yield* StoppedSite
          const { file, folder } = openFolder("refused")
          const again = yield* run(create, folder)
          assert.include(again.text, "already")

          const random = seededRandom(testSeed)
          const whole = readFileSync(target)
          const damaged = join(folder, "damaged.backup")
          for (let time = 0; time < 2; time++) {
            const changed = Buffer.from(whole)
            const at = Math.floor(random() * changed.length)
            changed[at] = changed[at]! ^ 1
            writeFileSync(damaged, changed)
            const { code, text } = yield* run(
              ["restore", "file", damaged, "--identity", identity, "--config", file],
              folder
            )
            assert.strictEqual(code, 1, `byte ${at} was changed: ${text}`)
            assert.isFalse(existsSync(join(folder, "data", "postgres")), text)
          }
          writeFileSync(damaged, whole)
          truncateSync(damaged, Math.floor(random() * whole.length))
          const cut = yield* run(["backup", "verify", damaged, "--identity", identity], folder)
          assert.strictEqual(cut.code, 1, cut.text)

          const otherKey = join(folder, "other-key")
          writeFileSync(otherKey, yield* succeed(["backup", "key"], folder))
          const stranger = yield* run(["backup", "verify", target, "--identity", otherKey], folder)
          assert.include(stranger.text, "is encrypted for another key")

          const other = openFolder("otherMaster", { secrets: { master: ["5b".repeat(32)] } })
          const closed = yield* run(
            ["restore", "file", target, "--identity", identity, "--config", other.file],
            other.folder
          )
          assert.include(closed.text, "belongs to the master key")
          assert.isFalse(existsSync(join(other.folder, "data", "postgres")))

          mkdirSync(join(folder, "data"), { recursive: true })
          assert.isFalse(existsSync(join(folder, "data", "postgres")))
          yield* succeed(["restore", "file", target, "--identity", identity, "--config", file], folder)
        })
    )

    it.effect("whose restore is killed is restored by the next one", () =>
      Effect.gen(function*() {
        const { identity, openFolder, target } = yield* StoppedSite
        const { file, folder } = openFolder("killed")
        const restore = ["restore", "file", target, "--identity", identity, "--config", file]
        const draftIsThere = until(
          "files are being written",
          Effect.sync(() => existsSync(join(folder, "data"))),
          (is) => is
        )
        // Interrupted, the command is killed.
        yield* Effect.raceFirst(draftIsThere, Effect.andThen(run(restore, folder), Effect.never))
        assert.isFalse(existsSync(join(folder, "data", "postgres")))
        yield* succeed(restore, folder)
        const service = yield* startService({ directory: folder, config: file })
        assert.strictEqual((yield* service.call("/health/ready")).status, 200)
      }).pipe(Effect.scoped), 300_000)
  }
)
