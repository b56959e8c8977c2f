/** How reads on the replica ended, and whether the primary has to answer in its place. Pure. */
import { Cause, Exit } from "effect"
import { SqlError } from "effect/sql"
import { databaseMessage, sqlStateOf } from "../StoreError.ts"

/** The database's failure in a cause, as a failure or as a defect. */
const sqlErrorIn = (cause: Cause.Cause<unknown>): SqlError.SqlError | undefined => {
  const errors = cause.reasons.map((reason) =>
    Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
  )
  return errors.find(SqlError.isSqlError)
}

/** How reads on the replica ended. */
export type Outcome<A, E> =
  /** They answered, or failed by what they found: the primary would say the same. */
  | { readonly _tag: "Answered"; readonly exit: Exit.Exit<A, E> }
  /** The primary has to answer. `reason`: why the replica is not asked before the next look; null: it still is. */
  | { readonly _tag: "Failed"; readonly reason: string | null }

/** A statement was ended by its limit of time. */
const queryCanceled = "57014"

/** Classes of SQLSTATE by which a server says that it ended a session, or gives none. */
const sessionClasses: ReadonlySet<string> = new Set(["08", "53", "57"])

/** What became of reads, whether their snapshot had been opened or not. */
export const outcomeOf = <A, E>(exit: Exit.Exit<A, E>): Outcome<A, E> => {
  if (Exit.isSuccess(exit)) return { _tag: "Answered", exit }
  const error = sqlErrorIn(exit.cause)
  // Who waits for the reads has not left: their connection was closed below them.
  if (error === undefined && Cause.hasInterruptsOnly(exit.cause)) return { _tag: "Failed", reason: null }
  if (error === undefined) return { _tag: "Answered", exit }
  const state = sqlStateOf(error)
  // The primary would not be faster, and would do it beside its own work.
  if (state === queryCanceled) return { _tag: "Answered", exit }
  // Rows that it shows were removed on the primary meanwhile (40001), or its role lacks a right: of these reads alone.
  const isOfServer = state === undefined || sessionClasses.has(state.slice(0, 2))
  return { _tag: "Failed", reason: isOfServer ? databaseMessage(error) : null }
}
