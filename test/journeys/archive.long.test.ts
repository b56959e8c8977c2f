/**
 * Goal: with an archive, a backup is restored to any moment after it: what was acknowledged before the moment is there,
 * what came after is not, and nobody is given an address twice. Method: the real commands and the real service on its
 * embedded database, killed by -9 and restored.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { readArchive } from "../../runtime/backup/Archive.ts"
import { restoreBackup } from "../../runtime/backup/Restore.ts"
import { isSegment, nextSegment } from "../../runtime/backup/Segments.ts"
import { createInvoice, makeSite, pay, statusOf, succeed } from "../support/BackupSite.ts"
import { isAlive } from "../support/Process.ts"
import { startService, until } from "../support/Service.ts"

/** The files of the only series of an archive. */
const archivedIn = (archive: string): ReadonlyArray<string> =>
  existsSync(archive)
    ? readdirSync(archive).flatMap((series) => readdirSync(join(archive, series))).filter((name) =>
      name.endsWith(".age")
    )
    : []

/** The segment that the name of a file begins with. */
const segmentIn = (name: string): string => name.slice(0, 24)

/** Where and when the backup of a series ended, as its server says. */
const readBackupEnd = async (folder: string, identities: ReadonlyArray<string>) => {
  const name = readdirSync(folder).find((each) => each.includes(".backup-"))!
  let text = ""
  for await (const { bytes } of readArchive(join(folder, name), identities)) {
    for await (const part of bytes) text += Buffer.from(part).toString("utf8")
  }
  const [, segment] = /STOP WAL LOCATION: \S+ \(file (\w+)\)/.exec(text) ?? []
  const [, time] = /STOP TIME: (\S+ \S+) UTC/.exec(text) ?? []
  return { segment: segment!, seconds: Date.parse(`${time!.replace(" ", "T")}Z`) / 1000 }
}

describe("an archived embedded database", () => {
  it.live(
    "is restored to a moment between a backup and a kill, and refuses moments that the archive does not reach",
    () =>
      Effect.gen(function*() {
        const { config, file, folder, identity, recipient } = yield* makeSite("127.0.0.1:1")
        const archive = join(folder, "archive")
        // Each of the restores below reads every segment, and there is one for each such time that the backup takes.
        const options = { archive: { directory: archive, recipients: [recipient], maximumLagSeconds: 3 } }
        writeFileSync(file, JSON.stringify({ ...config, store: { use: "embedded", options } }))
        const start = startService({ directory: folder, config: file })
        const target = join(folder, "one.backup")
        const before: Array<{ readonly id: string; readonly address: string; readonly status: string }> = []
        const after: Array<{ readonly id: string; readonly address: string }> = []
        const { key, moment } = yield* Effect.scoped(Effect.gen(function*() {
          const service = yield* start
          const { merchant_key: key } = yield* service.keys
          before.push({ ...(yield* createInvoice(service, key)), status: "unpaid" })
          yield* succeed([
            ...["backup", "create", "--to", target, "--recipient", recipient],
            ...["--rate", "1000", "--config", file]
          ], folder)
          for (const status of ["paid", "unpaid"]) {
            const made = yield* createInvoice(service, key)
            if (status === "paid") yield* pay(service, key, made.id)
            before.push({ ...made, status })
          }
          const moment = Date.now() + 1
          yield* until("the moment is over", Effect.sync(() => Date.now()), (now) => now > moment + 1)
          for (let count = 0; count < 2; count++) after.push(yield* createInvoice(service, key))
          // The server writes to the segment after the last that it has finished, or has finished that one just now.
          const status = readdirSync(join(folder, "data", "postgres", "pg_wal", "archive_status"))
          const finished = [...archivedIn(archive), ...status].map(segmentIn).filter(isSegment).toSorted().at(-1)!
          const last = nextSegment(nextSegment(finished))
          yield* until(
            "what came after the moment is archived",
            Effect.andThen(
              Effect.tap(createInvoice(service, key), (made) => Effect.sync(() => after.push(made))),
              Effect.sync(() => archivedIn(archive).map(segmentIn))
            ),
            (segments) => segments.some((segment) => segment >= last)
          )
          yield* service.stop("SIGKILL")
          return { key, moment }
        }))
        // The server outlives its service, and would finish a segment every few seconds for as long as this test runs.
        const [server] = readFileSync(join(folder, "data", "postgres", "postmaster.pid"), "utf8").split("\n")
        process.kill(Number(server), "SIGQUIT")
        yield* until("the server ends", Effect.sync(() => isAlive(Number(server))), (is) => !is)
        renameSync(join(folder, "data"), join(folder, "broken"))
        const [series] = readdirSync(archive)
        const segments = archivedIn(archive)
        assert.notInclude(readFileSync(join(archive, series!, segments[0]!)).toString("latin1"), "ustar", "encrypted")

        const identities = [/AGE-SECRET-KEY-1\w+/.exec(readFileSync(identity, "utf8"))![0]]
        const refusal = (seconds: number) =>
          Effect.map(
            Effect.flip(restoreBackup({
              path: target,
              identities,
              dataDirectory: join(folder, "data"),
              masterKeys: null,
              moment: { archive, seconds },
              onProgress: () => {}
            })),
            ({ message }) => message
          )
        const end = yield* Effect.promise(() => readBackupEnd(join(archive, series!), identities))
        assert.match(yield* refusal(end.seconds + 3600), /is after the last transaction.* from 20\S+Z to 20\S+Z\./)
        assert.include(yield* refusal(end.seconds - 3600), "was begun")
        const lost = nextSegment(end.segment)
        const hidden = segments.find((name) => name.startsWith(lost))!
        renameSync(join(archive, series!, hidden), join(folder, hidden))
        assert.include(yield* refusal(moment / 1000), `The segment ${lost} is missing`)
        assert.isFalse(existsSync(join(folder, "data", "postgres")))
        renameSync(join(folder, hidden), join(archive, series!, hidden))

        yield* succeed([
          ...["restore", "file", target, "--identity", identity, "--config", file],
          ...["--archive", archive, "--to", new Date(moment).toISOString()]
        ], folder)
        assert.isTrue(existsSync(join(folder, "data", "restored.json")))
        const service = yield* start
        assert.isTrue(
          existsSync(join(folder, "data", `restored-${Math.floor(moment / 1000)}-declared.json`)),
          "the networks were told of the moment before anybody was served"
        )
        for (const { id, status } of before) assert.strictEqual(yield* statusOf(service, key, id), status, id)
        for (const { id } of after) assert.strictEqual(yield* statusOf(service, key, id), 404, id)
        const given = new Set([...before, ...after].map(({ address }) => address))
        for (let count = 0; count < 3; count++) {
          const { address } = yield* createInvoice(service, key)
          assert.isFalse(given.has(address), `${address} was given out before`)
          given.add(address)
        }
        yield* until(
          "the restored database has a series of its own",
          Effect.sync(() => readdirSync(archive).length),
          (count) => count === 2
        )
      }).pipe(Effect.scoped),
    300_000
  )
})
