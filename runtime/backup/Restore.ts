/** Reads a backup: to check it, or to put it where there is no database yet. */
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { type FileHandle, open, statfs } from "node:fs/promises"
import { dirname, join } from "node:path"
import { type Cluster, locate } from "../store/embedded/Cluster.ts"
import { replaceDataFile } from "../store/embedded/Files.ts"
import { checkRecovery } from "../store/Embedded.ts"
import { StoreError } from "../store/StoreError.ts"
import { type ArchiveEntry, readArchive, syncPath } from "./Archive.ts"
import { BackupError } from "./BackupError.ts"
import { markRestored } from "./Declaration.ts"
import {
  BackupDescription,
  backupForm,
  compareFiles,
  type FileFact,
  maximumBesideBytes,
  maximumManifestBytes,
  placeOf,
  serverFolder,
  ServerManifest
} from "./Description.ts"
import { type Moment, recoverTo, seriesFolderOf } from "./Moment.ts"

/** The lock of the socket that the server had: in the way of the next one. */
const socketLock = ".s.PGSQL.5432.lock"

/** Where entries are written; undefined: they are only read. */
interface Destination {
  /** Of the server's files. */
  readonly cluster: string
  /** Of those beside them: the data directory. */
  readonly beside: string
  readonly owner: { readonly uid: number; readonly gid: number } | undefined
}

const readWhole = async ({ bytes, name, size }: ArchiveEntry, maximum: number): Promise<Buffer> => {
  if (size > maximum) {
    throw new BackupError({
      what: `${name} has ${size} bytes, above ${maximum}.`,
      hint: "This is no backup of Tillwire."
    })
  }
  const parts: Array<Uint8Array> = []
  for await (const part of bytes) parts.push(part)
  return Buffer.concat(parts)
}

const descriptionOf = (text: Buffer, path: string): BackupDescription => {
  try {
    return Schema.decodeUnknownSync(Schema.fromJsonString(BackupDescription))(text.toString("utf8"))
  } catch {
    throw new BackupError({ what: `${path} is no backup of Tillwire.`, hint: "Name a file that `backup` wrote." })
  }
}

const writeFile = async (handle: FileHandle, bytes: Uint8Array): Promise<void> => {
  for (let at = 0; at < bytes.length;) at += (await handle.write(bytes, at)).bytesWritten
}

/** Reads an entry of a file to its end, writes it to `target` where that is given, and tells what it was. */
const copyEntry = async (
  entry: ArchiveEntry,
  target: string | undefined,
  owner: Destination["owner"]
): Promise<FileFact> => {
  const hash = createHash("sha256")
  const handle = target === undefined ? undefined : await open(target, "wx", 0o600)
  let size = 0
  try {
    for await (const bytes of entry.bytes) {
      hash.update(bytes)
      size += bytes.length
      if (handle !== undefined) await writeFile(handle, bytes)
    }
    if (handle !== undefined && owner !== undefined) await handle.chown(owner.uid, owner.gid)
    await handle?.sync()
  } finally {
    await handle?.close()
  }
  return { size, checksum: hash.digest("hex") }
}

/** A file beside the database, which stays as it is where it is there. */
const restoreBeside = async (entry: ArchiveEntry, dataDirectory: string, name: string): Promise<void> => {
  const bytes = await readWhole(entry, maximumBesideBytes)
  const path = join(dataDirectory, name)
  if (!existsSync(path)) return replaceDataFile(dataDirectory, name, bytes)
  if (readFileSync(path).equals(bytes)) return
  throw new BackupError({
    what: `${path} is there already and is not the file of the backup.`,
    hint: "Move it away, or restore into another data.directory. No database was restored."
  })
}

/** Called with the bytes of files that were read so far. */
export type OnProgress = (bytes: number) => void

/** Checks the first entry before anything is written. */
type CheckDescription = (description: BackupDescription) => void | Promise<void>

