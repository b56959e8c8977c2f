/** Moments as people read them in a terminal, in UTC. Pure. */
import { DateTime } from "effect"

/** `2026-11-28 13:45:02Z` of epoch seconds; null stays empty. */
export const timeText = (seconds: number | null | undefined): string =>
  seconds === null || seconds === undefined
    ? ""
    : `${DateTime.formatIso(DateTime.makeUnsafe(seconds * 1000)).slice(0, 19).replace("T", " ")}Z`

/** `13:45:02` of epoch milliseconds. */
export const clockText = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis)).slice(11, 19)
