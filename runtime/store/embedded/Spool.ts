/**
 * Where the server puts each finished segment of its log of changes for the archive, by PostgreSQL's own module
 * `basic_archive`: written beside, on disk, then renamed; a segment that is there with other bytes is refused. The
 * server keeps a segment until that is done. Where the folder is, the server archives, whoever starts it.
 */
import { DateTime, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Cluster } from "./Cluster.ts"
import { giveDirectory, replaceFile } from "./Files.ts"

/**
 * In the cluster, which the server's account may write. Backups leave out what begins with `pgsql_tmp` (PostgreSQL
 * documentation, "Streaming Replication Protocol", BASE_BACKUP), so a database that was restored has no spool.
 */
export const spoolFolder = "pgsql_tmp_archive"

/** Segments that a restore puts ready for its server; the same name keeps it out of backups. */
export const readyFolder = "pgsql_tmp_restore"

const seriesFile = "series.json"

/** Seconds after which an unfinished segment is finished: what a lost disk may cost. */
export const lagLimits = { atLeast: 1, atMost: 86_400, default: 60 } as const

/** Where the segments of this database go. */
const Series = Schema.fromJsonString(Schema.Struct({
  /** Name of the folder: another one for each database, and for each archive directory that it had. */
  name: Schema.String,
  directory: Schema.String
}))
export type Series = typeof Series.Type

/** The series of a cluster; undefined: it is not archived. Throws for a file that cannot be read. */
export const readSeries = ({ directory }: Pick<Cluster, "directory">): Series | undefined => {
  const path = join(directory, spoolFolder, seriesFile)
  return existsSync(path) ? Schema.decodeUnknownSync(Series)(readFileSync(path, "utf8")) : undefined
}

/** Begins a series: segments of the same names in an older one stay apart. Only while no server runs on the cluster. */
export const beginSeries = ({ directory, runAs }: Cluster, archive: string, nowMillis: number): void => {
  const spool = join(directory, spoolFolder)
  rmSync(spool, { recursive: true, force: true })
  mkdirSync(spool, { mode: 0o700 })
  if (runAs !== undefined) giveDirectory(spool, runAs)
  const time = DateTime.formatIso(DateTime.makeUnsafe(nowMillis)).replace(/\.\d+/, "").replaceAll(":", "-")
  const series: Series = { name: `${time}-${randomBytes(4).toString("hex")}`, directory: archive }
  replaceFile(spool, seriesFile, `${JSON.stringify(series)}\n`, runAs)
}

/** Ends the archive of a cluster. What waits for it goes with it. Only while no server runs on the cluster. */
export const endSeries = ({ directory }: Cluster): void =>
  rmSync(join(directory, spoolFolder), { recursive: true, force: true })

/** Settings that the server of a cluster archives with; none where it is not archived. */
export const archiveSettings = (
  cluster: Cluster,
  maximumLagSeconds: number = lagLimits.default
): Readonly<Record<string, string>> =>
  existsSync(join(cluster.directory, spoolFolder, seriesFile))
    ? {
      archive_mode: "on",
      archive_library: "basic_archive",
      // The server stands in the cluster's directory.
      "basic_archive.archive_directory": spoolFolder,
      archive_timeout: String(maximumLagSeconds)
    }
    : {}
