/** The languages in which payors and members are addressed, which one somebody gets, and the time zones of times. */
import { Result, Schema } from "effect"

/** Tags of the languages (RFC 5646), in the order in which they are offered. */
export const Language = Schema.Literals(["en", "es", "de", "fr", "pt-BR", "ja", "zh-Hans", "ar"])
export type Language = typeof Language.Type

/** Names of the time zone database are this short; an offset such as `+01:00` is none, as it knows no summer time. */
const zonePattern = /^[A-Z][A-Za-z0-9_+-]{1,19}(?:\/[A-Z][A-Za-z0-9_+-]{1,29}){0,2}$/

/** Whether times can be shown in a time zone of this name. */
export const isTimeZone = (name: string): boolean =>
  zonePattern.test(name) && Result.isSuccess(Result.try(() => new Intl.DateTimeFormat("en", { timeZone: name })))

/** A name of the time zone database, such as `Europe/Berlin`. */
export const TimeZone = Schema.String.check(
  Schema.makeFilter((name) => isTimeZone(name) || "Expected the name of a time zone, such as Europe/Berlin or UTC")
)

/** Longest language tag that is read (RFC 5646, 4.4.1). */
const maximumTagLength = 35

/** A well-formed tag begins so (RFC 5646, 2.1); what a header says beside tags (`*`, `i-klingon`) is none of ours. */
const tagPattern = /^[a-z]{2,3}(?:-[a-z0-9]{1,8})*$/

/** Where Chinese is written in traditional characters, unless the tag names a script (CLDR, likely subtags). */
const traditionalRegions: ReadonlySet<string> = new Set(["tw", "hk", "mo"])

const byTag = new Map(Language.literals.map((tag) => [tag.toLowerCase(), tag]))
const byLanguage = new Map(Language.literals.map((tag) => [tag.split("-")[0]!, tag]))

const subtagsOf = (tag: string): ReadonlyArray<string> => {
  const lower = tag.length > maximumTagLength ? "" : tag.toLowerCase()
  return tagPattern.test(lower) ? lower.split("-") : []
}

/** Whether the tag asks for characters that its language is not written in here. */
const inOtherScript = ([language, ...rest]: ReadonlyArray<string>): boolean =>
  language === "zh" && !rest.includes("hans") &&
  (rest.includes("hant") || rest.some((subtag) => traditionalRegions.has(subtag)))

/**
 * The language for the first tag that has one, best first: the same tag, else the same language (`de-AT` gives `de`,
 * `pt` and `pt-PT` give `pt-BR`, `zh-CN` gives `zh-Hans`). Traditional Chinese gives `zh-Hans` only where no other tag
 * has a language. Null: none has. Any text may stand in `preferences`; what is no tag of at most 35 characters is
 * passed over.
 *
 * @example
 * negotiateLanguage(["zh-TW", "de-AT", "en"]) // => "de"
 */
export const negotiateLanguage = (preferences: ReadonlyArray<string>): Language | null => {
  const tags = preferences.map(subtagsOf).filter((subtags) => subtags.length > 0)
  const languageOf = (subtags: ReadonlyArray<string>) => byTag.get(subtags.join("-")) ?? byLanguage.get(subtags[0]!)
  const best = tags.find((subtags) => languageOf(subtags) !== undefined && !inOtherScript(subtags)) ??
    tags.find((subtags) => languageOf(subtags) !== undefined)
  return best === undefined ? null : languageOf(best) ?? null
}
