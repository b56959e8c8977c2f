/**
 * Which version of the API a request is answered in, and what its answer says of it
 * (modules/docs/reference/versioning.md#which-version-answers).
 */
import { DateTime } from "effect"
import type { Headers } from "effect/http"
import { type ApiVersion, findVersion, knownVersion, newestVersion, versions } from "../../schemas/Version.ts"

/** The header that names a version, in requests and answers. */
export const versionHeader = "x-service-version"

/** Whether the request names something that is no version. */
export const hasUnknownVersion = (headers: Headers.Headers): boolean => {
  const named = headers[versionHeader]
  return named !== undefined && findVersion(named) === undefined
}

/** The version a request is answered in: the one it names, else its credential's, else the newest. */
export const versionOf = (headers: Headers.Headers, pinned: string = newestVersion): string =>
  knownVersion(headers[versionHeader] ?? pinned)

const httpDate = (epochSeconds: number): string =>
  DateTime.toDateUtc(DateTime.makeUnsafe(epochSeconds * 1000)).toUTCString()

/** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), from the day the end of a version is announced. */
export const announcement = ({ deprecation, version }: ApiVersion): Readonly<Record<string, string>> => ({
  [versionHeader]: version,
  ...(deprecation === null
    ? {}
    : { deprecation: `@${deprecation.announcedAt}`, sunset: httpDate(deprecation.sunsetAt) })
})

const announcements = new Map(versions.map((each) => [each.version, announcement(each)]))

/** What every answer in a version carries. */
export const versionHeaders = (version: string): Readonly<Record<string, string>> => announcements.get(version) ?? {}