const copyArchive = async (
  path: string,
  identities: ReadonlyArray<string>,
  destination: Destination | undefined,
  check: CheckDescription,
  onProgress: OnProgress
): Promise<BackupDescription> => {
  let description: BackupDescription | undefined
  let manifest: ServerManifest | undefined
  const files = new Map<string, FileFact>()
  const folders: Array<string> = []
  let bytes = 0
  for await (const entry of readArchive(path, identities)) {
    if (description === undefined) {
      description = descriptionOf(
        entry.name === "tillwire.json" ? await readWhole(entry, maximumBesideBytes) : Buffer.alloc(0),
        path
      )
      await check(description)
      continue
    }
    const place = placeOf(entry.name)
    if (place === null) {
      throw new BackupError({
        what: `${path} holds a file named ${entry.name}, which does not belong into a data directory.`,
        hint: "Do not use this file: somebody has made it by hand."
      })
    }
    const target = destination === undefined ? undefined : join(destination.cluster, place.path)
    if (place.folder !== serverFolder) {
      if (destination === undefined) await readWhole(entry, maximumBesideBytes)
      else await restoreBeside(entry, destination.beside, place.path)
    } else if (entry.isFolder || entry.name.endsWith("/")) {
      if (target !== undefined) {
        mkdirSync(target, { recursive: true, mode: 0o700 })
        if (destination?.owner !== undefined) chownSync(target, destination.owner.uid, destination.owner.gid)
        folders.push(target)
      }
    } else if (place.path === "backup_manifest") {
      manifest = Schema.decodeUnknownSync(ServerManifest)(
        (await readWhole(entry, maximumManifestBytes)).toString("utf8")
      )
    } else {
      const written = place.path === socketLock ? undefined : target
      files.set(place.path, await copyEntry(entry, written, destination?.owner))
      bytes += entry.size
      onProgress(bytes)
    }
  }
  if (description === undefined || manifest === undefined) {
    throw new BackupError({
      what: `${path} is not whole.`,
      hint: "Take an older backup: the end of this one is missing."
    })
  }
  const faults = compareFiles(manifest, files)
  if (faults.length > 0) {
    throw new BackupError({ what: `${path} is damaged: ${faults.join("; ")}.`, hint: "Take an older backup." })
  }
  for (const folder of folders.toReversed()) await syncPath(folder)
  return description
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6).toLocaleString("en")} MB`

/** Room that a server takes beside the files of a backup when it recovers: two files of the log of changes. */
const recoveryBytes = 32 * 1024 * 1024

/** How much room a restore needs; null: the backup does not say. */
const roomText = (databaseBytes: number | undefined): string =>
  databaseBytes === undefined
    ? "as much as the database had"
    : `${megabytes(databaseBytes + recoveryBytes)} and what was changed while the backup was made`

const diskFull = (path: string, databaseBytes: number | undefined): BackupError =>
  new BackupError({
    what: `${path} was not restored, because the disk is full: it needs ${
      roomText(databaseBytes)
    }. Nothing of the database is left.`,
    hint: "Free some space, or set data.directory to another disk, and run it again."
  })

/** Refuses before anything is written what surely has no room. */
const checkRoom = async (folder: string, path: string, databaseBytes: number | undefined): Promise<void> => {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (databaseBytes === undefined || free >= databaseBytes) return
  throw new BackupError({
    what: `${path} was not restored: it needs ${roomText(databaseBytes)}, and ${folder} has ${megabytes(free)} free.`,
    hint: "Free some space, or set data.directory to another disk. Nothing was changed."
  })
}

const failureOf = (path: string, databaseBytes?: () => number | undefined) => (cause: unknown) => {
  if (cause instanceof BackupError || cause instanceof StoreError) return cause
  const { code, message } = cause as NodeJS.ErrnoException
  return code === "ENOSPC" || code === "EDQUOT"
    ? diskFull(path, databaseBytes?.())
    : new BackupError({ what: `${path} was not read: ${message}.`, hint: "Nothing was changed." })
}

const checkForm = (path: string, major: string | undefined): CheckDescription => ({ form, postgres, version }) => {
  if (form !== backupForm) {
    throw new BackupError({
      what: `${path} has form ${form}, and this build reads form ${backupForm}.`,
      hint: `Restore it with version ${version} of the service, or a newer one.`
    })
  }
  if (major !== undefined && postgres !== major) {
    throw new BackupError({
      what: `${path} is of PostgreSQL ${postgres}, and this build brings ${major}.`,
      hint: `Restore it with version ${version} of the service.`
    })
  }
}

/** Reads a backup to its end and compares every file with what PostgreSQL said of it. Writes nothing. */
export const verifyBackup = (
  path: string,
  identities: ReadonlyArray<string>,
  onProgress: OnProgress
): Effect.Effect<BackupDescription, BackupError | StoreError> =>
  Effect.tryPromise({
    try: () => copyArchive(path, identities, undefined, checkForm(path, undefined), onProgress),
    catch: failureOf(path)
  })

/** What a restore needs to know. */
export interface RestoreRequest {
  readonly path: string
  readonly identities: ReadonlyArray<string>
  readonly dataDirectory: string
  /** Names of the master keys of the config, newest first; null: the key is a file of the data directory. */
  readonly masterKeys: ReadonlyArray<string> | null
  /** Undefined: as the backup is. */
  readonly moment: Moment | undefined
  readonly onProgress: OnProgress
}

const checkMasterKey = ({ masterKeys, path }: RestoreRequest): CheckDescription => ({ master_key: key }) => {
  if (key === null || masterKeys === null || masterKeys.includes(key)) return
  const name = key.slice(0, 8)
  throw new BackupError({
    what: `${path} belongs to the master key ${name}, and secrets.master gives ${
      masterKeys.map((each) => each.slice(0, 8)).join(", ")
    }.`,
    hint: `Put the key ${name} into secrets.master, after the present one. Nothing was restored.`
  })
}

const requireEmpty = (cluster: Cluster): Effect.Effect<void, BackupError> =>
  existsSync(cluster.directory)
    ? Effect.fail(
      new BackupError({
        what: `${cluster.directory} holds a database already.`,
        hint: "Stop the service and move that folder away; it is never replaced. Then restore again."
      })
    )
    : Effect.void

/** Removes what an earlier restore that was killed has left. */
const removeDrafts = (cluster: Cluster): void => {
  const folder = dirname(cluster.directory)
  for (const name of readdirSync(folder)) {
    if (name.startsWith("postgres.restore-")) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

/**
 * Puts a backup into a data directory that has no database, and marks it, so that the service declares the restore to
 * its networks before it serves anybody. The database is whole or not there at all: it is checked, started once and
 * stopped in a folder beside its place, and gets its name at the end. Killed at any moment, it is run again.
 */
export const restoreBackup = (
  request: RestoreRequest
): Effect.Effect<BackupDescription, BackupError | StoreError> =>
  Effect.gen(function*() {
    const { dataDirectory, identities, moment, onProgress, path } = request
    const cluster = yield* locate(dataDirectory)
    yield* requireEmpty(cluster)
    const draft = join(dirname(cluster.directory), `postgres.restore-${process.pid}`)
    const { runAs: owner } = cluster
    let databaseBytes: number | undefined
    const check: CheckDescription = async (description) => {
      databaseBytes = description.database_bytes
      checkForm(path, cluster.binaries.major)(description)
      checkMasterKey(request)(description)
      if (moment !== undefined) seriesFolderOf(moment, path, description)
      await checkRoom(dataDirectory, path, databaseBytes)
    }
    const copy = Effect.tryPromise({
      try: async () => {
        removeDrafts(cluster)
        mkdirSync(draft, { mode: 0o700 })
        if (owner !== undefined) chownSync(draft, owner.uid, owner.gid)
        return await copyArchive(path, identities, { cluster: draft, beside: dataDirectory, owner }, check, onProgress)
      },
      catch: failureOf(path, () => databaseBytes)
    })
    const remove = Effect.sync(() => rmSync(draft, { recursive: true, force: true }))
    const copied: Cluster = {
      ...cluster,
      directory: draft,
      argument: cluster.argument === cluster.directory ? draft : cluster.argument
    }
    const description = yield* Effect.onError(
      Effect.tap(copy, (found) =>
        moment === undefined
          ? checkRecovery(copied)
          : recoverTo(moment, copied, found, path, identities, failureOf(path, () => databaseBytes))),
      () => remove
    )
    yield* Effect.tryPromise({
      try: async () => {
        // First the mark: a database without it would give out addresses that the lost invoices were given.
        markRestored(dataDirectory, moment === undefined ? description.backup_time : Math.floor(moment.seconds))
        await syncPath(draft)
        renameSync(draft, cluster.directory)
        await syncPath(dataDirectory)
      },
      catch: failureOf(path, () => databaseBytes)
    })
    return description
  })
