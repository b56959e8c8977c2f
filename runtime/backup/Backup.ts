/** Takes a backup of an embedded database, while the service runs or while it is stopped. */
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { lstatSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { type Extract, extract } from "tar-stream"
import { nowSeconds } from "../Clock.ts"
import { useServer } from "../store/Embedded.ts"
import { baseBackup, type BaseBackupPart } from "../store/embedded/BaseBackup.ts"
import { StoreError } from "../store/StoreError.ts"
import { version } from "../telemetry/Build.ts"
import { type AddFile, writeArchive } from "./Archive.ts"
import { BackupError } from "./BackupError.ts"
import {
  type BackupDescription,
  backupForm,
  besideFiles,
  besideFolder,
  compareFiles,
  type FileFact,
  maximumBesideBytes,
  maximumManifestBytes,
  serverFolder,
  ServerManifest
} from "./Description.ts"

/** What a backup was. */
export interface BackupResult {
  readonly file: string
  readonly description: BackupDescription
  /** Bytes of the server's files. */
  readonly bytes: number
  /** Bytes of the backup. */
  readonly fileBytes: number
}

/** Called with the bytes that were read so far. */
export type OnProgress = (bytes: number) => void

const bytesOf = async function*(text: Uint8Array) {
  yield text
}

const readBeside = (dataDirectory: string) =>
  besideFiles.flatMap((name) => {
    const path = join(dataDirectory, name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    return found?.isFile() === true && found.size <= maximumBesideBytes ? [{ name, bytes: readFileSync(path) }] : []
  })

/** What a server's archive held, so far as it was added. */
interface Copied {
  readonly files: ReadonlyMap<string, FileFact>
  readonly manifest: string
  readonly bytes: number
}

const unexpectedArchive = (name: string) =>
  new BackupError({
    what: `The database has files outside of its directory (${name}), which a backup does not hold.`,
    hint: "Move them back into the data directory: the service makes no tablespaces."
  })

/** Until more can be written; fails where nothing can any more. */
const untilWritable = (archive: Extract): Promise<void> =>
  new Promise((resolve, reject) => {
    const onDrain = () => {
      archive.off("close", onClose)
      resolve()
    }
    const onClose = () => {
      archive.off("drain", onDrain)
      reject(new Error("the backup was given up"))
    }
    archive.once("drain", onDrain).once("close", onClose)
  })

/** Reads up to the size of what the server is about to send. */
const readSize = async (server: AsyncGenerator<BaseBackupPart>): Promise<number> => {
  const { done, value } = await server.next()
  if (done !== true && value._tag === "Size") return value.bytes
  throw new BackupError({ what: "The database did not say how large it is.", hint: "Run the backup again." })
}

/** Adds every file that the server sends, and its manifest. */
const copyServer = async (
  server: AsyncGenerator<BaseBackupPart>,
  add: AddFile,
  onProgress: OnProgress
): Promise<Copied> => {
  const archive = extract()
  const files = new Map<string, FileFact>()
  const manifest: Array<Uint8Array> = []
  let manifestBytes = 0
  let bytes = 0
  const receive = async () => {
    let archives = 0
    let isManifest = false
    for await (const part of server) {
      if (part._tag === "Progress") onProgress(part.done)
      if (part._tag === "Archive" && ++archives > 1) throw unexpectedArchive(part.name)
      if (part._tag === "Manifest") {
        isManifest = true
        archive.end(null)
      }
      if (part._tag !== "Bytes") continue
      if (isManifest) {
        manifestBytes += part.bytes.length
        if (manifestBytes > maximumManifestBytes) throw unexpectedArchive("a manifest above 256 MiB")
        manifest.push(Buffer.from(part.bytes))
      } else if (!archive.write(part.bytes)) {
        await untilWritable(archive)
      }
    }
  }
  const received = receive().catch((cause: unknown) => {
    archive.destroy(cause instanceof Error ? cause : new Error(String(cause)))
    throw cause
  })
  // Both are awaited below; until then the second one's end must not count as unhandled.
  received.catch(() => {})
  try {
    for await (const entry of archive) {
      const { mode, name, size, type } = entry.header
      const path = name.replace(/^\.\//, "")
      if (type === "directory") {
        if (path !== "" && path !== "./") {
          await add({
            name: `${serverFolder}/${path.replace(/\/?$/, "/")}`,
            size: 0,
            mode: 0o700,
            bytes: bytesOf(Buffer.alloc(0))
          })
        }
        entry.resume()
        continue
      }
      if (type !== "file") throw unexpectedArchive(name)
      const hash = createHash("sha256")
      const hashed = async function*() {
        for await (const chunk of entry) {
          hash.update(chunk as Uint8Array)
          yield chunk as Uint8Array
        }
      }
      await add({ name: `${serverFolder}/${path}`, size, mode, bytes: hashed() })
      files.set(path, { size, checksum: hash.digest("hex") })
      bytes += size
    }
  } catch (cause) {
    // What the server said is the reason, not that its archive then ended.
    await received
    throw cause
  }
  await received
  return { files, manifest: Buffer.concat(manifest).toString("utf8"), bytes }
}

const failureOf = (target: string, databaseBytes: () => number) => (cause: unknown): BackupError | StoreError => {
  if (cause instanceof BackupError || cause instanceof StoreError) return cause
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === "ENOSPC" || code === "EDQUOT") {
    const room = Math.ceil(databaseBytes() / 1e6).toLocaleString("en")
    return new BackupError({
      what:
        `No backup was made at ${target}, because the disk is full. Nothing is left of it. It needs at most what the `
        + `database has, about ${room} MB, and what is changed meanwhile; most take far less.`,
      hint: "Free some space, or name a file on another disk."
    })
  }
  const hints: Readonly<Record<string, string>> = {
    EEXIST: "A backup, or one that was not finished, is there already: name another file, or remove it.",
    ENOENT: "Make that folder first.",
    EACCES: "The account that runs this may not write there."
  }
  return new BackupError({
    what: `No backup was made at ${target}: ${message}.`,
    hint: hints[code ?? ""] ?? "Nothing is left of it; run it again."
  })
}

/**
 * Writes a backup of the embedded database of `dataDirectory` to `target`, readable by whoever has the identity of one
 * of `recipients` (`age1…`). Works beside the running service, and while it is stopped. The file is complete and on
 * disk, or it is not there.
 */
export const takeBackup = (request: {
  readonly dataDirectory: string
  readonly target: string
  readonly recipients: ReadonlyArray<string>
  /** Megabytes a second that are read, within `rateLimits`. */
  readonly rate: number
  readonly onProgress: OnProgress
}): Effect.Effect<BackupResult, BackupError | StoreError> =>
  Effect.scoped(Effect.gen(function*() {
    const { dataDirectory, onProgress, rate, recipients, target } = request
    const { masterKey, postgres, series, sockets } = yield* useServer(dataDirectory)
    const backupTime = yield* nowSeconds
    let databaseBytes = 0
    const fill = async (add: AddFile): Promise<Omit<BackupResult, "fileBytes">> => {
      const server = baseBackup(sockets, rate)
      databaseBytes = await readSize(server)
      const description: BackupDescription = {
        form: backupForm,
        version: version(),
        postgres,
        backup_time: backupTime,
        database_bytes: databaseBytes,
        master_key: masterKey,
        ...(series === null ? {} : { archive_series: series })
      }
      const named = Buffer.from(`${JSON.stringify(description, null, 2)}\n`)
      await add({ name: "tillwire.json", size: named.length, mode: 0o600, bytes: bytesOf(named) })
      for (const { bytes, name } of readBeside(dataDirectory)) {
        await add({ name: `${besideFolder}/${name}`, size: bytes.length, mode: 0o600, bytes: bytesOf(bytes) })
      }
      const copied = await copyServer(server, add, onProgress)
      const faults = compareFiles(Schema.decodeUnknownSync(ServerManifest)(copied.manifest), copied.files)
      if (faults.length > 0) {
        throw new BackupError({
          what: `The database's files came otherwise than it says: ${faults.join("; ")}.`,
          hint: "Run the backup again. If it happens twice, check the disk."
        })
      }
      const manifest = Buffer.from(copied.manifest)
      const path = `${serverFolder}/backup_manifest`
      await add({ name: path, size: manifest.length, mode: 0o600, bytes: bytesOf(manifest) })
      return { file: target, description, bytes: copied.bytes }
    }
    const result = yield* Effect.tryPromise({
      try: () => writeArchive(target, recipients, fill),
      catch: failureOf(target, () => databaseBytes)
    })
    return { ...result, fileBytes: statSync(target).size }
  }))
