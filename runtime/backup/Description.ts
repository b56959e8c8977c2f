/** What a backup says of itself, and what PostgreSQL says of its files. Pure. */
import { Schema } from "effect"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { rpcTokenFile } from "../rpc/Credential.ts"
import { masterFile } from "../Secrets.ts"
import { demoKeysFile } from "../Settings.ts"

/** Version of the form of the file. Another one is refused by name. */
export const backupForm = 1

/** The first entry of a backup, `tillwire.json`. */
export const BackupDescription = Schema.Struct({
  form: Schema.Int,
  /** Version of the service that the database was used with last. */
  version: Schema.String,
  /** Major version of the server. */
  postgres: Schema.String,
  /** When it was begun: everything that was acknowledged before is in it. */
  backup_time: EpochSeconds,
  /** About how many bytes its files take where they are restored; absent: it was made before this was written. */
  database_bytes: Schema.optionalKey(Schema.Int),
  /** Name of the master key that the database belongs to; null: it remembers none yet. */
  master_key: Schema.NullOr(Schema.String),
  /** Folder of the archive that has what followed; absent: the database was not archived. */
  archive_series: Schema.optionalKey(Schema.String)
})
export type BackupDescription = typeof BackupDescription.Type

/** `backup_manifest` of PostgreSQL, as far as it is read. Source: PostgreSQL documentation, "Backup Manifest Format". */
export const ServerManifest = Schema.fromJsonString(Schema.Struct({
  Files: Schema.Array(Schema.Struct({
    Path: Schema.optionalKey(Schema.String),
    "Encoded-Path": Schema.optionalKey(Schema.String),
    Size: Schema.Int,
    Checksum: Schema.String
  }))
}))
export type ServerManifest = typeof ServerManifest.Type

/** Bytes of the server's manifest, at most: a database of a million tables has less. */
export const maximumManifestBytes = 256 * 1024 * 1024

/** Bytes of the description, and of each file beside the database, at most. */
export const maximumBesideBytes = 65_536

/** Files beside the database that a backup holds: where the config names no secrets, these have them. */
export const besideFiles: ReadonlyArray<string> = [masterFile, rpcTokenFile, demoKeysFile]

/** What was read of a file. */
export interface FileFact {
  readonly size: number
  /** SHA-256, hex. */
  readonly checksum: string
}

/**
 * What of the files is not as the server said, at most ten sentences; empty: all of it is there. The log of changes is
 * not in the manifest: the server checks it when it reads it.
 */
export const compareFiles = (
  manifest: ServerManifest,
  files: ReadonlyMap<string, FileFact>
): ReadonlyArray<string> => {
  const named = new Set<string>()
  const faults: Array<string> = []
  for (const { Checksum, "Encoded-Path": encoded, Path, Size } of manifest.Files) {
    const path = Path ?? Buffer.from(encoded ?? "", "hex").toString("utf8")
    named.add(path)
    const found = files.get(path)
    if (found === undefined) faults.push(`${path} is missing`)
    else if (found.size !== Size) faults.push(`${path} has ${found.size} bytes, not ${Size}`)
    else if (found.checksum !== Checksum) faults.push(`${path} has other bytes than the server sent`)
  }
  for (const path of files.keys()) {
    if (!named.has(path) && !path.startsWith("pg_wal/")) faults.push(`${path} is no file of the backup`)
  }
  return faults.slice(0, 10)
}

/** Folders of a backup: the server's files, and those beside them in the data directory. */
export const serverFolder = "postgres"
export const besideFolder = "beside"

/** Where in a data directory an entry of a backup belongs, and whose it is. */
export interface EntryPlace {
  readonly folder: typeof serverFolder | typeof besideFolder
  /** Below the folder. */
  readonly path: string
}

/** Characters of a path below a folder, at most. PostgreSQL's have some 40. */
const maximumPathLength = 256

/**
 * The place of an entry; null: it must not be written anywhere, because its name leads out of the folder. Whoever has
 * only the recipient's key can make a file that this one decrypts.
 */
export const placeOf = (name: string): EntryPlace | null => {
  const [folder, ...rest] = name.replace(/\/$/, "").split("/")
  const path = rest.join("/")
  if (folder !== serverFolder && folder !== besideFolder) return null
  if (path.length > maximumPathLength || !/^[\w.][\w./-]*$/.test(path)) return null
  if (rest.some((part) => part === "" || part === "." || part === "..")) return null
  return folder === besideFolder && !besideFiles.includes(path) ? null : { folder, path }
}
