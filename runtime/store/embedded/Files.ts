/** Local files of the embedded server: every failure says which path, and what the operator can do. */
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { closeSync, constants, existsSync, fchmodSync, fchownSync, fstatSync, fsyncSync, openSync } from "node:fs"
import { readSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { reasonOf, StoreError } from "../StoreError.ts"

const hints: Readonly<Record<string, string>> = {
  EACCES: "Give the user of this process write permission there, or set data.directory to a directory it owns.",
  EPERM: "Give the user of this process ownership of it, or set data.directory to a directory it owns.",
  EROFS: "That file system is read-only: set data.directory to one that can be written.",
  ENOSPC: "The disk is full: free some space and start again.",
  EDQUOT: "The disk quota is used up: free some space and start again.",
  ENOTDIR: "A part of that path is a file: set data.directory to a directory.",
  ELOOP:
    "A link stands there that this service did not make: remove it, and set data.directory to where the files are.",
  ENOENT: "A directory of that path is missing: check the path, and that its file system takes writes.",
  EEXIST: "A file is in the way: set data.directory to a directory."
}

/** Runs file system work; a failure becomes `StoreError` with the path (Node's message has it) and a hint by code. */
export const attempt = <A>(what: string, work: () => A): Effect.Effect<A, StoreError> =>
  Effect.try({
    try: work,
    catch: (cause) => {
      const code = String((cause as { readonly code?: unknown }).code)
      const hint = hints[code] ?? "Check that directory, or set data.directory to another one."
      return new StoreError({ what: `${what}: ${reasonOf(cause)}.`, hint, cause })
    }
  })

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** Whether `/proc` names the files a process holds open: on Linux, not on macOS. */
export const hasProc = existsSync("/proc/self/cwd")

/** A path of an open directory that stays valid when another directory or link takes its place. */
export const descriptorPath = (descriptor: number, path: string): string =>
  hasProc ? `/proc/self/fd/${descriptor}` : path

/**
 * Opens a directory that belongs to one of `owners` and is no link. Throws for any other: under root, the account that
 * owns the parent could put a link there, and root would overwrite or give away what it points to.
 */
export const openDirectory = (path: string, owners: ReadonlyArray<number | undefined>): number => {
  const descriptor = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  const { uid } = fstatSync(descriptor)
  if (process.getuid === undefined || owners.includes(uid)) return descriptor
  closeSync(descriptor)
  throw new Error(`${path} belongs to user id ${uid}`)
}

/** Gives a directory that this process has just made to another account. Throws if it was replaced meanwhile. */
export const giveDirectory = (path: string, { gid, uid }: { readonly uid: number; readonly gid: number }): void => {
  const descriptor = openDirectory(path, [process.getuid?.()])
  try {
    fchownSync(descriptor, uid, gid)
  } finally {
    closeSync(descriptor)
  }
}

/** Bytes read of a small file, at most: those of PostgreSQL have a few hundred. */
const smallBytes = 8_192

/** The text of a small plain file; undefined where there is none. Throws for a link, and for what is no plain file. */
export const readSmallFile = (path: string): string | undefined => {
  let descriptor: number
  try {
    descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code === "ENOENT") return undefined
    throw cause
  }
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error(`${path} is no plain file`)
    const bytes = Buffer.alloc(smallBytes)
    return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, smallBytes, 0))
  } finally {
    closeSync(descriptor)
  }
}

/** Opens a log for writing at its end; made for this user alone where there is none. Throws for a link. */
export const openToAppend = (path: string): number => openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)

/** An account of the system. */
interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Writes a file into a directory, completely and on disk or not at all, in place of what has its name: a link is
 * replaced, never followed. It belongs to `owner`, else to this user, and nobody else may read it.
 */
export const replaceFile = (
  directory: string,
  name: string,
  content: string | Uint8Array,
  owner: Owner | undefined
): void => {
  const directoryDescriptor = openDirectory(directory, [owner?.uid ?? process.getuid?.()])
  try {
    const at = descriptorPath(directoryDescriptor, directory)
    const draft = join(at, `${name}.new-${randomUUID()}`)
    const descriptor = openSync(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      // A single write may end short of the whole where the disk fills up.
      writeFileSync(descriptor, content)
      fchmodSync(descriptor, 0o600)
      if (owner !== undefined) fchownSync(descriptor, owner.uid, owner.gid)
      fsyncSync(descriptor)
      renameSync(draft, join(at, name))
      fsyncSync(directoryDescriptor)
    } catch (cause) {
      rmSync(draft, { force: true })
      throw cause
    } finally {
      closeSync(descriptor)
    }
  } finally {
    closeSync(directoryDescriptor)
  }
}

/**
 * Writes a file of the data directory by {@link replaceFile}. Under root it belongs to the directory's account, which
 * the service runs as: a file of root's would be closed to it.
 */
export const replaceDataFile = (dataDirectory: string, name: string, content: string | Uint8Array): void => {
  const directory = realpathSync(dataDirectory)
  const { gid, uid } = statSync(directory)
  replaceFile(directory, name, content, process.getuid?.() === 0 ? { uid, gid } : undefined)
}
