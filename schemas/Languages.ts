/** The languages that pages are written in, and the time zones that they show times in. */
import { Schema } from "effect"

/** Tags of the languages (RFC 5646), in the order in which they are offered. */
export const Language = Schema.Literals(["en", "es", "de", "fr", "pt-BR", "ja", "zh-Hans", "ar"])
export type Language = typeof Language.Type

/** Names of the time zone database are this short; an offset such as `+01:00` is none, as it knows no summer time. */
const zonePattern = /^[A-Z][A-Za-z0-9_+-]{1,19}(?:\/[A-Z][A-Za-z0-9_+-]{1,29}){0,2}$/

/** Whether times can be shown in a time zone of this name. */
export const isTimeZone = (name: string): boolean => {
  if (!zonePattern.test(name)) return false
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== ""
  } catch {
    return false
  }
}

/** A name of the time zone database, such as `Europe/Berlin`. */
export const TimeZone = Schema.String.check(
  Schema.makeFilter((name) => isTimeZone(name) || "Expected the name of a time zone, such as Europe/Berlin or UTC")
)
