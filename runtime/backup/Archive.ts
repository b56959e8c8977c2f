/**
 * The file of a backup: a tar archive, compressed by zstd, encrypted by age (age-encryption.org/v1). Other programs
 * read it, too: `age --decrypt -i key.txt <file> | zstd -d | tar -x`. Everything streams: memory does not grow with it.
 */
import { Decrypter, Encrypter } from "age-encryption"
import { createReadStream, createWriteStream, existsSync } from "node:fs"
import { link, open, rm } from "node:fs/promises"
import { dirname } from "node:path"
import { PassThrough, Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { ReadableStream } from "node:stream/web"
import { createZstdCompress, createZstdDecompress } from "node:zlib"
import { extract, type Header, pack } from "tar-stream"
import { BackupError } from "./BackupError.ts"

/** A file of the archive that is written. */
export interface ArchiveFile {
  readonly name: string
  readonly size: number
  readonly mode: number
  readonly bytes: AsyncIterable<Uint8Array>
}

/** Takes the files of an archive, one after the other, each to its end. */
export type AddFile = (file: ArchiveFile) => Promise<void>

const webStreamOf = (stream: Readable): globalThis.ReadableStream<Uint8Array> =>
  Readable.toWeb(stream) as unknown as globalThis.ReadableStream<Uint8Array>

const nodeStreamOf = (stream: globalThis.ReadableStream<Uint8Array>): Readable =>
  Readable.fromWeb(stream as ReadableStream)

/** Waits until a file is on disk, or the names in a folder are. */
export const syncPath = async (path: string): Promise<void> => {
  const handle = await open(path, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Writes `fill`'s files to `target`, for `recipients`: all of them on disk under that name, or nothing is left. Fails
 * where the file is there already.
 */
export const writeArchive = async <A>(
  target: string,
  recipients: ReadonlyArray<string>,
  fill: (add: AddFile) => Promise<A>
): Promise<A> => {
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  const draft = `${target}.unfinished`
  const archive = pack()
  const source = new PassThrough()
  archive.on("error", (cause) => source.destroy(cause))
  archive.pipe(source as never)
  const add: AddFile = async ({ bytes, mode, name, size }) => {
    let isWritten: (cause: Error | null | undefined) => void = () => {}
    const written = new Promise<void>((resolve, reject) => {
      isWritten = (cause) => cause === null || cause === undefined ? resolve() : reject(cause)
    })
    const entry = archive.entry({ name, mode, size, type: "file" }, (cause) => isWritten(cause))
    for await (const chunk of bytes) {
      if (!entry.write(chunk)) await new Promise<void>((resolve) => entry.once("drain", resolve))
    }
    entry.end(null)
    await written
  }
  const compressed = source.pipe(createZstdCompress())
  source.once("error", (cause) => compressed.destroy(cause))
  let isOurs = false
  try {
    if (existsSync(target)) throw Object.assign(new Error(`${target} exists`), { code: "EEXIST" })
    const file = createWriteStream(draft, { flags: "wx", mode: 0o600 })
    file.once("open", () => isOurs = true)
    const encrypted = nodeStreamOf(await encrypter.encrypt(webStreamOf(compressed)))
    const filled = fill(add).then((result) => {
      archive.finalize()
      return result
    }, (cause: unknown) => {
      source.destroy(cause instanceof Error ? cause : new Error(String(cause)))
      throw cause
    })
    // The first that fails is the reason; the other one ends by it.
    const [result] = await Promise.all([filled, pipeline(encrypted, file)])
    await syncPath(draft)
    // Not renamed: that would replace an older backup of the same name.
    await link(draft, target)
    await rm(draft)
    await syncPath(dirname(target))
    return result
  } catch (cause) {
    if (isOurs) await rm(draft, { force: true })
    throw cause
  }
}

/** A file or folder of an archive that is read. */
export interface ArchiveEntry {
  readonly name: string
  readonly isFolder: boolean
  readonly size: number
  readonly mode: number
  readonly bytes: AsyncIterable<Uint8Array>
}

const typesRead: ReadonlySet<Header["type"]> = new Set(["file", "directory"])

const unreadable = (what: string) =>
  new BackupError({ what, hint: "Take an older backup, and check where this one was kept: it is cut or changed." })

/**
 * The entries of an archive in their order. Ends with a {@link BackupError} for a file that is cut, changed, no backup,
 * or encrypted for somebody else: every 64 KiB are authenticated before they are given on.
 */
export async function* readArchive(path: string, identities: ReadonlyArray<string>): AsyncGenerator<ArchiveEntry> {
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  const file = createReadStream(path)
  const plain = await decrypter.decrypt(webStreamOf(file)).catch((cause: unknown) => {
    file.destroy()
    const reason = cause instanceof Error ? cause.message : String(cause)
    // The operating system's own error: nothing of the file was read.
    if (cause instanceof Error && "syscall" in cause) {
      throw new BackupError({
        what: `${path} cannot be read: ${reason}.`,
        hint: "Name a backup that is there, as an account that may read it."
      })
    }
    throw /no identity matched/.test(reason)
      ? new BackupError({
        what: `${path} is encrypted for another key.`,
        hint: "Name the file of the identity whose recipient (age1…) the backup was made for."
      })
      : unreadable(`${path} is no backup, or its first bytes were changed: ${reason}.`)
  })
  const archive = extract()
  const feed = pipeline(nodeStreamOf(plain), createZstdDecompress(), archive as never)
  // Told to whoever reads the entries.
  feed.catch(() => {})
  try {
    for await (const entry of archive) {
      const { mode, name, size, type } = entry.header
      if (!typesRead.has(type)) {
        throw unreadable(`${path} holds a ${type} named ${name}, which no backup has.`)
      }
      yield {
        name,
        mode,
        size,
        isFolder: type === "directory",
        bytes: entry as unknown as AsyncIterable<Uint8Array>
      }
      entry.resume()
    }
    await feed
  } catch (cause) {
    throw cause instanceof BackupError
      ? cause
      : unreadable(`${path} cannot be read to its end: ${cause instanceof Error ? cause.message : String(cause)}.`)
  } finally {
    file.destroy()
  }
}
