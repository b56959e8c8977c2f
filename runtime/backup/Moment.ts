/** Brings a restored database on to a moment, by the segments of the archive that followed its backup. */
import { DateTime, Duration, Effect } from "effect"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, rmSync, statSync } from "node:fs"
import { type FileHandle, open, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Cluster } from "../store/embedded/Cluster.ts"
import { giveDirectory, replaceFile } from "../store/embedded/Files.ts"
import { readyFolder } from "../store/embedded/Spool.ts"
import { checkRecovery } from "../store/Embedded.ts"
import { StoreError } from "../store/StoreError.ts"
import { type ArchiveEntry, readArchive } from "./Archive.ts"
import { BackupError } from "./BackupError.ts"
import type { BackupDescription } from "./Description.ts"
import {
  type ArchivedName,
  archivedNameOf,
  type Continuation,
  continuationOf,
  isSegment,
  readArchivedName,
  recoveryFaultOf,
  segmentBytes
} from "./Segments.ts"

/** To which moment a backup is brought, and from where. */
export interface Moment {
  /** `store.options.archive.directory` of the service, or a copy of it. */
  readonly archive: string
  readonly seconds: number
}

/** How long the server may take to repeat the changes: some ten days of a busy service. */
const recoveryPatience = Duration.hours(12)

/** Bytes of a server's messages that are read for why it did not recover, at most: the last ones. */
const maximumMessageBytes = 65_536

/** Bytes of a file that says where a backup began and ended. */
const maximumHistoryBytes = 8_192

const timeText = (seconds: number): string =>
  DateTime.formatIso(DateTime.makeUnsafe(seconds * 1000)).replace(".000Z", "Z")

/** Where what followed a backup is. Throws where no archive has it. */
export const seriesFolderOf = ({ archive, seconds }: Moment, path: string, description: BackupDescription): string => {
  const { archive_series: series, backup_time: begun } = description
  if (series === undefined || !/^[\w-]+$/.test(series)) {
    throw new BackupError({
      what: `${path} was taken while the database was not archived, so no archive continues it.`,
      hint: "Name a backup that was taken after store.options.archive was set, or restore this one without --to."
    })
  }
  if (seconds < begun) {
    throw new BackupError({
      what: `${timeText(seconds)} is before ${path} was begun, ${timeText(begun)}.`,
      hint: "Name an older backup, or a moment after this one ended."
    })
  }
  return join(archive, series)
}

const listArchived = async (folder: string): Promise<ReadonlyMap<string, ArchivedName>> => {
  const files = await readdir(folder).catch((cause: NodeJS.ErrnoException) => {
    throw new BackupError({
      what: `The archive has no folder ${folder} that can be read: ${cause.message}.`,
      hint: "Name the directory of store.options.archive, or a copy of it, by --archive. Nothing was restored."
    })
  })
  return new Map(files.flatMap((file) => {
    const archived = readArchivedName(file)
    return archived === undefined ? [] : [[archived.name, archived] as const]
  }))
}

/** Compared at once, the zeros of a segment take 1 ms of processor time; looked at one by one they took 200 ms. */
const zeros = Buffer.alloc(65_536)

const isAllZeros = (bytes: Uint8Array): boolean => {
  for (let from = 0; from < bytes.length; from += zeros.length) {
    const part = bytes.subarray(from, from + zeros.length)
    if (zeros.compare(part, 0, part.length, 0, part.length) !== 0) return false
  }
  return true
}

/** Writes what is not all zeros: a segment that was ended by time is mostly empty, and then takes no room. */
const writeSparse = async (handle: FileHandle, bytes: Uint8Array, at: number): Promise<void> => {
  if (isAllZeros(bytes)) return
  for (let from = 0; from < bytes.length;) from += (await handle.write(bytes, from, undefined, at + from)).bytesWritten
}

const damaged = (path: string) =>
  new BackupError({
    what: `${path} does not hold the segment that its name says.`,
    hint: "Take it from another copy of the archive, or restore to a moment before it."
  })

/** The only entry of a file of the archive, to its end. */
const readArchived = async (
  folder: string,
  archived: ArchivedName,
  identities: ReadonlyArray<string>,
  read: (entry: ArchiveEntry) => Promise<string>
): Promise<void> => {
  const path = join(folder, archivedNameOf(archived))
  let digest = ""
  for await (const entry of readArchive(path, identities)) {
    if (entry.name !== archived.name || digest !== "") throw damaged(path)
    digest = await read(entry)
  }
  if (digest.slice(0, 32) !== archived.digest) throw damaged(path)
}

const extractSegment = async (
  folder: string,
  archived: ArchivedName,
  identities: ReadonlyArray<string>,
  target: string,
  owner: Cluster["runAs"]
): Promise<void> => {
  const handle = await open(target, "wx", 0o600)
  try {
    await readArchived(folder, archived, identities, async ({ bytes, size }) => {
      if (size !== segmentBytes) throw damaged(join(folder, archivedNameOf(archived)))
      const hash = createHash("sha256")
      let at = 0
      for await (const chunk of bytes) {
        hash.update(chunk)
        await writeSparse(handle, chunk, at)
        at += chunk.length
      }
      return hash.digest("hex")
    })
    await handle.truncate(segmentBytes)
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid)
  } finally {
    await handle.close()
  }
}

