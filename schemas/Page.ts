/** Pages of lists with cursors (modules/docs/reference/pagination.md#lists): what a caller may ask of every one of them. */
import { Schema } from "effect"
import { type PublicError, publicError } from "./Errors.ts"
import { Environment } from "./Network.ts"
import { MomentFrom, MomentTo } from "./Time.ts"

/** Objects on one page: the default and the bounds. */
export const pageLimits = { minimum: 1, maximum: 100, default: 20 } as const

/** The parameters of a short list that is not filtered. */
export const cursorQuery = {
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
  starting_after: Schema.optionalKey(Schema.String),
  ending_before: Schema.optionalKey(Schema.String)
}

/** The parameters of a list of one environment, newest first. */
export const pageQuery = {
  environment: Schema.optionalKey(Environment),
  created_gte: Schema.optionalKey(MomentFrom),
  created_lte: Schema.optionalKey(MomentTo),
  ...cursorQuery
}

/** Where a page begins: at the object with this id, which is not on it. */
export interface PageCursor {
  readonly direction: "older" | "newer"
  readonly id: string
}

export interface CursorQuery {
  readonly starting_after?: string
  readonly ending_before?: string
}

/** Null: the newest page. Ids of cursors are in lower case, as ids are. */
export const readPageCursor = (
  { ending_before: before, starting_after: after }: CursorQuery
): PageCursor | null | PublicError => {
  if (before !== undefined && after !== undefined) {
    return publicError("INVALID_CURSOR", { message: "Send starting_after or ending_before, not both" })
  }
  const id = (after ?? before)?.toLowerCase()
  return id === undefined ? null : { direction: after === undefined ? "newer" : "older", id }
}

/** The refusal of a cursor that names no object of the list; `what` it should be: "the id of an exception". */
export const unknownCursor = ({ starting_after: after }: CursorQuery, what: string): PublicError => {
  const param = after === undefined ? "ending_before" : "starting_after"
  return publicError("INVALID_CURSOR", { message: `${param}: not ${what}`, param })
}
