/** What a failed flush means for its commits. */
import type { SqlError } from "effect/sql"
import { conflictState } from "./Statement.ts"

/**
 * `conflict`: some commit of the batch has lost a race. `retryable`: the same call may succeed. `locked`: some commit
 * of it waits for a lock that another session holds; nothing was written. `data`: a row or event of the batch is
 * refused by the database. `unavailable`: the database did not do it and may not be able to do anything.
 */
export type FlushError = "conflict" | "retryable" | "locked" | "data" | "unavailable"

/** The SQLSTATE of a failure that the server answered; undefined when it did not. */
export const sqlState = (error: SqlError.SqlError): string | undefined => {
  const cause = error.reason.cause
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined
  return typeof cause.code === "string" && cause.code.length === 5 ? cause.code : undefined
}

/** Serialization failure, deadlock: nobody's fault. */
const retryableStates: ReadonlySet<string> = new Set(["40001", "40P01"])

/** `lock_not_available`: the error that `lock_timeout` raises. */
const lockedState = "55P03"

/**
 * Classes that blame what was sent: cardinality, data exception, integrity constraint, program limit, and what a
 * trigger raises (PostgreSQL manual, "Error Codes").
 */
const dataClasses: ReadonlySet<string> = new Set(["21", "22", "23", "54", "P0"])

/** `keys`: names of the primary keys of the tables that flushes insert into; who finds one taken has lost a race. */
export const flushErrorOf = (error: SqlError.SqlError, keys: ReadonlySet<string> = new Set()): FlushError => {
  const state = sqlState(error)
  if (state === undefined) return "unavailable"
  if (error.reason._tag === "UniqueViolation" && keys.has(error.reason.constraint)) return "conflict"
  if (state === conflictState) return "conflict"
  if (retryableStates.has(state)) return "retryable"
  if (state === lockedState) return "locked"
  return dataClasses.has(state.slice(0, 2)) ? "data" : "unavailable"
}
