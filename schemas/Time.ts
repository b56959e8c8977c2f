/**
 * Moments as callers may write them: epoch seconds, or ISO 8601 with a zone
 * (modules/docs/reference/time.md#times-in-requests).
 */
import { DateTime, Schema, SchemaGetter } from "effect"
import { EpochSeconds } from "./Ids.ts"

const isoPattern = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

/**
 * Epoch seconds, or ISO 8601 with a zone, as seconds with a fraction; undefined when neither. A date alone is its
 * first moment in UTC.
 *
 * @example
 * readTime("1970-01-01T01:00:00.5+01:00") // => 0.5
 */
export const readTime = (text: string): number | undefined => {
  if (/^\d{1,12}$/.test(text)) return Number.parseInt(text, 10)
  const millis = isoPattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(millis) && millis >= 0 ? millis / 1000 : undefined
}

const expectedTime = "Expected epoch seconds or an ISO 8601 time with a zone"

const bound = (round: (seconds: number) => number, description: string) =>
  Schema.String.annotate({ description })
    .check(Schema.makeFilter((text: string) => readTime(text) !== undefined || expectedTime))
    .pipe(Schema.decodeTo(EpochSeconds, {
      decode: SchemaGetter.transform((text: string) => round(readTime(text)!)),
      encode: SchemaGetter.transform(String)
    }))

/** The first second of a range. Timestamps are whole seconds, so a bound between two means the next one inwards. */
export const TimeFrom = bound(Math.ceil, "At this moment or later: epoch seconds, or ISO 8601 with a zone.")

/** The last second of a range; see {@link TimeFrom}. */
export const TimeTo = bound(Math.floor, "At this moment or earlier: epoch seconds, or ISO 8601 with a zone.")

const moment = (round: (seconds: number) => number) =>
  Schema.Union([
    EpochSeconds,
    Schema.String.annotate({ examples: ["2025-12-21T12:34:56Z"] })
      .check(Schema.makeFilter((text: string) => readTime(text) !== undefined || expectedTime))
  ]).pipe(Schema.decodeTo(EpochSeconds, {
    decode: SchemaGetter.transform((sent: number | string) => typeof sent === "number" ? sent : round(readTime(sent)!)),
    encode: SchemaGetter.transform((seconds: number) => seconds)
  }))

/** The first and the last second of a range in a body, where epoch seconds are a number; see {@link TimeFrom}. */
export const MomentFrom = moment(Math.ceil)
export const MomentTo = moment(Math.floor)

/**
 * A moment as programs read it, in UTC.
 *
 * @example
 * isoTime(1_766_320_496) // => "2025-12-21T12:34:56.000Z"
 */
export const isoTime = (epochSeconds: number): string => DateTime.formatIso(DateTime.makeUnsafe(epochSeconds * 1000))
