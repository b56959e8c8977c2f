/** How a store says that it cannot serve, in words an operator can act on. */
import { Schema } from "effect"

/**
 * The store cannot be used. `what` says what happened, `hint` what to do about it; neither ever holds a password, so
 * both may be printed. `cause` is for the log only.
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  what: Schema.String,
  hint: Schema.String,
  /** Where in `store.options` the cause is, for a failure that one option is the cause of. */
  option: Schema.optionalKey(Schema.Array(Schema.String)),
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    return `${this.what} ${this.hint}`
  }
}

/** The text of anything thrown or failed with, on one line. */
export const reasonOf = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).replaceAll(/\s+/g, " ").trim()

/** SQLSTATE of a failure PostgreSQL itself reported. Source: PostgreSQL documentation, appendix A. */
export const sqlStateOf = (error: unknown): string | undefined => {
  const code = (error as { reason?: { cause?: { code?: unknown } } } | undefined)?.reason?.cause?.code
  return typeof code === "string" ? code : undefined
}

/** What PostgreSQL (or the connection) said, on one line: the driver's own message only names the operation. */
export const databaseMessage = (error: unknown): string =>
  reasonOf((error as { reason?: { cause?: unknown } } | undefined)?.reason?.cause ?? error)
