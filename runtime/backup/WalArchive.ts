/**
 * Keeps every segment of the embedded server's log of changes, encrypted, so that a backup is restored to any moment.
 * The server spools a finished segment (`store/embedded/Spool.ts`); this puts it into the archive, each once and whole,
 * and then removes it from the spool. While the archive takes nothing the service goes on, and segments wait.
 */
import { Clock, Duration, Effect, Layer, Metric } from "effect"
import { createHash } from "node:crypto"
import { constants, lstatSync, type Stats } from "node:fs"
import { mkdir, open, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import type { ArchiveOptions } from "../store/Embedded.ts"
import { readSeries, type Series, spoolFolder } from "../store/embedded/Spool.ts"
import { reasonOf } from "../store/StoreError.ts"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"
import { syncPath, writeArchive } from "./Archive.ts"
import { type ArchivedName, archivedNameOf, isSpooled, readArchivedName, segmentBytes } from "./Segments.ts"

/** How often the spool is looked at. */
const pollInterval = Duration.seconds(1)

/** After a failure, such as a disk that is full. */
const failurePause = Duration.seconds(15)

/** Health degrades when a finished segment waits for so many times `maximumLagSeconds`. */
export const lagFactor = 5

const lagGauge = Metric.gauge("archive_lag_seconds", {
  description: "Seconds for which the oldest finished segment waits for the archive; 0: none does"
})
const waitingGauge = Metric.gauge("archive_waiting_bytes", {
  description: "Bytes of the data directory that wait for the archive"
})
const lastGauge = Metric.gauge("archive_last_seconds", {
  description: "When a segment was last archived, in epoch seconds; 0: none since the start"
})

/** A file of the spool, which must be a plain one: under root another account owns the folder. */
const openSpooled = (path: string) => open(path, constants.O_RDONLY | constants.O_NOFOLLOW)

const digestOf = async (path: string): Promise<string> => {
  const handle = await openSpooled(path)
  const hash = createHash("sha256")
  for await (const chunk of handle.createReadStream()) hash.update(chunk as Uint8Array)
  return hash.digest("hex").slice(0, 32)
}

/** Another segment of that name is in the archive: the database was put back by other means than `restore`. */
const conflictOf = (name: string, folder: string) =>
  new Error(
    `${folder} has other bytes of ${name}: this database was put back to an earlier state by other means than restore. `
      + "Set store.options.archive.directory to a new folder, start again and take a backup."
  )

/** Puts a spooled file into the archive, where it is not there yet, and removes it from the spool. */
const archiveFile = async (spool: string, name: string, folder: string, recipients: ReadonlyArray<string>) => {
  const source = join(spool, name)
  const archived: ArchivedName = { name, digest: await digestOf(source) }
  const others = (await readdir(folder)).flatMap((file) => readArchivedName(file) ?? []).filter((other) =>
    other.name === name
  )
  if (others.some(({ digest }) => digest !== archived.digest)) throw conflictOf(name, folder)
  if (others.length === 0) {
    const target = join(folder, archivedNameOf(archived))
    // What a kill left.
    await rm(`${target}.unfinished`, { force: true })
    const handle = await openSpooled(source)
    const { size } = await handle.stat()
    await writeArchive(
      target,
      recipients,
      (add) => add({ name, size, mode: 0o600, bytes: handle.createReadStream() as AsyncIterable<Uint8Array> })
    )
  }
  await rm(source)
}

/** Archives all that is spooled, the oldest first. Answers how many files it were. */
export const archiveSpool = async (
  cluster: string,
  series: Series,
  recipients: ReadonlyArray<string>
): Promise<number> => {
  const spool = join(cluster, spoolFolder)
  const names = (await readdir(spool)).filter(isSpooled).toSorted()
  if (names.length === 0) return 0
  const folder = join(series.directory, series.name)
  if (await mkdir(folder, { recursive: true, mode: 0o700 }) !== undefined) await syncPath(series.directory)
  for (const name of names) await archiveFile(spool, name, folder, recipients)
  return names.length
}

/** What waits for the archive. */
export interface Backlog {
  readonly files: number
  /** When the oldest of it was finished; null: nothing waits. */
  readonly oldestMillis: number | null
}

const statusEnding = ".ready"

/** What is finished and not archived: spooled files, and those that the server could not spool. */
const readBacklog = async (cluster: string): Promise<Backlog> => {
  const status = join(cluster, "pg_wal", "archive_status")
  const spool = join(cluster, spoolFolder)
  const paths = [
    ...(await readdir(status)).filter((name) => name.endsWith(statusEnding)).map((name) => join(status, name)),
    ...(await readdir(spool)).filter(isSpooled).map((name) => join(spool, name))
  ]
  const times = paths.flatMap((path) => {
    const found: Stats | undefined = lstatSync(path, { throwIfNoEntry: false })
    return found === undefined ? [] : [found.mtimeMs]
  })
  return { files: times.length, oldestMillis: times.length === 0 ? null : Math.min(...times) }
}

/** What is wrong with an archive in which something waits. Pure. */
export const archiveFindings = (
  { files, oldestMillis }: Backlog,
  { directory, maximumLagSeconds }: Pick<ArchiveOptions, "directory" | "maximumLagSeconds">,
  nowMillis: number,
  reason: string | null
): ReadonlyArray<Finding> => {
  const lag = oldestMillis === null ? 0 : (nowMillis - oldestMillis) / 1000
  if (lag <= lagFactor * maximumLagSeconds) return []
  const megabytes = Math.ceil(files * segmentBytes / 1e6)
  return [{
    effect: "degraded",
    message:
      `Changes wait for the archive ${directory} since ${Math.round(lag)} s, and some ${megabytes} MB of them fill `
      + `the data directory: ${
        reason ?? "see postgres.log of the data directory"
      }. The service goes on until that disk is `
      + "full. Free some space in the archive, or give the account that runs the service write permission there."
  }]
}

/** Archives for as long as the service runs, and registers the check of it. */
export const layer = (
  options: ArchiveOptions,
  dataDirectory: string
): Layer.Layer<never, never, Health> =>
  Layer.effectDiscard(Effect.gen(function*() {
    const cluster = join(dataDirectory, "postgres")
    let reason: string | null = null
    const turn = Effect.gen(function*() {
      const count = yield* Effect.tryPromise({
        try: async () => {
          const series = readSeries({ directory: cluster })
          return series === undefined ? 0 : await archiveSpool(cluster, series, options.recipients)
        },
        catch: reasonOf
      })
      reason = null
      if (count > 0) yield* Metric.update(lastGauge, Math.floor((yield* Clock.currentTimeMillis) / 1000))
      return pollInterval
    }).pipe(
      // Logged once: it is tried again for as long as it takes.
      Effect.catch((failure) =>
        Effect.when(
          Effect.logError(`the archive ${options.directory} takes nothing: ${failure}`),
          Effect.sync(() => reason !== failure)
        ).pipe(Effect.andThen(Effect.sync(() => {
          reason = failure
          return failurePause
        })))
      )
    )
    yield* Effect.forkScoped(Effect.forever(Effect.flatMap(turn, (pause) => Effect.sleep(pause))))
    yield* (yield* Health).register({
      name: "archive",
      run: Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const backlog = yield* Effect.orDie(Effect.tryPromise(() => readBacklog(cluster)))
        yield* Metric.update(waitingGauge, backlog.files * segmentBytes)
        yield* Metric.update(
          lagGauge,
          backlog.oldestMillis === null ? 0 : Math.max(0, Math.round((now - backlog.oldestMillis) / 1000))
        )
        return archiveFindings(backlog, options, now, reason)
      })
    })
  }))
