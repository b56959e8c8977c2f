/** What a process of the service does, where `http.processes` divides the service among several. */
import { availableParallelism } from "node:os"
import { maximumHttpProcesses, type SettingsValue } from "../Settings.ts"
import type { StoreName } from "../Store.ts"

/**
 * `single`: everything, the only process. `first`: everything but the public port; it starts and watches the `http`
 * processes. `http`: the public port alone, on the database that the first one opened.
 */
export type ProcessRole = "single" | "first" | "http"

/**
 * HTTP processes on an embedded database, at most: it takes 50 connections, and each process has one to listen on
 * beside its share of the pool.
 */
export const maximumOnEmbedded = 8

/** How many processes serve the public port. */
export const countHttpProcesses = ({ settings: { http }, store }: {
  readonly settings: Pick<SettingsValue, "http">
  readonly store: { readonly use: StoreName }
}): number =>
  http.processes !== "auto"
    ? http.processes
    : Math.min(availableParallelism(), store.use === "embedded" ? maximumOnEmbedded : maximumHttpProcesses)

/** The pool of one process, where `http` processes and the first one share the connections of an embedded database. */
export const poolShare = (maxConnections: number, http: number, available: number): number =>
  http === 1 ? maxConnections : Math.max(2, Math.min(maxConnections, Math.floor(available / (http + 1))))

/** Milliseconds that a process must have lived for the next one to start without a longer delay than the first. */
const stableMillis = 60_000
const firstDelayMillis = 250
const maximumDelayMillis = 30_000

/** How often the process of one number ended soon after its start, in a row. */
export type QuickEnds = number

/** After a process ended that had lived for `lifeMillis`: the new count, and how long to wait before the next one. */
export const afterEnd = (
  quickEnds: QuickEnds,
  lifeMillis: number
): { readonly quickEnds: QuickEnds; readonly delayMillis: number } => {
  const before = lifeMillis >= stableMillis ? 0 : quickEnds
  return {
    quickEnds: before + 1,
    delayMillis: Math.min(maximumDelayMillis, firstDelayMillis * 2 ** Math.min(before, 16))
  }
}
