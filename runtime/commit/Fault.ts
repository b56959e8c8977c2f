/** What a failed flush means for its commits. */
import type { SqlError } from "effect/sql"
import { mismatchState } from "./Statement.ts"

/**
 * `lost`: some commit of the batch has lost a race. `again`: the same call may succeed. `locked`: some commit of it waits
 * for a lock that another session holds; nothing was written. `data`: a row or event of the batch is refused by the database.
 * `gone`: the database did not do it and may not be able to do anything.
 */
export type Fault = "lost" | "again" | "locked" | "data" | "gone"

/** The SQLSTATE of a failure that the server answered; undefined when it did not. */
export const sqlState = (error: SqlError.SqlError): string | undefined => {
  const cause = error.reason.cause
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined
  return typeof cause.code === "string" && cause.code.length === 5 ? cause.code : undefined
}

/** Serialization failure, deadlock: nobody's fault. */
const againStates: ReadonlySet<string> = new Set(["40001", "40P01"])

/** `lock_not_available`: the error that `lock_timeout` raises. */
const lockedState = "55P03"

/**
 * Classes that blame what was sent: cardinality, data exception, integrity constraint, program limit, and what a trigger
 * raises (PostgreSQL manual, "Error Codes").
 */
const dataClasses: ReadonlySet<string> = new Set(["21", "22", "23", "54", "P0"])

export const faultOf = (error: SqlError.SqlError): Fault => {
  const state = sqlState(error)
  if (state === undefined) return "gone"
  if (state === mismatchState) return "lost"
  if (againStates.has(state)) return "again"
  if (state === lockedState) return "locked"
  return dataClasses.has(state.slice(0, 2)) ? "data" : "gone"
}
