/** Names of the segments of PostgreSQL's log of changes, and what an archive of them lacks. Pure. */

/** `<timeline><log><number>` in hex. Source: PostgreSQL documentation, "WAL Internals". */
const segmentPattern = /^[0-9A-F]{24}$/

/** Also what PostgreSQL archives beside them: where a backup began, and where a timeline left another. */
const spooledPattern = /^(?:[0-9A-F]{24}(?:\.[0-9A-F]{8}\.backup)?|[0-9A-F]{8}\.history)$/

/** Segments of 16 MiB in one log of 4 GiB. */
const segmentsPerLog = 256

/** Bytes of a segment. */
export const segmentBytes = 16 * 1024 * 1024

/** Whether a file of the spool is to be archived, not one that is being written. */
export const isSpooled = (name: string): boolean => spooledPattern.test(name)

export const isSegment = (name: string): boolean => segmentPattern.test(name)

/** A file of an archive: what it holds, and the first 32 hex digits of the SHA-256 of that. */
export interface ArchivedName {
  readonly name: string
  readonly digest: string
}

const extension = ".age"

export const archivedNameOf = ({ digest, name }: ArchivedName): string => `${name}-${digest}${extension}`

/** What a file of an archive holds; undefined: it is none, such as one that was not finished. */
export const readArchivedName = (file: string): ArchivedName | undefined => {
  const [, name, digest] = /^([0-9A-Za-z.]+)-([0-9a-f]{32})\.age$/.exec(file) ?? []
  return name === undefined || digest === undefined || !isSpooled(name) ? undefined : { name, digest }
}

const hex = (value: number): string => value.toString(16).toUpperCase().padStart(8, "0")

/** The segment that follows on the same timeline. */
export const nextSegment = (name: string): string => {
  const log = Number.parseInt(name.slice(8, 16), 16)
  const number = Number.parseInt(name.slice(16), 16)
  return number + 1 < segmentsPerLog
    ? `${name.slice(0, 16)}${hex(number + 1)}`
    : `${name.slice(0, 8)}${hex(log + 1)}${hex(0)}`
}

/** Segments that follow `last` without a hole, and the first that is missing though later ones are there. */
export interface Continuation {
  readonly segments: ReadonlyArray<string>
  readonly missing: string | undefined
}

/** What of the segments `names` continues a backup whose own last segment is `last`. */
export const continuationOf = (last: string, names: Iterable<string>): Continuation => {
  const later = new Set(
    [...names].filter((name) => isSegment(name) && name.slice(0, 8) === last.slice(0, 8) && name > last)
  )
  const segments: Array<string> = []
  let next = nextSegment(last)
  while (later.has(next)) {
    segments.push(next)
    next = nextSegment(next)
  }
  return { segments, missing: segments.length < later.size ? next : undefined }
}

/** What PostgreSQL said of a recovery that did not reach its moment. */
export type RecoveryFault =
  /** The log ended before the moment. `lastTime`: of the last transaction; undefined: it has none. */
  | { readonly _tag: "Ended"; readonly lastTime: string | undefined }
  /** The moment is before the end of the backup. */
  | { readonly _tag: "BeforeBackup" }

/** What kept a server from its moment, by its messages; undefined: something else. */
export const recoveryFaultOf = (messages: string): RecoveryFault | undefined => {
  if (/requested recovery stop point is before consistent recovery point/.test(messages)) {
    return { _tag: "BeforeBackup" }
  }
  if (!/recovery ended before configured recovery target was reached/.test(messages)) return undefined
  const [, lastTime] = /last completed transaction was at log time ([0-9:. -]+)\+00/.exec(messages) ?? []
  return { _tag: "Ended", lastTime: lastTime === undefined ? undefined : `${lastTime.trim().replace(" ", "T")}Z` }
}