/** When the backup ended, as its server archived it; null: the archive does not say. */
const readEnd = async (
  folder: string,
  archived: ReadonlyMap<string, ArchivedName>,
  identities: ReadonlyArray<string>,
  cluster: string
): Promise<string | null> => {
  const label = await readFile(join(cluster, "backup_label.old"), "utf8")
    .catch(() => readFile(join(cluster, "backup_label"), "utf8"))
    .catch(() => "")
  const [, location, segment] = /START WAL LOCATION: (\S+) \(file ([0-9A-F]{24})\)/.exec(label) ?? []
  for (const each of archived.values()) {
    if (segment === undefined || !each.name.startsWith(`${segment}.`)) continue
    const parts: Array<Uint8Array> = []
    await readArchived(folder, each, identities, async ({ bytes, size }) => {
      if (size > maximumHistoryBytes) throw damaged(join(folder, archivedNameOf(each)))
      const hash = createHash("sha256")
      for await (const chunk of bytes) {
        hash.update(chunk)
        parts.push(chunk)
      }
      return hash.digest("hex")
    })
    const text = Buffer.concat(parts).toString("utf8")
    const [, end] = /STOP TIME: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC/.exec(text) ?? []
    if (text.includes(`START WAL LOCATION: ${location} `) && end !== undefined) return `${end.replace(" ", "T")}Z`
  }
  return null
}

/** The server's messages since its log had `from` bytes. */
const readMessages = async (log: string, from: number): Promise<string> => {
  const bytes = await readFile(log).catch(() => Buffer.alloc(0))
  return bytes.subarray(bytes.length < from ? 0 : from).subarray(-maximumMessageBytes).toString("utf8")
}

/**
 * Puts the segments ready that follow the backup in `cluster`, has a server repeat the changes up to the moment, and
 * stops it. Refuses a moment that the archive does not reach, by its range or by the name of the missing segment.
 */
export const recoverTo = (
  moment: Moment,
  cluster: Cluster,
  description: BackupDescription,
  path: string,
  identities: ReadonlyArray<string>,
  failure: (cause: unknown) => BackupError | StoreError
): Effect.Effect<void, BackupError | StoreError> =>
  Effect.gen(function*() {
    const { directory, log, runAs } = cluster
    const ready = join(directory, readyFolder)
    const { archived, continuation, folder } = yield* Effect.tryPromise({
      try: async () => {
        const folder = seriesFolderOf(moment, path, description)
        const archived = await listArchived(folder)
        const own = (await readdir(join(directory, "pg_wal"))).filter(isSegment).toSorted().at(-1) ?? ""
        const continuation = continuationOf(own, archived.keys())
        mkdirSync(ready, { mode: 0o700 })
        if (runAs !== undefined) giveDirectory(ready, runAs)
        for (const name of continuation.segments) {
          await extractSegment(folder, archived.get(name)!, identities, join(ready, name), runAs)
        }
        replaceFile(directory, "recovery.signal", "", runAs)
        return { archived, continuation, folder }
      },
      catch: failure
    })
    const logBytes = statSync(log, { throwIfNoEntry: false })?.size ?? 0
    const explain = (error: StoreError) =>
      Effect.flatMap(
        Effect.tryPromise({
          try: () =>
            faultOf(
              { moment, path, description, continuation, folder, logBytes, log },
              () => readEnd(folder, archived, identities, directory)
            ),
          catch: failure
        }),
        (fault) => Effect.fail(fault ?? error)
      )
    yield* checkRecovery(cluster, {
      patience: recoveryPatience,
      settings: {
        // With it the server would count as ready in the middle of the changes.
        hot_standby: "off",
        // The server stands in the cluster's directory.
        restore_command: `test -f ${readyFolder}/%f && cp ${readyFolder}/%f "%p"`,
        // Not `Z`: the names of zones are not read yet when the server reads this.
        recovery_target_time: timeText(moment.seconds).replace("T", " ").replace("Z", "+00"),
        recovery_target_action: "promote",
        recovery_target_timeline: "current"
      }
    }).pipe(Effect.catch(explain))
    // PostgreSQL removes it when it has reached the moment.
    if (existsSync(join(directory, "recovery.signal"))) {
      return yield* new BackupError({
        what: `${path} was not brought to ${timeText(moment.seconds)}: its server was stopped before that.`,
        hint: "Run it again. Nothing was restored."
      })
    }
    yield* Effect.sync(() => rmSync(ready, { recursive: true, force: true }))
  })

interface FailedRecovery {
  readonly moment: Moment
  readonly path: string
  readonly description: BackupDescription
  readonly continuation: Continuation
  readonly folder: string
  readonly log: string
  readonly logBytes: number
}

/** Why the server did not reach the moment; undefined: it failed by something else. */
const faultOf = async (
  { continuation: { missing }, description, folder, log, logBytes, moment, path }: FailedRecovery,
  end: () => Promise<string | null>
): Promise<BackupError | undefined> => {
  const fault = recoveryFaultOf(await readMessages(log, logBytes))
  if (fault === undefined) return undefined
  const from = (await end()) ?? `the end of the backup, which was begun at ${timeText(description.backup_time)}`
  const wanted = timeText(moment.seconds)
  if (fault._tag === "BeforeBackup") {
    return new BackupError({
      what: `${wanted} is before ${path} was complete: it restores moments after ${from}.`,
      hint: "Name an older backup, or a later moment. Nothing was restored."
    })
  }
  const to = fault.lastTime ?? from
  return missing === undefined
    ? new BackupError({
      what:
        `${wanted} is after the last transaction in ${folder}: with ${path} it restores moments from ${from} to ${to}.`,
      hint: "Name a moment in that range. Nothing was restored."
    })
    : new BackupError({
      what: `The segment ${missing} is missing in ${folder}, and ${wanted} is behind it: moments from ${from} to ${to} `
        + "can be restored.",
      hint: `Find ${missing} in another copy of the archive, or name a moment in that range. Nothing was restored.`
    })
}
